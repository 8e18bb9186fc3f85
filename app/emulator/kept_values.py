"""The state's objects as JSON: one text per object, other objects in it by number.

Things with an identity (plain classes and dataclasses with ``eq=False``) are numbered and written on their own. Values
(dataclasses that compare by their fields) are written where they stand, as are containers. Classes say what of them
is state as they say it to ``copy`` and ``pickle``: by ``__getstate__`` and ``__setstate__``. Only classes of this
package are ever read back, so a file from elsewhere can name nothing that runs.
"""

from __future__ import annotations

import base64
import dataclasses
import importlib
import json
from collections import deque
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from types import MethodType
from typing import Any

_PACKAGE = __name__.rpartition(".")[0]
_PLAIN = (str, int, float, bool, type(None))
_CONTAINERS: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset, "deque": deque}
_TIMES: dict[str, type[date]] = {"date": date, "datetime": datetime}


class NotKeepable(TypeError):
    """A value of a kind that cannot be written: its class needs a ``__getstate__`` that leaves it out."""


class UnknownKind(ValueError):
    """A stored object of a class that is not there (any more)."""


_SORTS: dict[type, str] = {}


def sort_of(kind: type) -> str:
    """How objects of a class are written: ``plain``, ``list``, ``dict``, ``container``, ``bytes``, ``time``, ``path``,
    ``method``, ``value`` (compares by its fields), ``thing`` (of this package, with an identity), or ``unknown``."""
    known = _SORTS.get(kind)
    if known is None:
        known = _SORTS[kind] = _judged(kind)
    return known


def _judged(kind: type) -> str:
    exact = {list: "list", dict: "dict", bytes: "bytes", date: "time", datetime: "time", MethodType: "method"}
    if kind in exact:
        return exact[kind]
    if kind in _PLAIN:
        return "plain"
    if kind in _CONTAINERS.values():
        return "container"
    if issubclass(kind, Path):
        return "path"
    if not kind.__module__.startswith(_PACKAGE):
        return "unknown"
    by_fields = dataclasses.is_dataclass(kind) and kind.__hash__ is not object.__hash__
    return "value" if by_fields else "thing"


def kind_name(kind: type) -> str:
    """The name under which a class is stored."""
    return f"{kind.__module__.removeprefix(_PACKAGE + '.')}:{kind.__qualname__}"


def kind_of(name: str) -> type[Any]:
    """The class of a stored name. Raises :class:`UnknownKind`."""
    module, _, qualname = name.partition(":")
    try:
        found: Any = importlib.import_module(f"{_PACKAGE}.{module}")
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        raise UnknownKind(name) from None
    if not isinstance(found, type) or found.__module__ != f"{_PACKAGE}.{module}":
        raise UnknownKind(name)
    return found


def state_of(thing: Any) -> dict[str, Any]:
    """The members that are state. The dictionary may be the object's own: it is not to be changed."""
    own: Any = type(thing).__getstate__
    state: dict[str, Any] = vars(thing) if own is object.__getstate__ else own(thing)
    return state


def members_of(thing: Any) -> list[str]:
    """What an object of this shape consists of: fields with their types, or the names of the members it has."""
    if dataclasses.is_dataclass(thing):
        return [f"{field.name}: {field.type}" for field in dataclasses.fields(thing)]
    return sorted(state_of(thing))


def give_state(thing: Any, state: dict[str, Any]) -> None:
    """The inverse of :func:`state_of`, for an object that has nothing yet."""
    if hasattr(thing, "__setstate__"):
        thing.__setstate__(state)
    else:
        thing.__dict__.update(state)


def snapshot(value: Any) -> Any:
    """A copy that stays as the value is now: containers and values copied, things shared."""
    kind = type(value)
    sort = sort_of(kind)
    if sort == "list":
        return [snapshot(item) if type(item) not in _PLAIN else item for item in value]
    if sort == "dict":
        return {key: snapshot(item) if type(item) not in _PLAIN else item for key, item in value.items()}
    if sort == "container":
        return kind(snapshot(item) for item in value)
    if sort == "value":
        copied = object.__new__(kind)
        copied.__dict__.update({name: snapshot(item) for name, item in vars(value).items()})
        return copied
    return value


