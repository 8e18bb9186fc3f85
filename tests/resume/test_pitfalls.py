"""The common pitfalls that the second specification names (40.8), one test for each, named after it."""

import asyncio
import base64
import json
import random
import secrets
from functools import partial
from pathlib import Path

import httpx
import pytest
from loop_world import REPO, claims_of
from resume_world import AT, LEASE_OVER_S, ResumeWorld, drain
from spoken_world import Replica

from app.controller.person_commands import Word
from app.domain import person_verbs
from app.domain.agent_api import CheckpointRequest, Grant, HeartbeatRequest
from app.domain.effect import Kind
from app.domain.effect_api import EffectDispatch, EffectIntent
from app.domain.outcome import Blocked, Code, Refused
from app.domain.record import Record
from app.ledger.git_outcomes import Pushed
from tests.crash_end import repository_of
from tests.marker_index import MarkerIndex, Watched


class Died(BaseException):
    """The process is gone."""


class DiesOfDispatches(httpx.AsyncBaseTransport):
    """The way to GitHub of a service that dies of each start of an agent, before or after GitHub carried it out; what
    the ledger held at that moment is kept.
    """

    def __init__(self, world: ResumeWorld, after: bool) -> None:
        self._inner = httpx.AsyncHTTPTransport(verify=False)
        self._world, self._after = world, after
        self.held: list[dict[str, object]] = []
        self.dead = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.dead:
            raise Died
        if request.url.path.endswith("/dispatches"):
            self.held.append(_record(self._world))
            self.dead = True
            if self._after:
                answer = await self._inner.handle_async_request(request)
                await answer.aread()
                await answer.aclose()
            raise Died
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def _record(world: ResumeWorld) -> dict[str, object]:
    """What the ledger says, read by nothing of the App's."""
    ref = world.get(f"git/matching-refs/agent-recovery/active/{world.ticket}")[0]["object"]["sha"]
    tree = world.get(f"git/commits/{ref}")["tree"]["sha"]
    blob = next(e["sha"] for e in world.get(f"git/trees/{tree}")["tree"] if e["path"] == "record.json")
    found: dict[str, object] = json.loads(base64.b64decode(world.get(f"git/blobs/{blob}")["content"]))
    return found


@pytest.mark.parametrize(
    "after",
    [pytest.param(False, id="before it is sent", marks=pytest.mark.drill), pytest.param(True, id="after it was sent")],
)
async def test_counting_the_attempt_after_the_call(world: ResumeWorld, after: bool) -> None:
    """A service that dies of every start of an agent: each attempt was counted before, so it is no endless loop."""
    await world.begun(world.replica())
    world.emulator.advance(LEASE_OVER_S)
    counted = []
    for _ in range(6):
        transport = DiesOfDispatches(world, after)
        service = world.replica(transport=transport)
        try:
            await service.controller.start_up()
            await world.pass_time(30 * 60, service)
        except Died:
            (held,) = transport.held
            counted.append(held["attempts"]["count"])  # type: ignore[index]
            assert held["dispatched"]["state"] == "open"  # type: ignore[index]
        for run in world.runs():
            # Nobody takes them, and somebody sees to that.
            if run["status"] != "completed":
                world.ended(run, "cancelled")
        world.emulator.advance(60)
    assert counted == [1, 2, 3]
    assert world.dispatches() == (3 if after else 0)
    assert len(world.runs()) == (3 if after else 0)
    service = world.replica()
    await service.controller.start_up()
    await world.pass_time(30 * 60, service)
    record = await world.record(service)
    assert (record.status, record.attempts.count, len(world.reports())) == ("exhausted", 3, 1)
    # None of the runs that nobody knows of is let in.
    for run in world.runs():
        outcome = await world.works(service, run)
        assert isinstance(outcome, Blocked)
        assert outcome.code is Code.ATTEMPT_OVER


