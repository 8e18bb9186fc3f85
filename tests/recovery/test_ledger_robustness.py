"""A ledger that is not what it should be is never used, never repaired by itself and never the end of its ticket.

| what happened to it | here, by name | also |
|---|---|---|
| unsealed | `unsealed` | tests/controller/test_traces_forged.py, every field |
| foreign seal | `sealed_by_an_older_lease`, `sealed_for_another_ticket` | tests/ledger/test_verify.py |
| a field not allowed to agents | `a_field_of_the_service` | tests/controller/test_traces_forged.py, every one |
| bad parent | `on_another_parent`, `without_a_parent` | tests/ledger/test_verify.py |
| generation going back | `generation_back` | tests/ledger/test_witness.py |
| sequence going back | `sequence_back`, `sequence_ahead` | tests/ledger/test_witness.py |
| rolled back below the high-water mark | `rolled_back` | tests/controller/test_frozen.py, also to its birth |
| both places | `in_both_places` | tests/recovery/test_rebuild.py, test_pruning.py |
| deleted | `deleted` | tests/controller/test_frozen.py, tests/recovery/test_rebuild.py |
| force-moved | `moved_to_the_code`, `moved_to_done` | tests/ledger/test_api.py |
| unreadable | `not_json`, `no_record`, `a_blob` | tests/ledger/test_verify.py |
| newer schema | `newer_schema` | tests/recovery/test_rebuild.py: left alone |
| a tombstone in the wrong place | | tests/recovery/test_pruning.py |
| refs gone entirely, begun anew | | tests/recovery/test_rebuild.py |

The three worlds (as GitHub is, without `updateRefs`, without custom refs) are played below from a claim to a recovery;
tests/ledger/test_api.py plays every write of a ledger in each of them.
"""

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forging
import pytest
from loop_world import POLICY, REPO, Agent, LoopWorld, claims_of

from app.domain.agent_api import CheckpointRequest, ClaimRequest
from app.domain.keys import TicketKey
from app.domain.outcome import Code, Refused
from app.emulator.client import Emulator
from app.ledger.git_outcomes import FencedOut, Pushed


@dataclass
class Scene:
    """A ticket in its second generation, for all harms of this file: each is taken back after it was looked at."""

    world: LoopWorld
    first: Agent
    agent: Agent
    database: Path
    head: str
    record: dict[str, Any]

    def git(self, *arguments: str) -> str:
        return self.world.git(self.agent.folder, *arguments)

    def commit(self, fields: dict[str, Any], *, parent: str | None = None, sealed: bool = True) -> str:
        """A commit of the holder's, honest but for `fields`."""
        made = forging.following(self.record) | fields
        return forging.commit(self.agent, parent or self.head, made, sealed=sealed)


