"""Where every kind of object finds its GraphQL view.

Views are plain objects whose attributes and methods carry the field names of the schema; the executor calls
them as ``f(info, **arguments)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from app.emulator.routing import Request
from app.emulator.state import Account

V = TypeVar("V", bound="type[View]")
_REGISTRY: list[tuple[type, type[View]]] = []


class View:
    """One object as one request sees it."""

    def __init__(self, request: Request, thing: Any) -> None:
        self.request = request
        self.thing = thing


def shows(kind: type) -> Callable[[V], V]:
    """Register a view class for a kind of object; the last registered of a family is tried first."""

    def register(view: V) -> V:
        _REGISTRY.insert(0, (kind, view))
        return view

    return register


def view(request: Request, thing: Any) -> Any:
    """The view of an object; None stays None, and whoever deleted the account is nobody."""
    if thing is None or (isinstance(thing, Account) and thing.gone):
        return None
    for kind, maker in _REGISTRY:
        if isinstance(thing, kind):
            return maker(request, thing)
    raise TypeError(f"no view for {type(thing).__name__}")


def viewer_of(request: Request) -> Callable[[Any], Any]:
    """:func:`view` bound to a request."""
    return lambda thing: view(request, thing)
