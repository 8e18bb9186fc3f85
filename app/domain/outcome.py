"""Outcomes are values with reasons: whoever reads a refusal must learn what is missing and what to do next."""

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """Every reason the agent API refuses with; the command line turns each into an exit code."""

    USAGE = "usage"
    NOT_FOUND = "not_found"
    NOT_A_TICKET = "not_a_ticket"
    ISSUE_CLOSED = "issue_closed"
    TRUNK_UNCLEAR = "trunk_unclear"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    CHECKPOINT_TOO_LARGE = "checkpoint_too_large"
    CHECKPOINT_INVALID = "checkpoint_invalid"
    NOT_PUBLISHED = "not_published"
    STALE_GENERATION = "stale_generation"
    STALE_REQUEST = "stale_request"
    ENDED = "ended"
    MODE_OBSERVE = "mode_observe"
    WRITES_OFF = "writes_off"
    NO_POLICY = "no_policy"
    RESUME_DISABLED = "resume_disabled"
    TOO_OLD = "too_old"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    ATTEMPT_OVER = "attempt_over"
    ABANDONED = "abandoned"
    HELD = "held"
    FROZEN = "frozen"
    RECORD_FULL = "record_full"
    EFFECT_NOT_APPROVED = "effect_not_approved"
    EFFECT_RUNNING = "effect_running"
    EFFECT_UNKNOWN = "effect_unknown"
    SUSPENDED = "installation_suspended"
    LEASE_LIVE = "lease_live"
    LOST_RACE = "lost_race"
    FOREIGN_COMMITS = "foreign_commits"
    BRANCH_MOVED = "branch_moved"
    BRANCH_BLOCKED = "branch_blocked"
    CHILD_UNFINISHED = "child_unfinished"
    CHILD_FAILED = "child_failed"
    CHILD_STALE = "child_stale"
    MODE_REPAIR = "mode_repair"
    LANDED = "landed"
    LANDING_UNRESOLVED = "landing_unresolved"
    UNKNOWN_OUTCOME = "unknown_outcome"
    UNAVAILABLE = "unavailable"


class Exit:
    """Exit codes of the command line (never 0 on abort)."""

    OK = 0
    USAGE = 2
    FENCED_OUT = 3
    GATE_CLOSED = 4
    CONFLICT = 5
    UNKNOWN_EFFECT = 6
    UNAVAILABLE = 7


_EXITS: dict[Code, int] = {
    Code.STALE_GENERATION: Exit.FENCED_OUT,
    Code.ENDED: Exit.FENCED_OUT,
    Code.MODE_OBSERVE: Exit.GATE_CLOSED,
    Code.WRITES_OFF: Exit.GATE_CLOSED,
    Code.NO_POLICY: Exit.GATE_CLOSED,
    Code.RESUME_DISABLED: Exit.GATE_CLOSED,
    Code.TOO_OLD: Exit.GATE_CLOSED,
    Code.ATTEMPTS_EXHAUSTED: Exit.GATE_CLOSED,
    Code.ATTEMPT_OVER: Exit.GATE_CLOSED,
    Code.ABANDONED: Exit.GATE_CLOSED,
    Code.HELD: Exit.GATE_CLOSED,
    Code.FROZEN: Exit.GATE_CLOSED,
    Code.RECORD_FULL: Exit.GATE_CLOSED,
    Code.EFFECT_NOT_APPROVED: Exit.GATE_CLOSED,
    Code.EFFECT_RUNNING: Exit.CONFLICT,
    Code.EFFECT_UNKNOWN: Exit.UNKNOWN_EFFECT,
    Code.SUSPENDED: Exit.GATE_CLOSED,
    Code.FORBIDDEN: Exit.GATE_CLOSED,
    Code.ISSUE_CLOSED: Exit.GATE_CLOSED,
    Code.LEASE_LIVE: Exit.CONFLICT,
    Code.LOST_RACE: Exit.CONFLICT,
    # A late number is no lost lease: "fenced out" would make a living holder stop.
    Code.STALE_REQUEST: Exit.CONFLICT,
    Code.FOREIGN_COMMITS: Exit.CONFLICT,
    Code.BRANCH_MOVED: Exit.CONFLICT,
    Code.BRANCH_BLOCKED: Exit.CONFLICT,
    Code.CHILD_UNFINISHED: Exit.CONFLICT,
    Code.CHILD_FAILED: Exit.CONFLICT,
    Code.CHILD_STALE: Exit.CONFLICT,
    Code.MODE_REPAIR: Exit.GATE_CLOSED,
    Code.LANDED: Exit.CONFLICT,
    Code.LANDING_UNRESOLVED: Exit.UNKNOWN_EFFECT,
    Code.UNKNOWN_OUTCOME: Exit.UNKNOWN_EFFECT,
    Code.UNAVAILABLE: Exit.UNAVAILABLE,
}


def exit_code(code: Code) -> int:
    """The exit code that goes with a refusal (usage errors where nothing better fits)."""
    return _EXITS.get(code, Exit.USAGE)


_HTTP: dict[Code, int] = {
    Code.USAGE: 422,
    Code.NOT_FOUND: 404,
    Code.NOT_A_TICKET: 422,
    Code.TRUNK_UNCLEAR: 422,
    Code.UNAUTHENTICATED: 401,
    Code.FORBIDDEN: 403,
    Code.CHECKPOINT_TOO_LARGE: 413,
    Code.CHECKPOINT_INVALID: 422,
    Code.UNAVAILABLE: 503,
}


def http_status(code: Code) -> int:
    """The HTTP status that carries a refusal; 409 where the state of the ticket is the reason."""
    return _HTTP.get(code, 409)


@dataclass(frozen=True)
class Blocked:
    """Something will not be done: why, and what a person or agent can do about it.

    `holder` and `generation` are the current ones where the caller may know them; `retryable` means that
    the same call may pass later without anybody doing anything. `highest_seq`, with `stale_request`, is the highest
    number the ledger knows of this lease's requests: a holder that lost count goes on above it.
    """

    code: Code
    reason: str
    remedy: str
    retryable: bool = False
    holder: str | None = None
    generation: int | None = None
    highest_seq: int | None = None


class Refused(Exception):
    """Carries a `Blocked` out of nested calls to the edge (HTTP answer, exit code)."""

    def __init__(self, blocked: Blocked) -> None:
        super().__init__(f"{blocked.code}: {blocked.reason}")
        self.blocked = blocked
