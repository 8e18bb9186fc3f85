"""What a GraphQL document costs and how many nodes it may ask for, told before it is executed.

Source: docs.github.com, "Rate limits and query limits for the GraphQL API": every connection is taken to reach its
`first` or `last`; the requests needed are summed and divided by 100, at least one point; 500,000 nodes at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    VariableNode,
    get_named_type,
)
from graphql.type import GraphQLInterfaceType, GraphQLNamedType

MAX_NODES = 500_000


@dataclass(frozen=True)
class Measured:
    """The price of a document: points, nodes at most, whether it changes things, and why it is refused if it is."""

    cost: int = 1
    nodes: int = 0
    mutates: bool = False
    refusal: str | None = None


def measure(
    schema: GraphQLSchema, document: DocumentNode, operation_name: str | None, variables: dict[str, Any]
) -> Measured:
    """Measure the operation that would be executed. The document has been validated."""
    operations = [d for d in document.definitions if isinstance(d, OperationDefinitionNode)]
    chosen = [o for o in operations if operation_name is None or (o.name and o.name.value == operation_name)]
    if len(chosen) != 1:
        return Measured()
    root = schema.get_root_type(chosen[0].operation)
    fragments = {d.name.value: d for d in document.definitions if isinstance(d, FragmentDefinitionNode)}
    walk = _Walk(schema, fragments, variables)
    if root is not None:
        walk.through(chosen[0].selection_set, root, 1)
    refusal = walk.refusal
    if refusal is None and walk.nodes > MAX_NODES:
        refusal = (
            f"This query requests up to {walk.nodes:,} possible nodes which exceeds the maximum limit of {MAX_NODES:,}."
        )
    cost = max(1, (walk.requests + 50) // 100)
    return Measured(cost, walk.nodes, chosen[0].operation is OperationType.MUTATION, refusal)


class _Walk:
    def __init__(
        self, schema: GraphQLSchema, fragments: dict[str, FragmentDefinitionNode], variables: dict[str, Any]
    ) -> None:
        self.schema, self.fragments, self.variables = schema, fragments, variables
        self.nodes = self.requests = 0
        self.refusal: str | None = None

    def through(self, selections: SelectionSetNode | None, parent: GraphQLNamedType, times: int) -> None:
        for node in selections.selections if selections is not None else ():
            if isinstance(node, FieldNode):
                self.field(node, parent, times)
            elif isinstance(node, InlineFragmentNode):
                named = node.type_condition.name.value if node.type_condition else parent.name
                self.through(node.selection_set, self.schema.type_map.get(named, parent), times)
            elif isinstance(node, FragmentSpreadNode):
                fragment = self.fragments[node.name.value]
                named = fragment.type_condition.name.value
                self.through(fragment.selection_set, self.schema.type_map.get(named, parent), times)

    def field(self, node: FieldNode, parent: GraphQLNamedType, times: int) -> None:
        known = parent.fields if isinstance(parent, GraphQLObjectType | GraphQLInterfaceType) else {}
        if node.name.value not in known:
            return
        kind = get_named_type(known[node.name.value].type)
        size = self.size(node) if kind.name.endswith("Connection") else None
        if size is None:
            self.through(node.selection_set, kind, times)
            return
        self.requests += times
        self.nodes += times * size
        if times * size > MAX_NODES and self.refusal is None:
            self.refusal = (
                f"By the time this query traverses to the {node.name.value} connection, it is requesting up to "
                f"{times * size:,} possible nodes which exceeds the maximum limit of {MAX_NODES:,}."
            )
        self.through(node.selection_set, kind, times * size)

    def size(self, node: FieldNode) -> int:
        for argument in node.arguments:
            if argument.name.value in ("first", "last"):
                value = argument.value
                if isinstance(value, IntValueNode):
                    return int(value.value)
                given = self.variables.get(value.name.value) if isinstance(value, VariableNode) else None
                if isinstance(given, int):
                    return given
        return 0
