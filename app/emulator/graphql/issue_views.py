"""Issues, pull requests, comments, labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from app.emulator.acts import pulls as pull_acts
from app.emulator.graphql.connections import connection, ordered
from app.emulator.graphql.git_views import CommitThing, ref_thing, rollup
from app.emulator.graphql.timeline_views import TYPE_OF, TimelineThing
from app.emulator.graphql.views import View, shows, view, viewer_of
from app.emulator.ids import node_id
from app.emulator.merge_state import mergeable_state
from app.emulator.people import association
from app.emulator.rest.commits import changed_files
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
        self.url = f"{request.world.url}/labels/{thing.name}"


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
class IssueView(EditedView):
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
        known = [e for e in self.thing.timeline if e.event in TYPE_OF]
        found = [e for e in known if itemTypes is None or _type_constant(TYPE_OF[e.event]) in itemTypes]
        found = [e for e in found if since is None or e.created_at >= since][skip or 0 :]

        def show(event: Any) -> Any:
            if event.event == "commented":
                return view(self.request, event.data["comment"])
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
        return connection("closedByPullRequestsReferences", [], viewer_of(self.request), **page)


def _type_constant(name: str) -> str:
    return "".join("_" + c if c.isupper() else c for c in name).lstrip("_").upper()


@shows(Comment)
class CommentView(EditedView):
    """A comment."""

    thing: Comment
    __typename = "IssueComment"

    def __init__(self, request: Any, thing: Comment) -> None:
        super().__init__(request, thing)
        self.id, self.isMinimized = thing.node_id, False
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


@shows(PullRequest)
class PullRequestView(IssueView):
    """A pull request."""

    thing: PullRequest
    __typename = "PullRequest"

    def __init__(self, request: Any, thing: PullRequest) -> None:
        super().__init__(request, thing)
        self.isDraft, self.merged, self.mergedAt = thing.draft, thing.merged, thing.merged_at
        self.headRefName, self.headRefOid = thing.head_ref, thing.head_sha
        self.baseRefName, self.baseRefOid = thing.base_ref, thing.base_sha
        self.isCrossRepository, self.reviewDecision = thing.head_repo is not thing.repo, None

    @property
    def state(self) -> str:
        return "MERGED" if self.thing.merged else self.thing.state.upper()

    @property
    def headRef(self) -> Any:
        return view(self.request, ref_thing(self.thing.head_repo, f"refs/heads/{self.thing.head_ref}"))

    @property
    def baseRef(self) -> Any:
        return view(self.request, ref_thing(self.thing.repo, f"refs/heads/{self.thing.base_ref}"))

    @property
    def headRepository(self) -> Any:
        return view(self.request, self.thing.head_repo)

    @property
    def headRepositoryOwner(self) -> Any:
        return view(self.request, self.thing.head_repo.owner)

    @property
    def baseRepository(self) -> Any:
        return view(self.request, self.thing.repo)

    @cached_property
    def _mergeable(self) -> bool | None:
        return pull_acts.mergeability(self.thing)

    @property
    def mergeable(self) -> str:
        return {None: "UNKNOWN", True: "MERGEABLE", False: "CONFLICTING"}[self._mergeable]

    @property
    def mergeStateStatus(self) -> str:
        return mergeable_state(self.thing, self._mergeable).upper()

    @property
    def mergedBy(self) -> Any:
        return view(self.request, self.thing.merged_by)

    @property
    def mergeCommit(self) -> Any:
        sha = self.thing.merge_commit_sha
        return view(self.request, CommitThing(self.thing.repo, sha)) if self.thing.merged and sha else None

    def commits(self, info: Any, **page: Any) -> Any:
        pull = self.thing
        shas = list(reversed(pull.repo.git.log(pull.head_sha, f"^{pull.base_sha}")))

        def show(sha: str) -> Any:
            return {
                "id": node_id("PRC", pull.repo.id, pull.number, sha),
                "commit": view(self.request, CommitThing(pull.repo, sha)),
                "pullRequest": self,
            }

        return connection("commits", shas, show, **page)

    def files(self, info: Any, **page: Any) -> Any:
        def show(file: dict[str, Any]) -> Any:
            kind = {"removed": "DELETED"}.get(file["status"], file["status"].upper())
            return {
                "path": file["filename"],
                "additions": file["additions"],
                "deletions": file["deletions"],
                "changeType": kind,
            }

        return connection("files", self._files, show, **page)

    @property
    def _files(self) -> list[dict[str, Any]]:
        pull = self.thing
        merge_base = pull.repo.git.merge_base(pull.base_sha, pull.head_sha) or pull.base_sha
        return changed_files(self.request, pull.repo, merge_base, pull.head_sha)

    @property
    def additions(self) -> int:
        return sum(f["additions"] for f in self._files)

    @property
    def deletions(self) -> int:
        return sum(f["deletions"] for f in self._files)

    @property
    def changedFiles(self) -> int:
        return len(self._files)

    @property
    def statusCheckRollup(self) -> Any:
        return rollup(self.request, CommitThing(self.thing.repo, self.thing.head_sha))

    def reviewRequests(self, info: Any, **page: Any) -> Any:
        def show(account: Any) -> Any:
            return {
                "id": node_id("RR", self.thing.repo.id, self.thing.number, account.id),
                "requestedReviewer": view(self.request, account),
            }

        return connection("reviewRequests", self.thing.requested_reviewers, show, **page)

    def closingIssuesReferences(
        self, info: Any, orderBy: dict[str, Any] | None = None, userLinkedOnly: bool = False, **page: Any
    ) -> Any:
        # Empty off the default branch on GitHub; here everywhere, since merging is not served.
        return connection("closingIssuesReferences", [], viewer_of(self.request), **page)
