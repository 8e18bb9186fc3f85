"""Ended tickets are pruned to a tombstone when their time is up, and come back from it: generations never restart, and
no effect is ever carried out a second time.
"""

from collections.abc import Callable
from typing import Any

import pytest
from forging import fetched
from loop_world import REPO, Agent, LoopWorld, claims_of
from test_effects import Holder

from app.controller.controller import Controller
from app.controller.pruning import Pruner
from app.domain.child_api import SpawnRequest, Task
from app.domain.keys import TicketKey
from app.domain.outcome import Code, Refused
from app.domain.pruning import tombstone
from app.domain.record import Record
from app.domain.ticket_id import Child
from app.ledger.api import Won
from app.ledger.git_outcomes import Foreign, Pushed

DAY = 86400


def issue(world: LoopWorld, state: str) -> None:
    body = {"state": state, **({"state_reason": "not_planned"} if state == "closed" else {})}
    world.http.patch(f"/repos/{REPO}/issues/{world.ticket}", json=body).raise_for_status()


def ref(world: LoopWorld, place: str) -> str:
    return f"refs/agent-recovery/{place}/{world.ticket}"


def lies(world: LoopWorld, agent: Agent, place: str = "done") -> tuple[str, list[str], dict[str, Any]]:
    """The ledger's head in that place, its parents and its record."""
    agent.grant = agent.grant.model_copy(update={"ledger_ref": ref(world, place)})
    head, record = fetched(agent)
    return head, world.git(agent.folder, "log", "-1", "--format=%P", head).split(), record


async def ended(world: LoopWorld) -> tuple[Controller, Agent]:
    """A ticket that ran an effect, published work, and was cancelled with its Issue."""
    controller, agent, _ = await world.published()
    holder = Holder(world, controller, agent.grant)
    await holder.intend("v1")
    await holder.go("v1")
    assert (await holder.end("v1", "confirmed")).state == "confirmed"
    issue(world, "closed")
    await world.settle(controller)
    return controller, agent


async def pruned(world: LoopWorld, days: int = 90) -> tuple[Controller, Agent]:
    controller, agent = await ended(world)
    world.emulator.advance(days * DAY + 1)
    await world.settle(controller)
    return controller, agent


async def test_a_tombstone_takes_the_place_of_the_ledger_when_its_time_is_up(world: LoopWorld) -> None:
    controller, agent = await ended(world)
    before, parents, record = lies(world, agent)
    assert len(parents) == 2
    world.emulator.advance(89 * DAY)
    assert [e.reason for e in await world.settle(controller)] == ["the ticket is cancelled"]
    assert world.ledger("done") == before
    world.emulator.advance(DAY + 1)
    await world.settle(controller)
    head, parents, stone = lies(world, agent)
    assert (head != before, parents) == (True, [])
    assert (stone["status"], stone["generation"], stone["sequence"]) == ("cancelled", 1, record["sequence"] + 1)
    assert stone["ended"] == record["ended"]
    assert record["ended"]["nonce"] == agent.grant.nonce
    assert list(stone["effect_keys"].values()) == ["confirmed"]
    assert (stone["checkpoint"]["completed_steps"], stone["effects"], stone["published"]) == ([], [], None)
    # Nothing more is written, by this replica or by one without its table, and nothing is called tampered.
    since = world.requested()
    for replica in (controller, world.controller()):
        assert [e.reason for e in await world.settle(replica)] == ["the ticket is cancelled"]
    assert world.writes(since) == []


