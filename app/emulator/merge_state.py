"""What GitHub says about whether a pull request can be merged.

Mergeability is computed in the background once somebody reads the single pull request, holds for two commits, and is
forgotten after a while ("Checking mergeability of pull requests" in the REST guide; how long is not documented).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.emulator.state import PullRequest

EXPIRY_S = 3600.0
"""Seconds by the emulated clock after which a computed mergeability is forgotten."""


@dataclass(frozen=True)
class TrialMerge:
    """A merge tried on two commits; ``mergeable`` None: asked for, not known yet."""

    head: str
    base: str
    asked_at: float
    mergeable: bool | None = None
    rebaseable: bool | None = None


def current_trial(pull: PullRequest, now: float) -> TrialMerge | None:
    """The trial that still holds for the pull request's present commits, or None."""
    trial = pull.trial
    if trial is None or pull.state != "open" or now - trial.asked_at > EXPIRY_S:
        return None
    return trial if (trial.head, trial.base) == (pull.head_sha, pull.repo.git.branch(pull.base_ref)) else None


def base_moved_since(pull: PullRequest) -> bool:
    """Was the last trial made on another base than the present one?"""
    trial = pull.trial
    return trial is not None and trial.base != pull.repo.git.branch(pull.base_ref)


def mergeable_state(pull: PullRequest, mergeable: bool | None, protection: Callable[[], str]) -> str:
    """``mergeable_state``; ``protection`` is asked only where merging is possible and not held back by a draft."""
    if mergeable is None:
        return "unknown"
    if not mergeable:
        return "dirty"
    return "draft" if pull.draft else protection()
