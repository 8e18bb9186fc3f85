"""Who holds a ticket, and when that one is gone: by heartbeats, by its workflow run, and by our clock alone."""

from datetime import timedelta

import forging
import pytest
from loop_world import REPO, claims_of
from resume_world import AT, HEARTBEAT_S, LEASE_OVER_S, ResumeWorld, drain
from spoken_world import Replica

from app.domain.agent_api import Grant
from app.domain.lease import Dead, Live, Suspect, liveness
from app.domain.outcome import Blocked, Code
from app.ledger.git_outcomes import Pushed

TTL, GRACE = timedelta(minutes=15), timedelta(seconds=60)
NEAR = timedelta(seconds=5)
SETTLED_S = 3 * HEARTBEAT_S
"""A wish settles for one heartbeat and up to half of one more; then the next look carries it out."""


async def _state(world: ResumeWorld, service: Replica) -> Live | Suspect | Dead | object:
    view = await service.controller._views.look(*AT, world.ticket)
    assert view.usable_policy is not None
    return liveness(
        view.record, view.usable_policy, now=view.now, heartbeat_at=view.heartbeat_at, run_ended=view.run_ended
    )


async def test_a_holder_that_is_heard_of_keeps_the_ticket_for_any_time(world: ResumeWorld) -> None:
    service = world.replica()
    agent = await world.begun(service)
    for _ in range(3):
        await world.pass_time(12 * 60, service, beating=[agent.grant])
        assert isinstance(await _state(world, service), Live)
    refused = await world.claimed(service, 1)
    assert isinstance(refused, Blocked)
    assert (refused.code, world.dispatches()) == (Code.LEASE_LIVE, 0)


async def test_a_silent_holder_is_suspect_first_and_nobody_takes_its_ticket(world: ResumeWorld) -> None:
    service = world.replica()
    agent = await world.begun(service)
    await world.pass_time(4 * HEARTBEAT_S, service, beating=[agent.grant])
    await world.pass_time(4 * HEARTBEAT_S, service)
    assert isinstance(await _state(world, service), Suspect)
    refused = await world.claimed(service, 1)
    assert isinstance(refused, Blocked)
    assert (refused.code, world.dispatches()) == (Code.LEASE_LIVE, 0)
    # It shows itself once more, and everything is as before.
    await world.beat(service.controller, agent.grant)
    assert isinstance(await _state(world, service), Live)
    assert isinstance(agent.push("two"), Pushed)
    await world.silence(service)
    assert isinstance(await _state(world, service), Dead)
    assert world.dispatches() == 1


async def test_a_lost_table_of_heartbeats_costs_suspicion_and_no_ticket(world: ResumeWorld) -> None:
    service = world.replica()
    agent = await world.begun(service)
    await world.pass_time(10 * 60, service, beating=[agent.grant])
    other = world.replica()
    assert isinstance(await _state(world, other), Suspect)
    await world.pass_time(HEARTBEAT_S, other, beating=[agent.grant])
    assert isinstance(await _state(world, other), Live)
    await world.pass_time(20 * 60, other, beating=[agent.grant])
    assert world.dispatches() == 0


async def _run_that_holds(world: ResumeWorld, service: Replica) -> tuple[Grant, dict[str, object]]:
    await world.begun(service)
    await world.silence(service)
    (run,) = world.runs()
    grant = await world.works(service, run)
    assert isinstance(grant, Grant), grant
    await drain(service)
    return grant, run


@pytest.mark.parametrize("told", ["by the webhook", "by a sweep"])
@pytest.mark.parametrize("how", ["cancelled", "failure", "success"])
async def test_the_end_of_a_run_is_the_end_of_its_holder_at_once(world: ResumeWorld, how: str, told: str) -> None:
    service = world.replica()
    grant, run = await _run_that_holds(world, service)
    await world.beat(service.controller, grant)
    assert isinstance(await _state(world, service), Live)
    world.ended(run, how)
    assert isinstance(await _state(world, service), Dead)
    if told == "by the webhook":
        shown = world.get(f"actions/runs/{run['id']}")
        body = {
            "action": "completed",
            "workflow_run": shown,
            "repository": {"full_name": REPO, "default_branch": "main"},
        }
        await world.deliver(service, "workflow_run", body)
        await world.pass_time(SETTLED_S, service)
    else:
        await world.pass_time(10 * 60, service)
    # Long before its lease was over, and for all that it was heard of just now.
    assert world.now < grant.expires_at
    assert len(world.runs()) == 2
    assert (await world.record(service)).attempts.count == 2


