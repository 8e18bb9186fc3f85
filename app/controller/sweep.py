"""Sweeps: what happens when no event came. Level-triggered: what differs from what the last sweep saw is poked, so lost
events lose nothing, and every ticket is looked at from time to time because no glance shows everything.

Start-up pokes all tickets in progress. It reads the installations, their repositories and each one's refs and open pull
requests, and nothing of finished tickets: the cost follows tickets in progress (the second specification, 40.3). Ended
ones are only looked at by the pruning, once a day.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

import structlog

from app.controller.discovering import Discovering
from app.controller.ears import Ears
from app.controller.glancing import Glanced, glance_at, names_of
from app.controller.pokes import Poke, PokeStore
from app.controller.pruning import Pruner
from app.controller.resuming import Resuming
from app.controller.sweep_marks import Seen, SweepMarks, Swept
from app.controller.turn import Ended
from app.controller.view import Gone, Views
from app.domain.glance import Mark, differing, longest_unseen, marks
from app.domain.keys import IssueKey, RepositoryKey, TicketKey, TrunkKey, is_repository_name, is_trunk_name
from app.domain.release_glance import with_open_pulls
from app.domain.ticket_id import TicketId, by_number
from app.github.budget import counting
from app.github.client import GitHub, RepositoryName
from app.github.errors import GitHubError, Moved, Suspended
from app.github.refs import RefValue
from app.github.repository import Repository

AT_ONCE = 100
"""Tickets of one sweep that are due at once; more of them follow `THEN` every `APART`, so that a start with thousands
of tickets, or with hundreds of repositories, spends no hour's budget in a minute.
"""
THEN = 20
APART = timedelta(seconds=20)
HANDED_FOR = timedelta(seconds=10)
"""How long what was read for many rounds together may be used: an agent's pushes to the ledger tell nobody."""
MOST_HANDED = 1000

log = structlog.get_logger()


@dataclass(frozen=True)
class _Handed:
    """Refs that were read for a poke, once they are there. `version`: that poke's."""

    version: int
    at: datetime
    values: asyncio.Future[Sequence[RefValue] | None]


@dataclass(frozen=True)
class _SweptNow:
    """How many tickets were poked, which are in progress, whether anything that is no ticket's differs, or the policy,
    and whether a pull request goes into the base of releases.
    """

    poked: int
    active: tuple[TicketId, ...]
    others_differ: bool
    policy_differs: bool = False
    guarded: bool = False


Choice = Callable[[Swept | None, Glanced, Sequence[TicketId]], set[TicketId]]
"""Which tickets to look at: what the last sweep saw, what is seen now, and the tickets that differ."""


