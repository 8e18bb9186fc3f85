"""The table of refusals: what GitHub says no to, in its words, each with where that is known from."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from refusal_world import RefusalWorld, Row, as_markdown, rows

from app.emulator.client import Emulator
from tests.npm.packages import MODULES, needs_packages

ROOT = Path(__file__).parents[2]
DESCRIPTION = MODULES / "@octokit/openapi/generated/api.github.com.json"


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RefusalWorld]:
    with Emulator.start(tmp_path_factory.mktemp("refusals")) as emulator:
        world = RefusalWorld(emulator, tmp_path_factory.mktemp("clones"))
        world.arrange()
        yield world


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_refused(refusing: RefusalWorld, row: Row) -> None:
    status, words, types = refusing.ask(row)
    assert status == (200 if row.graphql else row.status), words
    if row.type is not None:
        assert row.type in types
    assert refusing.filled(row.says) in words
    assert bool(words) is not row.silent


def test_there_are_many_and_each_has_a_source() -> None:
    table = rows()
    assert len(table) >= 150
    assert [row.name for row in table if not row.source] == []
    assert [row.name for row in table if not row.graphql and (row.status or 0) < 1] == []
    assert [row.name for row in table if bool(row.says) is row.silent] == []
    asked = [(row.call, row.graphql, row.git, row.who, repr(row.body), row.raw) for row in table]
    assert len(set(asked)) == len(asked)


@needs_packages
def test_operations_named_as_sources_are_those_called() -> None:
    """A row that names an operation of GitHub's description calls it, and a status named with it is described there."""
    paths = json.loads(DESCRIPTION.read_bytes())["paths"]
    operations = {o["operationId"]: (m.upper(), p, o) for p, ms in paths.items() for m, o in ms.items()}
    for row in rows():
        for name, status in re.findall(r"OpenAPI ([a-z]+/[a-z-]+)(?: ([1-5]\d\d)\b)?", row.source):
            assert name in operations, row.name
            method, path, operation = operations[name]
            if row.call:
                pattern = re.sub(r"\\\{[^}]*\\\}", "[^ ]+", re.escape(f"{method} {path}"))
                call = row.call.partition("?")[0]
                asked = re.sub(r"\{(repo|empty|private|archived|mine|nodrafts)\}", "/repos/o/r", call)
                assert re.fullmatch(pattern, asked), (row.name, row.call, path)
            if status:
                assert status in operation["responses"], (row.name, status)


def test_the_page_of_them_is_current() -> None:
    page = (ROOT / "docs" / "emulator-refusals.md").read_text(encoding="utf-8")
    assert page == as_markdown(), "run: python tests/emulator/write_refusals.py"
