"""Issues, and what pull requests share with them: text, labels, assignees, comments, references."""

from __future__ import annotations

import re
from typing import Any

from app.emulator.acts.events import announce, record
from app.emulator.errors import ApiError, invalid
from app.emulator.render import Render
from app.emulator.state import Account, Actor, Comment, Issue, Label, PullRequest, Reaction, Repository
from app.emulator.world import World

MAX_COMMENT_CHARS = 65_536
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|<!--.*?(?:-->|\Z)", re.S)
_REFERENCE = re.compile(
    r"(?<![\w/#&-])(?:(?P<repo>[\w.-]+/[\w.-]+))?#(?P<number>\d{1,9})(?![\w])"
    r"|https?://[^/\s]+/(?P<url_repo>[\w.-]+/[\w.-]+)/(?:issues|pull)/(?P<url_number>\d{1,9})(?![\w/])"
)


def event_name(issue: Issue) -> str:
    """The webhook an Issue's or pull request's changes are announced by."""
    return "pull_request" if issue.is_pull else "issues"


def payload(world: World, issue: Issue, action: str, **extra: Any) -> dict[str, Any]:
    """The webhook payload of a change to an Issue or pull request."""
    render = Render(world)
    if isinstance(issue, PullRequest):
        shown: dict[str, Any] = {"number": issue.number, "pull_request": render.pull(issue, full=True)}
    else:
        shown = {"issue": render.issue(issue)}
    return {"action": action} | shown | extra


def tell(world: World, issue: Issue, action: str, actor: Actor, **extra: Any) -> None:
    """Announce a change to an Issue or pull request."""
    announce(world, issue.repo, event_name(issue), payload(world, issue, action, **extra), actor)


def touch(world: World, issue: Issue) -> None:
    """Move ``updated_at``."""
    issue.updated_at = world.clock.stamp()


def open_issue(
    world: World,
    repo: Repository,
    actor: Actor,
    title: str,
    body: str | None,
    labels: list[str],
    assignees: list[str],
) -> Issue:
    """A new Issue."""
    if not title.strip():
        raise invalid("Issue", "title", "missing_field")
    check_length(body)
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
    repo.issues[issue.number] = issue
    tell(world, issue, "opened", actor)
    cross_reference(world, issue, body, actor)
    add_labels(world, issue, labels, actor)
    set_assignees(world, issue, assignees, actor)
    return issue


def take_number(repo: Repository) -> int:
    """The next number of the sequence Issues and pull requests share."""
    number = repo.next_number
    repo.next_number += 1
    return number


def check_length(body: str | None) -> None:
    """Refuse texts GitHub would not store."""
    if body is not None and len(body) > MAX_COMMENT_CHARS:
        raise ApiError(
            422,
            "Validation Failed",
            [
                {
                    "resource": "IssueComment",
                    "code": "unprocessable",
                    "field": "data",
                    "message": f"Body is too long (maximum is {MAX_COMMENT_CHARS} characters)",
                }
            ],
        )


def edit_text(world: World, issue: Issue, actor: Actor, title: str | None, body: str | None) -> None:
    """Change title and body; unchanged values are no edit and raise no event."""
    changes: dict[str, Any] = {}
    if title is not None and title != issue.title:
        if not title.strip():
            raise invalid("Issue", "title", "missing_field")
        changes["title"] = {"from": issue.title}
        record(world, issue, "renamed", actor, rename={"from": issue.title, "to": title})
        issue.title = title
    if body is not None and body != (issue.body or ""):
        check_length(body)
        changes["body"] = {"from": issue.body or ""}
        issue.body = body
        issue.edited_at, issue.editor = world.clock.stamp(), actor.account
    if changes:
        touch(world, issue)
        tell(world, issue, "edited", actor, changes=changes)
        cross_reference(world, issue, issue.body, actor)


def close_issue(world: World, issue: Issue, actor: Actor, reason: str | None) -> None:
    """Close an Issue; an open pull request goes through :mod:`app.emulator.acts.pulls`."""
    if issue.state == "closed":
        issue.state_reason = reason or issue.state_reason
        return
    issue.state, issue.state_reason = "closed", reason or "completed"
    issue.closed_at, issue.closed_by = world.clock.stamp(), actor.account
    touch(world, issue)
    record(world, issue, "closed", actor, state_reason=issue.state_reason)
    tell(world, issue, "closed", actor)


def reopen_issue(world: World, issue: Issue, actor: Actor) -> None:
    """Open a closed Issue again."""
    if issue.state == "open":
        return
    issue.state, issue.state_reason = "open", "reopened"
    issue.closed_at, issue.closed_by = None, None
    touch(world, issue)
    record(world, issue, "reopened", actor)
    tell(world, issue, "reopened", actor)


