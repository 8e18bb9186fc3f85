"""Mergeability as reads of the single pull request bring it about, and the test merge that comes with it."""

from __future__ import annotations

from dataclasses import replace

import pygit2

from app.emulator.git_merges import commits_between, merged_tree, replay
from app.emulator.merge_state import TrialMerge, current_trial
from app.emulator.repos import ZERO, RefChange
from app.emulator.state import Account, PullRequest
from app.emulator.world import World

WEB_NAME, WEB_EMAIL = "GitHub", "noreply@github.com"


def look(world: World, pull: PullRequest) -> TrialMerge | None:
    """One read of the single pull request: it asks for a trial merge, or has the result an earlier read asked for."""
    base = pull.repo.git.branch(pull.base_ref)
    if pull.state != "open" or base is None:
        return None
    trial = current_trial(pull, world.clock.now())
    if trial is None:
        pull.trial = TrialMerge(pull.head_sha, base, world.clock.now())
    elif trial.mergeable is None:
        pull.trial = _tried(world, pull, trial)
    return pull.trial


def forget(pull: PullRequest) -> None:
    """A pull request that is closed has no mergeability and no ``refs/pull/N/merge``."""
    pull.trial = None
    name = merge_ref(pull)
    if pull.repo.git.ref(name) is not None:
        pull.repo.git.update([RefChange(name, None, ZERO)])


def merge_ref(pull: PullRequest) -> str:
    """The ref of the test merge. It stays where it is while head and base move on: outdated without warning."""
    return f"refs/pull/{pull.number}/merge"


def signature_of(world: World, account: Account, email: str | None = None) -> pygit2.Signature:
    """The account as author of a commit made now."""
    return pygit2.Signature(account.name or account.login, email or account.email, int(world.clock.now()), 0)


def web_signature(world: World) -> pygit2.Signature:
    """The committer of what GitHub itself commits."""
    return pygit2.Signature(WEB_NAME, WEB_EMAIL, int(world.clock.now()), 0)


def _tried(world: World, pull: PullRequest, trial: TrialMerge) -> TrialMerge:
    git = pull.repo.git
    tree = merged_tree(git, trial.base, trial.head)
    if tree is None:
        return replace(trial, mergeable=False, rebaseable=False)
    author, web = signature_of(world, pull.author), web_signature(world)
    message = f"Merge {trial.head} into {trial.base}"
    pull.merge_commit_sha = git.write_commit(tree, [trial.base, trial.head], message, author, web)
    git.update([RefChange(merge_ref(pull), None, pull.merge_commit_sha)])
    rebased = replay(git, commits_between(git, trial.base, trial.head), trial.base, web)
    return replace(trial, mergeable=True, rebaseable=rebased is not None)
