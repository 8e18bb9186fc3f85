"""How REST answers and webhook payloads show Issues, their comments, labels, milestones and timelines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from app.emulator.guard_state import Review
from app.emulator.ids import node_id
from app.emulator.people import association
from app.emulator.render_reviews import review_in_timeline
from app.emulator.state import (
    Account,
    App,
    Comment,
    Issue,
    Label,
    Milestone,
    PullRequest,
    Reaction,
    Repository,
    TimelineEvent,
)

if TYPE_CHECKING:
    from app.emulator.world import World

Json = dict[str, Any]
# What the timeline knows beyond what REST tells of it.
# What REST calls the Issue at the other end of a link.
_LINKS = {
    "sub_issue": "sub_issue",
    "parent": "parent_issue",
    "blocking_issue": "blocked_by",
    "blocked_issue": "blocking",
}
_UNSAID = ("closer", "from_ref", "to_ref", "before_commit", "after_commit")
REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")


def sub_issues_summary(issue: Issue) -> Json:
    """How many sub-issues there are and how many of them are closed."""
    total, completed = len(issue.sub_issues), sum(1 for s in issue.sub_issues if s.state == "closed")
    return {"total": total, "completed": completed, "percent_completed": completed * 100 // total if total else 0}


def dependencies_summary(issue: Issue) -> Json:
    """Blockers and blocked Issues: the open ones, and all of them."""
    return {
        "blocked_by": sum(1 for i in issue.blocked_by if i.state == "open"),
        "blocking": sum(1 for i in issue.blocking if i.state == "open"),
        "total_blocked_by": len(issue.blocked_by),
        "total_blocking": len(issue.blocking),
    }


class IssueRender:
    """The part of the renderer that shows Issues; the rest of it is in :mod:`app.emulator.render`."""

    world: World
    html: str
    api: str

    if TYPE_CHECKING:

        def account(self, account: Account) -> Json: ...

        def account_or_none(self, account: Account | None) -> Json | None: ...

        def app_or_none(self, app: App | None) -> Json | None: ...

        def repository(self, repo: Repository, role: str | None = None) -> Json: ...

        def short_repository(self, repo: Repository) -> Json: ...

    def label(self, label: Label, repo: Repository) -> Json:
        return {
            "id": label.id,
            "node_id": label.node_id,
            "url": f"{self.api}/repos/{repo.full_name}/labels/{quote(label.name)}",
            "name": label.name,
            "color": label.color,
            "default": label.default,
            "description": label.description,
            "archived_at": None,
            "archived_by": None,
        }

    def milestone(self, milestone: Milestone, repo: Repository) -> Json:
        api = f"{self.api}/repos/{repo.full_name}/milestones/{milestone.number}"
        inside = [i for i in repo.issues.values() if i.milestone is milestone]
        return {
            "url": api,
            "html_url": f"{self.html}/{repo.full_name}/milestone/{milestone.number}",
            "labels_url": f"{api}/labels",
            "id": milestone.id,
            "node_id": milestone.node_id,
            "number": milestone.number,
            "title": milestone.title,
            "description": milestone.description,
            "creator": self.account(milestone.creator),
            "open_issues": sum(1 for i in inside if i.state == "open"),
            "closed_issues": sum(1 for i in inside if i.state == "closed"),
            "state": milestone.state,
            "created_at": milestone.created_at,
            "updated_at": milestone.updated_at,
            "due_on": milestone.due_on,
            "closed_at": milestone.closed_at,
        }

    def milestone_or_none(self, milestone: Milestone | None, repo: Repository) -> Json | None:
        return self.milestone(milestone, repo) if milestone is not None else None

    def reaction(self, reaction: Reaction) -> Json:
        return {
            "id": reaction.id,
            "node_id": node_id("REA", reaction.id),
            "user": self.account(reaction.user),
            "content": reaction.content,
            "created_at": reaction.created_at,
        }

    def reactions(self, url: str, reactions: Sequence[Reaction]) -> Json:
        """The rollup of reactions that Issues and comments carry."""
        counts = Counter(r.content for r in reactions)
        return {
            "url": f"{url}/reactions",
            "total_count": len(reactions),
            **{content: counts[content] for content in REACTIONS},
        }

    def issue(self, issue: Issue) -> Json:
        api = f"{self.api}/repos/{issue.repo.full_name}/issues/{issue.number}"
        html = f"{self.html}/{issue.repo.full_name}/{'pull' if issue.is_pull else 'issues'}/{issue.number}"
        shown: Json = {
            "id": issue.id,
            "node_id": issue.node_id,
            "url": api,
            "repository_url": f"{self.api}/repos/{issue.repo.full_name}",
            "labels_url": f"{api}/labels{{/name}}",
            "comments_url": f"{api}/comments",
            "events_url": f"{api}/events",
            "timeline_url": f"{api}/timeline",
            "html_url": html,
            "number": issue.number,
            "title": issue.title,
            "user": self.account(issue.author),
            "labels": [self.label(x, issue.repo) for x in issue.labels],
            "state": issue.state,
            "state_reason": issue.state_reason,
            "locked": issue.locked,
            "active_lock_reason": issue.lock_reason,
            "assignee": self.account_or_none(issue.assignees[0] if issue.assignees else None),
            "assignees": [self.account(a) for a in issue.assignees],
            "milestone": self.milestone_or_none(issue.milestone, issue.repo),
            "comments": len(issue.comments),
            "created_at": issue.created_at,
            "updated_at": issue.updated_at,
            "closed_at": issue.closed_at,
            "closed_by": self.account_or_none(issue.closed_by),
            "author_association": association(issue.repo, issue.author),
            "body": issue.body,
            "reactions": self.reactions(api, issue.reactions),
            "performed_via_github_app": self.app_or_none(issue.app),
        }
        if isinstance(issue, PullRequest):
            shown["draft"] = issue.draft
            shown["pull_request"] = {
                "url": f"{self.api}/repos/{issue.repo.full_name}/pulls/{issue.number}",
                "html_url": html,
                "diff_url": f"{html}.diff",
                "patch_url": f"{html}.patch",
                "merged_at": issue.merged_at,
            }
            return shown
        shown["sub_issues_summary"] = sub_issues_summary(issue)
        shown["issue_dependencies_summary"] = dependencies_summary(issue)
        if issue.parent is not None:
            parent = issue.parent
            shown["parent_issue_url"] = f"{self.api}/repos/{parent.repo.full_name}/issues/{parent.number}"
        return shown

    def issue_in_event(self, issue: Issue) -> Json:
        """An Issue in an event of its own or of its comments: who closed it is told by the sender alone."""
        return {name: value for name, value in self.issue(issue).items() if name != "closed_by"}

    def issue_with_repository(self, issue: Issue) -> Json:
        """An Issue in a list that may span repositories."""
        return self.issue(issue) | {"repository": self.repository(issue.repo)}

    def comment(self, comment: Comment) -> Json:
        repo = comment.issue.repo
        kind = "pull" if comment.issue.is_pull else "issues"
        url = f"{self.api}/repos/{repo.full_name}/issues/comments/{comment.id}"
        shown = {
            "id": comment.id,
            "node_id": comment.node_id,
            "url": url,
            "html_url": f"{self.html}/{repo.full_name}/{kind}/{comment.issue.number}#issuecomment-{comment.id}",
            "issue_url": f"{self.api}/repos/{repo.full_name}/issues/{comment.issue.number}",
            "user": self.account(comment.author),
            "created_at": comment.created_at,
            "updated_at": comment.updated_at,
            "author_association": association(repo, comment.author),
            "body": comment.body,
            "performed_via_github_app": self.app_or_none(comment.app),
            "reactions": self.reactions(url, comment.reactions),
        }
        if comment.minimized is not None:
            shown["minimized"] = {"reason": comment.minimized}
        return shown

    def issue_reference(self, issue: Issue) -> Json:
        """The Issue at the other end of a link, in short."""
        return {
            "number": issue.number,
            "title": issue.title,
            "state": issue.state,
            "state_reason": issue.state_reason,
            "repository": self.short_repository(issue.repo),
            "issue_type": None,
        }

    def timeline_event(self, event: TimelineEvent, issue: Issue) -> Json:
        """An entry of a timeline."""
        source = event.data.get("source")
        if event.event == "cross-referenced" and isinstance(source, Issue):
            return {
                "event": event.event,
                "actor": self.account_or_none(event.actor),
                "created_at": event.created_at,
                "updated_at": event.created_at,
                "source": {"type": "issue", "issue": self.issue_with_repository(source)},
            }
        shown: Json = {
            "id": event.id,
            "node_id": node_id("TE", event.id),
            "url": f"{self.api}/repos/{issue.repo.full_name}/issues/events/{event.id}",
            "event": event.event,
            "actor": self.account_or_none(event.actor),
            "created_at": event.created_at,
            "commit_id": None,
            "commit_url": None,
            "performed_via_github_app": None,
        }
        for key, value in event.data.items():
            if key.startswith("_"):
                continue  # what only GraphQL tells
            if isinstance(value, Comment):
                shown |= self.comment(value)
            elif isinstance(value, Review):
                shown |= review_in_timeline(value, self)
            elif isinstance(value, Account) and key != "deleted_comment_author":
                shown[key] = self.account(value)
            elif isinstance(value, Label):
                shown[key] = {"name": value.name, "color": value.color}
            elif isinstance(value, Milestone):
                shown[key] = {"title": value.title}
            elif isinstance(value, Issue) and key in _LINKS:
                shown[_LINKS[key]] = self.issue_reference(value)
            elif not isinstance(value, Issue | Account) and key not in _UNSAID:
                shown[key] = value
        if shown["commit_id"] is not None:
            shown["commit_url"] = f"{self.api}/repos/{issue.repo.full_name}/commits/{shown['commit_id']}"
        return shown