def add_labels(world: World, issue: Issue, names: list[str], actor: Actor) -> None:
    """Add labels; unknown ones are made, present ones are no change."""
    for name in names:
        label = world.label(issue.repo, name)
        if label in issue.labels:
            continue
        issue.labels.append(label)
        touch(world, issue)
        record(world, issue, "labeled", actor, label=label)
        tell(world, issue, "labeled", actor, label=Render(world).label(label, issue.repo))


def remove_label(world: World, issue: Issue, label: Label, actor: Actor) -> None:
    """Take a label off."""
    issue.labels.remove(label)
    touch(world, issue)
    record(world, issue, "unlabeled", actor, label=label)
    tell(world, issue, "unlabeled", actor, label=Render(world).label(label, issue.repo))


def set_labels(world: World, issue: Issue, names: list[str], actor: Actor) -> None:
    """Make the labels exactly these."""
    wanted = {n.lower() for n in names}
    for label in [x for x in issue.labels if x.name.lower() not in wanted]:
        remove_label(world, issue, label, actor)
    add_labels(world, issue, names, actor)


def set_assignees(world: World, issue: Issue, logins: list[str], actor: Actor, *, only_add: bool = True) -> None:
    """Assign people; with ``only_add`` off, everybody else is unassigned. Who cannot be assigned is ignored."""
    wanted = [a for a in (world.account(x) for x in logins) if a is not None and assignable(issue.repo, a)]
    if not only_add:
        unassign(world, issue, [a for a in issue.assignees if a not in wanted], actor)
    for account in wanted:
        if account in issue.assignees:
            continue
        issue.assignees.append(account)
        touch(world, issue)
        record(world, issue, "assigned", actor, assignee=account)
        tell(world, issue, "assigned", actor, assignee=Render(world).account(account))


def unassign(world: World, issue: Issue, accounts: list[Account], actor: Actor) -> None:
    """Unassign people; who is not assigned is ignored."""
    for account in accounts:
        if account not in issue.assignees:
            continue
        issue.assignees.remove(account)
        touch(world, issue)
        record(world, issue, "unassigned", actor, assignee=account)
        tell(world, issue, "unassigned", actor, assignee=Render(world).account(account))


def assignable(repo: Repository, account: Account) -> bool:
    """Only people with a role in the repository can be assigned."""
    if account.type != "User":
        return False
    return account is repo.owner or repo.collaborators.get(account.login.lower(), "none") != "none"


def add_comment(world: World, issue: Issue, actor: Actor, body: str) -> Comment:
    """A new comment."""
    if not body.strip():
        raise invalid("IssueComment", "body", "missing_field")
    check_length(body)
    now = world.clock.stamp()
    comment = Comment(world.ids.next("comment"), issue, actor.account, actor.app, body, now, now)
    issue.comments.append(comment)
    world.comments[comment.id] = comment
    touch(world, issue)
    record(world, issue, "commented", actor, comment=comment)
    _tell_comment(world, comment, "created", actor)
    cross_reference(world, issue, body, actor)
    return comment


def edit_comment(world: World, comment: Comment, actor: Actor, body: str) -> None:
    """Change a comment's text; the author stays the author, the editor is remembered."""
    if not body.strip():
        raise invalid("IssueComment", "body", "missing_field")
    check_length(body)
    if body == comment.body:
        return
    before, comment.body = comment.body, body
    comment.updated_at = comment.edited_at = world.clock.stamp()
    comment.editor = actor.account
    touch(world, comment.issue)
    _tell_comment(world, comment, "edited", actor, changes={"body": {"from": before}})
    cross_reference(world, comment.issue, body, actor)


def delete_comment(world: World, comment: Comment, actor: Actor) -> None:
    """Remove a comment for good."""
    comment.issue.comments.remove(comment)
    comment.issue.timeline = [e for e in comment.issue.timeline if e.data.get("comment") is not comment]
    del world.comments[comment.id]
    touch(world, comment.issue)
    _tell_comment(world, comment, "deleted", actor)


def react(world: World, comment: Comment, actor: Actor, content: str) -> tuple[Reaction, bool]:
    """Add a reaction; the second value tells whether it is new."""
    if content not in ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"):
        raise invalid("Reaction", "content")
    for reaction in comment.reactions:
        if reaction.user is actor.account and reaction.content == content:
            return reaction, False
    reaction = Reaction(world.ids.next("review"), actor.account, content, world.clock.stamp())
    comment.reactions.append(reaction)
    return reaction, True


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


def _tell_comment(world: World, comment: Comment, action: str, actor: Actor, **extra: Any) -> None:
    render = Render(world)
    shown = {"action": action, "issue": render.issue(comment.issue), "comment": render.comment(comment)}
    announce(world, comment.issue.repo, "issue_comment", shown | extra, actor)
