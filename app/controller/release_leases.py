"""Who worked in a release: the accounts that held a lease of a ticket in it, or of a child of one, ever. A ticket is in
it once its work is on the trunk, and while it is in progress onto it.

They are read from the ledgers' whole history, because a lease that ended is work all the same. A history never changes,
so it is read once for each head. Whoever may write could delete or replace such a ledger, and then authorize alone: so
those of the tickets whose work is on the trunk have to be sound, and where one is not, nobody knows who worked. Who had
one begun anew counts as having worked, because its history begins anew with it. Accepted loss: a ticket that was pruned
(after the policy's `retention`) tells nobody any more, and that a ledger is gone shows only while the service's own
table remembers it.
"""

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.controller.release_witnessing import ReleaseWitnessing
from app.controller.view import Views
from app.domain.children import listed
from app.domain.policy import Policy
from app.domain.refs import LedgerRefs
from app.domain.release_observation import ReleaseObservation, Unread
from app.domain.ticket_id import Child, TicketId
from app.github.errors import GitHubError
from app.github.refs import RefValue
from app.github.repository import Repository
from app.ledger.api import ApiLedger
from app.ledger.reading import Damaged, Standing
from app.ledger.witness import Current, judge

MOST_PAGES = 50
"""Of a hundred commits each, for one ledger."""
MOST_TICKETS = 500
_KEPT = 4096


class ReleaseLeases:
    """Keeps what the history below a ledger's head told."""

    def __init__(self, views: Views, witnessing: ReleaseWitnessing) -> None:
        self._views = views
        self._witnessing = witnessing
        self._known: OrderedDict[tuple[int, str], _Told] = OrderedDict()

    async def accounts(self, repo: Repository, policy: Policy, seen: ReleaseObservation) -> frozenset[str] | Unread:
        """Logins in lower case; Unread where a ledger could not be read, or where not every ticket is known."""
        numbers = sorted({*seen.named, *(one.number for one in seen.included)})
        if seen.included_more or len(numbers) > MOST_TICKETS:
            return Unread("the release has more tickets than are read in one look")
        refs = LedgerRefs(policy.ledger.namespace)
        found: set[str] = set()
        try:
            heads = await self._heads(repo, refs, numbers)
            onto = set(heads.included)
            for ticket, sha in heads.in_progress:
                if not isinstance(ticket, Child) and (await self._of(repo, sha)).trunk == seen.branch:
                    onto.add(ticket)
            for ticket, sha in (*heads.of_included, *heads.in_progress):
                if _parent(ticket) not in onto:
                    continue
                logins = (await self._of(repo, sha)).logins
                if logins is None:
                    return Unread(f"the ledger of ticket {ticket} in it is too long to be read in one look")
                found |= logins
            ledger = self._views.ledger_under(repo, policy)
            for number in numbers:
                sound = await self._sound(repo, ledger, number, heads.values)
                if isinstance(sound, str):
                    helps = "`/recovery recover` on it has it begun anew"
                    return Unread(f"the ledger of ticket #{number} in it {sound}; {helps}")
                found |= sound
        except GitHubError as silence:
            return Unread(f"the ledger of a ticket in it could not be read: {silence}")
        return frozenset(found)

    async def _sound(
        self, repo: Repository, ledger: ApiLedger, ticket: int, values: Sequence[RefValue]
    ) -> frozenset[str] | str:
        """Who had the ledger of a ticket, or of a child of it, begun anew; or what is wrong with one of them. `values`:
        the refs that were just read. Costs a request or two for each ledger whose head is not known yet.
        """
        known = await self._witnessing.of_ticket(repo, ledger.refs, ticket)
        names = (ledger.refs.active(ticket), ledger.refs.done(ticket))
        seen = [value for value in values if value.name.startswith(names)]
        if not seen:
            return "is gone" if known else frozenset()
        reading = await ledger.read(ticket, seen)
        if not isinstance(reading, Standing):
            wrong = reading.reason if isinstance(reading, Damaged) else None
            return f"is not what it should be: {wrong}" if wrong is not None else "is gone" if known else frozenset()
        verdict = judge(reading.entries, known, reading.earlier)
        if not isinstance(verdict, Current):
            return f"is not where it was: {verdict.reason}"
        by = {reading.record.rebuilt.by.lower()} if reading.record.rebuilt is not None else set()
        listed_ = {one.name for one in listed(reading.record)}
        for name, child in (await ledger.children(reading)).items():
            if name not in listed_:
                continue
            if not isinstance(child, Standing):
                return f"lists the child {name}, whose own is gone or not what it should be"
            by |= {child.record.rebuilt.by.lower()} if child.record.rebuilt is not None else set()
        return frozenset(by)

    async def _heads(self, repo: Repository, refs: LedgerRefs, included: list[int]) -> "_Heads":
        """The heads of the ledgers in progress, and of those of these tickets and their children that ended, in one
        exchange.
        """
        values = await repo.refs_below(refs.active_prefix, *(refs.done(ticket) for ticket in included))
        own = [(ticket, value) for value in values if (ticket := refs.ticket_of(value.name)) is not None]
        active = [(ticket, value.sha) for ticket, value in own if value.name.startswith(refs.active_prefix)]
        ended = [(ticket, value.sha) for ticket, value in own if not value.name.startswith(refs.active_prefix)]
        of_included = tuple(e for e in ended if _parent(e[0]) in included)
        return _Heads(tuple(included), tuple(active), of_included, tuple(values))

    async def _of(self, repo: Repository, sha: str) -> "_Told":
        known = self._known.get((repo.id, sha))
        if known is None:
            known = self._known[repo.id, sha] = await self._read(repo, sha)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return known

    async def _read(self, repo: Repository, sha: str) -> "_Told":
        found: set[str] = set()
        after: str | None = None
        trunk: str | None = None
        for _ in range(MOST_PAGES):
            page = await repo.ledger_history(sha, after=after)
            if after is None and page.commits:
                trunk = _text(_part(page.commits[0].files.get("record.json"), "work"), "trunk")
            for commit in page.commits:
                login = _text(_part(commit.files.get("record.json"), "lease"), "login")
                found |= {login.lower()} if login is not None else set()
            if not page.has_next:
                return _Told(frozenset(found), trunk)
            after = page.cursor
        return _Told(None, trunk)


@dataclass(frozen=True)
class _Told:
    """What a ledger's history tells: who held a lease, and which trunk the work goes onto by its head. `logins` is None
    where it is too long to be read.
    """

    logins: frozenset[str] | None
    trunk: str | None


@dataclass(frozen=True)
class _Heads:
    included: tuple[int, ...]
    in_progress: tuple[tuple[TicketId, str], ...]
    of_included: tuple[tuple[TicketId, str], ...]
    values: tuple[RefValue, ...]


def _parent(ticket: TicketId) -> int:
    return ticket.parent if isinstance(ticket, Child) else ticket


def _part(text: str | None, name: str) -> Any:
    """A part of the record at one commit. Strangers may write anything there."""
    try:
        record: Any = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return record.get(name) if isinstance(record, dict) else None


def _text(part: Any, name: str) -> str | None:
    value = part.get(name) if isinstance(part, dict) else None
    return value if isinstance(value, str) else None
