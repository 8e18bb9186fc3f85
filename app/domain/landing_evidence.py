"""What GitHub shows about one pull request that is to land: rules, checks, reviews, conversations, files, mergeability.

Read only for a ticket that is to land now, and only read: `domain/landing.py` judges it. What could not be read is
None or says why, which is "unknown" and never "nothing".
"""

from dataclasses import dataclass
from typing import Literal

from app.domain.required_checks import Checks, Required

Method = Literal["merge", "squash", "rebase"]
MOST_FILES = 3000
"""GitHub lists no more files of a pull request than these."""


@dataclass(frozen=True)
class BranchRules:
    """What GitHub demands before anything is merged into one branch, rulesets and classic protection together.
    `methods`: the ways to merge that the repository and the rules leave. `unread`: in words, what of the rules the App
    may not read; a merge is refused by GitHub all the same where they are not met.
    """

    required: tuple[Required, ...] = ()
    strict: bool = False
    """The head has to contain the base's newest commit."""
    approvals: int = 0
    conversations: bool = False
    """Every conversation has to be resolved."""
    queue: bool = False
    """Merges go through a merge queue."""
    methods: frozenset[Method] = frozenset({"merge", "squash", "rebase"})
    unread: str | None = None


@dataclass(frozen=True)
class LandingEvidence:
    """One pull request with head `checks.sha`, as far as landing depends on it. `release_guard`: the rules of the base
    of releases require our release check from our App; None where that could not be read.
    """

    rules: BranchRules
    checks: Checks
    review: Literal["APPROVED", "CHANGES_REQUESTED", "REVIEW_REQUIRED"] | None
    """GitHub's own verdict; None where no review is asked for."""
    open_conversations: int
    mergeable: Literal["MERGEABLE", "CONFLICTING", "UNKNOWN"]
    merge_state: str
    """GitHub's mergeStateStatus: CLEAN, BEHIND, BLOCKED, DIRTY, UNSTABLE, HAS_HOOKS, DRAFT, UNKNOWN."""
    files: tuple[str, ...] | None
    """Every path that the change touches, names before a rename too; None where there are more than MOST_FILES."""
    base_files: tuple[str, ...]
    """Paths that the base changed since the two parted, read only where GitHub says CONFLICTING."""
    queued: bool
    auto_merge: bool
    release_guard: bool | None
