"""Connections: GitHub's pagination with its refusals."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Any

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLResolveInfo,
    InlineFragmentNode,
    SelectionSetNode,
    default_field_resolver,
    get_named_type,
)

from app.emulator.errors import GraphQLRefusal

MAX_PAGE = 100


def connection(
    name: str,
    items: Sequence[Any],
    view: Callable[[Any], Any],
    *,
    first: int | None = None,
    last: int | None = None,
    after: str | None = None,
    before: str | None = None,
) -> dict[str, Any]:
    """One page of ``items``; only what is shown is turned into views. Raises :class:`GraphQLRefusal`."""
    if first is None and last is None:
        raise _without_bounds(name)
    for word, value in (("first", first), ("last", last)):
        if value is not None and not 0 <= value <= MAX_PAGE:
            raise GraphQLRefusal(
                "EXCESSIVE_PAGINATION",
                f"Requesting {value} records on the `{name}` connection exceeds the `{word}` limit of "
                f"{MAX_PAGE} records.",
            )
    start = _position(after) if after else 0
    end = _position(before) - 1 if before else len(items)
    start, end = min(start, len(items)), max(0, min(end, len(items)))
    if first is not None:
        end = min(end, start + first)
    if last is not None:
        start = max(start, end - last)
    shown = [view(item) for item in items[start:end]]
    cursors = [_cursor(position + 1) for position in range(start, start + len(shown))]
    return {
        "nodes": shown,
        "edges": [{"cursor": c, "node": n} for c, n in zip(cursors, shown, strict=True)],
        "pageInfo": {
            "startCursor": cursors[0] if cursors else None,
            "endCursor": cursors[-1] if cursors else None,
            "hasNextPage": end < len(items),
            "hasPreviousPage": start > 0,
        },
        "totalCount": len(items),
    }


def resolve_field(source: Any, info: GraphQLResolveInfo, **args: Any) -> Any:
    """The default resolver, but for connections without bounds: they may be counted, not listed.

    `issues { totalCount }` needs neither `first` nor `last`, and many clients know (gh: `users { totalCount }`).
    """
    kind = get_named_type(info.return_type)
    if kind.name.endswith("Connection") and args.get("first") is None and args.get("last") is None:
        if any(_lists(node.selection_set, info) for node in info.field_nodes):
            raise _without_bounds(info.field_name)
        args["first"] = 0
    return default_field_resolver(source, info, **args)


def _lists(selections: SelectionSetNode | None, info: GraphQLResolveInfo) -> bool:
    for node in selections.selections if selections is not None else ():
        if isinstance(node, FieldNode):
            if node.name.value in ("nodes", "edges", "pageInfo"):
                return True
        else:
            inside = info.fragments[node.name.value] if isinstance(node, FragmentSpreadNode) else node
            if isinstance(inside, FragmentDefinitionNode | InlineFragmentNode) and _lists(inside.selection_set, info):
                return True
    return False


def _without_bounds(name: str) -> GraphQLRefusal:
    return GraphQLRefusal(
        "MISSING_PAGINATION_BOUNDARIES",
        f"You must provide a `first` or `last` value to properly paginate the `{name}` connection.",
    )


def ordered(items: Sequence[Any], order: dict[str, Any] | None) -> list[Any]:
    """``items`` as an ``orderBy`` input asks; None leaves them as they are, oldest first."""
    if order is None:
        return list(items)
    keys: dict[str, Callable[[Any], Any]] = {
        "CREATED_AT": lambda item: getattr(item, "number", item.id),
        "UPDATED_AT": lambda item: (item.updated_at, item.id),
        "COMMENTS": lambda item: (len(item.comments), item.id),
        "NAME": lambda item: item.name.lower(),
    }
    return sorted(items, key=keys[order["field"]], reverse=order["direction"] == "DESC")


def _cursor(position: int) -> str:
    return base64.b64encode(f"cursor:v2:{position}".encode()).decode()


def _position(cursor: str) -> int:
    try:
        return int(base64.b64decode(cursor, validate=True).decode().rpartition(":")[2])
    except (binascii.Error, ValueError):
        raise GraphQLRefusal("INVALID_CURSOR_ARGUMENTS", f"`{cursor}` does not appear to be a valid cursor.") from None
