"""Who worked in a release: the accounts that held a lease of a ticket in it, or of a child of one, ever.

They are read from the ledgers' whole history, because a lease that ended is work all the same. A history never changes,
so it is read once for each head. A name that somebody forged into it only keeps that account from being the only
authorizer. Accepted loss: a ticket that was pruned (after the policy's `retention`) tells nobody any more.
"""

import json
from collections import OrderedDict
from typing import Any

from app.controller.view import Views
from app.domain.policy import Policy
from app.domain.refs import LedgerRefs
from app.domain.release_observation import ReleaseObservation, Unread
from app.domain.ticket_id import Child, TicketId
from app.github.errors import GitHubError
from app.github.repository import Repository

MOST_PAGES = 50
"""Of a hundred commits each, for one ledger."""
MOST_TICKETS = 500
_KEPT = 4096


class ReleaseLeases:
    """Keeps what the history below a ledger's head told."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._known: OrderedDict[tuple[int, str], frozenset[str]] = OrderedDict()

    async def accounts(self, repo: Repository, policy: Policy, seen: ReleaseObservation) -> frozenset[str] | Unread:
        """Logins in lower case; Unread where a ledger could not be read, or where not every ticket is known."""
        if seen.included_more or len(seen.included) > MOST_TICKETS:
            return Unread("the release has more tickets than are read in one look")
        refs = LedgerRefs(policy.ledger.namespace)
        found: set[str] = set()
        try:
            heads = await self._heads(repo, refs, [one.number for one in seen.included])
            for sha in heads:
                found |= await self._of(repo, sha)
        except GitHubError as silence:
            return Unread(f"the ledger of a ticket in it could not be read: {silence}")
        except _TooLong:
            return Unread("the ledger of a ticket in it is too long to be read in one look")
        return frozenset(found)

    async def _heads(self, repo: Repository, refs: LedgerRefs, tickets: list[int]) -> list[str]:
        """The heads of the ledgers of these tickets and of their children, wherever they lie, in one exchange."""
        if not tickets:
            return []
        prefixes = [name for ticket in tickets for name in (refs.active(ticket), refs.done(ticket))]
        wanted = set(tickets)
        values = await repo.refs_below(*prefixes)
        return sorted({value.sha for value in values if _parent(refs.ticket_of(value.name)) in wanted})

    async def _of(self, repo: Repository, sha: str) -> frozenset[str]:
        known = self._known.get((repo.id, sha))
        if known is None:
            known = self._known[repo.id, sha] = await self._read(repo, sha)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return known

    async def _read(self, repo: Repository, sha: str) -> frozenset[str]:
        found: set[str] = set()
        after: str | None = None
        for _ in range(MOST_PAGES):
            page = await repo.ledger_history(sha, after=after)
            for commit in page.commits:
                found |= _logins(commit.files.get("record.json"))
            if not page.has_next:
                return frozenset(found)
            after = page.cursor
        raise _TooLong


class _TooLong(Exception):
    pass


def _parent(ticket: TicketId | None) -> int | None:
    return ticket.parent if isinstance(ticket, Child) else ticket


def _logins(text: str | None) -> set[str]:
    """The account that held the lease at one commit. Strangers may write anything there."""
    try:
        record: Any = json.loads(text or "")
    except ValueError:
        return set()
    lease = record.get("lease") if isinstance(record, dict) else None
    login = lease.get("login") if isinstance(lease, dict) else None
    return {login.lower()} if isinstance(login, str) else set()
