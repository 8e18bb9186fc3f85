"""Auto-merge and merge queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.emulator.acts.branch_rules import merge_queue_rule
from app.emulator.acts.merge_queue import position
from app.emulator.graphql.connections import connection
from app.emulator.graphql.git_views import CommitThing
from app.emulator.graphql.views import View, shows, view, viewer_of
from app.emulator.guard_state import QueueEntry
from app.emulator.ids import node_id
from app.emulator.state import PullRequest, Repository


@dataclass(frozen=True)
class QueueThing:
    """The merge queue of a branch."""

    repo: Repository
    branch: str


def queue_thing(repo: Repository, branch: str) -> QueueThing | None:
    """The branch's queue, or None when it has none."""
    return QueueThing(repo, branch) if merge_queue_rule(repo, branch) is not None else None


class QueuedFields:
    """The fields of a pull request that tell how it is to land by itself."""

    request: Any
    thing: PullRequest

    @property
    def autoMergeRequest(self) -> Any:
        order = self.thing.auto_merge
        if order is None:
            return None
        return {
            "authorEmail": None,
            "commitHeadline": order.title,
            "commitBody": order.message,
            "enabledAt": order.enabled_at,
            "enabledBy": view(self.request, order.enabled_by),
            "mergeMethod": order.method.upper(),
            "pullRequest": self,
        }

    @property
    def isInMergeQueue(self) -> bool:
        return self.thing.queue_entry is not None

    @property
    def isMergeQueueEnabled(self) -> bool:
        return merge_queue_rule(self.thing.repo, self.thing.base_ref) is not None

    @property
    def mergeQueue(self) -> Any:
        return view(self.request, queue_thing(self.thing.repo, self.thing.base_ref))

    @property
    def mergeQueueEntry(self) -> Any:
        return view(self.request, self.thing.queue_entry)

    @property
    def _may_merge(self) -> bool:
        return bool(self.request.identity.allows(self.thing.repo, "contents", "write"))

    @property
    def viewerCanEnableAutoMerge(self) -> bool:
        pull = self.thing
        open_for_it = pull.state == "open" and pull.auto_merge is None and pull.repo.settings.allow_auto_merge
        return open_for_it and self._may_merge

    @property
    def viewerCanDisableAutoMerge(self) -> bool:
        return self.thing.auto_merge is not None and self._may_merge


@shows(QueueEntry)
class QueueEntryView(View):
    """An entry of a merge queue."""

    thing: QueueEntry
    __typename = "MergeQueueEntry"

    def __init__(self, request: Any, thing: QueueEntry) -> None:
        super().__init__(request, thing)
        self.id, self.enqueuedAt, self.state, self.jump = thing.node_id, thing.enqueued_at, thing.state, thing.jump
        self.solo, self.estimatedTimeToMerge = False, None

    @property
    def position(self) -> int:
        return position(self.thing) if self.thing.pull.queue_entry is self.thing else 0

    @property
    def enqueuer(self) -> Any:
        return view(self.request, self.thing.enqueued_by)

    @property
    def pullRequest(self) -> Any:
        return view(self.request, self.thing.pull)

    @property
    def mergeQueue(self) -> Any:
        return view(self.request, queue_thing(self.thing.pull.repo, self.thing.base_branch))

    def _commit(self, sha: str | None) -> Any:
        return view(self.request, CommitThing(self.thing.pull.repo, sha)) if sha is not None else None

    @property
    def baseCommit(self) -> Any:
        return self._commit(self.thing.base_sha)

    @property
    def headCommit(self) -> Any:
        return self._commit(self.thing.head_sha)


@shows(QueueThing)
class QueueView(View):
    """The merge queue of a branch."""

    thing: QueueThing
    __typename = "MergeQueue"

    def __init__(self, request: Any, thing: QueueThing) -> None:
        super().__init__(request, thing)
        self.id = node_id("MQ", thing.repo.id, thing.branch)
        self.resourcePath = f"/{thing.repo.full_name}/queue/{thing.branch}"
        self.url = request.world.url + self.resourcePath
        self.nextEntryEstimatedTimeToMerge = None

    @property
    def repository(self) -> Any:
        return view(self.request, self.thing.repo)

    @property
    def configuration(self) -> Any:
        rule = merge_queue_rule(self.thing.repo, self.thing.branch) or {}
        return {
            "checkResponseTimeout": rule.get("check_response_timeout_minutes"),
            "maximumEntriesToBuild": rule.get("max_entries_to_build"),
            "maximumEntriesToMerge": rule.get("max_entries_to_merge"),
            "mergeMethod": rule.get("merge_method"),
            "mergingStrategy": rule.get("grouping_strategy"),
            "minimumEntriesToMerge": rule.get("min_entries_to_merge"),
            "minimumEntriesToMergeWaitTime": rule.get("min_entries_to_merge_wait_minutes"),
        }

    def entries(self, info: Any, **page: Any) -> Any:
        listed = self.thing.repo.guard.queues.get(self.thing.branch, [])
        return connection("entries", listed, viewer_of(self.request), **page)
