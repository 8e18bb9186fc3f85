"""Entries of timelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.emulator.graphql.git_views import CommitThing, ref_thing
from app.emulator.graphql.timeline_guard_views import TimelineGuardFields
from app.emulator.graphql.timeline_link_views import TimelineLinkFields
from app.emulator.graphql.views import shows, view
from app.emulator.ids import node_id
from app.emulator.state import Issue, PullRequest, TimelineEvent

TYPE_OF = {
    "assigned": "AssignedEvent",
    "unassigned": "UnassignedEvent",
    "labeled": "LabeledEvent",
    "unlabeled": "UnlabeledEvent",
    "closed": "ClosedEvent",
    "reopened": "ReopenedEvent",
    "renamed": "RenamedTitleEvent",
    "cross-referenced": "CrossReferencedEvent",
    "commented": "IssueComment",
    "automatic_base_change_succeeded": "AutomaticBaseChangeSucceededEvent",
    "base_ref_changed": "BaseRefChangedEvent",
    "base_ref_deleted": "BaseRefDeletedEvent",
    "head_ref_deleted": "HeadRefDeletedEvent",
    "head_ref_restored": "HeadRefRestoredEvent",
    "head_ref_force_pushed": "HeadRefForcePushedEvent",
    "convert_to_draft": "ConvertToDraftEvent",
    "ready_for_review": "ReadyForReviewEvent",
    "merged": "MergedEvent",
    "review_requested": "ReviewRequestedEvent",
    "review_request_removed": "ReviewRequestRemovedEvent",
    "review_dismissed": "ReviewDismissedEvent",
    "reviewed": "PullRequestReview",
    "auto_merge_enabled": "AutoMergeEnabledEvent",
    "auto_squash_enabled": "AutoSquashEnabledEvent",
    "auto_rebase_enabled": "AutoRebaseEnabledEvent",
    "auto_merge_disabled": "AutoMergeDisabledEvent",
    "added_to_merge_queue": "AddedToMergeQueueEvent",
    "removed_from_merge_queue": "RemovedFromMergeQueueEvent",
    "comment_deleted": "CommentDeletedEvent",
    "connected": "ConnectedEvent",
    "disconnected": "DisconnectedEvent",
    "milestoned": "MilestonedEvent",
    "demilestoned": "DemilestonedEvent",
    "locked": "LockedEvent",
    "unlocked": "UnlockedEvent",
    "marked_as_duplicate": "MarkedAsDuplicateEvent",
    "sub_issue_added": "SubIssueAddedEvent",
    "sub_issue_removed": "SubIssueRemovedEvent",
    "parent_issue_added": "ParentIssueAddedEvent",
    "parent_issue_removed": "ParentIssueRemovedEvent",
}


@dataclass(frozen=True)
class TimelineThing:
    """An entry together with the Issue it belongs to."""

    issue: Issue
    event: TimelineEvent


@shows(TimelineThing)
class TimelineView(TimelineGuardFields, TimelineLinkFields):
    """An entry; the fields that only one kind has come from its data."""

    thing: TimelineThing

    @property
    def _View__typename(self) -> str:  # the name under which the executor looks for ``__typename``
        return TYPE_OF[self.thing.event.event]

    @property
    def _data(self) -> dict[str, Any]:
        return self.thing.event.data

    @property
    def id(self) -> str:
        return node_id("TE", self.thing.event.id)

    @property
    def actor(self) -> Any:
        return view(self.request, self.thing.event.actor)

    @property
    def createdAt(self) -> str:
        return self.thing.event.created_at

    referencedAt = createdAt

    @property
    def assignee(self) -> Any:
        return view(self.request, self._data["assignee"])

    @property
    def label(self) -> Any:
        return view(self.request, self._data["label"])

    @property
    def stateReason(self) -> str | None:
        reason = self._data.get("state_reason")
        return reason.upper() if reason else None

    @property
    def currentTitle(self) -> str:
        return str(self._data["rename"]["to"])

    @property
    def previousTitle(self) -> str:
        return str(self._data["rename"]["from"])

    @property
    def target(self) -> Any:
        return view(self.request, self.thing.issue)

    @property
    def currentRefName(self) -> str:
        return str(self._data["to_ref"])

    @property
    def previousRefName(self) -> str:
        return str(self._data["from_ref"])

    newBase, oldBase = currentRefName, previousRefName

    @property
    def _pull(self) -> PullRequest:
        assert isinstance(self.thing.issue, PullRequest)
        return self.thing.issue

    @property
    def baseRefName(self) -> str:
        return self._pull.base_ref

    mergeRefName = baseRefName

    @property
    def headRefName(self) -> str:
        return self._pull.head_ref

    @property
    def headRef(self) -> Any:
        home = self._pull.head_repo
        return view(self.request, ref_thing(home, f"refs/heads/{self._pull.head_ref}")) if home is not None else None

    ref = headRef

    def _commit(self, member: str) -> Any:
        return view(self.request, CommitThing(self.thing.issue.repo, self._data[member]))

    @property
    def beforeCommit(self) -> Any:
        return self._commit("before_commit")

    @property
    def afterCommit(self) -> Any:
        return self._commit("after_commit")

    @property
    def commit(self) -> Any:
        return self._commit("commit_id")

    @property
    def requestedReviewer(self) -> Any:
        return view(self.request, self._data["requested_reviewer"])
