"""What every mutation begins with: the object it names and the permission it needs."""

from __future__ import annotations

from typing import Any

from app.emulator.auth import require
from app.emulator.errors import GraphQLRefusal
from app.emulator.graphql.queries import find_node
from app.emulator.routing import Request
from app.emulator.state import Issue, PullRequest


class MutationBase:
    """Finds the objects of an input and makes payloads."""

    request: Request

    def _find(self, value: str, kind: type[Any], word: str) -> Any:
        found = find_node(self.request, value)
        if not isinstance(found, kind):
            raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to {word} node with the global id of '{value}'.")
        return found

    def _pull(self, value: str, *permissions: str) -> PullRequest:
        pull: PullRequest = self._find(value, PullRequest, "PullRequest")
        for permission in permissions or ("pull_requests",):
            require(self.request.identity, pull.repo, "write", permission)
        return pull

    def _issue(self, value: str, level: str = "write") -> Issue:
        issue: Issue = self._find(value, Issue, "Issue")
        permissions = ("issues", "pull_requests") if issue.is_pull else ("issues",)
        require(self.request.identity, issue.repo, level, *permissions)
        return issue

    def _payload(self, input: dict[str, Any], **members: Any) -> dict[str, Any]:
        return {"clientMutationId": input.get("clientMutationId")} | members
