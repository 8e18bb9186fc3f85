"""Which pull requests a commit belongs to."""

from __future__ import annotations

from app.emulator.state import PullRequest, Repository


def pulls_with_commit(repo: Repository, sha: str) -> list[PullRequest]:
    """The pull requests that propose a commit, and those whose merge brought it onto their base."""
    return [pull for pull in repo.pulls() if _proposes(pull, sha) or _brought(pull, sha)]


def _proposes(pull: PullRequest, sha: str) -> bool:
    git = pull.repo.git
    return git.is_ancestor(sha, pull.head_sha) and not git.is_ancestor(sha, pull.base_sha)


def _brought(pull: PullRequest, sha: str) -> bool:
    git, landed = pull.repo.git, pull.merge_commit_sha
    if not pull.merged or landed is None:
        return False
    return git.is_ancestor(sha, landed) and not git.is_ancestor(sha, pull.base_sha)
