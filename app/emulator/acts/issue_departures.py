"""Issues that leave a repository: deleted, or transferred to another one of the same owner. Their numbers stay taken.

Sources: docs.github.com "Deleting an issue", "Transferring an issue to another repository"; REST "Get an issue" (301
where it was transferred, 410 where it was deleted, 404 where the reader may not see the rest); the webhook events
`issues` (`deleted`, `transferred`, `opened` with `changes`). GitHub's words for an owner or privacy that does not fit
could not be looked up.
"""

from __future__ import annotations

from app.emulator.acts.assignees import MAX_ASSIGNEES, assignable
from app.emulator.acts.events import record
from app.emulator.acts.issue_events import take_number, tell
from app.emulator.acts.labels import find_labels
from app.emulator.acts.projects import delete_item
from app.emulator.errors import GraphQLRefusal
from app.emulator.render import Render
from app.emulator.state import Actor, Issue, Repository
from app.emulator.world import World


def delete_issue(world: World, issue: Issue, actor: Actor) -> None:
    """Delete an Issue with its comments; nothing names it any more."""
    _leave(world, issue, actor)
    issue.repo.gone_issues[issue.number] = None
    tell(world, issue, "deleted", actor)


def transfer_issue(world: World, issue: Issue, target: Repository, actor: Actor, *, make_labels: bool) -> Issue:
    """Move an Issue under a new number; returns it in its new place. Labels and milestone go along where the other
    repository has them by name (labels also where they are to be made), assignees where they may be assigned there.
    """
    source = issue.repo
    if target is source or target.owner is not source.owner:
        raise GraphQLRefusal("UNPROCESSABLE", "Issues can only be transferred to a repository of the same owner.")
    if source.private and not target.private:
        raise GraphQLRefusal("UNPROCESSABLE", "Issues of a private repository cannot be transferred to a public one.")
    moved = Issue(
        id=world.ids.next("issue"),
        number=take_number(target),
        repo=target,
        title=issue.title,
        body=issue.body,
        author=issue.author,
        app=issue.app,
        created_at=issue.created_at,
        updated_at=world.clock.stamp(),
        state=issue.state,
        state_reason=issue.state_reason,
        closed_at=issue.closed_at,
        closed_by=issue.closed_by,
        comments=issue.comments,
        timeline=issue.timeline,
    )
    names = [x.name for x in issue.labels if make_labels or x.name.lower() in target.labels]
    moved.labels = find_labels(world, target, names, actor)
    moved.assignees = [a for a in issue.assignees if assignable(target, a)][:MAX_ASSIGNEES]
    title = issue.milestone.title if issue.milestone is not None else None
    moved.milestone = next((m for m in target.milestones.values() if m.title == title), None)
    for comment in moved.comments:
        comment.issue = moved
    _leave(world, issue, actor)
    issue.comments, source.gone_issues[issue.number], target.issues[moved.number] = [], moved, moved
    record(world, moved, "transferred", actor)
    show = Render(world)
    arrived = {"new_issue": show.issue_in_event(moved), "new_repository": show.minimal_repository(target)}
    left = {"old_issue": show.issue_in_event(issue), "old_repository": show.minimal_repository(source)}
    tell(world, issue, "transferred", actor, changes=arrived)
    tell(world, moved, "opened", actor, changes=left)
    return moved


def _leave(world: World, issue: Issue, actor: Actor) -> None:
    """Take an Issue out of its repository, its relations and the projects."""
    for other in issue.sub_issues:
        other.parent = None
    if issue.parent is not None:
        issue.parent.sub_issues.remove(issue)
    for other in issue.blocked_by:
        other.blocking.remove(issue)
    for other in issue.blocking:
        other.blocked_by.remove(issue)
    issue.parent, issue.sub_issues, issue.blocked_by, issue.blocking = None, [], [], []
    for project in list(world.projects.values()):
        for item in [i for i in project.items if i.content is issue]:
            delete_item(world, item, actor)
    del issue.repo.issues[issue.number]
