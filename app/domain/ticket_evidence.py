"""Step 1 and criterion 1 of a recovery: the ticket's Issue, Project, trunk and dependencies, as GitHub shows them.

Everything here is other people's text and state: shown and compared, never acted on. An open dependency is named as a
blocker; a Project that names another release than the record is a contradiction that a person resolves.
"""

import re
from typing import Any

from app.domain.plain_text import one_line, shorten
from app.domain.policy import ProjectPolicy
from app.domain.recovery_view import Found, RecoveryView, Verdict
from app.domain.surroundings import Linked, ProjectItem

_PLAIN_RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_SHOWN = 20
_MAX_FIELD = 120


def found(view: RecoveryView) -> Found:
    """Step 1: what belongs together, with its evidence."""
    issue, pull, around = view.observation.issue, view.pull, view.observation.around
    if issue is None:
        return "blocked", "the Issue was not found", {}
    item, wanted = _item(view), view.policy.project if view.policy is not None else ProjectPolicy()
    evidence: dict[str, Any] = {
        "issue": issue.number,
        "issue_state": issue.state,
        "pull": pull.number if pull else None,
        "trunk": view.work.trunk if view.work else None,
        "milestone": _text(around.milestone),
        "parent": str(around.parent) if around.parent else None,
        "sub_issues": _counted(around.sub_issues),
        "blocked_by": _listed(around.blocked_by),
        "blocking": _listed(around.blocking),
        "project": _project(item, wanted),
    }
    met, reason = judged(view)
    waiting = open_dependencies(view)
    if waiting:
        reason = f"{reason}; it is blocked by {', '.join(map(str, waiting))}"
    return ("blocked" if met is False else "done"), reason, evidence


def judged(view: RecoveryView) -> Verdict:
    """Criterion 1: whether all of them are found and agree with the record."""
    issue, work, observation = view.observation.issue, view.work, view.observation
    if issue is None:
        return False, "the Issue was not found"
    if issue.state != "OPEN":
        return False, f"Issue #{issue.number} is closed"
    if work is None:
        return None, f"Issue #{issue.number} is open; the trunk is chosen by the first claim"
    if observation.trunk is None or observation.trunk.name != work.trunk:
        return False, "the recorded trunk does not stand any more"
    stands = f"Issue #{issue.number} is open and its trunk stands"
    wanted = view.policy.project if view.policy is not None else ProjectPolicy()
    if wanted.number is None:
        return True, f"{stands}; the policy names no Project"
    if observation.around.project_items is None:
        return None, f"{stands}; the App may not read Project {wanted.number}, so its fields are not compared"
    item = _item(view)
    if item is None:
        return False, f"Issue #{issue.number} is not in Project {wanted.number}, which the policy names"
    # A child's trunk is its parent's branch: which release it is for, the parent's own brief says.
    is_child = view.record is not None and view.record.child is not None
    release = item.fields.get(wanted.release_field) if not is_child else None
    if release is not None and not names_release(release, work.trunk):
        # A name without spaces is told; anything longer stands in the evidence, where it is data.
        says = release if _PLAIN_RELEASE.fullmatch(release) else "another release"
        field = f"its target release in Project {wanted.number}"
        return False, f"{field} says {says}, the record says {work.trunk}; a person decides which is right"
    return True, f"{stands}; Project {wanted.number} agrees with the record"


def open_dependencies(view: RecoveryView) -> tuple[Linked, ...]:
    """The Issues that this one waits for."""
    return tuple(linked for linked in view.observation.around.blocked_by if linked.is_open)


def names_release(text: str, trunk: str) -> bool:
    """Whether a Project's target release (`1.2.0`, `v1.2.0`, `Release 1.2.0`) means this trunk (`release-1-2-0`)."""
    return _release(text) == _release(trunk)


def _release(text: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return re.sub(r"^v(?=[0-9])", "", words.removeprefix("release-"))


def _item(view: RecoveryView) -> ProjectItem | None:
    wanted = view.policy.project.number if view.policy is not None else None
    items = view.observation.around.project_items or ()
    return next((item for item in items if item.number == wanted), None)


def _project(item: ProjectItem | None, wanted: ProjectPolicy) -> dict[str, Any] | None:
    if item is None:
        return None
    return {
        "number": item.number,
        "title": _text(item.title),
        "status": _text(item.fields.get(wanted.status_field)),
        "priority": _text(item.fields.get(wanted.priority_field)),
        "target_release": _text(item.fields.get(wanted.release_field)),
    }


def _listed(linked: tuple[Linked, ...]) -> list[str]:
    return [f"{one} {one.state.lower()}" for one in linked[:_SHOWN]]


def _counted(linked: tuple[Linked, ...]) -> dict[str, int]:
    still_open = sum(one.is_open for one in linked)
    return {"open": still_open, "closed": len(linked) - still_open}


def _text(text: str | None) -> str | None:
    return shorten(one_line(text), _MAX_FIELD)[0] if text is not None else None
