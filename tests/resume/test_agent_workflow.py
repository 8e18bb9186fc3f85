"""`docs/workflows/agent.yml` in a repository as it stands: runs that carry out its steps against a real service."""

import os
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest

from app.agent.api import Service
from app.domain.agent_api import ClaimRequest
from app.drill.proofs_of_resuming import runs_of
from app.drill.world import REPOSITORY
from app.drill.world_resume import LEASE_S, SETTLED_S, WORKFLOW, ResumeWorld, task_list

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = (ROOT / "docs" / "workflows" / "agent.yml").read_text("utf-8")
PACE = 0.5
"""So many seconds one of GitHub's takes: a step that is cancelled has five in all."""
COMMITS = "echo two > two.txt && git add two.txt && git commit -q -m two"
READY = (
    f"{COMMITS} && agent-recovery push && agent-recovery ready"
    ' && test -z "$GITHUB_TOKEN$GH_TOKEN$ACTIONS_ID_TOKEN_REQUEST_TOKEN" && echo "key: $AGENT_KEY"'
)
KEY = "the-key-of-a-model"
CLAIM, AGENT = "Claim the ticket and rebuild its workspace", "Run the agent"
NOT_READY, GIVES_BACK = "Hand off what is not ready", "Hand off after a failure or a cancellation"


