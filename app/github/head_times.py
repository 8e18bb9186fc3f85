"""Since when GitHub has known a commit, by its own clock: when it made the first check-suite for it. Dates inside a
commit are whatever its author's machine said.
"""

from datetime import datetime

from pydantic import AwareDatetime

from app.domain.model import Message
from app.github.access import RepositoryAccess
from app.github.shapes import read
from app.github.wire import Call

_SUITES = "/repos/{owner}/{repo}/commits/{sha}/check-suites"


class HeadTimes(RepositoryAccess):
    """When commits came."""

    async def known_since(self, sha: str) -> datetime | None:
        """When GitHub first offered this commit to an App to check, at its push; None where it never did, because the
        repository has that switched off. One request. Raises GitHubError.
        """
        answer = await self.session.get(_SUITES, self._at(sha=sha))
        suites = read(_Suites, answer.body, Call("GET", _SUITES)).check_suites
        return min((suite.created_at for suite in suites if suite.created_at is not None), default=None)


class _Suite(Message):
    created_at: AwareDatetime | None = None


class _Suites(Message):
    check_suites: tuple[_Suite, ...] = ()
