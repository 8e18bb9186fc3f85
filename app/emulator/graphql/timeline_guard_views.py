"""What entries of a pull request's timeline tell of reviews, auto-merge and the merge queue."""

from __future__ import annotations

from typing import Any

from app.emulator.graphql.views import View, view


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
