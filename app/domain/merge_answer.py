"""What an answer to a merge request means. GitHub says 405 for a base that moved a second ago and for a method that is
switched off, and a 502 may stand before a merge that landed; only its words and another look tell them apart.

Every merge is asked for with the SHA it is meant for, so no answer can be about another head.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

MAX_BASE_RETRIES = 3


class Meaning(StrEnum):
    """What to do next."""

    MERGED = "merged"
    HEAD_MOVED = "head_moved"
    """409: the head is another one now. Evaluate it afresh; never merge the old SHA again."""
    TRANSIENT = "transient"
    """The base moved in the same moment: read again, then the same call, at most three times."""
    PENDING = "pending"
    """A required check has not reported yet, or runs."""
    REFETCH = "refetch"
    """`not mergeable` says nothing: it may be merged already, in conflict, or not yet computed. Read it first."""
    TERMINAL = "terminal"
    """A person or a rule has to change something; GitHub's words say what."""
    VERIFY = "verify"
    """No usable answer: it may have landed. Read it, and go on with the later steps if it did."""


@dataclass(frozen=True)
class MergeAnswer:
    """The meaning of one answer, and GitHub's own words for a person."""

    meaning: Meaning
    words: str


@dataclass(frozen=True)
class Seen:
    """The pull request as it was read after the answer."""

    merged: bool
    head_sha: str
    base: str


_PENDING = re.compile(r"^Required status check .+ (?:is expected|is in progress|is queued|is pending)\.?$", re.I)
_COUNTED = re.compile(r"^\d+ of \d+ required status checks? (?:are|is|have not succeeded:) (.+)$", re.I)
_HEADLINE = re.compile(r"^repository rule violations found$", re.I)


def meaning_of(status: int | None, message: str) -> MergeAnswer:
    """The meaning of GitHub's answer to `PUT /pulls/{n}/merge`; `status` None where none came."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    words = "; ".join(line for line in lines if not _HEADLINE.match(line)) or "; ".join(lines)
    if status is not None and 200 <= status < 300:
        return MergeAnswer(Meaning.MERGED, words)
    if status is None or status >= 500:
        return MergeAnswer(Meaning.VERIFY, words or "no answer")
    if status == 409:
        return MergeAnswer(Meaning.HEAD_MOVED, words)
    if status == 405:
        return MergeAnswer(_meaning_of_405(words, lines), words)
    return MergeAnswer(Meaning.TERMINAL, words)


def outcome_after(answer: MergeAnswer, seen: Seen, *, wanted_sha: str, wanted_base: str) -> Meaning:
    """What an answer that had to be verified comes to, once the pull request was read. Merged counts only for the head
    and base that were meant; merged otherwise is somebody else's merge, which a person has to look at.
    """
    if seen.merged:
        as_meant = (seen.head_sha, seen.base) == (wanted_sha, wanted_base)
        return Meaning.MERGED if as_meant else Meaning.TERMINAL
    if seen.head_sha != wanted_sha:
        return Meaning.HEAD_MOVED
    return Meaning.TRANSIENT if answer.meaning is Meaning.VERIFY else answer.meaning


def _meaning_of_405(words: str, lines: list[str]) -> Meaning:
    low = words.lower()
    if "base branch was modified" in low:
        return Meaning.TRANSIENT
    if "is not mergeable" in low:
        return Meaning.REFETCH
    told = [line for line in lines if not _HEADLINE.match(line)]
    if told and all(_is_pending(line) for line in told):
        return Meaning.PENDING
    return Meaning.TERMINAL


def _is_pending(line: str) -> bool:
    counted = _COUNTED.match(line)
    if counted is not None:
        return not re.search(r"fail|error|cancel|timed", counted[1], re.I)
    return _PENDING.match(line) is not None
