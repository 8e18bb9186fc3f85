"""Judge by GitHub's description what an emulator's recorder kept: a line is one exchange or one event."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import jsonschema_rs

from tests.contract.description import FIRST_VERSION, LATER_VERSION, Description, Schema
from tests.contract.known import DEVIATIONS, OTHER_NAMES, STATUSES
from tests.npm.packages import MODULES

OPENAPI = MODULES / "@octokit/openapi/generated/api.github.com.json"
_FAULTS_SHOWN = 5
Validators = tuple[jsonschema_rs.Draft202012Validator, ...]
_ERRORS: Schema = {
    "anyOf": [
        {"$ref": f"#/components/schemas/{name}"}
        for name in ("basic-error", "validation-error", "validation-error-simple")
    ]
}


@dataclass(frozen=True)
class Fault:
    """What is wrong with one thing the emulator said: ``subject`` is its operation and status, or its event."""

    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}"


def judge(line: bytes) -> list[Fault]:
    """The faults of one recorded line, without those that are the description's own."""
    kept: dict[str, Any] = json.loads(line)
    if "event" in kept:
        name = f"{kept['event']}/{kept['action']}" if kept["action"] else str(kept["event"])
        found = [Fault(f"event {name}", text) for text in _event(name, kept["payload"])]
    else:
        subject = f"{kept['operation']} {kept['status']}"
        found = [Fault(subject, text) for text in _exchange(kept)]
    return [fault for fault in found if not any(d.covers(fault.subject, fault.text) for d in DEVIATIONS)]


def _event(name: str, payload: Any) -> Iterator[str]:
    validators = _event_validators(called_there(name))
    if validators is None:
        yield "GitHub describes no such event"
    else:
        yield from _misfits("", validators, payload)


def _exchange(kept: dict[str, Any]) -> Iterator[str]:
    status: int = kept["status"]
    if kept["operation"].partition(" ")[2][:1] != "/":
        return  # nothing that the emulator serves: it says so by 404 or 501
    version = LATER_VERSION if kept["version"] == LATER_VERSION else FIRST_VERSION
    checks = _operation(called_there(kept["operation"]), version)
    if checks is None:
        yield "GitHub describes no such operation"
        return
    described = checks.of_answer(status)
    if described is None:
        if not any(known.covers(kept["operation"], status) for known in STATUSES):
            yield f"status {status} is neither described nor known ({json.dumps(kept['response'])[:200]})"
            return
        described = _validators(_ERRORS, version) if status >= 400 else ()
    if not described and kept["response"] is not None and status < 300:
        yield "an answer with a body where GitHub describes none"
    elif "json" in kept["media"] or not kept["media"]:
        empty = kept["response"] is None and (not described or status == 304)
        if not empty:
            yield from _misfits("", described, kept["response"])
    if status < 300 and checks.request is not None and (kept["request"] is not None or checks.request_required):
        yield from _misfits("request", checks.request, kept["request"] or {})


def called_there(name: str) -> str:
    """What the description calls it."""
    for pattern, other, _ in OTHER_NAMES:
        name = re.sub(pattern, other, name)
    return name


def _misfits(where: str, validators: Validators, value: Any) -> Iterator[str]:
    found = (f for v in validators if not v.is_valid(value) for e in v.iter_errors(value) for f in _nearest(e))
    for path, message in islice(found, _FAULTS_SHOWN):
        yield f"{where}{''.join(f'/{step}' for step in path) or '/'} {_short(message)}"


def _nearest(error: jsonschema_rs.ValidationError) -> Iterator[tuple[list[str | int], str]]:
    """Where alternatives are described, the faults by the one that fits best, the shortest way to a mistake."""
    alternatives: list[list[jsonschema_rs.ValidationError]] = getattr(error.kind, "context", None) or []
    meant = [found for found in alternatives if not _of_another_type(found, error)]
    if not meant:
        yield list(error.instance_path), error.message
        return
    for inner in min(meant, key=len):
        yield from _nearest(inner)


def _of_another_type(found: list[jsonschema_rs.ValidationError], error: jsonschema_rs.ValidationError) -> bool:
    return any(e.kind.name == "type" and list(e.instance_path) == list(error.instance_path) for e in found)


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:140]} … {text[-140:]}"


class _Checks:
    """The compiled schemas of one operation at one version, each when it is first needed."""

    def __init__(self, route: str, version: str) -> None:
        operation = described(version).operation(route)
        if operation is None:
            raise LookupError(route)
        self._operation, self._version = operation, version
        self.request_required = operation.request_required
        self._answers: dict[int, Validators | None] = {}
        self.request = None if operation.request is None else _validators(operation.request, version)[:1]

    def of_answer(self, status: int) -> Validators | None:
        """The validators of an answer; none for an answer without a body; None when the status is not described."""
        if status not in self._answers:
            responses = self._operation.responses
            schema = responses.get(str(status))
            validators = () if schema is None else _validators(schema, self._version)
            self._answers[status] = validators if str(status) in responses else None
        return self._answers[status]


def _validators(schema: Schema, version: str) -> Validators:
    description = described(version)
    return tuple(
        jsonschema_rs.Draft202012Validator(each, validate_formats=True)
        for each in (description.complete(schema), description.names(schema))
    )


@cache
def described(version: str = FIRST_VERSION) -> Description:
    """GitHub's description at a version, read once."""
    return Description(OPENAPI, version)


@cache
def _operation(route: str, version: str) -> _Checks | None:
    try:
        return _Checks(route, version)
    except LookupError:
        return None


@cache
def _event_validators(name: str) -> Validators | None:
    schema = described(FIRST_VERSION).event(name)
    return None if schema is None else _validators(schema, FIRST_VERSION)