class AgentWorld(ResumeWorld):
    """A repository that copied the workflow, and runners on which agent-recovery is installed."""

    files: ClassVar = {**ResumeWorld.files, f".github/workflows/{WORKFLOW}": SHIPPED}

    def run_agents(self, *, crash: bool = False) -> None:
        """GitHub's runners carry the steps out."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        env = {"PATH": path, "OUT": str(self.folder), "PYTHONPATH": str(ROOT), "CRASH": str(int(crash))}
        self.emulator.workflow_machine(REPOSITORY, WORKFLOW, env=env, pace=PACE)

    def started(self, command: str) -> int:
        """The run that the App started on a ticket of its own, whose first agent claimed and was never heard of."""
        self.ticket = self.open_issue("Ripen the apples", task_list(("Count the trees",)))
        secrets = {"AGENT_KEY": KEY}
        variables = {"AGENT_RECOVERY_URL": self.service_url, "AGENT_COMMAND": command}
        self.emulator.action_values(REPOSITORY, variables=variables, secrets=secrets)
        with Service(self.service_url, REPOSITORY, self.ticket) as service:
            claim = ClaimRequest(claim_id=uuid.uuid4().hex, observed_generation=0, holder="first agent")
            service.claim(self.first.token, claim)
        self.jump(LEASE_S)
        self.let_time_pass(SETTLED_S, until=lambda: bool(self.runs()))
        (run,) = self.runs()
        return run

    def runs(self) -> list[int]:
        return [run.id for run in runs_of(self.observer, self.ticket)]

    def record(self) -> dict[str, Any]:
        """The ticket's record, as everybody can read it in the ledger."""
        return self.observer.ledger(self.ticket)[0].record

    def completed(self, run: int) -> dict[str, Any]:
        """How a run and each of its steps ended."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self._asked(f"runs/{run}")["status"] == "completed":
                (job,) = self._asked(f"runs/{run}/jobs")["jobs"]
                ended = {step["name"]: step["conclusion"] for step in job["steps"]}
                return {"run": self._asked(f"runs/{run}")["conclusion"], **ended}
            time.sleep(0.1)
        raise AssertionError(self.run_log(run))

    def there(self, name: str, run: int) -> None:
        deadline = time.monotonic() + 60
        while not (self.folder / name).exists():
            assert time.monotonic() < deadline, self.run_log(run)
            time.sleep(0.05)

    def cancel(self, run: int) -> None:
        self._asked(f"runs/{run}/cancel", method="POST")

    def names_in(self, sha: str) -> list[str]:
        """The files that a commit changed."""
        return [file.filename for file in self.observer.repository.get_commit(sha).files]

    def _asked(self, path: str, method: str = "GET") -> Any:
        url = f"{self.emulator.url}/api/v3/repos/{REPOSITORY}/actions/{path}"
        answer = httpx.request(method, url, headers={"Authorization": f"Bearer {self.author.token}"}, verify=False)
        answer.raise_for_status()
        return answer.json()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentWorld]:
    made = AgentWorld(tmp_path_factory.mktemp("agent-workflow"))
    try:
        made.start_service()
        made.install()
        yield made
    finally:
        made.stop()


def test_the_run_claims_by_its_own_token_pushes_through_the_service_and_is_ready(world: AgentWorld) -> None:
    since = world.requests_served()
    run = world.started(READY)
    steps, log = world.completed(run), world.run_log(run)
    assert steps["run"] == "success", log
    assert (steps[CLAIM], steps[AGENT], steps[NOT_READY], steps[GIVES_BACK]) == (*("success",) * 3, "skipped")
    record = world.record()
    assert (record["status"], record["generation"]) == ("ready", 2)
    assert record["lease"]["run"] == {"id": run, "attempt": 1}
    assert world.names_in(record["published"]["sha"]) == ["two.txt"]
    assert world.asked_by_actions(since) == []
    assert "key: ***" in log
    assert KEY not in log
    assert "eyJ" not in log


@pytest.mark.drill
@pytest.mark.parametrize(
    ("command", "ended", "because"),
    [(f"{COMMITS} && exit 9", "failure", GIVES_BACK), (f"{COMMITS} && agent-recovery push", "success", NOT_READY)],
    ids=["it fails", "it ends and is not ready"],
)
def test_an_agent_that_is_not_ready_hands_off_what_it_had_and_no_other_is_started(
    world: AgentWorld, command: str, ended: str, because: str
) -> None:
    run = world.started(command)
    steps = world.completed(run)
    assert (steps["run"], steps[AGENT], steps[because]) == (ended, ended, "success"), world.run_log(run)
    record = world.record()
    assert (record["status"], record["lease"]) == ("unclaimed", None)
    assert world.names_in(record["published"]["sha"]) == ["two.txt"]
    world.let_time_pass(SETTLED_S)
    assert world.runs() == [run]
    told = [c for c in world.observer.comments(world.ticket, world.app) if "/recovery recover" in c.body]
    pulls = world.observer.pulls(f"ticket/{world.ticket}-ripen-the-apples")
    told += [c for p in pulls for c in world.observer.comments(p.number, world.app) if "handed-off" in c.body]
    assert len(told) == 1


@pytest.mark.drill
def test_a_cancelled_run_saves_and_hands_off(world: AgentWorld) -> None:
    run = world.started(f"{COMMITS} && touch $OUT/cancelled && sleep 60")
    world.there("cancelled", run)
    world.cancel(run)
    steps = world.completed(run)
    assert (steps["run"], steps[AGENT], steps[GIVES_BACK]) == ("cancelled", "cancelled", "success"), world.run_log(run)
    record = world.record()
    assert (record["status"], record["lease"]) == ("unclaimed", None)
    assert world.names_in(record["published"]["sha"]) == ["two.txt"]


@pytest.mark.drill
def test_a_lost_machine_leaves_a_holder_that_is_dead_at_once(world: AgentWorld) -> None:
    run = world.started("touch $OUT/lost && sleep 60")
    world.there("lost", run)
    world.emulator.lose_machine(run)
    steps = world.completed(run)
    assert (steps["run"], steps.get(GIVES_BACK)) == ("failure", None)
    assert world.record()["lease"]["run"]["id"] == run
    # Long before the lease is over: the time in which a wish settles is all that passes.
    world.let_time_pass(LEASE_S / 3, until=lambda: len(world.runs()) == 2)
    assert len(world.runs()) == 2
