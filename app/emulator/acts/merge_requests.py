"""Asynchronous merges: accepted at once, executed in the background, their result kept for a day.

Source: REST "Merge a pull request asynchronously" and "Get the result of an asynchronous merge". When a request is
made only the pull request's own state is looked at; rules are judged when it runs, and a push in between cancels it.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.emulator.acts.branch_rules import merge_queue_rule
from app.emulator.acts.merge_queue import enqueue
from app.emulator.acts.merging import HEAD_MODIFIED, MergeOrder, merge
from app.emulator.acts.stacks import bring_down, check_ready, to_land
from app.emulator.errors import ApiError
from app.emulator.state import Actor, PullRequest

if TYPE_CHECKING:
    from app.emulator.world import World

RETENTION_S = 86_400.0


@dataclass(eq=False)
class MergeRequest:
    """One asynchronous merge and what became of it."""

    uuid: str
    pull: PullRequest
    actor: Actor
    order: MergeOrder
    action: str
    updated_at: float
    status: str = "pending"
    message: str = "Merge request enqueued."
    sha: str | None = None

    def details(self) -> dict[str, Any]:
        """The ``details`` of the answer."""
        if self.status == "pending":
            return {
                "message": self.message,
                "uuid": self.uuid,
                "merge_method": self.order.method,
                "merge_action": self.action,
                "expected_head_sha": self.order.expected_head,
            }
        return {"message": self.message} | ({"sha": self.sha} if self.sha else {})

    def run(self, world: World) -> None:
        """Merge, or remember why not."""
        if self.status != "pending":
            return
        self.updated_at = world.clock.now()
        try:
            if self.pull.head_sha != self.order.expected_head:
                raise ApiError(409, HEAD_MODIFIED)
            if self._to_queue():
                self._enqueue(world)
            else:
                self.sha = self._merge(world)
                self.status, self.message = "merged", "Pull request was merged."
        except ApiError as refusal:
            self.status, self.message = "failed", refusal.message

    def _merge(self, world: World) -> str:
        """Of a stack everything below lands first; the words that were sent go with the pull request they name."""
        landing = to_land(self.pull)
        for pull in landing:
            check_ready(pull)
        sha = ""
        for pull in landing:
            bring_down(world, pull, self.actor)
            order = self.order if pull is self.pull else MergeOrder(self.order.method, expected_head=pull.head_sha)
            sha = merge(world, pull, self.actor, order)
        next_up = self.pull.stack.unmerged[:1] if self.pull.stack is not None else []
        for pull in next_up:
            bring_down(world, pull, self.actor)
        return sha

    def _enqueue(self, world: World) -> None:
        # An App is accepted and then refused, though it may enqueue by GraphQL (github/gh-stack#497).
        if self.actor.app is not None:
            raise ApiError(405, "Enqueuer is not authorized to merge")
        enqueue(world, self.pull, self.actor, self.order.expected_head, jump=False)
        self.status, self.message = "enqueued", "Pull request is in the merge queue."

    def _to_queue(self) -> bool:
        queue = merge_queue_rule(self.pull.repo, self.pull.base_ref)
        return self.action == "merge_queue" or (self.action == "default" and queue is not None)


def request_merge(world: World, pull: PullRequest, actor: Actor, order: MergeOrder, action: str) -> MergeRequest:
    """A new request, to be executed in the background; the head of now is pinned where none was named."""
    pinned = MergeOrder(order.method, order.title, order.message, order.expected_head or pull.head_sha)
    made = MergeRequest(str(uuid.uuid4()), pull, actor, pinned, action, world.clock.now())
    world.merge_requests[made.uuid] = made
    world.background.later(made)
    return made


def pending_for(world: World, pull: PullRequest) -> MergeRequest | None:
    """The request that still waits for this pull request."""
    return next((r for r in world.merge_requests.values() if r.pull is pull and r.status == "pending"), None)


def find_request(world: World, pull: PullRequest, number: str) -> MergeRequest | None:
    """A request of this pull request by its UUID, until a day after its last change."""
    found = world.merge_requests.get(number)
    if found is None or found.pull is not pull or world.clock.now() - found.updated_at > RETENTION_S:
        return None
    return found
