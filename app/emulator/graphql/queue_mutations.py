"""Mutations of auto-merge and the merge queue."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.auto_merge import enable_auto_merge
from app.emulator.acts.merge_queue import dequeue, enqueue
from app.emulator.acts.merging import MergeOrder
from app.emulator.acts.stacks import refuse_by_graphql
from app.emulator.acts.standing_orders import disable_auto_merge
from app.emulator.auth import require
from app.emulator.errors import GraphQLRefusal
from app.emulator.graphql.mutation_base import MutationBase
from app.emulator.graphql.queries import find_node
from app.emulator.graphql.views import view
from app.emulator.guard_state import QueueEntry
from app.emulator.rest.merging import check_workflows
from app.emulator.state import PullRequest


class QueueMutations(MutationBase):
    """Landing a pull request later."""

    def _landable(self, value: str) -> PullRequest:
        pull = self._pull(value, "contents", "pull_requests")
        check_workflows(self.request, pull.repo, pull.base_sha, pull.head_sha)
        return pull

    def enablePullRequestAutoMerge(self, info: Any, input: dict[str, Any]) -> Any:
        pull, identity = self._landable(input["pullRequestId"]), self.request.identity
        order = MergeOrder(
            method=(input.get("mergeMethod") or "MERGE").lower(),
            title=input.get("commitHeadline"),
            message=input.get("commitBody"),
            expected_head=input.get("expectedHeadOid"),
        )
        enable_auto_merge(self.request.world, pull, identity.actor, order)
        return self._payload(input, pullRequest=view(self.request, pull), actor=view(self.request, identity.account))

    def disablePullRequestAutoMerge(self, info: Any, input: dict[str, Any]) -> Any:
        pull, identity = self._landable(input["pullRequestId"]), self.request.identity
        disable_auto_merge(self.request.world, pull, identity.actor)
        return self._payload(input, pullRequest=view(self.request, pull), actor=view(self.request, identity.account))

    def enqueuePullRequest(self, info: Any, input: dict[str, Any]) -> Any:
        pull = self._landable(input["pullRequestId"])
        refuse_by_graphql(pull)
        actor, jump = self.request.identity.actor, bool(input.get("jump"))
        if jump and self.request.identity.installation is None:
            require(self.request.identity, pull.repo, "write", "administration")
        entry = enqueue(self.request.world, pull, actor, input.get("expectedHeadOid"), jump=jump)
        return self._payload(input, mergeQueueEntry=view(self.request, entry))

    def dequeuePullRequest(self, info: Any, input: dict[str, Any]) -> Any:
        """``id`` is that of the pull request."""
        found = find_node(self.request, input["id"])
        pull = found.pull if isinstance(found, QueueEntry) else self._find(input["id"], PullRequest, "PullRequest")
        pull = self._landable(pull.node_id)
        entry = pull.queue_entry
        if entry is None:
            raise GraphQLRefusal("UNPROCESSABLE", f"Failed to remove PR #{pull.number} from the merge queue")
        dequeue(self.request.world, entry, "MANUAL", self.request.identity.actor)
        return self._payload(input, mergeQueueEntry=view(self.request, entry))
