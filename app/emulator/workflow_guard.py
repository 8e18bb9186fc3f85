"""GitHub's refusal to let an App without ``workflows: write`` change workflow files."""

from __future__ import annotations

from pathlib import Path

from app.emulator.auth import Identity, require
from app.emulator.state import Repository

FOLDER = ".github/workflows"

# An update hook, for git alone knows the objects of a push before its refs move.
_HOOK = f"""#!/bin/sh
[ "$3" = 0000000000000000000000000000000000000000 ] && exit 0
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


def hooks_folder(data_dir: Path) -> Path:
    """The folder with the hook, made when it is first needed."""
    folder = data_dir / "hooks"
    if not (folder / "update").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "update").write_text(_HOOK, encoding="utf-8")
        (folder / "update").chmod(0o755)
    return folder.resolve()
