"""The ledger under races, lost answers and replays: one grant, nothing written over, nothing unchecked sent."""

import asyncio
import secrets
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from loop_world import REPO, Agent, LoopWorld, claims_of

from app.controller.controller import Controller
from app.controller.pokes import PokeStore
from app.domain.agent_api import CheckpointRequest, ClaimRequest, Grant, HandoffRequest
from app.domain.keys import TicketKey
from app.domain.model import ZERO_SHA
from app.domain.outcome import Code, Refused
from app.github.errors import Unanswered
from app.github.repository import Repository
from app.ledger.api import ApiLedger, Won
from app.ledger.git import GitLedger
from app.ledger.git_outcomes import FencedOut, Foreign, Pushed
from app.ledger.reading import Absent, Standing
from app.service.events import Poked, keys_of

EVENTS = ["push", "issues", "issue_comment", "pull_request", "check_run", "check_suite", "create", "delete"]


def _claim(generation: int, claim_id: str | None = None) -> ClaimRequest:
    return ClaimRequest(claim_id=claim_id or secrets.token_hex(8), observed_generation=generation, holder="agent")


async def _cancelled(world: LoopWorld, controller: Controller) -> str:
    """Ends the ticket as its cancel will: one write that moves the ledger to `done/`, open permits and all."""
    view = await controller._views.look("acme", "shop", world.ticket)
    assert view.standing is not None
    record = view.standing.record
    ended = record.model_copy(update={"status": "cancelled", "sequence": record.sequence + 1})
    won = await view.ledger.write(
        world.ticket, base=view.standing, record=ended, event="cancelled", to="done", when=view.now
    )
    assert isinstance(won, Won)
    return won.entry.sha


def _story(world: LoopWorld, agent: Agent, ref: str) -> list[str]:
    """The subjects of a ledger's commits, the newest first."""
    world.git(agent.folder, "fetch", "-q", "origin", ref)
    return world.git(agent.folder, "log", "--first-parent", "--format=%s", "FETCH_HEAD").splitlines()


