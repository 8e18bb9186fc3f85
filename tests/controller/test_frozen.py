"""A ledger that was moved back, deleted or forged: told once, nothing granted, nothing written, nothing undone.

With the service's table and without it: then the handoff comment and the check-run are what remembers.
"""

import json
import secrets
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from loop_world import REPO, Agent, LoopWorld, claims_of

from app.controller.controller import Controller
from app.domain.agent_api import CheckpointRequest, ClaimRequest, EvidenceRequest, HandoffRequest, HeartbeatRequest
from app.domain.keys import TicketKey
from app.domain.outcome import Code, Refused

TITLE = "Frozen: the record of who holds this ticket cannot be trusted"
DATABASES = ["kept", "lost"]


def _moved_back(world: LoopWorld, agent: Agent) -> None:
    head = _fetched(world, agent)
    world.git(agent.folder, "push", "-q", "origin", f"+{head}~2:{agent.grant.ledger_ref}")


def _moved_back_to_its_birth(world: LoopWorld, agent: Agent) -> None:
    born = world.git(agent.folder, "rev-list", "--max-parents=0", "--first-parent", _fetched(world, agent))
    world.git(agent.folder, "push", "-q", "origin", f"+{born}:{agent.grant.ledger_ref}")


def _deleted(world: LoopWorld, agent: Agent) -> None:
    world.git(agent.folder, "push", "-q", "origin", f":{agent.grant.ledger_ref}")


def _moved_away(world: LoopWorld, agent: Agent) -> None:
    """Out of the index of tickets in progress, as if it had ended, with the status of one in progress."""
    head = _fetched(world, agent)
    done = agent.grant.ledger_ref.replace("/active/", "/done/")
    world.git(agent.folder, "push", "-q", "--atomic", "origin", f"{head}:{done}", f":{agent.grant.ledger_ref}")


def _forged(world: LoopWorld, agent: Agent) -> None:
    """A new commit that names another holder, in the form of ours, under the seal of the commit below."""
    head = _fetched(world, agent)
    record = json.loads(world.git(agent.folder, "show", f"{head}:record.json"))
    record |= {"sequence": record["sequence"] + 1, "lease": record["lease"] | {"holder": "mallory"}}
    blob = _git(agent.folder, "hash-object", "-w", "--stdin", text=json.dumps(record))
    tree = _git(agent.folder, "mktree", text=f"100644 blob {blob}\trecord.json\n")
    message = world.git(agent.folder, "log", "-1", "--format=%B", head)
    commit = world.git(agent.folder, "commit-tree", tree, "-p", head, "-m", message)
    world.git(agent.folder, "push", "-q", "origin", f"{commit}:{agent.grant.ledger_ref}")


DEEDS = [_moved_back, _moved_back_to_its_birth, _deleted, _moved_away, _forged]


def _fetched(world: LoopWorld, agent: Agent) -> str:
    world.git(agent.folder, "fetch", "-q", "origin", agent.grant.ledger_ref)
    return world.git(agent.folder, "rev-parse", "FETCH_HEAD")


def _git(folder: Path, *arguments: str, text: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, input=text, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _refs(world: LoopWorld) -> dict[str, str]:
    """Every ref of the repository, save those GitHub makes for pull requests."""
    found = [*world.get("git/matching-refs/heads/"), *world.get("git/matching-refs/agent-recovery/")]
    return {ref["ref"]: ref["object"]["sha"] for ref in found}


def _calls(world: LoopWorld, controller: Controller, agent: Agent) -> dict[str, Awaitable[Any]]:
    """Everything that an agent may ask for, by a newcomer and by the holder."""
    at = ("acme", "shop", world.ticket)
    claims, grant = claims_of(agent.grant), agent.grant

    def claim(generation: int) -> Awaitable[Any]:
        request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=generation)
        return controller.claim(*at, request, "wanda")

    key = secrets.token_hex(8)
    evidence = EvidenceRequest(key=f"{key}-e", seq=901, head_sha=grant.head_sha, clean=True)
    checkpoint = CheckpointRequest(key=f"{key}-c", seq=902, checkpoint={"objective": "more"})
    return {
        "claim from nothing": claim(0),
        "claim from the generation": claim(grant.generation),
        "evidence": controller.evidence(*at, claims, evidence),
        "checkpoint": controller.checkpoint(*at, claims, checkpoint),
        "handoff": controller.handoff(*at, claims, HandoffRequest(key=f"{key}-h", seq=903)),
        "heartbeat": controller.heartbeat(*at, claims, HeartbeatRequest(ledger_head=grant.ledger_head)),
    }


