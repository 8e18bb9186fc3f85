"""Where an Issue is, and closing it when its ticket is done. It is asked at its own address: GraphQL says of one that
was deleted and of one that was transferred the same as of one that never was.
"""

from app.domain.observation import Whereabouts
from app.github.access import RepositoryAccess
from app.github.errors import Moved, NotFound

_ISSUE = "/repos/{owner}/{repo}/issues/{number}"
_GONE = 410


class Issues(RepositoryAccess):
    """Issues of the repository."""

    async def whereabouts(self, number: int) -> Whereabouts:
        """Where the Issue with this number is now. GitHub answers 301 where it was transferred, 410 where it was
        deleted (and, in other words, where the repository's Issues are switched off), 404 where it was either and the
        App may not see the rest. Raises GitHubError where GitHub does not answer.
        """
        try:
            await self.session.get(_ISSUE, self._at(number=number))
        except Moved:
            return "transferred"
        except NotFound as missing:
            if missing.status != _GONE:
                return "hidden"
            return "issues_off" if "disabled" in missing.message.lower() else "deleted"
        return "here"

    async def close_issue(self, number: int) -> None:
        """Close an Issue as completed. Raises Moved where it was transferred, NotFound where it is gone, Forbidden,
        Unanswered where it may be closed, and other GitHubErrors.

        Done but not heard, or two of us: closing it again changes nothing and tells nobody, unless a person opened it
        in between; so the record notes that it was done. Lease gone: only after the trunk has the ticket's work, which
        no successor undoes.
        """
        fields = {"state": "closed", "state_reason": "completed"}
        await self.session.write("PATCH", _ISSUE, self._at(number=number), fields)
