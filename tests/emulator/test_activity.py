"""What happened to branches (docs.github.com, "List repository activities")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emulated import REPO, World, git, new_commit

ACTIVITY = f"/repos/{REPO}/activity"


def listed(world: World, **query: Any) -> list[tuple[str, str, str]]:
    found = world.bot.get(ACTIVITY, params=query).json()
    return [(one["activity_type"], one["actor"]["login"], one["ref"]) for one in found]


def test_pushes_merges_and_branches_with_who_did_it(world: World, tmp_path: Path) -> None:
    clone = world.clone(tmp_path / "c", "dev")
    git(clone, "checkout", "-q", "42-x")
    sha = new_commit(clone, "b.txt")
    git(clone, "push", "-q", "origin", "42-x")
    git(clone, "push", "-q", "-f", "origin", "HEAD^:42-x")
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/new", "HEAD:refs/agent-recovery/x")
    git(clone, "push", "-q", "origin", ":new")
    pull = world.open_pull(base="release-1")
    merged = world.dev.put(f"/repos/{REPO}/pulls/{pull['number']}/merge", json={}).json()["sha"]
    assert listed(world, ref="refs/heads/42-x")[:2] == [
        ("force_push", "dev", "refs/heads/42-x"),
        ("push", "dev", "refs/heads/42-x"),
    ]
    assert listed(world, ref="new") == [
        ("branch_deletion", "dev", "refs/heads/new"),
        ("branch_creation", "dev", "refs/heads/new"),
    ]
    newest = world.bot.get(ACTIVITY, params={"ref": "release-1", "per_page": 1}).json()[0]
    assert (newest["activity_type"], newest["after"]) == ("pr_merge", merged)
    pushed = world.bot.get(ACTIVITY, params={"ref": "42-x", "activity_type": "push"}).json()[0]
    assert pushed["after"] == sha
    assert not listed(world, ref="refs/agent-recovery/x"), "only branches"
    assert listed(world, actor="dev", direction="asc", ref="42-x")[0][0] == "push"
    assert world.bot.get(ACTIVITY, params={"activity_type": "other"}).status_code == 422
