"""An agent as a process of its own: three steps of work by the command line, in the folder it is started in.

    python steady_agent.py TICKET [STEP]

It prints what it did as lines of JSON. With STEP it stands still once that step is committed and not yet pushed, until
somebody ends it or a file `go` stands beside the folder. What is done it knows from the brief and its folder alone.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from app.agent import workspace
from app.agent.cli import app as commands
from app.domain.outcome import Exit

STEPS = ("one", "two", "three")
NEXT = Path(".agent-recovery/next.json")
HELPER = '!f() { echo username=x-access-token; echo "password=$GITHUB_TOKEN"; }; f'
"""Git's credentials by a shell line: the same answer as the program's own helper, without its start."""
PATIENCE_S = 60.0


def run(*arguments: str) -> dict[str, Any]:
    """A command; one that found nobody to talk to is given again, as its error says."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        done = CliRunner().invoke(commands, [*arguments, "--json"])
        if done.exit_code == 0:
            answer: dict[str, Any] = json.loads(done.stdout)
            return answer
        retryable = done.exit_code in (Exit.UNAVAILABLE, Exit.UNKNOWN_EFFECT, Exit.CONFLICT)
        if not retryable or time.monotonic() > deadline:
            tell("failed", command=" ".join(arguments), exit=done.exit_code, out=done.output[-2000:], err="")
            raise SystemExit(done.exit_code)
        time.sleep(0.5)


def tell(event: str, **facts: Any) -> None:
    print(json.dumps({"event": event, **facts}), flush=True)


def do(step: str) -> None:
    """A commit, unless it stands in the folder already."""
    if not Path(f"{step}.txt").exists():
        Path(f"{step}.txt").write_text(f"{step}\n")
        subprocess.run(["git", "add", f"{step}.txt"], check=True)
        subprocess.run(["git", "commit", "-qm", f"Do {step}"], check=True)
        tell("did", step=step)


def main(ticket: str, stop_at: str = "") -> None:
    workspace.credential_helper = lambda: HELPER
    brief = run("recover", ticket)["brief"]
    done = [step["id"] for step in brief["completed_steps"]]
    tell("recovered", done=done, generation=brief["generation"])
    for step in STEPS:
        if step in done:
            continue
        do(step)
        if step == stop_at:
            tell("stopped")
            while not Path("../go").exists():
                time.sleep(0.05)
        done.append(step)
        known = json.loads(NEXT.read_text())
        told = {
            "completed_steps": [{"id": name, "text": name} for name in done],
            "next_steps": [{"id": name, "text": name} for name in STEPS if name not in done],
        }
        NEXT.write_text(json.dumps({**known, **told}))
        run("push")
        tell("pushed", step=step)
    run("ready")
    tell("ready")


if __name__ == "__main__":
    main(*sys.argv[1:])
