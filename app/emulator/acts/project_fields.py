"""Fields of projects: making, changing and removing them, and what an item's value may be.

The refusals of single-select fields are worded as public projects measured them in August 2026; those of other fields
follow them.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from app.emulator.errors import ApiError
from app.emulator.state_projects import COLORS, WRITABLE, FieldOption, Iteration, Project, ProjectField
from app.emulator.world import World


def add_field(
    world: World,
    project: Project,
    name: str,
    kind: str,
    *,
    options: Sequence[Mapping[str, Any]] = (),
    iterations: Sequence[Mapping[str, Any]] = (),
    duration: int = 14,
) -> ProjectField:
    """A new field; options are given by name, iterations by title and start date. Raises 422 for a name in use."""
    if any(f.name.lower() == name.lower() for f in project.fields):
        raise ApiError(422, "Name has already been taken")
    now = world.clock.stamp()
    made = ProjectField(world.ids.next("project_field"), project, name, kind, now, now, duration=duration)
    made.options = new_options(options)
    made.iterations = new_iterations(iterations, duration)
    project.fields.append(made)
    return made


def new_options(options: Sequence[Mapping[str, Any]]) -> list[FieldOption]:
    """Choices with ids of their own, which no earlier ones had."""
    made = []
    for option in options:
        color = str(option.get("color") or "GRAY").upper()
        if color not in COLORS:
            raise ApiError(422, f"Unknown color {color}")
        made.append(FieldOption(secrets.token_hex(4), str(option["name"]), color, str(option.get("description") or "")))
    return made


def new_iterations(iterations: Sequence[Mapping[str, Any]], duration: int) -> list[Iteration]:
    """Iterations with ids of their own; one without a start follows the one before it."""
    made: list[Iteration] = []
    for given in iterations:
        days = int(given.get("duration") or duration)
        if given.get("start_date"):
            start = date.fromisoformat(str(given["start_date"]))
        else:
            start = made[-1].start + timedelta(days=made[-1].duration) if made else date(2026, 1, 5)
        made.append(Iteration(secrets.token_hex(4), str(given["title"]), start.isoformat(), days))
    return made


def replace_options(world: World, field: ProjectField, options: Sequence[Mapping[str, Any]]) -> None:
    """Change a field's choices. All ids are new, and items lose what they had, as when GitHub's API does it."""
    field.options = new_options(options)
    field.updated_at = world.clock.stamp()
    _forget_values(field)


def remove_field(field: ProjectField) -> None:
    """Remove a field with everything items had in it."""
    field.project.fields.remove(field)
    _forget_values(field)


def _forget_values(field: ProjectField) -> None:
    for item in field.project.items:
        item.values.pop(field.id, None)


def checked_value(field: ProjectField, given: Mapping[str, Any]) -> str | float:
    """The value a field takes from ``ProjectV2FieldValue``. Raises 422 with GitHub's reason."""
    member = WRITABLE.get(field.type)
    if member is None:
        raise ApiError(422, f"The field of type {field.type.lower()} is currently not supported.")
    named = {name: value for name, value in given.items() if value is not None}
    words = {
        "TEXT": "a text value",
        "NUMBER": "a number value",
        "DATE": "a date value",
        "SINGLE_SELECT": "a single select option Id",
        "ITERATION": "an iteration Id",
    }
    if member not in named:
        raise ApiError(422, f"Did not receive {words[field.type]} to update a field of type {field.type.lower()}")
    if len(named) > 1:
        raise ApiError(422, "Exactly one value must be given to update a field")
    value = named[member]
    if field.type == "SINGLE_SELECT" and field.option(value) is None:
        raise ApiError(422, "The single select option Id does not belong to the field")
    if field.type == "ITERATION" and field.iteration(value) is None:
        raise ApiError(422, "This iteration is none of the field")
    if field.type == "NUMBER":
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ApiError(422, "The value is not a number")
        return float(value)
    if field.type == "DATE":
        return checked_date(value)
    return str(value)


def checked_date(value: object) -> str:
    """An ISO date, without the time some clients send along. Raises 422."""
    try:
        return date.fromisoformat(str(value)[:10]).isoformat()
    except ValueError:
        raise ApiError(422, f"{value} is not a valid date") from None