async def _answers(calls: dict[str, Awaitable[Any]]) -> dict[str, str]:
    told = {}
    for name, call in calls.items():
        try:
            told[name] = f"granted: {await call}"
        except Refused as refused:
            told[name] = refused.blocked.code.value
    return told


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__.strip("_"))
async def test_a_ledger_that_is_not_what_it_was_freezes_the_ticket(
    world: LoopWorld, deed: Callable[[LoopWorld, Agent], None], database: str
) -> None:
    controller, agent, sha = await world.published()
    deed(world, agent)
    after_the_deed = _refs(world)
    if database == "lost":
        controller = world.controller()
    mark = world.requested()

    answers = await _answers(_calls(world, controller, agent))
    assert set(answers.values()) == {Code.FROZEN.value}, answers
    brief = await controller.brief("acme", "shop", world.ticket)
    assert not brief.claimable
    assert "frozen" in brief.claimable_because
    assert world.writes(mark) == []
    assert set(await world.poked()) == {f"{REPO}#{world.ticket}"}

    ended = await controller.round(TicketKey(REPO, world.ticket))
    assert ended.again_at is None
    assert ended.reason.startswith("frozen")
    told_at = world.requested()
    await _answers(_calls(world, controller, agent))
    await world.settle(controller)
    await world.settle(world.controller())
    assert world.writes(told_at) == []

    (pull,) = world.get("pulls?state=all")
    (report,) = world.comments(pull["number"], "agent-recovery:report")
    assert report["body"].splitlines()[1].startswith("@wanda **Agent Recovery has stopped acting on ticket")
    assert world.comments(world.ticket, "agent-recovery:report") == []
    (run,) = world.check_runs(sha)
    assert (run["conclusion"], run["output"]["title"]) == ("action_required", TITLE)
    assert _refs(world) == after_the_deed


async def test_a_heartbeat_after_the_database_was_lost_looks_once_and_then_asks_one_question(world: LoopWorld) -> None:
    _, agent, _ = await world.published()
    replica = world.controller()
    await replica.start_up()
    asked = []
    for _ in range(3):
        mark = world.requested()
        await replica.heartbeat("acme", "shop", world.ticket, claims_of(agent.grant), HeartbeatRequest())
        asked.append([r for r in world.emulator.requests(mark) if r["kind"] in ("rest", "graphql")])
    assert len(asked[0]) > 2
    assert [len(requests) for requests in asked[1:]] == [2, 2]


async def test_a_frozen_ticket_is_told_once_also_when_the_database_is_lost_in_between(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    # The table alone knows of this: no image of it stands at GitHub yet.
    request = CheckpointRequest(key="checkpoint-1", seq=900, checkpoint={"objective": "more"})
    await controller.checkpoint("acme", "shop", world.ticket, claims_of(agent.grant), request)
    _deleted(world, agent)
    await world.settle(controller)
    before = world.requested()
    await world.settle(world.controller())
    assert world.writes(before) == []
    (pull,) = world.get("pulls?state=all")
    assert len(world.comments(pull["number"], "agent-recovery:report")) == 1


async def test_a_report_stays_the_only_one_when_its_pr_is_closed(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    _deleted(world, agent)
    await world.settle(controller)
    (pull,) = world.get("pulls?state=all")
    world.http.patch(f"/repos/{REPO}/pulls/{pull['number']}", json={"state": "closed"}).raise_for_status()
    before = world.requested()
    await world.settle(controller)
    assert world.writes(before) == []
    assert world.comments(world.ticket, "agent-recovery:report") == []


async def test_a_ticket_whose_expected_commit_a_person_pushed_back_goes_on(world: LoopWorld) -> None:
    controller, agent, sha = await world.published()
    head = _fetched(world, agent)
    _moved_back(world, agent)
    await world.settle(controller)
    world.git(agent.folder, "push", "-q", "origin", f"+{head}:{agent.grant.ledger_ref}")
    await world.settle(controller)
    assert [run["conclusion"] for run in world.check_runs(sha)] == ["success"]
    assert type(agent.push("two")).__name__ == "Pushed"
