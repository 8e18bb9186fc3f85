"""The unattended rule: whether a person is there is decided when a call comes, and what that lets an agent do."""

import inspect
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from forging import commit, fetched, following, point
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loop_world import claims_of
from resume_world import AT, ResumeWorld
from spoken_world import Replica

from app.commands.unattended_page import PAGE, page
from app.controller.person_commands import Word
from app.domain import attendance as of_attendance
from app.domain.agent_api import Grant, HandoffRequest
from app.domain.attendance import WAYS, Attended, Unattended, Way, attendance, of_holder
from app.domain.denied_effects import MOST_TOLD, denials
from app.domain.dispatched import Run
from app.domain.effect import RULES, Effect, Kind, needs_approval, rule_of
from app.domain.effect_api import EffectDispatch, EffectIntent
from app.domain.effect_decision import approved, denied, only_begun
from app.domain.effect_journal import Noted, dispatched, find, intended, interrupted
from app.domain.effect_state import EffectState
from app.domain.keys import TicketKey
from app.domain.observation import Comment, Issue, Observation
from app.domain.outcome import Blocked, Code, Refused
from app.domain.person_verbs import takeover
from app.domain.plan import AskForApproval, NoteDenied
from app.domain.progress import handed_off
from app.domain.record import Lease, Record

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DENIED = [kind for kind in Kind if not RULES[kind].unattended]
FREE = [kind for kind in Kind if RULES[kind].unattended]


def lease(generation: int, run: Run | None = None) -> Lease:
    return Lease(
        generation=generation,
        nonce=f"n{generation}",
        holder="agent",
        login="wanda",
        claim_id_hash="h",
        granted_at=NOW,
        expires_at=NOW + timedelta(minutes=15),
        run=run,
    )


def held(generation: int = 1, **more: Any) -> Record:
    return Record(ticket=42, sequence=5, status="working", generation=generation, lease=lease(generation), **more)


def intent(key: str, kind: str) -> EffectIntent:
    return EffectIntent(key=secrets.token_hex(8), seq=1, effect=key, kind=Kind(kind))


# ---- the tables


def test_every_kind_has_a_rule_and_what_cannot_be_undone_is_denied_to_everybody() -> None:
    assert RULES.keys() == set(Kind)
    assert {k.value for k in DENIED} == {
        "deploy.production",
        "migration",
        "publish",
        "release",
        "cloud.destroy",
        "email",
        "notify",
        "billing",
    }
    assert {k.value for k in Kind if not RULES[k].attended} == {k.value for k in DENIED} - {"deploy.production"}
    for kind in (*Kind, "a.newer.kind"):
        rule = rule_of(kind)
        assert rule.attended or not rule.unattended
        assert rule.why
    assert not rule_of("a.newer.kind").attended


def test_only_a_slash_comment_is_attended() -> None:
    assert WAYS.keys() == set(Way)
    assert [way for way in Way if isinstance(attendance(way), Attended)] == [Way.COMMENT]
    assert all(at.why for at in WAYS.values())


def test_the_page_is_made_from_the_tables() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m app.commands.unattended_page --write"


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("at", [Attended("a person is there"), Unattended("nobody is there")])
def test_the_table_decides(kind: Kind, at: Attended | Unattended) -> None:
    record = noted(intended(held(), lease(1), intent("k", kind), now=NOW)).record
    answer = noted(dispatched(record, lease(1), "k", "a" * 12, now=NOW, at=at))
    may = RULES[kind].attended if isinstance(at, Attended) else RULES[kind].unattended
    assert (answer.go, answer.denied is None) == (may, may)
    approval = (
        noted(approved(record, "k", by="wanda", now=NOW)).record if needs_approval(kind, of_holder(None)) else record
    )
    assert noted(dispatched(approval, lease(1), "k", "a" * 12, now=NOW, at=at)).go


# ---- the pitfall: Session の出自で有人性を分類する (classifying attendance by where a session began)


