"""Two replicas that share nothing but GitHub, and many callers at one moment: everything happens once."""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from loop_world import REPO, Agent, LoopWorld, claims_of

from app.controller.controller import Controller
from app.domain.agent_api import ClaimRequest, Grant, HandoffRequest
from app.domain.keys import TicketKey
from app.domain.model import instant_text
from app.domain.outcome import Blocked, Code, Refused
from app.domain.policy import Policy


def _claim(
    world: LoopWorld, controller: Controller, *, id: str = "", generation: int = 0, holder: str = "a", login: str = "w1"
) -> Awaitable[Grant]:
    request = ClaimRequest(claim_id=id or secrets.token_hex(8), observed_generation=generation, holder=holder)
    return controller.claim("acme", "shop", world.ticket, request, login)


async def _outcomes(*claims: Awaitable[Grant]) -> tuple[list[Grant], list[Blocked]]:
    ended = await asyncio.gather(*claims, return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, BaseException) and not isinstance(outcome, Refused):
            raise outcome
    return (
        [outcome for outcome in ended if isinstance(outcome, Grant)],
        [outcome.blocked for outcome in ended if isinstance(outcome, Refused)],
    )


def _chain(world: LoopWorld, agent: Agent) -> list[dict[str, Any]]:
    """All records of the ticket's ledger, oldest first."""
    world.git(agent.folder, "fetch", "-q", "origin", f"+{agent.grant.ledger_ref}:refs/seen")
    commits = world.git(agent.folder, "rev-list", "--first-parent", "--reverse", "refs/seen").split()
    return [json.loads(world.git(agent.folder, "show", f"{sha}:record.json")) for sha in commits]


def _doubles(world: LoopWorld, branch: str, shas: list[str]) -> dict[str, int]:
    pulls = world.get(f"pulls?state=all&head=acme:{branch}")
    comments = [c for p in pulls for c in world.get(f"issues/{p['number']}/comments")]
    runs: Counter[tuple[str, str]] = Counter()
    for sha in shas:
        for run in world.get(f"commits/{sha}/check-runs?filter=all")["check_runs"]:
            runs[sha, run["external_id"].split(":")[1]] += 1
    return {"pulls": len(pulls), "comments": len(comments), "check-runs of one head": max(runs.values(), default=0)}


@pytest.mark.parametrize("attempt", range(3))
async def test_two_replicas_at_one_key_make_everything_once(world: LoopWorld, attempt: int) -> None:
    replicas = world.controller(), world.controller()
    agent = world.agent(await world.claim(replicas[0]))
    sha = agent.push("one").code_sha
    key = TicketKey(REPO, world.ticket)
    for _ in range(3):
        await asyncio.gather(*(replica.round(key) for replica in replicas))
    for replica in replicas:
        await world.settle(replica)
    once = {"pulls": 1, "comments": 1, "check-runs of one head": 1}
    assert _doubles(world, agent.grant.branch, [sha]) == once
    chain = _chain(world, agent)
    assert [r["sequence"] for r in chain] == list(range(1, len(chain) + 1))
    assert chain[-1]["open"] == []
    before = world.requested()
    await asyncio.gather(*(replica.round(key) for replica in replicas))
    assert world.writes(before) == []


async def test_no_record_is_lost_while_a_holder_pushes_and_two_replicas_work(world: LoopWorld) -> None:
    replicas = world.controller(), world.controller()
    agent = world.agent(await world.claim(replicas[0]))
    key, done = TicketKey(REPO, world.ticket), asyncio.Event()

    async def push() -> list[str]:
        try:
            return [(await asyncio.to_thread(agent.push, f"step-{n}")).code_sha for n in range(5)]
        finally:
            done.set()

    async def work(replica: Controller) -> None:
        while not done.is_set():
            await replica.round(key)

    shas, *_ = await asyncio.gather(push(), *(work(replica) for replica in replicas))
    for replica in replicas:
        await world.settle(replica)
    chain = _chain(world, agent)
    assert [r["sequence"] for r in chain] == list(range(1, len(chain) + 1))
    published = [r["published"]["sha"] for r in chain if r.get("published")]
    assert list(dict.fromkeys(published)) == shas
    keys = {request["key"] for request in chain[-1]["requests"]}
    assert keys >= {request["key"] for record in chain for request in record["requests"]}
    assert _doubles(world, agent.grant.branch, shas) == {"pulls": 1, "comments": 1, "check-runs of one head": 1}