@pytest.mark.parametrize("database", ["kept", "lost"])
async def test_a_pruned_ticket_asked_for_again_comes_back_on_its_tombstone(world: LoopWorld, database: str) -> None:
    controller, agent = await pruned(world)
    controller = controller if database == "kept" else world.controller()
    stone, _, _ = lies(world, agent)
    with pytest.raises(Refused) as closed:
        await world.claim(controller, 1)
    assert closed.value.blocked.code == Code.ISSUE_CLOSED
    issue(world, "open")
    await world.recalled(controller)
    grant = await world.claim(controller, 1)
    assert (grant.generation, grant.published_sha, world.ledger("done")) == (2, None, None)
    again = world.agent(grant)
    head, _, record = lies(world, again, "active")
    assert world.git(again.folder, "log", "--first-parent", "--format=%H", head).split()[-1] == stone
    assert (record["pruned"], record["ended"], record["attempts"]["count"]) == (None, None, 1)
    # The same key gets the first answer: nothing is carried out again.
    holder = Holder(world, controller, grant)
    answer = await holder.intend("v1")
    assert (answer.state, answer.go) == ("confirmed", False)
    assert not (await holder.go("v1", "b" * 12)).go
    again.grant, again._seq = grant, 2000
    # What an earlier life left on the branch is taken over by the holder's word only.
    assert isinstance(again.push("two"), Foreign)
    left = world.head(grant.branch)
    assert left is not None
    world.git(again.folder, "fetch", "-q", "origin", left)
    world.git(again.folder, "reset", "-q", "--hard", left)
    assert isinstance(again.push_commit(again.work("two"), "two", adopt=left), Pushed)
    assert [e.reason for e in await world.settle(controller)][-1] == "as it should be"
    assert world.get("pulls?state=all")[0]["state"] == "open"


async def test_of_two_who_prune_one_wins_and_a_claim_wins_over_both(world: LoopWorld) -> None:
    controller, agent = await ended(world)
    world.emulator.advance(91 * DAY)
    issue(world, "open")
    await world.recalled(controller)
    view = await controller._views.look("acme", "shop", world.ticket)
    assert view.standing is not None
    stone = tombstone(view.standing.record, now=view.now)
    await world.claim(controller, 1)
    late = await view.ledger.prune(view.standing, stone, when=view.now)
    assert not isinstance(late, Won)
    assert (world.ledger("done"), lies(world, agent, "active")[2]["generation"]) == (None, 2)
    with pytest.raises(ValueError, match="ended"):
        await view.ledger.prune(view.standing, view.standing.record, when=view.now)


async def test_a_lost_answer_of_the_pruning_is_read_from_the_refs(world: LoopWorld) -> None:
    controller, agent = await ended(world)
    world.emulator.advance(91 * DAY)
    world.emulator.fault(match={"operation": "updateRefs"}, kind="drop_after")
    await world.settle(controller)
    assert lies(world, agent)[1] == []
    assert [e.reason for e in await world.settle(world.controller())] == ["the ticket is cancelled"]


