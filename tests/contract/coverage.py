"""What the emulator serves, as docs/emulator.md lists it: `make coverage` writes the list between its markers.

The names of operations are GitHub's, from the installed description; everything else is read from the emulator itself.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from graphql import GraphQLObjectType

from app.emulator.faults import DELIVERY_KINDS, REQUEST_KINDS
from app.emulator.graphql.execute import schema
from app.emulator.rest import routes
from tests.contract.judging import called_there, described
from tests.npm.packages import missing

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/emulator.md"
BEGIN = "<!-- Made by `make coverage`, not by hand. -->"
END = "<!-- The end of what `make coverage` made. -->"
_SAY = ("announce", "announce_to_owner", "announce_installation", "record")


def listed() -> str:
    """The whole list as Markdown."""
    events = sent_events()
    faults = ", ".join(f"`{kind}`" for kind in (*REQUEST_KINDS, *DELIVERY_KINDS))
    parts = [
        f"### REST: {len(routes.routes)} routes",
        "By the names of GitHub's operations (`x/y` is at docs.github.com/rest).",
        *rest(),
        "### GraphQL",
        "Types and their fields; connections, edges, payloads, inputs and enums go with them.",
        "\n".join(types()),
        f"Mutations: {', '.join(f'`{name}`' for name in fields_of('Mutation'))}.",
        f"### Events: {len(events)}",
        ", ".join(f"`{name}`" for name in events) + ".",
        f"### Faults: {len(REQUEST_KINDS) + len(DELIVERY_KINDS)}",
        f"{faults}.",
    ]
    return "\n\n".join(parts)


def rest() -> Iterator[str]:
    """A table for each of GitHub's areas."""
    description = described()
    areas: dict[str, list[str]] = defaultdict(list)
    for route in routes.routes:
        name = f"{route.method} {route.pattern}"
        operation = description.operation(called_there(name))
        area, _, short = operation.id.partition("/") if operation else ("none of GitHub's", "", "")
        path = re.sub(r"(:int|\*)\}", "}", route.pattern)
        areas[area].append(f"| {short} | `{route.method} {path}` |")
    for area, rows in sorted(areas.items()):
        yield "\n".join([f"| {area} | |", "|---|---|", *sorted(rows)])


def types() -> Iterator[str]:
    """A line for each object type that is worth a look."""
    roots = ("Mutation",)
    for kind in sorted(schema().type_map.values(), key=lambda t: t.name):
        part = kind.name.endswith(("Connection", "Edge", "Payload")) or kind.name.startswith("__")
        if isinstance(kind, GraphQLObjectType) and not part and kind.name not in roots:
            yield f"- `{kind.name}`: {', '.join(kind.fields)}"


def fields_of(name: str) -> list[str]:
    kind = schema().type_map[name]
    assert isinstance(kind, GraphQLObjectType)
    return sorted(kind.fields)


@cache
def sent_events() -> list[str]:
    """The events that the emulator's code names where it announces one."""
    trees = [ast.parse(path.read_text()) for path in sorted((ROOT / "app/emulator").rglob("*.py"))]
    returned = {
        each.name: set(_texts(n.value for n in ast.walk(each) if isinstance(n, ast.Return)))
        for tree in trees
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef) and each.name.startswith("event_")
    }
    found: set[str] = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Call) and _name(node.func) in _SAY:
            found.update(_texts(node.args))
            found.update(*(returned.get(_name(a.func), ()) for a in node.args if isinstance(a, ast.Call)))
    description = described()
    return sorted(found & {name.partition("/")[0] for name in description.event_names()})


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _texts(values: Iterable[ast.expr | None]) -> Iterator[str]:
    """The strings among these, also the two of a choice."""
    for value in values:
        if isinstance(value, ast.IfExp):
            yield from _texts([value.body, value.orelse])
        elif isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value


def with_list(page: str) -> str:
    """The page with the list as it is now. Raises ``ValueError`` when the markers are gone."""
    before, began, rest_of_it = page.partition(BEGIN)
    _, ended, after = rest_of_it.partition(END)
    if not began or not ended:
        raise ValueError(f"{PAGE} has lost its markers: {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n{listed()}\n\n{END}{after}"


if __name__ == "__main__":
    if reason := missing():
        sys.exit(reason)
    PAGE.write_text(with_list(PAGE.read_text()))
