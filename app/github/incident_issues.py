"""Issues of incidents: opened once, and found again by their marker in what our App itself wrote."""

from collections.abc import Collection
from datetime import datetime

from pydantic import Field

from app.domain.model import Message, instant_text
from app.github.access import RepositoryAccess
from app.github.errors import NotFound
from app.github.shapes import ObjectWithId, read
from app.github.wire import Call

_ISSUES = "/repos/{owner}/{repo}/issues"
_SWITCHED_OFF = 410


class IncidentIssues(RepositoryAccess):
    """Issues that our App opens."""

    async def open_issue(self, title: str, body: str) -> int | None:
        """Open an Issue and return its number; None where the repository's Issues are switched off. Raises Unanswered
        where it may stand now, and other GitHubErrors.

        Done but not heard: `own_issues` shows it by its marker, at once or later. Two of us: both stand for a moment;
        the oldest is the one that counts. Lease gone: an incident is told whoever holds what.
        """
        try:
            answer = await self.session.write("POST", _ISSUES, self._at(), {"title": title, "body": body})
        except NotFound as missing:
            if missing.status != _SWITCHED_OFF:
                raise
            return None
        return read(_Issue, answer.body, Call("POST", _ISSUES, writes=True)).number

    async def own_issues(self, markers: Collection[str], since: datetime) -> dict[str, int]:
        """The probe for `open_issue`: of each marker the oldest Issue that our App opened, touched since `since`, whose
        text begins with it; none where the repository's Issues are switched off. One request for every hundred Issues
        touched since.
        """
        query = {"state": "all", "since": instant_text(since), "sort": "created", "direction": "asc"}
        try:
            pages = await self.session.pages(_ISSUES, self._at(), query)
        except NotFound as missing:
            if missing.status != _SWITCHED_OFF:
                raise
            return {}
        found: dict[str, int] = {}
        for page in pages:
            for issue in read(list[_Issue], page.body, Call("GET", _ISSUES)):
                is_ours = issue.through is not None and issue.through.id == self.app_id
                if not is_ours or issue.pull_request is not None:
                    continue
                for marker in markers:
                    if (issue.body or "").startswith(marker):
                        found[marker] = min(issue.number, found.get(marker, issue.number))
        return found


class _Issue(Message):
    number: int
    body: str | None = None
    pull_request: dict[str, object] | None = None
    through: ObjectWithId | None = Field(default=None, alias="performed_via_github_app")
