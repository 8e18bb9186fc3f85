"""The agent as a workflow run starts it: all it knows are the run's inputs, and who it is GitHub vouches for.

It stands in for the steps of a workflow file: the first thing it does is the claim with the attempt of its dispatch.
"""

import json
import os
import sys
from pathlib import Path

from app.drill import scripted_agent

CREDENTIALS = ("GITHUB_TOKEN", "GH_TOKEN")


def main() -> int:
    """Works the ticket of the run's inputs; the exit code of the command that failed."""
    inputs = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))["inputs"]
    for name in CREDENTIALS:
        os.environ.pop(name, None)
    os.environ["AGENT_RECOVERY_REPO"] = os.environ["GITHUB_REPOSITORY"]
    os.environ["AGENT_RECOVERY_ATTEMPT"] = inputs["attempt"]
    return scripted_agent.main([inputs["ticket"]])


if __name__ == "__main__":
    sys.exit(main())
