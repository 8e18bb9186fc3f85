"""Every verb through the real webhook: what GitHub shows afterwards, the answer, and the refusal that teaches."""

import secrets
from typing import Any

import pytest
from landing_world import Landing
from loop_world import REPO, claims_of
from spoken_world import Replica, SpokenWorld, ticket

from app.commands.grammar import commands_in
from app.domain.effect_api import EffectDispatch, EffectIntent, EffectOutcome

pytestmark = pytest.mark.drill

AT = ("acme", "shop")


class Stage:
    """One ticket, the service that hears, and where things are said."""

    def __init__(self, world: SpokenWorld, service: Replica, made: Landing) -> None:
        self.world, self.service, self.made = world, service, made
        self.number = int(made.pull()["number"])

    @classmethod
    async def begun(cls, world: SpokenWorld, *, ready: bool = False) -> "Stage":
        service = world.replica()
        return cls(world, service, await ticket(world, service, ready=ready))

    async def says(self, text: str, by: str = "wanda", *, on: int | None = None) -> str:
        """Say it on the ticket's PR, or on another number; the one answer."""
        number = on or self.number
        said = await self.world.say(self.service, number, f"/recovery {text}", by)
        answer = self.world.answer(number, said)
        done = ": not done." not in answer
        assert self.world.reactions(said) == ["eyes", "rocket" if done else "confused"], answer
        assert commands_in(answer).commands == ()
        return answer

    async def does(self, text: str, by: str = "wanda", **more: Any) -> str:
        answer = await self.says(text, by, **more)
        assert ": done." in answer, answer
        return answer

    async def refused(self, text: str, by: str = "wanda", **more: Any) -> str:
        before = await self.made.record()
        answer = await self.says(text, by, **more)
        assert ": not done." in answer, answer
        assert await self.made.record() == before
        return answer


async def test_the_words_that_stop_a_ticket_and_let_it_go_on(world: SpokenWorld) -> None:
    at = await Stage.begun(world)
    assert "generation 1" in await at.does("status", "rita")
    assert "`/recovery takeover`" in await at.does("help", "rita", on=at.made.ticket)
    await at.refused("hold", "rita")
    await at.does("hold wait for QA", "tom")
    assert "`/recovery unhold`" in await at.refused("land")
    assert "`/recovery unhold`" in await at.refused("recover")
    await at.refused("unhold", "tom")
    await at.does("unhold", on=at.made.ticket)
    assert "`/recovery takeover`" in await at.refused("recover")
    await at.does("takeover")
    record = await at.made.record()
    assert (record.status, record.generation, record.lease) == ("unclaimed", 2, None)
    assert "can be claimed" in await at.does("recover")
    await at.does("cancel not any more", "tom")
    assert (await at.made.record()).status == "cancelled"
    await at.does("recover")
    grant = await world.claim(at.made.controller, generation=2)
    assert grant.generation == 3


async def test_recover_after_a_death_renews_age_and_attempts(world: SpokenWorld) -> None:
    at = await Stage.begun(world)
    world.emulator.advance(6 * 3600)
    brief = await at.made.controller.brief(*AT, world.ticket)
    assert (brief.claimable, "`/recovery recover`" in brief.claimable_because) == (False, True)
    await at.does("recover", on=at.made.ticket)
    record = await at.made.record()
    assert record.intent is not None
    assert (record.intent.by, record.generation, record.attempts.count) == ("wanda", 1, 0)
    assert (await world.claim(at.made.controller, generation=1)).generation == 2


async def test_land_means_the_head_that_was_there_when_it_was_said(world: SpokenWorld) -> None:
    at = await Stage.begun(world)
    seen = str(at.made.pull()["head"]["sha"])
    said = world.comment(at.number, "/recovery land")
    heard = world.payload(at.number, said)
    await world.deliver(at.service, "issue_comment", heard)
    pushed = at.made.agent.push("two")
    world.emulator.advance(5)
    await at.service.hear()
    answer = world.answer(at.number, said["id"])
    now = pushed.code_sha
    assert ": not done." in answer, answer
    assert f"`/recovery land {now}`" in answer
    assert seen != now
    assert (await at.made.record()).landing.asked is None
    answer = await at.refused(f"land {now[:9]}")
    assert f"`/recovery land {now}`" in answer
    await at.does(f"land {now}")
    await at.made.settle()
    assert (at.made.pull()["merged"], at.made.place()) == (True, "done")
    assert "landed" in (await at.says("hold", "tom")).lower()


