"""Wrong clocks: an agent's, a replica's, and a service that never runs long. Only GitHub's own time counts."""

import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

import forging
import pytest
from loop_world import REPO, LoopWorld, claims_of

from app.controller.controller import Controller
from app.domain.agent_api import ClaimRequest, Grant, HeartbeatRequest
from app.domain.keys import TicketKey
from app.domain.outcome import Code, Refused
from app.domain.record import Lease
from app.ledger.git_outcomes import Pushed

TTL, GRACE = timedelta(minutes=15), timedelta(seconds=60)
NEAR = timedelta(seconds=3)
YEARS = [datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), datetime(2099, 12, 31, tzinfo=UTC)]


async def _lease(world: LoopWorld, controller: Controller) -> Lease:
    view = await controller._views.look("acme", "shop", world.ticket)
    assert view.record is not None
    assert view.record.lease is not None
    return view.record.lease


def _now(world: LoopWorld) -> datetime:
    return datetime.fromtimestamp(world.emulator.now(), UTC)


async def _claimed(world: LoopWorld, controller: Controller, generation: int) -> Grant | None:
    """A claim's grant, or None where the lease lives."""
    request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=generation, holder="other")
    try:
        return await controller.claim("acme", "shop", world.ticket, request, "wanda")
    except Refused as refused:
        if refused.blocked.code is not Code.LEASE_LIVE:
            raise
        return None


async def _taken_exactly_after_the_grace(world: LoopWorld, replicas: list[Controller], lease: Lease) -> None:
    """No claim passes just before expiry and grace are over by GitHub's clock; just after, exactly one does."""
    world.emulator.set_clock((lease.expires_at + GRACE - NEAR).timestamp())
    assert [await _claimed(world, replica, lease.generation) for replica in replicas] == [None] * len(replicas)
    world.emulator.set_clock((lease.expires_at + GRACE + NEAR).timestamp())
    grants = [await _claimed(world, replica, lease.generation) for replica in replicas]
    assert [grant.generation for grant in grants if grant is not None] == [lease.generation + 1]


@pytest.mark.parametrize("year", YEARS, ids=lambda y: str(y.year))
async def test_agent_clock_1970_and_2099(world: LoopWorld, monkeypatch: pytest.MonkeyPatch, year: datetime) -> None:
    """Trace: agent clock 1970 and 2099: neither extends nor shortens the lease."""
    controller, agent, _ = await world.published()

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> "Wrong":
            return cls.fromtimestamp(year.timestamp(), tz)

    monkeypatch.setattr("app.ledger.git.datetime", Wrong)
    for name in ("GIT_COMMITTER_DATE", "GIT_AUTHOR_DATE"):
        monkeypatch.setenv(name, f"@{int(year.timestamp())} +0000")
    world.emulator.advance(8 * 60)
    before = await _lease(world, controller)
    pushed = agent.push("two")
    assert isinstance(pushed, Pushed)
    shown = world.git(agent.folder, "log", "-1", "--format=%ct", pushed.ledger_commit)
    assert int(shown) == int(year.timestamp())
    await world.settle(controller)
    lease = await _lease(world, controller)
    assert abs(lease.expires_at - (_now(world) + TTL)) < NEAR
    assert lease.expires_at > before.expires_at
    assert world.get("pulls?state=all")[0]["head"]["sha"] == pushed.code_sha
    await _taken_exactly_after_the_grace(world, [controller, world.controller()], lease)


@pytest.mark.parametrize("year", YEARS, ids=lambda y: str(y.year))
async def test_agent_clock_1970_and_2099_in_the_records_own_fields(world: LoopWorld, year: datetime) -> None:
    """Trace: agent clock 1970 and 2099, written by hand wherever a holder may write a time."""
    controller, agent, _ = await world.published()
    world.emulator.advance(8 * 60)
    head, record = forging.fetched(agent)
    at = year.isoformat().replace("+00:00", "Z")
    fields = forging.following(record) | {
        "checkpoint": record["checkpoint"] | {"updated_at": at, "renewed_at": at},
        "validations": [{"profile": "unit", "finished_at": at}],
        "requests": [*record["requests"], {"key": "k" * 8, "seq": 900, "generation": 1, "answer": {"expires_at": at}}],
    }
    forging.point(agent, forging.commit(agent, head, fields, sealed=True, when=year))
    await world.settle(controller)
    lease = await _lease(world, controller)
    assert abs(lease.expires_at - (_now(world) + TTL)) < NEAR
    await _taken_exactly_after_the_grace(world, [controller, world.controller()], lease)


async def test_replicas_five_minutes_off(world: LoopWorld) -> None:
    """Trace: replicas +-5 min: no lease is taken early, none is granted longer, by either."""
    database = world.folder / "shared.db"
    behind = world.controller(database_file=database, skew_s=-300)
    ahead = world.controller(database_file=database, skew_s=300)
    agent = world.agent(await world.claim(ahead))
    first = await _lease(world, ahead)
    assert abs(first.granted_at - _now(world)) < NEAR
    agent.push("one")
    await world.settle(behind)
    for replica in (ahead, behind):
        world.emulator.advance(8 * 60)
        await replica.heartbeat("acme", "shop", world.ticket, claims_of(agent.grant), HeartbeatRequest())
        await world.settle(replica)
        lease = await _lease(world, replica)
        assert abs(lease.expires_at - (_now(world) + TTL)) < NEAR
    fresh = [world.controller(skew_s=skew) for skew in (-300, 300)]
    await _taken_exactly_after_the_grace(world, [*fresh, ahead, behind], lease)


async def test_service_restarted_every_half_ttl_still_recognises_a_dead_lease(world: LoopWorld) -> None:
    """Trace: service restarted every TTL/2, its database lost each time: it costs at most one TTL."""
    controller, agent, sha = await world.published()
    world.emulator.advance(60)
    assert isinstance(agent.push_commit(sha, "last sign"), Pushed)
    died = _now(world)
    granted = None
    while granted is None:
        world.emulator.advance(TTL.total_seconds() / 2)
        assert _now(world) - died < 3 * TTL, "the dead lease is never recognised"
        controller = world.controller()
        await controller.start_up()
        assert await world.poked() == [str(TicketKey(REPO, world.ticket))]
        await world.settle(controller)
        granted = await _claimed(world, controller, 1)
    assert granted.generation == 2
    assert died + TTL < _now(world) <= died + 2 * TTL + GRACE + NEAR


async def test_service_restarted_every_half_ttl_takes_no_living_lease(world: LoopWorld) -> None:
    """Trace: service restarted every TTL/2, its database lost each time: who shows himself keeps the ticket."""
    controller, agent, _ = await world.published()
    for _ in range(6):
        controller = world.controller()
        await controller.start_up()
        await world.settle(controller)
        for _ in range(7):
            world.emulator.advance(60)
            await controller.heartbeat("acme", "shop", world.ticket, claims_of(agent.grant), HeartbeatRequest())
            if await world.poked():
                await world.settle(controller)
        assert await _claimed(world, world.controller(), 1) is None
    assert isinstance(agent.push("still here"), Pushed)
