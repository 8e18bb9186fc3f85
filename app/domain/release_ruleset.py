"""What guards the base of releases: what a ruleset of ours says, and what the rules that stand are worth.

A check that nothing requires is a word of advice: GitHub lets everybody merge past it. It holds where an active rule
requires it from our App and the App itself may not pass by; then the App's own merge is refused too, until its own
check is green.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.domain.required_checks import Required

NAME = "Agent Recovery release guard"
"""Our ruleset is found again by its name: GitHub takes each name once in a repository."""
_CHECKS = "required_status_checks"


class Enforcement(StrEnum):
    """Of a ruleset. `evaluate` only writes down what it would have refused, and not every plan has it."""

    ACTIVE = "active"
    EVALUATE = "evaluate"
    DISABLED = "disabled"


@dataclass(frozen=True)
class RulesetSeen:
    """A ruleset that requires a check of our name or bears our ruleset's. `own`: it is the repository's and not its
    owner's. `holds`: its rules hold for the branch now. `app_bypasses`: None where GitHub does not say. `bypassers`:
    who else may pass by, in words; None where the App may not see them. `rules`: as GitHub shows them.
    """

    id: int
    name: str
    source: str
    own: bool
    enforcement: str
    holds: bool
    required: tuple[Required, ...]
    app_bypasses: bool | None
    bypassers: tuple[str, ...] | None = None
    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    rules: tuple[Mapping[str, Any], ...] = ()
    bypass_actors: tuple[Mapping[str, Any], ...] | None = None

    @property
    def is_ours(self) -> bool:
        return self.own and self.name == NAME


@dataclass(frozen=True)
class BaseSeen:
    """The base of releases as its rules show it. `plan_without`: GitHub enforces no rules in this repository on its
    plan. `classic`: the checks that classic protection requires; `admins_pass`: whether administrators may merge past
    it, None where that is not shown. `unread`: what the App may not read.
    """

    branch: str
    exists: bool = True
    is_default: bool = False
    plan_without: bool = False
    rulesets: tuple[RulesetSeen, ...] = ()
    classic: tuple[Required, ...] = ()
    admins_pass: bool | None = None
    unread: tuple[str, ...] = ()

    @property
    def ours(self) -> RulesetSeen | None:
        return next((one for one in self.rulesets if one.is_ours), None)


class Worth(StrEnum):
    """What the release check is worth on a branch."""

    ENFORCED = "enforced"
    ADVISORY = "advisory"
    """Shown and not enforced: somebody merges past it and GitHub lets them."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Judged:
    """`worth` with its reason and, where somebody can do something, what. `notes`: what else a person should know."""

    worth: Worth
    reason: str
    remedy: str | None = None
    notes: tuple[str, ...] = ()


def judge(seen: BaseSeen, wanted: Required, fix: str) -> Judged:
    """What `wanted`, the release check from our App, is worth on the branch. `fix`: the command that mends it."""
    if not seen.exists:
        return Judged(Worth.ADVISORY, f"there is no branch {seen.branch}", "correct release.into in the policy")
    if seen.plan_without:
        return Judged(
            Worth.ADVISORY,
            "GitHub enforces no rules in this repository on its plan: anybody who may write can merge a release",
            "make the repository public, or move it to a plan with rulesets",
        )
    bound = [one for one in seen.rulesets if one.holds and wanted in one.required]
    firm = [one for one in bound if one.app_bypasses is False]
    notes = _notes(seen, bound, wanted)
    if firm:
        return Judged(Worth.ENFORCED, f"required by the ruleset {firm[0].name} ({firm[0].source})", notes=notes)
    if wanted in seen.classic:
        return Judged(Worth.ENFORCED, "required by the branch's classic protection", notes=notes)
    if any(one.app_bypasses is None for one in bound):
        return Judged(
            Worth.UNKNOWN,
            f"the ruleset {bound[0].name} requires it; GitHub does not say whether the App may bypass that ruleset",
            "look at its bypass list: the App must not be there",
            notes,
        )
    if bound:
        return Judged(
            Worth.ADVISORY,
            f"the App is a bypass actor of the ruleset {bound[0].name}: its own merges would pass unchecked",
            f"take the App out of its bypass list{f', or run {fix} --enforce' if bound[0].is_ours else ''}",
            notes,
        )
    if seen.unread:
        return Judged(Worth.UNKNOWN, f"the App may not read {' and '.join(seen.unread)}", notes=notes)
    return Judged(Worth.ADVISORY, *_not_required(seen, wanted, fix), notes=notes)


def _not_required(seen: BaseSeen, wanted: Required, fix: str) -> tuple[str, str]:
    """Why nothing requires the check there from our App, and what to do."""
    named = [one for one in (*_held(seen), *seen.classic) if one.name == wanted.name]
    if named:
        what = "from any source" if any(one.app_id is None for one in named) else "from another App"
        words = f"it is required there {what}: who may write can set a status of that name"
        return words, f"bind the requirement to this App, or run {fix}"
    ours = seen.ours
    if ours is not None and wanted in ours.required and ours.enforcement != Enforcement.ACTIVE:
        return f"the ruleset {NAME} stands and is not enforced ({ours.enforcement})", f"run {fix} --enforce"
    if ours is not None and not ours.holds and ours.enforcement == Enforcement.ACTIVE:
        return f"the ruleset {NAME} is active and does not reach {seen.branch}", f"run {fix}"
    return f"nothing requires it on {seen.branch}", f"run {fix}"


