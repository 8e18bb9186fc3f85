"""Every place in the code that writes a ticket's ledger, found in the code itself, and whether a play came by it."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from app.ledger.api import ApiLedger
from app.ledger.git import GitLedger

ROOT = Path(__file__).resolve().parents[2]
OF_RELEASES = re.compile(r"app/controller/releas")
"""A release's record is no ticket's: it is in progress for ever."""
ELSEWHERE = ("app/emulator/", "app/doctor/", "app/drill/", "app/ledger/", "app/github/")
"""GitHub itself; a sandbox of its own; the outsiders; and what the places below write through."""
WRITES = re.compile(
    r"(^|[._])((journal|fencing|ledger)\.(write|begin_anew|prune|beside|drafted|fenced_push)|"
    r"repo\.(update_refs|receive_pack|create_ref|delete_ref))$"
)
DOORS = (
    (ApiLedger, "_carry_out"),
    (ApiLedger, "beside"),
    (ApiLedger, "drafted"),
    (GitLedger, "fenced_push"),
)
"""What all of them go through."""


def in_the_code() -> set[str]:
    """Module and function of each place that writes a ledger."""
    found: set[str] = set()
    for file in sorted(ROOT.glob("app/**/*.py")):
        name = str(file.relative_to(ROOT))
        if not name.startswith(ELSEWHERE) and not OF_RELEASES.match(name):
            found |= set(_of(ast.parse(file.read_text()), name.removesuffix(".py").replace("/", ".")))
    return found


def _of(tree: ast.AST, module: str, inside: str = "") -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of(node, module, f"{inside}.{node.name}" if inside else node.name)
        else:
            if isinstance(node, ast.Call) and WRITES.search(ast.unparse(node.func)):
                yield f"{module}:{inside}"
            yield from _of(node, module, inside)


@contextmanager
def noted() -> Iterator[set[str]]:
    """The places by which ledgers are written meanwhile."""
    passed: set[str] = set()

    def door(real: Callable[..., Any]) -> Callable[..., Any]:
        def written(*given: Any, **named: Any) -> Any:
            frame = sys._getframe(1)
            while frame is not None:
                module = str(frame.f_globals.get("__name__"))
                if module.startswith("app."):
                    passed.add(f"{module}:{frame.f_code.co_qualname.replace('.<locals>', '')}")
                frame = frame.f_back  # type: ignore[assignment]
            return real(*given, **named)

        return written

    patches = [patch.object(owner, name, door(getattr(owner, name))) for owner, name in DOORS]
    for each in patches:
        each.start()
    try:
        yield passed
    finally:
        for each in patches:
            each.stop()
