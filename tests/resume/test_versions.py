"""What another version wrote is no reason to crash at start, and none to resume: it is told, and the others go on.

A checkpoint of one version that another one resumes is safe only where the messages fit; so every state is versioned,
and what cannot be read is left to a person, with an event, never with a crash.
"""

import json
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from forging import commit, fetched, following, point
from loop_world import REPO, Agent
from resume_world import DISPATCHING, LEASE_OVER_S, POLICY, WORKFLOW, WORKFLOW_FILE, ResumeWorld, drain
from spoken_world import POLICY_FILE

from app.domain import attempt
from app.domain.agent_api import Grant
from app.domain.dispatched import Dispatched, Stopped
from app.domain.life_cycle import Ending, ended
from app.domain.outcome import Blocked, Code, Exit, exit_code
from app.domain.record import Record
from app.ledger.codec import dump, load

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


# ---- ledgers that this version cannot read


def newer_schema(agent: Agent) -> str:
    head, record = fetched(agent)
    return commit(agent, head, following(record) | {"schema": 99, "plan": {"of": "another version"}}, sealed=True)


def unreadable(agent: Agent) -> str:
    head, _ = fetched(agent)
    file = agent.folder.parent / f"{secrets.token_hex(3)}.json"
    file.write_text("}{")
    blob = agent.world.git(agent.folder, "hash-object", "-w", str(file))
    message = agent.world.git(agent.folder, "log", "-1", "--format=%B", head)
    agent.world.git(agent.folder, "read-tree", "--empty")
    agent.world.git(agent.folder, "update-index", "--add", "--cacheinfo", f"100644,{blob},record.json")
    made = agent.world.git(agent.folder, "write-tree")
    return agent.world.git(agent.folder, "commit-tree", made, "-p", head, "-m", message)


@pytest.mark.parametrize("harm", [newer_schema, unreadable])
async def test_a_ledger_of_another_version_is_told_once_and_never_resumed_and_the_others_go_on(
    world: ResumeWorld, harm: Callable[[Agent], str]
) -> None:
    service = world.replica()
    agent = await world.begun(service)
    other = world.emulator.issue(REPO, "Pick the pears", author="wanda")["number"]
    healthy = await world.claimed(service, ticket=other)
    assert isinstance(healthy, Grant), healthy
    head = harm(agent)
    point(agent, head)
    world.emulator.advance(LEASE_OVER_S)
    for again in (world.replica(service.file), world.replica()):  # with its database, and after losing it
        await again.controller.start_up()
        await drain(again)
        await world.pass_time(10 * 60, again, beating=[healthy])
        refused = await world.claimed(again, 1)
        assert isinstance(refused, Blocked)
        assert (refused.code, exit_code(refused.code)) == (Code.FROZEN, Exit.GATE_CLOSED)
        assert (await world.record(again, other)).status == "working"
    assert world.places() == {"active"}
    assert world.ledger() == head
    assert len(world.reports()) == 1
    assert world.reports()[0]["body"].splitlines()[1].startswith("@wanda ")
    assert world.dispatches() == 0


# ---- a policy in another format


async def test_a_policy_of_another_version_at_start_leaves_the_last_valid_one_in_force(world: ResumeWorld) -> None:
    service = world.replica()
    agent = await world.begun(service)
    world.emulator.commit(REPO, {POLICY_FILE: "version: 99\nresume: {from: the future}\n"}, branch="main")
    for again in (world.replica(service.file), world.replica()):
        await again.controller.start_up()
        await drain(again)
        view = await again.controller._views.look("acme", "shop", world.ticket)
        assert view.usable_policy is not None
        assert view.usable_policy.resume.dispatch == "workflow_dispatch"
        assert (await world.record(again)).status == "working"
    assert agent.push("two")
    # With none that was ever valid nothing is granted, and nothing falls.
    world.emulator.commit(REPO, {POLICY_FILE: POLICY.format(mode="repair", more=DISPATCHING)}, branch="main")
    await world.pass_time(60, service)
    assert (await world.record(service)).status == "working"


