"""What entries of a pull request's timeline tell of reviews, auto-merge and the merge queue."""

from __future__ import annotations

from typing import Any

from app.emulator.graphql.git_views import CommitThing
from app.emulator.graphql.queue_views import queue_thing
from app.emulator.graphql.views import View, view
from app.emulator.state import Account


class TimelineGuardFields(View):
    """Fields that only such entries have; their data is what was recorded with them."""

    @property
    def _recorded(self) -> dict[str, Any]:
        data: dict[str, Any] = self.thing.event.data
        return data

    @property
    def pullRequest(self) -> Any:
        return view(self.request, self.thing.issue)

    @property
    def _dismissed(self) -> dict[str, Any]:
        dismissed: dict[str, Any] = self._recorded["dismissed_review"]
        return dismissed

    @property
    def previousReviewState(self) -> str:
        return str(self._dismissed["state"]).upper()

    @property
    def dismissalMessage(self) -> str | None:
        return self._dismissed["dismissal_message"]  # type: ignore[no-any-return]

    @property
    def review(self) -> Any:
        reviews = self.thing.issue.reviews
        return view(self.request, next((r for r in reviews if r.id == self._dismissed["review_id"]), None))

    def _person(self, account: Account | None) -> Any:
        # These fields are of type User: an App's act shows nobody.
        return view(self.request, account) if account is not None and account.type == "User" else None

    @property
    def enabler(self) -> Any:
        return self._person(self.thing.event.actor)

    disabler = enabler

    @property
    def enqueuer(self) -> Any:
        return self._person(self._recorded["_enqueuer"])

    @property
    def mergeQueue(self) -> Any:
        pull = self.thing.issue
        return view(self.request, queue_thing(pull.repo, pull.base_ref))

    @property
    def reason(self) -> str | None:
        return self._recorded.get("_reason")

    @property
    def reasonCode(self) -> None:
        return None

    @property
    def beforeCommit(self) -> Any:
        sha = self._recorded.get("_before_commit") or self._recorded.get("before_commit")
        return view(self.request, CommitThing(self.thing.issue.repo, sha)) if sha else None
