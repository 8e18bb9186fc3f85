"""A dispatch is sent once: its run is known, looked for by its name, or given up; a refusal is told for what it is."""

import asyncio
import json
import os
import sys
import time

import httpx
import pytest
from loop_world import PERMISSIONS, REPO
from resume_world import LEASE_OVER_S, WORKFLOW, WORKFLOW_FILE, ResumeWorld
from spoken_world import Replica

from app.controller import controller
from app.controller.dispatching import Dispatching
from app.domain.agent_api import Grant
from app.domain.dispatched import Dispatched, Run
from app.domain.outcome import Blocked, Code
from app.service.agent_command import AgentCommand


class Cut(httpx.AsyncBaseTransport):
    """A way to GitHub on which the first dispatch gets no answer; `arrives`: whether it is carried out all the same."""

    def __init__(self, arrives: bool) -> None:
        self._way = httpx.AsyncHTTPTransport(verify=False)
        self._arrives = arrives
        self.cut = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.cut or not request.url.path.endswith("/dispatches"):
            return await self._way.handle_async_request(request)
        self.cut += 1
        if self._arrives:
            await (await self._way.handle_async_request(request)).aread()
        raise httpx.ReadError("cut", request=request)


async def dispatched(world: ResumeWorld, service: Replica, minutes: int = 12) -> Dispatched | None:
    """What the ledger says of the latest dispatch, once its answer is settled."""
    await world.pass_time(LEASE_OVER_S, service)
    for _ in range(minutes):
        record = await world.record(service)
        if record.dispatched is not None and not any(p.kind == "dispatch" for p in record.open):
            return record.dispatched
        await world.pass_time(60, service)
    return (await world.record(service)).dispatched


async def test_the_run_is_recorded_and_its_inputs_hold_no_secret(world: ResumeWorld) -> None:
    service = world.replica()
    agent = await world.begun(service)
    latest = await dispatched(world, service)
    (run,) = world.runs()
    assert latest is not None
    assert latest.run is not None
    assert (latest.state, latest.run.id, latest.run.attempt) == ("open", run["id"], 1)
    assert latest.attempt in run["display_title"]
    sent = [r for r in world.emulator.requests() if r["path"].endswith("/dispatches")]
    assert len(sent) == 1
    assert agent.grant.lease_token not in json.dumps(sent)
    assert agent.grant.nonce not in run["display_title"]
    assert (await world.record(service)).attempts.count == 1


async def test_an_answer_that_got_lost_is_looked_for_by_the_name_of_the_run(world: ResumeWorld) -> None:
    way = Cut(arrives=True)
    service = world.replica(transport=way)
    await world.begun(service)
    latest = await dispatched(world, service)
    (run,) = world.runs()
    assert way.cut == 1
    assert latest is not None
    assert latest.run is not None
    assert (latest.state, latest.run.id) == ("open", run["id"])


async def test_what_is_not_found_is_burned_and_another_attempt_counted(world: ResumeWorld) -> None:
    way = Cut(arrives=False)
    service = world.replica(transport=way)
    await world.begun(service)
    first = await dispatched(world, service)
    assert first is not None
    for _ in range(12):
        now = await world.record(service)
        if now.dispatched is not None and now.dispatched.attempt != first.attempt:
            break
        await world.pass_time(60, service)
    assert now.dispatched is not None
    assert now.dispatched.attempt != first.attempt
    assert now.attempts.count == 2
    assert all(first.attempt not in run["display_title"] for run in world.runs())
    late = await world.claimed(service, 1, attempt=first.attempt)
    assert isinstance(late, Blocked)
    assert late.code is Code.ATTEMPT_OVER


async def test_without_the_permission_nothing_is_started_and_it_is_not_tried_again_at_once(world: ResumeWorld) -> None:
    without = {name: level for name, level in PERMISSIONS.items() if name != "actions"}
    world.emulator.change_app("agent-recovery", permissions=without)
    world.emulator.accept_permissions(world.installation)
    service = world.replica()
    try:
        await world.begun(service)
        await dispatched(world, service)
        record = await world.record(service)
        assert [p.state for p in record.open if p.kind == "dispatch"] == ["blocked"]
        assert world.runs() == []
        assert world.dispatches() == 2
    finally:
        world.emulator.change_app("agent-recovery", permissions=PERMISSIONS | {"actions": "write"})
        world.emulator.accept_permissions(world.installation)