async def test_our_cas_landed_and_somebody_built_on_it_before_we_read(
    world: LoopWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trace: our CAS landed and somebody built on it before we read."""
    _, agent, _ = await world.published()
    world.emulator.advance(17 * 60)
    first, second = world.controller(), world.controller()
    request = _claim(1, "the-same-claim")
    between: list[Grant] = []
    update = Repository.update_refs

    async def unheard(repo: Repository, updates: Any) -> None:
        try:
            await update(repo, updates)
        except Exception:
            # The caller asked again elsewhere, got its grant there, and its agent pushed already.
            monkeypatch.setattr(Repository, "update_refs", update)
            between.append(await second.claim("acme", "shop", world.ticket, request, "wanda"))
            assert isinstance(await asyncio.to_thread(world.agent(between[0]).push, "two"), Pushed)
            raise

    monkeypatch.setattr(Repository, "update_refs", unheard)
    world.emulator.fault("drop_after", match={"operation": "UpdateRefs", "kind": "graphql"})
    grant = await first.claim("acme", "shop", world.ticket, request, "wanda")
    assert len(between) == 1
    assert (grant.generation, grant.lease_token) == (2, between[0].lease_token)
    story = _story(world, agent, grant.ledger_ref)
    assert sum("claimed by generation 2" in line for line in story) == 1
    with pytest.raises(Refused) as refused:
        await first.claim("acme", "shop", world.ticket, _claim(2), "wanda")
    assert refused.value.blocked.code is Code.LEASE_LIVE


async def test_a_claim_that_was_never_answered_and_is_carried_out_late_is_its_callers(
    world: LoopWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trace: our CAS landed before we read, here after we had given up: the same claim id gets the grant, no other."""
    controller, agent, sha = await world.published()
    monkeypatch.setattr("app.ledger.moving.LONGEST_PAUSE_S", 0.05)
    world.emulator.advance(17 * 60)
    request = _claim(1, "the-same-claim")
    update = {"operation": "UpdateRefs", "kind": "graphql"}
    world.emulator.fault("late", match=update, after=80)
    world.emulator.fault("drop_before", match=update, times=5)
    world.emulator.fault("drop_before", match={"kind": "git", "method": "POST", "identity": "app:agent-recovery"})
    with pytest.raises(Refused) as refused:
        await controller.claim("acme", "shop", world.ticket, request, "wanda")
    assert refused.value.blocked.code is Code.UNKNOWN_OUTCOME
    assert all(fault["left"] == 0 for fault in world.emulator.faults())
    for _ in range(80):
        world.head("main")
    replica = world.controller()
    with pytest.raises(Refused) as refused:
        await replica.claim("acme", "shop", world.ticket, _claim(1), "wanda")
    assert refused.value.blocked.code is Code.LEASE_LIVE
    grant = await replica.claim("acme", "shop", world.ticket, request, "wanda")
    assert (grant.generation, grant.head_sha) == (2, sha)
    assert isinstance(world.agent(grant).push("two"), Pushed)
    assert isinstance(agent.push("late"), FencedOut)
    # The claim that was asked again made the check-run of its generation, and ended it with the head that it was for.
    world.emulator.advance(61)
    await world.settle(replica)
    assert [e.reason for e in await world.settle(replica)] == ["as it should be"]
    assert [run["conclusion"] for run in world.check_runs(sha)] == ["success", "cancelled"]


async def test_n_claims_against_a_writer_that_only_renews(world: LoopWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trace: N claims against a writer that only renews: the ref moves under each try, the lease does not."""
    _, agent, sha = await world.published()
    world.emulator.advance(17 * 60)
    update, renewed, one_at_a_time = Repository.update_refs, 0, asyncio.Lock()

    async def after_a_renewal(repo: Repository, updates: Any) -> None:
        nonlocal renewed
        if renewed < 4 and any("/active/" in u.name and u.before != ZERO_SHA for u in updates):
            renewed += 1
            async with one_at_a_time:
                pushed = await asyncio.to_thread(agent.push_commit, sha, "nothing new")
            assert isinstance(pushed, Pushed | FencedOut), pushed
        await update(repo, updates)

    monkeypatch.setattr(Repository, "update_refs", after_a_renewal)
    replicas = [world.controller(), world.controller()]
    claims = [replicas[n % 2].claim("acme", "shop", world.ticket, _claim(1), "wanda") for n in range(4)]
    answers = await asyncio.gather(*claims, return_exceptions=True)
    grants = [a for a in answers if isinstance(a, Grant)]
    refused = [a for a in answers if isinstance(a, Refused)]
    assert renewed == 4
    assert [g.generation for g in grants] == [2]
    assert len(refused) == 3, answers
    assert {r.blocked.code for r in refused} <= {Code.LEASE_LIVE, Code.LOST_RACE}
    assert isinstance(agent.push("late"), FencedOut)


async def test_a_claim_wins_beside_a_holder_that_pushes_without_a_pause(world: LoopWorld) -> None:
    """Trace: N claims against a writer that only renews, with nobody ordering who is first."""
    _, agent, sha = await world.published()
    world.emulator.advance(17 * 60)
    stop, begun = threading.Event(), threading.Event()
    pushes: list[Any] = []

    def renew() -> None:
        while not stop.is_set() and not isinstance((pushes[-1:] or [None])[0], FencedOut):
            pushes.append(agent.push_commit(sha, f"again-{len(pushes)}"))
            begun.set()

    writer = asyncio.create_task(asyncio.to_thread(renew))
    replica = world.controller()
    try:
        await asyncio.to_thread(begun.wait, 20)
        grant = await replica.claim("acme", "shop", world.ticket, _claim(1), "wanda")
    finally:
        stop.set()
        await writer
    assert grant.generation == 2
    assert all(isinstance(p, Pushed | FencedOut) for p in pushes), pushes


@pytest.mark.parametrize("switches", [{}, {"update_refs": "refused"}], ids=["updateRefs", "receive-pack"])
async def test_zero_to_zero_is_never_sent(
    world: LoopWorld, switches: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trace: 0->0 never sent, over birth, work, branch tampering, takeover, handoff and end."""
    monkeypatch.setattr("app.ledger.moving.LONGEST_PAUSE_S", 0.05)
    if switches:
        world.emulator.switches(REPO, **switches)
    controller, agent, sha = await world.published()
    world.git(agent.folder, "push", "-q", "origin", f":refs/heads/{agent.grant.branch}")
    await world.settle(controller)
    assert world.head(agent.grant.branch) == sha
    world.emulator.advance(17 * 60)
    second = world.agent(await world.claim(controller, 1))
    assert isinstance(second.push("two"), Pushed)
    await world.settle(controller)
    handoff = HandoffRequest(key="handoff-1", seq=500, checkpoint={"objective": "rest"})
    await controller.handoff("acme", "shop", world.ticket, claims_of(second.grant), handoff)
    await world.claim(controller, 2)
    await _cancelled(world, controller)
    commands = [command.split(" ") for r in world.emulator.requests() for command in r["refs"]]
    ledgers = [c for c in commands if c[2].startswith("refs/agent-recovery/")]
    assert len(ledgers) > 10
    assert [c for c in commands if c[0] == c[1]] == []
    assert [c for c in commands if c[0] == "-"] == []
    pushed_by_us = [r for r in world.emulator.requests() if r["kind"] == "git" and r["identity"].startswith("app:")]
    assert bool([r for r in pushed_by_us if r["refs"]]) == bool(switches)


async def test_ledger_not_advanced_by_a_push_while_a_takeover_happens_in_between(
    world: LoopWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trace: ledger not advanced by a push while a takeover happens in between; the push brings no new work, so that
    the branch's ref fences nothing.
    """
    controller, agent, sha = await world.published()
    world.emulator.advance(17 * 60)
    loop = asyncio.get_running_loop()
    push = GitLedger._push
    grants: list[Grant] = []

    def after_a_takeover(ledger: GitLedger, *arguments: Any) -> Any:
        if not grants:
            grants.append(asyncio.run_coroutine_threadsafe(world.claim(controller, 1), loop).result(30))
        return push(ledger, *arguments)

    monkeypatch.setattr(GitLedger, "_push", after_a_takeover)
    outcome = await asyncio.to_thread(agent.push_commit, sha, "nothing new")
    assert isinstance(outcome, FencedOut), outcome
    assert outcome.generation == 2
    story = _story(world, agent, agent.grant.ledger_ref)
    assert not any("pushed" in line for line in story[: next(i for i, s in enumerate(story) if "generation 2" in s)])
    assert grants[0].head_sha == sha


@pytest.mark.parametrize("choice", ["adopt", "rewind"])
async def test_zombies_plain_commits_merged_and_pushed_by_the_honest_holder(world: LoopWorld, choice: str) -> None:
    """Trace: zombie's plain commits merged and pushed by the honest holder: only by his own word for exactly them."""
    controller, zombie, _ = await world.published()
    world.emulator.advance(17 * 60)
    holder = world.agent(await world.claim(controller, 1))
    await world.settle(controller)
    late = zombie.work("late")
    world.git(zombie.folder, "push", "-q", "origin", f"HEAD:refs/heads/{holder.grant.branch}")
    await world.settle(controller)
    assert [run["conclusion"] for run in world.check_runs(late)] == ["action_required"]
    world.git(holder.folder, "pull", "-q", "--no-rebase", "origin", holder.grant.branch)
    merged = holder.work("mine")
    refused = holder.push_commit(merged, "mine")
    assert isinstance(refused, Foreign)
    assert [sha for sha, _, _ in refused.commits] in ([late], [])
    if choice == "adopt":
        pushed = holder.push_commit(merged, "mine", adopt=late)
    else:
        world.git(holder.folder, "reset", "-q", "--hard", holder.grant.head_sha)
        merged = holder.work("mine")
        pushed = holder.push_commit(merged, "mine", rewind=True)
    assert isinstance(pushed, Pushed), pushed
    await world.settle(controller)
    assert world.head(holder.grant.branch) == merged
    assert [run["conclusion"] for run in world.check_runs(merged)] == ["success"]
    assert [run["conclusion"] for run in world.check_runs(late)] == ["action_required"]
    kept = [r["object"]["sha"] for r in world.get(f"git/matching-refs/agent-recovery/recovered/{world.ticket}/")]
    assert kept == ([] if choice == "adopt" else [late])
    assert any(late[:12] in line for line in _story(world, holder, holder.grant.ledger_ref))


async def test_old_checkpoint_retried_after_a_newer_one_key_table_gone(world: LoopWorld) -> None:
    """Trace: old checkpoint retried after a newer one, key table gone: its answer again, or refused by its number."""
    controller, agent, _ = await world.published()
    claims = claims_of(agent.grant)

    def request(n: int) -> CheckpointRequest:
        return CheckpointRequest(key=f"checkpoint-{n}", seq=200 + n, checkpoint={"objective": f"objective {n}"})

    first = await controller.checkpoint("acme", "shop", world.ticket, claims, request(1))
    await controller.checkpoint("acme", "shop", world.ticket, claims, request(2))
    head = world.ledger()
    again = await world.controller().checkpoint("acme", "shop", world.ticket, claims, request(1))
    assert (again.repeated, again.sequence) == (True, first.sequence)
    for n in range(3, 19):
        await controller.checkpoint("acme", "shop", world.ticket, claims, request(n))
    newest = world.ledger()
    assert newest != head
    fresh = world.controller()
    with pytest.raises(Refused) as refused:
        await fresh.checkpoint("acme", "shop", world.ticket, claims, request(1))
    assert refused.value.blocked.code is Code.STALE_REQUEST
    assert world.ledger() == newest
    view = await fresh._views.look("acme", "shop", world.ticket)
    assert view.record is not None
    assert view.record.checkpoint.objective == "objective 18"


async def test_every_delivery_replayed_against_an_empty_database_makes_no_ledger_commit(world: LoopWorld) -> None:
    """Trace: every delivery of a drill replayed against an empty database: no ledger commit."""
    world.emulator.change_app("agent-recovery", events=EVENTS, webhook_url=f"{world.emulator.url}/nobody-listens")
    controller, zombie, _ = await world.published()
    world.emulator.advance(17 * 60)
    holder = world.agent(await world.claim(controller, 1))
    holder.push("two")
    await world.settle(controller)
    world.http.post(f"/repos/{REPO}/issues/{world.ticket}/comments", json={"body": "well done"}).raise_for_status()
    assert isinstance(zombie.push("late"), FencedOut)
    await world.settle(controller)
    world.emulator.flush()
    deliveries = world.emulator.deliveries()
    assert {"push", "pull_request", "issue_comment", "check_run"} <= {d["event"] for d in deliveries}
    ledger, last = world.ledger(), world.emulator.requests()[-1]["n"]

    fresh = world.controller()
    pokes: PokeStore = world.pokes
    for delivery in (*deliveries, *reversed(deliveries)):
        routing = keys_of(delivery["event"], delivery["payload"], own_app_id=world.app["id"])
        if isinstance(routing, Poked):
            await pokes.poke(*routing.keys)
    assert await pokes.next_due() is not None
    await _work_until_idle(world, fresh, pokes)
    assert world.ledger() == ledger
    assert world.writes(last) == []
    assert len(world.emulator.requests(last)) > 5


async def _work_until_idle(world: LoopWorld, controller: Controller, pokes: PokeStore) -> None:
    """Runs the real loop until nothing is due within the next half minute."""
    stop = asyncio.Event()
    working = asyncio.create_task(controller.work(stop))
    deadline = asyncio.get_running_loop().time() + 20
    try:
        while (due := await pokes.next_due()) is not None and due <= controller._views.now() + timedelta(seconds=30):
            assert asyncio.get_running_loop().time() < deadline, "the loop does not come to rest"
            await asyncio.sleep(0.05)
    finally:
        stop.set()
        await working


@pytest.mark.parametrize("database", ["the same", "an empty one"])
async def test_claim_on_a_cancelled_ticket(world: LoopWorld, database: str) -> None:
    """Trace: claim on a cancelled ticket."""
    controller, agent, _ = await world.published()
    ended = await _cancelled(world, controller)
    if database == "an empty one":
        controller = world.controller()
    last = world.emulator.requests()[-1]["n"]
    for generation in (0, 1, 2):
        with pytest.raises(Refused) as refused:
            await controller.claim("acme", "shop", world.ticket, _claim(generation), "wanda")
        assert refused.value.blocked.code is Code.ENDED
    request = CheckpointRequest(key="checkpoint-1", seq=200, checkpoint={"objective": "more"})
    with pytest.raises(Refused) as refused:
        await controller.checkpoint("acme", "shop", world.ticket, claims_of(agent.grant), request)
    assert refused.value.blocked.code is Code.ENDED
    assert world.writes(last) == []
    await world.settle(controller)
    images = [write.split(" ")[1].rsplit("/", 2)[1] for write in world.writes(last)]
    assert sorted(images) == ["check-runs", "comments"]  # they say now that it has ended
    last = world.emulator.requests()[-1]["n"]
    await world.settle(controller)
    assert world.writes(last) == []
    assert (world.ledger("active"), world.ledger("done")) == (None, ended)
    assert isinstance(agent.push("late"), FencedOut)


@pytest.mark.parametrize("close", ["answered", "unheard"])
async def test_a_create_paused_through_a_tickets_whole_life(world: LoopWorld, close: str) -> None:
    """Trace: a create paused through a ticket's whole life: the PR that comes after the ticket's end is closed."""
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    agent.push("one")
    match = {"method": "POST", "path_regex": "/pulls$", "identity": "app:agent-recovery"}
    world.emulator.fault("late", match=match, after=40)
    await controller.round(TicketKey(REPO, world.ticket))
    await _cancelled(world, controller)
    await world.settle(controller)
    for _ in range(40):
        world.head("main")
    (pull,) = world.get("pulls?state=all")
    assert pull["state"] == "open"
    if close == "unheard":
        world.emulator.fault("drop_after", match={"method": "PATCH", "path_regex": "/pulls/[0-9]+$"})
        with pytest.raises(Unanswered):
            await world.settle(controller)
    await world.settle(controller)
    (pull,) = world.get("pulls?state=all")
    assert pull["state"] == "closed"
    ended = world.ledger("done")
    assert ended is not None
    assert world.ledger("active") is None
    assert (await controller._views.look("acme", "shop", world.ticket)).record.open == ()  # type: ignore[union-attr]
    # Whoever opens it again is a person, and that stays.
    world.http.patch(f"/repos/{REPO}/pulls/{pull['number']}", json={"state": "open"}).raise_for_status()
    last = world.emulator.requests()[-1]["n"]
    await world.settle(controller)
    await world.settle(world.controller())
    assert world.writes(last) == []


async def test_looks_that_each_fall_before_a_write_and_its_witness_freeze_nothing(
    world: LoopWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A race of others: a birth between the first look and the witnesses, a claim between the second look and them."""
    controller = world.controller()
    absent = (await controller._views.look("acme", "shop", world.ticket)).standing
    assert absent is None
    grant = await world.claim(controller)
    view = await controller._views.look("acme", "shop", world.ticket)
    assert view.standing is not None
    first = (*(entry.sha for entry in view.standing.entries), *view.standing.earlier)[-1]
    born = await view.ledger.at(world.ticket, first)
    assert isinstance(born, Standing)
    assert born.record.generation == 0
    read, earlier = ApiLedger.read, [Absent(), replace(born, unborn=True)]

    async def late(self: ApiLedger, *arguments: Any) -> Any:
        return earlier.pop(0) if earlier else await read(self, *arguments)

    monkeypatch.setattr(ApiLedger, "read", late)
    seen = await controller._views.look("acme", "shop", world.ticket)
    assert seen.frozen is None
    assert seen.record is not None
    assert (seen.record.generation, earlier) == (grant.generation, [])
