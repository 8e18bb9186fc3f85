"""Which release branch a ticket lands on: evidence or a clear word, never a guess."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.outcome import Blocked, Code
from app.domain.patterns import matches

SHOWN = 20
_NEVER_MEANT = ("ticket/", "agent-recovery/", "gh-readonly-queue/")


@dataclass(frozen=True)
class Trunk:
    """The branch a ticket lands on, by its short name, and why this one."""

    name: str
    because: str


def choose_trunk(
    requested: str | None,
    recorded: str | None,
    existing: Sequence[str],
    patterns: Sequence[str],
    default_branch: str,
    released: str | None = None,
) -> Trunk | Blocked:
    """The trunk the claim names, else the recorded one, else `released` (the one that the board's target release
    names), else the only existing branch that the policy's `trunks` match. The default branch is a trunk only where the
    policy names it letter by letter.
    """
    candidates = [name for name in dict.fromkeys(existing) if is_trunk(name, patterns, default_branch)]
    wanted, because = (requested, "the claim names it") if requested is not None else (recorded, "the record names it")
    if wanted is not None:
        if wanted in candidates:
            return Trunk(wanted, because)
        missing = "does not exist" if is_trunk(wanted, patterns, default_branch) else "is no trunk by the policy"
        return _unclear(f"the branch {wanted!r} {missing}", candidates)
    if released is not None and released in candidates:
        return Trunk(released, "the board's target release names it")
    if len(candidates) == 1:
        return Trunk(candidates[0], "the only branch that trunks in the policy match")
    count = "no existing branch matches" if not candidates else f"{len(candidates)} branches match"
    return _unclear(f"{count} trunks in the policy", candidates)


def is_trunk(name: str, patterns: Sequence[str], default_branch: str) -> bool:
    """Whether the policy's patterns make a branch a trunk. The default branch, tickets' branches and the App's own are
    trunks only where the policy names them letter by letter.
    """
    if name == default_branch or name.startswith(_NEVER_MEANT):
        return name in patterns
    return any(matches(pattern, name) for pattern in patterns)


def literal_prefixes(patterns: Sequence[str]) -> tuple[str, ...]:
    """What to list to find every branch the patterns can match: their text before the first wildcard, without those
    that a shorter one covers.
    """
    prefixes = sorted({re.split(r"[*?]", pattern, maxsplit=1)[0] for pattern in patterns})
    return tuple(p for p in prefixes if not any(p != other and p.startswith(other) for other in prefixes))


def _unclear(reason: str, candidates: Sequence[str]) -> Blocked:
    if not candidates:
        remedy = "create the release branch, or let trunks in .github/agent-recovery.yml match it; then claim again"
    else:
        more = f" and {len(candidates) - SHOWN} more" if len(candidates) > SHOWN else ""
        remedy = f"claim with --trunk NAME, one of: {', '.join(candidates[:SHOWN])}{more}"
    return Blocked(Code.TRUNK_UNCLEAR, reason, remedy)
