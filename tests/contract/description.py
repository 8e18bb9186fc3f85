"""GitHub's OpenAPI description, turned into JSON schemas that a fast validator takes.

The description is the `api.github.com.json` of `@octokit/openapi`: OpenAPI 3.0.3, written for version 2022-11-28 with
the patches of later versions beside what they change (`x-github-breaking-changes`), and with the webhooks of the same
day under `x-webhooks` (a superset of those of `@octokit/openapi-webhooks`).

Two questions are asked of a value: does it fit its schema, and has it members that the schema does not name? The second
is no part of JSON schema's ordinary answer, since GitHub leaves its objects open: :meth:`Description.names` builds a
schema of names alone, every alternative of the real one taken together and all objects closed.
"""

import json
import re
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Schema = dict[str, Any]
FIRST_VERSION, LATER_VERSION = "2022-11-28", "2026-03-10"
_LOCAL = "#/components/schemas/"
_TOLD = {"description", "example", "examples", "title", "externalDocs", "x-github-breaking-changes"}


def unnamed(pattern: str) -> str:
    """A path template without the names of its parameters, which differ from table to table."""
    return re.sub(r"\{[^}]*\}", "{}", pattern)


@dataclass(frozen=True)
class Operation:
    """One operation of the REST API as GitHub describes it."""

    id: str
    request: Schema | None
    request_required: bool
    responses: dict[str, Schema | None]
    """By status: the schema of a JSON answer, or None for an answer without a JSON body."""


