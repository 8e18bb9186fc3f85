"""Comments on Issues and pull requests: who may write them, their edits, minimising, reactions."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.events import announce, record
from app.emulator.acts.issue_events import remember_edit, touch
from app.emulator.acts.issues import cross_reference
from app.emulator.acts.locking import shut_out
from app.emulator.acts.texts import check_comment
from app.emulator.errors import ApiError, invalid
from app.emulator.render import Render
from app.emulator.render_issues import REACTIONS
from app.emulator.state import Actor, Comment, Issue, Reaction
from app.emulator.world import World

# How REST and GraphQL show the classifiers of ``minimizeComment``.
MINIMIZED = {
    "ABUSE": "abuse",
    "DUPLICATE": "duplicate",
    "OFF_TOPIC": "off-topic",
    "OUTDATED": "outdated",
    "RESOLVED": "resolved",
    "SPAM": "spam",
}
_LOCKED_DOCS = "https://docs.github.com/articles/locking-conversations/"


def add_comment(world: World, issue: Issue, actor: Actor, body: str) -> Comment:
    """A new comment. Raises 403 on a locked conversation and 422 for an empty or overlong text."""
    check_unlocked(issue, actor, "create")
    if not body.strip():
        raise invalid("IssueComment", "body", "missing_field")
    check_comment(world, issue.repo, body)
    now = world.clock.stamp()
    comment = Comment(world.ids.next("comment"), issue, actor.account, actor.app, body, now, now)
    issue.comments.append(comment)
    world.comments[comment.id] = comment
    touch(world, issue)
    record(world, issue, "commented", actor, comment=comment)
    _tell(world, comment, "created", actor)
    cross_reference(world, issue, body, actor)
    return comment


def check_unlocked(issue: Issue, actor: Actor, doing: str) -> None:
    """Refuse a comment on a conversation that is locked to this actor. Raises 403."""
    if shut_out(issue, actor):
        raise ApiError(403, f"Unable to {doing} comment because issue is locked.", documentation_url=_LOCKED_DOCS)


def edit_comment(world: World, comment: Comment, actor: Actor, body: str) -> None:
    """Change a comment's text; the author stays the author, the editor and the revision are remembered."""
    check_unlocked(comment.issue, actor, "update")
    if not body.strip():
        raise invalid("IssueComment", "body", "missing_field")
    check_comment(world, comment.issue.repo, body, word="body")
    if body == comment.body:
        return
    before, comment.body = comment.body, body
    remember_edit(world, comment, before, body, actor.account)
    comment.updated_at = world.clock.stamp()
    touch(world, comment.issue)
    _tell(world, comment, "edited", actor, changes={"body": {"from": before}})
    cross_reference(world, comment.issue, body, actor)


def delete_comment(world: World, comment: Comment, actor: Actor) -> None:
    """Remove a comment for good; somebody else's deletion stays in the timeline."""
    issue = comment.issue
    issue.comments.remove(comment)
    issue.timeline = [e for e in issue.timeline if e.data.get("comment") is not comment]
    del world.comments[comment.id]
    touch(world, issue)
    if comment.author is not actor.account:
        record(world, issue, "comment_deleted", actor, deleted_comment_author=comment.author)
    _tell(world, comment, "deleted", actor)


def minimize_comment(comment: Comment, classifier: str | None) -> None:
    """Hide a comment under a classifier of GraphQL, or show it again (None). REST still returns it."""
    comment.minimized = MINIMIZED[classifier] if classifier is not None else None


def react(world: World, target: Issue | Comment, actor: Actor, content: str) -> tuple[Reaction, bool]:
    """Add a reaction; the second value tells whether it is new. On a locked conversation nobody may (seen also by
    people with write access, GitHawkApp/GitHawk#2297)."""
    if (target.issue if isinstance(target, Comment) else target).locked:
        raise ApiError(403, "Unable to create reaction because issue is locked.", documentation_url=_LOCKED_DOCS)
    if content not in REACTIONS:
        raise invalid("Reaction", "content")
    for reaction in target.reactions:
        if reaction.user is actor.account and reaction.content == content:
            return reaction, False
    reaction = Reaction(world.ids.next("review"), actor.account, content, world.clock.stamp())
    target.reactions.append(reaction)
    return reaction, True


def _tell(world: World, comment: Comment, action: str, actor: Actor, **extra: Any) -> None:
    render = Render(world)
    shown = {"action": action, "issue": render.issue_in_event(comment.issue), "comment": render.comment(comment)}
    announce(world, comment.issue.repo, "issue_comment", shown | extra, actor)
