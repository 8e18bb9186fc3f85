"""A ledger forged field by field by somebody who may push: nothing is granted, one report, whatever remembers it."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forging
import pytest
from loop_world import Agent, LoopWorld, claims_of

from app.domain.agent_api import CheckpointRequest
from app.domain.outcome import Code, Refused
from app.domain.record import Record
from app.emulator.client import Emulator

SHA, TIME, OTHER = "d" * 40, "2026-11-30T04:00:00Z", {"generation": 9, "nonce": "n9"}
PERMIT = {"id": "p1", "kind": "pr_create", "target": {}, "author": "a", "round": "r", "state": "fired"}
FORGERIES: dict[str, Any] = {
    "schema": 2,
    "ticket": 43,
    "child": "docs-1",
    "sequence": 1_000,
    "status": "held",
    "lease": lambda lease: lease | {"expires_at": "2099-11-30T04:00:00Z"},
    "generation": 2,
    "renewals": 1_000,
    "requests": [{"key": "k" * 8, "seq": 1, "generation": 2, "answer": {}}],
    "work": lambda work: work | {"trunk": "main"},
    "published": lambda published: published | {"generation": 2},
    "checkpoint": {"schema_version": 1, "objective": "mine now"},
    "children": [{"name": "docs-1", "generation": 1}],
    "spawn": {"objective": "x", "base_sha": SHA, "parent_generation": 1, "spawned_at": TIME},
    "result": {
        "outcome": "completed",
        "summary": "x",
        "head_sha": None,
        "base_sha": SHA,
        "generation": 1,
        "at": TIME,
    },
    "effects": [{"key": "e1", "kind": "tag", "state": "intended", **OTHER}],
    "effect_keys": {"0" * 16: "confirmed"},
    "validations": [{"profile": "unit", "outcome": "passed"}],
    "attempts": {"count": 0, "steps_before": [], "alive_at": TIME, "interrupted_at": None},
    "intent": {"by": "wanda", "at": TIME},
    "dispatched": {"attempt": "0" * 16, "start": "command", "generation": 1, "at": TIME},
    "stopped": {"because": "too_old", "edge": "e", "reason": "x", "at": TIME},
    "approvals": [{"effect": "e1"}],
    "round": {"id": "r", "author": "a", "tries": 1, "ttl_s": 60, "opened_at": TIME},
    "open": [PERMIT],
    "commands": [{"comment": 1}],
    "burned_shas": [SHA],
    "saved_at": TIME,
    "ended": {"because": "merged", "at": TIME},
    "pruned": {"at": TIME, "sequence": 1},
    "rebuilt": {"by": "wanda", "at": TIME, "sequence": 1},
    "projections": lambda projections: projections | {"pr_number": 1},
    "landing": {"asked": {"by": "wanda", "at": TIME, "head_sha": SHA}},
    "fence": {"sha": SHA, "on": SHA, "because": "x"},
    "held": {"by": "wanda", "at": TIME, "before": "working"},
    "x_unknown": 1,
}
HOLDERS_OWN = {"checkpoint", "validations"}
"""What a holder may write as he likes, so that a seal of his makes it no forgery."""


@dataclass
class Scene:
    """A ticket in its ordinary state, for all forgeries of this file: each is taken back after it was looked at."""

    world: LoopWorld
    agent: Agent
    database: Path
    head: str
    record: dict[str, Any]
    pull: int
    code: str


@pytest.fixture(scope="module")
def scene(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    world = LoopWorld(emulator, tmp_path_factory.mktemp("forged"))
    database = world.folder / "kept.db"

    async def made() -> tuple[Agent, str]:
        controller = world.controller(database_file=database)
        agent = world.agent(await world.claim(controller))
        sha = agent.push("one").code_sha
        await world.settle(controller)
        await world.close_replicas()
        return agent, sha

    agent, code = asyncio.run(made())
    head, record = forging.fetched(agent)
    (pull,) = world.get("pulls?state=all")
    yield Scene(world, agent, database, head, record, pull["number"], code)
    world.http.close()


def test_every_field_of_a_record_is_forged() -> None:
    names = {field.alias or name for name, field in Record.model_fields.items()}
    assert names <= FORGERIES.keys()


def _forged(scene: Scene, name: str) -> dict[str, Any]:
    value = FORGERIES[name]
    return forging.following(scene.record) | {name: value(scene.record[name]) if callable(value) else value}


async def _is_frozen(scene: Scene, forged: str) -> None:
    """With the service's table and without it: nothing granted, nothing stored, one report, and all stays as found."""
    world, grant = scene.world, scene.agent.grant
    try:
        forging.point(scene.agent, forged)
        for database in (scene.database, None):
            service = world.controller(database_file=database)
            last = world.emulator.requests()[-1]["n"]
            request = CheckpointRequest(key="checkpoint-1", seq=900, checkpoint={"objective": "more"})
            for asked in (
                world.claim(service, 1),
                service.checkpoint("acme", "shop", world.ticket, claims_of(grant), request),
            ):
                with pytest.raises(Refused) as refused:
                    await asked
                assert refused.value.blocked.code is Code.FROZEN
            assert world.writes(last) == []
            assert [ended.reason.split(":")[0] for ended in await world.settle(service)] == ["frozen"]
        assert len(world.comments(scene.pull, "agent-recovery:report")) == 1
        assert [run["conclusion"] for run in world.check_runs(scene.code)] == ["action_required"]
        assert (world.ledger(), world.head(grant.branch)) == (forged, scene.code)
    finally:
        forging.point(scene.agent, scene.head)
        await world.close_replicas()


@pytest.mark.parametrize("name", sorted(FORGERIES.keys() - HOLDERS_OWN))
async def test_ledger_forged_field_by_field_by_its_holder(scene: Scene, name: str) -> None:
    """Trace: ledger forged field by field, with and without the database; the commit bears the holder's own seal."""
    await _is_frozen(scene, forging.commit(scene.agent, scene.head, _forged(scene, name), sealed=True))


@pytest.mark.parametrize("name", sorted(FORGERIES))
async def test_ledger_forged_field_by_field_without_a_seal(scene: Scene, name: str) -> None:
    """Trace: ledger forged field by field, with and without the database; the commit bears no seal."""
    await _is_frozen(scene, forging.commit(scene.agent, scene.head, _forged(scene, name), sealed=False))


async def test_ledger_with_what_is_published_made_up(scene: Scene) -> None:
    """Trace: ledger forged field by field: a holder names as published what is not beside his commit."""
    fields = forging.following(scene.record)
    fields["published"] = fields["published"] | {"sha": SHA}
    forged = forging.commit(scene.agent, scene.head, fields, sealed=True, code_parent=scene.code)
    await _is_frozen(scene, forged)


@pytest.mark.parametrize("name", [None, *sorted(HOLDERS_OWN)])
async def test_what_is_the_holders_own_is_no_forgery(scene: Scene, name: str | None) -> None:
    """The same commits, honest: nothing freezes, and the lease is what it was."""
    # Without the table, that would remember them when they are taken back.
    service = scene.world.controller()
    fields = forging.following(scene.record) if name is None else _forged(scene, name)
    try:
        forging.point(scene.agent, forging.commit(scene.agent, scene.head, fields, sealed=True))
        brief = await service.brief("acme", "shop", scene.world.ticket)
        assert brief.generation == 1
    finally:
        forging.point(scene.agent, scene.head)
        await scene.world.close_replicas()
