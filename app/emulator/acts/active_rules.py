"""Which rules hold for a ref, and for whom they do not.

Patterns are those of Ruby's ``fnmatch`` with ``FNM_PATHNAME``, which GitHub's documentation names: ``*`` stays
within one segment, ``**/`` spans any number of them. Rules reach branches and tags and no other ref.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app.emulator.guard_state import Ruleset
from app.emulator.state import Actor, Repository

# The ids under which rulesets name the built-in roles.
_ROLE_IDS = {2: "maintain", 4: "write", 5: "admin"}
_RANK = ("none", "read", "triage", "write", "maintain", "admin")


@dataclass(frozen=True)
class ActiveRule:
    """A rule that holds for a ref, with the ruleset it comes from."""

    type: str
    parameters: dict[str, Any]
    ruleset: Ruleset


def active_rules(repo: Repository, ref: str) -> list[ActiveRule]:
    """The rules of all active rulesets that reach a full ref name, oldest ruleset first; the ref need not exist."""
    found = []
    for ruleset in repo.guard.rulesets.values():
        if ruleset.enforcement == "active" and reaches(ruleset, ref):
            found += [ActiveRule(r["type"], r.get("parameters") or {}, ruleset) for r in ruleset.rules]
    return found


def binding_rules(repo: Repository, ref: str, actor: Actor, *, by_pull: bool) -> list[ActiveRule]:
    """The active rules that this actor cannot bypass; some bypass only ``by_pull``, by merging a pull request."""
    return [r for r in active_rules(repo, ref) if not may_bypass(r.ruleset, actor, by_pull=by_pull)]


def reaches(ruleset: Ruleset, ref: str) -> bool:
    """Does the ruleset's target and its conditions reach the ref? An empty include reaches nothing."""
    prefix = "refs/heads/" if ruleset.target == "branch" else "refs/tags/"
    if not ref.startswith(prefix):
        return False
    names = ruleset.conditions.get("ref_name") or {}
    default = f"refs/heads/{ruleset.repo.default_branch}"
    included = any(_fits(p, ref, default) for p in names.get("include") or [])
    return included and not any(_fits(p, ref, default) for p in names.get("exclude") or [])


def may_bypass(ruleset: Ruleset, actor: Actor, *, by_pull: bool) -> bool:
    """Is the actor among those the ruleset lets pass, in this way of changing the ref?"""
    return bypass_mode(ruleset, actor) in (("always", "exempt", "pull_request") if by_pull else ("always", "exempt"))


def bypass_mode(ruleset: Ruleset, actor: Actor) -> str | None:
    """The widest mode in which the actor may bypass the ruleset, or None."""
    modes = {entry["bypass_mode"] for entry in ruleset.bypass_actors if _is(entry, ruleset.repo, actor)}
    return next((mode for mode in ("exempt", "always", "pull_request") if mode in modes), None)


def _is(entry: dict[str, Any], repo: Repository, actor: Actor) -> bool:
    kind, number = entry["actor_type"], entry.get("actor_id")
    if kind == "Integration":
        return actor.app is not None and actor.app.id == number
    if actor.app is not None:
        return False
    if kind == "RepositoryRole":
        needed = _ROLE_IDS.get(number or 0, "admin")
        return _RANK.index(repo.role_of(actor.account)) >= _RANK.index(needed)
    if kind == "OrganizationAdmin":
        return actor.account is repo.owner
    return kind == "User" and actor.account.id == number


def _fits(pattern: str, ref: str, default: str) -> bool:
    if pattern == "~ALL":
        return True
    if pattern == "~DEFAULT_BRANCH":
        return ref == default
    return _compiled(pattern).fullmatch(ref) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        rest = pattern[at:]
        group = re.match(r"\[([!^]?)([^\]]+)\]", rest)
        if rest.startswith("**/"):
            parts.append("(?:[^/]+/)*")
            at += 3
        elif rest[0] == "*":
            parts.append("[^/]*")
            at += len(rest) - len(rest.lstrip("*"))
        elif rest[0] == "?":
            parts.append("[^/]")
            at += 1
        elif group:
            negation = "^" if group[1] else ""
            parts.append(f"(?!/)[{negation}{re.escape(group[2]).replace(chr(92) + '-', '-')}]")
            at += group.end()
        elif rest[0] == "\\" and len(rest) > 1:
            parts.append(re.escape(rest[1]))
            at += 2
        else:
            parts.append(re.escape(rest[0]))
            at += 1
    return re.compile("".join(parts), re.S)