async def test_pruning_works_where_updateRefs_is_refused(world: LoopWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.ledger.moving.LONGEST_PAUSE_S", 0.02)
    world.emulator.switches(REPO, update_refs="refused")
    _, agent = await pruned(world)
    assert lies(world, agent)[1] == []


async def test_a_child_is_pruned_only_while_its_parent_is_not_at_work(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    claims, docs = claims_of(agent.grant), Child(world.ticket, "docs")
    request = SpawnRequest(key="spawn-docs-1", seq=900, name="docs", task=Task(objective="Write it"))
    await controller.spawn("acme", "shop", world.ticket, claims, request)
    issue(world, "closed")
    await world.settle(controller)
    done = f"git/matching-refs/agent-recovery/done/{docs}"
    (before,) = world.get(done)
    world.emulator.advance(91 * DAY)
    issue(world, "open")
    await world.recalled(controller)
    await world.claim(controller, 1)
    await controller.round(TicketKey(REPO, docs))
    assert world.get(done) == [before]
    issue(world, "closed")
    await world.settle(controller)
    await controller.round(TicketKey(REPO, docs))
    (after,) = world.get(done)
    assert after != before


def older_tombstone(world: LoopWorld, agent: Agent, stone: str) -> list[str]:
    return [f"+{stone}:{ref(world, 'done')}", f":{ref(world, 'active')}"]


def in_both_places(world: LoopWorld, agent: Agent, stone: str) -> list[str]:
    return [f"+{stone}:{ref(world, 'done')}"]


def under_active(world: LoopWorld, agent: Agent, stone: str) -> list[str]:
    return [f"+{stone}:{ref(world, 'active')}"]


def by_a_stranger(world: LoopWorld, agent: Agent, stone: str) -> list[str]:
    message = world.git(agent.folder, "log", "-1", "--format=%B", stone)
    tree = world.git(agent.folder, "rev-parse", f"{stone}^{{tree}}")
    copy = world.git(agent.folder, "commit-tree", "-m", message.replace("-Generation: 1", "-Generation: 7"), tree)
    return [f"+{copy}:{ref(world, 'done')}", f":{ref(world, 'active')}"]


@pytest.mark.parametrize("attack", [older_tombstone, in_both_places, under_active, by_a_stranger])
async def test_a_tombstone_in_the_wrong_place_freezes_the_ticket(
    world: LoopWorld, attack: Callable[[LoopWorld, Agent, str], list[str]]
) -> None:
    controller, agent = await pruned(world)
    stone, _, _ = lies(world, agent)
    issue(world, "open")
    await world.recalled(controller)
    grant = await world.claim(controller, 1)
    left = world.head(grant.branch)
    assert left is not None
    assert isinstance(world.agent(grant).push_commit(left, "one", adopt=left), Pushed)
    await world.settle(controller)
    lies(world, agent, "active")
    world.git(agent.folder, "push", "-q", "--atomic", "origin", *attack(world, agent, stone))
    for replica in (controller, world.controller()):  # with its table, and without one
        assert [e.reason for e in await world.settle(replica)][-1].startswith("frozen")
        with pytest.raises(Refused) as refused:
            await world.claim(replica, 2)
        assert refused.value.blocked.code == Code.FROZEN


async def test_a_tombstone_that_was_made_and_not_used_replaces_nothing(world: LoopWorld) -> None:
    """Its maker died before the ref moved; somebody finds the commit when the ticket has gone on."""
    controller, _ = await ended(world)
    view = await controller._views.look("acme", "shop", world.ticket)
    assert view.standing is not None
    stone = tombstone(view.standing.record, now=view.now)
    made = view.ledger._draft(None, stone, "pruned", to="done", code_parent=None, request=None, when=view.now)
    unused = await view.ledger._maker.create(made)
    issue(world, "open")
    await world.recalled(controller)
    await world.claim(controller, 1)
    world.http.delete(f"/repos/{REPO}/git/refs/agent-recovery/active/{world.ticket}").raise_for_status()
    created = {"ref": ref(world, "done"), "sha": unused}
    world.http.post(f"/repos/{REPO}/git/refs", json=created).raise_for_status()
    for replica in (controller, world.controller()):
        assert [e.reason for e in await world.settle(replica)][-1].startswith("frozen")


async def test_the_list_of_ended_tickets_is_read_once_a_day_and_only_what_is_due_is_poked(world: LoopWorld) -> None:
    controller, _ = await ended(world)
    pruner = Pruner(controller._views, world.pokes)
    await world.poked()

    async def requests() -> int:
        since = world.requested()
        await pruner.daily("acme", "shop")
        return len([r for r in world.emulator.requests(since) if str(r["identity"]).startswith("app:")])

    assert await requests() == 0  # a start is no reason to look
    assert await requests() == 0
    world.emulator.advance(DAY)
    world.get("branches/main")
    await controller.round(TicketKey(REPO, world.ticket))  # its clock follows GitHub's
    assert await requests() > 0
    assert await requests() == 0
    assert await world.poked() == []
    world.emulator.advance(90 * DAY)
    await controller._views.look("acme", "shop", world.ticket)
    assert await pruner.poke_due("acme", "shop") == 1
    assert await world.poked() == [str(TicketKey(REPO, world.ticket))]
    await world.settle(controller)
    since = world.requested()
    assert await pruner.poke_due("acme", "shop") == 0  # a tombstone is looked at no further
    assert len([r for r in world.emulator.requests(since) if str(r["identity"]).startswith("app:")]) <= 3


def test_only_an_ended_ticket_has_a_tombstone() -> None:
    with pytest.raises(ValueError, match="ended"):
        tombstone(Record(ticket=42, sequence=3, status="working", generation=1), now=None)  # type: ignore[arg-type]