def things_in(value: Any) -> list[Any]:
    """The thing itself and those it refers to, at any depth."""
    found: dict[int, Any] = {}

    def number(thing: Any) -> int:
        if id(thing) not in found:
            found[id(thing)] = thing
            writer.write(thing)
        return 0

    writer = Writer(number, Path("/"))
    number(value)
    return list(found.values())


class Writer:
    """Writes things; ``number`` gives the number of one, ``base`` is the folder that paths are relative to.

    ``kinds`` collects the classes it met, each with its members.
    """

    def __init__(self, number: Callable[[Any], int], base: Path) -> None:
        self.kinds: dict[type, list[str]] = {}
        self._number = number
        self._base = base

    def write(self, thing: Any) -> str:
        """The members of a thing as JSON. Raises :class:`NotKeepable`, naming class and member."""
        self._meet(thing)
        shown = {}
        for name, value in state_of(thing).items():
            try:
                shown[name] = self._shown(value)
            except NotKeepable as error:
                raise NotKeepable(f"{kind_name(type(thing))}.{name}: {error}") from None
        return json.dumps(shown, separators=(",", ":"), ensure_ascii=False)

    def _meet(self, part: Any) -> None:
        if type(part) not in self.kinds:
            self.kinds[type(part)] = members_of(part)

    def _shown(self, value: Any) -> Any:
        kind = type(value)
        sort = sort_of(kind)
        if sort == "plain":
            return value
        if sort == "thing":
            return {"thing": self._number(value)}
        if sort == "list":
            return [self._shown(item) for item in value]
        if sort == "dict":
            return {"dict": [[self._shown(key), self._shown(item)] for key, item in value.items()]}
        if sort == "container":
            return {kind.__name__: [self._shown(item) for item in value]}
        if sort == "bytes":
            return {"bytes": base64.b64encode(value).decode()}
        if sort == "time":
            return {kind.__name__: value.isoformat()}
        if sort == "path":
            inside = value.is_relative_to(self._base)
            return {"path": str(value.relative_to(self._base)) if inside else str(value.absolute())}
        if sort == "method" and sort_of(type(value.__self__)) == "thing":
            return {"method": [self._number(value.__self__), value.__name__]}
        if sort == "value":
            self._meet(value)
            members = {name: self._shown(item) for name, item in vars(value).items()}
            return {"value": [kind_name(kind), members]}
        raise NotKeepable(f"a {kind.__module__}.{kind.__qualname__} cannot be kept")


class Reader:
    """Reads what :class:`Writer` wrote; ``thing`` gives the object of a number, with or without its members yet."""

    def __init__(self, thing: Callable[[int], Any], base: Path) -> None:
        self._thing = thing
        self._base = base

    def read(self, text: str) -> dict[str, Any]:
        """The members of a thing. Raises :class:`UnknownKind` and ``ValueError``."""
        return {name: self._value(shown) for name, shown in json.loads(text).items()}

    def _value(self, shown: Any) -> Any:
        if isinstance(shown, list):
            return [self._value(item) for item in shown]
        if not isinstance(shown, dict):
            return shown
        ((tag, inner),) = shown.items()
        if tag == "dict":
            return {self._value(key): self._value(item) for key, item in inner}
        if tag in _CONTAINERS:
            return _CONTAINERS[tag](self._value(item) for item in inner)
        if tag == "bytes":
            return base64.b64decode(inner)
        if tag in _TIMES:
            return _TIMES[tag].fromisoformat(inner)
        if tag == "path":
            return self._base / inner
        if tag == "method":
            return MethodType(getattr(type(self._thing(inner[0])), inner[1]), self._thing(inner[0]))
        if tag == "value":
            kind = kind_of(inner[0])
            value: Any = object.__new__(kind)
            value.__dict__.update({name: self._value(item) for name, item in inner[1].items()})
            return value
        if tag == "thing":
            return self._thing(inner)
        raise ValueError(f"unknown tag {tag}")
