"""The story of a family: a parent dies with children in every state, and two fresh agents read what is left.

One takes over the ticket and reads of its children, the other takes over the child `guide`, whose holder fell silent
half-way. The briefs are the controller's own, on the emulated GitHub.
"""

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loop_world import Agent, LoopWorld, claims_of
from test_children import S1, S2, Parent, Worker

from app.domain.agent_api import Grant
from app.domain.checkpoint import Checkpoint, Step
from app.domain.child_api import ResultRequest
from app.domain.child_contract import SealedResult
from app.domain.children import integrable, listed
from app.domain.record import Record
from app.ledger.agent_commits import Integrated
from app.ledger.git_outcomes import Pushed, Seen
from tests.recovery.fresh_family import FreshChild
from tests.recovery.fresh_story import git_in

LONGER_THAN_A_LEASE_S = 17 * 60
GUIDE = {
    "objective": "Write the guide",
    "acceptance": ["it says how to install", "it says how to use"],
    "expected_result": "guide/a1.txt and guide/a2.txt",
    "role": "writer",
    "budget": {"minutes": 90, "tokens": 200_000},
}


@dataclass(frozen=True)
class Family:
    """The brief of the new holder of the ticket and its clone; the brief of the new holder of `guide`, its clone, and
    what it gave; how the children stood then.
    """

    ticket: int
    parent: dict[str, Any]
    parent_folder: Path
    child: dict[str, Any]
    child_folder: Path
    given: dict[str, Any]
    afterwards: dict[str, Any]


async def play(world: LoopWorld) -> Family:
    parent = await Parent.working(world)
    await parent.restack(S1)
    await _given(parent, "first")
    _integrate(parent.agent, "first")
    await parent.restack(S1)
    await _given(parent, "old")
    await parent.spawn("guide", **GUIDE)
    await (await Worker.on(parent, "guide")).give()
    await parent.restack(S2)
    await _given(parent, "docs", settles=True)
    await parent.respawn("guide")
    await _given(parent, "broken", outcome="failed")
    await parent.spawn("dropped", role="writer")
    await parent.cancel("dropped")
    await parent.spawn("code", role="writer")
    await _given(parent, "tests", settles=True)
    await parent.spawn("late", role="writer")
    _half(await Worker.on(parent, "guide", generation=1))
    world.emulator.advance(LONGER_THAN_A_LEASE_S)
    await Worker.on(parent, "code")
    grant = await world.claim(parent.controller, generation=1)
    successor = Parent(world, parent.controller, world.agent(grant))
    folder = successor.agent.folder
    world.git(folder, "fetch", "-q", "origin", "+refs/agent-recovery/results/*:refs/results/*")
    fresh = await Worker.on(parent, "guide", generation=2)
    shown = _brief(fresh.grant)
    kept = _copied(fresh.agent.folder)
    given = await _finish(fresh, shown)
    return Family(
        ticket=world.ticket,
        parent=_brief(grant),
        parent_folder=folder,
        child=shown,
        child_folder=kept,
        given=given,
        afterwards={name: child.model_dump(mode="json") for name, child in (await successor.children()).items()},
    )


def _brief(grant: Grant) -> dict[str, Any]:
    return grant.brief.model_dump(mode="json")


def _copied(folder: Path) -> Path:
    copy = folder.with_name(f"{folder.name}-kept")
    git_in(folder, "clone", "-q", "--local", "--no-hardlinks", ".", str(copy))
    return copy


async def _given(parent: Parent, name: str, outcome: str = "completed", settles: bool = False) -> None:
    await parent.spawn(name, role="writer")
    worker = await Worker.on(parent, name)
    worker.agent.push(name)
    if settles:
        await worker.settle()  # its pull request
    await worker.give(outcome)


def _integrate(agent: Agent, name: str) -> None:
    seen = agent.ledger.look(agent.grant.branch)
    assert isinstance(seen, Seen)
    record = seen.entries[0].record
    assert isinstance(record, Record)
    entry = next(child for child in listed(record) if child.name == name)
    found = agent.ledger.children([entry])
    assert isinstance(found, dict)
    result = integrable(entry, found[name], record, True)
    assert isinstance(result, SealedResult), result
    agent.world.git(agent.folder, "merge", "-q", "--no-ff", "-m", f"Integrate {name}", str(result.head_sha))
    merged = agent.world.git(agent.folder, "rev-parse", "HEAD")
    noted = (Integrated(entry, result.model_copy(update={"merged": merged})),)
    assert isinstance(agent.push_commit(merged, "integrated", integrated=noted), Pushed)


def _half(worker: Worker) -> None:
    """The first of two files, published with what a successor must know."""
    (worker.agent.folder / "guide").mkdir()
    (worker.agent.folder / "guide/a1.txt").write_text("install\n")
    _push(worker, worker.agent.work("one"), ("a1",))


def _push(worker: Worker, sha: str, done: tuple[str, ...]) -> None:
    steps = {f"a{number}": text for number, text in enumerate(GUIDE["acceptance"], start=1)}
    checkpoint = Checkpoint(
        objective=str(GUIDE["objective"]),
        completed_steps=tuple(Step(id=i, text=text, sha=sha) for i, text in steps.items() if i in done),
        next_steps=tuple(Step(id=i, text=text) for i, text in steps.items() if i not in done),
        predecessor_issue_or_pr=7,
        predecessor_sha=S2,
    )
    pushed = worker.agent.ledger.fenced_push(
        worker.grant.lease_token,
        worker.grant.branch,
        sha,
        checkpoint=checkpoint,
        status="working",
        request=(secrets.token_hex(8), worker.next()["seq"]),
    )
    assert isinstance(pushed, Pushed)


async def _finish(worker: Worker, brief: dict[str, Any]) -> dict[str, Any]:
    """What the scripted agent makes of its brief, published and given."""
    folder = worker.agent.folder
    agent = FreshChild(folder, lambda *words: git_in(folder, *words), roles=("writer",))
    given = agent.finish(brief, publish=lambda sha, done: _push(worker, sha, done))
    request = ResultRequest.model_validate({**worker.next(), **given})
    child, claims = worker.child, claims_of(worker.grant)
    await worker.parent.controller.result("acme", "shop", child, claims, request)
    return given
