"""A branch from which release after release goes: what was merged long ago is told once, and is never an incident."""

from dataclasses import replace
from datetime import timedelta

from release_scene import APP, NOW, PULL, kinds, observation, plan, pull, record

from app.domain.release_actions import NoteReleaseMerge
from app.domain.release_observation import ReleaseObservation, ReleasePull
from app.domain.release_record import KEPT_MERGED, MergedRelease, ReleaseRecord
from app.domain.release_settling import noted, with_merge
from app.domain.surroundings import Tip

MANY = KEPT_MERGED + 7
DAY = timedelta(days=1)


def _pull(n: int) -> ReleasePull:
    """The pull request of the n-th release."""
    at = NOW - (MANY - n) * DAY
    return pull(
        number=n, state="MERGED", head_sha=f"{n:040x}", merge_sha=f"{n + 500:040x}", merged_at=at, merged_by=APP
    )


def _seen(*numbers: int) -> ReleaseObservation:
    pulls = tuple(_pull(n) for n in sorted(numbers, reverse=True))
    return observation(pulls=pulls, trunk=Tip("release-1-2-0", pulls[0].head_sha, None), ahead=0, files=0)


def _after(*numbers: int) -> ReleaseRecord:
    """The ledger once these releases were merged, each at a person's word."""
    known = record(pull=None, begun_at=NOW - 100 * DAY)
    for n in numbers:
        one = _pull(n)
        assert one.merged_at is not None
        merged = MergedRelease(
            pull=n, head_sha=one.head_sha, base="main", merge_sha=one.merge_sha, at=one.merged_at, authorized=("1",)
        )
        known = with_merge(known, merged, None)
    return known


def test_more_releases_than_are_kept_are_no_incidents() -> None:
    every = range(1, MANY + 1)
    known = _after(*every)
    assert [m.pull for m in known.merged] == list(every)[-KEPT_MERGED:]
    assert plan(_seen(*every), known) == ()


def test_the_one_that_came_past_the_word_is_told_among_many() -> None:
    every = range(1, MANY + 1)
    told = [a for a in plan(_seen(*every), _after(*every[:-1])) if isinstance(a, NoteReleaseMerge)]
    assert [(a.merged.pull, a.problem is not None) for a in told] == [(MANY, True)]


def test_a_merge_of_the_ledgers_own_pr_is_noted_however_late() -> None:
    every = range(1, MANY + 1)
    known = _after(*every[1:]).model_copy(update={"pull": 1})
    (note,) = [a for a in plan(_seen(*every), known) if isinstance(a, NoteReleaseMerge)]
    after = noted(known, note)
    assert (note.merged.pull, after.pull) == (1, None)
    assert [i.pull for i in after.incidents] == [1]
    assert "NoteReleaseMerge" not in kinds(plan(_seen(*every), after))


def test_many_merges_in_one_look_are_told_once_each_in_whatever_order() -> None:
    every = range(1, MANY + 1)
    known = record(pull=None, begun_at=NOW - 100 * DAY)
    seen = _seen(*every)
    # The younger number was merged first.
    swapped = {1: seen.pulls[0].merged_at, MANY: seen.pulls[-1].merged_at}
    seen = replace(seen, pulls=tuple(replace(p, merged_at=swapped.get(p.number, p.merged_at)) for p in seen.pulls))
    for action in plan(seen, known):
        if isinstance(action, NoteReleaseMerge):
            known = noted(known, action)
    assert sorted(i.pull for i in known.incidents) == list(every)
    assert "NoteReleaseMerge" not in kinds(plan(seen, known))
    assert PULL in {i.pull for i in known.incidents}
