"""Workflow files: what is read of them, and the expressions of a run-name."""

from __future__ import annotations

from typing import Any

import pytest

from app.emulator.expression_values import Values
from app.emulator.job_plan import run_name
from app.emulator.workflow_files import is_workflow, parse

PATH = ".github/workflows/x.yml"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PATH, True),
        (".github/workflows/x.yaml", True),
        (".github/workflows/x.json", False),
        (".github/workflows/deeper/x.yml", False),
        ("workflows/x.yml", False),
    ],
)
def test_paths(path: str, expected: bool) -> None:
    assert is_workflow(path) is expected


@pytest.mark.parametrize(
    ("text", "triggers"),
    [
        ("on: push", {"push": None}),
        ("on: [push, workflow_dispatch]", {"push": None, "workflow_dispatch": None}),
        ("'on': {workflow_dispatch: }", {"workflow_dispatch": None}),
        ("on: {push: {branches: [main]}}", {"push": {"branches": ["main"]}}),
        ("name: nothing", {}),
        ("on: [", {}),
        ("- a list", {}),
    ],
)
def test_triggers(text: str, triggers: dict[str, Any]) -> None:
    assert parse(text, PATH).triggers == triggers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("permissions: {contents: write, id-token: write, issues: none}", {"contents": "write", "id_token": "write"}),
        ("permissions: {}", {}),
        ("name: x", {"contents": "read", "packages": "read"}),
        ("permissions: {contents: read}\njobs: {a: {permissions: {issues: write}}}", {"issues": "write"}),
    ],
)
def test_permissions(text: str, expected: dict[str, str]) -> None:
    assert parse(text, PATH).permissions == expected | {"metadata": "read"}


def test_all_permissions() -> None:
    assert parse("permissions: write-all", PATH).permissions["id_token"] == "write"
    assert "id_token" not in parse("permissions: read-all", PATH).permissions


def test_types_of_a_dispatch() -> None:
    one = parse("on: {repository_dispatch: {types: go}}", PATH)
    assert [one.listens_to(t) for t in ("go", "gone")] == [True, False]
    assert parse("on: repository_dispatch", PATH).listens_to("anything")
    assert not parse("on: push", PATH).listens_to("go")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("plain", "plain"),
        ("${{ inputs.a }}/${{github.actor}}", "1/dev"),
        ("${{ inputs.none || inputs.a }}", "1"),
        ("${{ inputs.none || 'it''s' }}", "it's"),
        ("${{ inputs.flag }} ${{ inputs.off }}", "true false"),
        ("${{ github.event.client_payload.deep.x }}", "7"),
        ("${{ inputs }}", "Object"),
    ],
)
def test_expressions(template: str, expected: str) -> None:
    context = {
        "inputs": {"a": 1, "flag": True, "off": False},
        "github": {"actor": "dev", "event": {"client_payload": {"deep": {"x": 7}}}},
    }
    assert run_name(template).text(Values(context, {})).strip() == expected