def test_attendance_is_never_classified_by_where_the_work_began() -> None:
    """Nothing that remembers an origin can be handed in: no record, no ticket, no checkpoint, no login."""
    rules = [attendance, of_holder]
    assert {
        r for _, r in inspect.getmembers(of_attendance, inspect.isfunction) if r.__module__ == of_attendance.__name__
    } == {*rules}
    taken = {p.annotation for rule in rules for p in inspect.signature(rule).parameters.values()}
    assert taken == {Way, object | None}
    # Begun by a person at a desk, at whose word it goes on; resumed by a machine.
    desk = held(intent={"by": "wanda", "at": NOW}, attempts={"count": 1, "alive_at": NOW})
    for run in (None, Run(id=7, attempt=1)):
        on = lease(1, run)
        record = Record.model_validate({**desk.model_dump(by_alias=True), "lease": on})
        asked = noted(intended(record, on, intent("k", "publish"), now=NOW)).record
        answer = noted(dispatched(asked, on, "k", "a" * 12, now=NOW))
        assert not answer.go
        assert answer.denied is not None
        assert answer.denied.code is Code.EFFECT_NOT_APPROVED
        assert isinstance(of_holder(run), Unattended)


# ---- a denied attempt, in the record


def test_a_denied_attempt_is_written_down_once_a_generation_and_lets_nothing_through() -> None:
    record = noted(intended(held(), lease(1), intent("k", "billing"), now=NOW)).record
    first = noted(dispatched(record, lease(1), "k", "a" * 12, now=NOW))
    assert (first.effect.state, first.effect.denied_in, first.effect.denied_at) == ("intended", 1, NOW)
    later = noted(dispatched(first.record, lease(1), "k", "b" * 12, now=NOW + timedelta(hours=1)))
    assert later.record == first.record
    assert later.denied == first.denied


@pytest.mark.parametrize("how", ["takeover", "handoff and claim", "recover", "deny"])
def test_an_approval_does_not_outlive_its_generation(how: str) -> None:
    record = noted(intended(held(), lease(1), intent("k", "publish"), now=NOW)).record
    record = noted(approved(record, "k", by="wanda", now=NOW)).record
    assert noted(dispatched(record, lease(1), "k", "a" * 12, now=NOW)).go
    generation = 1
    if how == "deny":
        over = noted(denied(record, "k", by="rita", now=NOW)).record
        assert not noted(dispatched(over, lease(1), "k", "a" * 12, now=NOW)).go
        return
    if how == "recover":
        over = record.model_copy(update={"approvals": only_begun(record)})
    else:
        generation = 2
        over = handed_off(record, now=NOW) if how != "takeover" else interrupted(record, now=NOW)
        over = over.model_copy(update={"generation": 2, "lease": lease(2), "status": "working"})
        over = noted(intended(over, lease(2), intent("k", "publish"), now=NOW)).record
    answer = noted(dispatched(over, lease(generation), "k", "a" * 12, now=NOW))
    assert not answer.go
    assert answer.effect.denied_in == generation


def test_an_approval_of_what_was_let_through_stays_when_the_ticket_goes_on_anew() -> None:
    record = noted(intended(held(), lease(1), intent("k", "publish"), now=NOW)).record
    record = noted(approved(record, "k", by="wanda", now=NOW)).record
    through = noted(dispatched(record, lease(1), "k", "a" * 12, now=NOW)).record
    assert only_begun(through) == through.approvals
    assert only_begun(record) == ()


# ---- what a person is told


def seen(*bodies: str) -> Observation:
    comments = tuple(Comment(n, body, NOW) for n, body in enumerate(bodies, 1))
    return Observation(
        now=NOW,
        repository_id=1,
        owner="acme",
        name="shop",
        default_branch="main",
        policy_text=None,
        issue=Issue(42, "t", "", "OPEN", "ann"),
        issue_comments=comments,
    )


def effect(key: str, state: str, kind: str = "publish", **more: Any) -> Effect:
    return Effect.model_validate({"key": key, "kind": kind, "state": state, "generation": 1, "nonce": "n1", **more})


def test_each_effect_is_told_once_a_generation_and_never_as_a_wall() -> None:
    record = held(effects=tuple(effect(f"k{n}", "intended", denied_in=1) for n in range(MOST_TOLD + 3)))
    asked = [a for a in denials(record, seen()) if isinstance(a, AskForApproval)]
    assert len({a.edge for a in asked}) == MOST_TOLD
    told = [f"<!-- agent-recovery:report:42:{a.edge} -->\nsaid" for a in asked]
    assert list(denials(record, seen(*told))) == []
    # Another generation is another happening; what was asked for before is nobody's question any more.
    after = record.model_copy(update={"generation": 2, "lease": lease(2)})
    assert list(denials(after, seen(*told))) == []


