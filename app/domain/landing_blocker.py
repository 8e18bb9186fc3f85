"""What stands between a ready ticket and its trunk: every reason has a code, words for people, and a remedy.

Reason and remedy are our own words and numbers. What others wrote (names of checks, files, branches; GitHub's words)
stands beside them in `quoted`: on one line and shortened, and still theirs, so whoever shows it neutralises it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.domain.plain_text import one_line, shorten

MOST_NAMES = 5
_NAME_BYTES = 200


class BlockerCode(StrEnum):
    """In the order in which they are shown: first what a person decides, then what the ticket's agent does, then what
    others have to do first, last what only takes time.
    """

    POLICY_UNREADABLE = "policy_unreadable"
    MODE = "mode"
    INCIDENT = "incident"
    HELD = "held"
    ISSUE_CLOSED = "issue_closed"
    NOT_LANDABLE = "not_landable"
    WRONG_BASE = "wrong_base"
    DRAFT = "draft"
    TAMPERED = "tampered"
    FOREIGN_HEAD = "foreign_head"
    BURNED = "burned"
    UNFENCED = "unfenced"
    NOT_PUBLISHED = "not_published"
    NOT_READY = "not_ready"
    CONFLICT = "conflict"
    CHECKS_FAILED = "checks_failed"
    VERIFY_FAILED = "verify_failed"
    CHANGES_REQUESTED = "changes_requested"
    REVIEW_MISSING = "review_missing"
    CONVERSATIONS = "conversations"
    PROTECTED_PATHS = "protected_paths"
    TOO_MANY_FILES = "too_many_files"
    NO_GATE = "no_gate"
    UNGUARDED_BASE = "unguarded_base"
    METHOD = "method"
    REFUSED = "refused"
    AUTO_MERGE = "auto_merge"
    EFFECTS = "effects"
    CHILDREN = "children"
    CIRCLE = "circle"
    SEVERAL_PREDECESSORS = "several_predecessors"
    UNDERMINED = "undermined"
    STALE_BASE = "stale_base"
    PREDECESSOR = "predecessor"
    BLOCKED_BY = "blocked_by"
    SUB_ISSUES = "sub_issues"
    VERIFY_MISSING = "verify_missing"
    CHECKS_WAITING = "checks_waiting"
    QUEUED = "queued"
    HEAD_MOVING = "head_moving"
    MERGEABLE_UNKNOWN = "mergeable_unknown"
    NOT_LOOKED = "not_looked"


@dataclass(frozen=True)
class Blocker:
    """One reason not to land. `quoted`: what it is about, in others' words. `until`: when it is worth another look
    though nothing happened; None where a happening brings the look. `command`: what the holder runs, as an argument
    array, where it is one command.
    """

    code: BlockerCode
    reason: str
    remedy: str
    quoted: tuple[str, ...] = ()
    until: datetime | None = None
    command: tuple[str, ...] | None = None


_ORDER = {code: place for place, code in enumerate(BlockerCode)}


def in_order(blockers: Iterable[Blocker]) -> tuple[Blocker, ...]:
    """The most useful first; what was found twice stands once."""
    return tuple(sorted(dict.fromkeys(blockers), key=lambda b: _ORDER[b.code]))


def names(of: Iterable[str]) -> tuple[str, ...]:
    """What others wrote, as a blocker quotes it: one line each, shortened, the first five."""
    found = tuple(dict.fromkeys(of))[:MOST_NAMES]
    return tuple(shorten(one_line(name), _NAME_BYTES)[0] or "(no name)" for name in found)


MEANINGS: dict[BlockerCode, tuple[str, str]] = {
    BlockerCode.POLICY_UNREADABLE: (
        "The policy on the default branch has an error, and no earlier version of it is in force.",
        "Correct the line that the policy's check-run names.",
    ),
    BlockerCode.MODE: (
        "The policy's mode does not let the App merge anything.",
        "A person merges the PR, or the policy says `mode: full`.",
    ),
    BlockerCode.INCIDENT: (
        "A merge went another way than it was meant to; the ticket waits until a person has looked.",
        "Look at what happened, then take the ticket off hold.",
    ),
    BlockerCode.HELD: ("A person put the ticket on hold.", "A person takes it off hold."),
    BlockerCode.ISSUE_CLOSED: (
        "The ticket's Issue is closed or gone.",
        "Where the work is still wanted, reopen the Issue and say `/recovery recover`.",
    ),
    BlockerCode.NOT_LANDABLE: (
        "The PR is not of the class that lands: a ticket's own, open, from its branch onto a trunk. Nothing that goes "
        "into the base of releases ever is.",
        "Give the PR a trunk as its base, or name the base of releases in `release.into`.",
    ),
    BlockerCode.WRONG_BASE: (
        "The PR's base is another trunk than the record names.",
        "Point the PR at the recorded trunk, or retarget the ticket.",
    ),
    BlockerCode.DRAFT: ("The PR is a draft.", "Mark it as ready for review."),
    BlockerCode.TAMPERED: (
        "The branch does not contain the published commit any more.",
        "Wait: the App puts it back and looks again.",
    ),
    BlockerCode.FOREIGN_HEAD: (
        "Somebody who does not hold the ticket pushed onto its branch.",
        "The holder adopts the commits or puts the branch back, or a person accepts exactly this commit.",
    ),
    BlockerCode.BURNED: (
        "The head was taken back while its merge was on the way; it never lands.",
        "The holder publishes a new commit on top of it.",
    ),
    BlockerCode.UNFENCED: (
        "The head was not published by the ticket's present holder.",
        "The present holder publishes it, or a person accepts exactly this commit.",
    ),
    BlockerCode.NOT_PUBLISHED: ("Nothing was published yet.", "The holder pushes its work."),
    BlockerCode.NOT_READY: (
        "The holder has not said that the work is ready.",
        "The holder says ready, or a person says land for exactly this commit.",
    ),
    BlockerCode.CONFLICT: (
        "The work and its trunk changed the same places.",
        "The holder merges the trunk into the branch, resolves the files named, and pushes.",
    ),
    BlockerCode.CHECKS_FAILED: (
        "A required check did not pass on exactly this commit.",
        "The holder repairs it, or the check is run again.",
    ),
    BlockerCode.VERIFY_FAILED: (
        "The policy's verify commands failed on exactly this commit.",
        "The holder repairs it and validates again.",
    ),
    BlockerCode.CHANGES_REQUESTED: ("A reviewer asked for changes.", "Answer the review; the reviewer approves."),
    BlockerCode.REVIEW_MISSING: (
        "The rules ask for a review that is not given yet.",
        "A reviewer approves this commit.",
    ),
    BlockerCode.CONVERSATIONS: ("The rules ask that every conversation is resolved.", "Resolve them."),
    BlockerCode.PROTECTED_PATHS: (
        "The work changes files that the policy protects.",
        "A person looks at them and says land for exactly this commit.",
    ),
    BlockerCode.TOO_MANY_FILES: (
        "GitHub does not list all files of a change this large, so nobody can tell whether protected ones are among "
        "them.",
        "A person looks at it and says land for exactly this commit.",
    ),
    BlockerCode.NO_GATE: (
        "No check is required: neither the branch's rules nor the policy name one. Nothing red is not green.",
        "Name the checks in `landing.checks`, or say `landing.checks: none`.",
    ),
    BlockerCode.UNGUARDED_BASE: (
        "GitHub would let anybody merge into the base of releases without our release check.",
        "Require the check there by a ruleset (`agent-recovery doctor --repo OWNER/NAME --fix` writes it), or say "
        "`landing.unguarded_base: accept`.",
    ),
    BlockerCode.METHOD: (
        "The policy's merge method is switched off in the repository or by the branch's rules.",
        "Choose one of the allowed methods in `landing.method`, or allow it.",
    ),
    BlockerCode.REFUSED: ("GitHub refused the merge; its own words say why.", "Do what they say; it is tried again."),
    BlockerCode.AUTO_MERGE: (
        "Somebody switched auto-merge on for the PR, so GitHub may merge it at any moment.",
        "Switch auto-merge off; the App lands the ticket by itself.",
    ),
    BlockerCode.EFFECTS: (
        "An effect outside Git has no known end.",
        "Find out how it ended and settle it.",
    ),
    BlockerCode.CHILDREN: (
        "Something is still to come of a child of the ticket.",
        "The holder integrates or cancels it.",
    ),
    BlockerCode.CIRCLE: (
        "Tickets wait for each other in a circle, by the bases of their PRs or by dependencies of their Issues.",
        "Give one of them another base, or remove one dependency.",
    ),
    BlockerCode.SEVERAL_PREDECESSORS: (
        "The PR's base and the checkpoint name different tickets below, of which neither stands on the other.",
        "Give the PR its right base and record that predecessor, or stack one on the other.",
    ),
    BlockerCode.UNDERMINED: (
        "The ticket below was squashed or rebased onto the trunk, and the branch still holds its old commits.",
        "The holder runs the `git rebase --onto` that is named, and pushes.",
    ),
    BlockerCode.STALE_BASE: (
        "The ticket below in the stack is at another commit than this work was built on, or cannot be told.",
        "The holder takes its new state in and records it.",
    ),
    BlockerCode.PREDECESSOR: (
        "The ticket below in the stack has not landed.",
        "Wait: a stack lands from the bottom.",
    ),
    BlockerCode.BLOCKED_BY: ("An Issue that blocks this one is open.", "Close it, or take the dependency away."),
    BlockerCode.SUB_ISSUES: ("A sub-issue is open.", "Close it, or take it out of the Issue."),
    BlockerCode.VERIFY_MISSING: (
        "The policy's verify commands have not been run to their end on exactly this commit.",
        "The holder validates this commit.",
    ),
    BlockerCode.CHECKS_WAITING: (
        "A required check has not reported on exactly this commit.",
        "Wait while it runs. If it never comes, look whether its workflow runs for this branch.",
    ),
    BlockerCode.QUEUED: ("The PR waits in the merge queue.", "Wait: the queue merges it."),
    BlockerCode.HEAD_MOVING: (
        "The head moved while it was looked at, or GitHub has not caught up with a push.",
        "Wait: it is looked at again.",
    ),
    BlockerCode.MERGEABLE_UNKNOWN: (
        "GitHub is still working out whether the PR can be merged.",
        "Wait: it is asked again.",
    ),
    BlockerCode.NOT_LOOKED: (
        "What GitHub asks of this commit (rules, checks, reviews) was not read in this look.",
        "Wait: the next look reads it.",
    ),
}
"""What each code means and what helps, in general: for documentation. A `Blocker` says it for one ticket."""


def blocker_table() -> str:
    """The table of all blockers, in Markdown, in the order in which they are shown."""
    rows = [f"| `{code}` | {MEANINGS[code][0]} | {MEANINGS[code][1]} |" for code in BlockerCode]
    return "\n".join(["| code | what it means | what helps |", "|---|---|---|", *rows])
