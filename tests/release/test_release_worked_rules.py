"""Who worked in a release is known before its merge only; what its merge is judged by stands in the receipts."""

from dataclasses import replace

import pytest
from release_scene import (
    AGENT,
    FULL,
    HEAD,
    LEAD,
    NOW,
    PULL,
    observation,
    permit,
    plan,
    pull,
    receipt,
    record,
    role,
    source_comment,
)

from app.domain.release_actions import NoteReleaseMerge, NoteWorked
from app.domain.release_incident import merge_seen
from app.domain.release_observation import Account, Unread
from app.domain.release_record import Person
from app.domain.release_settling import noted
from app.domain.surroundings import Tip

MERGED = observation(
    pulls=(pull(state="MERGED", merged_at=NOW, merge_sha="e" * 40, merged_by=Account("boss", 9)),),
    ahead=0,
    files=0,
    included=(),
)
"""What its merge leaves: nothing is ahead, so no ticket is found in it."""


@pytest.mark.parametrize("afterwards", [frozenset(), Unread("500"), frozenset({"dev-a"})])
@pytest.mark.parametrize(("by", "worked"), [(AGENT, True), (LEAD, False)])
def test_a_merge_is_judged_by_who_had_worked_in_it(
    by: Person, worked: bool, afterwards: frozenset[str] | Unread
) -> None:
    known = record(receipt(by, worked=worked))
    seen = merge_seen(MERGED.pulls[0], known, replace(MERGED, lease_accounts=afterwards), FULL)
    assert isinstance(seen, NoteReleaseMerge)
    assert (seen.problem is not None) is worked


def test_what_is_known_of_it_is_written_down_while_the_release_shows_it() -> None:
    before = record(receipt(AGENT, worked=None))
    working = observation(
        sources={5001: source_comment(AGENT)}, roles={3: role(AGENT)}, lease_accounts=frozenset({"dev-a"})
    )
    (note,) = [a for a in plan(working, before) if isinstance(a, NoteWorked)]
    after = noted(before, note)
    assert [a.worked for a in after.authorizations] == [True]
    assert not [a for a in plan(working, after) if isinstance(a, NoteWorked)]
    # The merge shows before its PR says so, and nothing of the release is ahead any more: that tells nothing.
    early = replace(working, lease_accounts=frozenset(), ahead=0)
    assert not [a for a in plan(early, after) if isinstance(a, NoteWorked)]
    unread = replace(working, lease_accounts=Unread("500"))
    assert not [a for a in plan(unread, after) if isinstance(a, NoteWorked)]


def test_a_merge_of_a_pull_request_that_github_shows_no_more_is_not_looked_at_without_a_pause() -> None:
    sent = permit("release_merge", state="fired", unanswered=True)
    gone = observation(pulls=(), trunk=Tip("elsewhere", HEAD, None))
    assert sent.target.number == PULL
    for action in plan(gone, record(open=(sent,)), dead=True):
        assert getattr(action, "until", None) != NOW
