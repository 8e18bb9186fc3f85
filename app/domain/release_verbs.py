"""What a person may say about a release, and what each word makes of its record. Pure.

Wanted: the same word again changes nothing and is answered the same; an authorization is one person's word for exactly
one commit of one PR into one base; nothing but merge-release merges, and it merges only what is authorized when it is
said and again when it is done. A revoke that comes after the merge is answered with "merged".
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from app.domain.outcome import Blocked
from app.domain.policy import Policy
from app.domain.release_observation import ReleaseObservation
from app.domain.release_record import ReleaseRecord


@dataclass(frozen=True)
class ReleaseGrounds:
    """What a person's word about a release is judged by. `pull`: the PR that it was said on."""

    record: ReleaseRecord
    observation: ReleaseObservation
    policy: Policy
    pull: int

    @property
    def now(self) -> datetime:
        return self.observation.now


@dataclass(frozen=True)
class HeardRelease:
    """The record after a word, and the answer to whoever said it. `because`: what the word comes to in a few words of
    ours; empty where it changes nothing. `withdraws`: a merge may be under way that this word takes back: the guard is
    red, and the PR read, before the answer is given (the ownership protocol, R22).
    """

    record: ReleaseRecord
    answer: str
    because: str = ""
    withdraws: bool = False


ReleaseVerb = Callable[[ReleaseGrounds], HeardRelease | Blocked]
"""`authorize(g, by=Person, sha=str, source=Source)`, `revoke(g, by=Person)`, `merge(g, id=str, by=Person)`."""
