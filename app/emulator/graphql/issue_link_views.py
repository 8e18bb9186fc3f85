"""What Issues and comments carry beyond their text: locks, milestones, edits, parents, blockers, linked branches."""

from __future__ import annotations

from typing import Any

from app.emulator.graphql.connections import connection
from app.emulator.graphql.git_views import ref_thing
from app.emulator.graphql.reaction_views import reaction_groups, reactions
from app.emulator.graphql.views import View, shows, view, viewer_of
from app.emulator.hidden import seen_issues
from app.emulator.render_issues import sub_issues_summary
from app.emulator.state import Comment, ContentEdit, Issue, LinkedBranch, Milestone, Repository


class EditsFields(View):
    """Revisions and reactions, which Issues, pull requests and comments share."""

    thing: Any

    def userContentEdits(self, info: Any, **page: Any) -> Any:
        """The newest revision first; the original text is the last one."""
        return connection("userContentEdits", self.thing.edits[::-1], viewer_of(self.request), **page)

    def reactions(self, info: Any, content: str | None = None, **page: Any) -> Any:
        return reactions(self.request, self.thing, content, page)

    @property
    def reactionGroups(self) -> Any:
        return reaction_groups(self.request, self.thing)


class IssueLinkFields(EditsFields):
    """The fields of an Issue that lead elsewhere; pull requests have the first few of them."""

    thing: Issue

    @property
    def locked(self) -> bool:
        return self.thing.locked

    @property
    def activeLockReason(self) -> str | None:
        return lock_reason(self.thing.lock_reason)

    @property
    def milestone(self) -> Any:
        milestone = self.thing.milestone
        return MilestoneView(self.request, milestone, self.thing.repo) if milestone is not None else None

    @property
    def isPinned(self) -> bool:
        return False

    @property
    def parent(self) -> Any:
        above = self.thing.parent
        return view(self.request, above) if above is not None and self.request.identity.sees(above.repo) else None

    def subIssues(self, info: Any, **page: Any) -> Any:
        return self._seen("subIssues", self.thing.sub_issues, page)

    @property
    def subIssuesSummary(self) -> dict[str, int]:
        summary = sub_issues_summary(self.thing)
        return {
            "total": summary["total"],
            "completed": summary["completed"],
            "percentCompleted": summary["percent_completed"],
        }

    def blockedBy(self, info: Any, **page: Any) -> Any:
        return self._seen("blockedBy", self.thing.blocked_by, page)

    def blocking(self, info: Any, **page: Any) -> Any:
        return self._seen("blocking", self.thing.blocking, page)

    def _seen(self, field: str, issues: list[Issue], page: dict[str, Any]) -> Any:
        """A list of other Issues, as far as the viewer may know of them."""
        return connection(field, seen_issues(self.request.identity, issues), viewer_of(self.request), **page)

    def linkedBranches(self, info: Any, **page: Any) -> Any:
        return connection("linkedBranches", self.thing.linked_branches, viewer_of(self.request), **page)


class CommentFields(EditsFields):
    """The fields of a comment about hiding it."""

    thing: Comment

    @property
    def isMinimized(self) -> bool:
        return self.thing.minimized is not None

    @property
    def minimizedReason(self) -> str | None:
        return self.thing.minimized

    @property
    def viewerCanMinimize(self) -> bool:
        return self.request.identity.allows(self.thing.issue.repo, "issues", "write")


def lock_reason(reason: str | None) -> str | None:
    """``LockReason`` of REST's word for it."""
    return reason.upper().replace("-", "_").replace(" ", "_") if reason is not None else None


@shows(ContentEdit)
class ContentEditView(View):
    """One revision of a text."""

    thing: ContentEdit
    __typename = "UserContentEdit"

    def __init__(self, request: Any, thing: ContentEdit) -> None:
        super().__init__(request, thing)
        self.id, self.diff = thing.node_id, thing.text
        self.createdAt = self.editedAt = self.updatedAt = thing.edited_at
        self.deletedAt, self.deletedBy = None, None

    @property
    def editor(self) -> Any:
        return view(self.request, self.thing.editor)


@shows(LinkedBranch)
class LinkedBranchView(View):
    """A branch made for an Issue; its ref is null once it is gone."""

    thing: LinkedBranch
    __typename = "LinkedBranch"

    def __init__(self, request: Any, thing: LinkedBranch) -> None:
        super().__init__(request, thing)
        self.id = thing.node_id

    @property
    def ref(self) -> Any:
        return view(self.request, ref_thing(self.thing.repo, f"refs/heads/{self.thing.branch}"))


class MilestoneView(View):
    """A milestone of a repository."""

    thing: Milestone
    __typename = "Milestone"

    def __init__(self, request: Any, thing: Milestone, repo: Repository) -> None:
        super().__init__(request, thing)
        self._repo = repo
        self.id, self.number, self.title, self.description = (
            thing.node_id,
            thing.number,
            thing.title,
            thing.description,
        )
        self.closed, self.state = thing.state == "closed", thing.state.upper()
        self.createdAt, self.updatedAt = thing.created_at, thing.updated_at
        self.closedAt, self.dueOn = thing.closed_at, thing.due_on
        self.resourcePath = f"/{self._repo.full_name}/milestone/{thing.number}"
        self.url = request.world.url + self.resourcePath

    @property
    def creator(self) -> Any:
        return view(self.request, self.thing.creator)

    @property
    def repository(self) -> Any:
        return view(self.request, self._repo)

    @property
    def progressPercentage(self) -> float:
        inside = [i for i in self._repo.issues.values() if i.milestone is self.thing]
        closed = sum(1 for i in inside if i.state == "closed")
        return closed * 100 / len(inside) if inside else 0.0
