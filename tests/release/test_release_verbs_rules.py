"""What a person says about a release: judged at once as at every use, answered the same when it is said again."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from release_scene import (
    AGENT,
    COMMENT,
    HEAD,
    LEAD,
    MINUTE,
    NOW,
    OTHER,
    PULL,
    SECOND,
    body,
    evidence,
    green,
    kinds,
    observation,
    permit,
    plan,
    policy,
    pull,
    receipt,
    record,
    role,
    source_comment,
)

from app.domain.authorization import Authorized, digest_of
from app.domain.outcome import Blocked, Code
from app.domain.policy import Policy
from app.domain.release_observation import Account, ReleaseObservation, Unread
from app.domain.release_record import (
    KEPT_INCIDENTS,
    KEPT_MERGED,
    KEPT_VOIDED,
    MAX_BYTES,
    MOST_STANDING,
    AskedToMerge,
    Incident,
    MergedRelease,
    Person,
    Source,
    Voided,
)
from app.domain.release_standing import standing_of
from app.domain.release_verbs import HeardRelease, ReleaseGrounds, authorize, merge, revoke

NEW = 5009
SOURCE = Source(comment_id=NEW, number=PULL, created_at=NOW - 10 * MINUTE, body_digest=digest_of(body()))
MERGED = MergedRelease(pull=PULL, head_sha=HEAD, base="main", at=NOW)


def said(by: Person = LEAD, **changes: Any) -> ReleaseObservation:
    sources = {COMMENT: source_comment(), NEW: source_comment(by, NEW)}
    return observation(**{"sources": sources, **changes})


def grounds(known: Any = None, seen: Any = None, says: Policy | None = None, on: int = PULL) -> ReleaseGrounds:
    return ReleaseGrounds(known or record(), seen or said(), says or policy(), on)


def heard(found: HeardRelease | Blocked) -> HeardRelease:
    assert isinstance(found, HeardRelease), found
    return found


def blocked(found: HeardRelease | Blocked) -> Blocked:
    assert isinstance(found, Blocked), found
    assert found.reason
    assert found.remedy
    return found


def test_authorize_makes_one_receipt_of_exactly_this_and_says_until_when() -> None:
    found = heard(authorize(grounds(), by=LEAD, sha=HEAD, source=SOURCE))
    (made,) = found.record.authorizations
    assert (made.id, made.pull, made.base, made.head_sha, made.by) == (str(NEW), PULL, "main", HEAD, LEAD)
    assert made.expires_at == NOW + timedelta(hours=24)
    assert "until 2026-12-01T12:00:00Z" in found.answer
    assert found.because
    assert not found.withdraws
    assert isinstance(standing_of(found.record, said(), policy()).verdict, Authorized)


def test_authorize_again_changes_nothing_and_is_answered_the_same() -> None:
    first = heard(authorize(grounds(), by=LEAD, sha=HEAD, source=SOURCE))
    again = heard(authorize(grounds(first.record), by=LEAD, sha=HEAD, source=SOURCE))
    assert (again.record, again.answer, again.because) == (first.record, first.answer, "")


def test_the_same_person_anew_replaces_the_older_word() -> None:
    found = heard(authorize(grounds(record(receipt())), by=LEAD, sha=HEAD, source=SOURCE))
    old, new = found.record.authorizations
    assert (old.voided and old.voided.why, new.voided) == ("superseded", None)
    other = grounds(record(receipt(SECOND)), said(sources={NEW: source_comment(LEAD, NEW)}))
    both = heard(authorize(other, by=LEAD, sha=HEAD, source=SOURCE))
    assert len(both.record.standing) == 2


def test_a_word_that_is_not_enough_is_noted_and_says_what_is_missing() -> None:
    two = heard(authorize(grounds(says=policy(approvals=2)), by=LEAD, sha=HEAD, source=SOURCE))
    assert two.because
    assert "1 of 2" in two.answer
    worked = said(AGENT, lease_accounts=frozenset({"dev-a"}))
    found = heard(authorize(grounds(seen=worked), by=AGENT, sha=HEAD, source=SOURCE))
    assert "held or started a lease" in found.answer


NO: list[tuple[str, dict[str, Any], str, Code]] = [
    ("not the head", {}, OTHER, Code.BRANCH_MOVED),
    ("shortened", {}, HEAD[:7], Code.USAGE),
    ("a word", {}, "head", Code.USAGE),
    ("nothing", {}, "", Code.USAGE),
    ("capital letters", {}, "A" * 40, Code.USAGE),
    ("he may not", {"roles": {1: role(LEAD, "write")}}, HEAD, Code.FORBIDDEN),
    ("he reads only", {"roles": {1: role(LEAD, "read")}}, HEAD, Code.FORBIDDEN),
    ("GitHub does not answer", {"roles": {1: Unread("500")}}, HEAD, Code.UNAVAILABLE),
    ("he opened the PR", {"pulls": (pull(author=Account("lead", 1)),)}, HEAD, Code.FORBIDDEN),
    (
        "the comment was edited meanwhile",
        {"sources": {NEW: source_comment(LEAD, NEW, edited=True)}},
        HEAD,
        Code.FORBIDDEN,
    ),
    ("through another App", {"sources": {NEW: source_comment(LEAD, NEW, via_app=333)}}, HEAD, Code.FORBIDDEN),
    ("somebody else's comment", {"sources": {NEW: source_comment(SECOND, NEW)}}, HEAD, Code.FORBIDDEN),
    ("a comment elsewhere", {"sources": {NEW: source_comment(LEAD, NEW, number=9)}}, HEAD, Code.FORBIDDEN),
    ("the PR is closed", {"pulls": (pull(state="CLOSED"),)}, HEAD, Code.ISSUE_CLOSED),
    ("the base was changed", {"pulls": (pull(base="x"),)}, HEAD, Code.BRANCH_BLOCKED),
    ("two PRs", {"pulls": (pull(), pull(number=8))}, HEAD, Code.FORBIDDEN),
    ("no PR", {"pulls": ()}, HEAD, Code.NOT_FOUND),
    ("said on another PR", {"pulls": (pull(number=9),)}, HEAD, Code.NOT_FOUND),
]


@pytest.mark.parametrize(("seen", "sha", "code"), [c[1:] for c in NO], ids=[c[0] for c in NO])
def test_authorize_is_refused_with_what_helps(seen: dict[str, Any], sha: str, code: Code) -> None:
    found = blocked(authorize(grounds(seen=said(**seen)), by=LEAD, sha=sha, source=SOURCE))
    assert found.code is code
    assert found.retryable is (code is Code.UNAVAILABLE)


def test_nothing_is_authorized_in_observe_and_all_of_it_in_repair() -> None:
    found = blocked(authorize(grounds(says=policy("observe")), by=LEAD, sha=HEAD, source=SOURCE))
    assert found.code is Code.MODE_OBSERVE
    heard(authorize(grounds(says=policy("repair")), by=LEAD, sha=HEAD, source=SOURCE))


def test_the_last_pusher_is_told_at_once() -> None:
    seen = said(last_pusher=Account("lead", 1))
    found = blocked(authorize(grounds(seen=seen, says=policy(not_last_pusher=True)), by=LEAD, sha=HEAD, source=SOURCE))
    assert found.code is Code.FORBIDDEN


def test_the_record_stays_small_whoever_says_what_how_often() -> None:
    old = tuple(receipt(id=n, voided=Voided(why="new_head", at=NOW)) for n in range(100, 180))
    found = heard(authorize(grounds(record(*old)), by=LEAD, sha=HEAD, source=SOURCE))
    assert len(found.record.authorizations) == KEPT_VOIDED + 1
    assert found.record.authorizations[0].id == "170"
    many = tuple(receipt(Person(login=f"p{n}", id=n), 1000 + n) for n in range(50, 50 + MOST_STANDING))
    full = blocked(authorize(grounds(record(*many)), by=LEAD, sha=HEAD, source=SOURCE))
    assert full.code is Code.RECORD_FULL


def test_revoke_voids_every_word_and_the_wish() -> None:
    asked = AskedToMerge(id="1", by=LEAD, at=NOW, pull=PULL, head_sha=HEAD)
    found = heard(revoke(grounds(record(receipt(), receipt(SECOND, 5002), asked=asked)), by=SECOND))
    assert [a.voided and (a.voided.why, a.voided.by) for a in found.record.authorizations] == [
        ("revoked", "second")
    ] * 2
    assert found.record.asked is None
    assert not found.withdraws
    again = heard(revoke(grounds(found.record), by=LEAD))
    assert (again.record, again.because) == (found.record, "")


@pytest.mark.parametrize("state", ["fired", "unknown", "withdrawn"])
def test_revoke_with_a_merge_at_the_door_says_so(state: str) -> None:
    found = heard(revoke(grounds(record(receipt(), open=(permit(state=state, unanswered=True),))), by=LEAD))
    assert found.withdraws
    assert found.record.merges_open
    seen = said(pulls=(pull(is_draft=False),), guard_runs=(green(),), evidence=evidence())
    assert ("WithdrawMerge" in kinds(plan(seen, found.record, dead=False))) is (state != "withdrawn")


def test_revoke_after_the_merge_is_answered_with_merged() -> None:
    for g in (
        grounds(record(receipt(), merged=(MERGED,), pull=None)),
        grounds(seen=said(pulls=(pull(state="MERGED"),))),
    ):
        for found in (revoke(g, by=LEAD), merge(g, id="1", by=LEAD)):
            assert blocked(found).code is Code.LANDED
            assert HEAD in blocked(found).reason


def ready(**changes: Any) -> ReleaseObservation:
    given = {"pulls": (pull(is_draft=False),), "guard_runs": (green(),), "evidence": evidence()}
    return said(**{**given, **changes})


def test_merge_is_a_wish_for_exactly_the_present_head() -> None:
    found = heard(merge(grounds(record(receipt()), ready()), id="6001", by=SECOND))
    assert found.record.asked == AskedToMerge(id="6001", by=SECOND, at=NOW, pull=PULL, head_sha=HEAD)
    assert found.record.open == ()
    assert kinds(plan(ready(), found.record)) == ["MergeRelease"]
    again = heard(merge(grounds(found.record, ready()), id="6002", by=LEAD))
    assert (again.record, again.because, again.answer) == (found.record, "", found.answer)


def test_merge_of_a_draft_is_a_wish_too() -> None:
    heard(merge(grounds(record(receipt()), ready(pulls=(pull(),))), id="1", by=LEAD))


MISSING: list[tuple[str, dict[str, Any], tuple[Any, ...], Policy, Code, str]] = [
    ("no authorization", {}, (), policy(), Code.FORBIDDEN, "nobody has authorized"),
    ("of another commit", {}, (receipt(head_sha=OTHER),), policy(), Code.FORBIDDEN, "the head is another one now"),
    ("mode repair", {}, (receipt(),), policy("repair"), Code.MODE_REPAIR, "mode: repair"),
    ("mode observe", {}, (receipt(),), policy("observe"), Code.MODE_OBSERVE, "mode: observe"),
    ("too few", {}, (receipt(),), policy(approvals=2), Code.FORBIDDEN, "1 of 2"),
    (
        "checks red",
        {"evidence": evidence(review="CHANGES_REQUESTED")},
        (receipt(),),
        policy(),
        Code.FORBIDDEN,
        "changes",
    ),
    ("not readable", {"sources": {COMMENT: Unread("500")}}, (receipt(),), policy(), Code.UNAVAILABLE, "not known"),
]


@pytest.mark.parametrize(
    ("seen", "words", "says", "code", "told"), [c[1:] for c in MISSING], ids=[c[0] for c in MISSING]
)
def test_merge_is_refused_with_the_reason(
    seen: dict[str, Any], words: tuple[Any, ...], says: Policy, code: Code, told: str
) -> None:
    found = blocked(merge(grounds(record(*words), ready(**seen), says), id="1", by=LEAD))
    assert found.code is code
    assert told in found.reason


def test_merge_again_after_githubs_refusal_is_tried_at_once() -> None:
    refused = permit(state="blocked", reason="Required status check", refused_at=NOW)
    found = heard(merge(grounds(record(receipt(), open=(refused,)), ready()), id="2", by=LEAD))
    assert found.record.open == ()
    assert kinds(plan(ready(), found.record)) == ["MergeRelease"]


def test_hostile_names_stay_on_one_line_of_an_answer() -> None:
    seen = replace(said(), into_name="ma\nin", pulls=(pull(base="ma\nin"),))
    found = heard(authorize(grounds(record(into="ma\nin"), seen), by=LEAD, sha=HEAD, source=SOURCE))
    assert "\n" not in found.answer


def test_the_largest_record_fits_its_ledger() -> None:
    long, name = "release-" + "x" * 247, "a" * 39
    person, void = Person(login=name, id=10**12), Voided(why="comment_deleted", at=NOW, by=name)
    words = [receipt(person, 10**12 + n, base=long, pull=10**6) for n in range(MOST_STANDING)]
    words += [receipt(person, 10**12, base=long, pull=10**6, voided=void) for _ in range(KEPT_VOIDED)]
    merged = MergedRelease(
        pull=10**6, head_sha=HEAD, base=long, merge_sha=HEAD, at=NOW, by=name, authorized=("1" * 12,)
    )
    incident = Incident(pull=10**6, head_sha=HEAD, at=NOW, reason="x" * 200, issue=10**6)
    command = {
        "id": "1" * 24,
        "verb": "authorize-release",
        "by": name,
        "at": "2026-11-30T12:00:00Z",
        "answer": "x" * 600,
    }
    full = record(
        *words,
        branch=long,
        into=long,
        merged=(merged,) * KEPT_MERGED,
        incidents=(incident,) * KEPT_INCIDENTS,
        commands=(command,) * 16,
        reported=tuple(f"reopened-{n}" for n in range(10**6, 10**6 + 50)),
        open=(permit(),) * 4,
    )
    assert len(full.model_dump_json(by_alias=True).encode()) < MAX_BYTES
