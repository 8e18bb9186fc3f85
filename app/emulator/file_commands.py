"""What a step says to its runner: the files behind GITHUB_ENV, GITHUB_OUTPUT and GITHUB_PATH, and masks.

Source: docs.github.com, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

from collections.abc import Iterable

MASKED = "***"
_ADD_MASK = "::add-mask::"


class WrongFile(ValueError):
    """A file that a step wrote and that cannot be read: the step fails."""


def pairs(text: str) -> dict[str, str]:
    """`name=value` and `name<<END … END`, later ones first. Raises :class:`WrongFile`."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        if not line:
            continue
        equals, here = line.find("="), line.find("<<")
        if here > 0 and (equals < 0 or here < equals):
            name, end = line[:here], line[here + 2 :]
            found[name] = "\n".join(_until(end, lines))
        elif equals > 0:
            found[line[:equals]] = line[equals + 1 :]
        else:
            raise WrongFile(f"Invalid format '{line}'")
    return found


def _until(end: str, lines: Iterable[str]) -> list[str]:
    if not end:
        raise WrongFile("Invalid format: the delimiter is empty")
    value: list[str] = []
    for line in lines:
        if line == end:
            return value
        value.append(line)
    raise WrongFile(f"Invalid value. Matching delimiter not found '{end}'")


class Masks:
    """Secrets, and what steps ask to be hidden: none of it reaches a log."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._hidden: list[str] = []
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Hide a value from now on, each of its lines."""
        self._hidden += [line for line in secret.splitlines() if line and line not in self._hidden]
        self._hidden.sort(key=len, reverse=True)

    def line(self, line: str) -> str:
        """A line as it may be logged; one that asks for a mask is obeyed."""
        if line.startswith(_ADD_MASK):
            self.add(line.removeprefix(_ADD_MASK).strip())
        for secret in self._hidden:
            line = line.replace(secret, MASKED)
        return line
