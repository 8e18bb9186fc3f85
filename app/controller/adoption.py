"""What the operator does to a repository as a whole: plan, propose a policy, take everything away again.

It runs beside the service, on its database, with looks of its own.
"""

from collections.abc import Collection
from dataclasses import replace

from app.controller.clock import Clock
from app.controller.database import Database
from app.controller.enrolling import Enrolling
from app.controller.heartbeats import Heartbeats
from app.controller.journal import Journal
from app.controller.keyring import Keyring
from app.controller.planning import MOST_LOOKED_AT, Planning, Progress
from app.controller.project import Projector
from app.controller.proposing import Opened, Proposal, Proposing
from app.controller.reporting import Reporter
from app.controller.stops import Stops
from app.controller.uninstalling import Uninstalling
from app.controller.view import Views
from app.controller.witnesses import Witnesses
from app.controller.witnessing import Witnessing
from app.domain.intended import RepositoryPlan
from app.domain.policy import Mode, Policy
from app.domain.removal import Removal
from app.github.budget import counting
from app.github.client import GitHub


class Adoption:
    """The operator's commands about repositories. `resumes` and `has_command`: whether the service's settings let
    interrupted tickets be resumed, and name a command that starts agents.
    """

    def __init__(
        self,
        *,
        github: GitHub,
        database: Database,
        keys: Keyring,
        clock: Clock,
        stops: Stops,
        resumes: bool,
        has_command: bool,
    ) -> None:
        witnesses = Witnesses(database)
        witnessing = Witnessing(witnesses, keys)
        self._stops = stops
        self._views = Views(github, keys, Heartbeats(database, clock), witnessing)
        self._uninstalling = Uninstalling(self._views, witnesses, stops)
        self._proposing = Proposing(self._views)
        enrolling = Enrolling(self._views, Journal(witnessing), Reporter(Projector(keys)))
        self._planning = Planning(self._views, enrolling, resumes=resumes, has_command=has_command)

    async def plan(
        self,
        owner: str,
        name: str,
        modes: Collection[Mode],
        progress: Progress,
        *,
        tried: Policy | None = None,
        most: int = MOST_LOOKED_AT,
    ) -> RepositoryPlan:
        """What each of these modes would do, as if `tried` were the policy where it is given; nothing is written.
        Raises GitHubError.
        """
        with counting("plan"):
            repo, _ = await self._views.ledger(owner, name)
        blocked = await self._stops.blocked(repo.full_name, repo.id)
        with counting("plan"), self._stops.only_looking():
            made = await self._planning.plan(owner, name, modes, progress, tried=tried, most=most)
        return replace(made, stopped=blocked.reason if blocked is not None else None)

    async def prepare(
        self, owner: str, name: str, *, mode: Mode, label: str | None, schema_url: str | None
    ) -> Proposal:
        """The policy that would be proposed, and what stands already; nothing is written. Raises Refused and
        GitHubError.
        """
        with counting("init"), self._stops.only_looking():
            return await self._proposing.prepare(owner, name, mode=mode, label=label, schema_url=schema_url)

    async def open(self, owner: str, name: str, proposal: Proposal) -> Opened:
        """Propose it in a pull request. Raises Refused, GitHubError."""
        with counting("init"):
            return await self._proposing.open(owner, name, proposal)

    async def traces(self, owner: str, name: str, progress: Progress) -> Removal:
        """What the App made in a repository; nothing is written. Raises GitHubError."""
        with counting("uninstall"), self._stops.only_looking():
            return await self._uninstalling.look(owner, name, progress)

    async def uninstall(self, owner: str, name: str, *, by: str, force: bool, progress: Progress) -> Removal:
        """Remove that, and leave the repository stopped. Raises Refused, GitHubError."""
        with counting("uninstall"):
            return await self._uninstalling.carry_out(owner, name, by=by, force=force, progress=progress)
