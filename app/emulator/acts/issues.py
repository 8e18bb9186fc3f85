"""Issues: opening, editing, closing; references from one to another."""

from __future__ import annotations

import re
from typing import Any

from app.emulator.acts.assignees import MAX_ASSIGNEES, find_assignable, tell_assigned
from app.emulator.acts.events import record
from app.emulator.acts.issue_events import remember_edit, take_number, tell, touch
from app.emulator.acts.labels import find_labels, tell_labeled
from app.emulator.acts.texts import check_body, check_title, too_long
from app.emulator.state import Actor, Issue, PullRequest, Repository
from app.emulator.world import World

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|<!--.*?(?:-->|\Z)", re.S)
_REFERENCE = re.compile(
    r"(?<![\w/#&-])(?:(?P<repo>[\w.-]+/[\w.-]+))?#(?P<number>\d{1,9})(?![\w])"
    r"|https?://[^/\s]+/(?P<url_repo>[\w.-]+/[\w.-]+)/(?:issues|pull)/(?P<url_number>\d{1,9})(?![\w/])"
)


def open_issue(
    world: World,
    repo: Repository,
    actor: Actor,
    title: str,
    body: str | None,
    labels: list[str],
    assignees: list[str],
) -> Issue:
    """A new Issue. It is told of with its labels and assignees, and then each of them is told of too."""
    check_title("Issue", title)
    check_body(world, repo, body)
    now = world.clock.stamp()
    issue = Issue(
        id=world.ids.next("issue"),
        number=take_number(repo),
        repo=repo,
        title=title,
        body=body,
        author=actor.account,
        app=actor.app,
        created_at=now,
        updated_at=now,
    )
    issue.labels = find_labels(world, repo, labels, actor)
    issue.assignees = find_assignable(world, repo, assignees)[:MAX_ASSIGNEES]
    repo.issues[issue.number] = issue
    tell(world, issue, "opened", actor)
    cross_reference(world, issue, body, actor)
    for label in issue.labels:
        tell_labeled(world, issue, label, actor)
    for account in issue.assignees:
        tell_assigned(world, issue, account, actor)
    return issue


def check_text(world: World, issue: Issue, title: str | None, body: str | None) -> None:
    """Refuse a new title or text before anything else of the request is done. Raises 422."""
    resource = "PullRequest" if issue.is_pull else "Issue"
    dropped = not issue.is_pull and world.switches.value(issue.repo.id, "text_limit") == "bytes"
    if not dropped:
        check_body(world, issue.repo, body, pull=issue.is_pull)
    if title is not None and title != issue.title:
        check_title(resource, title)


def edit_text(world: World, issue: Issue, actor: Actor, title: str | None, body: str | None) -> None:
    """Change title and body; unchanged values are no edit and raise no event.

    Where the limit is counted in bytes, an Issue's overlong body is dropped without a word, as measured on GitHub.
    """
    changes: dict[str, Any] = {}
    edited = False
    check_text(world, issue, title, body)
    if too_long(world, issue.repo, body, pull=issue.is_pull):
        body = None
    if title is not None and title != issue.title:
        changes["title"] = {"from": issue.title}
        record(world, issue, "renamed", actor, rename={"from": issue.title, "to": title})
        issue.title = title
    if body is not None and body != (issue.body or ""):
        edited = True
        if issue.body or not issue.is_pull:
            # Where a pull request had no text, its event does not say so (xmo-odoo/dummy_central, test_basic).
            changes["body"] = {"from": issue.body or ""}
        remember_edit(world, issue, issue.body or "", body, actor.account)
        issue.body = body or None if issue.is_pull else body
    if changes or edited:
        touch(world, issue)
        tell(world, issue, "edited", actor, changes=changes)
        cross_reference(world, issue, issue.body, actor)


def close_issue(
    world: World,
    issue: Issue,
    actor: Actor,
    reason: str | None,
    *,
    closer: PullRequest | None = None,
    commit_id: str | None = None,
) -> None:
    """Close an Issue; an open pull request goes through :mod:`app.emulator.acts.pulls`.

    ``closer`` and ``commit_id`` tell what closed it. The reason of a closed Issue stays as it is, as documented:
    "ignored unless state is changed".
    """
    if issue.state == "closed":
        return
    issue.state, issue.state_reason = "closed", reason or "completed"
    issue.closed_at, issue.closed_by = world.clock.stamp(), actor.account
    touch(world, issue)
    record(world, issue, "closed", actor, state_reason=issue.state_reason, closer=closer, commit_id=commit_id)
    tell(world, issue, "closed", actor)


def reopen_issue(world: World, issue: Issue, actor: Actor) -> None:
    """Open a closed Issue again."""
    if issue.state == "open":
        return
    issue.state, issue.state_reason = "open", "reopened"
    issue.closed_at, issue.closed_by = None, None
    touch(world, issue)
    record(world, issue, "reopened", actor, state_reason="reopened")
    tell(world, issue, "reopened", actor)


def mark_duplicate(world: World, issue: Issue, canonical: Issue, actor: Actor) -> None:
    """Note that one Issue repeats another; closing it is the caller's."""
    record(world, issue, "marked_as_duplicate", actor, canonical=canonical)


def cross_reference(world: World, source: Issue, text: str | None, actor: Actor) -> None:
    """Leave a reference on every Issue the text names, once per source; code and comments name nothing."""
    for match in _REFERENCE.finditer(_CODE.sub(" ", text or "")):
        name = match["repo"] or match["url_repo"]
        repo = world.repo(*name.split("/")) if name else source.repo
        target = repo.issues.get(int(match["number"] or match["url_number"])) if repo else None
        if target is None or target is source:
            continue
        if any(e.event == "cross-referenced" and e.data["source"] is source for e in target.timeline):
            continue
        record(world, target, "cross-referenced", actor, source=source)
