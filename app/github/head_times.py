"""Since when a commit has been a branch's head, by GitHub's own clock: by its list of pushes and merges, and by when it
first offered the commit to an App to check. Dates inside a commit are whatever its author's machine said.
"""

from datetime import datetime

from pydantic import AwareDatetime

from app.domain.model import Message
from app.github.access import RepositoryAccess
from app.github.errors import Forbidden, NotFound
from app.github.shapes import read
from app.github.wire import Call

_ACTIVITY = "/repos/{owner}/{repo}/activity"
_SUITES = "/repos/{owner}/{repo}/commits/{sha}/check-suites"
_NEWEST = 5


class HeadTimes(RepositoryAccess):
    """When heads came. Reads only."""

    async def head_since(self, branch: str, sha: str) -> datetime | None:
        """Since when this commit certainly has been the head of a branch of this repository: the later of what both
        tell, and now, where the newest push that is listed left another head. None where neither tells anything. Two
        requests. Raises GitHubError.
        """
        moments: list[datetime] = []
        try:
            answer = await self.session.get(_ACTIVITY, self._at(), {"ref": f"refs/heads/{branch}", "per_page": _NEWEST})
            pushes = read(list[_Activity], answer.body, Call("GET", _ACTIVITY))
            if pushes:
                newest = max(pushes, key=lambda push: push.timestamp)
                moments.append(newest.timestamp if newest.after == sha else answer.date)
        except (Forbidden, NotFound):
            pass  # not told to this App, or by this server
        try:
            answer = await self.session.get(_SUITES, self._at(sha=sha))
            suites = read(_Suites, answer.body, Call("GET", _SUITES)).check_suites
        except (Forbidden, NotFound):
            suites = ()
        checked = [suite.created_at for suite in suites if suite.created_at is not None]
        # Of a commit that was pushed before, to another branch or to this one, only the list of pushes says when.
        return max((*moments, *sorted(checked)[:1]), default=None)


class _Activity(Message):
    after: str
    timestamp: AwareDatetime


class _Suite(Message):
    created_at: AwareDatetime | None = None


class _Suites(Message):
    check_suites: tuple[_Suite, ...] = ()
