"""Which PR is the release's now, whether its trunk brings anything, and whether its head is authorized."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from app.domain.authorization import Authorized, Judgement, NotYet, judged
from app.domain.policy import Policy
from app.domain.release_observation import ReleaseObservation, ReleasePull
from app.domain.release_record import Authorization, ReleaseRecord

Difference = Literal["none", "some", "unknown"]

LATELY = timedelta(hours=1)
"""How long the commits of words that ended are still looked at: GitHub may carry out a write long after it was sent."""


@dataclass(frozen=True)
class ReleaseStanding:
    """How a release stands. `pull`: its PR now, open or not. `twins`: all open ones, where there are several."""

    pull: ReleasePull | None
    judgements: tuple[Judgement, ...]
    verdict: Authorized | NotYet
    twins: tuple[ReleasePull, ...] = ()


def standing_of(record: ReleaseRecord | None, observation: ReleaseObservation, policy: Policy) -> ReleaseStanding:
    """How the release stands now. Of several open PRs the recorded one is its own, else the oldest, and none of them is
    authorized.
    """
    pull = release_pull(record, observation)
    receipts = record.authorizations if record is not None else ()
    judgements, verdict = judged(receipts, pull, observation, policy)
    twins = observation.open_pulls if len(observation.open_pulls) > 1 else ()
    if twins:
        names = ", ".join(f"#{p.number}" for p in twins)
        verdict = NotYet(f"there are several PRs of this release: {names}", "close all but one of them")
    return ReleaseStanding(pull, judgements, verdict, twins)


def release_pull(record: ReleaseRecord | None, observation: ReleaseObservation) -> ReleasePull | None:
    """The recorded PR while it is open with its base; else the oldest open one; else the recorded one as it is."""
    recorded = observation.pull(record.pull) if record is not None and record.pull is not None else None
    if recorded is not None and recorded in observation.open_pulls:
        return recorded
    return next(iter(observation.open_pulls), recorded)


def ended_lately(record: ReleaseRecord, now: datetime) -> tuple[Authorization, ...]:
    """Words that ended not long ago, and may have left a commit green that must not be. What was merged is no such
    commit, nor one that its author spoke of anew.
    """
    return tuple(
        a
        for a in record.authorizations
        if a.voided is not None and a.voided.why not in ("merged", "superseded") and now - a.voided.at < LATELY
    )


def difference(record: ReleaseRecord | None, observation: ReleaseObservation) -> Difference:
    """Whether the trunk brings files over the base of releases. Files decide, not commits: an empty commit brings
    nothing, and neither does what was merged already, squashed or not.
    """
    trunk, into = observation.trunk, observation.into
    if trunk is None or into is None:
        return "unknown"
    if trunk.sha == into.sha or observation.ahead == 0 or observation.files == 0:
        return "none"
    if trunk.tree is not None and trunk.tree == into.tree:
        return "none"
    merged = {m.head_sha for m in record.merged if m.base == observation.into_name} if record is not None else set()
    merged |= {p.head_sha for p in observation.pulls if p.state == "MERGED" and p.base == observation.into_name}
    if trunk.sha in merged:
        return "none"
    return "unknown" if observation.files is None else "some"
