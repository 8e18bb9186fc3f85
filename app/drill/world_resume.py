"""The world of the story of resuming: its policy starts fresh agents by GitHub Actions, and time is moved as it passes
for a service that is alive.
"""

import sys
import time
from collections.abc import Callable, Mapping
from typing import ClassVar

from app.drill.orchard import CHECK_PROGRAM
from app.drill.processes import SOURCE, StoryProcess, StoryStopped
from app.drill.proofs_of_work import POLICY
from app.drill.scripted_agent import CRASHES
from app.drill.world import REPOSITORY, TICKET, World

WORKFLOW = "agent.yml"
WORKFLOW_TEXT = """\
name: Agent
run-name: Ticket ${{ inputs.ticket }}, attempt ${{ inputs.attempt }}
on:
  workflow_dispatch:
    inputs:
      ticket: {required: true}
      generation: {required: true}
      attempt: {required: true}
      brief_url: {required: false}
permissions: {id-token: write}
jobs:
  agent: {runs-on: ubuntu-latest, steps: [{run: agent}]}
"""
POLICY_TEXT = """\
version: 1
mode: repair
trunks: ["release-*"]
verify:
  - ["python3", "tools/check.py"]
resume:
  dispatch: workflow_dispatch
"""
STEPS = ("Count the trees", "Water the roots")
STALE_TITLE, STALE_STEPS = "Mend the fence", ("Find the holes", "Close the holes")
CRASHING_TITLE, CRASHING_STEPS = "Drive the wasps away", ("Find the nest",)
HEARTBEAT_S = 60
"""The policy's default. A service that was not heard of for two of them decides nothing for as long."""
LEASE_S = 17 * 60
"""A lease of the default length, its grace, and a moment."""
STEP_S = 1.5 * HEARTBEAT_S
SETTLED_S = 10 * HEARTBEAT_S
"""More than two heartbeats in which nothing is decided after a gap, one in which a wish settles, and its jitter."""
QUIET_S = 0.3
"""With no request to GitHub for so long, nothing that was due is left."""


def task_list(steps: tuple[str, ...]) -> str:
    """An Issue's text that asks for these steps."""
    return "The orchard needs this, in this order:\n\n" + "".join(f"- [ ] {step}\n" for step in steps)


class ResumeWorld(World):
    """One ticket from the start; the others are opened when the story comes to them."""

    ticket = TICKET
    """Which one the story is at."""
    issue_body = task_list(STEPS)
    files: ClassVar[Mapping[str, str]] = {
        "README.md": "# The orchard\n",
        "tools/check.py": CHECK_PROGRAM,
        POLICY: POLICY_TEXT,
        f".github/workflows/{WORKFLOW}": WORKFLOW_TEXT,
    }

    def start_service(self, **settings: str) -> StoryProcess:
        """Starts the service, which believes what this GitHub says of its workflow runs."""
        service = super().start_service(AGENT_RECOVERY_OIDC_ISSUER=self.emulator.url, **settings)
        self.run_agents()
        return service

    def run_agents(self, *, crash: bool = False) -> None:
        """What GitHub's runners start from now on for a run of the workflow: the agent, which may crash as soon as it
        has claimed. It gets no credential of anybody's: what it is, GitHub vouches for.
        """
        environment = {
            "AGENT_RECOVERY_URL": self.service_url,
            "PYTHONPATH": str(SOURCE),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.emulator.workflow_command(
            REPOSITORY,
            WORKFLOW,
            [sys.executable, "-m", "app.drill.workflow_agent"],
            env=environment | ({CRASHES: "1"} if crash else {}),
        )

    def let_time_pass(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """GitHub's clock goes on, while the service is alive and hears of it; no longer than until something is so."""
        left = seconds
        while left > 0 and not until():
            step = min(left, STEP_S)
            self.emulator.advance(step)
            self.show_the_time()
            left -= step

    def jump(self, seconds: float) -> None:
        """GitHub's clock goes on, and nobody hears of it before that."""
        self.emulator.advance(seconds)
        self.show_the_time()

    def show_the_time(self, within: float = 20.0) -> None:
        """The service learns what time it is from GitHub's answers alone: somebody says something on the ticket, so
        that it looks. Returns when it has done what was due. Raises StoryStopped.
        """
        self.people.say(self.third, self.ticket, "How far is it?")
        deadline = time.monotonic() + within
        last, since = -1, time.monotonic()
        while time.monotonic() < deadline:
            served = self.requests_served()
            if served != last:
                last, since = served, time.monotonic()
            elif time.monotonic() - since > QUIET_S:
                return
            time.sleep(0.03)
        raise StoryStopped(f"the service was still at work after {within:.0f} s")

    def asked_by_actions(self, since: int) -> list[str]:
        """What GitHub served under the tokens of workflow runs after a request number."""
        served = [r for r in self.emulator.requests(since=since) if r["n"] > since]
        return [f"{r['method']} {r['path']}" for r in served if "github-actions" in str(r["identity"])]

    def run_log(self, run: int) -> str:
        """What a run wrote, for who looks for a fault."""
        return self.emulator.run_log(run)
