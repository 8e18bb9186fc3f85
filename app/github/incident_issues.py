"""Issues of incidents and of holds: opened once, and found again by their marker in what our App itself wrote."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import Field

from app.domain.model import Message, instant_text
from app.github.access import RepositoryAccess
from app.github.errors import Moved, NotFound
from app.github.shapes import Account, ObjectWithId, read
from app.github.wire import Call

_ISSUES = "/repos/{owner}/{repo}/issues"
_ISSUE = "/repos/{owner}/{repo}/issues/{number}"
_SWITCHED_OFF = 410


@dataclass(frozen=True)
class OwnIssue:
    """An Issue that our App opened, as it is now. `gone`: it was deleted or transferred. `closed_by_person`: the
    account that closed it, where that is a person's and not an App's.
    """

    state: Literal["open", "closed", "gone"]
    closed_by_person: str | None = None


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
        found: dict[str, int] = {}
        for issue in await self._own("all", since):
            for marker in markers:
                if (issue.body or "").startswith(marker):
                    found[marker] = min(issue.number, found.get(marker, issue.number))
        return found

    async def own_open_issues(self, marker: str, since: datetime) -> list[int]:
        """The Issues that our App opened, that are open and touched since `since`, and whose text begins with the
        marker; the oldest first. As dear as `own_issues`.
        """
        return sorted(i.number for i in await self._own("open", since) if (i.body or "").startswith(marker))

    async def own_issue(self, number: int) -> OwnIssue:
        """One of them as it is now. Raises GitHubError where GitHub does not answer."""
        try:
            answer = await self.session.get(_ISSUE, self._at(number=number))
        except (NotFound, Moved):
            return OwnIssue("gone")
        issue = read(_Issue, answer.body, Call("GET", _ISSUE))
        if issue.state == "open":
            return OwnIssue("open")
        by = issue.closed_by
        return OwnIssue("closed", by.login if by is not None and by.type == "User" else None)

    async def edit_own_issue(self, number: int, body: str, state: Literal["open", "closed"]) -> None:
        """Set text and state of one. Raises Unanswered where it may be so now, and other GitHubErrors.

        Done but not heard, or two of us: the same once more, or a text that is a moment old; whoever holds the notice
        writes it again when it differs. Lease gone: it is nobody's work.
        """
        await self.session.write("PATCH", _ISSUE, self._at(number=number), {"body": body, "state": state})

    async def _own(self, state: Literal["open", "all"], since: datetime) -> list["_Issue"]:
        query = {"state": state, "since": instant_text(since), "sort": "created", "direction": "asc"}
        try:
            pages = await self.session.pages(_ISSUES, self._at(), query)
        except NotFound as missing:
            if missing.status != _SWITCHED_OFF:
                raise
            return []
        listed = [issue for page in pages for issue in read(list[_Issue], page.body, Call("GET", _ISSUES))]
        ours = (i for i in listed if i.through is not None and i.through.id == self.app_id)
        return [issue for issue in ours if issue.pull_request is None]


class _Issue(Message):
    number: int
    state: str = "open"
    body: str | None = None
    closed_by: Account | None = None
    pull_request: dict[str, object] | None = None
    through: ObjectWithId | None = Field(default=None, alias="performed_via_github_app")
