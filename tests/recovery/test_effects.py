"""Effects outside Git, end to end: a holder journals them, dies in between, and the loop looks what became of them."""

import asyncio
import secrets
from functools import partial
from typing import Any

import pytest
from loop_world import REPO, LoopWorld, claims_of

from app.controller.controller import Controller
from app.domain.agent_api import Grant, WriteAnswer
from app.domain.effect_api import EffectDispatch, EffectIntent, EffectLook, EffectOutcome
from app.domain.effect_decision import approved, resolved
from app.domain.effect_state import EffectState
from app.domain.keys import TicketKey
from app.domain.outcome import Code, Refused

ATTEMPT = "a" * 12


class Holder:
    """A holder that speaks of effects, each word with a key and number of its own."""

    def __init__(self, world: LoopWorld, controller: Controller, grant: Grant) -> None:
        self.world, self.controller, self.grant = world, controller, grant
        self._at = ("acme", "shop", world.ticket, claims_of(grant))
        self._seq = 1000

    def _next(self, **body: Any) -> dict[str, Any]:
        self._seq += 1
        return {"key": secrets.token_hex(8), "seq": self._seq, **body}

    async def intend(self, key: str, kind: str = "tag", probe: Any = None) -> EffectState:
        request = EffectIntent.model_validate(self._next(effect=key, kind=kind, probe=probe))
        return _of(await self.controller.intend_effect(*self._at, request))

    async def go(self, key: str, attempt: str = ATTEMPT) -> EffectState:
        request = EffectDispatch.model_validate(self._next(attempt=attempt))
        return _of(await self.controller.dispatch_effect(*self._at, key, request))

    async def end(self, key: str, outcome: str, attempt: str = ATTEMPT, **more: Any) -> EffectState:
        request = EffectOutcome.model_validate(self._next(attempt=attempt, outcome=outcome, **more))
        return _of(await self.controller.report_effect(*self._at, key, request))

    async def look(self, key: str) -> EffectState:
        return _of(await self.controller.probe_effect(*self._at, key, EffectLook.model_validate(self._next())))

    async def known(self) -> dict[str, EffectState]:
        listed = await self.controller.effects(*self._at)
        return {effect.key: effect for effect in listed.effects}


def _of(answer: WriteAnswer) -> EffectState:
    assert answer.effect is not None
    return answer.effect


async def holder(world: LoopWorld, controller: Controller | None = None, generation: int = 0) -> Holder:
    controller = controller or world.controller()
    return Holder(world, controller, await world.claim(controller, generation))


async def successor(world: LoopWorld, dead: Holder) -> Holder:
    """The next holder, after the last one's lease ran out."""
    world.emulator.advance(3600)
    return await holder(world, dead.controller, 1)


def tag(world: LoopWorld, name: str) -> None:
    body = {"ref": f"refs/tags/{name}", "sha": world.head("release-1")}
    world.http.post(f"/repos/{REPO}/git/refs", json=body).raise_for_status()


async def refused(code: Code, call: Any) -> None:
    with pytest.raises(Refused) as refusal:
        await call
    assert refusal.value.blocked.code is code


async def test_an_effect_is_let_through_once_and_its_result_is_every_later_answer(world: LoopWorld) -> None:
    agent = await holder(world)
    assert (await agent.intend("v1")).state == "intended"
    assert (await agent.go("v1")).go
    assert not (await agent.go("v1", "b" * 12)).go
    assert (await agent.end("v1", "confirmed", exit_code=0, remote_id="v1")).state == "confirmed"
    again = await agent.intend("v1")
    assert (again.state, again.go, again.exit_code, again.remote_id) == ("confirmed", False, 0, "v1")
    assert not (await agent.go("v1", "b" * 12)).go


async def test_a_lost_answer_is_given_again_to_the_same_key_and_to_no_other_call(world: LoopWorld) -> None:
    agent = await holder(world)
    await agent.intend("v1")
    request = EffectDispatch.model_validate({"key": "k" * 8, "seq": 2000, "attempt": ATTEMPT})
    first = await agent.controller.dispatch_effect(*agent._at, "v1", request)
    second = await agent.controller.dispatch_effect(*agent._at, "v1", request)
    assert (first.effect, second.effect, second.repeated) == (first.effect, first.effect, True)
    await refused(Code.USAGE, agent.controller.dispatch_effect(*agent._at, "v2", request))


async def test_what_cannot_be_undone_waits_for_a_person_and_nothing_is_let_through(world: LoopWorld) -> None:
    agent = await holder(world)
    assert (await agent.intend("prod", "deploy.production")).needs_approval
    await refused(Code.EFFECT_NOT_APPROVED, agent.go("prod"))
    assert (await agent.known())["prod"].state == "intended"


async def test_an_old_holder_is_let_through_no_more_and_its_result_is_refused(world: LoopWorld) -> None:
    old = await holder(world)
    await old.intend("v1")
    await old.go("v1")
    await old.intend("v2")
    new = await successor(world, old)
    for call in (old.go("v2"), old.end("v1", "confirmed"), old.intend("v3"), old.look("v1"), old.known()):
        await refused(Code.STALE_GENERATION, call)
    known = await new.known()
    assert (known["v1"].state, known["v2"].state) == ("unknown", "abandoned")


