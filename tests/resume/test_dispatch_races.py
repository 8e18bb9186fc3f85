"""A claim that comes while the loop starts an agent: one worker, and one attempt counted, whoever was first."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable

import httpx
from resume_world import AT, HEARTBEAT_S, LEASE_OVER_S, ResumeWorld, drain
from run_scene import outcome_of, run_claims
from spoken_world import Replica

from app.domain.agent_api import ClaimRequest, Grant
from app.domain.dispatched import Dispatched, Run
from app.domain.outcome import Code


class Meanwhile(httpx.AsyncBaseTransport):
    """A way to GitHub on which something happens right before the first dispatch goes out."""

    def __init__(self) -> None:
        self._way = httpx.AsyncHTTPTransport(verify=False)
        self.first: Callable[[], Awaitable[object]] | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.first is not None and request.url.path.endswith("/dispatches"):
            first, self.first = self.first, None
            await first()
        return await self._way.handle_async_request(request)


def request(attempt: str | None, at: int = 1) -> ClaimRequest:
    return ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=at, holder="run", attempt=attempt)


async def started(world: ResumeWorld, service: Replica) -> tuple[Dispatched, Run]:
    """The holder is never heard of again, and the loop starts an agent; which, and by which run."""
    await world.pass_time(LEASE_OVER_S, service)
    for _ in range(10):
        if (found := (await world.record(service)).dispatched) is not None:
            (run,) = world.runs()
            return found, Run(id=run["id"], attempt=1)
        await world.pass_time(HEARTBEAT_S, service)
    raise AssertionError("no agent is started")


async def test_a_run_a_person_and_two_loops_at_once(world: ResumeWorld) -> None:
    service, other = world.replica(), world.replica()
    agent = await world.begun(service)
    dispatched, run = await started(world, service)
    assert (dispatched.state, dispatched.run, dispatched.generation) == ("open", run, 1)
    said = run_claims(agent.grant.repository.id, run)
    by_run, by_account, *_ = await asyncio.gather(
        outcome_of(service.controller.claim(*AT, world.ticket, request(dispatched.attempt), said.actor, said)),
        outcome_of(other.controller.claim(*AT, world.ticket, request(None), "wanda")),
        drain(service),
        drain(other),
    )
    (grant,) = [outcome for outcome in (by_run, by_account) if isinstance(outcome, Grant)]
    await drain(service)
    record = await world.record(service)
    assert record.identity == (grant.generation, grant.nonce)
    assert (record.generation, record.attempts.count) == (2, 1)
    assert record.dispatched is not None
    assert record.dispatched.state == ("claimed" if grant is by_run else "over")
    assert world.dispatches() == 1


async def test_who_claims_between_the_permit_and_its_dispatch_has_the_ticket(world: ResumeWorld) -> None:
    way = Meanwhile()
    service, other = world.replica(transport=way), world.replica()
    agent = await world.begun(service)
    claimed: list[Grant | Code] = []

    async def claim() -> None:
        claimed.append(await outcome_of(other.controller.claim(*AT, world.ticket, request(None), "wanda")))

    way.first = claim
    dispatched, run = await started(world, service)
    (grant,) = claimed
    assert isinstance(grant, Grant)
    # The run was started all the same: nothing takes back what was sent. It comes too late.
    said = run_claims(agent.grant.repository.id, run)
    late = service.controller.claim(*AT, world.ticket, request(dispatched.attempt, 2), said.actor, said)
    assert await outcome_of(late) is Code.ATTEMPT_OVER
    await world.pass_time(2 * HEARTBEAT_S, service, beating=[grant])
    record = await world.record(service)
    assert record.identity == (grant.generation, grant.nonce)
    assert (record.generation, record.attempts.count) == (2, 1)
    assert record.dispatched is not None
    assert record.dispatched.state == "over"
    assert all(permit.kind != "dispatch" for permit in record.open)
    assert world.dispatches() == 1
