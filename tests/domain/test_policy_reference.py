"""The policy reference says of every key what the code says."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from app.domain.policy import Bounds, Policy, duration_seconds, duration_text

TEXT = (Path(__file__).parents[2] / "docs/policy.md").read_text()
ROWS = {
    row[1]: (row[2], row[3])
    for row in re.finditer(r"^\| `([a-z_.]+)` \| ([^|]+) \| ([^|]+) \| (?:Used|Planned)", TEXT, re.MULTILINE)
}


def keys(model: BaseModel, before: str = "") -> Iterator[tuple[str, object, Bounds | None]]:
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from keys(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value, next((m for m in field.metadata if isinstance(m, Bounds)), None)


KEYS = list(keys(Policy()))


def test_no_key_is_missing_or_too_much() -> None:
    assert sorted(ROWS) == sorted(name for name, _, _ in KEYS)


@pytest.mark.parametrize(("name", "value", "bounds"), KEYS, ids=[name for name, _, _ in KEYS])
def test_default_and_bounds(name: str, value: object, bounds: Bounds | None) -> None:
    default, allowed = ROWS[name]
    if isinstance(value, timedelta):
        assert default == f"`{duration_text(value)}`"
    elif isinstance(value, tuple):
        assert default == f"`[{', '.join(value)}]`"
    elif value is not None:
        assert default == f"`{str(value).lower() if isinstance(value, bool) else value}`"
    else:
        assert not default.startswith("`")
    if bounds is not None:
        low, high = allowed.split(",")[0].split(" to ")
        assert (duration_seconds(low), duration_seconds(high)) == (bounds.low, bounds.high)
