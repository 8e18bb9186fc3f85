"""What an audit finds: things that cannot all be true, each with where it was seen."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What is wrong, in the word of the rule that noticed it."""

    LEDGER_DAMAGED = "ledger-damaged"
    LEDGER_MISPLACED = "ledger-misplaced"
    LEDGER_BEHIND = "ledger-behind"
    LEDGER_FORKED = "ledger-forked"
    LEDGER_MISSING = "ledger-missing"
    CHAIN_BROKEN = "chain-broken"
    TWO_NONCES = "two-nonces"
    BRANCH_FOREIGN = "branch-foreign"
    BRANCH_TAMPERED = "branch-tampered"
    PUBLISHED_BURNED = "published-burned"
    CHECK_NOT_EARNED = "check-not-earned"
    CHECK_IMITATED = "check-imitated"
    CHECK_MISSING = "check-missing"
    COMMENT_FORGED = "comment-forged"
    COMMENT_OLD = "comment-old"
    COMMENT_DOUBLED = "comment-doubled"
    COMMENT_MISSING = "comment-missing"
    PULL_MISSING = "pull-missing"
    PULL_DIFFERS = "pull-differs"
    STEP_NOT_PUBLISHED = "step-not-published"
    ISSUE_CLOSED = "issue-closed"
    RESULT_MOVED = "result-moved"
    RESULT_NOT_MERGED = "result-not-merged"
    CHILD_UNLISTED = "child-unlisted"
    EFFECT_UNKNOWN = "effect-unknown"
    ATTEMPTS = "attempts"


@dataclass(frozen=True)
class Lie:
    """One contradiction. `ticket` as it stands in refs; `seen` names the commit, number or ref it was seen at."""

    kind: Kind
    ticket: str
    what: str
    seen: str


@dataclass(frozen=True)
class Note:
    """Something the auditor could not check, so that its silence is not taken for an approval."""

    ticket: str
    what: str