async def test_a_workflow_without_the_trigger_is_not_to_be_started(world: ResumeWorld) -> None:
    service = world.replica()
    await world.begun(service)
    without = WORKFLOW.replace("workflow_dispatch:", "workflow_call:")
    world.emulator.commit(REPO, {WORKFLOW_FILE: without}, branch="main")
    latest = await dispatched(world, service)
    assert latest is not None
    assert latest.state == "unstartable"
    assert "agent.yml" in latest.because
    assert world.runs() == []


BY_EVENT = """\
name: Agent
run-name: Agent for ${{ github.event.client_payload.ticket }} (${{ github.event.client_payload.attempt }})
on:
  repository_dispatch:
    types: [agent-recovery]
permissions: {id-token: write}
jobs:
  agent: {runs-on: ubuntu-latest, steps: [{run: "true"}]}
"""


async def test_a_run_by_an_event_of_the_repository_is_started_once_and_claims(world: ResumeWorld) -> None:
    world.emulator.commit(REPO, {WORKFLOW_FILE: BY_EVENT}, branch="main")
    world.says(more="resume: {dispatch: repository_dispatch}\n")
    service = world.replica()
    await world.begun(service)
    latest = await dispatched(world, service)
    assert latest is not None
    (run,) = world.runs()
    assert (latest.start, latest.state, run["event"]) == ("repository_dispatch", "open", "repository_dispatch")
    assert run["display_title"] == f"Agent for {world.ticket} ({latest.attempt})"
    grant = await world.works(service, run)
    assert isinstance(grant, Grant)
    record = await world.record(service)
    assert record.lease is not None
    assert record.lease.run == Run(id=run["id"], attempt=1)
    await world.pass_time(10 * 60, service)
    assert world.dispatches() == 1


async def test_the_operators_command_is_started_once_without_a_secret_and_its_agent_claims(
    world: ResumeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = world.folder / "told.jsonl"
    program = "import json, os; open(os.environ['OUT'], 'a').write(json.dumps(dict(os.environ)) + chr(10))"
    environment = {"PATH": os.environ["PATH"], "HOME": str(world.folder), "OUT": str(told), "SECRET": "s3cret"}
    command = AgentCommand(
        (sys.executable, "-c", program), service_url="http://127.0.0.1:1", names=("OUT",), environment=environment
    )
    monkeypatch.setattr(controller, "Dispatching", lambda url, runs: Dispatching(url, command, runs))
    world.says(more="resume: {dispatch: command}\n")
    service = world.replica()
    await world.begun(service)
    latest = await dispatched(world, service)
    assert latest is not None
    assert (latest.start, latest.state, latest.run) == ("command", "open", None)
    deadline = time.monotonic() + 20
    while not (told.exists() and told.read_text().endswith("\n")):
        assert time.monotonic() < deadline, "the command was not started"
        await asyncio.sleep(0.05)
    (seen,) = [json.loads(line) for line in told.read_text().splitlines()]
    ours = {name: value for name, value in seen.items() if name.startswith("AGENT_RECOVERY_")}
    assert ours == {
        "AGENT_RECOVERY_URL": "http://127.0.0.1:1",
        "AGENT_RECOVERY_REPO": REPO,
        "AGENT_RECOVERY_TICKET": str(world.ticket),
        "AGENT_RECOVERY_GENERATION": "1",
        "AGENT_RECOVERY_ATTEMPT": latest.attempt,
    }
    assert "SECRET" not in seen
    assert isinstance(await world.claimed(service, 1, attempt=latest.attempt), Grant)
    late = await world.claimed(service, 1, attempt=latest.attempt)
    assert isinstance(late, Blocked)
    assert late.code is Code.ATTEMPT_OVER
    await world.pass_time(10 * 60, service)
    assert len(told.read_text().splitlines()) == 1


@pytest.mark.parametrize("dispatch", ["none", "command"])
async def test_where_nothing_starts_agents_a_person_is_asked_when_the_ticket_is_too_old(
    world: ResumeWorld, dispatch: str
) -> None:
    """`command`: the operator has none."""
    world.says(more=f"resume: {{dispatch: {dispatch}, max_age: 1h}}\n")
    service = world.replica()
    await world.begun(service)
    assert await dispatched(world, service) is None
    assert (await world.record(service)).attempts.count == 0
    assert world.reports() == []
    await world.pass_time(3600, service)
    (told,) = world.reports()
    assert "@wanda" in told["body"]
    assert (await world.record(service)).status == "abandoned"