# ---- what a ticket stands on is gone


MISSING = {"trunk": "the branch release-1", "workflow": "no workflow agent.yml"}


@pytest.mark.parametrize("gone", MISSING)
async def test_a_ticket_with_nothing_to_resume_it_with_is_abandoned_with_an_event(
    world: ResumeWorld, gone: str
) -> None:
    """Its trunk was deleted, or the workflow that was to run was renamed, while nobody was at work on it."""
    service = world.replica()
    await world.begun(service)
    world.emulator.advance(LEASE_OVER_S)
    other = world.emulator.issue(REPO, "Pick the pears", author="wanda")["number"]
    healthy = await world.claimed(service, ticket=other)
    assert isinstance(healthy, Grant), healthy
    if gone == "trunk":
        world.ask("wanda", "DELETE", "git/refs/heads/release-1")
    else:
        moved = {".github/workflows/renamed.yml": WORKFLOW, WORKFLOW_FILE: None}
        world.emulator.commit(REPO, moved, branch="main")
    again = world.replica()
    await again.controller.start_up()
    await world.pass_time(12 * 60, again, beating=[healthy])
    record = await world.record(again)
    assert (record.status, record.ended and record.ended.because) == ("abandoned", "unresumable")
    assert world.places() == {"done"}
    (told,) = world.told_to()
    assert told.startswith("@wanda ")
    assert MISSING[gone] in told
    assert (len(world.runs()), world.dispatches()) == (0, 1 if gone == "workflow" else 0)
    # Said once, and for good: another service, another hour.
    later = world.replica()
    await later.controller.start_up()
    await world.pass_time(12 * 60, later, beating=[healthy])
    assert (world.places(), len(world.reports()), world.runs()) == ({"done"}, 1, [])
    refused = await world.claimed(later, 1)
    assert isinstance(refused, Blocked)
    assert exit_code(refused.code) == Exit.GATE_CLOSED
    assert (await world.record(later, other)).status == "working"


async def test_a_ticket_branch_that_was_deleted_is_put_back_at_start(world: ResumeWorld) -> None:
    service = world.replica()
    agent = await world.begun(service)
    head = world.head(agent.grant.branch)
    world.ask("wanda", "DELETE", f"git/refs/heads/{agent.grant.branch}")
    again = world.replica()
    await again.controller.start_up()
    await drain(again)
    assert world.head(agent.grant.branch) == head
    assert (await world.record(again)).status == "working"


# ---- fields of a newer version of the same schema


def test_fields_of_dispatches_and_stops_that_this_version_does_not_know_survive_what_it_rewrites() -> None:
    fields: dict[str, Any] = {
        "schema": 1,
        "ticket": 42,
        "sequence": 5,
        "status": "exhausted",
        "generation": 2,
        "newer": {"a": [1, 2]},
        "dispatched": {
            "attempt": "a" * 16,
            "start": "workflow_dispatch",
            "generation": 2,
            "at": "2026-11-30T11:00:00Z",
            "queue": "fast",
            "run": {"id": 7, "attempt": 1, "machine": "big"},
        },
        "stopped": {
            "because": "attempts",
            "edge": "stuck-g2",
            "reason": "three claims",
            "at": "2026-11-30T11:30:00Z",
            "asked": ["ann"],
        },
    }
    record = load(json.dumps(fields))
    assert isinstance(record, Record)
    over = attempt.ended(record, "somebody else claimed the ticket first")
    abandoned = ended(over, Ending("abandoned", "too_old", "too old"), now=NOW)
    for rewritten in (record, over, abandoned):
        written = json.loads(dump(rewritten))
        assert written["newer"] == {"a": [1, 2]}
        assert written["dispatched"]["queue"] == "fast"
        assert written["dispatched"]["run"] == {"id": 7, "attempt": 1, "machine": "big"}
        assert written["stopped"]["asked"] == ["ann"]
    assert (type(record.dispatched), type(record.stopped)) == (Dispatched, Stopped)
