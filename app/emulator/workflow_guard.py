"""GitHub's refusal to let an App without ``workflows: write`` change workflow files."""

from __future__ import annotations

from app.emulator.auth import Identity, require
from app.emulator.state import Repository

FOLDER = ".github/workflows"

# Run in an update hook, for git alone knows the objects of a push before its refs move.
SCRIPT = f"""[ "$3" = 0000000000000000000000000000000000000000 ] && exit 0
path=$(git log --format= --name-only "$3" --not --all -- {FOLDER} | head -n 1)
[ -z "$path" ] && exit 0
echo "refusing to allow a GitHub App to create or update workflow \\`$path\\` without \\`workflows\\` permission" >&2
exit 1
"""


def applies_to(identity: Identity, repo: Repository) -> bool:
    """Must this identity keep its hands off workflow files?"""
    return identity.installation is not None and not identity.allows(repo, "workflows", "write")


def check_path(identity: Identity, repo: Repository, path: str) -> None:
    """Refuse a write to a workflow file by API. Raises 403."""
    if path.startswith(f"{FOLDER}/") and applies_to(identity, repo):
        require(identity, repo, "write", "workflows")
