"""GitHub's refusal to let an App without ``workflows: write`` change workflow files."""

from __future__ import annotations

from app.emulator.auth import Identity, require
from app.emulator.state import Repository

FOLDER = ".github/workflows"

# Run in an update hook, for git alone knows the objects of a push before its refs move. The hook is told who pushes
# and what is missing, and leaves the reason in a file: GitHub gives it in the report alone, without a remark beside.
SCRIPT = f"""[ "$3" = 0000000000000000000000000000000000000000 ] && exit 0
path=$(git log --format= --name-only "$3" --not --all -- {FOLDER} | head -n 1)
[ -z "$path" ] && exit 0
mkdir -p "$(dirname "$EMULATOR_REASONS/$1")"
echo "refusing to allow $EMULATOR_PUSHER to create or update workflow \\`$path\\` without $EMULATOR_LACKS" \
  >"$EMULATOR_REASONS/$1"
exit 1
"""


def push_env(identity: Identity, repo: Repository) -> dict[str, str]:
    """What the hook is told about a pusher who must leave workflow files alone; nothing about anybody else."""
    if applies_to(identity, repo):
        return {"EMULATOR_PUSHER": "a GitHub App", "EMULATOR_LACKS": "`workflows` permission"}
    token = identity.token
    if token is not None and token.kind == "classic" and token.scopes is not None and "workflow" not in token.scopes:
        return {"EMULATOR_PUSHER": "a Personal Access Token", "EMULATOR_LACKS": "`workflow` scope"}
    return {}


def applies_to(identity: Identity, repo: Repository) -> bool:
    """Must this identity keep its hands off workflow files?"""
    return identity.installation is not None and not identity.allows(repo, "workflows", "write")


def check_path(identity: Identity, repo: Repository, path: str) -> None:
    """Refuse a write to a workflow file by API. Raises 403."""
    if path.startswith(f"{FOLDER}/") and applies_to(identity, repo):
        require(identity, repo, "write", "workflows")
