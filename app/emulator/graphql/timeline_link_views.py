"""Fields of timeline entries that lead to something else: what closed an Issue, what it was linked with."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.closing import linked_issues
from app.emulator.graphql.git_views import CommitThing
from app.emulator.graphql.issue_link_views import lock_reason
from app.emulator.graphql.views import View, view
from app.emulator.state import Issue, PullRequest, TimelineEvent


class TimelineLinkFields(View):
    """The fields that only entries about links have."""

    @property
    def _event(self) -> TimelineEvent:
        event: TimelineEvent = self.thing.event
        return event

    @property
    def _issue(self) -> Issue:
        issue: Issue = self.thing.issue
        return issue

    def _shown(self, member: str) -> Any:
        return view(self.request, self._event.data.get(member))

    @property
    def databaseId(self) -> int:
        return self._event.id

    @property
    def closer(self) -> Any:
        sha = self._event.data.get("commit_id")
        return view(self.request, CommitThing(self._issue.repo, sha)) if sha else self._shown("closer")

    @property
    def source(self) -> Any:
        """What refers to this Issue; a connection starts from the Issue itself."""
        connects = self._event.event in ("connected", "disconnected")
        return view(self.request, self._issue) if connects else self._shown("source")

    @property
    def subject(self) -> Any:
        connects = self._event.event in ("connected", "disconnected")
        return self._shown("source") if connects else view(self.request, self._issue)

    @property
    def isCrossRepository(self) -> bool:
        other = self._event.data.get("source") or self._event.data.get("canonical")
        return other is not None and other.repo is not self._issue.repo

    @property
    def willCloseTarget(self) -> bool:
        source = self._event.data["source"]
        return isinstance(source, PullRequest) and self._issue in linked_issues(self.request.world, source)

    @property
    def deletedCommentAuthor(self) -> Any:
        return self._shown("deleted_comment_author")

    @property
    def milestoneTitle(self) -> str:
        return str(self._event.data["milestone"].title)

    @property
    def lockReason(self) -> str | None:
        return lock_reason(self._event.data["lock_reason"])

    @property
    def lockable(self) -> Any:
        return view(self.request, self._issue)

    @property
    def canonical(self) -> Any:
        return self._shown("canonical")

    @property
    def duplicate(self) -> Any:
        return view(self.request, self._issue)

    @property
    def subIssue(self) -> Any:
        return self._shown("sub_issue")

    @property
    def parent(self) -> Any:
        return self._shown("parent")
