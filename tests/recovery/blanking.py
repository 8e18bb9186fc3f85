"""The fields of a brief, read from its model, and briefs in which one of them is blank."""

import copy
from collections.abc import Collection, Iterator
from typing import Any, get_args

from pydantic import BaseModel

Place = tuple[str, ...]


def fields(model: type[BaseModel], above: Place = (), leave_out: Collection[Place] = ()) -> Iterator[Place]:
    """The places of all fields that hold no fields of their own; lists of objects are gone through as one."""
    for name, field in model.model_fields.items():
        place = (*above, name)
        inner = _inner(field.annotation)
        if place in leave_out:
            continue
        if inner is None:
            yield place
        else:
            yield from fields(inner, place, leave_out)


def _inner(annotation: Any) -> type[BaseModel] | None:
    parts = [annotation, *get_args(annotation)]
    return next((p for p in parts if isinstance(p, type) and issubclass(p, BaseModel)), None)


def blanked(brief: dict[str, Any], place: Place) -> dict[str, Any] | None:
    """The brief with one field blanked, wherever it stands; None where it was blank already."""
    mutant = copy.deepcopy(brief)
    hits = [blank(holder, place[-1]) for holder in holders(mutant, place)]
    return mutant if any(hits) else None


def holders(brief: dict[str, Any], place: Place) -> list[dict[str, Any]]:
    """The objects in which the field stands: one, or as many as a list above it has."""
    found = [brief]
    for name in place[:-1]:
        inner = [holder[name] for holder in found]
        found = [h for each in inner for h in (each if isinstance(each, list) else [each])]
    return found


def blank(holder: dict[str, Any], name: str) -> bool:
    """Blanks a field; whether there was anything in it."""
    value = holder[name]
    holder[name] = [] if isinstance(value, list) else {} if isinstance(value, dict) else None
    return value not in (None, "", [], {})
