"""The messages of merge and squash commits, as GitHub writes them where the caller gives none.

Source: docs.github.com "Configuring commit squashing / merging for pull requests" and "About pull request merges".
"""

from __future__ import annotations

import pygit2

from app.emulator.repos import GitRepo
from app.emulator.state import PullRequest


def merge_message(pull: PullRequest, title: str | None, message: str | None) -> str:
    """The message of a merge commit; title and message stand in for what the settings preset."""
    settings = pull.repo.settings
    if title is None:
        branch = f"{pull.head_owner.login}/{pull.head_ref}"
        preset = f"Merge pull request #{pull.number} from {branch}"
        title = pull.title if settings.merge_commit_title == "PR_TITLE" else preset
    if message is None:
        message = {"PR_TITLE": pull.title, "PR_BODY": pull.body or "", "BLANK": ""}[settings.merge_commit_message]
    return _joined(title, message)


def squash_message(pull: PullRequest, commits: list[str], title: str | None, message: str | None) -> str:
    """The message of a squash commit, with a trailer for every author who did not open the pull request.

    A message that was given stands as it is (github/rest-api-description#4340; that is why bots write the trailers).
    """
    git, settings = pull.repo.git, pull.repo.settings
    alone = commits[0] if len(commits) == 1 else None
    if title is None:
        by_commit = settings.squash_merge_commit_title == "COMMIT_OR_PR_TITLE" and alone is not None
        title = (_headline(git, alone) if by_commit and alone is not None else pull.title) + f" (#{pull.number})"
    if message is not None:
        return _joined(title, message)
    listed = False
    if settings.squash_merge_commit_message == "COMMIT_MESSAGES":
        listed = alone is None
        message = _body(git, alone) if alone is not None else "\n\n".join(f"* {_text(git, sha)}" for sha in commits)
    else:
        message = (pull.body or "") if settings.squash_merge_commit_message == "PR_BODY" else ""
    trailers = "\n".join(f"Co-authored-by: {a.name} <{a.email}>" for a in co_authors(pull, commits))
    if trailers:
        rule = "---------\n\n" if listed else ""
        message = f"{message}\n\n{rule}{trailers}" if message else trailers
    return _joined(title, message)


def co_authors(pull: PullRequest, commits: list[str]) -> list[pygit2.Signature]:
    """The authors of the commits other than the pull request's own, each once."""
    found: dict[str, pygit2.Signature] = {}
    for sha in commits:
        author = pull.repo.git.commit(sha).author
        if author.email != pull.author.email:
            found.setdefault(author.email, author)
    return list(found.values())


def _joined(title: str, message: str) -> str:
    return f"{title}\n\n{message}" if message else title


def _text(git: GitRepo, sha: str) -> str:
    return str(git.commit(sha).message).strip()


def _headline(git: GitRepo, sha: str) -> str:
    return _text(git, sha).partition("\n")[0]


def _body(git: GitRepo, sha: str) -> str:
    return _text(git, sha).partition("\n")[2].strip()
