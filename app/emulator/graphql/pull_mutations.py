"""Mutations of pull requests."""

from __future__ import annotations

from typing import Any

from app.emulator.acts import issues as issue_acts
from app.emulator.acts import pulls as pull_acts
from app.emulator.auth import require
from app.emulator.errors import GraphQLRefusal
from app.emulator.graphql.mutation_base import MutationBase
from app.emulator.graphql.views import view
from app.emulator.state import Repository


class PullMutations(MutationBase):
    """Opening, changing and toggling pull requests."""

    def createPullRequest(self, info: Any, input: dict[str, Any]) -> Any:
        repo: Repository = self._find(input["repositoryId"], Repository, "Repository")
        require(self.request.identity, repo, "write", "pull_requests")
        pull = pull_acts.open_pull(
            self.request.world,
            repo,
            self.request.identity.actor,
            title=input["title"],
            body=input.get("body"),
            head=input["headRefName"].removeprefix("refs/heads/"),
            base=input["baseRefName"].removeprefix("refs/heads/"),
            draft=bool(input.get("draft")),
        )
        return self._payload(input, pullRequest=view(self.request, pull))

    def updatePullRequest(self, info: Any, input: dict[str, Any]) -> Any:
        pull = self._pull(input["pullRequestId"])
        world, actor = self.request.world, self.request.identity.actor
        if input.get("state") == "OPEN":
            pull_acts.reopen_pull(world, pull, actor)
        if input.get("baseRefName") is not None:
            pull_acts.retarget(world, pull, input["baseRefName"], actor)
        issue_acts.edit_text(world, pull, actor, input.get("title"), input.get("body"))
        if input.get("state") == "CLOSED":
            pull_acts.close_pull(world, pull, actor)
        return self._payload(input, pullRequest=view(self.request, pull))

    def closePullRequest(self, info: Any, input: dict[str, Any]) -> Any:
        pull = self._pull(input["pullRequestId"])
        pull_acts.close_pull(self.request.world, pull, self.request.identity.actor)
        return self._payload(input, pullRequest=view(self.request, pull))

    def reopenPullRequest(self, info: Any, input: dict[str, Any]) -> Any:
        pull = self._pull(input["pullRequestId"])
        pull_acts.reopen_pull(self.request.world, pull, self.request.identity.actor)
        return self._payload(input, pullRequest=view(self.request, pull))

    def convertPullRequestToDraft(self, info: Any, input: dict[str, Any]) -> Any:
        return self._set_draft(input, draft=True)

    def markPullRequestReadyForReview(self, info: Any, input: dict[str, Any]) -> Any:
        return self._set_draft(input, draft=False)

    def _set_draft(self, input: dict[str, Any], *, draft: bool) -> Any:
        # An App needs Contents: write as well, which no documentation says.
        pull = self._pull(input["pullRequestId"], "pull_requests", "contents")
        if pull.state == "closed":
            raise GraphQLRefusal("UNPROCESSABLE", "Pull request is closed")
        if draft and pull.repo.private and not pull.repo.plan_allows_drafts:
            raise GraphQLRefusal("UNPROCESSABLE", "Draft pull requests are not supported in this repository.")
        pull_acts.set_draft(self.request.world, pull, draft, self.request.identity.actor)
        return self._payload(input, pullRequest=view(self.request, pull))
