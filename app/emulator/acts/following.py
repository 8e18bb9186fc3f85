"""How pull requests follow their branches as these are pushed, rewritten, deleted and brought back."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.closing import close_on_merge
from app.emulator.acts.events import record
from app.emulator.acts.forks import fetch_head, network
from app.emulator.acts.issue_events import tell, touch
from app.emulator.acts.mergeability import forget
from app.emulator.acts.pulls import close_pull, keep_head
from app.emulator.repos import ZERO
from app.emulator.state import Actor, PullRequest, Repository
from app.emulator.world import World


def head_moved(world: World, repo: Repository, branch: str, old: str, new: str, actor: Actor) -> None:
    """Let pull requests follow a head branch that was made, moved or deleted, also those in other repositories."""
    for home in [repo, *network(world, repo)]:
        for pull in [p for p in home.pulls() if p.head_ref == branch and p.head_repo is repo]:
            if pull.state == "open" and new == ZERO:
                record(world, pull, "head_ref_deleted", actor)
                close_pull(world, pull, actor)
            elif pull.state == "open" and new != pull.head_sha:
                _synchronize(world, pull, new, actor)
            elif pull.state == "closed" and new == ZERO and pull.head_sha == old:
                record(world, pull, "head_ref_deleted", actor)
            elif pull.state == "closed" and old == ZERO and new == pull.head_sha:
                record(world, pull, "head_ref_restored", actor)


def base_moved(world: World, repo: Repository, branch: str, old: str, new: str, actor: Actor) -> None:
    """Let pull requests follow a base branch: all commits in it = merged, branch deleted = closed."""
    for pull in [p for p in repo.pulls() if p.state == "open" and p.base_ref == branch]:
        if new == ZERO:
            record(world, pull, "base_ref_deleted", actor)
            close_pull(world, pull, actor)
        elif repo.git.is_ancestor(pull.head_sha, new):
            landed(world, pull, _landing_commit(repo, pull.head_sha, old, new), actor)
            tell_landed(world, pull, actor)


def head_repository_gone(world: World, repo: Repository, actor: Actor) -> None:
    """A fork was deleted: its open pull requests close, and none of them knows its repository any more."""
    for home in network(world, repo):
        for pull in [p for p in home.pulls() if p.head_repo is repo]:
            pull.head_repo = None
            close_pull(world, pull, actor)


def landed(world: World, pull: PullRequest, merge_commit: str, actor: Actor) -> None:
    """Make the pull request a merged one; who merges tells of it when the refs have moved."""
    now = world.clock.stamp()
    pull.state, pull.merged = "closed", True
    pull.merged_at = pull.closed_at = now
    pull.merged_by = pull.closed_by = actor.account
    forget(pull)
    pull.merge_commit_sha = merge_commit
    touch(world, pull)
    record(world, pull, "merged", actor, commit_id=merge_commit)
    record(world, pull, "closed", actor)


def tell_landed(world: World, pull: PullRequest, actor: Actor) -> None:
    """Announce the merge, and close what the pull request promised to close."""
    tell(world, pull, "closed", actor)
    close_on_merge(world, pull, actor)


def _synchronize(world: World, pull: PullRequest, new: str, actor: Actor) -> None:
    git = pull.repo.git
    assert pull.head_repo is not None
    fetch_head(pull.repo, pull.head_repo, new)
    before, forced = pull.head_sha, not git.is_ancestor(pull.head_sha, new)
    pull.base_sha = git.branch(pull.base_ref) or pull.base_sha
    pull.head_sha = new
    keep_head(pull)
    touch(world, pull)
    if forced:
        record(world, pull, "head_ref_force_pushed", actor, commit_id=new, before_commit=before, after_commit=new)
    if git.is_ancestor(new, pull.base_sha):
        if not forced:
            landed(world, pull, new, actor)
            tell_landed(world, pull, actor)
            return
        pull.reopen_refusal = f"There are no new commits on the {pull.head_ref} branch."
        close_pull(world, pull, actor)
        return
    tell(world, pull, "synchronize", actor, before=before, after=new)


def _landing_commit(repo: Repository, head: str, old: str, new: str) -> str:
    """The first commit on the base's own line that contains the head."""
    if old == ZERO:
        return new
    landing: str = new
    commit: Any = repo.git.commit(new)
    while str(commit.id) != old and repo.git.is_ancestor(head, str(commit.id)):
        landing = str(commit.id)
        if not commit.parent_ids:
            break
        commit = repo.git.commit(str(commit.parent_ids[0]))
    return landing
