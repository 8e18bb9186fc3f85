"""The App's check-runs: the one thing on a commit that nobody else can write in our name."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from app.domain.buttons import Button
from app.domain.model import instant_text
from app.domain.observation import CheckRun
from app.github.access import CHECK_NAME, RepositoryAccess
from app.github.shapes import CheckRunShape, CheckRunsShape, ObjectWithId, read
from app.github.wire import Call

_CHECK_RUNS = "/repos/{owner}/{repo}/check-runs"
_CHECK_RUN = "/repos/{owner}/{repo}/check-runs/{id}"
_OF_COMMIT = "/repos/{owner}/{repo}/commits/{sha}/check-runs"

CheckStatus = Literal["queued", "in_progress", "completed"]
Conclusion = Literal["action_required", "cancelled", "failure", "success"]
"""Never `neutral` or `skipped`: both pass a required check."""


@dataclass(frozen=True)
class CheckRunWrite:
    """What a check-run is to say. `summary` and `text` hold at most 65,535 bytes of UTF-8 each: a longer summary is
    refused, a longer text is cut without a word.

    `conclusion` and `completed_at` go with status `completed` and with no other.
    """

    head_sha: str
    status: CheckStatus
    external_id: str
    title: str
    summary: str
    text: str = ""
    conclusion: Conclusion | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    details_url: str | None = None
    name: str = CHECK_NAME
    actions: tuple[Button, ...] | None = None
    """The buttons that people are shown once the run is completed; None leaves them as they are."""

    def body(self, *, creating: bool) -> dict[str, Any]:
        """The JSON of the request; the head is given once, at creation."""
        fields: dict[str, Any] = {
            "name": self.name,
            "status": self.status,
            "external_id": self.external_id,
            "output": {"title": self.title, "summary": self.summary, "text": self.text},
        }
        if creating:
            fields["head_sha"] = self.head_sha
        if self.conclusion is not None:
            fields["conclusion"] = self.conclusion
        if self.details_url is not None:
            fields["details_url"] = self.details_url
        if self.actions is not None:
            fields["actions"] = [
                {"label": one.label, "description": one.description, "identifier": one.identifier}
                for one in self.actions
            ]
        for key, moment in (("started_at", self.started_at), ("completed_at", self.completed_at)):
            if moment is not None:
                fields[key] = instant_text(moment)
        return fields


class Checks(RepositoryAccess):
    """Check-runs of our App."""

    async def create_check_run(self, run: CheckRunWrite) -> int:
        """Create a check-run and return its id. Raises Unanswered where it may stand now.

        Done but not heard: `find_check_runs` shows it, at once or later. Two of us: both stand for a moment, and the
        oldest is the one that is written on. Lease gone: runs are created unfinished or red, so a late one passes
        nothing (the ownership protocol, R18).
        """
        answer = await self.session.write("POST", _CHECK_RUNS, self._at(), run.body(creating=True))
        return read(ObjectWithId, answer.body, Call("POST", _CHECK_RUNS, writes=True)).id

    async def update_check_run(self, id: int, run: CheckRunWrite) -> None:
        """Set a check-run of ours to these values. Raises NotFound where it is gone.

        Done but not heard, or two of us: values are set, and the next look compares them with the record. Lease gone:
        a late old value carries its generation and sequence in `external_id` and is rewritten.
        """
        await self.session.write("PATCH", _CHECK_RUN, self._at(id=id), run.body(creating=False))

    async def find_check_runs(self, sha: str, name: str = CHECK_NAME) -> list[CheckRun]:
        """The probe for `create_check_run`: our App's runs of this name on a commit, oldest first."""
        query: dict[str, str | int] = {"check_name": name, "app_id": self.app_id, "filter": "all"}
        pages = await self.session.pages(_OF_COMMIT, self._at(sha=sha), query)
        call = Call("GET", _OF_COMMIT)
        shapes: list[CheckRunShape] = []
        for page in pages:
            shapes += read(CheckRunsShape, page.body, call).check_runs
        ours = [shape for shape in shapes if shape.name == name and shape.is_from(self.app_id)]
        return [shape.check_run() for shape in sorted(ours, key=lambda shape: shape.id)]
