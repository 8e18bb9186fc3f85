"""Parse, validate, execute, and word the errors as GitHub does."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OverlappingFieldsCanBeMergedRule,
    build_schema,
    execute_sync,
    parse,
    specified_rules,
    validate,
)
from graphql.language import FieldNode

from app.emulator.auth import Identity
from app.emulator.contributions import check_mutation, missing_scope
from app.emulator.errors import ApiError, GenericGraphQLFailure, GraphQLRefusal
from app.emulator.graphql.connections import resolve_field
from app.emulator.graphql.costs import Measured, measure
from app.emulator.graphql.mutations import Mutations
from app.emulator.graphql.queries import Queries
from app.emulator.graphql.wording import complaint, variable_complaint
from app.emulator.ids import node_id
from app.emulator.routing import Request, Response

# GitHub accepts documents that break this rule, and a well-known client sends one.
_RULES = [rule for rule in specified_rules if rule is not OverlappingFieldsCanBeMergedRule]
_TYPES = {401: "UNAUTHENTICATED", 403: "FORBIDDEN", 404: "NOT_FOUND", 422: "UNPROCESSABLE"}


@cache
def schema() -> GraphQLSchema:
    """The schema, built once."""
    parts = sorted(Path(__file__).parent.glob("*.graphql"))
    built = build_schema("\n".join(part.read_text(encoding="utf-8") for part in parts))
    # GitHub's own Int carries database ids beyond 32 bits (check-runs: `"databaseId": 23799347220`).
    built.type_map["Int"].serialize = int  # type: ignore[attr-defined]
    return built


@lru_cache(maxsize=2048)
def _document(query: str) -> DocumentNode | GraphQLError:
    try:
        return parse(query)
    except GraphQLError as error:
        return error


@lru_cache(maxsize=2048)
def _complaints(query: str) -> tuple[GraphQLError, ...]:
    document = _document(query)
    if isinstance(document, GraphQLError):
        return (document,)
    return tuple(validate(schema(), document, _RULES))


class GraphQL:
    """The GraphQL endpoint."""

    def operations(self, raw: bytes) -> list[str]:
        """The operation's name, if it has one, and its top-level fields; for logs and faults."""
        try:
            body = json.loads(raw)
            document = _document(body["query"])
        except (ValueError, KeyError, TypeError):
            return []
        if isinstance(document, GraphQLError):
            return []
        found: list[str] = []
        for definition in document.definitions:
            if isinstance(definition, OperationDefinitionNode):
                found += [definition.name.value] if definition.name else []
                found += [s.name.value for s in definition.selection_set.selections if isinstance(s, FieldNode)]
        return list(dict.fromkeys(found))

    def measure(self, request: Request) -> Measured:
        """The price of the request's document; one point and no node for what cannot be executed."""
        try:
            body = request.body
            query = body.get("query", str, "")
            document = _document(query)
            if isinstance(document, GraphQLError) or _complaints(query):
                return Measured()
            variables = body.get("variables", dict, {})
            return measure(schema(), document, body.maybe("operationName", str), variables)
        except ApiError:
            return Measured()

    def serve(self, request: Request, measured: Measured | None = None) -> Response:
        """Answer a request. Errors come with HTTP 200, save for missing credentials."""
        if request.identity.user is None and request.identity.installation is None:
            raise ApiError(401, "This endpoint requires you to be authenticated.")
        body = request.body
        query = body.get("query", str, "")
        complaints = _complaints(query)
        if complaints:
            return Response.json({"errors": [complaint(c) for c in complaints]})
        if measured is not None and measured.refusal is not None:
            return Response.json({"errors": [{"type": "MAX_NODE_LIMIT_EXCEEDED", "message": measured.refusal}]})
        document = _document(query)
        assert not isinstance(document, GraphQLError)
        unscoped = missing_scope(request.identity, self.operations(request.raw))
        if unscoped is not None:
            return Response.json({"errors": [{"type": "INSUFFICIENT_SCOPES", "message": unscoped}]})
        result = execute_sync(
            schema(),
            document,
            root_value=_Root(request),
            context_value=request,
            variable_values=body.get("variables", dict, {}),
            operation_name=body.maybe("operationName", str),
            middleware=_middleware(request.identity),
            field_resolver=resolve_field,
        )
        errors = result.errors or []
        worded = [variable_complaint(e, document) for e in errors]
        if any(worded):
            return Response.json({"errors": [w for w in worded if w is not None]})
        if any(isinstance(e.original_error, GenericGraphQLFailure) for e in errors):
            return Response.json({"data": None, "errors": [{"message": generic_message(request)}]})
        answer: dict[str, Any] = {"data": result.data}
        if errors:
            answer["errors"] = [_error(e, request) for e in errors]
        return Response.json(answer)


def _middleware(identity: Identity) -> list[Any] | None:
    """A look at each mutation of a token that has permissions of its own."""
    if identity.token is None or identity.token.kind not in ("fine_grained", "user_to_server"):
        return None

    def look(resolve: Any, source: Any, info: Any, **arguments: Any) -> Any:
        if info.parent_type.name == "Mutation":
            check_mutation(identity, info.field_name)
        return resolve(source, info, **arguments)

    return [look]


class _Root(Queries, Mutations):
    """Queries and mutations in one root value."""


def generic_message(request: Request) -> str:
    """The sentence that tells nothing but a number."""
    reference = node_id("G", len(request.raw), int(request.world.clock.now() * 1000))[-12:].upper()
    return f"Something went wrong while executing your query. Please include `{reference}` when reporting this issue."


# What REST says about roles, and about reactions on a locked conversation.
_ABOUT_ROLES = ("Must have push access", "Must have admin rights", "Unable to create reaction")


def _not_permitted(error: GraphQLError, refusal: ApiError, request: Request) -> str | None:
    """A person's lack of a role, in the words GraphQL has for a mutation; REST speaks of push access."""
    user = request.identity.user
    about_role = refusal.message.startswith(
        ("Must have push access", "Must have admin rights", "Unable to create reaction")
    )
    if user is None or not about_role or not error.nodes or len(error.path or ()) != 1:
        return None
    field = error.nodes[0]
    name = field.name.value if isinstance(field, FieldNode) else ""
    return f"{user.login} does not have the correct permissions to execute `{name[:1].upper()}{name[1:]}`"


def _error(error: GraphQLError, request: Request) -> dict[str, Any]:
    shown: dict[str, Any] = dict(error.formatted)
    original = error.original_error
    if isinstance(original, GraphQLRefusal):
        shown |= {"type": original.kind} if original.kind is not None else {}
    elif isinstance(original, ApiError):
        shown["type"] = _TYPES.get(original.status, "UNPROCESSABLE")
        listed = [e.get("message") if isinstance(e, dict) else e for e in original.errors or []]
        details = [str(e) for e in listed if e is not None]
        shown["message"] = "; ".join(details) or _not_permitted(error, original, request) or original.message
    elif original is not None:
        shown = {"message": generic_message(request)}
    return shown
