"""Reading a policy's text: YAML from strangers in, a policy with reports out; never an exception.

Guards before anything is built: at most 64 KiB, 4,000 values and 12 levels; no aliases (they can grow without end), no
tags, no duplicate keys, one document. Every report names its line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from app.domain.policy import Bounds, Policy, duration_seconds, duration_text

MAX_BYTES = 64 * 1024
MAX_EVENTS = 4000
MAX_DEPTH = 12

Path = tuple[str, ...]

_UNPRINTED = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True)
class Problem:
    """Something in the text a person should put right. `line` counts from 1; 0 means the file as a whole."""

    line: int
    message: str
    remedy: str


@dataclass(frozen=True)
class PolicyReading:
    """`policy` is None where there is no file or it cannot be used (then `problems` says why)."""

    policy: Policy | None
    clamps: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class _Unusable(Exception):
    def __init__(self, line: int, message: str, remedy: str) -> None:
        super().__init__(message)
        self.problem = Problem(line, message, remedy)


def read_policy(text: str | None) -> PolicyReading:
    """The policy that a text says. None (no file) gives no policy and no problem; an empty file gives the defaults."""
    if text is None:
        return PolicyReading(None)
    lines: dict[Path, int] = {}
    try:
        values = _mapping_of(text, lines)
    except _Unusable as unusable:
        return PolicyReading(None, problems=(unusable.problem,))
    problems = [
        Problem(lines[path], f"unknown key {_dotted(path)}", "remove it, or see the policy reference for its name")
        for path in _unknown(values, Policy, ())
    ]
    clamps: list[str] = []
    _clamp(values, Policy, (), clamps)
    try:
        policy = Policy.model_validate(values)
    except ValidationError as error:
        wrong = [_wrong_value(detail["loc"], detail["msg"], lines) for detail in error.errors(include_url=False)]
        return PolicyReading(None, tuple(clamps), (*problems, *dict.fromkeys(wrong)))
    return PolicyReading(_consistent(policy, clamps), tuple(clamps), tuple(problems))


def _consistent(policy: Policy, clamps: list[str]) -> Policy:
    # A holder may die right after a renewal; its ticket must not be too old the moment its lease is dead.
    least = policy.lease.ttl * 2
    if policy.resume.max_age >= least:
        return policy
    clamps.append(f"resume.max_age raised to {duration_text(least)}: twice lease.ttl")
    return policy.model_copy(update={"resume": policy.resume.model_copy(update={"max_age": least})})


# --- YAML ----------------------------------------------------------------------------------------------------------


def _mapping_of(text: str, lines: dict[Path, int]) -> dict[str, Any]:
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise _Unusable(0, "the policy is larger than 64 KiB", "keep only the keys you change from their defaults")
    text = text.removeprefix("\N{BYTE ORDER MARK}")
    try:
        _guard(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        remedy = "indent with spaces; check colons, quotes and brackets"
        raise _Unusable(mark.line + 1 if mark else 0, _yaml_words(error), remedy) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise _Unusable(0, "the policy holds characters YAML does not allow", "save it as plain UTF-8 text") from None
    if node is None or node.tag == "tag:yaml.org,2002:null":
        return {}
    if not isinstance(node, yaml.MappingNode):
        raise _Unusable(_line(node), "a policy is a list of `key: value` lines", "start with `version: 1`")
    value: dict[str, Any] = _value(node, (), lines)
    return value


def _guard(text: str) -> None:
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _Unusable(line, "anchors and aliases are not allowed", "write the value out in both places")
        if getattr(event, "tag", None) is not None:
            raise _Unusable(line, "tags (`!…`) are not allowed", "write a plain value")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH or count > MAX_EVENTS:
            raise _Unusable(line, "the policy is nested too deeply or has too many values", "make it simpler")


def _value(node: yaml.Node, path: Path, lines: dict[Path, int]) -> Any:
    lines[path] = _line(node)
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None or key == "<<":
                raise _Unusable(_line(key_node), "a key must be a plain word", "write `key: value`")
            if key in mapping:
                raise _Unusable(_line(key_node), f"{_dotted((*path, key))} is given twice", "keep one of the two")
            mapping[key] = _value(value_node, (*path, key), lines)
            lines[(*path, key)] = _line(key_node)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, str(index)), lines) for index, item in enumerate(node.value)]
    if not isinstance(node, yaml.ScalarNode):
        raise _Unusable(_line(node), "not a plain value", "write a plain value")
    # Dates and numbers in base 60 are YAML 1.1 surprises nobody means here: they stay the text that was written.
    if node.tag not in {f"tag:yaml.org,2002:{kind}" for kind in ("bool", "int", "null")} or ":" in node.value:
        return node.value
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (yaml.YAMLError, ValueError):
        return node.value


def _yaml_words(error: yaml.MarkedYAMLError) -> str:
    words = str(error.problem or error.context or "not valid YAML")
    return "tab characters cannot start a line" if "'\\t'" in words else words


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1 if node.start_mark else 0


# --- keys and bounds -----------------------------------------------------------------------------------------------


def _unknown(values: dict[str, Any], model: type[BaseModel], path: Path) -> Iterator[Path]:
    for key, value in values.items():
        field = model.model_fields.get(key)
        if field is None:
            yield (*path, key)
        elif (part := _part(field)) is not None and isinstance(value, dict):
            yield from _unknown(value, part, (*path, key))


def _clamp(values: dict[str, Any], model: type[BaseModel], path: Path, clamps: list[str]) -> None:
    for key, field in model.model_fields.items():
        if key not in values:
            continue
        value = values[key]
        if value is None and not _may_be_none(field):
            # `lease:` with nothing under it, or a key whose value was deleted: the default.
            del values[key]
        elif (part := _part(field)) is not None:
            if isinstance(value, dict):
                _clamp(value, part, (*path, key), clamps)
        elif (bounds := next((m for m in field.metadata if isinstance(m, Bounds)), None)) is not None:
            values[key] = _bounded(value, bounds, field, (*path, key), clamps)


def _bounded(value: Any, bounds: Bounds, field: FieldInfo, path: Path, clamps: list[str]) -> Any:
    is_duration = field.annotation is not int
    try:
        number = duration_seconds(value) if is_duration else value
    except ValueError:
        return value
    if not isinstance(number, int) or isinstance(number, bool) or bounds.low <= number <= bounds.high:
        return value
    nearest = bounds.low if number < bounds.low else bounds.high
    shown = f"{nearest} seconds" if is_duration else str(nearest)
    clamps.append(f"{_dotted(path)}: {str(value)[:40]} is outside its bounds, {shown} is used")
    return nearest


def _part(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _may_be_none(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is not None and type(None) in get_args(field.annotation)


def _wrong_value(loc: tuple[int | str, ...], message: str, lines: dict[Path, int]) -> Problem:
    path = tuple(str(part) for part in loc)
    while path and path not in lines:
        path = path[:-1]
    words = message.removeprefix("Value error, ")
    return Problem(lines.get(path, 0), f"{_dotted(path)}: {words}", "see the policy reference for what it may be")


def _dotted(path: Path) -> str:
    # A key is a stranger's text that ends in comments and logs.
    return ".".join(_UNPRINTED.sub("?", part[:60]) for part in path)
