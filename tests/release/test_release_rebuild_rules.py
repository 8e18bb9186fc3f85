"""What a release's ledger that is begun anew holds, and what it does not."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from release_scene import (
    FULL,
    HEAD,
    LEAD,
    MINUTE,
    NOW,
    OTHER,
    PULL,
    SECOND,
    TRUNK,
    kinds,
    observation,
    permit,
    plan,
    pull,
    receipt,
    record,
)

from app.domain.command_noted import command, known, noted
from app.domain.outcome import Blocked
from app.domain.policy import Policy
from app.domain.record import Rebuilt
from app.domain.release_actions import report_marker
from app.domain.release_comment import release_comment, release_marker
from app.domain.release_frozen import edge_damaged, edge_moved
from app.domain.release_incident import merge_seen
from app.domain.release_observation import Account, OwnComment, ReleaseObservation
from app.domain.release_rebuild import ReleaseRebuild, rebuilt_release, said_before, sound
from app.domain.release_record import KEPT_VOIDED, AskedToMerge, MergedRelease, ReleaseRecord, Source, Voided
from app.domain.release_standing import standing_of
from app.domain.release_verbs import ReleaseGrounds, authorize

PERSON = Account("lead", 1)
FOUND = edge_moved(9)
MARK = OwnComment(11, release_marker(TRUNK), NOW)


def anew(
    seen: ReleaseObservation | None = None,
    last: ReleaseRecord | None = None,
    witnessed: tuple[int, ...] = (9, 7),
    **more: Any,
) -> ReleaseRebuild:
    given = {"edge": FOUND, "id": "c1", "by": "maya"} | more
    return rebuilt_release(seen or observation(), last, witnessed, **given)


def merged(at: datetime, **changes: Any) -> Any:
    return pull(state="MERGED", merged_at=at, merge_sha="d" * 40, merged_by=PERSON, **changes)


def told(at: datetime, edge: str = FOUND) -> OwnComment:
    return OwnComment(12, f"{report_marker(edge)}\n**Stopped.**", at)


@pytest.mark.parametrize(
    ("witnessed", "last", "sequence"),
    [((), None, 1), ((9, 7), None, 10), ((9,), 3, 10), ((9,), 12, 13)],
)
def test_it_begins_above_everything_that_was_seen(witnessed: tuple[int, ...], last: int | None, sequence: int) -> None:
    made = anew(last=record(sequence=last) if last is not None else None, witnessed=witnessed).record
    assert (made.sequence, made.rebuilt) == (sequence, Rebuilt(by="maya", at=NOW, sequence=sequence))
    assert (made.branch, made.into, made.schema_) == (TRUNK, "main", 1)


def test_no_word_no_wish_and_no_permit_comes_over() -> None:
    asked = AskedToMerge(id="m", by=LEAD, at=NOW, pull=PULL, head_sha=HEAD)
    ended = receipt(id=5002, voided=Voided(why="revoked", at=NOW - MINUTE, by="lead"))
    last = record(receipt(), receipt(SECOND, 5003), ended, open=(permit(),), asked=asked, status="merged")
    made = anew(last=last)
    after = made.record
    assert (after.standing, after.open, after.asked, after.round, after.status) == ((), (), None, None, "open")
    assert [a.voided and a.voided.why for a in after.authorizations] == ["rebuilt", "rebuilt", "revoked"]
    assert [one.id for one in made.voided] == ["5001", "5003"]
    assert kinds(plan(known=after)) == []
    assert "counts no more" in str(standing_of(after, observation(), FULL).verdict)


def test_what_is_known_of_the_past_stays() -> None:
    before = MergedRelease(pull=3, head_sha=OTHER, base="main", at=NOW - timedelta(days=1))
    heard = command("c0", "authorize-release", "lead", "done", now=NOW)
    after = anew(last=noted(record(merged=(before,), reported=("twin-1",), given_up=(4,)), heard)).record
    assert (after.merged, after.reported, after.given_up) == ((before,), ("twin-1",), (4,))
    assert known(after, "c0") is not None


def test_the_command_is_known_by_its_answer() -> None:
    made = anew()
    done = known(made.record, "c1")
    assert done is not None
    assert (done.verb, done.by, done.answer) == ("recover", "maya", made.answer)
    assert f"`/recovery authorize-release {HEAD}`" in made.answer


def test_the_record_stays_small() -> None:
    many = record(*(receipt(id=6000 + n) for n in range(15)))
    old = tuple(receipt(id=7000 + n, voided=Voided(why="expired", at=NOW)) for n in range(KEPT_VOIDED))
    after = anew(last=many.model_copy(update={"authorizations": (*old, *many.authorizations)})).record
    assert len(after.authorizations) == 15
    assert {a.voided.why for a in after.authorizations if a.voided} == {"rebuilt"}


FIRST = {"number": 3, "node_id": "PR_3"}
SHOWN = "\n**Authorized** for `{}` by lead, until later.\n"
FOUND_AGAIN: list[tuple[str, tuple[Any, ...], int | None]] = [
    ("our open one", (pull(),), PULL),
    ("our open one whose base somebody changed", (pull(base="dev"),), PULL),
    ("a person's that has our comment", (pull(author=PERSON),), PULL),
    ("a person's without any", (pull(author=PERSON, comments=()),), None),
    ("two of ours", (pull(), pull(**FIRST)), None),
    ("ours beside a person's", (pull(), pull(**FIRST, author=PERSON, comments=())), PULL),
    ("a closed one of ours", (pull(state="CLOSED"),), PULL),
    ("a closed one before a merged one", (merged(NOW - MINUTE), pull(**FIRST, state="CLOSED")), PULL),
    ("a closed one and an open one", (pull(state="CLOSED"), pull(**FIRST)), 3),
    ("one that was merged after the loss was told", (merged(NOW, comments=(MARK, told(NOW - MINUTE))),), PULL),
    (
        "one that was merged before that, and shown as authorized",
        (merged(NOW - MINUTE, comments=(OwnComment(11, release_marker(TRUNK) + SHOWN.format(HEAD), NOW),)),),
        None,
    ),
    (
        "one that was shown as authorized at another head",
        (merged(NOW - MINUTE, comments=(OwnComment(11, release_marker(TRUNK) + SHOWN.format(OTHER), NOW),)),),
        PULL,
    ),
    (
        "one of whose comment somebody made that",
        (merged(NOW - MINUTE, comments=(OwnComment(11, release_marker(TRUNK) + SHOWN.format(HEAD), NOW, True),)),),
        PULL,
    ),
    ("none", (), None),
]


@pytest.mark.parametrize(("pulls", "number"), [case[1:] for case in FOUND_AGAIN], ids=[c[0] for c in FOUND_AGAIN])
def test_the_pr_is_found_again_where_there_is_no_doubt(pulls: tuple[Any, ...], number: int | None) -> None:
    after = anew(observation(pulls=pulls)).record
    assert (after.pull, after.comment_id) == (number, 11 if number is not None else None)


@pytest.mark.parametrize("known", [True, False], ids=["last record known", "nothing known"])
def test_a_merge_that_still_comes_is_an_incident(known: bool) -> None:
    after = anew(last=record(receipt(), open=(permit(),)) if known else None).record
    later = replace(observation(pulls=(merged(NOW + MINUTE),)), now=NOW + 2 * MINUTE)
    seen = merge_seen(later.pulls[0], after, later, FULL)
    assert seen is not None
    assert seen.problem is not None
    assert "nobody's word" in seen.problem
    assert not seen.merged.ours
    assert kinds(plan(later, after))[0] == "NoteReleaseMerge"


@pytest.mark.parametrize(
    ("edge", "at", "told_of"),
    [
        (FOUND, NOW - 5 * MINUTE, True),
        (edge_damaged(9), NOW - 5 * MINUTE, True),
        (edge_moved(4), NOW - 5 * MINUTE, False),
        (FOUND, NOW + MINUTE, False),
    ],
    ids=["after the report", "told under another name", "another loss", "before the report"],
)
def test_what_was_merged_since_the_loss_was_told_is_an_incident(edge: str, at: datetime, told_of: bool) -> None:
    # Another PR has taken its place meanwhile, so it is not the recorded one.
    gone = merged(NOW - 2 * MINUTE, number=6, node_id="PR_6", comments=(MARK, told(at, edge)))
    seen = observation(pulls=(pull(), gone))
    after = anew(seen).record
    assert (merge_seen(gone, after, seen, FULL) is not None) == told_of
    assert after.pull == PULL


def test_what_was_said_before_counts_no_more() -> None:
    after = anew().record
    for at in (NOW - MINUTE, NOW):
        assert isinstance(said_before(after, at), Blocked)
    assert said_before(after, NOW + timedelta(seconds=1)) is None
    assert said_before(record(), NOW - MINUTE) is None
    source = Source(comment_id=5001, number=PULL, created_at=NOW - 10 * MINUTE, body_digest="0" * 64)
    blocked = authorize(ReleaseGrounds(after, observation(), FULL, PULL), by=LEAD, sha=HEAD, source=source)
    assert isinstance(blocked, Blocked)
    assert "was begun anew" in blocked.reason


def test_a_sound_ledger_is_told_apart() -> None:
    assert "maya had it begun anew" in sound(anew().record).reason
    assert "maya" not in sound(record()).reason
    assert "sound" in sound(None).reason


def test_the_comment_tells_of_it_until_somebody_authorizes_anew() -> None:
    after = anew(last=record(receipt())).record

    def shown(now: ReleaseRecord, policy: Policy = FULL) -> str:
        return release_comment(now, standing_of(now, observation(), policy), observation(), policy)

    assert "maya had the ledger of this release begun anew" in shown(after)
    later = after.model_copy(update={"authorizations": (*after.authorizations, receipt(id=5009, at=NOW))})
    assert "begun anew" not in shown(later)
