"""What comes after an answer to a merge: look again, try again, wait, queue, or show a person GitHub's words.

An answer that leaves open whether the merge happened is never followed by another merge before the pull request was
read. What is tried again is tried with the same SHA, and only as often as the table says.
"""

import re
from dataclasses import dataclass
from datetime import timedelta

from app.domain.merge_answer import MAX_BASE_RETRIES, Meaning, MergeAnswer, Seen, outcome_after
from app.domain.plain_text import one_line, shorten

PENDING_AGAIN = timedelta(minutes=1)
"""How long after "a check is expected" the same head is looked at again, if no event comes before."""
_MAX_WORDS = 300
# GitHub's own sentences, from the beginning of one: the name of a check may say anything.
_QUEUE = re.compile(r"(?:^|; )changes must be made through (?:the|a) merge queue", re.I)
_STACK = re.compile(r"(?:^|; )merging stacked PRs via this endpoint is not supported", re.I)


@dataclass(frozen=True)
class Landed:
    """Merged, with the head and into the base that were meant."""


@dataclass(frozen=True)
class ReadFirst:
    """Read the pull request before anything else: it may be merged."""

    reason: str


@dataclass(frozen=True)
class Reevaluate:
    """The head is another one: what was decided is void. Everything is judged anew for the new head."""

    reason: str


@dataclass(frozen=True)
class TryAgain:
    """The very same merge again, after a moment."""

    reason: str
    after: timedelta


@dataclass(frozen=True)
class Pending:
    """Nothing is wrong; something is still to come."""

    reason: str
    after: timedelta


@dataclass(frozen=True)
class ByQueue:
    """The base takes merges through its queue alone."""

    reason: str


@dataclass(frozen=True)
class ByStack:
    """GitHub keeps the pull request in a stack of its own, which merges asynchronously."""

    reason: str


@dataclass(frozen=True)
class RefusedBy:
    """A person or a rule has to change something first; GitHub's words, on one line, say what."""

    words: str


@dataclass(frozen=True)
class NotAsMeant:
    """It was merged, but with another head or into another base than was meant: an incident."""

    reason: str


Next = Landed | ReadFirst | Reevaluate | TryAgain | Pending | ByQueue | ByStack | RefusedBy | NotAsMeant


def after_answer(
    answer: MergeAnswer, *, wanted_sha: str, wanted_base: str, tries: int = 0, seen: Seen | None = None
) -> Next:
    """What to do next. `tries`: how often this merge was tried again already; `seen`: the pull request as it was read
    after the answer, None before that.
    """
    words = shorten(one_line(answer.words), _MAX_WORDS)[0]
    if seen is not None:
        return _after_reading(answer, seen, words, tries, wanted_sha=wanted_sha, wanted_base=wanted_base)
    match answer.meaning:
        case Meaning.MERGED | Meaning.VERIFY | Meaning.REFETCH | Meaning.TRANSIENT:
            # Merged, too: the words are about the head, and nothing binds the base (the ownership protocol, R22).
            return ReadFirst(f"GitHub answered: {words}" if words else "GitHub gave no usable answer")
        case Meaning.HEAD_MOVED:
            return Reevaluate(f"GitHub says that the head moved: {words}")
        case Meaning.PENDING:
            return Pending(words, PENDING_AGAIN)
    return _terminal(words)


def says_queue(words: str) -> bool:
    """Whether GitHub's words to a refused merge say that the base takes merges through its queue."""
    return _QUEUE.search(words) is not None


def _after_reading(
    answer: MergeAnswer, seen: Seen, words: str, tries: int, *, wanted_sha: str, wanted_base: str
) -> Next:
    outcome = outcome_after(answer, seen, wanted_sha=wanted_sha, wanted_base=wanted_base)
    if seen.merged and outcome is Meaning.MERGED:
        return Landed()
    if seen.merged:
        return NotAsMeant("it was merged with another head or into another base than was meant")
    if seen.base != wanted_base:
        return Reevaluate("the base of the pull request is another one now")
    match outcome:
        case Meaning.HEAD_MOVED:
            return Reevaluate("the head is another one now")
        case Meaning.PENDING:
            return Pending(words, PENDING_AGAIN)
        case Meaning.TRANSIENT if tries < MAX_BASE_RETRIES:
            return TryAgain(words or "no usable answer, and it is not merged", timedelta(seconds=2**tries))
        case Meaning.TRANSIENT | Meaning.REFETCH | Meaning.MERGED:
            # "Not mergeable" says nothing by itself: GitHub may not have computed it. So does a 200 whose merge does
            # not show yet.
            return Pending(words or "GitHub gives no answer that can be used", PENDING_AGAIN)
    return _terminal(words)


def _terminal(words: str) -> ByQueue | ByStack | RefusedBy:
    if _STACK.search(words):
        return ByStack(words)
    if _QUEUE.search(words):
        return ByQueue(words)
    return RefusedBy(words or "no reason given")
