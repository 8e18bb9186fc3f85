"""Closing keywords: which Issues a pull request or a commit will close, and closing them when it lands.

Only what lands on the default branch closes anything: a pull request to any other branch makes no link and its merge
leaves the Issues open (docs.github.com "Linking a pull request to an issue"; github/docs#199).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.emulator.acts.events import record
from app.emulator.acts.issues import close_issue
from app.emulator.state import Actor, Issue, PullRequest, Repository
from app.emulator.world import World

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|<!--.*?(?:-->|\Z)", re.S)
_CLOSES = re.compile(
    r"(?<![\w-])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+"
    r"(?:(?P<repo>[\w.-]+/[\w.-]+)?#(?P<number>\d{1,9})(?!\w)"
    r"|https?://[^/\s]+/(?P<url_repo>[\w.-]+/[\w.-]+)/issues/(?P<url_number>\d{1,9})(?![\w/]))",
    re.I,
)


def named_by(world: World, repo: Repository, text: str | None) -> list[Issue]:
    """The Issues a text promises to close, in its order; code, comments and pull requests do not count."""
    found: list[Issue] = []
    for match in _CLOSES.finditer(_CODE.sub(" ", text or "")):
        name = match["repo"] or match["url_repo"]
        home = world.repo(*name.split("/")) if name else repo
        issue = home.issues.get(int(match["number"] or match["url_number"])) if home is not None else None
        if issue is not None and not issue.is_pull and issue not in found:
            found.append(issue)
    return found


def linked_issues(world: World, pull: PullRequest, *, by_hand_only: bool = False) -> list[Issue]:
    """``closingIssuesReferences``: what merging the pull request may close, by keyword or by a linked branch.

    Empty for a pull request whose base is not the default branch.
    """
    if pull.base_ref != pull.repo.default_branch:
        return []
    by_hand = [i for i in pull.repo.plain_issues() if any(_is_head(pull, b) for b in _branches(i))]
    if by_hand_only:
        return by_hand
    return list(dict.fromkeys([*named_by(world, pull.repo, pull.body), *by_hand]))


def pulls_closing(world: World, issue: Issue) -> list[PullRequest]:
    """``closedByPullRequestsReferences``: every pull request linked to the Issue, whatever its state."""
    return [p for r in world.repos.values() for p in r.pulls() if issue in linked_issues(world, p)]


def connect(world: World, pull: PullRequest, actor: Actor) -> None:
    """Note in both timelines that a new pull request comes from a branch made for an Issue."""
    for issue in linked_issues(world, pull, by_hand_only=True):
        record(world, issue, "connected", actor, source=pull)
        record(world, pull, "connected", actor, source=issue)


def close_on_merge(world: World, pull: PullRequest, actor: Actor) -> list[Issue]:
    """Close what a merged pull request is linked to; returns the Issues that were closed by it."""
    closed = [i for i in linked_issues(world, pull) if i.state == "open" and _may_close(world, pull.repo, i, actor)]
    for issue in closed:
        close_issue(world, issue, actor, "completed", closer=pull)
    return closed


def close_by_commits(world: World, repo: Repository, shas: Iterable[str], actor: Actor) -> list[Issue]:
    """Close what messages of commits that reached the default branch name; the Issues that were closed."""
    closed: list[Issue] = []
    for sha in shas:
        for issue in named_by(world, repo, repo.git.commit(sha).message):
            if issue.state == "open" and _may_close(world, repo, issue, actor):
                close_issue(world, issue, actor, "completed", commit_id=sha)
                closed.append(issue)
    return closed


def _branches(issue: Issue) -> list[tuple[Repository, str]]:
    return [(b.repo, b.branch) for b in issue.linked_branches]


def _is_head(pull: PullRequest, branch: tuple[Repository, str]) -> bool:
    return branch == (pull.head_repo, pull.head_ref)


def _may_close(world: World, source: Repository, issue: Issue, actor: Actor) -> bool:
    """An Issue of another repository is closed only by somebody who may write there."""
    if issue.repo is source:
        return True
    if actor.account.type != "Bot":
        return issue.repo.role_of(actor.account) in ("write", "maintain", "admin")
    return any(
        i.app is actor.app and i.permissions.get("issues") == "write" for i in world.installations_on(issue.repo)
    )