async def test_no_staleness_window(world: ResumeWorld) -> None:
    """A destructive operation was under way, approved by somebody who sat there. Three months later the service is
    upgraded: it must not be carried out, by nobody.
    """
    service = world.replica()
    agent = await world.begun(service)
    await _intends(service, agent.grant, "drop", Kind.CLOUD_DESTROY)
    await _approved(world, service, "drop")
    world.emulator.advance(90 * 86400)
    upgraded = world.replica()
    await upgraded.controller.start_up()
    await world.pass_time(15 * 60, upgraded)
    record = await world.record(upgraded)
    assert (record.status, world.places(), world.runs()) == ("abandoned", {"done"}, [])
    assert [effect.state for effect in record.effects] == ["abandoned"]
    with pytest.raises(Refused):
        await _lets_go(upgraded, agent.grant, "drop")
    assert len([report for report in world.reports() if ":stuck-" in report["body"]]) == 1


async def test_classifying_attendance_by_the_sessions_origin(world: ResumeWorld) -> None:
    """A person began it and sat there; what was started for it later is alone, and may do no more than that."""
    service = world.replica()
    await world.begun(service)
    await world.say(service, world.ticket, "/recovery takeover")
    await world.pass_time(6 * 60, service)
    (run,) = world.runs()
    grant = await world.works(service, run)
    assert isinstance(grant, Grant), grant
    await _intends(service, grant, "prod", Kind.DEPLOY_PRODUCTION)
    with pytest.raises(Refused) as refused:
        await _lets_go(service, grant, "prod")
    assert refused.value.blocked.code is Code.EFFECT_NOT_APPROVED
    assert "/recovery approve prod" in refused.value.blocked.remedy


async def test_keeping_the_marker_in_save_and_not_in_the_patch_path(world: ResumeWorld, data: Path) -> None:
    """Every write that changes a part of the record, before the end and after it: none leaves or makes a marker that
    is not true.
    """
    index = MarkerIndex(repository_of(data))
    service = world.replica(transport=Watched(httpx.AsyncHTTPTransport(verify=False), index))
    agent = await world.begun(service)
    claims, place = claims_of(agent.grant), (*AT, world.ticket)
    checkpoint = CheckpointRequest(key="checkpoint-1", seq=900, checkpoint={"next_steps": ["more"]})
    await service.controller.checkpoint(*place, claims, checkpoint)
    await _intends(service, agent.grant, "tag", Kind.TAG, seq=901)
    await world.pass_time(9 * 60, service, beating=[agent.grant])
    rule = partial(person_verbs.cancel, by="wanda", reason=None)
    await service.controller.hear(*place, Word(id="cancel-1", verb="cancel", by="wanda", rule=rule))
    assert world.places() == {"done"}
    # What the old holder still sends by each path.
    late = CheckpointRequest(key="checkpoint-2", seq=910, checkpoint={"next_steps": ["late"]})
    for sent in (
        service.controller.checkpoint(*place, claims, late),
        service.controller.heartbeat(*place, claims, HeartbeatRequest()),
        _intends(service, agent.grant, "late", Kind.TAG, seq=911),
        _lets_go(service, agent.grant, "tag", seq=912),
    ):
        with pytest.raises(Refused):
            await sent
    assert not isinstance(agent.push("late"), Pushed)
    index.judge("a late push")
    await world.pass_time(20 * 60, service)
    assert (index.faults, world.places(), world.runs()) == ([], {"done"}, [])