def _held(seen: BaseSeen) -> tuple[Required, ...]:
    return tuple(required for one in seen.rulesets if one.holds for required in one.required)


def _notes(seen: BaseSeen, bound: list[RulesetSeen], wanted: Required) -> tuple[str, ...]:
    notes = []
    for one in bound:
        if one.bypassers:
            notes.append(f"may merge past the ruleset {one.name}: {', '.join(one.bypassers)}")
        elif one.bypassers is None:
            notes.append(f"who may merge past the ruleset {one.name} is shown to administrators only")
    if wanted in seen.classic and seen.admins_pass is not False:
        who = "may" if seen.admins_pass else "may perhaps"
        notes.append(f"administrators {who} merge past the branch's classic protection")
    return tuple(notes)


@dataclass(frozen=True)
class Change:
    """What is to be written so that the check is required. `id`: of the ruleset that is to be changed, None for a new
    one. `body`: what is sent. `why`: in a few words each.
    """

    id: int | None
    body: Mapping[str, Any]
    why: tuple[str, ...]

    @property
    def enforcement(self) -> str:
        return str(self.body["enforcement"])


def change(seen: BaseSeen, wanted: Required, *, enforce: bool, enforced_already: bool) -> Change | None:
    """What mends the guard, or None where nothing is to be written: it stands as wanted, or another rule enforces the
    check and none of ours has to. What others put into our ruleset stays; it is never enforced less than it was.
    """
    ours = seen.ours
    if ours is None:
        if enforced_already:
            return None
        first = Enforcement.ACTIVE if enforce else Enforcement.EVALUATE
        return Change(None, _body(seen.branch, wanted, first), ("it does not stand yet",))
    why = []
    if wanted not in ours.required:
        why.append("it does not require the check from this App")
    reached = _reaches(seen, ours)
    if not reached:
        why.append(f"it does not reach {seen.branch}")
    kept = _bypass_without(ours, wanted)
    if kept != ours.bypass_actors:
        why.append("this App may bypass it")
    enforcement: str = Enforcement.ACTIVE if enforce else ours.enforcement
    if enforcement != ours.enforcement:
        why.append(f"it is not enforced ({ours.enforcement})")
    if not why:
        return None
    includes = ours.includes if reached else (*ours.includes, f"refs/heads/{seen.branch}")
    body: dict[str, Any] = {
        "name": NAME,
        "target": "branch",
        "enforcement": enforcement,
        "conditions": {"ref_name": {"include": list(includes), "exclude": list(_excludes(seen, ours))}},
        "rules": _rules_with(ours.rules, wanted),
    }
    if kept is not None:
        body["bypass_actors"] = [dict(one) for one in kept]
    return Change(ours.id, body, tuple(why))


def _body(branch: str, wanted: Required, enforcement: str) -> dict[str, Any]:
    return {
        "name": NAME,
        "target": "branch",
        "enforcement": enforcement,
        "conditions": {"ref_name": {"include": [f"refs/heads/{branch}"], "exclude": []}},
        "rules": _rules_with((), wanted),
        "bypass_actors": [],
    }


def _rules_with(rules: tuple[Mapping[str, Any], ...], wanted: Required) -> list[dict[str, Any]]:
    check = {"context": wanted.name, "integration_id": wanted.app_id}
    parameters: dict[str, Any] = {_CHECKS: [], "strict_required_status_checks_policy": False}
    kept = []
    for rule in rules:
        if rule.get("type") == _CHECKS:
            parameters = {**parameters, **(rule.get("parameters") or {})}
        else:
            kept.append(dict(rule))
    # Beside one that is bound to our App, one of the same name from any source would be met by a stranger's status.
    others = [one for one in parameters[_CHECKS] if one.get("context") != wanted.name]
    return [*kept, {"type": _CHECKS, "parameters": {**parameters, _CHECKS: [*others, check]}}]


def _names(seen: BaseSeen) -> frozenset[str]:
    return frozenset({f"refs/heads/{seen.branch}", "~ALL", *(("~DEFAULT_BRANCH",) if seen.is_default else ())})


def _reaches(seen: BaseSeen, ours: RulesetSeen) -> bool:
    return ours.holds or (bool(_names(seen) & set(ours.includes)) and not _names(seen) & set(ours.excludes))


def _excludes(seen: BaseSeen, ours: RulesetSeen) -> tuple[str, ...]:
    return tuple(name for name in ours.excludes if name not in _names(seen))


def _bypass_without(ours: RulesetSeen, wanted: Required) -> tuple[Mapping[str, Any], ...] | None:
    """Who may bypass it beside our App; None where that is not shown."""
    if ours.bypass_actors is None:
        return None
    return tuple(
        one
        for one in ours.bypass_actors
        if not (one.get("actor_type") == "Integration" and one.get("actor_id") == wanted.app_id)
    )
