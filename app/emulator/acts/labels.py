"""Labels of a repository, and labels on Issues and pull requests."""

from __future__ import annotations

import re
from typing import Any

from app.emulator.acts.events import announce, record
from app.emulator.acts.issue_events import tell, touch
from app.emulator.errors import ApiError, invalid
from app.emulator.render import Render
from app.emulator.state import Actor, Issue, Label, Repository
from app.emulator.world import World

_COLOR = re.compile(r"[0-9a-fA-F]{6}\Z")
_MAX_NAME, _MAX_DESCRIPTION = 50, 100


def create_label(
    world: World, repo: Repository, actor: Actor, name: str, color: str | None, description: str | None
) -> Label:
    """A new label. Raises 422 when the name is taken, whatever its case, or a value is unfit."""
    _check(name, color, description)
    if name.lower() in repo.labels:
        raise invalid("Label", "name", "already_exists")
    label = world.label(repo, name, (color or "ededed").lower())
    label.description = description
    _tell(world, repo, label, "created", actor)
    return label


def edit_label(
    world: World,
    repo: Repository,
    label: Label,
    actor: Actor,
    *,
    name: str | None,
    color: str | None,
    description: str | None,
) -> None:
    """Rename or repaint a label; None leaves a value as it is."""
    _check(name if name is not None else label.name, color, description)
    changes: dict[str, Any] = {}
    if name is not None and name != label.name:
        other = repo.labels.get(name.lower())
        if other is not None and other is not label:
            raise invalid("Label", "name", "already_exists")
        changes["name"] = {"from": label.name}
        del repo.labels[label.name.lower()]
        label.name = name
        repo.labels[name.lower()] = label
    if color is not None and color.lower() != label.color:
        changes["color"] = {"from": label.color}
        label.color = color.lower()
    if description is not None and description != (label.description or ""):
        changes["description"] = {"from": label.description or ""}
        label.description = description
    if changes:
        _tell(world, repo, label, "edited", actor, changes=changes)


def delete_label(world: World, repo: Repository, label: Label, actor: Actor) -> None:
    """Remove a label from the repository and from everything that carries it."""
    del repo.labels[label.name.lower()]
    for issue in repo.issues.values():
        if label in issue.labels:
            issue.labels.remove(label)
    _tell(world, repo, label, "deleted", actor)


def add_labels(world: World, issue: Issue, names: list[str], actor: Actor) -> None:
    """Add labels; unknown ones are made, present ones are no change."""
    for label in find_labels(world, issue.repo, names, actor):
        if label not in issue.labels:
            issue.labels.append(label)
            touch(world, issue)
            tell_labeled(world, issue, label, actor)


def find_labels(world: World, repo: Repository, names: list[str], actor: Actor) -> list[Label]:
    """The labels of these names, each once; unknown ones are made, which is told. Raises 422, and makes none then."""
    for name in names:
        _check(name, None, None)
    found = [repo.labels.get(name.lower()) or create_label(world, repo, actor, name, None, None) for name in names]
    return list(dict.fromkeys(found))


def tell_labeled(world: World, issue: Issue, label: Label, actor: Actor) -> None:
    """Tell of a label that the Issue has now."""
    record(world, issue, "labeled", actor, label=label)
    tell(world, issue, "labeled", actor, label=Render(world).label(label, issue.repo))


def remove_label(world: World, issue: Issue, label: Label, actor: Actor) -> None:
    """Take a label off."""
    issue.labels.remove(label)
    touch(world, issue)
    record(world, issue, "unlabeled", actor, label=label)
    tell(world, issue, "unlabeled", actor, label=Render(world).label(label, issue.repo))


def set_labels(world: World, issue: Issue, names: list[str], actor: Actor) -> None:
    """Make the labels exactly these."""
    wanted = {n.lower() for n in names}
    for label in [x for x in issue.labels if x.name.lower() not in wanted]:
        remove_label(world, issue, label, actor)
    add_labels(world, issue, names, actor)


def _check(name: str, color: str | None, description: str | None) -> None:
    if not name.strip():
        raise invalid("Label", "name", "missing_field")
    for field, value, limit in (("name", name, _MAX_NAME), ("description", description or "", _MAX_DESCRIPTION)):
        if len(value) > limit:
            message = f"{field} is too long (maximum is {limit} characters)"
            raise ApiError(
                422,
                "Validation Failed",
                [{"resource": "Label", "code": "custom", "field": field, "message": message}],
            )
    if color is not None and not _COLOR.match(color):
        raise invalid("Label", "color")


def _tell(world: World, repo: Repository, label: Label, action: str, actor: Actor, **extra: Any) -> None:
    announce(world, repo, "label", {"action": action, "label": Render(world).label(label, repo)} | extra, actor)
