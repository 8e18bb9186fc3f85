"""Telling that tickets are held: one Issue of our App, edited in place, and what a person's closing it means.

No ledger is a repository's, so no permit stands behind the Issue: one process at a time tells, by its place in the
database, and looks for what stands before it opens one (class C of the ownership protocol, R3: marker, and the oldest
stays). What if the Issue was opened and we did not hear: it is found by its marker when it is looked for next, and a
second one is closed. What if two of us do it: the database lets one; without it the oldest stays. What if the hold ends
meanwhile: the next tick closes it.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog

from app.controller import resume_waits as waits
from app.controller.database import Database
from app.controller.pokes import PokeStore
from app.controller.resume_waits import Held
from app.controller.stops import Stops
from app.controller.view import Gone, Views
from app.domain import outage_notice as notice
from app.domain.keys import TicketKey
from app.domain.outcome import Refused
from app.domain.ticket_id import ticket_id
from app.github.errors import GitHubError
from app.github.repository import Repository

TELLING_FOR = timedelta(minutes=1)
LOOK_EVERY = timedelta(minutes=5)
"""How often a notice is looked at without an event: whoever closes it waits no longer than that."""
EDIT_EVERY = timedelta(seconds=30)
TOUCHED_WITHIN = timedelta(days=30)
"""A notice that nobody touched for so long is not found by its marker: after a loss of the database it is told anew."""
SEEK_AFTER = timedelta(minutes=15)
"""When a notice of a time before the database was lost is looked for, where nothing is held by then."""

log = structlog.get_logger()


class TellingHold:
    """Brings the notices of all repositories to what is held there."""

    def __init__(self, database: Database, views: Views, pokes: PokeStore, stops: Stops) -> None:
        self._database = database
        self._views = views
        self._pokes = pokes
        self._stops = stops

    async def everywhere(self, now: datetime) -> None:
        """Tell what is not told yet, and look at the notices that were not looked at for a while."""
        for held in await self._database.run(waits.holds_of, None):
            if _is_due(held, now):
                await self.one(held.repository_id, now)

    async def one(self, repository_id: int, now: datetime) -> None:
        """The same for one repository, whether it is due or not. Logs where GitHub does not answer: a later tick does
        it then.
        """
        held = await self._database.run(waits.take_telling, (repository_id, now, now + TELLING_FOR))
        if held is None:
            return
        try:
            if await self._stops.blocked(held.full_name, repository_id) is not None:
                return
            owner, _, name = held.full_name.partition("/")
            repo, _ = await self._views.ledger(owner, name)
            await self._tell(repo, held, now)
        except Gone:
            await self._database.run(waits.withdraw, repository_id)
        except (GitHubError, Refused) as problem:
            # Whether an Issue stands now is not known: the next telling looks for it.
            await self._database.run(waits.told_not, repository_id)
            log.warning("a hold is not told", repository=held.full_name, because=str(problem))

    async def _tell(self, repo: Repository, held: Held, now: datetime) -> None:
        if repo.id != held.repository_id:
            await self._database.run(waits.withdraw, held.repository_id)
            return
        if held.notice is not None and held.since is not None and await self._was_answered(repo, held, held.notice):
            return
        number = held.notice
        if not held.sought or number is None:
            number = await self._sought(repo, number, now)
        if held.since is None:
            if number is not None:
                await repo.edit_own_issue(number, notice.few_left_notice(), "closed")
            await self._keep(held, notice=None, shown="", sought=True)
            return
        text = notice.held_notice(held.rows, most=held.most, since=held.since)
        digest = notice.digest_of(text)
        opened = number is None
        if number is None:
            number = await repo.open_issue(notice.TITLE, text)
            log.warning("tickets are held", repository=repo.full_name, tickets=len(held.rows), notice=number)
        elif digest != held.shown or number != held.notice:
            await repo.edit_own_issue(number, text, "open")
        # The next look finds a second one, if there is any: a request that was given up may still have opened it.
        await self._keep(held, notice=number, shown=digest, looked_at=now, sought=not opened)

    async def _was_answered(self, repo: Repository, held: Held, number: int) -> bool:
        """Whether a person closed the notice, or it is not there any more. One that something else closed is opened
        again: no person said anything.
        """
        seen = await repo.own_issue(number)
        if seen.state == "open":
            return False
        if seen.state == "gone":
            await self._keep(held, notice=None, shown="", sought=False)
            return True
        if seen.closed_by_person is None:
            text = notice.held_notice(held.rows, most=held.most, since=held.since or held.known_since)
            await repo.edit_own_issue(number, text, "open")
            return False
        tickets = await self._database.run(waits.release, held.repository_id)
        log.info("a hold is released", repository=repo.full_name, by=seen.closed_by_person, tickets=len(tickets))
        await self.look_at(repo.full_name, tickets)
        await repo.edit_own_issue(number, notice.released_notice(seen.closed_by_person), "closed")
        return True

    async def look_at(self, full_name: str, tickets: Sequence[str]) -> None:
        """Have these tickets looked at."""
        found = (ticket_id(ticket) for ticket in tickets)
        await self._pokes.poke(*(str(TicketKey(full_name, ticket)) for ticket in found if ticket is not None))

    async def _sought(self, repo: Repository, known: int | None, now: datetime) -> int | None:
        """The notice that stands, found by its marker; every other one is closed."""
        standing = await repo.own_open_issues(notice.MARKER, now - TOUCHED_WITHIN)
        stays = known if known in standing else min(standing, default=known)
        for number in standing:
            if number != stays and stays is not None:
                await repo.edit_own_issue(number, notice.doubled_notice(stays), "closed")
        return stays

    async def _keep(self, held: Held, **values: object) -> None:
        await self._database.run(waits.told, (held.repository_id, values))


def _is_due(held: Held, now: datetime) -> bool:
    if held.since is None:
        return held.notice is not None or (not held.sought and now - held.known_since >= SEEK_AFTER)
    looked = held.looked_at
    if looked is None or looked > now or now - looked >= LOOK_EVERY:
        return True
    text = notice.held_notice(held.rows, most=held.most, since=held.since)
    return held.notice is not None and now - looked >= EDIT_EVERY and notice.digest_of(text) != held.shown