async def test_the_loop_finds_what_a_dead_holder_did_and_confirms_it(world: LoopWorld) -> None:
    old = await holder(world)
    await old.intend("v1", probe={"type": "tag", "name": "v1", "sha": world.head("release-1")})
    await old.go("v1")
    tag(world, "v1")
    new = await successor(world, old)
    await world.settle(new.controller)
    found = (await new.known())["v1"]
    assert (found.state, found.by, found.remote_id) == ("confirmed", "probe", "refs/tags/v1")
    assert not (await new.intend("v1")).go
    before = world.requested()
    await world.settle(new.controller)
    assert world.writes(before) == []


async def test_nothing_found_is_looked_for_again_later_and_becomes_a_persons_question_once(world: LoopWorld) -> None:
    old = await holder(world)
    world.agent(old.grant).push("one")
    await old.intend("v1", probe={"type": "tag", "name": "v1"})
    await old.go("v1")
    new = await successor(world, old)
    ended = await world.settle(new.controller, turns=2)
    first = (await new.known())["v1"]
    assert (first.state, first.probes) == ("unknown", 1)
    assert ended[-1].again_at is not None
    before = world.requested()
    await new.controller.round(TicketKey(REPO, world.ticket))
    assert world.writes(before) == []
    brief = await new.controller.brief("acme", "shop", world.ticket)
    assert any("v1 (tag) is unknown" in blocker for blocker in brief.blockers)
    assert ("agent-recovery", "effect", "list") in [command.argv for command in new.grant.brief.commands]
    (criterion,) = [c for c in brief.criteria if c.number == 11]
    assert criterion.met is True
    for _ in range(3):
        world.emulator.advance(1200)
        await world.settle(new.controller, turns=3)
    (pull,) = world.get("pulls?state=open")
    (asked,) = world.comments(pull["number"], "agent-recovery:report")
    assert "@wanda" in asked["body"]
    (handoff,) = world.comments(pull["number"], "agent-recovery:handoff")
    assert "v1 (tag): unknown" in handoff["body"]
    tag(world, "v1")
    world.emulator.advance(90_000)
    await world.settle(new.controller, turns=3)
    assert (await new.known())["v1"].state == "confirmed"


async def test_of_many_who_ask_at_once_one_is_let_through(world: LoopWorld) -> None:
    """Two replicas, one lease, as many attempts as a confused holder may make."""
    agent = await holder(world)
    await agent.intend("v1")
    replicas = (agent.controller, world.controller())

    async def ask(number: int) -> bool:
        body = {"key": secrets.token_hex(8), "seq": 5000 + number, "attempt": f"attempt-{number}"}
        request = EffectDispatch.model_validate(body)
        try:
            return _of(await replicas[number % 2].dispatch_effect(*agent._at, "v1", request)).go
        except Refused:  # a late number, or a race that was lost too often
            return False

    assert sum(await asyncio.gather(*(ask(number) for number in range(6)))) == 1


async def test_an_approval_counts_in_its_generation_alone(world: LoopWorld) -> None:
    first = await holder(world)
    await first.intend("prod", "deploy.production")
    place = ("acme", "shop", world.ticket)
    decision = partial(approved, key="prod", by="olive")
    await first.controller.decide_effect(*place, "effect prod approved", decision)
    second = await successor(world, first)
    await second.intend("prod", "deploy.production")
    await refused(Code.EFFECT_NOT_APPROVED, second.go("prod"))
    await second.controller.decide_effect(*place, "effect prod approved", decision)
    assert (await second.go("prod")).go


async def test_a_persons_word_settles_what_nobody_knows_and_the_comment_says_it_no_more(world: LoopWorld) -> None:
    old = await holder(world)
    await old.intend("mail", "tag")
    await old.go("mail")
    new = await successor(world, old)
    await world.settle(new.controller)
    (asked,) = world.comments(world.ticket, "agent-recovery:report")
    assert "mail (tag) is unknown" in asked["body"]
    decision = partial(resolved, key="mail", done=False, by="olive")
    state = await new.controller.decide_effect("acme", "shop", world.ticket, "effect mail resolved", decision)
    assert (state.state, state.by) == ("failed_no_effect", "person")
    brief = await new.controller.brief("acme", "shop", world.ticket)
    assert not any("mail" in blocker for blocker in brief.blockers)
    before = world.requested()
    await world.settle(new.controller)
    assert world.writes(before) == []
    gone = new.controller.decide_effect(
        "acme", "shop", 9999, "effect mail resolved", lambda r, now: decision(r, now=now)
    )
    await refused(Code.NOT_FOUND, gone)


async def test_what_a_cancelled_ticket_left_unknown_is_still_found_out_by_a_person(world: LoopWorld) -> None:
    agent = await holder(world)
    await agent.intend("mail", "tag")
    await agent.go("mail")
    closed = {"state": "closed", "state_reason": "not_planned"}
    world.http.patch(f"/repos/{REPO}/issues/{world.ticket}", json=closed).raise_for_status()
    await world.settle(agent.controller)
    decision = partial(resolved, key="mail", done=True, by="olive")
    state = await agent.controller.decide_effect("acme", "shop", world.ticket, "effect mail resolved", decision)
    assert (state.state, state.by) == ("confirmed", "person")
    view = await agent.controller._views.look("acme", "shop", world.ticket)
    assert view.standing is not None
    assert view.standing.place == "done"
    assert [(e.key, e.state) for e in view.standing.record.effects] == [("mail", "confirmed")]