@pytest.mark.parametrize("seed", range(4))
async def test_resuming_outside_the_ordinary_lock(world: ResumeWorld, seed: int) -> None:
    """What was started races its holder, who is back, people's agents and other runs: one of them writes, ever."""
    chance = random.Random(seed)
    service, other = world.replica(world.folder / "shared.db"), world.replica(world.folder / "shared.db")
    agent = await world.begun(service)
    await world.silence(service)
    (run,) = world.runs()
    await other.later(0)
    racers = [world.works(chance.choice([service, other]), run) for _ in range(2)]
    racers += [world.claimed(chance.choice([service, other]), 1, evidence=False) for _ in range(3)]
    chance.shuffle(racers)
    before = await world.record(service)
    outcomes = await asyncio.gather(*racers, asyncio.to_thread(agent.push, f"back-{seed}"))
    granted = [outcome for outcome in outcomes if isinstance(outcome, Grant)]
    assert len(granted) == 1
    record = await world.record(service)
    assert (record.generation, record.identity) == (before.generation + 1, (granted[0].generation, granted[0].nonce))
    assert record.attempts.count == before.attempts.count == 1, "the start's attempt is the claim's, whoever claims"
    # The old holder's push came before the claim, or not at all; from now on it is fenced out.
    assert not isinstance(await asyncio.to_thread(agent.push, "later"), Pushed)


@pytest.mark.parametrize("seed", range(3))
async def test_a_live_holder_always_wins(world: ResumeWorld, seed: int) -> None:
    """However many ask, and whatever the loop does meanwhile."""
    chance = random.Random(seed)
    service, other = world.replica(world.folder / "shared.db"), world.replica(world.folder / "shared.db")
    agent = await world.begun(service)
    await world.pass_time(chance.randint(10, 14) * 60, service, beating=[agent.grant])
    await other.later(0)
    for _ in range(3):
        await world.beat(service.controller, agent.grant)
        racers = [world.claimed(chance.choice([service, other]), 1, evidence=False) for _ in range(4)]
        await service.controller._pokes.poke(f"{REPO}#{world.ticket}")
        outcomes = await asyncio.gather(*racers, drain(service), asyncio.to_thread(agent.push, secrets.token_hex(3)))
        assert {o.code for o in outcomes if isinstance(o, Blocked)} == {Code.LEASE_LIVE}
        assert isinstance(outcomes[-1], Pushed)
        world.emulator.advance(chance.randint(1, 120))
        await service.later(0)
    record = await world.record(service)
    assert (record.generation, record.identity, world.runs()) == (1, (1, agent.grant.nonce), [])


async def test_treating_a_called_tool_as_an_effect_that_happened(world: ResumeWorld) -> None:
    """The holder died between letting a mail go and saying so: nothing is sent again, and a person is asked."""
    service = world.replica()
    agent = await world.begun(service)
    await _intends(service, agent.grant, "mail", Kind.EMAIL, seq=900)
    assert await _lets_go(service, agent.grant, "mail", seq=901, approve=world)
    await world.silence(service)
    (run,) = world.runs()
    grant = await world.works(service, run)
    assert isinstance(grant, Grant), grant
    record: Record = await world.record(service)
    assert [effect.state for effect in record.effects] == ["unknown"]
    assert not await _lets_go(service, grant, "mail", seq=2)
    await world.pass_time(10 * 60, service, beating=[grant])
    assert any("mail" in report["body"] for report in world.reports())


async def _approved(world: ResumeWorld, service: Replica, key: str) -> None:
    """By somebody who maintains the repository."""
    world.tokens["maya"] = world.emulator.user("maya")["token"]
    world.role("maya", "maintain")
    said = await world.say(service, world.ticket, f"/recovery approve {key}", by="maya")
    assert ": done." in world.answer(world.ticket, said)


async def _intends(service: Replica, grant: Grant, key: str, kind: Kind, seq: int = 900) -> None:
    intent = EffectIntent(key=f"intend-{key}", seq=seq, effect=key, kind=kind)
    await service.controller.intend_effect(*AT, grant.ticket, claims_of(grant), intent)


async def _lets_go(
    service: Replica, grant: Grant, key: str, seq: int = 950, approve: ResumeWorld | None = None
) -> bool:
    if approve is not None:
        await _approved(approve, service, key)
    asked = EffectDispatch(key=f"dispatch-{key}-{seq}", seq=seq, attempt=f"attempt-{key}-{seq}")
    answer = await service.controller.dispatch_effect(*AT, grant.ticket, claims_of(grant), key, asked)
    assert answer.effect is not None
    return answer.effect.go