@pytest.mark.parametrize("begin", ["never claimed", "handed off", "lease ended"])
async def test_of_sixteen_claims_of_one_generation_one_is_granted_and_all_others_learn_of_it(
    world: LoopWorld, begin: str
) -> None:
    replicas = world.controller(), world.controller()
    generation = 0
    if begin != "never claimed":
        generation, before = 1, await world.claim(replicas[0])
        if begin == "handed off":
            request = HandoffRequest(key=secrets.token_hex(8), seq=2)
            await replicas[0].handoff("acme", "shop", world.ticket, claims_of(before), request)
        else:
            world.emulator.advance(17 * 60)
    claims = [
        _claim(world, replicas[n % 2], generation=generation, holder=f"agent {n}", login=f"w{n}") for n in range(16)
    ]
    grants, losers = await _outcomes(*claims)
    (grant,) = grants
    assert grant.generation == generation + 1
    assert len(losers) == 15
    for loser in losers:
        assert (loser.code, loser.holder, loser.generation) == (
            Code.LEASE_LIVE,
            grant.brief.holder,
            grant.generation,
        )
        # Until when nobody else can have it: the lease's end and a minute of grace.
        free_at = instant_text(grant.expires_at + Policy().lease.grace)
        assert free_at in loser.reason
        assert free_at in loser.remedy
        assert loser.retryable
    nonces = {(r["lease"]["generation"], r["lease"]["nonce"]) for r in _chain(world, world.agent(grant)) if r["lease"]}
    assert len([nonce for number, nonce in nonces if number == grant.generation]) == 1


async def test_two_replicas_that_ask_for_a_person_at_one_moment_leave_one_report(world: LoopWorld) -> None:
    replicas = world.controller(), world.controller()
    for generation in range(3):
        await _claim(world, replicas[0], generation=generation)
        world.emulator.advance(16 * 60)
    key = TicketKey(REPO, world.ticket)
    for _ in range(6):
        # What is decided without a person waits for the window after a start and for its settling time.
        world.emulator.advance(60)
        await asyncio.gather(*(replica.tick() for replica in replicas))
        await asyncio.gather(*(replica.round(key) for replica in replicas))
    for replica in replicas:
        await world.settle(replica)
    assert len(world.comments(world.ticket, "agent-recovery:report")) == 1


async def test_a_claim_that_is_overtaken_at_every_try_names_the_last_holder(world: LoopWorld) -> None:
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    agent.push("one")
    world.emulator.advance(17 * 60)
    pushed = 0

    async def renew() -> None:
        nonlocal pushed
        pushed += 1
        await asyncio.to_thread(agent.push, f"late-{pushed}")

    overtaken = world.controller(transport=_Before(b"UpdateRefs", renew))
    with pytest.raises(Refused) as refused:
        await _claim(world, overtaken, generation=1)
    blocked = refused.value.blocked
    assert (blocked.code, blocked.holder, blocked.generation) == (Code.LOST_RACE, "agent", 1)
    record = (await controller._views.look("acme", "shop", world.ticket)).record
    assert record is not None
    assert record.lease is not None
    assert instant_text(record.lease.expires_at) in blocked.reason
    assert blocked.retryable
    assert "claim again" in blocked.remedy
    assert pushed == 10
    assert {r["generation"] for r in _chain(world, agent)} == {0, 1}


@pytest.mark.parametrize("way", ["one after the other", "at the same moment"])
async def test_the_same_claim_id_gets_the_same_grant_on_every_replica(world: LoopWorld, way: str) -> None:
    replicas = world.controller(), world.controller()
    claims = [_claim(world, replicas[n % 2], id="claim-one-and-only") for n in range(4)]
    grants = [await claim for claim in claims] if way == "one after the other" else await asyncio.gather(*claims)
    assert {(g.generation, g.nonce, g.lease_token) for g in grants} == {
        (1, grants[0].nonce, grants[0].lease_token),
    }
    assert [r["generation"] for r in _chain(world, world.agent(grants[0]))] == [0, 1]


@pytest.mark.parametrize(("id", "login"), [("claim-another", "w1"), ("claim-one-and-only", "w2")])
async def test_another_claim_id_or_another_account_is_refused_like_anybody(
    world: LoopWorld, id: str, login: str
) -> None:
    controller = world.controller()
    grant = await _claim(world, controller, id="claim-one-and-only", holder="first")
    before = world.requested()
    with pytest.raises(Refused) as refused:
        await _claim(world, controller, id=id, login=login, generation=1)
    blocked = refused.value.blocked
    assert (blocked.code, blocked.holder, blocked.generation) == (Code.LEASE_LIVE, "first", grant.generation)
    assert ("your own account" in blocked.reason) == (login == "w1")
    assert world.writes(before) == []


class _Before(httpx.AsyncHTTPTransport):
    """Lets something happen right before every request whose body holds these bytes."""

    def __init__(self, needle: bytes, happens: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._needle, self._happens = needle, happens

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._needle in await request.aread():
            await self._happens()
        return await super().handle_async_request(request)
