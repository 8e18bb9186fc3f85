"""Configuration variables of a repository.

Source: docs.github.com, "Store information in variables" (names, sizes) and "REST API endpoints for GitHub Actions
variables". Names are kept in capitals.
"""

from __future__ import annotations

import re

from app.emulator.actions_state import Variable
from app.emulator.errors import ApiError
from app.emulator.state import Repository
from app.emulator.world import World

MAX_VALUE_BYTES = 48 * 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def variables_of(world: World, repo: Repository) -> list[Variable]:
    """The repository's variables by name."""
    return [v for _, v in sorted(world.actions.variables.get(repo.id, {}).items())]


def check_name(name: str) -> str:
    """The name as it is kept. Raises 422."""
    if not _NAME.match(name) or name.upper().startswith("GITHUB_"):
        raise ApiError(
            422,
            "Variable names can only contain alphanumeric characters ([a-z], [A-Z], [0-9]) or underscores (_). Spaces "
            "are not allowed. Must start with a letter ([a-z], [A-Z]) or underscores (_).",
        )
    return name.upper()


def write_variable(world: World, repo: Repository, name: str, value: str) -> Variable:
    """Set a variable, a new one or one that is there. Raises 422."""
    known = world.actions.variables.setdefault(repo.id, {})
    key, now = check_name(name), world.clock.stamp()
    if len(value.encode()) > MAX_VALUE_BYTES:
        raise ApiError(422, "Variable value is too large.")
    known[key] = Variable(key, value, known[key].created_at if key in known else now, now)
    return known[key]
