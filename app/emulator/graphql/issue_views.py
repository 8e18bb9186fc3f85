"""Issues, comments, labels; what pull requests share with Issues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from app.emulator.acts.closing import pulls_closing
from app.emulator.graphql.classic_project_views import ClassicCardFields
from app.emulator.graphql.connections import connection, ordered
from app.emulator.graphql.issue_link_views import CommentFields, IssueLinkFields
from app.emulator.graphql.project_views import ProjectContentFields
from app.emulator.graphql.repository_views import AssignableFields
from app.emulator.graphql.timeline_views import TYPE_OF, TimelineThing
from app.emulator.graphql.views import View, shows, view, viewer_of
from app.emulator.hidden import seen_entries, seen_issues
from app.emulator.people import association
from app.emulator.state import Comment, Issue, Label, PullRequest

_INT_MAX = 2**31 - 1


@shows(Label)
class LabelView(View):
    """A label."""

    thing: Label
    __typename = "Label"

    def __init__(self, request: Any, thing: Label) -> None:
        super().__init__(request, thing)
        self.id, self.name, self.color, self.description = (
            thing.node_id,
            thing.name,
            thing.color,
            thing.description,
        )
        self.isDefault = thing.default
        home = next(r for r in request.world.repos.values() if r.labels.get(thing.name.lower()) is thing)
        self.repository = view(request, home)
        self.resourcePath = f"/{home.full_name}/labels/{quote(thing.name)}"
        self.url = request.world.url + self.resourcePath


class EditedView(View):
    """Author and edits, which Issues, pull requests and comments share."""

    thing: Any

    @property
    def author(self) -> Any:
        return view(self.request, self.thing.author)

    @property
    def authorAssociation(self) -> str:
        repo = self.thing.issue.repo if isinstance(self.thing, Comment) else self.thing.repo
        return association(repo, self.thing.author)

    @property
    def editor(self) -> Any:
        return view(self.request, self.thing.editor)

    @property
    def lastEditedAt(self) -> str | None:
        return self.thing.edited_at  # type: ignore[no-any-return]

    @property
    def includesCreatedEdit(self) -> bool:
        return self.thing.edited_at is not None

    @property
    def viewerDidAuthor(self) -> bool:
        return self.thing.author is self.request.identity.account

    @property
    def body(self) -> str:
        return self.thing.body or ""

    @property
    def createdAt(self) -> str:
        return str(self.thing.created_at)

    @property
    def updatedAt(self) -> str:
        return str(self.thing.updated_at)

    @property
    def fullDatabaseId(self) -> str:
        return str(self.thing.pull_id if isinstance(self.thing, PullRequest) else self.thing.id)

    @property
    def databaseId(self) -> int | None:
        # Ids have outgrown the field, which is why ``fullDatabaseId`` exists.
        value = int(self.fullDatabaseId)
        return value if value <= _INT_MAX else None


@shows(Issue)
class IssueView(EditedView, IssueLinkFields, ProjectContentFields, AssignableFields, ClassicCardFields):
    """An Issue."""

    thing: Issue
    __typename = "Issue"

    def __init__(self, request: Any, thing: Issue) -> None:
        super().__init__(request, thing)
        self.id, self.number, self.title = thing.node_id, thing.number, thing.title
        self.closed, self.closedAt = thing.state == "closed", thing.closed_at
        kind = "pull" if thing.is_pull else "issues"
        self.resourcePath = f"/{thing.repo.full_name}/{kind}/{thing.number}"
        self.url = request.world.url + self.resourcePath

    @property
    def repository(self) -> Any:
        return view(self.request, self.thing.repo)

    @property
    def state(self) -> str:
        return self.thing.state.upper()

    def stateReason(self, info: Any, enableDuplicate: bool = False) -> str | None:
        reason = self.thing.state_reason
        return reason.upper() if reason is not None else None

    def labels(self, info: Any, orderBy: dict[str, Any] | None = None, **page: Any) -> Any:
        return connection("labels", ordered(self.thing.labels, orderBy), viewer_of(self.request), **page)

    def assignees(self, info: Any, **page: Any) -> Any:
        return connection("assignees", self.thing.assignees, viewer_of(self.request), **page)

    def comments(self, info: Any, orderBy: dict[str, Any] | None = None, **page: Any) -> Any:
        return connection("comments", ordered(self.thing.comments, orderBy), viewer_of(self.request), **page)

    def timelineItems(
        self,
        info: Any,
        itemTypes: Sequence[str] | None = None,
        since: str | None = None,
        skip: int | None = None,
        **page: Any,
    ) -> Any:
        known = [e for e in seen_entries(self.request.identity, self.thing.timeline) if e.event in TYPE_OF]
        found = [e for e in known if itemTypes is None or _type_constant(TYPE_OF[e.event]) in itemTypes]
        found = [e for e in found if since is None or e.created_at >= since][skip or 0 :]

        def show(event: Any) -> Any:
            if event.event == "commented":
                return view(self.request, event.data["comment"])
            if event.event == "reviewed":
                return view(self.request, event.data["review"])
            return view(self.request, TimelineThing(self.thing, event))

        page_of = connection("timelineItems", found, show, **page)
        return page_of | {
            "totalCount": len(known),
            "filteredCount": len(found),
            "pageCount": len(page_of["nodes"]),
            "updatedAt": self.thing.updated_at,
        }

    def closedByPullRequestsReferences(
        self,
        info: Any,
        includeClosedPrs: bool = False,
        orderByState: bool = False,
        userLinkedOnly: bool = False,
        **page: Any,
    ) -> Any:
        found = [
            p
            for p in pulls_closing(self.request.world, self.thing)
            if p.merged or includeClosedPrs or p.state == "open"
        ]
        seen = seen_issues(self.request.identity, found)
        return connection("closedByPullRequestsReferences", seen, viewer_of(self.request), **page)


def _type_constant(name: str) -> str:
    return "".join("_" + c if c.isupper() else c for c in name).lstrip("_").upper()


@shows(Comment)
class CommentView(EditedView, CommentFields):
    """A comment."""

    thing: Comment
    __typename = "IssueComment"

    def __init__(self, request: Any, thing: Comment) -> None:
        super().__init__(request, thing)
        self.id = thing.node_id
        kind = "pull" if thing.issue.is_pull else "issues"
        self.resourcePath = f"/{thing.issue.repo.full_name}/{kind}/{thing.issue.number}#issuecomment-{thing.id}"
        self.url = request.world.url + self.resourcePath

    @property
    def issue(self) -> Any:
        return view(self.request, self.thing.issue)

    @property
    def pullRequest(self) -> Any:
        return view(self.request, self.thing.issue) if self.thing.issue.is_pull else None

    @property
    def repository(self) -> Any:
        return view(self.request, self.thing.issue.repo)