async def test_accept_and_retarget(world: SpokenWorld) -> None:
    at = await Stage.begun(world)
    foreign = world.emulator.commit(REPO, {"foreign.txt": "x"}, branch=at.made.branch, author="wanda")
    assert f"`/recovery accept {foreign}`" in await at.refused("accept")
    await at.refused(f"accept {'f' * 40}")
    await at.does(f"accept {foreign}")
    record = await at.made.record()
    assert record.published_now is not None
    assert record.published_now.sha == foreign
    world.emulator.commit(REPO, {"x": "y"}, branch="release-2")
    await at.refused("retarget main")
    await at.refused("retarget Release-2")
    await at.does("retarget release-2")
    assert (await at.made.record()).trunk == "release-2"
    await at.made.settle()
    assert at.made.pull()["base"]["ref"] == "release-2"


async def test_words_about_effects(world: SpokenWorld) -> None:
    at = await Stage.begun(world)
    world.tokens["maya"] = world.emulator.user("maya")["token"]
    world.role("maya", "maintain")
    for key in ("prod", "mail", "bill"):
        await _intend(at, key)
    status = await at.does("status", "maya")
    for key in ("prod", "mail", "bill"):
        assert f"- Effect: {key} (deploy.production) is intended\n" in status
    await at.refused("approve prod")
    await at.refused("approve staging", "maya")
    await at.does("approve prod", "maya")
    await at.does("approve mail", "maya")
    record = await at.made.record()
    assert sorted(a["effect"] for a in record.approvals) == ["mail", "prod"]
    await at.does("deny bill")
    await at.does("deny mail")
    await _unknown(at, "prod")
    assert "`/recovery resolve prod done`" in await at.does("status")
    await at.refused("deny prod")
    await at.does("resolve prod done")
    states = {e.key: e.state for e in (await at.made.record()).effects}
    assert states == {"prod": "confirmed", "mail": "failed_no_effect", "bill": "failed_no_effect"}


async def test_recover_begins_a_frozen_ledger_anew(world: SpokenWorld) -> None:
    at = await Stage.begun(world)
    world.git(at.made.agent.folder, "push", "-q", "origin", f":{at.made.agent.grant.ledger_ref}")
    assert (await at.made.settle())[-1].startswith("frozen")
    (report,) = world.comments(at.number, "has stopped acting on ticket")
    assert "`/recovery recover`" in report["body"]
    assert ": not done." in await at.says("hold")
    assert "begun anew" in await at.does("recover")
    record = await at.made.record()
    assert (record.generation, record.lease, record.intent and record.intent.by) == (2, None, "wanda")
    assert (await world.claim(at.made.controller, generation=2)).generation == 3


async def test_several_commands_of_one_comment(world: SpokenWorld) -> None:
    at = await Stage.begun(world)
    answer = await at.does("status\nand then\n/recovery takeover\n/recovery status")
    assert answer.count("`/recovery takeover`: done.") == 1
    assert answer.count("`/recovery status`: done.") == 1
    record = await at.made.record()
    assert record.generation == 2
    answer = await at.refused("hold\n\n/recovery land")
    assert "contradict" in answer
    answer = await at.refused("lnad")
    assert "`/recovery land`" in answer
    answer = await at.says("lnad\n/recovery hold")
    assert ": not done." in answer
    assert "`/recovery hold`: done." in answer.replace("`/Recovery", "`/recovery")
    assert (await at.made.record()).status == "held"


async def test_what_is_said_in_the_wrong_place(world: SpokenWorld) -> None:
    at = await Stage.begun(world)
    head = str(at.made.pull()["head"]["sha"])
    for text in (f"authorize-release {head}", "revoke-release", "merge-release"):
        assert "release PR" in await at.refused(text)
    other = at.made.person_pull("by-hand", "main")
    assert f"{other} is no ticket's own pull request, and no release's" in await at.refused("hold", on=other)
    assert "`/recovery help`" in await at.refused("land", on=other)


async def _intend(at: Stage, key: str) -> None:
    at.made.agent._seq += 1
    intent = EffectIntent.model_validate(
        {"key": secrets.token_hex(8), "seq": at.made.agent._seq, "effect": key, "kind": "deploy.production"}
    )
    await at.made.controller.intend_effect(*AT, at.world.ticket, claims_of(at.made.agent.grant), intent)


async def _unknown(at: Stage, key: str) -> None:
    """Its holder lets it go, and cannot say how it ended."""
    place = (*AT, at.world.ticket, claims_of(at.made.agent.grant), key)
    for model, more in ((EffectDispatch, {}), (EffectOutcome, {"outcome": "unknown"})):
        at.made.agent._seq += 1
        body = {"key": secrets.token_hex(8), "seq": at.made.agent._seq, "attempt": "a" * 12, **more}
        call = at.made.controller.dispatch_effect if model is EffectDispatch else at.made.controller.report_effect
        await call(*place, model.model_validate(body))  # type: ignore[arg-type]
