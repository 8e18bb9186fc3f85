"""What holds for all tests: what the emulated GitHub says in any of them is judged by GitHub's own description, and
those that wait for processes begin first, so that at the end of a run no worker waits alone.
"""

from pathlib import Path

import pytest

pytest_plugins = ["tests.contract.watch"]
_FIRST = ("recovery", "drill", "doctor", "controller", "agent", "service")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by folder; within one the order stays."""
    items.sort(key=lambda item: _rank(item.path))


def _rank(path: Path) -> int:
    return next((rank for rank, folder in enumerate(_FIRST) if folder in path.parts), len(_FIRST))
