"""The moments at which a checkpoint is written: section 5 of the recovery specification, each by its name.

The name is stored with the checkpoint. It tells a successor what may be half done: a checkpoint made before something
risky, with none after it, means that the risky thing may have begun.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Trigger(StrEnum):
    """Why a checkpoint was made at this moment."""

    MILESTONE = "milestone"
    BEFORE_RISK = "before-risk"
    SPAWN_BEFORE = "spawn-before"
    SPAWN_AFTER = "spawn-after"
    INTEGRATE = "integrate"
    RESTACK_BEFORE = "restack-before"
    RESTACK_AFTER = "restack-after"
    VALIDATION_START = "validation-start"
    VALIDATION_END = "validation-end"
    EFFECT_BEFORE = "effect-before"
    EFFECT_AFTER = "effect-after"
    WAITING = "waiting"
    SHUTDOWN = "shutdown"
    CONTEXT_LIMIT = "context-limit"
    CANCEL = "cancel"


TRIGGERS = frozenset(trigger.value for trigger in Trigger)

_MAY_BE_HALF_DONE = {
    Trigger.BEFORE_RISK: "a risky change was about to begin and may be half done: compare the tree with the commit",
    Trigger.SPAWN_BEFORE: "a child was about to be spawned: look whether it exists before you spawn it",
    Trigger.RESTACK_BEFORE: "the base was about to be moved: look which predecessor the branch stands on",
    Trigger.VALIDATION_START: "a validation was running; what it did not finish is not run, never passed",
    Trigger.EFFECT_BEFORE: "an effect outside Git was about to be made: find out whether it happened, then decide",
}
_ENDED_BY_ITSELF = {
    Trigger.WAITING: "the work waits for an answer",
    Trigger.SHUTDOWN: "the agent's machine was about to stop",
    Trigger.CONTEXT_LIMIT: "the agent's context was nearly full",
    Trigger.CANCEL: "the agent was cancelled",
}


_A_SUCCESSOR_NEEDS = (("objective",), ("next_steps", "pending_validation", "blockers"))
_TOLD_AT: dict[Trigger, tuple[tuple[str, ...], ...]] = {
    Trigger.RESTACK_BEFORE: (("predecessor_issue_or_pr",), ("predecessor_sha",)),
    Trigger.RESTACK_AFTER: (("predecessor_issue_or_pr",), ("predecessor_sha",)),
    Trigger.VALIDATION_START: (("pending_validation",),),
    Trigger.VALIDATION_END: (("validation_state",),),
    Trigger.WAITING: (("blockers",),),
    Trigger.SHUTDOWN: _A_SUCCESSOR_NEEDS,
    Trigger.CONTEXT_LIMIT: _A_SUCCESSOR_NEEDS,
    Trigger.CANCEL: _A_SUCCESSOR_NEEDS,
}
"""Of each group of fields a checkpoint made at this moment tells one. Children and effects are in the ledger itself."""


def untold_at(trigger: str | None, told: Mapping[str, Any]) -> tuple[str, ...]:
    """What a checkpoint made at this moment leaves out that a successor will look for in it: names of fields, with
    `or` where one of several would do. A remark to its maker, never a reason to refuse it.
    """
    groups = _TOLD_AT.get(Trigger(trigger), ()) if trigger in TRIGGERS else ()
    return tuple(" or ".join(group) for group in groups if not any(told.get(name) for name in group))


def status_at(trigger: str | None) -> str:
    """The status that goes with a checkpoint made at this moment, where its maker names none."""
    return "waiting" if trigger == Trigger.WAITING else "working"


def automatic(last: str | None, now: Trigger | None) -> Trigger | None:
    """The moment that a checkpoint made without the agent's word tells: the last one's, where that leaves something
    that may be half done, because nobody said that it is over; else its own.
    """
    open_moment = Trigger(last) if last in TRIGGERS else None
    return open_moment if open_moment in _MAY_BE_HALF_DONE else now


def meaning_of(trigger: str | None) -> str | None:
    """What a successor must know because the last checkpoint was made at this moment; None where nothing follows, or
    where the name is none of ours.
    """
    if trigger not in TRIGGERS:
        return None
    known = Trigger(trigger)
    return _MAY_BE_HALF_DONE.get(known) or _ENDED_BY_ITSELF.get(known)
