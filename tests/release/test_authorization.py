"""Whether a person's word for a release counts: one table for what voids it, one for who may, one for how many."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from release_scene import (
    AGENT,
    APP,
    COMMENT,
    FULL,
    HEAD,
    LEAD,
    MINUTE,
    NOW,
    OTHER,
    PULL,
    SECOND,
    TRUNK,
    body,
    observation,
    policy,
    pull,
    receipt,
    record,
    role,
    source_comment,
)

from app.domain.authorization import Authorized, Live, NotYet, Unsure, Void, digest_of, judge
from app.domain.authorizers import MayAuthorize, MayNot, may_authorize
from app.domain.permission import NoSuchAccount, NotInTeam, NotTold, RoleHeld, TeamMember
from app.domain.policy import Policy
from app.domain.release_observation import Account, Unread
from app.domain.release_record import Person, Voided
from app.domain.release_standing import standing_of
from app.domain.source_comment import CommentAuthor, CommentGone
from app.domain.surroundings import Tip


def test_a_persons_word_for_the_present_head_is_live_until_it_expires() -> None:
    found = judge(receipt(), observation(), FULL, NOW)
    assert found == Live(receipt(), NOW + timedelta(hours=20))


SEEN: list[tuple[str, dict[str, Any], str]] = [
    ("the PR has another head", {"pulls": (pull(head_sha=OTHER),), "trunk": Tip(TRUNK, OTHER, None)}, "new_head"),
    ("the base was changed", {"pulls": (pull(base="develop"),)}, "changed_base"),
    ("releases go elsewhere now", {"into_name": "production"}, "changed_base"),
    ("there is no such PR", {"pulls": (pull(number=8),)}, "other_pull"),
    ("the PR is another release's", {"pulls": (pull(head="release-1-3-0"),)}, "other_pull"),
    ("the PR was merged", {"pulls": (pull(state="MERGED"),)}, "merged"),
    ("the comment was deleted", {"sources": {COMMENT: CommentGone(COMMENT)}}, "comment_deleted"),
    ("the comment was edited", {"sources": {COMMENT: source_comment(edited=True)}}, "comment_edited"),
    (
        "the comment says something else, and GitHub names no edit",
        {"sources": {COMMENT: source_comment(body=f"{body()} please")}},
        "comment_edited",
    ),
    (
        "the comment is somebody else's",
        {"sources": {COMMENT: source_comment(author=CommentAuthor("lead", 77, "User"))}},
        "other_author",
    ),
    ("the comment's author is gone", {"sources": {COMMENT: source_comment(author=None)}}, "other_author"),
    ("the comment came through another App", {"sources": {COMMENT: source_comment(via_app=333)}}, "via_app"),
    (
        "the comment is a bot's",
        {"sources": {COMMENT: source_comment(author=CommentAuthor("lead", 1, "Bot"))}},
        "not_a_person",
    ),
    ("the comment stands on another PR", {"sources": {COMMENT: source_comment(number=9)}}, "malformed"),
    ("the comment is of another time", {"sources": {COMMENT: source_comment(created_at=NOW)}}, "malformed"),
    ("its author is a reader only", {"roles": {1: role(LEAD, "read")}}, "lost_permission"),
    ("its author may write and no more", {"roles": {1: role(LEAD, "write")}}, "lost_permission"),
    ("its author's account is gone", {"roles": {1: NoSuchAccount("lead")}}, "lost_permission"),
    ("the name is another account's now", {"roles": {1: RoleHeld("lead", 99, "admin", "admin")}}, "lost_permission"),
    ("its author opened the PR", {"pulls": (pull(author=Account("lead", 1)),)}, "own_pull"),
]


@pytest.mark.parametrize(("seen", "why"), [case[1:] for case in SEEN], ids=[case[0] for case in SEEN])
def test_what_is_seen_voids_it(seen: dict[str, Any], why: str) -> None:
    found = judge(receipt(), observation(**seen), FULL, NOW)
    assert isinstance(found, Void)
    assert found.why == why
    assert found.reason
    assert found.remedy


MADE: list[tuple[str, dict[str, Any], str]] = [
    ("it was revoked", {"voided": Voided(why="revoked", at=NOW, by="second")}, "revoked"),
    ("its time is over", {"expires_at": NOW}, "expired"),
    ("it is older than the policy allows", {"at": NOW - timedelta(days=3)}, "expired"),
    ("it is of the future", {"at": NOW + 5 * MINUTE}, "malformed"),
    ("it ends before it begins", {"expires_at": NOW - timedelta(days=1)}, "malformed"),
    ("it is of another commit", {"head_sha": OTHER}, "new_head"),
    ("it is of another PR", {"pull": 8}, "other_pull"),
    ("it is of another base", {"base": "develop"}, "changed_base"),
    ("it is somebody else's", {"by": SECOND}, "other_author"),
    ("its id is another comment's", {"id": "5002"}, "malformed"),
]


@pytest.mark.parametrize(("changes", "why"), [case[1:] for case in MADE], ids=[case[0] for case in MADE])
def test_what_it_says_voids_it(changes: dict[str, Any], why: str) -> None:
    found = judge(receipt().model_copy(update=changes), observation(), FULL, NOW)
    assert isinstance(found, Void)
    assert found.why == why


def test_a_comment_that_does_not_name_the_commit_letter_by_letter_authorizes_nothing() -> None:
    for text in (
        "/recovery authorize-release",
        f"/recovery authorize-release {HEAD[:7]}",
        "ship it",
        "LGTM, merge everything",
    ):
        source = receipt().source.model_copy(update={"body_digest": digest_of(text)})
        seen = observation(sources={COMMENT: source_comment(body=text)})
        found = judge(receipt(source=source), seen, FULL, NOW)
        assert isinstance(found, Void)
        assert found.why == "malformed"


UNREAD: list[tuple[str, dict[str, Any], Policy]] = [
    ("the comment", {"sources": {COMMENT: Unread("500")}}, FULL),
    ("nobody read the comment", {"sources": {}}, FULL),
    ("the role", {"roles": {1: Unread("GitHub answered 500")}}, FULL),
    ("the App may not ask for the role", {"roles": {1: NotTold("403")}}, FULL),
    ("nobody read the role", {"roles": {}}, FULL),
    ("the team", {"teams": {("acme/release", 1): Unread("500")}}, policy(authorizers=["@acme/release"])),
    ("the last pusher", {}, policy(not_last_pusher=True)),
    ("the branch is ahead of its PR", {"trunk": Tip(TRUNK, OTHER, None)}, FULL),
    ("the PR shows an older head than its branch", {"pulls": (pull(head_sha=OTHER),)}, FULL),
    ("the branch does not show", {"trunk": None}, FULL),
]


@pytest.mark.parametrize(("seen", "says"), [case[1:] for case in UNREAD], ids=[case[0] for case in UNREAD])
def test_what_could_not_be_read_neither_counts_nor_voids(seen: dict[str, Any], says: Policy) -> None:
    o = observation(**seen)
    assert isinstance(judge(receipt(), o, says, NOW), Unsure)
    verdict = standing_of(record(receipt()), o, says).verdict
    assert isinstance(verdict, NotYet)
    assert verdict.unsure
    assert verdict.until is not None


def test_what_is_void_is_void_whatever_else_could_not_be_read() -> None:
    o = observation(roles={}, sources={COMMENT: source_comment(edited=True)})
    found = judge(receipt(), o, FULL, NOW)
    assert isinstance(found, Void)
    assert found.why == "comment_edited"


TEAM = {"teams": {("acme/release", 1): TeamMember("acme/release", "lead", False)}}
WHO: list[tuple[str, list[str], str, dict[str, Any], bool]] = [
    ("maintain by default", ["permission:maintain"], "maintain", {}, True),
    ("admin is more than maintain", ["permission:maintain"], "admin", {}, True),
    ("write is not enough by default", ["permission:maintain"], "write", {}, False),
    ("triage is not enough", ["permission:write"], "triage", {}, False),
    ("only admins", ["permission:admin"], "maintain", {}, False),
    ("by name, whatever the case", ["LEAD"], "write", {}, True),
    ("by name, without write access", ["lead"], "triage", {}, False),
    ("another name", ["second"], "admin", {}, False),
    ("a member of the team", ["@acme/Release"], "write", TEAM, True),
    (
        "no member",
        ["@acme/release"],
        "admin",
        {"teams": {("acme/release", 1): NotInTeam("acme/release", "lead")}},
        False,
    ),
    ("a member without write access", ["@acme/release"], "read", TEAM, False),
    ("nobody", [], "admin", {}, False),
]


@pytest.mark.parametrize(("listed", "level", "seen", "may"), [c[1:] for c in WHO], ids=[c[0] for c in WHO])
def test_who_may(listed: list[str], level: Any, seen: dict[str, Any], may: bool) -> None:
    o = observation(roles={1: role(LEAD, level)}, **seen)
    found = may_authorize(LEAD, o, policy(authorizers=listed))
    assert isinstance(found, MayAuthorize if may else MayNot)


def test_a_private_member_counts_by_role_and_an_organizations_own_role_by_what_it_comes_to() -> None:
    o = observation(roles={1: RoleHeld("lead", 1, "maintain", "release-captain")})
    assert isinstance(may_authorize(LEAD, o, FULL), MayAuthorize)


def test_a_policy_that_is_not_understood_is_refused_as_a_whole() -> None:
    for entry in ("permission:read", "permission:owner", "@acme", "lead/x", "two words", "@acme/release team", "@lead"):
        with pytest.raises(ValueError, match="authorizers"):
            policy(authorizers=[entry])


HOLDS = frozenset({"dev-a"})


def _word(by: Person, id: int, **changes: Any) -> tuple[Any, dict[int, Any]]:
    return receipt(by, id, **changes), {id: source_comment(by, id)}


ENOUGH: list[tuple[str, list[Person], dict[str, Any], Any, bool]] = [
    ("one of one", [LEAD], {}, {}, True),
    ("one of two", [LEAD], {"approvals": 2}, {}, False),
    ("two of two", [LEAD, SECOND], {"approvals": 2}, {}, True),
    ("twice the same person", [LEAD, LEAD], {"approvals": 2}, {}, False),
    ("only who worked in it", [AGENT], {}, {"lease_accounts": HOLDS}, False),
    ("only two who worked in it", [AGENT, LEAD], {"approvals": 2}, {"lease_accounts": HOLDS | {"lead"}}, False),
    ("who worked in it and somebody else", [AGENT, LEAD], {"approvals": 2}, {"lease_accounts": HOLDS}, True),
    ("who worked in it is not known", [LEAD], {}, {"lease_accounts": Unread("a ledger is damaged")}, False),
    ("the last pusher alone", [LEAD], {"not_last_pusher": True}, {"last_pusher": Account("lead", 1)}, False),
    ("the App pushed last", [LEAD], {"not_last_pusher": True}, {"last_pusher": APP}, True),
    ("the last pusher, where the policy lets it", [LEAD], {}, {"last_pusher": Account("lead", 1)}, True),
    (
        "the last pusher does not count among two",
        [LEAD, SECOND],
        {"not_last_pusher": True, "approvals": 2},
        {"last_pusher": Account("second", 2)},
        False,
    ),
    ("nobody", [], {}, {}, False),
]


@pytest.mark.parametrize(
    ("people", "release", "seen", "is_enough"), [c[1:] for c in ENOUGH], ids=[c[0] for c in ENOUGH]
)
def test_how_many(people: list[Person], release: dict[str, Any], seen: dict[str, Any], is_enough: bool) -> None:
    words = [_word(by, COMMENT + n) for n, by in enumerate(people)]
    sources = {id: comment for _, found in words for id, comment in found.items()}
    o = observation(sources=sources, **seen)
    verdict = standing_of(record(*(word for word, _ in words)), o, policy(**release)).verdict
    assert isinstance(verdict, Authorized) is is_enough
    if isinstance(verdict, NotYet):
        assert verdict.reason
        assert verdict.remedy
    else:
        assert (verdict.pull, verdict.base, verdict.sha) == (PULL, "main", HEAD)


def test_it_holds_until_the_first_of_the_needed_words_ends() -> None:
    one, sources = _word(LEAD, COMMENT)
    soon, more = _word(SECOND, COMMENT + 1, expires_at=NOW + MINUTE)
    later, most = _word(AGENT, COMMENT + 2, expires_at=NOW + timedelta(hours=2))
    o = observation(sources={**sources, **more, **most})
    verdict = standing_of(record(one, soon, later), o, policy(approvals=2)).verdict
    assert isinstance(verdict, Authorized)
    assert verdict.until == NOW + timedelta(hours=2)
    assert {p.login for p in verdict.by} == {"lead", "dev-a"}
    verdict = standing_of(record(one, soon, later), o, policy(approvals=3)).verdict
    assert isinstance(verdict, Authorized)
    assert verdict.until == NOW + MINUTE


def test_a_word_for_a_pr_that_is_not_the_releases_any_more_counts_for_no_other() -> None:
    closed = pull(number=PULL, state="CLOSED")
    o = observation(pulls=(pull(number=9), closed))
    verdict = standing_of(record(receipt(), pull=9), o, FULL).verdict
    assert isinstance(verdict, NotYet)


def test_of_several_prs_of_one_release_none_is_authorized() -> None:
    o = observation(pulls=(pull(), pull(number=8, node_id="PR_8")))
    standing = standing_of(record(receipt()), o, FULL)
    assert isinstance(standing.verdict, NotYet)
    assert "#8" in standing.verdict.reason
    assert standing.pull is not None
    assert standing.pull.number == PULL


def test_a_closed_pr_is_not_authorized_and_its_receipt_lives_on() -> None:
    o = observation(pulls=(pull(state="CLOSED"),))
    standing = standing_of(record(receipt()), o, FULL)
    assert isinstance(standing.verdict, NotYet)
    assert isinstance(standing.judgements[0], Live)


def test_a_tightened_policy_shortens_what_was_said_before() -> None:
    found = judge(receipt(), observation(), policy(expires="15m"), NOW)
    assert found == Live(receipt(), NOW + 5 * MINUTE)
    assert isinstance(judge(receipt(), observation(), policy(expires="10m"), NOW), Void)


def test_the_words_of_a_refusal_name_who_may() -> None:
    verdict = standing_of(record(), observation(), policy(authorizers=["@acme/release", "second"])).verdict
    assert isinstance(verdict, NotYet)
    assert f"/recovery authorize-release {HEAD}" in verdict.remedy
    assert "the team acme/release, second" in verdict.remedy
    assert "@" not in verdict.remedy


def test_a_comment_whose_moment_has_fractions_is_the_one_it_was() -> None:
    at = (NOW - 10 * MINUTE).replace(microsecond=123)
    o = observation(sources={COMMENT: replace(source_comment(), created_at=at)})
    assert isinstance(judge(receipt(), o, FULL, NOW), Live)
