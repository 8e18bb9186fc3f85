"""What the body of a check-run may hold, read before anything is changed.

Sources: GitHub's OpenAPI description (lengths, members, enumerations); a public project's measurements of 2026-09-22
(sluiceway/behavior-lab): a summary is refused beyond 65,535 characters and beyond 65,535 bytes, a text beyond the
characters only and cut to the bytes without a word, characters being UTF-16 units; 51 annotations are refused, more
are appended by further requests; an output replaces the whole output; the level `error` is taken. The words for
lengths of actions and annotations follow those of the summary and could not be checked. The words for a status or
conclusion that is not the caller's to set, and the order of those that are: pkgdeps/automerge-gate, tried in 2026.
Lines and columns that GitHub does not take: octokit/octokit.js#1170, probot/probot#790,
andrewmcodes-archive/rubocop-linter-action#84 and #91, jenkinsci/checks-api-plugin#340, actions/runner#2082.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from app.emulator.clock import from_stamp
from app.emulator.errors import invalid, no_member, not_supplied, unreadable
from app.emulator.routing import Body

MAX_TEXT = 65_535
MAX_ANNOTATIONS = 50
MAX_ACTIONS = 3
STATUSES = ("queued", "in_progress", "completed")
CONCLUSIONS = ("success", "failure", "neutral", "cancelled", "timed_out", "action_required", "skipped")
LEVELS = ("notice", "warning", "failure", "error")
_ACTION_LENGTHS = {"label": 20, "description": 40, "identifier": 20}
_ANNOTATION_BYTES = {"message": 65_536, "raw_details": 65_536}
_ANNOTATION_TITLE = 255
_ANNOTATION = ("path", "start_line", "end_line", "annotation_level", "message")


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
    status = _status(body)
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


def _status(body: Body) -> str | None:
    """The status; a wrong one is complained of by both forms that a body may have, the ended and the unended."""
    value = body.maybe("status", str)
    if value is None or value in STATUSES:
        return value
    lines = ['No subschema in "anyOf" matched.', no_member(value, STATUSES), no_member(value, ["completed"])]
    if body.maybe("conclusion", str) is None:
        lines.append(not_supplied(["conclusion"]))
    raise unreadable("\n".join([*lines, no_member(value, ["queued", "in_progress"])]))


def _member(body: Body, name: str, allowed: tuple[str, ...]) -> str | None:
    value = body.maybe(name, str)
    if value is not None and value not in allowed:
        raise unreadable(no_member(value, allowed))
    return value


def _moment(body: Body, name: str) -> str | None:
    value = body.maybe(name, str)
    if value is not None:
        try:
            from_stamp(value)
        except ValueError:
            raise unreadable(f"{value} is not a valid date-time.") from None
    return value


def _output(body: Body) -> Output | None:
    if body.maybe("output", dict) is None:
        return None
    given = _inner(body.need("output", dict))
    given.need_all("title", "summary")
    for name in ("summary", "text"):
        _short_enough(given.get(name, str, ""), MAX_TEXT)
    annotations = given.get("annotations", list, [])
    if len(annotations) > MAX_ANNOTATIONS:
        raise unreadable(f"No more than {MAX_ANNOTATIONS} items are allowed; {len(annotations)} were supplied.")
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
        raise unreadable(f"For 'items', {json.dumps(value)} is not an object.")
    given = _inner(value)
    given.need_all(*_ANNOTATION)
    _member(given, "annotation_level", LEVELS)
    for name, limit in _ANNOTATION_BYTES.items():
        if len(given.get(name, str, "").encode()) > limit:
            raise invalid("CheckRun", "annotations", "custom", f"{name} exceeds a maximum bytesize of {limit}")
    _short_enough(given.get("title", str, ""), _ANNOTATION_TITLE)
    lines = given.need("start_line", int), given.need("end_line", int)
    columns = given.maybe("start_column", int), given.maybe("end_column", int)
    if not _is_place(lines, columns):
        raise invalid("CheckRun", "annotations")
    return {
        "path": given.need("path", str),
        "start_line": lines[0],
        "end_line": lines[1],
        "start_column": columns[0],
        "end_column": columns[1],
        "annotation_level": given.need("annotation_level", str),
        "title": given.maybe("title", str),
        "message": given.need("message", str),
        "raw_details": given.maybe("raw_details", str),
    }


def _is_place(lines: tuple[int, int], columns: tuple[int | None, int | None]) -> bool:
    """Does GitHub take these lines and columns? Both count from 1; columns come in pairs and on one line alone."""
    if lines[0] < 1 or lines[1] < lines[0]:
        return False
    start, end = columns
    if start is None and end is None:
        return True
    return start is not None and end is not None and lines[0] == lines[1] and 1 <= start <= end


def _actions(body: Body) -> list[dict[str, Any]] | None:
    actions = body.maybe("actions", list)
    if actions is None:
        return None
    if len(actions) > MAX_ACTIONS:
        raise unreadable(f"No more than {MAX_ACTIONS} items are allowed; {len(actions)} were supplied.")
    read = []
    for action in actions:
        if not isinstance(action, dict):
            raise unreadable(f"For 'items', {json.dumps(action)} is not an object.")
        given = _inner(action)
        given.need_all(*_ACTION_LENGTHS)
        values = {name: given.need(name, str) for name in _ACTION_LENGTHS}
        for name, limit in _ACTION_LENGTHS.items():
            _short_enough(values[name], limit)
        read.append(values)
    return read


def _short_enough(text: str, limit: int) -> None:
    units = len(text.encode("utf-16-le")) // 2
    if units > limit:
        raise unreadable(f"Only {limit} characters are allowed; {units} were supplied.")


def _inner(data: dict[str, Any]) -> Body:
    body = Body(b"")
    body.data = data
    return body
