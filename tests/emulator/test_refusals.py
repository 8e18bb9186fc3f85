"""The table of refusals: what GitHub says no to, in its words, each with where that is known from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from refusal_world import RefusalWorld, Row, as_markdown, rows

from app.emulator.client import Emulator

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RefusalWorld]:
    with Emulator.start(tmp_path_factory.mktemp("refusals")) as emulator:
        world = RefusalWorld(emulator, tmp_path_factory.mktemp("clones"))
        world.arrange()
        yield world


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_refused(refusing: RefusalWorld, row: Row) -> None:
    status, words, types = refusing.ask(row)
    if row.status is not None:
        assert status == row.status, words
    if row.graphql:
        assert words, "it was not refused"
    if row.type is not None:
        assert row.type in types
    assert refusing.filled(row.says) in words


def test_there_are_many_and_each_has_a_source() -> None:
    table = rows()
    assert len(table) >= 150
    assert [row.name for row in table if not row.source] == []
    asked = [(row.call, row.graphql, row.git, row.who, repr(row.body), row.raw) for row in table]
    assert len(set(asked)) == len(asked)


def test_the_page_of_them_is_current() -> None:
    page = (ROOT / "docs" / "emulator-refusals.md").read_text(encoding="utf-8")
    assert page == as_markdown(), "run: python tests/emulator/write_refusals.py"
