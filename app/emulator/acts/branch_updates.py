"""Bringing a branch up to date: a pull request's head with its base, a fork's branch with its upstream."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.emulator.acts.forks import fetch_head
from app.emulator.acts.mergeability import signature_of, web_signature
from app.emulator.acts.refs import RefRefusal, move
from app.emulator.errors import ApiError
from app.emulator.git_merges import commits_between, merged_tree, replay
from app.emulator.repos import RefChange
from app.emulator.state import Actor, PullRequest, Repository

if TYPE_CHECKING:
    from app.emulator.world import World


@dataclass(frozen=True)
class UpdateBranch:
    """An accepted update: it is dropped without a word when the head has moved by the time it runs."""

    pull: PullRequest
    expected_head: str
    method: str
    actor: Actor

    def run(self, world: World) -> None:
        """Do it, unless the head or the base no longer allows it."""
        with suppress(ApiError):
            update_branch(world, self.pull, self.expected_head, self.method, self.actor)


def check_update(pull: PullRequest, expected_head: str | None, method: str = "merge") -> str:
    """Refuse an update that GitHub refuses at once; the head it is for. Raises 422."""
    base, head_repo = pull.repo.git.branch(pull.base_ref), pull.head_repo
    if head_repo is None or pull.state != "open" or head_repo.git.branch(pull.head_ref) is None:
        raise ApiError(422, "head ref does not exist")
    if pull.queue_entry is not None:
        raise ApiError(422, "Branches that are queued for merging cannot be updated")
    if expected_head is not None and expected_head != pull.head_sha:
        raise ApiError(422, "expected head sha didn\N{RIGHT SINGLE QUOTATION MARK}t match current head ref.")
    if base is None or pull.repo.git.is_ancestor(base, pull.head_sha):
        raise ApiError(422, "There are no new commits on the base branch.")
    if method == "merge" and merged_tree(pull.repo.git, base, pull.head_sha) is None:
        raise ApiError(422, "merge conflict between base and head")
    return pull.head_sha


def update_branch(world: World, pull: PullRequest, expected_head: str, method: str, actor: Actor) -> None:
    """Merge the base into the head, or rebase the head onto the base. Raises 422."""
    head, git = check_update(pull, expected_head, method), pull.repo.git
    base = git.branch(pull.base_ref)
    assert base is not None
    assert pull.head_repo is not None
    signed = signature_of(world, actor.account)
    if method == "rebase":
        tip = replay(git, commits_between(git, base, head), base, signed)
        if tip is None:
            raise ApiError(422, "merge conflict between base and head")
    else:
        tree = merged_tree(git, head, base)
        assert tree is not None
        message = f"Merge branch '{pull.base_ref}' into {pull.head_ref}"
        tip = git.write_commit(tree, [head, base], message, signed, web_signature(world))
        world.signed.add(tip)
    _push(world, pull.repo, pull.head_repo, RefChange(f"refs/heads/{pull.head_ref}", head, tip), actor)


def sync_fork(world: World, repo: Repository, branch: str, actor: Actor) -> str:
    """Bring a branch of a fork up to date with the same branch of its parent ("Sync a fork branch").

    What was done: ``none``, ``fast-forward`` or ``merge``. Raises 409 for conflicts and 422 for what is no fork or has
    no such branch.
    """
    upstream = repo.parent.git.branch(branch) if repo.parent is not None else None
    present = repo.git.branch(branch)
    if repo.parent is None or upstream is None or present is None:
        raise ApiError(422, "Branch not found")
    fetch_head(repo, repo.parent, upstream)
    if repo.git.is_ancestor(upstream, present):
        return "none"
    tip, kind = upstream, "fast-forward"
    if not repo.git.is_ancestor(present, upstream):
        tree = merged_tree(repo.git, present, upstream)
        if tree is None:
            raise ApiError(409, "There are merge conflicts")
        message = f"Merge branch '{repo.parent.full_name}:{branch}' into {branch}"
        author = signature_of(world, actor.account)
        tip = repo.git.write_commit(tree, [present, upstream], message, author, web_signature(world))
        world.signed.add(tip)
        kind = "merge"
    _push(world, repo, repo, RefChange(f"refs/heads/{branch}", present, tip), actor)
    return kind


def _push(world: World, repo: Repository, head_repo: Repository, change: RefChange, actor: Actor) -> None:
    fetch_head(head_repo, repo, change.new)
    try:
        move(world, head_repo, [change], actor, force=[True])
    except RefRefusal as refusal:
        raise ApiError(422, str(refusal)) from None
