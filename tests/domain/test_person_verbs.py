"""What each word of a person makes of the record, and what it is refused with."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from app.domain import gates, person_verbs
from app.domain.command_noted import KEPT, command, known, noted
from app.domain.effect import Effect
from app.domain.fence import present_lease
from app.domain.fencing import AtPublished, Foreign, Head, NothingPublished, Relation, Tampered, Unheld, head_of
from app.domain.observation import Branch, Issue, Observation, Pull
from app.domain.outcome import Blocked, Code
from app.domain.person_verbs import (
    Grounds,
    Heard,
    Verb,
    accept,
    bring_back,
    cancel,
    hold,
    land,
    recover,
    retarget,
    takeover,
    unhold,
)
from app.domain.policy import Mode, Policy
from app.domain.pull_acts import Act
from app.domain.record import (
    ACCEPTED,
    AskedToLand,
    Attempts,
    Held,
    Intent,
    Landing,
    Lease,
    Permit,
    Projections,
    Published,
    Record,
    Target,
    Work,
)
from app.domain.returning import may_return, returned
from app.domain.stopping import giving_up, stopped_by
from app.domain.the_end_told import after_the_end, why_it_ended
from app.domain.token import Claims
from app.domain.validation import present, shown

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
S, X, BASE, TRUNK2 = "a" * 40, "d" * 40, "b" * 40, "c" * 40
LEASE = Lease(
    generation=3,
    nonce="n",
    holder="agent",
    login="ann",
    claim_id_hash="h",
    granted_at=NOW - timedelta(hours=1),
    expires_at=NOW + timedelta(minutes=5),
)
RECORD = Record(
    ticket=42,
    sequence=9,
    status="ready",
    generation=3,
    lease=LEASE,
    work=Work(branch="ticket/42", trunk="release-1", base_sha=BASE),
    published=Published(sha=S, generation=3, nonce="n"),
    projections=Projections(pr_number=7),
    attempts=Attempts(count=2),
)
PULL = Pull(7, "PR_7", "OPEN", False, "Apples", "", "ticket/42", S, "release-1", "acme/shop")
SEEN = Observation(NOW, 1, "acme", "shop", "main", None, Issue(42, "Apples", "", "OPEN", "ann"), pulls=(PULL,))
POLICY = Policy(mode=Mode.FULL)
FENCED = AtPublished(S, True)
GROUNDS = Grounds(RECORD, FENCED, SEEN, POLICY)
CHECKED = {"profile": "verify", "version": "1", "validated_sha": S, "completed": ["tests"], "deterministic": True}
ASKED = Landing(asked=AskedToLand(by="bob", at=NOW, head_sha=S))


def _grounds(record: Record = RECORD, head: Head = FENCED, **changes: Any) -> Grounds:
    return replace(GROUNDS, record=record, head=head, **changes)


def _record(**changes: Any) -> Record:
    return RECORD.model_copy(update=changes)


def _heard(answer: Heard | Blocked) -> Record:
    assert isinstance(answer, Heard), answer
    return answer.record


HELD = _heard(hold(_grounds(), by="wanda", reason="wait for QA"))
MERGED = replace(SEEN, pulls=(replace(PULL, state="MERGED"),))
EVERY: dict[str, Verb] = {
    "hold": partial(hold, by="wanda", reason=None),
    "cancel": partial(cancel, by="wanda", reason=None),
    "takeover": partial(takeover, by="wanda"),
    "retarget": partial(retarget, by="wanda", to="release-2"),
    "land": partial(land, by="wanda", sha=S),
    "accept": partial(accept, by="wanda", sha=S),
}
FIRST_STOPS: list[tuple[str, Callable[[], Grounds], Code]] = [
    *((verb, lambda: _grounds(_record(status="landed", lease=None)), Code.LANDED) for verb in EVERY),
    *((verb, lambda: _grounds(observation=MERGED), Code.LANDED) for verb in EVERY),
    *((verb, lambda: _grounds(HELD), Code.HELD) for verb in ("takeover", "retarget", "land", "accept")),
    *((verb, lambda: _grounds(_record(status="abandoned")), Code.ENDED) for verb in EVERY),
    *((verb, lambda: _grounds(_record(child="docs-1")), Code.USAGE) for verb in ("cancel", "retarget", "land")),
    ("hold", lambda: _grounds(_record(child="docs-1", status="completed")), Code.ENDED),
]


@pytest.mark.parametrize(("verb", "grounds", "code"), FIRST_STOPS)
def test_what_stops_a_word_before_anything_else(verb: str, grounds: Callable[[], Grounds], code: Code) -> None:
    refused = EVERY[verb](grounds())
    assert isinstance(refused, Blocked)
    assert refused.code is code
    assert refused.remedy


def test_on_hold_the_status_is_kept_for_later_and_what_was_asked_to_land_is_not() -> None:
    after = _heard(hold(_grounds(_record(landing=ASKED)), by="wanda", reason="wait for\nQA  ghp_" + "a" * 36))
    assert (after.status, after.lease, after.landing.asked) == ("held", LEASE, None)
    assert after.held is not None
    assert (after.held.by, after.held.before) == ("wanda", "ready")
    assert after.held.reason == "wait for QA [redacted:github-token]"


def test_a_hold_refuses_claims_and_the_holder_in_the_words_of_the_person() -> None:
    claims = Claims(1, 42, 3, "n")
    for answer in (
        gates.may_claim(HELD, POLICY, now=NOW + timedelta(days=1), observed_generation=3, login="bob", by_person=True),
        present_lease(HELD, claims, repository_id=1, ticket=42),
    ):
        assert isinstance(answer, Blocked)
        assert answer.code is Code.HELD
        assert "wanda put the ticket on hold" in answer.reason
        assert "wait for QA" in answer.reason


@pytest.mark.parametrize("before", ["unclaimed", "recovering", "working", "waiting", "ready"])
def test_off_hold_the_status_comes_back_and_the_ticket_is_fresh(before: str) -> None:
    record = _record(status=before, lease=None if before == "unclaimed" else LEASE)
    on_hold = _heard(hold(_grounds(record), by="wanda", reason=None))
    later = replace(SEEN, now=NOW + timedelta(days=2))
    after = _heard(unhold(_grounds(on_hold, observation=later), by="bob"))
    assert (after.status, after.held, after.attempts.count) == (before, None, 0)
    assert after.intent == Intent(by="bob", at=later.now)
    assert after.lease is None or after.lease.expires_at == later.now + POLICY.lease.ttl


def test_a_hold_of_the_service_itself_has_a_way_back_too() -> None:
    record = _record(status="held", landing=Landing(incident="merged into another base"))
    after = _heard(unhold(_grounds(record), by="bob"))
    assert (after.status, after.landing.incident) == ("working", None)


@pytest.mark.parametrize(
    ("verb", "record", "head"),
    [
        (partial(hold, by="bob", reason="again"), HELD, AtPublished(S, True)),
        (partial(unhold, by="bob"), RECORD, AtPublished(S, True)),
        (partial(cancel, by="bob", reason=None), _record(status="cancelled", lease=None), AtPublished(S, True)),
        (partial(takeover, by="bob"), _record(status="unclaimed", lease=None), AtPublished(S, False)),
        (partial(retarget, by="bob", to="release-1"), RECORD, AtPublished(S, True)),
        (partial(land, by="bob", sha=S), _record(landing=ASKED), AtPublished(S, True)),
        (partial(accept, by="bob", sha=S), RECORD, AtPublished(S, False)),
    ],
)
def test_the_same_word_again_changes_nothing_and_is_answered(verb: Verb, record: Record, head: Head) -> None:
    grounds = _grounds(record, head, branch=Branch("release-1", BASE))
    answer = verb(grounds)
    assert isinstance(answer, Heard)
    assert answer.record == record
    assert answer.because == ""
    assert answer.answer


def test_a_cancelled_ticket_says_who_and_why_and_its_running_effects_are_unknown() -> None:
    running = Effect(
        key="mail", kind="notify", state="dispatching", generation=3, nonce="n", login="ann", intended_at=NOW
    )
    answer = cancel(_grounds(_record(effects=(running,), landing=ASKED)), by="wanda", reason="not any more")
    assert isinstance(answer, Heard)
    assert answer.to == "done"
    after = answer.record
    assert (after.status, after.lease, after.landing.asked) == ("cancelled", None, None)
    assert after.ended is not None
    assert (after.ended.because, after.ended.by, after.ended.reason) == ("command", "wanda", "not any more")
    assert [e.state for e in after.effects] == ["unknown"]
    passed = gates.may_claim(after, POLICY, now=NOW, observed_generation=3, login="bob")
    assert isinstance(passed, Blocked)
    assert passed.code is Code.ENDED


def test_a_ticket_on_hold_can_be_cancelled() -> None:
    after = _heard(cancel(_grounds(HELD), by="wanda", reason=None))
    assert (after.status, after.held) == ("cancelled", None)


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ({"status": "cancelled"}, "`/recovery recover` lets an agent claim it again"),
        ({"status": "abandoned"}, "`/recovery recover` lets an agent claim it again"),
        ({"status": "landed"}, "nothing is left to do here; work that is still missing belongs into a new Issue"),
        ({"status": "completed", "child": "docs-1"}, "nothing is left to do here"),
    ],
)
def test_who_speaks_of_an_ended_ticket_is_told_whether_it_can_come_back(ended: dict[str, Any], said: str) -> None:
    answer = hold(_grounds(_record(**ended)), by="wanda", reason=None)
    assert isinstance(answer, Blocked)
    assert answer.remedy == said


@pytest.mark.parametrize("status", ["cancelled", "abandoned"])
def test_a_cancelled_ticket_comes_back_only_once_a_person_said_so(status: str) -> None:
    over = _heard(cancel(_grounds(_record(landing=ASKED)), by="wanda", reason=None))
    over = over.model_copy(update={"status": status})
    assert not may_return(over)
    answer = bring_back(_grounds(over), by="bob")
    after = _heard(answer)
    assert isinstance(answer, Heard)
    assert answer.to == "done"
    assert after.ended is not None
    assert after.ended.recalled == Intent(by="bob", at=NOW)
    assert isinstance(gates.may_claim(after, POLICY, now=NOW, observed_generation=3, login="bob"), gates.Pass)
    assert bring_back(_grounds(after), by="bob") == replace(answer, because="")
    anew = returned(after, SEEN)
    assert (anew.status, anew.ended, anew.landing) == ("unclaimed", None, Landing())


@pytest.mark.parametrize("record", [RECORD, HELD, _record(status="landed", lease=None), _record(child="docs-1")])
def test_there_is_nothing_to_bring_back_of_a_ticket_that_nobody_cancelled(record: Record) -> None:
    answer = bring_back(_grounds(record), by="bob")
    assert isinstance(answer, Heard)
    assert (answer.record, answer.because) == (record, "")


def test_people_read_who_cancelled_a_ticket_and_what_brings_it_back() -> None:
    over = _heard(cancel(_grounds(), by="wanda", reason="see #7 @bob <!-- x -->"))
    words = f"{why_it_ended(over)}. {after_the_end(over)}"
    assert words.startswith("wanda ended it at 2026-11-30T12:00:00Z: see ")
    assert "@bob" not in words
    assert "<!--" not in words
    assert "`/recovery recover`" in words


def test_a_takeover_ends_a_live_lease_and_the_next_claim_passes_at_once() -> None:
    after = _heard(takeover(_grounds(_record(landing=ASKED)), by="wanda"))
    assert (after.status, after.lease, after.generation, after.landing.asked) == ("unclaimed", None, 4, None)
    assert after.published == RECORD.published
    assert after.published_now is None
    stale = present_lease(after, Claims(1, 42, 3, "n"), repository_id=1, ticket=42)
    assert isinstance(stale, Blocked)
    assert stale.code is Code.STALE_GENERATION
    passed = gates.may_claim(after, POLICY, now=NOW, observed_generation=4, login="bob")
    assert isinstance(passed, gates.Pass)
    assert (passed.attempts_after, passed.interrupted) == (1, False)


def test_a_takeover_of_a_ticket_that_is_being_given_up_lets_it_be_claimed() -> None:
    stopped = stopped_by(RECORD, "too_old", "it is too old", now=NOW)
    giving = giving_up(RECORD, stopped, now=NOW)
    assert isinstance(gates.may_claim(giving, POLICY, now=NOW, observed_generation=3, login="bob"), Blocked)
    answer = takeover(_grounds(giving), by="wanda")
    after = _heard(answer)
    assert isinstance(answer, Heard)
    assert "may claim it now" in answer.answer
    assert (after.status, after.lease, after.generation, after.stopped) == ("unclaimed", None, 4, None)
    passed = gates.may_claim(after, POLICY, now=NOW, observed_generation=4, login="bob")
    assert isinstance(passed, gates.Pass)
    assert (passed.attempts_after, passed.interrupted) == (1, False)


def test_the_pull_request_follows_a_ticket_to_another_trunk() -> None:
    edited = Act("BRE_1", "base", "bob", False, NOW - timedelta(minutes=1), "release-1")
    seen = replace(SEEN, pulls=(replace(PULL, acts=(edited,)),))
    grounds = _grounds(_record(landing=ASKED), observation=seen, branch=Branch("release-2", TRUNK2))
    answer = retarget(grounds, by="wanda", to="release-2")
    after = _heard(answer)
    assert isinstance(answer, Heard)
    assert answer.answer == "#42 goes to release-2; the base of PR #7 follows"
    assert after.work == Work(branch="ticket/42", trunk="release-2", base_sha=BASE)
    assert after.projections.carried.base_act == "BRE_1"
    assert after.landing.asked is None
    assert (after.checkpoint.target_release, after.checkpoint.immediate_pr_base) == ("release-2", "release-2")
    back = _heard(retarget(_grounds(after, branch=Branch("release-1", BASE)), by="bob", to="release-1"))
    assert back.trunk == "release-1"


def test_work_that_was_not_published_begins_where_the_new_trunk_is() -> None:
    record, seen = _record(published=None, projections=Projections()), replace(SEEN, pulls=())
    grounds = _grounds(record, NothingPublished(None), observation=seen, branch=Branch("release-2", TRUNK2))
    after = _heard(retarget(grounds, by="wanda", to="release-2"))
    assert after.base_sha == TRUNK2


@pytest.mark.parametrize(
    ("to", "branch", "words"),
    [
        ("main", Branch("main", TRUNK2), "is no trunk by the policy"),
        ("feature", Branch("feature", TRUNK2), "is no trunk by the policy"),
        ("ticket/7", Branch("ticket/7", TRUNK2), "is no trunk by the policy"),
        ("release-9", None, "does not exist"),
    ],
)
def test_a_ticket_goes_only_to_a_trunk(to: str, branch: Branch | None, words: str) -> None:
    refused = retarget(_grounds(branch=branch), by="wanda", to=to)
    assert isinstance(refused, Blocked)
    assert refused.code is Code.TRUNK_UNCLEAR
    assert words in refused.reason


@pytest.mark.parametrize(
    ("grounds", "sha", "code"),
    [
        (_grounds(policy=Policy(mode=Mode.REPAIR)), S, Code.MODE_REPAIR),
        (_grounds(head=AtPublished(S, False)), S, Code.NOT_PUBLISHED),
        (_grounds(head=Foreign(S, X)), X, Code.NOT_PUBLISHED),
        (_grounds(head=Tampered(S, None)), S, Code.NOT_PUBLISHED),
        (_grounds(), X, Code.BRANCH_MOVED),
    ],
)
def test_landing_is_asked_for_exactly_the_published_head(grounds: Grounds, sha: str, code: Code) -> None:
    refused = land(grounds, by="wanda", sha=sha)
    assert isinstance(refused, Blocked)
    assert refused.code is code
    asked = _heard(land(_grounds(_record(status="working")), by="wanda", sha=S))
    assert asked.landing.asked == AskedToLand(by="wanda", at=NOW, head_sha=S)


@pytest.mark.parametrize("kind", ["merge", "enqueue"])
def test_a_landing_that_is_on_its_way_is_not_withdrawn_by_asking_for_it(kind: str) -> None:
    place = {"kind": kind, "target": Target(number=57, head_sha=S), "author": "me.1", "round": "r"}
    sent = Permit.model_validate({"id": "p", "state": "accepted"} | place)
    before = _record(status="ready", open=(sent,))
    heard = land(_grounds(before), by="wanda", sha=S)
    assert isinstance(heard, Heard)
    assert (heard.record, heard.because) == (before, "")
    assert "on the way" in heard.answer


def test_an_accepted_head_counts_under_the_lease_and_nothing_that_was_checked_before_does() -> None:
    checked = _record(landing=ASKED, validations=(CHECKED,))
    after = _heard(accept(_grounds(checked, Foreign(S, X)), by="wanda", sha=X))
    assert after.published_now == Published(sha=X, generation=3, nonce="n")
    assert (after.status, after.landing.asked) == ("working", None)
    assert [v.state for v in shown(checked, present(checked, S, SEEN.around))] == ["passed"]
    assert [v.state for v in shown(after, present(after, X, SEEN.around))] == ["not run"]


@pytest.mark.parametrize("generation", [0, 3])
def test_a_head_that_a_person_accepts_while_nobody_holds_the_ticket_counts_until_somebody_does(generation: int) -> None:
    free = _record(lease=None, status="unclaimed", generation=generation, published=None)
    after = _heard(accept(_grounds(free, NothingPublished(X)), by="wanda", sha=X))
    assert after.published == after.published_now == Published(sha=X, generation=generation, nonce=ACCEPTED)
    stands = replace(SEEN, branches=(Branch("ticket/42", X),))
    assert head_of(after, stands, None) == AtPublished(X, True)
    taken = after.model_copy(update={"lease": LEASE, "generation": 4})
    assert head_of(taken, stands, None) == AtPublished(X, False)
    moved = replace(SEEN, branches=(Branch("ticket/42", S),))
    elsewhere = Unheld(S) if generation == 0 else Tampered(X, S)
    assert head_of(after, moved, Relation.ELSEWHERE) == elsewhere
    assert isinstance(land(_grounds(after, AtPublished(X, True)), by="wanda", sha=X), Heard)


@pytest.mark.parametrize(
    ("record", "head", "sha", "code"),
    [
        (RECORD, Foreign(S, X), BASE, Code.BRANCH_MOVED),
        (RECORD, Tampered(S, X), X, Code.BRANCH_MOVED),
        (RECORD, Tampered(S, None), X, Code.BRANCH_MOVED),
        (RECORD, AtPublished(S, True), X, Code.BRANCH_MOVED),
        (_record(burned_shas=(X,)), Foreign(S, X), X, Code.FORBIDDEN),
        (_record(burned_shas=(S,)), AtPublished(S, False), S, Code.BRANCH_MOVED),
    ],
)
def test_only_the_present_head_that_contains_what_was_published_is_accepted(
    record: Record, head: Head, sha: str, code: Code
) -> None:
    refused = accept(_grounds(record, head), by="wanda", sha=sha)
    assert isinstance(refused, Blocked)
    assert refused.code is code


def test_every_refusal_tells_a_way_on() -> None:
    assert Held(by="wanda", at=NOW, before="working").reason is None
    assert person_verbs.landed_before(RECORD, 7, "release-1").reason.startswith("#42 has landed: PR #7")
    elsewhere = person_verbs.landed_before(RECORD, 7, "main")
    assert "which is not its trunk" in elsewhere.reason
    assert "close the Issue" in elsewhere.remedy


def test_a_command_is_remembered_by_its_id_and_the_oldest_go() -> None:
    record = RECORD
    for number in range(KEPT + 3):
        record = noted(record, command(f"c{number}", "hold", "wanda", f"answer {number}", now=NOW))
    assert len(record.commands) == KEPT
    assert known(record, "c0") is None
    found = known(record, f"c{KEPT + 2}")
    assert found is not None
    assert (found.verb, found.by, found.at, found.answer) == ("hold", "wanda", NOW, f"answer {KEPT + 2}")
    assert known(RECORD.model_copy(update={"commands": ({"id": "c1", "newer": "form"},)}), "c1") is None


def test_recover_lets_a_stopped_ticket_go_on_whatever_its_age_and_its_attempts() -> None:
    old = LEASE.model_copy(update={"granted_at": NOW - timedelta(days=30), "expires_at": NOW - timedelta(days=29)})
    stopped = RECORD.model_copy(update={"status": "working", "lease": old, "attempts": Attempts(count=9)})
    policy = Policy(mode=Mode.FULL)
    refused = gates.may_claim(stopped, policy, now=NOW, observed_generation=3, login="bob")
    assert isinstance(refused, Blocked)
    assert refused.code is Code.TOO_OLD
    assert "`/recovery recover`" in refused.remedy
    heard = recover(replace(GROUNDS, record=stopped), by="olive")
    assert isinstance(heard, Heard)
    assert heard.record.intent == Intent(by="olive", at=NOW)
    assert heard.record.lease == old, "a holder that comes back first goes on"
    assert isinstance(gates.may_claim(heard.record, policy, now=NOW, observed_generation=3, login="bob"), gates.Pass)


def test_recover_takes_nothing_from_a_holder_that_lives() -> None:
    answer = recover(GROUNDS, by="olive")
    assert isinstance(answer, Blocked)
    assert (answer.code, answer.holder) == (Code.LEASE_LIVE, "agent")
    assert "`/recovery takeover`" in answer.remedy
    late = RECORD.model_copy(update={"lease": LEASE.model_copy(update={"expires_at": NOW - timedelta(hours=1)})})
    heard_of = replace(GROUNDS, record=late, heartbeat_at=NOW - timedelta(seconds=30))
    assert isinstance(recover(heard_of, by="olive"), Blocked)


def test_recover_beside_no_lease_changes_nothing_and_beside_a_hold_names_unhold() -> None:
    free = RECORD.model_copy(update={"lease": None, "status": "unclaimed", "attempts": Attempts()})
    assert recover(replace(GROUNDS, record=free), by="olive") == Heard(free, "nobody holds #42: it can be claimed now")
    held_ = hold(GROUNDS, by="olive", reason=None)
    assert isinstance(held_, Heard)
    answer = recover(replace(GROUNDS, record=held_.record), by="olive")
    assert isinstance(answer, Blocked)
    assert "`/recovery unhold`" in answer.remedy


def test_recover_brings_back_what_was_cancelled_and_names_takeover_where_nothing_resumes() -> None:
    over = cancel(GROUNDS, by="olive", reason=None)
    assert isinstance(over, Heard)
    heard = recover(replace(GROUNDS, record=over.record), by="olive")
    assert isinstance(heard, Heard)
    assert may_return(heard.record)
    dead = RECORD.model_copy(update={"lease": LEASE.model_copy(update={"expires_at": NOW - timedelta(hours=1)})})
    policy = POLICY.model_copy(update={"resume": POLICY.resume.model_copy(update={"enabled": False})})
    answer = recover(replace(GROUNDS, record=dead, policy=policy), by="olive")
    assert isinstance(answer, Blocked)
    assert answer.code is Code.RESUME_DISABLED