@pytest.fixture(scope="module")
def scene(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    world = LoopWorld(emulator, tmp_path_factory.mktemp("robust"))
    database = world.folder / "kept.db"

    async def made() -> tuple[Agent, Agent]:
        controller = world.controller(database_file=database)
        first = world.agent(await world.claim(controller))
        first.push("one")
        await world.settle(controller)
        world.emulator.advance(17 * 60)
        second = world.agent(await world.claim(controller, 1))
        second.push("two")
        await world.settle(controller)
        await world.close_replicas()
        return first, second

    first, agent = asyncio.run(made())
    head, record = forging.fetched(agent)
    yield Scene(world, first, agent, database, head, record)
    world.http.close()


def unsealed(scene: Scene) -> str:
    return scene.commit({}, sealed=False)


def sealed_by_an_older_lease(scene: Scene) -> str:
    scene.world.git(scene.first.folder, "fetch", "-q", "origin", scene.agent.grant.ledger_ref)
    made = forging.commit(scene.first, scene.head, forging.following(scene.record), sealed=True)
    scene.git("fetch", "-q", str(scene.first.folder), made) if made else None
    return made


def sealed_for_another_ticket(scene: Scene) -> str:
    """The service's own commit, of a ledger whose name alone is another."""
    grant = scene.agent.grant
    scene.agent.grant = grant.model_copy(update={"ledger_ref": grant.ledger_ref + "9"})
    try:
        return scene.commit({})
    finally:
        scene.agent.grant = grant


def a_field_of_the_service(scene: Scene) -> str:
    return scene.commit({"work": scene.record["work"] | {"trunk": "main"}})


def on_another_parent(scene: Scene) -> str:
    return scene.commit({}, parent=scene.git("rev-parse", f"{scene.head}~1"))


def without_a_parent(scene: Scene) -> str:
    """The head's own tree and words, with nothing below."""
    message = scene.git("log", "-1", "--format=%B", scene.head)
    return scene.git("commit-tree", "-m", message, f"{scene.head}^{{tree}}")


def generation_back(scene: Scene) -> str:
    lease = scene.record["lease"] | {"generation": 1}
    return scene.commit({"generation": 1, "lease": lease})


def sequence_back(scene: Scene) -> str:
    return scene.commit({"sequence": scene.record["sequence"] - 1})


def sequence_ahead(scene: Scene) -> str:
    return scene.commit({"sequence": scene.record["sequence"] + 7})


def rolled_back(scene: Scene) -> str:
    return scene.git("rev-parse", f"{scene.head}~2")


def in_both_places(scene: Scene) -> str:
    done = scene.agent.grant.ledger_ref.replace("/active/", "/done/")
    scene.git("push", "-q", "origin", f"{scene.head}:{done}")
    return scene.head


def deleted(scene: Scene) -> str:
    return ""


def moved_to_the_code(scene: Scene) -> str:
    return str(scene.record["published"]["sha"])


def moved_to_done(scene: Scene) -> str:
    in_both_places(scene)
    return ""


def not_json(scene: Scene) -> str:
    blob = scene.git("hash-object", "-w", "-t", "blob", "--", str(_file(scene, "}{")))
    return _of_tree(scene, f"100644 blob {blob}\trecord.json")


def no_record(scene: Scene) -> str:
    blob = scene.git("hash-object", "-w", "-t", "blob", "--", str(_file(scene, "{}")))
    return _of_tree(scene, f"100644 blob {blob}\tother.json")


def a_blob(scene: Scene) -> str:
    return scene.git("hash-object", "-w", "-t", "blob", "--", str(_file(scene, json.dumps(scene.record))))


def newer_schema(scene: Scene) -> str:
    return scene.commit({"schema": 99})


HARMS = [
    unsealed,
    sealed_by_an_older_lease,
    sealed_for_another_ticket,
    a_field_of_the_service,
    on_another_parent,
    without_a_parent,
    generation_back,
    sequence_back,
    sequence_ahead,
    rolled_back,
    in_both_places,
    deleted,
    moved_to_the_code,
    moved_to_done,
    not_json,
    no_record,
    a_blob,
    newer_schema,
]


def _file(scene: Scene, text: str) -> Path:
    path = scene.world.folder / f"{secrets.token_hex(4)}.txt"
    path.write_text(text)
    return path


def _of_tree(scene: Scene, line: str) -> str:
    source = _file(scene, line + "\n")
    tree = scene.git("-c", "alias.made=!git mktree <", "made", str(source))
    message = scene.git("log", "-1", "--format=%B", scene.head)
    return scene.git("commit-tree", "-m", message, "-p", scene.head, tree)


def _put_back(scene: Scene) -> None:
    ref = scene.agent.grant.ledger_ref
    done = ref.replace("/active/", "/done/")
    gone = [f":{done}"] if scene.world.ledger("done") else []
    scene.git("push", "-q", "--atomic", "origin", f"+{scene.head}:{ref}", *gone)


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
async def test_nothing_is_granted_on_a_ledger_that_is_not_what_it_should_be(
    scene: Scene, harm: Callable[[Scene], str]
) -> None:
    """With the service's table and without it: frozen, refused, left as found."""
    world, ref = scene.world, scene.agent.grant.ledger_ref
    found = harm(scene)
    if found != scene.head:
        scene.git("push", "-q", "origin", f"+{found}:{ref}" if found else f":{ref}")
    try:
        for database in (scene.database, None):
            controller = world.controller(database_file=database)
            ended = await controller.round(TicketKey(REPO, world.ticket))
            assert ended.reason.startswith("frozen"), ended
            request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=2)
            with pytest.raises(Refused) as refused:
                await controller.claim("acme", "shop", world.ticket, request, "wanda")
            assert refused.value.blocked.code is Code.FROZEN
            save = CheckpointRequest(key=secrets.token_hex(8), seq=900, checkpoint={"objective": "more"})
            with pytest.raises(Refused) as refused:
                await controller.checkpoint("acme", "shop", world.ticket, claims_of(scene.agent.grant), save)
            assert refused.value.blocked.code is Code.FROZEN
            assert (world.ledger() or "") == found
            await world.close_replicas()
    finally:
        _put_back(scene)
        await world.close_replicas()