@pytest.mark.parametrize("state", ["dispatching", "confirmed", "unknown"])
def test_a_commit_of_the_holders_that_calls_an_effect_begun_is_nobodys_approval(state: str) -> None:
    record = held(effects=(effect("k", state, attempt="a" * 12),))
    note, ask = denials(record, seen())
    assert (type(note), type(ask)) == (NoteDenied, AskForApproval)
    assert isinstance(ask, AskForApproval)
    assert ask.began
    fine = [
        record.model_copy(update={"approvals": ({"effect": "k", "generation": 1},)}),
        record.model_copy(update={"effects": (effect("k", state, kind="tag"),)}),
        record.model_copy(update={"effects": (effect("k", "unknown", result={"by": "person"}),)}),
        record.model_copy(update={"generation": 2, "lease": lease(2)}),
    ]
    assert [list(denials(r, seen())) for r in fine] == [[], [], [], []]


# ---- I8: unattended never does a denied effect


@dataclass
class Model:
    """What a person said in the present life of each effect, beside the record that the rules keep."""

    record: Record = field(default_factory=held)
    wanted: set[tuple[str, int]] = field(default_factory=set)
    done: list[tuple[str, str, int]] = field(default_factory=list)


KEYS, OPERATIONS = ("a", "b"), ("intend", "go", "approve", "deny", "takeover", "handoff", "recover", "forge")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(OPERATIONS), st.sampled_from(KEYS), st.sampled_from([*DENIED[:3], FREE[0]])),
        max_size=25,
    )
)
def test_nobody_unattended_does_a_denied_effect_that_no_person_approved_in_that_generation(
    steps: list[tuple[str, str, Kind]],
) -> None:
    m = Model()
    for operation, key, kind in steps:
        play(m, operation, key, kind)
    for key, kind_, generation in m.done:
        assert rule_of(kind_).unattended or (key, generation) in m.wanted


def play(m: Model, operation: str, key: str, kind: Kind) -> None:
    record, generation = m.record, m.record.generation
    on = record.lease or lease(generation)
    match operation:
        case "intend":
            answer = intended(record, on, intent(key, kind), now=NOW)
        case "go":
            answer = dispatched(record, on, key, "a" * 12, now=NOW)
            if isinstance(answer, Noted) and answer.go:
                m.done.append((key, answer.effect.kind, generation))
        case "approve":
            answer = approved(record, key, by="wanda", now=NOW)
            if isinstance(answer, Noted):
                m.wanted.add((key, generation))
        case "deny":
            answer = denied(record, key, by="wanda", now=NOW)
            m.wanted -= {(key, generation)} if isinstance(answer, Noted) else set()
        case "forge":
            # A commit of the holder's: it may move its own effect on, and never the approvals.
            known = find(record, key)
            if known is not None and known.state == "intended" and known.identity == record.identity:
                on_its_way = known.model_copy(update={"state": "dispatching", "attempt": None})
                kept = tuple(on_its_way if e.key == key else e for e in record.effects)
                m.record = record.model_copy(update={"effects": kept})
            return
        case "recover":
            m.record = record.model_copy(update={"approvals": only_begun(record)})
            begun = {e.key for e in record.effects if e.state not in ("intended", "abandoned")}
            m.wanted = {(k, g) for k, g in m.wanted if g != generation or k in begun}
            return
        case _:
            over = handed_off(record, now=NOW) if operation == "handoff" else interrupted(record, now=NOW)
            after = {"generation": generation + 1, "lease": lease(generation + 1), "status": "working"}
            m.record = over.model_copy(update=after)
            return
    if isinstance(answer, Noted):
        m.record = answer.record


def noted(answer: Noted | Blocked) -> Noted:
    assert isinstance(answer, Noted), answer
    return answer


# ---- played: the API, the ledger, the comment


