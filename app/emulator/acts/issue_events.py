"""What every change to an Issue or pull request brings: a new ``updated_at`` and a webhook."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.events import announce
from app.emulator.render import Render
from app.emulator.state import Account, Actor, Comment, ContentEdit, Issue, PullRequest, Repository
from app.emulator.world import World


def event_name(issue: Issue) -> str:
    """The webhook an Issue's or pull request's changes are announced by."""
    return "pull_request" if issue.is_pull else "issues"


def payload(world: World, issue: Issue, action: str, **extra: Any) -> dict[str, Any]:
    """The webhook payload of a change to an Issue or pull request."""
    render = Render(world)
    if isinstance(issue, PullRequest):
        shown: dict[str, Any] = {"number": issue.number, "pull_request": render.pull(issue, full=True)}
    else:
        shown = {"issue": render.issue_in_event(issue)}
    return {"action": action} | shown | extra


def tell(world: World, issue: Issue, action: str, actor: Actor, **extra: Any) -> None:
    """Announce a change to an Issue or pull request."""
    announce(world, issue.repo, event_name(issue), payload(world, issue, action, **extra), actor)


def touch(world: World, issue: Issue) -> None:
    """Move ``updated_at``."""
    issue.updated_at = world.clock.stamp()


def take_number(repo: Repository) -> int:
    """The next number of the sequence Issues and pull requests share."""
    number = repo.next_number
    repo.next_number += 1
    return number


def remember_edit(world: World, thing: Issue | Comment, before: str, after: str, editor: Account) -> None:
    """Keep a revision of a text, the original one too: ``userContentEdits`` begins with it."""
    now = world.clock.stamp()
    if not thing.edits:
        thing.edits.append(ContentEdit(world.ids.next("edit"), thing.author, thing.created_at, before))
    thing.edits.append(ContentEdit(world.ids.next("edit"), editor, now, after))
    thing.edited_at, thing.editor = now, editor