async def test_a_ledger_that_was_pushed_back_goes_on_by_itself(scene: Scene) -> None:
    """After all that was done to it above: the same generation, and one report for each happening."""
    controller = scene.world.controller(database_file=scene.database)
    assert (await scene.world.settle(controller))[-1].reason == "as it should be"
    assert isinstance(scene.agent.push("three"), Pushed)
    assert (await scene.world.settle(controller))[-1].reason == "as it should be"
    await scene.world.close_replicas()


@pytest.mark.parametrize("missing", ["nothing", "updateRefs", "custom refs"])
async def test_from_claim_to_recovery_in_three_worlds(
    world: LoopWorld, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.ledger.moving.LONGEST_PAUSE_S", 0.02)
    place = "refs/agent-recovery"
    if missing == "updateRefs":
        world.emulator.switches(REPO, update_refs="refused")
    if missing == "custom refs":
        place = "refs/heads/agent-recovery"
        policy = f"{POLICY}ledger: {{namespace: {place}}}\n"
        world.emulator.commit(REPO, {".github/agent-recovery.yml": policy}, branch="main")
        world.emulator.switches(REPO, custom_refs="refused")
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    assert agent.grant.ledger_ref == f"{place}/active/{world.ticket}"
    pushed = agent.push("one")
    assert isinstance(pushed, Pushed), pushed
    await world.settle(controller)
    body = {"completed_steps": [{"id": "one", "text": "one"}, {"id": "two", "text": "two"}]}
    save = CheckpointRequest(key=secrets.token_hex(8), seq=900, checkpoint=body)
    await controller.checkpoint("acme", "shop", world.ticket, claims_of(agent.grant), save)
    world.emulator.advance(17 * 60)
    # Another replica, without a database, recovers what the first one's agent left.
    replica = world.controller()
    grant = await world.claim(replica, 1)
    assert (grant.generation, grant.head_sha) == (2, pushed.code_sha)
    assert [step.id for step in grant.brief.completed_steps] == ["one", "two"]
    successor = world.agent(grant)
    assert isinstance(agent.push("late"), FencedOut)
    last = successor.push("three")
    assert isinstance(last, Pushed), last
    assert (await world.settle(replica))[-1].reason == "as it should be"
    assert [run["conclusion"] for run in world.check_runs(last.code_sha)] == ["success"]
    issue = f"/repos/{REPO}/issues/{world.ticket}"
    world.http.patch(issue, json={"state": "closed"}).raise_for_status()
    assert (await world.settle(replica))[-1].reason == "the ticket is cancelled"
    refs = [r["ref"] for r in world.get(f"git/matching-refs/{place.removeprefix('refs/')}/")]
    assert refs == [f"{place}/done/{world.ticket}"]