async def test_a_run_that_ends_before_it_claimed_is_followed_by_another(world: ResumeWorld) -> None:
    service = world.replica()
    await world.begun(service)
    await world.silence(service)
    (first,) = world.runs()
    world.ended(first, "cancelled")
    await world.pass_time(10 * 60, service)
    second = world.runs()[-1]
    assert (len(world.runs()), second["id"] != first["id"]) == (2, True)
    late = await world.works(service, first)
    assert isinstance(late, Blocked)
    assert late.code is Code.ATTEMPT_OVER
    assert isinstance(await world.works(service, second), Grant)


async def test_what_an_agent_pushes_extends_its_lease_by_what_we_stamp_and_no_more(world: ResumeWorld) -> None:
    service = world.replica()
    agent = await world.begun(service)
    for step in ("two", "three"):
        world.emulator.advance(9 * 60)
        assert isinstance(agent.push(step), Pushed)
        await service.controller._pokes.poke(f"{REPO}#{world.ticket}")
        await service.later(0)
        await drain(service)
        lease = (await world.record(service)).lease
        assert lease is not None
        assert abs(lease.expires_at - (world.now + TTL)) < NEAR
    # Renewed by hand as often as one likes: a counter, seen once.
    head, record = forging.fetched(agent)
    for _ in range(5):
        record = forging.following(record)
        head = forging.commit(agent, head, record, sealed=True)
    forging.point(agent, head)
    await service.controller._pokes.poke(f"{REPO}#{world.ticket}")
    await drain(service)
    lease = (await world.record(service)).lease
    assert lease is not None
    assert abs(lease.expires_at - (world.now + TTL)) < NEAR


@pytest.mark.parametrize("field", ["expires_at", "granted_at", "renewed_at"])
async def test_a_lease_that_an_agent_wrote_itself_is_not_believed_and_starts_nothing(
    world: ResumeWorld, field: str
) -> None:
    service = world.replica()
    agent = await world.begun(service)
    head, record = forging.fetched(agent)
    fields = forging.following(record) | {"lease": record["lease"] | {field: "2099-12-31T00:00:00Z"}}
    forging.point(agent, forging.commit(agent, head, fields, sealed=True))
    await world.silence(service)
    view = await service.controller._views.look(*AT, world.ticket)
    assert view.frozen is not None
    assert world.dispatches() == 0


@pytest.mark.parametrize("year", [1970, 2099])
async def test_an_agents_clock_decides_nothing(world: ResumeWorld, monkeypatch: pytest.MonkeyPatch, year: int) -> None:
    service = world.replica()
    agent = await world.begun(service)
    at = 1 if year == 1970 else 4_102_300_800
    for name in ("GIT_COMMITTER_DATE", "GIT_AUTHOR_DATE"):
        monkeypatch.setenv(name, f"@{at} +0000")
    world.emulator.advance(8 * 60)
    assert isinstance(agent.push("two"), Pushed)
    await service.controller._pokes.poke(f"{REPO}#{world.ticket}")
    await service.later(0)
    await drain(service)
    lease = (await world.record(service)).lease
    assert lease is not None
    assert abs(lease.expires_at - (world.now + TTL)) < NEAR
    left = (lease.expires_at - world.now).total_seconds()
    await world.pass_time(left - HEARTBEAT_S, service)
    assert world.dispatches() == 0
    await world.pass_time(HEARTBEAT_S + GRACE.total_seconds() + SETTLED_S, service)
    assert world.dispatches() == 1


async def test_replicas_five_minutes_off_start_one_agent_and_not_early(world: ResumeWorld) -> None:
    shared = world.folder / "shared.db"
    behind, ahead = (world.replica(shared, skew_s=skew) for skew in (-300, 300))
    agent = await world.begun(behind)
    await world.reattached(behind, ahead)
    await world.beat(ahead.controller, agent.grant)
    await world.pass_time(LEASE_OVER_S - 3 * HEARTBEAT_S, behind, ahead)
    assert world.dispatches() == 0
    await world.pass_time(3 * HEARTBEAT_S + SETTLED_S, behind, ahead)
    assert world.dispatches() == 1
    assert claims_of(agent.grant).generation == (await world.record(ahead)).generation
