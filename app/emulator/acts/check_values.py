"""What the body of a check-run may hold, read before anything is changed.

Sources: GitHub's OpenAPI description (lengths, members, enumerations); a public project's measurements of 2026-09-22
(sluiceway/behavior-lab): a summary is refused beyond 65,535 characters and beyond 65,535 bytes, a text beyond the
characters only and cut to the bytes without a word, characters being UTF-16 units; 51 annotations are refused, more
are appended by further requests; an output replaces the whole output; the level `error` is taken. The words for
lengths of actions and annotations follow those of the summary and could not be checked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from app.emulator.clock import from_stamp
from app.emulator.errors import ApiError, invalid
from app.emulator.routing import Body

MAX_TEXT = 65_535
MAX_ANNOTATIONS = 50
MAX_ACTIONS = 3
STATUSES = ("queued", "in_progress", "completed")
CONCLUSIONS = ("action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out")
LEVELS = ("notice", "warning", "failure", "error")
_ACTION_LENGTHS = {"label": 20, "description": 40, "identifier": 20}
_ANNOTATION_BYTES = {"message": 65_536, "raw_details": 65_536}
_ANNOTATION_TITLE = 255


@dataclass
class Output:
    """The whole output of a request; it replaces what was there, save that annotations are added."""

    title: str | None
    summary: str
    text: str | None
    annotations: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class RunValues:
    """The checked members of a request; None stands for "not given"."""

    name: str | None
    status: str | None
    conclusion: str | None
    started_at: str | None
    completed_at: str | None
    external_id: str | None
    details_url: str | None
    output: Output | None
    actions: list[dict[str, Any]] | None


def read_run(body: Body) -> RunValues:
    """The members of a check-run's body. Raises 422 in GitHub's order: form first, then what the values mean."""
    status = _member(body, "status", STATUSES)
    conclusion = _member(body, "conclusion", CONCLUSIONS)
    details_url = body.maybe("details_url", str)
    values = RunValues(
        name=body.maybe("name", str),
        status=status,
        conclusion=conclusion,
        started_at=_moment(body, "started_at"),
        completed_at=_moment(body, "completed_at"),
        external_id=body.maybe("external_id", str),
        details_url=details_url,
        output=_output(body),
        actions=_actions(body),
    )
    if details_url and not details_url.startswith(("http://", "https://")):
        raise invalid("CheckRun", "details_url", "custom", "details_url must use http or https scheme")
    return values


def _member(body: Body, name: str, allowed: tuple[str, ...]) -> str | None:
    value = body.maybe(name, str)
    if value is not None and value not in allowed:
        raise _unreadable(f"{json.dumps(value)} is not a member of {json.dumps(list(allowed))}.")
    return value


def _moment(body: Body, name: str) -> str | None:
    value = body.maybe(name, str)
    if value is not None:
        try:
            from_stamp(value)
        except ValueError:
            raise _unreadable(f"{json.dumps(value)} is not a valid date-time.") from None
    return value


def _output(body: Body) -> Output | None:
    if body.maybe("output", dict) is None:
        return None
    given = _inner(body.need("output", dict))
    for name in ("summary", "text"):
        _short_enough(given.get(name, str, ""), MAX_TEXT)
    annotations = given.get("annotations", list, [])
    if len(annotations) > MAX_ANNOTATIONS:
        raise _unreadable(f"No more than {MAX_ANNOTATIONS} items are allowed; {len(annotations)} were supplied.")
    summary = given.need("summary", str)
    if len(summary.encode()) > MAX_TEXT:
        raise invalid("CheckRun", "summary", "custom", f"summary exceeds a maximum bytesize of {MAX_TEXT}")
    text = given.maybe("text", str)
    return Output(
        title=given.need("title", str),
        summary=summary,
        text=text.encode()[:MAX_TEXT].decode(errors="ignore") if text is not None else None,
        annotations=[_annotation(a) for a in annotations],
    )


def _annotation(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _unreadable(f"For 'items', {json.dumps(value)} is not an object.")
    given = _inner(value)
    _member(given, "annotation_level", LEVELS)
    for name, limit in _ANNOTATION_BYTES.items():
        if len(given.get(name, str, "").encode()) > limit:
            raise invalid("CheckRun", "annotations", "custom", f"{name} exceeds a maximum bytesize of {limit}")
    _short_enough(given.get("title", str, ""), _ANNOTATION_TITLE)
    return {
        "path": given.need("path", str),
        "start_line": given.need("start_line", int),
        "end_line": given.need("end_line", int),
        "start_column": given.maybe("start_column", int),
        "end_column": given.maybe("end_column", int),
        "annotation_level": given.need("annotation_level", str),
        "title": given.maybe("title", str),
        "message": given.need("message", str),
        "raw_details": given.maybe("raw_details", str),
    }


def _actions(body: Body) -> list[dict[str, Any]] | None:
    actions = body.maybe("actions", list)
    if actions is None:
        return None
    if len(actions) > MAX_ACTIONS:
        raise _unreadable(f"No more than {MAX_ACTIONS} items are allowed; {len(actions)} were supplied.")
    read = []
    for action in actions:
        if not isinstance(action, dict):
            raise _unreadable(f"For 'items', {json.dumps(action)} is not an object.")
        given = _inner(action)
        values = {name: given.need(name, str) for name in _ACTION_LENGTHS}
        for name, limit in _ACTION_LENGTHS.items():
            _short_enough(values[name], limit)
        read.append(values)
    return read


def _short_enough(text: str, limit: int) -> None:
    units = len(text.encode("utf-16-le")) // 2
    if units > limit:
        raise _unreadable(f"Only {limit} characters are allowed; {units} were supplied.")


def _inner(data: dict[str, Any]) -> Body:
    body = Body(b"")
    body.data = data
    return body


def _unreadable(words: str) -> ApiError:
    return ApiError(422, f"Invalid request.\n\n{words}")
