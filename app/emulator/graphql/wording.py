"""Errors of GraphQL documents and variables in GitHub's words, where they differ from the library's."""

from __future__ import annotations

import re
from typing import Any

from graphql import DocumentNode, GraphQLError, OperationDefinitionNode, print_ast

_UNKNOWN_FIELD = re.compile(r"Cannot query field '(\w+)' on type '(\w+)'")
_VARIABLE = re.compile(
    r"Variable '\$(?P<name>\w+)' (?:got invalid value .*?(?: at '(?P<path>[^']+)')?; |of )", re.DOTALL
)
_PROBLEMS = (
    (re.compile(r"Field '(?P<field>\w+)' is not defined by type '(?P<type>\w+)'"), "Field is not defined on {type}"),
    (re.compile(r"Field '(?P<field>\w+)' of required type"), "Expected value to not be null"),
    (re.compile(r"Value '(?P<value>[^']*)' does not exist in"), 'Expected "{value}" to be one of the members'),
)


def complaint(error: GraphQLError) -> dict[str, Any]:
    """An error found before the document was executed."""
    shown: dict[str, Any] = dict(error.formatted)
    unknown = _UNKNOWN_FIELD.match(error.message)
    if unknown:
        shown["message"] = f"Field '{unknown[1]}' doesn't exist on type '{unknown[2]}'"
        shown["extensions"] = {"code": "undefinedField", "typeName": unknown[2], "fieldName": unknown[1]}
    return shown


def variable_complaint(error: GraphQLError, document: DocumentNode) -> dict[str, Any] | None:
    """An error about a variable's value ("Variable $owner of type String! was provided invalid value",
    octokit/graphql-action#219); None if it is about something else."""
    found = _VARIABLE.match(error.message)
    if found is None or error.path is not None:
        return None
    name = found["name"]
    problem = str(error.original_error or "")
    path = re.split(r"[.\[\]]+", found["path"] or "")[1:]
    words = None
    for pattern, sentence in _PROBLEMS:
        matched = pattern.search(problem)
        if matched is not None:
            words = sentence.format(**matched.groupdict())
            path = [*path, *([matched["field"]] if "field" in matched.groupdict() else [])]
            break
    where = f" for {'.'.join(p for p in path if p)}" if path else ""
    why = f" ({words})" if words else ""
    message = f"Variable ${name} of type {_declared(document, name)} was provided invalid value{where}{why}"
    return {"message": message, "locations": error.formatted.get("locations")}


def _declared(document: DocumentNode, name: str) -> str:
    operations = [d for d in document.definitions if isinstance(d, OperationDefinitionNode)]
    types = [v.type for o in operations for v in o.variable_definitions if v.variable.name.value == name]
    return print_ast(types[0]) if types else ""
