"""There is one place that merges a release, and landing cannot express it: read from the code itself."""

import ast
import inspect
import re
import typing
from functools import cache
from pathlib import Path

import pytest

from app.domain.merge_text import MergeText
from app.domain.observation import Pull
from app.domain.pull_class import Ground, PullClass, Refs, TicketPull, class_of
from app.domain.release_actions import MergeRelease
from app.github.merging import Merging
from app.github.release_writes import ReleaseWrites

APP = Path(__file__).parents[2] / "app"
OUTSIDE = ("emulator", "doctor", "drill")
"""GitHub itself, the probes of it in a sandbox, and people who are played."""
MERGING = re.compile(
    r"/merge-async\b|/merge-upstream\b|/merges\b|/merge\b|mergePullRequest|enqueuePullRequest|mergeBranch"
    r"|enablePullRequestAutoMerge"
)
"""Every way in which GitHub's API merges."""


@cache
def _files() -> tuple[tuple[str, ast.Module], ...]:
    named = ((str(file.relative_to(APP)), file) for file in sorted(APP.rglob("*.py")))
    return tuple((name, ast.parse(file.read_text("utf-8"))) for name, file in named if not name.startswith(OUTSIDE))


def _documentation(tree: ast.Module) -> set[int]:
    """The ids of strings that stand alone: they say something, and do nothing."""
    return {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)}


def _calls(name: str) -> list[str]:
    """`file: expression` of every call of this name, as a method or as a function."""
    found = []
    for file, tree in _files():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
                if called == name:
                    found.append(f"{file}: {ast.unparse(node.func)}")
    return sorted(found)


def test_github_is_asked_to_merge_in_two_files() -> None:
    asking: dict[str, set[str]] = {}
    for file, tree in _files():
        said = _documentation(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                found = MERGING.findall(node.value)
                if found and file.startswith("github"):
                    asking.setdefault(file, set()).update(found)
                assert not found or file.startswith("github"), f"{file}: {node.value}"
    assert asking == {
        "github/merging.py": {"/merge", "/merge-async", "enqueuePullRequest"},
        "github/release_writes.py": {"/merge"},
    }


def test_nothing_else_in_those_files_merges() -> None:
    """What sends one of those requests, by the methods that name it."""
    for kind, senders in ((Merging, {"merge_pull", "_merge_later", "enqueue"}), (ReleaseWrites, {"merge_release"})):
        source = ast.parse(inspect.getsource(kind))
        found = set()
        for method in ast.walk(source):
            if isinstance(method, ast.AsyncFunctionDef):
                used = {node.id for node in ast.walk(method) if isinstance(node, ast.Name)}
                if used & {"_MERGE", "_MERGE_LATER", "_ENQUEUE"}:
                    found.add(method.name)
        assert found == senders


def test_the_merge_of_a_release_has_one_caller_and_its_order_one_maker() -> None:
    sends = [call for call in _calls("merge_release") if call.endswith("repo.merge_release")]
    assert sends == ["controller/release_merging.py: view.repo.merge_release"]
    assert [call for call in _calls("MergeRelease") if not call.startswith("commands/")] == [
        "domain/release_merge_next.py: MergeRelease"
    ]


def test_landing_takes_a_tickets_pull_request_and_nothing_else() -> None:
    for sender in (Merging.merge_pull, Merging.enqueue):
        hints = typing.get_type_hints(sender)
        assert hints["pull"] is TicketPull
        assert not {int, Pull, MergeRelease} & set(hints.values())
    assert typing.get_type_hints(ReleaseWrites.merge_release)["order"] is MergeRelease
    assert typing.get_type_hints(Merging.merge_pull)["text"] is MergeText


def test_a_tickets_pull_request_is_made_in_one_place() -> None:
    with pytest.raises(TypeError, match="landable"):
        TicketPull(None)  # type: ignore[arg-type]
    made = [call for call in _calls("__new__") if "object" in call]
    assert made == ["domain/pull_class.py: object.__new__"]
    assert _calls("TicketPull") == []


@pytest.mark.parametrize("trunks", [("release-*",), ("main",), ("*", "**"), ("main", "release-*", "7-x"), ()])
@pytest.mark.parametrize("default", ["main", "develop", "release-1"])
@pytest.mark.parametrize("head", ["release-1", "7-x", "ticket/7", "main", "develop", "feature", "7.docs-1"])
def test_nothing_that_goes_into_the_base_of_releases_is_a_tickets(
    trunks: tuple[str, ...], default: str, head: str
) -> None:
    for recorded in (None, 7):
        found = class_of(Refs(head, "main", own=True), Ground(default, "main", trunks), recorded)
        assert found.kind is not PullClass.TICKET, found
