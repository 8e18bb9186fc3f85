"""Mutations of links between Issues, and between Issues and branches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from app.emulator.acts import dependencies, sub_issues
from app.emulator.acts.linked_branches import create_linked_branch
from app.emulator.auth import require
from app.emulator.errors import ApiError, GraphQLRefusal
from app.emulator.graphql.mutation_base import MutationBase
from app.emulator.graphql.views import view
from app.emulator.repos import is_oid
from app.emulator.state import Issue, LinkedBranch, Repository

_URL = re.compile(r"https?://[^/]+/([\w.-]+)/([\w.-]+)/issues/(\d{1,9})/?\Z")


@contextmanager
def validation() -> Iterator[None]:
    """Turn a refused link into GraphQL's form of it."""
    try:
        yield
    except ApiError as refusal:
        raise GraphQLRefusal("VALIDATION", refusal.message) from refusal


class IssueLinkMutations(MutationBase):
    """The fields of ``Mutation`` about parents, blockers and linked branches.

    A refusal's type is VALIDATION where an Issue may not be linked, as GitHub answers.
    """

    def _plain(self, value: str) -> Issue:
        issue: Issue = self._find(value, Issue, "Issue")
        if issue.is_pull:
            raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to Issue node with the global id of '{value}'.")
        return issue

    def _writable(self, value: str) -> Issue:
        issue = self._plain(value)
        require(self.request.identity, issue.repo, "write", "issues")
        return issue

    def _other(self, value: str) -> Issue:
        issue = self._plain(value)
        require(self.request.identity, issue.repo, "read", "issues")
        return issue

    def _by_url(self, url: str) -> Issue:
        match = _URL.match(url)
        repo = self.request.world.repo(match[1], match[2]) if match else None
        issue = repo.issues.get(int(match[3])) if match and repo and self.request.identity.sees(repo) else None
        if issue is None or issue.is_pull:
            raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to a node with the url of '{url}'")
        return issue

    def addSubIssue(self, info: Any, input: dict[str, Any]) -> Any:
        parent = self._writable(input["issueId"])
        if (input.get("subIssueId") is None) == (input.get("subIssueUrl") is None):
            raise GraphQLRefusal("VALIDATION", "Exactly one of `subIssueId` and `subIssueUrl` must be given.")
        child = self._other(input["subIssueId"]) if input.get("subIssueId") else self._by_url(input["subIssueUrl"])
        with validation():
            sub_issues.add_sub_issue(
                self.request.world,
                parent,
                child,
                self.request.identity.actor,
                replace_parent=bool(input.get("replaceParent")),
            )
        return self._payload(input, issue=view(self.request, parent), subIssue=view(self.request, child))

    def removeSubIssue(self, info: Any, input: dict[str, Any]) -> Any:
        parent, child = self._writable(input["issueId"]), self._other(input["subIssueId"])
        with validation():
            sub_issues.remove_sub_issue(self.request.world, parent, child, self.request.identity.actor)
        return self._payload(input, issue=view(self.request, parent), subIssue=view(self.request, child))

    def reprioritizeSubIssue(self, info: Any, input: dict[str, Any]) -> Any:
        parent, child = self._writable(input["issueId"]), self._other(input["subIssueId"])
        after, before = (self._other(input[k]) if input.get(k) else None for k in ("afterId", "beforeId"))
        with validation():
            sub_issues.reprioritize(parent, child, after=after, before=before)
        return self._payload(input, issue=view(self.request, parent))

    def addBlockedBy(self, info: Any, input: dict[str, Any]) -> Any:
        issue, blocker = self._writable(input["issueId"]), self._other(input["blockingIssueId"])
        with validation():
            dependencies.add_blocked_by(self.request.world, issue, blocker, self.request.identity.actor)
        return self._payload(input, issue=view(self.request, issue), blockingIssue=view(self.request, blocker))

    def removeBlockedBy(self, info: Any, input: dict[str, Any]) -> Any:
        issue, blocker = self._writable(input["issueId"]), self._other(input["blockingIssueId"])
        dependencies.remove_blocked_by(self.request.world, issue, blocker, self.request.identity.actor)
        return self._payload(input, issue=view(self.request, issue), blockingIssue=view(self.request, blocker))

    def createLinkedBranch(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._writable(input["issueId"])
        repo: Repository = issue.repo
        if input.get("repositoryId"):
            repo = self._find(input["repositoryId"], Repository, "Repository")
        require(self.request.identity, repo, "write", "contents")
        if not is_oid(input["oid"]):
            raise GraphQLRefusal("UNPROCESSABLE", f"Argument 'oid' has an invalid value ({input['oid']!r}).")
        actor = self.request.identity.actor
        made = create_linked_branch(self.request.world, issue, repo, input.get("name"), input["oid"], actor)
        return self._payload(input, issue=view(self.request, issue), linkedBranch=view(self.request, made))

    def deleteLinkedBranch(self, info: Any, input: dict[str, Any]) -> Any:
        """Unlink a branch; the branch itself stays."""
        for repo in self.request.world.repos.values():
            for issue in repo.plain_issues():
                linked = next((b for b in issue.linked_branches if b.node_id == input["linkedBranchId"]), None)
                if linked is not None and self.request.identity.sees(repo):
                    return self._unlink(input, issue, linked)
        value = input["linkedBranchId"]
        raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to a node with the global id of '{value}'")

    def _unlink(self, input: dict[str, Any], issue: Issue, linked: LinkedBranch) -> Any:
        require(self.request.identity, issue.repo, "write", "issues")
        issue.linked_branches.remove(linked)
        return self._payload(input, issue=view(self.request, issue))