class Sweeper:
    """Pokes tickets of every repository the App is installed on."""

    def __init__(
        self,
        github: GitHub,
        views: Views,
        pokes: PokeStore,
        discovering: Discovering,
        kept: SweepMarks,
        resuming: Resuming,
    ) -> None:
        self._github = github
        self._views = views
        self._pokes = pokes
        self._marks = kept
        self._resuming = resuming
        self._pruner = Pruner(views, pokes)
        self._discovering = discovering
        self._handed: dict[str, _Handed] = {}
        self._ears: Ears | None = None

    def lend(self, ears: Ears) -> None:
        """Listen from now on, too, for what persons said and no event told."""
        self._ears = ears

    async def start_up(self) -> int:
        """Poke all active tickets; returns how many. A repository or installation that does not answer (suspended,
        gone) is passed over and logged: it must not stop the others.
        """
        return await self._everywhere(self._all_of)

    async def sweep(self) -> int:
        """Poke the tickets that differ from what the last sweep saw; returns how many. Others' trouble stops it no more
        than the start.
        """
        return await self._everywhere(self._changed_in)

    async def poke_named(self, key: IssueKey) -> str:
        """Poke the ticket of an Issue that an event named by its id alone; what came of it. Raises GitHubError."""
        ticket = await self._github.ticket_of(key.installation, key.node_id)
        if ticket is None:
            return "the App sees no Issue with this id"
        await self._pokes.poke(str(ticket))
        return f"{ticket} was poked"

    async def sweep_installation(self, installation: int) -> int:
        """Poke the active tickets of all repositories of an installation that came, or came back; returns how many. A
        repository that does not answer is passed over; raises GitHubError where the installation does not.
        """
        return await self._installation(installation, self._all_of, count())

    async def bring_right(self, owner: str, name: str) -> tuple[Ended, bool]:
        """Poke the tickets of one repository that differ from what was last seen, and answer for its pull requests of
        nobody; and whether a pull request goes into the base of releases. Raises GitHubError where it does not answer,
        Gone where it is not there.
        """
        if not is_repository_name(f"{owner}/{name}"):
            return Ended(None, "no repository has such a name"), False
        swept = await self._swept(owner, name, count(), _to_look_at)
        ended = await self._discovering.bring_right(owner, name, swept.active)
        return Ended(ended.again_at, f"{swept.poked} tickets were poked; {ended.reason}"), swept.guarded

    async def handed(self, poke: Poke) -> Sequence[RefValue] | None:
        """The ledger's refs as they were read after this very poke, if that is all that poked the ticket: nothing that
        somebody tells us of can have happened since. None where the round has to read them itself.
        """
        handed = self._handed.pop(poke.key, None)
        if handed is None or handed.version != poke.version or self._views.now() > handed.at + HANDED_FOR:
            return None
        return await handed.values

    async def _everywhere(self, one: Callable[[str, str, "count[int]"], Awaitable[int]]) -> int:
        poked, places = 0, count()
        with counting("sweep"):
            for installation in await self._github.installations():
                if installation.suspended:
                    log.info("installation suspended", installation=installation.id)
                    continue
                try:
                    poked += await self._installation(installation.id, one, places)
                except GitHubError as error:
                    log.warning("installation not swept", installation=installation.id, error=str(error))
        return poked

    async def _installation(
        self, installation: int, one: Callable[[str, str, "count[int]"], Awaitable[int]], places: "count[int]"
    ) -> int:
        repositories = await self._github.installation_repositories(installation)
        return sum([await self._apart(repository, one, places) for repository in repositories])

    async def _apart(
        self,
        repository: RepositoryName,
        one: Callable[[str, str, "count[int]"], Awaitable[int]],
        places: "count[int]",
    ) -> int:
        full_name = f"{repository.owner}/{repository.name}"
        try:
            poked = await one(repository.owner, repository.name, places)
            poked += await self._listen_back(repository.owner, repository.name)
            return poked + await self._pruner.daily(repository.owner, repository.name)
        except GitHubError as error:
            log.warning("repository not swept", repository=full_name, error=str(error))
            if not isinstance(error, Gone | Moved | Suspended):
                # The loop looks at it by itself, ever more rarely: not only at the next sweep.
                await self._pokes.poke(str(RepositoryKey(full_name)))
            return 0

    async def _listen_back(self, owner: str, name: str) -> int:
        if self._ears is None or not is_repository_name(f"{owner}/{name}"):
            return 0
        repo, _ = await self._views.ledger(owner, name)
        return await self._ears.listen_back(repo)

    async def _all_of(self, owner: str, name: str, places: "count[int]") -> int:
        """Everything of a repository."""
        swept = await self._swept(owner, name, places, _all, starting=True)
        if swept.policy_differs or swept.guarded:
            await self._pokes.poke(str(RepositoryKey(f"{owner}/{name}")))
        return swept.poked + await self._discovering.sweep(owner, name, swept.active)

    async def _changed_in(self, owner: str, name: str, places: "count[int]") -> int:
        """What differs. What is no ticket's is looked through only where something of that differs or was left."""
        swept = await self._swept(owner, name, places, _to_look_at)
        if swept.policy_differs:
            await self._pokes.poke(str(RepositoryKey(f"{owner}/{name}")))
        if not (swept.others_differ or await self._discovering.is_due(owner, name)):
            return swept.poked
        if swept.guarded and swept.others_differ:
            await self._pokes.poke(str(RepositoryKey(f"{owner}/{name}")))
        return swept.poked + await self._discovering.sweep(owner, name, swept.active)

    async def _swept(
        self, owner: str, name: str, places: "count[int]", choose: Choice, *, starting: bool = False
    ) -> _SweptNow:
        if not is_repository_name(f"{owner}/{name}"):
            return _SweptNow(0, (), False)
        repo, _ = await self._views.ledger(owner, name)
        last = await self._marks.last(repo.id)
        seen = await glance_at(repo, last, self._views.now(), self._views.policy_of)
        before: Mapping[TicketId, Mark] = last.marks if last is not None else {}
        now = marks(seen.glance, seen.scope, before)
        chosen = choose(last, seen, differing(before, now))
        await self._poke(repo, chosen | seen.ended, places)
        releases = _releases_to_look_at(last, seen, starting=starting)
        await self._pokes.poke(*(str(TrunkKey(repo.full_name, name)) for name in releases))
        await self._pokes.poke(*_keys_elsewhere(seen))
        await self._marks.keep(_seen(repo, seen, now, chosen, before))
        in_progress = sum(isinstance(ticket, int) for ticket in seen.glance.ledgers)
        await self._resuming.counted(repo.id, repo.full_name, in_progress)
        others_differ = last is None or last.base.others != seen.base.others
        policy_differs = last is not None and last.base.policy != seen.base.policy
        poked = len(chosen | seen.ended)
        return _SweptNow(poked, tuple(seen.glance.ledgers), others_differ, policy_differs, seen.guarded)

    async def _poke(self, repo: Repository, tickets: set[TicketId], places: "count[int]") -> None:
        """The first of a sweep at once, and what their rounds need first is read for all of them together."""
        keys = {str(TicketKey(repo.full_name, ticket)): ticket for ticket in sorted(tickets, key=by_number)}
        now = self._views.now()
        batches = {0: list[str]()}
        for key in keys:
            batches.setdefault(max(0, (next(places) - AT_ONCE) // THEN + 1), []).append(key)
        soon = batches.pop(0)
        for turn, later in batches.items():
            await self._pokes.poke(*later, due_at=now + APART * turn)
        versions = await self._pokes.poke_at_once(*soon)
        if len(soon) < 2:
            return
        reading: asyncio.Future[Sequence[RefValue] | None] = asyncio.get_running_loop().create_future()
        if len(self._handed) > MOST_HANDED:
            self._handed.clear()
        self._handed |= {key: _Handed(version, now, reading) for key, version in versions.items()}
        try:
            reading.set_result(await repo.refs_below(*names_of(keys[key] for key in soon)))
        except GitHubError as error:
            log.info("the ledgers' refs are read one by one", repository=repo.full_name, error=str(error))
        finally:
            if not reading.done():
                reading.set_result(None)


def _to_look_at(last: Swept | None, seen: Glanced, differ: Sequence[TicketId]) -> set[TicketId]:
    if last is None or last.base.policy != seen.base.policy:
        return {*differ, *seen.glance.ledgers}
    active = {ticket: moment for ticket, moment in last.looked_at.items() if ticket in seen.glance.ledgers}
    return {*differ, *longest_unseen(active, seen.at)}


def _all(last: Swept | None, seen: Glanced, differ: Sequence[TicketId]) -> set[TicketId]:
    return {*differ, *seen.glance.ledgers}


def _releases_to_look_at(last: Swept | None, seen: Glanced, *, starting: bool) -> list[str]:
    """Trunks whose releases differ from what the last sweep saw, or are gone; all under another policy, and after a
    start those whose pull requests are open.
    """
    now = seen.releases
    if now is None:
        return []
    before = last.releases if last is not None and last.base.policy == seen.base.policy else {}
    gone = before.keys() - now.keys()
    differ = {name for name, mark in now.items() if before.get(name) != mark} | gone
    chosen = differ | (with_open_pulls(seen.glance, now) if starting else frozenset())
    # A name that no key can carry is left to the look at the whole repository, which shows it as not authorized.
    return sorted(name for name in chosen if is_trunk_name(name))


def _keys_elsewhere(seen: Glanced) -> list[str]:
    return [str(TicketKey(name, number)) for name, number in sorted(seen.elsewhere) if is_repository_name(name)]


def _seen(
    repo: Repository,
    seen: Glanced,
    now: Mapping[TicketId, Mark],
    poked: set[TicketId],
    before: Mapping[TicketId, Mark],
) -> Seen:
    changed = {ticket: mark for ticket, mark in now.items() if ticket in poked or before.get(ticket) != mark}
    gone = frozenset(before.keys() - now.keys())
    return Seen(repo.id, seen.at, seen.base, changed, frozenset(poked), gone, seen.releases)