class Description:
    """The description at one API version."""

    def __init__(self, path: Path, version: str = FIRST_VERSION) -> None:
        self._doc: dict[str, Any] = json.loads(path.read_bytes())
        self.version = version
        self._components: dict[str, Schema] = {}
        self._names: dict[tuple[str, ...], str] = {}
        self._name_defs: dict[str, Schema | bool] = {}
        self._paths = {
            f"{method.upper()} {unnamed(path)}": described
            for path, methods in self._doc["paths"].items()
            for method, described in methods.items()
        }
        self._hooks = {
            hook["post"]["operationId"].replace("-", "_"): hook["post"] for hook in self._doc["x-webhooks"].values()
        }

    def operation(self, route: str) -> Operation | None:
        """The operation of a method and a path template, whatever its parameters are called."""
        described = self._paths.get(f"{route.partition(' ')[0]} {unnamed(route.partition(' ')[2])}")
        return None if described is None else self._operation(described)

    def event(self, name: str) -> Schema | None:
        """The payload of a webhook, by event and action (`pull_request/opened`, `push`)."""
        hook = self._hooks.get(name)
        return None if hook is None else self._turn(hook["requestBody"]["content"]["application/json"]["schema"])

    def event_names(self) -> Iterable[str]:
        """All webhooks, by event and action."""
        return self._hooks.keys()

    def component(self, name: str) -> Schema:
        """One of the named schemas that others refer to."""
        if name not in self._components:
            self._components[name] = self._turn(self._doc["components"]["schemas"][name])
        return self._components[name]

    def complete(self, schema: Schema) -> Schema:
        """A schema with all that it refers to, ready to be compiled."""
        needed: dict[str, Schema] = {}
        waiting: list[Any] = [schema]
        while waiting:
            part = waiting.pop()
            if isinstance(part, list):
                waiting += part
            elif isinstance(part, dict):
                name = _referred(part)
                if name is not None and name not in needed:
                    needed[name] = self.component(name)
                    waiting.append(needed[name])
                waiting += part.values()
        return {"allOf": [schema], "components": {"schemas": needed}}

    def names(self, schema: Schema) -> Schema:
        """A schema that refuses members no alternative of ``schema`` names, and nothing else."""
        root = self._closed([schema])
        needed: dict[str, Schema | bool] = {}
        waiting: list[Any] = [root]
        while waiting:
            part = waiting.pop()
            if not isinstance(part, dict):
                continue
            reference = part.get("$ref")
            if isinstance(reference, str) and (key := reference.rpartition("/")[2]) not in needed:
                needed[key] = self._name_defs[key]
                waiting.append(needed[key])
            waiting += [*part.get("properties", {}).values(), part.get("items"), part.get("additionalProperties")]
        return {"allOf": [root], "$defs": needed}

    def _closed(self, schemas: Iterable[Schema]) -> Schema:
        branches = list(self._branches(schemas))
        key = tuple(sorted({json.dumps(branch, sort_keys=True) for branch in branches}))
        if key not in self._names:
            name = self._names[key] = str(len(self._names))
            self._name_defs[name] = True  # a schema within itself ends here
            self._name_defs[name] = self._close(branches)
        return {"$ref": f"#/$defs/{self._names[key]}"}

    def _close(self, branches: list[Schema]) -> Schema | bool:
        members: dict[str, list[Schema]] = {}
        others: list[Schema] = []
        items = [branch["items"] for branch in branches if "items" in branch]
        open_ended = False
        for branch in branches:
            for name, schema in branch.get("properties", {}).items():
                members.setdefault(name, []).append(schema)
            more = branch.get("additionalProperties")
            if isinstance(more, dict) and more:
                others.append(more)
            else:
                open_ended |= more in (True, {}) or (more is None and _is_object(branch) and "properties" not in branch)
        closed: Schema = {"properties": {name: self._closed(found) for name, found in members.items()}}
        if not open_ended and (members or others):
            closed["additionalProperties"] = self._closed(others) if others else False
        if items:
            closed["items"] = self._closed(items)
        return closed

    def _branches(self, schemas: Iterable[Schema]) -> Iterable[Schema]:
        for schema in schemas:
            name = _referred(schema)
            if name is not None:
                yield from self._branches([self.component(name)])
                continue
            nested = [part for word in ("allOf", "anyOf", "oneOf") for part in schema.get(word, [])]
            if not nested or "properties" in schema or "items" in schema:
                yield {k: v for k, v in schema.items() if k in ("type", "properties", "additionalProperties", "items")}
            yield from self._branches(nested)

    def _operation(self, described: dict[str, Any]) -> Operation:
        described = self._patched(described)
        body = self._resolved(described.get("requestBody") or {})
        return Operation(
            described["operationId"],
            self._json_schema(body),
            bool(body.get("required")),
            {
                status: self._json_schema(self._resolved(answer))
                for status, answer in described.get("responses", {}).items()
            },
        )

    def _resolved(self, part: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in part:
            return part
        found: Any = self._doc
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        return self._resolved(found)

    def _json_schema(self, part: dict[str, Any]) -> Schema | None:
        media = part.get("content", {}).get("application/json")
        return None if media is None or "schema" not in media else self._turn(media["schema"])

    def _turn(self, part: Any) -> Any:
        """OpenAPI 3.0 → JSON schema 2020-12, without the prose."""
        if isinstance(part, list):
            return [self._turn(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return {"$ref": part["$ref"]}
        part = self._patched(part)
        turned = {k: self._turn(v) for k, v in part.items() if k not in _TOLD}
        # Members may be called like a keyword: only schemas themselves are searched for keywords.
        if "oneOf" in turned:
            # GitHub's alternatives overlap (an error with and one without its list): "at least one" is what they mean.
            turned["anyOf"] = turned.get("anyOf", []) + turned.pop("oneOf")
        if "properties" in part:
            turned["properties"] = {k: self._turn(v) for k, v in part["properties"].items()}
        if turned.pop("nullable", False) is True:
            return _or_null(turned)
        return turned

    def _patched(self, part: dict[str, Any]) -> dict[str, Any]:
        for change in part.get("x-github-breaking-changes", ()):
            if FIRST_VERSION < change["version"] <= self.version:
                part = _patch(deepcopy(part), change["patch"])
        return part


def _referred(schema: Schema) -> str | None:
    reference = schema.get("$ref")
    return reference.removeprefix(_LOCAL) if isinstance(reference, str) and reference.startswith(_LOCAL) else None


def _is_object(branch: Schema) -> bool:
    return branch.get("type") == "object" or (isinstance(branch.get("type"), list) and "object" in branch["type"])


def _or_null(schema: Schema) -> Schema:
    if "type" not in schema or any(word in schema for word in ("allOf", "anyOf", "oneOf")):
        return {"anyOf": [schema, {"type": "null"}]}
    schema["type"] = [schema["type"], "null"]
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema


def _patch(schema: Schema, patch: Any) -> Schema:
    """A change of a later version: a JSON patch when it is a list, a merge patch otherwise."""
    if isinstance(patch, list):
        for step in patch:
            _step(schema, step)
        return schema
    merged: Schema = _merge(schema, patch)
    return merged


def _step(schema: Schema, step: dict[str, Any]) -> None:
    *path, last = [part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]]
    target: Any = schema
    for part in path:
        target = target[int(part) if isinstance(target, list) else part]
    place: Any = int(last) if isinstance(target, list) else last
    if step["op"] == "remove":
        del target[place]
    else:
        target[place] = step["value"]


def _merge(schema: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(schema) if isinstance(schema, dict) else {}
    for name, change in patch.items():
        if change is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), change)
    return merged
