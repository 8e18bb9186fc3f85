"""Repositories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.emulator.auth import require
from app.emulator.errors import GraphQLRefusal
from app.emulator.graphql.connections import connection, ordered
from app.emulator.graphql.git_views import RefThing, git_thing, ref_thing
from app.emulator.graphql.protection_views import GuardedFields
from app.emulator.graphql.repository_views import RepositoryFields
from app.emulator.graphql.views import shows, view, viewer_of
from app.emulator.repo_settings import METHODS, RepoSettings
from app.emulator.repos import is_oid
from app.emulator.search import in_milestone, mentioned
from app.emulator.state import Issue, PullRequest, Repository


@shows(Repository)
class RepositoryView(GuardedFields, RepositoryFields):
    """A repository."""

    thing: Repository
    __typename = "Repository"

    def __init__(self, request: Any, thing: Repository) -> None:
        super().__init__(request, thing)
        self.id, self.databaseId = thing.node_id, thing.id
        self.name, self.nameWithOwner = thing.name, thing.full_name
        self.isPrivate, self.isArchived, self.isFork = thing.private, thing.archived, thing.parent is not None
        self._settings(thing.settings)
        self.about()
        self.visibility = "PRIVATE" if thing.private else "PUBLIC"
        self.createdAt, self.pushedAt = thing.created_at, thing.pushed_at
        self.resourcePath = f"/{thing.full_name}"
        self.url = request.world.url + self.resourcePath

    def _settings(self, settings: RepoSettings) -> None:
        self.mergeCommitAllowed, self.squashMergeAllowed = settings.allow_merge_commit, settings.allow_squash_merge
        self.rebaseMergeAllowed, self.autoMergeAllowed = settings.allow_rebase_merge, settings.allow_auto_merge
        self.allowUpdateBranch, self.deleteBranchOnMerge = settings.allow_update_branch, settings.delete_branch_on_merge
        self.mergeCommitTitle, self.mergeCommitMessage = settings.merge_commit_title, settings.merge_commit_message
        self.squashMergeCommitTitle = settings.squash_merge_commit_title
        self.squashMergeCommitMessage = settings.squash_merge_commit_message
        self.viewerDefaultMergeMethod = next((m.upper() for m in METHODS if settings.allows(m)), "MERGE")
        self.forkingAllowed = settings.allow_forking or not self.thing.private

    @property
    def parent(self) -> Any:
        return view(self.request, self.thing.parent)

    @property
    def forkCount(self) -> int:
        return sum(1 for r in self.request.world.repos.values() if r.parent is self.thing)

    def _need(self, *permissions: str) -> None:
        require(self.request.identity, self.thing, "read", *permissions)

    @property
    def owner(self) -> Any:
        return view(self.request, self.thing.owner)

    @property
    def isEmpty(self) -> bool:
        return self.thing.git.is_empty()

    @property
    def viewerPermission(self) -> str | None:
        identity = self.request.identity
        if identity.installation is not None:
            return "WRITE" if identity.allows(self.thing, "contents", "write") else "READ"
        role = self.thing.role_of(identity.user)
        return None if role == "none" else role.upper()

    @property
    def defaultBranchRef(self) -> Any:
        return view(self.request, ref_thing(self.thing, f"refs/heads/{self.thing.default_branch}"))

    def ref(self, info: Any, qualifiedName: str) -> Any:
        self._need("contents")
        return view(self.request, ref_thing(self.thing, qualifiedName))

    def refs(
        self,
        info: Any,
        refPrefix: str,
        query: str | None = None,
        direction: str | None = None,
        orderBy: dict[str, Any] | None = None,
        **page: Any,
    ) -> Any:
        self._need("contents")
        if not refPrefix.startswith(("refs/heads/", "refs/tags/")):
            return connection("refs", [], viewer_of(self.request), **page)
        found = [RefThing(self.thing, n, oid) for n, oid in self.thing.git.refs(refPrefix)]
        if query:
            found = [r for r in found if query.lower() in r.name.removeprefix(refPrefix).lower()]
        if "DESC" in (direction, (orderBy or {}).get("direction")):
            found.reverse()
        return connection("refs", found, viewer_of(self.request), **page)

    def object(self, info: Any, oid: str | None = None, expression: str | None = None) -> Any:
        self._need("contents")
        if oid is not None:
            if not is_oid(oid):
                raise GraphQLRefusal("UNPROCESSABLE", f"Argument 'oid' has an invalid value ({oid!r}).")
            return view(self.request, git_thing(self.thing, oid))
        found = self.thing.git.resolve(expression or "")
        return view(self.request, git_thing(self.thing, str(found.id))) if found is not None else None

    # Issues and pull requests

    def _numbered(self, number: int, kind: str, wanted: type | tuple[type, ...]) -> Any:
        issue = self.thing.issues.get(number)
        if issue is None or not isinstance(issue, wanted) or (kind == "an Issue" and issue.is_pull):
            raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to {kind} with the number of {number}.")
        return view(self.request, issue)

    def issue(self, info: Any, number: int) -> Any:
        self._need("issues")
        return self._numbered(number, "an Issue", Issue)

    def pullRequest(self, info: Any, number: int) -> Any:
        self._need("pull_requests")
        return self._numbered(number, "a PullRequest", PullRequest)

    def issueOrPullRequest(self, info: Any, number: int) -> Any:
        self._need("issues", "pull_requests")
        return self._numbered(number, "an issue or pull request", Issue)

    def issues(
        self,
        info: Any,
        states: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        filterBy: dict[str, Any] | None = None,
        orderBy: dict[str, Any] | None = None,
        **page: Any,
    ) -> Any:
        self._need("issues")
        wanted = filterBy or {}
        found: list[Any] = _with_labels(self.thing.plain_issues(), labels or wanted.get("labels"))
        states = states or wanted.get("states")
        if states:
            found = [i for i in found if i.state.upper() in states]
        if wanted.get("assignee"):
            found = [i for i in found if wanted["assignee"] in [a.login for a in i.assignees]]
        if wanted.get("createdBy"):
            found = [i for i in found if i.author.login == wanted["createdBy"]]
        if wanted.get("mentioned"):
            found = [i for i in found if mentioned(i, wanted["mentioned"])]
        if wanted.get("milestone") or wanted.get("milestoneNumber"):
            found = [i for i in found if in_milestone(i, wanted.get("milestoneNumber") or wanted["milestone"])]
        if wanted.get("since"):
            found = [i for i in found if i.updated_at >= wanted["since"]]
        return connection("issues", ordered(found, orderBy), viewer_of(self.request), **page)

    def pullRequests(
        self,
        info: Any,
        states: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        headRefName: str | None = None,
        baseRefName: str | None = None,
        orderBy: dict[str, Any] | None = None,
        **page: Any,
    ) -> Any:
        self._need("pull_requests")
        found: list[Any] = _with_labels(self.thing.pulls(), labels)
        if states:
            found = [p for p in found if ("MERGED" if p.merged else p.state.upper()) in states]
        if headRefName is not None:
            found = [p for p in found if p.head_ref == headRefName]
        if baseRefName is not None:
            found = [p for p in found if p.base_ref == baseRefName]
        return connection("pullRequests", ordered(found, orderBy), viewer_of(self.request), **page)

    def label(self, info: Any, name: str) -> Any:
        label = self.thing.labels.get(name.lower())
        return view(self.request, label)

    def labels(self, info: Any, query: str | None = None, orderBy: dict[str, Any] | None = None, **page: Any) -> Any:
        found = [x for x in self.thing.labels.values() if not query or query.lower() in x.name.lower()]
        return connection("labels", ordered(found, orderBy), viewer_of(self.request), **page)


def _with_labels(issues: Sequence[Any], labels: Sequence[str] | None) -> list[Any]:
    wanted = {x.lower() for x in labels or ()}
    return [i for i in issues if not wanted or wanted & {x.name.lower() for x in i.labels}]
