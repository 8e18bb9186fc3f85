"""Landing pull requests: what GitHub refuses, the commits of the three methods, and what follows a merge."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import pygit2

from app.emulator.acts.branch_rules import merge_refusal
from app.emulator.acts.following import landed, tell_landed
from app.emulator.acts.merge_messages import merge_message, squash_message
from app.emulator.acts.mergeability import signature_of, web_signature
from app.emulator.acts.pulls import retarget
from app.emulator.acts.refs import RefRefusal, move, moved
from app.emulator.acts.rule_sentences import METHODS
from app.emulator.errors import ApiError
from app.emulator.git_merges import commits_between, merged_tree, replay
from app.emulator.merge_state import TrialMerge, base_moved_since
from app.emulator.repos import ZERO, RefChange, RefsRefused
from app.emulator.state import Actor, PullRequest, Repository
from app.emulator.world import World

NOT_MERGEABLE = "Pull Request is not mergeable"
BASE_MODIFIED = "Base branch was modified. Review and try the merge again."
HEAD_MODIFIED = "Head branch was modified. Review and try the merge again."


@dataclass(frozen=True)
class MergeOrder:
    """How somebody wants a pull request merged; None leaves it to GitHub."""

    method: str = "merge"
    title: str | None = None
    message: str | None = None
    expected_head: str | None = None
    author_email: str | None = None
    # Committed this much later than now, so that what was built once before is another commit.
    later_s: int = 0


def merge(world: World, pull: PullRequest, actor: Actor, order: MergeOrder) -> str:
    """Merge an open pull request and let everything follow; the commit it landed as.

    Raises 405 with GitHub's reason and 409 when ``expected_head`` is not the head. "Base branch was modified" comes
    once after the base has moved under a trial merge: the refusal lets GitHub try anew, so the next try may succeed.
    """
    repo, base = pull.repo, pull.repo.git.branch(pull.base_ref)
    if pull.state != "open" or base is None:
        raise ApiError(405, NOT_MERGEABLE)
    if pull.draft:
        # Asked before the head, as tried on GitHub in August 2026.
        raise ApiError(405, "Pull Request is still a draft")
    if order.expected_head is not None and order.expected_head != pull.head_sha:
        raise ApiError(409, HEAD_MODIFIED)
    if pull.queue_entry is not None:
        raise ApiError(405, "Pull Request is in the merge queue")
    if not repo.settings.allows(order.method):
        raise ApiError(405, f"{METHODS[order.method]} are not allowed on this repository.")
    if merged_tree(repo.git, base, pull.head_sha) is None:
        raise ApiError(405, NOT_MERGEABLE)
    refusal = merge_refusal(world, repo, pull, actor, order.method)
    if refusal is not None:
        raise ApiError(405, refusal)
    if base_moved_since(pull):
        pull.trial = TrialMerge(pull.head_sha, base, world.clock.now())
        raise ApiError(405, BASE_MODIFIED)
    tip = landing_commit(world, pull, actor, order, base)
    try:
        land(world, pull, base, tip, actor)
    except RefsRefused:
        raise ApiError(405, BASE_MODIFIED) from None
    return tip


def land(world: World, pull: PullRequest, base: str, tip: str, actor: Actor, by: str = "pr_merge") -> None:
    """Move the base branch from ``base`` to a tip that holds the pull request, and let everything follow; ``by`` is the
    kind of activity that it is noted as.

    Raises :class:`RefsRefused` when the base is no longer there; nothing has changed then.
    """
    change = RefChange(f"refs/heads/{pull.base_ref}", base, tip)
    pull.repo.git.update([change])
    pull.base_sha = base
    landed(world, pull, tip, actor)
    moved(world, pull.repo, [change], actor, by=by)
    tell_landed(world, pull, actor)
    if pull.repo.settings.delete_branch_on_merge:
        _delete_head(world, pull, actor)


def merge_branch(
    world: World, repo: Repository, base: str, head: str, actor: Actor, message: str | None, email: str | None = None
) -> str | None:
    """Merge a branch or commit into a branch ("Merge a branch"); None when there is nothing to merge.

    Raises 404 for what does not exist and 409 for conflicts and for what guards the branch.
    """
    base_sha, head_sha = repo.git.branch(base), repo.git.resolve_commit(head)
    if base_sha is None:
        raise ApiError(404, "Base does not exist")
    if head_sha is None:
        raise ApiError(404, "Head does not exist")
    if repo.git.is_ancestor(head_sha, base_sha):
        return None
    tree = merged_tree(repo.git, base_sha, head_sha)
    if tree is None:
        raise ApiError(409, "Merge conflict")
    author = signature_of(world, actor.account, email)
    text = message or f"Merge {head} into {base}"
    sha = repo.git.write_commit(tree, [base_sha, head_sha], text, author, web_signature(world))
    world.signed.add(sha)
    try:
        move(world, repo, [RefChange(f"refs/heads/{base}", base_sha, sha)], actor, force=[False])
    except RefRefusal as refusal:
        raise ApiError(409, str(refusal)) from None
    return sha


def landing_commit(world: World, pull: PullRequest, actor: Actor, order: MergeOrder, base: str) -> str:
    """Store what lands on ``base`` in the ordered way; its tip. The two must merge cleanly. Raises 405."""
    git = pull.repo.git
    author, web = signature_of(world, actor.account, order.author_email), web_signature(world)
    commits = commits_between(git, base, pull.head_sha)
    web = pygit2.Signature(web.name, web.email, web.time + order.later_s, 0)
    if order.method == "rebase":
        # Rebased commits are the merger's, not GitHub's: they cannot be signed.
        author = pygit2.Signature(author.name, author.email, author.time + order.later_s, 0)
        tip = replay(git, commits, base, author)
        if tip is None:
            raise ApiError(405, "This branch can't be rebased")
        return tip
    tree = merged_tree(git, base, pull.head_sha)
    assert tree is not None
    if order.method == "squash":
        author = signature_of(world, pull.author, order.author_email)
        text = squash_message(pull, commits, order.title, order.message)
        tip = git.write_commit(tree, [base], text, author, web)
    else:
        text = merge_message(pull, order.title, order.message)
        tip = git.write_commit(tree, [base, pull.head_sha], text, author, web)
    world.signed.add(tip)
    return tip


def _delete_head(world: World, pull: PullRequest, actor: Actor) -> None:
    """Delete the merged branch as the merge flow does: pull requests that have it as base go to the merged one's base.

    A branch that moved on in the meantime, the default branch and a guarded one stay.
    """
    repo, name = pull.repo, f"refs/heads/{pull.head_ref}"
    if pull.head_repo is not repo or repo.git.ref(name) != pull.head_sha or pull.head_ref == repo.default_branch:
        return
    for dependent in [p for p in repo.pulls() if p.state == "open" and p.base_ref == pull.head_ref]:
        # One that cannot have the new base stays, and is closed by the deletion.
        with suppress(ApiError):
            retarget(world, dependent, pull.base_ref, actor, event="automatic_base_change_succeeded")
    with suppress(RefRefusal):
        move(world, repo, [RefChange(name, pull.head_sha, ZERO)], actor, force=[True])
