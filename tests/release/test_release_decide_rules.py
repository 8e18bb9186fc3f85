"""What is done about a release: its one PR, what others do to it, standing orders, permits, merges by others."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from release_scene import (
    APP,
    COMMENT,
    HEAD,
    LEAD,
    MINUTE,
    NOW,
    OTHER,
    PULL,
    TRUNK,
    kinds,
    observation,
    permit,
    plan,
    policy,
    pull,
    receipt,
    record,
    role,
    situation,
    source_comment,
)

from app.domain.policy import Policy
from app.domain.record import Round
from app.domain.release_actions import (
    AdoptRelease,
    CreateReleasePull,
    NoteReleaseMerge,
    NoteReleasePull,
    ReportOnRelease,
    VoidAuthorizations,
    WaitRelease,
    report_marker,
    target_of,
)
from app.domain.release_comment import release_marker
from app.domain.release_decide import decide
from app.domain.release_incident import carrying, incident_marker
from app.domain.release_observation import Account, OwnComment, ReleaseObservation
from app.domain.release_record import Incident, MergedRelease, ReleaseRecord, Voided
from app.domain.release_settling import MadeRelease, noted, settle
from app.domain.surroundings import Tip

PERSON = Account("dev-a", 3)
REPAIR = policy("repair")


def alone(**changes: Any) -> ReleaseObservation:
    """The release without any PR."""
    return observation(pulls=(), **changes)


NOTHING: list[tuple[str, ReleaseObservation]] = [
    ("the trunk is where the base is", alone(trunk=Tip(TRUNK, "c" * 40, "m" * 40), files=0, ahead=0)),
    ("empty commits alone", alone(files=0, ahead=3)),
    ("equal files by other commits", alone(trunk=Tip(TRUNK, HEAD, "m" * 40), files=9, ahead=3)),
    ("behind the base", alone(files=0, ahead=0)),
    ("no trunk", alone(trunk=None, files=None)),
    ("no base of releases", alone(into=None, files=None)),
    ("the trunk is the base of releases", observation(branch="main", trunk=Tip("main", "c" * 40, "m" * 40), pulls=())),
    ("the policy makes it no trunk", replace(alone(), branch="feature")),
]


@pytest.mark.parametrize("seen", [c[1] for c in NOTHING], ids=[c[0] for c in NOTHING])
def test_no_difference_no_pr_and_no_alarm(seen: ReleaseObservation) -> None:
    assert plan(seen) == ()
    known = record(pull=None, comment_id=None, branch=seen.branch)
    assert plan(seen, known) == ()


@pytest.mark.parametrize("says", [policy(), REPAIR], ids=["full", "repair"])
def test_the_first_difference_brings_one_draft_pr_under_a_permit(says: Policy) -> None:
    (made,) = plan(alone(), says=says)
    assert isinstance(made, CreateReleasePull)
    assert (made.head, made.head_sha, made.base) == (TRUNK, HEAD, "main")
    assert made.title == "Release release-1-2-0 with #42"
    kind, target = target_of(made)
    assert (kind, target.head, target.base) == ("release_pull_create", TRUNK, "main")


def test_observe_writes_nothing() -> None:
    for seen in (alone(), observation(pulls=(pull(auto_merge=True, state="CLOSED"),))):
        assert kinds(plan(seen, record(receipt()), policy("observe"))) == ["WaitRelease"]


def test_what_github_does_not_say_is_waited_for() -> None:
    assert kinds(plan(alone(files=None))) == ["WaitRelease"]


def test_a_standing_release_needs_nothing() -> None:
    assert plan(observation(), record()) == ()
    assert plan(observation(), record(receipt())) == ()
    assert plan(observation(), record(receipt()), REPAIR) == ()


def test_somebodys_pr_is_taken_for_the_releases_and_stays_one() -> None:
    seen = observation(pulls=(pull(author=PERSON, title="Ship it", comments=(), body="My notes"),))
    actions = plan(seen)
    assert kinds(actions) == ["NoteReleasePull", "EditReleaseText", "CreateReleaseComment"]
    assert actions[1].title is None
    assert actions[1].body.endswith("My notes")


def test_several_trunks_have_each_their_own() -> None:
    for branch in ("release-1-2-0", "release-1-3-0", "release/2.0"):
        seen = replace(alone(), branch=branch, trunk=Tip(branch, HEAD, "t" * 40))
        (made,) = plan(seen)
        assert made.head == branch


CLOSED: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("by a person", {"closed_by": PERSON}, {}, ["ReopenReleasePull", "ReportOnRelease"]),
    ("by a person, told before", {"closed_by": PERSON}, {"reported": ("reopened-7",)}, ["ReopenReleasePull"]),
    ("by GitHub", {"closed_by": None}, {}, ["ReopenReleasePull"]),
    ("by a program", {"closed_by": Account("stale[bot]", 8, "Bot")}, {}, ["ReopenReleasePull"]),
    ("and GitHub refuses to reopen it", {}, {"given_up": (PULL,)}, ["NoteReleasePull", "CreateReleasePull"]),
    ("and is a person's own", {"author": PERSON}, {}, ["NoteReleasePull", "CreateReleasePull"]),
    (
        "again and again",
        {"repairs": 3, "disturbed_at": NOW - timedelta(seconds=30)},
        {},
        ["WaitRelease"],
    ),
    (
        "again and again, long ago",
        {"repairs": 5, "disturbed_at": NOW - timedelta(minutes=5)},
        {},
        ["ReopenReleasePull"],
    ),
    ("often, and not so long ago", {"repairs": 40, "disturbed_at": NOW - timedelta(minutes=59)}, {}, ["WaitRelease"]),
]


@pytest.mark.parametrize(("changes", "known", "wanted"), [c[1:] for c in CLOSED], ids=[c[0] for c in CLOSED])
def test_a_closed_release_pr_comes_back(changes: dict[str, Any], known: dict[str, Any], wanted: list[str]) -> None:
    seen = observation(pulls=(pull(state="CLOSED", **changes),))
    assert kinds(plan(seen, record(**known))) == wanted


def test_a_closed_pr_without_a_difference_stays_closed() -> None:
    for gone in ({"files": 0}, {"trunk": None}):
        assert plan(observation(pulls=(pull(state="CLOSED"),), **gone), record()) == ()


def test_another_open_pr_takes_the_place_of_a_closed_one() -> None:
    seen = observation(pulls=(pull(number=9), pull(state="CLOSED")))
    (note,) = [a for a in plan(seen, record()) if isinstance(a, NoteReleasePull)]
    assert (note.number, note.given_up) == (9, (PULL,))
    assert "CreateReleasePull" not in kinds(plan(seen, record()))


def test_a_changed_base_is_given_back_and_told_once() -> None:
    seen = observation(pulls=(pull(base="develop"),))
    edit, told = plan(seen, record())
    assert (edit.base_from, edit.base_to) == ("develop", "main")
    assert target_of(edit)[0] == "release_base_edit"
    assert isinstance(told, ReportOnRelease)
    # True also where nobody moved it and the policy names another base.
    assert "the policy has releases go there" in told.reason
    assert kinds(plan(seen, record(reported=("base-7",)))) == ["EditReleaseBase"]


def test_a_changed_base_voids_the_word_that_was_given() -> None:
    seen = observation(pulls=(pull(base="develop"),))
    void, *rest = plan(seen, record(receipt()))
    assert isinstance(void, VoidAuthorizations)
    assert void.voids[0] == (str(COMMENT), Voided(why="changed_base", at=NOW))
    assert kinds(tuple(rest)) == ["EditReleaseBase", "ReportOnRelease"]


def test_where_somebody_opened_another_pr_the_changed_one_is_left() -> None:
    seen = observation(pulls=(pull(number=9), pull(base="develop")))
    (note,) = [a for a in plan(seen, record()) if isinstance(a, NoteReleasePull)]
    assert (note.number, note.given_up) == (9, (PULL,))
    assert "EditReleaseBase" not in kinds(plan(seen, record()))


def test_of_two_open_prs_the_recorded_one_stays_and_the_other_is_reported_once() -> None:
    seen = observation(pulls=(pull(number=5), pull()))
    actions = plan(seen, record(receipt()))
    assert kinds(actions) == ["ReportOnRelease"]
    assert (actions[0].number, actions[0].edge) == (5, "twin-5-7")
    assert plan(seen, record(receipt(), reported=("twin-5-7",))) == ()
    unrecorded = plan(seen, record(pull=None))
    (note,) = [a for a in unrecorded if isinstance(a, NoteReleasePull)]
    assert note.number == 5


ORDERS: list[tuple[str, dict[str, Any], tuple[Any, ...], list[str]]] = [
    ("auto-merge, nobody authorized", {"auto_merge": True}, (), ["StopAutoMerge", "ReportOnRelease"]),
    ("queued, nobody authorized", {"queued": True}, (), ["Dequeue", "ReportOnRelease"]),
    ("both", {"queued": True, "auto_merge": True}, (), ["StopAutoMerge", "Dequeue", "ReportOnRelease"]),
    ("auto-merge of what is authorized", {"auto_merge": True}, (receipt(),), []),
    ("queued, authorized", {"queued": True}, (receipt(),), []),
]


@pytest.mark.parametrize(("changes", "words", "wanted"), [c[1:] for c in ORDERS], ids=[c[0] for c in ORDERS])
@pytest.mark.parametrize("says", [policy(), REPAIR], ids=["full", "repair"])
def test_standing_orders(changes: dict[str, Any], words: tuple[Any, ...], wanted: list[str], says: Policy) -> None:
    seen = observation(pulls=(pull(is_draft=False, **changes),))
    assert kinds(plan(seen, record(*words), says)) == wanted
    if wanted:
        told = record(*words, reported=(f"order-7-{HEAD[:12]}",))
        assert kinds(plan(seen, told, says)) == [k for k in wanted if k != "ReportOnRelease"]


def test_a_new_head_ends_the_word_and_the_auto_merge_that_was_left_on() -> None:
    seen = observation(pulls=(pull(head_sha=OTHER, auto_merge=True),), trunk=Tip(TRUNK, OTHER, "x" * 40))
    void, *rest = plan(seen, record(receipt()))
    assert void.voids[0][1].why == "new_head"
    assert kinds(tuple(rest)) == ["StopAutoMerge", "ReportOnRelease"]


def test_auto_merge_on_a_pr_whose_base_was_changed_is_switched_off_too() -> None:
    seen = observation(pulls=(pull(base="develop", auto_merge=True),))
    assert kinds(plan(seen, record()))[:2] == ["StopAutoMerge", "ReportOnRelease"]


def test_the_list_is_brought_up_to_date_in_place() -> None:
    seen = observation(included=())
    (edit,) = plan(seen, record())
    assert edit.title == "Release release-1-2-0"
    assert "No ticket" in edit.body


def test_one_comment_and_no_more() -> None:
    assert kinds(plan(observation(pulls=(pull(comments=()),)), record(comment_id=None))) == ["CreateReleaseComment"]
    double = tuple(OwnComment(n, release_marker(TRUNK), NOW) for n in (11, 12, 13))
    removed = plan(observation(pulls=(pull(comments=double),)), record())
    assert [a.comment_id for a in removed] == [12, 13]
    many = observation(pulls=(pull(comments=(), many_comments=True),))
    assert plan(many, record()) == ()


def test_what_github_refused_is_tried_again_rarely() -> None:
    (made,) = plan(alone())
    kind, target = target_of(made)
    refused = permit(kind, target=target, state="blocked", reason="no", refused_at=NOW)
    known = record(pull=None, open=(refused,))
    assert kinds(plan(alone(), known)) == ["WaitRelease"]
    assert kinds(plan(alone(now=NOW + 3 * MINUTE), known)) == ["CreateReleasePull"]
    assert kinds(plan(observation(), record(open=(refused,)))) == ["ForgetReleasePermits"]


def test_a_permit_of_somebody_alive_is_waited_for_and_one_of_the_dead_taken_over() -> None:
    (made,) = plan(alone())
    kind, target = target_of(made)
    fired = permit(kind, target=target)
    round_ = Round(id="r1", author="boot-1", tries=0, ttl_s=60, opened_at=NOW)
    known = record(pull=None, open=(fired,), round=round_)
    assert kinds(plan(alone(), known, dead=False)) == ["WaitRelease"]
    (adopt,) = plan(alone(), known, dead=True)
    assert isinstance(adopt, AdoptRelease)
    assert adopt.again == (fired,)
    (adopt,) = plan(alone(files=0), known)
    assert adopt.again == ()


# --- merges ---------------------------------------------------------------------------------------------------------

BY_HAND = {"state": "MERGED", "merged_at": NOW - MINUTE, "merged_by": Account("second", 2), "merge_sha": "d" * 40}


def _merged(**changes: Any) -> ReleaseObservation:
    return observation(pulls=(pull(**{**BY_HAND, **changes}),))


AROUND: list[tuple[str, ReleaseObservation, tuple[Any, ...], dict[str, Any], bool]] = [
    ("nobody's word", _merged(), (), {}, True),
    ("exactly what was authorized", _merged(), (receipt(),), {}, False),
    ("another commit was", _merged(), (receipt(head_sha=OTHER),), {}, True),
    ("it had been revoked before", _merged(), (receipt(voided=Voided(why="revoked", at=NOW - 5 * MINUTE)),), {}, True),
    ("it was revoked after", _merged(), (receipt(voided=Voided(why="revoked", at=NOW)),), {}, False),
    ("used up by this very merge", _merged(), (receipt(voided=Voided(why="merged", at=NOW - MINUTE)),), {}, False),
    ("its time had ended", _merged(), (receipt(expires_at=NOW - 2 * MINUTE),), {}, True),
    ("the word came after", _merged(), (receipt(at=NOW),), {}, True),
    ("into another base", _merged(base="develop"), (receipt(),), {}, True),
    ("an authorized release of another trunk brought it along", _merged(carried_by=6), (), {}, False),
    ("by us, late, after it was taken back", _merged(merged_by=APP), (), {"open": (permit(state="withdrawn"),)}, True),
    ("by us, as authorized", _merged(merged_by=APP), (receipt(),), {"open": (permit(),)}, False),
]


@pytest.mark.parametrize(("seen", "words", "known", "is_incident"), [c[1:] for c in AROUND], ids=[c[0] for c in AROUND])
def test_what_was_merged(
    seen: ReleaseObservation, words: tuple[Any, ...], known: dict[str, Any], is_incident: bool
) -> None:
    before = record(*words, **known)
    (note,) = [a for a in plan(seen, before) if isinstance(a, NoteReleaseMerge)]
    assert (note.problem is not None) is is_incident
    assert "CreateReleasePull" not in kinds(plan(seen, before))
    after = before
    for action in plan(seen, before):
        if isinstance(action, NoteReleaseMerge | VoidAuthorizations):
            after = noted(after, action)
    assert (after.pull, after.asked, after.status) == (None, None, "merged")
    assert after.merges_open == ()
    assert not after.standing or after.standing[0].pull != PULL
    told = plan(seen, after)
    elsewhere = seen.pulls[0].base != "main"
    # What went elsewhere is still to go where releases go.
    more = ["CreateReleasePull"] if elsewhere else []
    assert kinds(told) == (["CreateIncident", *more] if is_incident else [])
    if is_incident:
        created = permit("incident_create", target=target_of(told[0])[1])
        done = settle(after.model_copy(update={"open": (created,)}), (MadeRelease(created, 99),))
        assert done.incidents[0].issue == 99
        assert kinds(plan(seen, done)) == more


def test_too_few_persons_are_an_incident() -> None:
    two = policy(approvals=2)
    (note,) = [a for a in plan(_merged(), record(receipt()), two) if isinstance(a, NoteReleaseMerge)]
    assert note.problem is not None


def test_an_incidents_issue_that_stands_is_not_made_twice() -> None:
    incident = Incident(pull=PULL, head_sha=HEAD, at=NOW, reason="x")
    merged = MergedRelease(pull=PULL, head_sha=HEAD, base="main", at=NOW)
    known = record(pull=None, incidents=(incident,), merged=(merged,), status="merged")
    seen = replace(_merged(), incident_issues={incident_marker(TRUNK, incident): 77})
    (note,) = plan(seen, known)
    assert (note.issue, note.number) == (77, PULL)
    assert plan(seen, noted(known, note)) == ()


def test_what_was_merged_before_anybody_watched_is_nobodys_incident() -> None:
    old = _merged(merged_at=NOW - timedelta(days=30))
    assert "NoteReleaseMerge" not in kinds(plan(old, None))
    assert "NoteReleaseMerge" not in kinds(plan(old, record(pull=None)))


def test_a_pr_opened_and_merged_between_two_looks_is_an_incident() -> None:
    (note,) = [a for a in plan(_merged(), record(pull=None)) if isinstance(a, NoteReleaseMerge)]
    assert note.problem is not None


def test_an_authorized_merge_brings_along_what_its_commit_contains() -> None:
    mine = pull(number=4, head="release-1-1-0", **BY_HAND)
    assert carrying(mine, record(receipt()), _merged(), policy()) == PULL
    assert carrying(mine, record(), _merged(), policy()) is None
    known = MergedRelease(pull=PULL, head_sha=HEAD, base="main", merge_sha="d" * 40, at=NOW, authorized=("5001",))
    assert carrying(mine, record(merged=(known,)), _merged(), policy()) == PULL
    assert carrying(mine, record(merged=(known.model_copy(update={"authorized": ()}),)), _merged(), policy()) is None
    for other in (replace(mine, merge_sha="e" * 40), replace(mine, merge_sha=None), replace(mine, base="develop")):
        assert carrying(other, record(receipt(), merged=(known,)), _merged(), policy()) is None


def test_after_the_merge_the_branch_may_go_and_what_comes_next_gets_a_pr_of_its_own() -> None:
    merged = MergedRelease(pull=PULL, head_sha=HEAD, base="main", at=NOW)
    known = record(pull=None, merged=(merged,), status="merged")
    assert plan(replace(_merged(), trunk=None), known) == ()
    assert plan(_merged(), known) == ()
    on = replace(_merged(), trunk=Tip(TRUNK, OTHER, "x" * 40))
    assert kinds(plan(on, known)) == ["CreateReleasePull"]


# --- the fixed point --------------------------------------------------------------------------------------------------


def _applied(seen: ReleaseObservation, known: ReleaseRecord, action: Any) -> tuple[ReleaseObservation, ReleaseRecord]:
    """A GitHub that does at once what it is asked for."""
    name = type(action).__name__
    pulls = list(seen.pulls)

    def edit(number: int, **changes: Any) -> None:
        pulls[:] = [replace(p, **changes) if p.number == number else p for p in pulls]

    if name in ("NoteReleasePull", "VoidAuthorizations", "NoteReleaseMerge", "NoteIncident", "ForgetReleasePermits"):
        return seen, noted(known, action)
    if name == "CreateReleasePull":
        made = pull(number=50, title=action.title, body=action.body, comments=(), head_sha=action.head_sha)
        pulls.insert(0, made)
        number = 50
    elif name == "ReopenReleasePull":
        edit(action.number, state="OPEN")
    elif name == "EditReleaseBase":
        edit(action.number, base=action.base_to)
        number = action.number
    elif name == "EditReleaseText":
        changes = {k: v for k, v in (("title", action.title), ("body", action.body)) if v is not None}
        edit(action.number, **changes)
    elif name == "StopAutoMerge":
        edit(action.number, auto_merge=False)
    elif name == "Dequeue":
        edit(action.number, queued=False)
    elif name == "RemoveReleaseComment":
        pulls[:] = [replace(p, comments=tuple(c for c in p.comments if c.id != action.comment_id)) for p in pulls]
    elif name in ("CreateReleaseComment", "ReportOnRelease"):
        marker = action.marker if name == "CreateReleaseComment" else report_marker(action.edge)
        number = 200 + sum(len(p.comments) for p in pulls)
        (at,) = [p for p in pulls if p.number == action.number]
        edit(action.number, comments=(*at.comments, OwnComment(number, marker, NOW)))
    elif name == "CreateIncident":
        number = 300
        seen = replace(seen, incident_issues={**seen.incident_issues, action.marker: 300})
    else:
        assert isinstance(action, WaitRelease), name
    seen = replace(seen, pulls=tuple(pulls))
    if name in ("CreateReleasePull", "EditReleaseBase", "CreateReleaseComment", "ReportOnRelease", "CreateIncident"):
        kind, target = target_of(action)
        held = permit(kind, target=target)
        known = settle(known.model_copy(update={"open": (*known.open, held)}), (MadeRelease(held, number),))
    return seen, known


WORLDS: list[tuple[str, ReleaseObservation, ReleaseRecord]] = [
    ("no PR yet", alone(), record(pull=None, comment_id=None)),
    ("closed by a person", observation(pulls=(pull(state="CLOSED", closed_by=PERSON),)), record(receipt())),
    ("given up", observation(pulls=(pull(state="CLOSED"),)), record(given_up=(PULL,))),
    ("base changed", observation(pulls=(pull(base="x", auto_merge=True, queued=True),)), record(receipt())),
    ("two", observation(pulls=(pull(number=5, body="", auto_merge=True), pull(body=""))), record(receipt())),
    ("somebody's", observation(pulls=(pull(author=PERSON, title="Mine", body="x", comments=()),)), record(pull=None)),
    ("merged around", _merged(), record()),
    ("merged, and more came", replace(_merged(), trunk=Tip(TRUNK, OTHER, "x" * 40)), record(receipt())),
    ("edited word", observation(sources={COMMENT: source_comment(edited=True)}), record(receipt())),
    ("lost role", observation(roles={1: role(LEAD, "read")}), record(receipt())),
]


@pytest.mark.parametrize(("seen", "known"), [c[1:] for c in WORLDS], ids=[c[0] for c in WORLDS])
@pytest.mark.parametrize("says", [policy(), REPAIR], ids=["full", "repair"])
def test_it_comes_to_rest(seen: ReleaseObservation, known: ReleaseRecord, says: Policy) -> None:
    for _ in range(6):
        actions = plan(seen, known, says)
        assert "MergeRelease" not in kinds(actions)
        for action in actions:
            seen, known = _applied(seen, known, action)
        if not actions:
            break
    assert plan(seen, known, says) == ()
    assert len(seen.open_pulls) <= 2


def test_deciding_twice_says_the_same() -> None:

    s = situation(observation(pulls=(pull(base="develop", auto_merge=True),)), record(receipt()))
    assert decide(s) == decide(s)
