"""What a cheap look at a whole repository shows, and which of its tickets have to be looked at because of it.

A sweep compares what it sees of each ticket with what the sweep before saw, and only what differs is looked at. What no
glance shows is found all the same, because every ticket is looked at from time to time (`longest_unseen`). A mark that
is lost makes its ticket differ, never the other way round.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b

from app.domain.branches import owner_of_branch
from app.domain.ticket_id import Child, TicketId, by_number

EVERY = timedelta(hours=6)
"""A ticket that showed no difference for so long is looked at all the same, when its turn comes."""
AT_ONCE = 3
"""Of those in one sweep, so that they are spread over the day and a thousand of them cost no more than ten."""
UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class PullGlance:
    """An open pull request as a list shows it. `merge_state`: GitHub's mergeStateStatus; `updated_at`: as GitHub writes
    it.
    """

    number: int
    head: str
    head_sha: str
    own_repository: bool
    base: str
    is_draft: bool
    updated_at: str
    merge_state: str
    review: str | None
    checks: str | None
    queued: bool
    auto_merge: bool


@dataclass(frozen=True)
class Glance:
    """A repository. `ledgers`: heads of the ledgers in progress; `branches`: all branches; `touched`: when something
    that concerns a ticket and is in none of the others was last touched, as far as that is news.
    """

    ledgers: Mapping[TicketId, str]
    branches: Mapping[str, str]
    pulls: Sequence[PullGlance]
    touched: Mapping[TicketId, str]


@dataclass(frozen=True)
class Mark:
    """What was seen of a ticket: a digest, and what is carried over where the present glance does not show it."""

    seen: str
    merge_state: str = ""
    touched: str = ""


def marks(glance: Glance, tickets: Iterable[TicketId], before: Mapping[TicketId, Mark]) -> dict[TicketId, Mark]:
    """The present mark of each of these tickets. Trunks are no part of it: when one moves, what that changes for a
    ticket shows in its pull request's merge state, and a hundred others are left alone.
    """
    branches: dict[TicketId, list[str]] = {}
    for name, sha in glance.branches.items():
        owner = owner_of_branch(name)
        if owner is not None:
            branches.setdefault(owner, []).append(f"{name} {sha}")
    pulls: dict[TicketId, list[PullGlance]] = {}
    for pull in glance.pulls:
        owner = owner_of_branch(pull.head) if pull.own_repository else None
        if owner is not None:
            pulls.setdefault(owner, []).append(pull)
    children: dict[int, list[str]] = {}
    for ticket, sha in glance.ledgers.items():
        if isinstance(ticket, Child):
            children.setdefault(ticket.parent, []).append(f"{ticket} {sha}")
    found: dict[TicketId, Mark] = {}
    for ticket in tickets:
        own = sorted(pulls.get(ticket, []), key=lambda pull: pull.number)
        below = children.get(ticket, []) if isinstance(ticket, int) else []
        lines = [
            glance.ledgers.get(ticket, ""),
            *sorted(below),
            *sorted(branches.get(ticket, [])),
            *(_line(pull, glance.branches) for pull in own),
        ]
        known = before.get(ticket, Mark(""))
        found[ticket] = Mark(
            seen=blake2b("\n".join(lines).encode(), digest_size=12).hexdigest(),
            merge_state=_merge_state(own, known.merge_state),
            touched=max(glance.touched.get(ticket, ""), known.touched),
        )
    return found


def differing(before: Mapping[TicketId, Mark], after: Mapping[TicketId, Mark]) -> list[TicketId]:
    """The tickets to look at, by number. A merge state that becomes known is no news either: who waits for it asks."""
    return sorted((ticket for ticket, mark in after.items() if _is_news(before.get(ticket), mark)), key=by_number)


def _is_news(before: Mark | None, after: Mark) -> bool:
    if before is None or (before.seen, before.touched) != (after.seen, after.touched):
        return True
    return before.merge_state not in ("", after.merge_state)


def longest_unseen(looked_at: Mapping[TicketId, datetime], now: datetime) -> list[TicketId]:
    """The few that have gone longest without a look, of those for which it is time."""
    due = [(moment, str(ticket), ticket) for ticket, moment in looked_at.items() if moment <= now - EVERY]
    return [ticket for _, _, ticket in sorted(due, key=lambda one: one[:2])[:AT_ONCE]]


def _line(pull: PullGlance, branches: Mapping[str, str]) -> str:
    # A base that is another ticket's branch is the pull request's predecessor.
    below = branches.get(pull.base, "") if owner_of_branch(pull.base) is not None else ""
    facts = (
        pull.number,
        pull.head_sha,
        pull.base,
        below,
        pull.is_draft,
        pull.updated_at,
        pull.review,
        pull.checks,
        pull.queued,
        pull.auto_merge,
    )
    return " ".join(map(str, facts))


def _merge_state(pulls: Sequence[PullGlance], before: str) -> str:
    """GitHub forgets it whenever a base moves and computes it anew when asked: "unknown" is no news. Of a draft it says
    nothing that matters before the draft is over.
    """
    states = [f"{pull.number} {pull.merge_state}" for pull in pulls if not pull.is_draft]
    return before if any(state.endswith(UNKNOWN) for state in states) else ", ".join(states)
