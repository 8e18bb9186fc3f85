"""Behaviours of GitHub that differ between hosts and may be switched off per repository."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from app.emulator.errors import ApiError

# Each switch with its values; the first is what holds unless something is set.
_VALUES = {
    "update_refs": ("ok", "refused"),
    "custom_refs": ("ok", "refused"),
    "text_limit": ("characters", "bytes"),
}


class Switches:
    """``update_refs``, ``custom_refs`` ("ok" or "refused") and ``text_limit`` ("characters" or "bytes"), for all or
    for one repository."""

    def __init__(self) -> None:
        self._everywhere: dict[str, str] = {}
        self._by_repo: dict[tuple[int, str], str] = {}

    def set(self, repo_id: int | None, values: dict[str, str]) -> None:
        """Set switches; a repository's own value wins over the general one."""
        for name, value in values.items():
            if value not in _VALUES.get(name, ()):
                raise ApiError(422, f"Unknown switch {name}={value}")
            if repo_id is None:
                self._everywhere[name] = value
            else:
                self._by_repo[repo_id, name] = value

    def value(self, repo_id: int, name: str) -> str:
        """What holds in the repository."""
        return self._by_repo.get((repo_id, name), self._everywhere.get(name, _VALUES[name][0]))

    def refused(self, repo_id: int, name: str) -> bool:
        """Is this behaviour switched off for the repository?"""
        return self.value(repo_id, name) == "refused" or _for_now.get() == name


# Each request is served in a context of its own, so a push that takes long switches off nothing for its neighbours.
_for_now: ContextVar[str | None] = ContextVar("refused for now", default=None)


@contextmanager
def refused_for_now(name: str | None) -> Iterator[None]:
    """Switch one behaviour off for the present request alone; None leaves all as it is."""
    token = _for_now.set(name)
    try:
        yield
    finally:
        _for_now.reset(token)
