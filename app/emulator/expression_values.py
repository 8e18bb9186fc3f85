"""What expressions compute with: truth, equality and order by loose conversion, texts, and the functions.

Source: docs.github.com, "Evaluate expressions in workflows and actions" (operators, conversions, functions).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


class WrongValue(ValueError):
    """A function was given what it cannot use: the step or the run fails."""


class Filtered(list[Any]):
    """What `.*` gives: a property of it is that property of each of its members."""


@dataclass(frozen=True)
class Values:
    """The contexts, and the functions about the status, at one moment."""

    contexts: Mapping[str, Any]
    status: Mapping[str, Callable[[], bool]]

    @staticmethod
    def text(value: Any) -> str:
        """A value as it is written into a text."""
        return text_of(value)


def is_true(value: Any) -> bool:
    """Is a value taken for true? False are false, null, the empty text, zero and what is no number."""
    if isinstance(value, float) and math.isnan(value):
        return False
    if value is None or value is False or (value == "" and isinstance(value, str)):
        return False
    return not (isinstance(value, int | float) and value == 0)


def text_of(value: Any) -> str:
    """A value as it is written into a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number_text(value)
    if isinstance(value, Mapping):
        return "Object"
    return "Array" if isinstance(value, list) else str(value)


def _number_text(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"


def number_of(value: Any) -> float:
    """A value as a number; NaN where it is none."""
    if value is None or (value == "" and isinstance(value, str)):
        return 0.0
    if isinstance(value, bool | int | float):
        return float(value)
    if not isinstance(value, str):
        return math.nan
    text = value.strip()
    if re.fullmatch(r"0x[0-9A-Fa-f]+|0o[0-7]+", text):
        return float(int(text, 0))
    if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text):
        return float(text)
    return 0.0 if not text else math.nan


def equals(a: Any, b: Any) -> bool:
    """`==`: texts without regard to case, objects and arrays only as the same one, other kinds as numbers."""
    if isinstance(a, str) and isinstance(b, str):
        return a.upper() == b.upper()
    if a is None and b is None:
        return True
    if isinstance(a, Mapping | list) or isinstance(b, Mapping | list):
        return a is b
    return number_of(a) == number_of(b)


def less(a: Any, b: Any) -> bool:
    """`<`, by the same rules."""
    if isinstance(a, str) and isinstance(b, str):
        return a.upper() < b.upper()
    return number_of(a) < number_of(b)


def property_of(value: Any, key: Any) -> Any:
    """A property by name, or an item by number; null where there is none."""
    if isinstance(value, Filtered):
        return Filtered(found for item in value if (found := property_of(item, key)) is not None)
    if isinstance(value, Mapping):
        wanted = text_of(key).lower()
        return next((item for name, item in value.items() if str(name).lower() == wanted), None)
    if isinstance(value, list):
        number = number_of(key)
        return value[int(number)] if number >= 0 and number < len(value) else None
    return None


def filtered(value: Any) -> Filtered:
    """`.*`: all items of an array, or all values of an object."""
    if isinstance(value, Mapping):
        return Filtered(value.values())
    return Filtered(value) if isinstance(value, list) else Filtered()


@dataclass(frozen=True)
class Function:
    """A function and how many arguments it takes."""

    call: Callable[[list[Any]], Any]
    least: int
    most: int


def _contains(given: list[Any]) -> bool:
    where, what = given
    if isinstance(where, list):
        return any(equals(item, what) for item in where)
    return text_of(what).upper() in text_of(where).upper()


def _format(given: list[Any]) -> str:
    texts = [text_of(value) for value in given[1:]]

    def one(found: re.Match[str]) -> str:
        if found[0] in ("{{", "}}"):
            return found[0][0]
        if found[1] is None or int(found[1]) >= len(texts):
            raise WrongValue(f"The following format string is invalid: {given[0]}")
        return texts[int(found[1])]

    return re.sub(r"\{\{|\}\}|\{(\d+)\}|[{}]", one, text_of(given[0]))


def _join(given: list[Any]) -> str:
    separator = text_of(given[1]) if len(given) > 1 else ","
    items = given[0] if isinstance(given[0], list) else [given[0]]
    return separator.join(text_of(item) for item in items)


def _to_json(given: list[Any]) -> str:
    return json.dumps(given[0], indent=2, ensure_ascii=False, default=dict)


def _from_json(given: list[Any]) -> Any:
    text = text_of(given[0])
    if not text:
        raise WrongValue("Error parsing fromJson: the text is empty")
    try:
        return json.loads(text)
    except ValueError as error:
        raise WrongValue(f"Error parsing fromJson: {error}") from None


FUNCTIONS = {
    "contains": Function(_contains, 2, 2),
    "startswith": Function(lambda g: text_of(g[0]).upper().startswith(text_of(g[1]).upper()), 2, 2),
    "endswith": Function(lambda g: text_of(g[0]).upper().endswith(text_of(g[1]).upper()), 2, 2),
    "format": Function(_format, 1, 255),
    "join": Function(_join, 1, 2),
    "tojson": Function(_to_json, 1, 1),
    "fromjson": Function(_from_json, 1, 1),
}
