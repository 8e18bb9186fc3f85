"""Values of a project's items: setting and clearing one, with the event that tells from what to what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.emulator.acts.project_fields import checked_value
from app.emulator.acts.projects import tell_item
from app.emulator.errors import ApiError
from app.emulator.state import Actor
from app.emulator.state_projects import WRITABLE, FieldValue, ProjectField, ProjectItem
from app.emulator.world import World


def set_value(
    world: World, item: ProjectItem, field: ProjectField, given: Mapping[str, Any], actor: Actor
) -> FieldValue:
    """Set one field of an item. There is no compare-and-set: the last writer wins. Raises 422."""
    if item.archived_at is not None:
        raise ApiError(422, "An archived item cannot be changed")
    value = checked_value(field, given)
    now, kept = world.clock.stamp(), item.values.get(field.id)
    before = _shown(field, kept)
    if kept is None:
        kept = FieldValue(world.ids.next("project_value"), item, field, value, actor.account, now, now)
        item.values[field.id] = kept
    elif kept.value == value:
        return kept
    kept.value, kept.updated_at, item.updated_at = value, now, now
    _tell(world, item, field, before, _shown(field, kept), actor)
    return kept


def clear_value(world: World, item: ProjectItem, field: ProjectField, actor: Actor) -> None:
    """Empty one field of an item. Raises 422."""
    if item.archived_at is not None:
        raise ApiError(422, "An archived item cannot be changed")
    if field.type not in WRITABLE:
        raise ApiError(422, f"The field of type {field.type.lower()} is currently not supported.")
    kept = item.values.pop(field.id, None)
    if kept is not None:
        item.updated_at = world.clock.stamp()
        _tell(world, item, field, _shown(field, kept), None, actor)


def _tell(world: World, item: ProjectItem, field: ProjectField, before: Any, after: Any, actor: Actor) -> None:
    change = {
        "field_node_id": field.node_id,
        "field_type": field.type.lower(),
        "field_name": field.name,
        "project_number": item.project.number,
        "from": before,
        "to": after,
    }
    tell_item(world, item, "edited", actor, changes={"field_value": change})


def _shown(field: ProjectField, kept: FieldValue | None) -> Any:
    if kept is None:
        return None
    if field.type == "SINGLE_SELECT":
        option = field.option(str(kept.value))
        if option is None:
            return None
        return {"id": option.id, "name": option.name, "color": option.color, "description": option.description}
    if field.type == "ITERATION":
        found = field.iteration(str(kept.value))
        if found is None:
            return None
        return {
            "id": found.id,
            "title": found.title,
            "duration": found.duration,
            "start_date": found.start.isoformat(),
        }
    if field.type == "DATE":
        return f"{kept.value}T00:00:00+00:00"
    return kept.value
