"""Sweeps: what happens when no event came. Level-triggered: every active ticket is poked, so lost events lose nothing.

Start-up reads the installations, their repositories and the active index of each, and nothing else: the cost follows
tickets in progress, never finished ones (the second specification, 40.3). Those are only looked at by the pruning, once
a day.
"""

import structlog

from app.controller.discovering import Discovering
from app.controller.pokes import PokeStore
from app.controller.pruning import Pruner
from app.controller.turn import Ended
from app.controller.view import Gone, Views
from app.domain.keys import RepositoryKey, TicketKey, is_repository_name
from app.github.budget import counting
from app.github.client import GitHub, RepositoryName
from app.github.errors import GitHubError, Moved, Suspended

log = structlog.get_logger()


class Sweeper:
    """Pokes every ticket in progress of every repository the App is installed on."""

    def __init__(self, github: GitHub, views: Views, pokes: PokeStore, discovering: Discovering) -> None:
        self._github = github
        self._views = views
        self._pokes = pokes
        self._pruner = Pruner(views, pokes)
        self._discovering = discovering

    async def sweep(self) -> int:
        """Poke all active tickets; returns how many. A repository or installation that does not answer (suspended,
        gone) is passed over and logged: it must not stop the others.
        """
        poked = 0
        with counting("sweep"):
            for installation in await self._github.installations():
                if installation.suspended:
                    log.info("installation suspended", installation=installation.id)
                    continue
                try:
                    poked += await self.sweep_installation(installation.id)
                except GitHubError as error:
                    log.warning("installation not swept", installation=installation.id, error=str(error))
        return poked

    async def sweep_installation(self, installation: int) -> int:
        """Poke the active tickets of all repositories of an installation; returns how many. A repository that does not
        answer is passed over; raises GitHubError where the installation does not.
        """
        repositories = await self._github.installation_repositories(installation)
        return sum([await self._sweep_one(repository) for repository in repositories])

    async def sweep_repository(self, owner: str, name: str) -> int:
        """Poke the active tickets of one repository, and the Issues that are tickets without anybody's claim; returns
        how many. Raises GitHubError where it does not answer, Gone where it is not there.
        """
        full_name = f"{owner}/{name}"
        if not is_repository_name(full_name):
            return 0
        tickets = await self._views.active_tickets(owner, name)
        await self._pokes.poke(*(str(TicketKey(full_name, ticket)) for ticket in tickets))
        return len(tickets) + await self._discovering.sweep(owner, name, tickets)

    async def bring_right(self, owner: str, name: str) -> Ended:
        """The same for one repository, and answer for its pull requests of nobody. Raises as `sweep_repository`."""
        if not is_repository_name(f"{owner}/{name}"):
            return Ended(None, "no repository has such a name")
        tickets = await self._views.active_tickets(owner, name)
        await self._pokes.poke(*(str(TicketKey(f"{owner}/{name}", ticket)) for ticket in tickets))
        ended = await self._discovering.bring_right(owner, name, tickets)
        return Ended(ended.again_at, f"{len(tickets)} tickets in progress were poked; {ended.reason}")

    async def _sweep_one(self, repository: RepositoryName) -> int:
        full_name = f"{repository.owner}/{repository.name}"
        try:
            poked = await self.sweep_repository(repository.owner, repository.name)
            return poked + await self._pruner.daily(repository.owner, repository.name)
        except GitHubError as error:
            log.warning("repository not swept", repository=full_name, error=str(error))
            if not isinstance(error, Gone | Moved | Suspended):
                # The loop looks at it by itself, ever more rarely: not only at the next sweep.
                await self._pokes.poke(str(RepositoryKey(full_name)))
            return 0