class Asking:
    """A holder that asks for effects through the API."""

    def __init__(self, service: Replica, grant: Grant, seq: int = 1000) -> None:
        self.service, self.grant, self.seq = service, grant, seq

    def _next(self, **body: Any) -> dict[str, Any]:
        self.seq += 1
        return {"key": secrets.token_hex(8), "seq": self.seq, **body}

    async def intend(self, key: str, kind: str) -> None:
        request = EffectIntent.model_validate(self._next(effect=key, kind=kind))
        await self.service.controller.intend_effect(*AT, self.grant.ticket, claims_of(self.grant), request)

    async def go(self, key: str) -> EffectState | Blocked:
        request = EffectDispatch.model_validate(self._next(attempt="a" * 12))
        try:
            answer = await self.service.controller.dispatch_effect(
                *AT, self.grant.ticket, claims_of(self.grant), key, request
            )
        except Refused as refused:
            return refused.blocked
        assert answer.effect is not None
        return answer.effect


async def settled(world: ResumeWorld, service: Replica) -> None:
    for _ in range(6):
        if (await service.controller.round(TicketKey("acme/shop", world.ticket))).again_at is None:
            break


async def test_a_denied_attempt_is_in_the_ledger_and_reported_once_until_a_person_approves(world: ResumeWorld) -> None:
    service = world.replica()
    agent = await world.begun(service)
    asking = Asking(service, agent.grant)
    await asking.intend("prod", "deploy.production")
    for _ in range(4):
        refused = await asking.go("prod")
        assert isinstance(refused, Blocked)
        assert (refused.code, refused.remedy.count("/recovery approve prod")) == (Code.EFFECT_NOT_APPROVED, 1)
    place = f"refs/agent-recovery/active/{world.ticket}"
    world.git(agent.folder, "fetch", "-q", "origin", place)
    story = world.git(agent.folder, "log", "--format=%s", "FETCH_HEAD")
    assert story.count("effect prod/dispatch denied") == 1
    await settled(world, service)
    await settled(world, world.replica())
    (report,) = world.reports()
    assert report["body"].splitlines()[1].startswith("@wanda ")
    assert all(f"`/recovery {verb} prod`" in report["body"] for verb in ("approve", "deny"))
    await service.controller.decide_effect(*AT, world.ticket, "approved", partial(approved, key="prod", by="wanda"))
    through = await asking.go("prod")
    assert isinstance(through, EffectState)
    assert through.go
    # Taken over and asked for again: another generation, another approval, another report.
    word = Word(secrets.token_hex(4), "takeover", "wanda", partial(takeover, by="wanda"))
    await service.controller.hear(*AT, world.ticket, word)
    grant = await world.claimed(service, 2)
    assert isinstance(grant, Grant), grant
    successor = Asking(service, grant)
    await successor.intend("prod-2", "deploy.production")
    assert isinstance(await successor.go("prod-2"), Blocked)
    await settled(world, service)
    assert len([r for r in world.reports() if "`/recovery approve" in r["body"]]) == 2


async def test_an_approval_ends_with_a_handoff(world: ResumeWorld) -> None:
    service = world.replica()
    agent = await world.begun(service)
    asking = Asking(service, agent.grant)
    await asking.intend("mail", "email")
    await service.controller.decide_effect(*AT, world.ticket, "approved", partial(approved, key="mail", by="wanda"))
    handoff = HandoffRequest.model_validate({"key": secrets.token_hex(8), "seq": 1500, "checkpoint": {}})
    await service.controller.handoff(*AT, world.ticket, claims_of(agent.grant), handoff)
    grant = await world.claimed(service, 1)
    assert isinstance(grant, Grant), grant
    successor = Asking(service, grant)
    await successor.intend("mail", "email")
    assert isinstance(await successor.go("mail"), Blocked)


async def test_a_holder_that_pushes_an_effect_as_begun_has_no_approval_by_that(world: ResumeWorld) -> None:
    service = world.replica()
    agent = await world.begun(service)
    await Asking(service, agent.grant).intend("ship", "publish")
    head, before = fetched(agent)
    after = following(before)
    after["effects"] = [{**known, "state": "dispatching"} for known in after["effects"]]
    point(agent, commit(agent, head, after, sealed=True))
    await settled(world, service)
    record = await world.record(service)
    (forged,) = record.effects
    assert (forged.state, forged.denied_in) == ("dispatching", 1)
    await settled(world, world.replica())
    assert [("nobody approved" in r["body"], "/recovery takeover" in r["body"]) for r in world.reports()] == [
        (True, True)
    ]
    assert not getattr(await Asking(service, agent.grant, 1300).go("ship"), "go", False)
