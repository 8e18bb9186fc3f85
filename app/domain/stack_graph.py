"""Which tickets stand on which: the graph of a stack, as one look shows it around a ticket.

A ticket stands on another where its PR's base is the other's branch, where its checkpoint records the other as its
predecessor, or where its Issue is blocked by the other's.

Accepted losses: dependencies are followed two steps and stacks `MOST_STOREYS` storeys deep. A circle that is longer
shows itself only as everybody in it waiting for the next one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from app.domain.branches import ticket_of_branch
from app.domain.observation import Observation, Pull
from app.domain.record import Record
from app.domain.situation import own_pulls
from app.domain.stack import NoPredecessor, stacking
from app.domain.surroundings import Linked, OtherPull
from app.domain.undermined import has_landed


@dataclass(frozen=True)
class Graph:
    """`edges`: (above, below) by ticket number, of work that has not landed."""

    edges: frozenset[tuple[int, int]]

    def below(self, ticket: int) -> tuple[int, ...]:
        """What a ticket stands on directly."""
        return tuple(sorted(under for over, under in self.edges if over == ticket))

    def reaches(self, over: int, under: int) -> bool:
        """Whether one stands on the other, directly or through others."""
        seen: set[int] = set()
        ahead = list(self.below(over))
        while ahead:
            one = ahead.pop()
            if one == under:
                return True
            if one not in seen:
                seen.add(one)
                ahead += self.below(one)
        return False

    def circle(self, ticket: int) -> tuple[int, ...]:
        """The tickets of a circle that this one is part of or stands on, each standing on the next and the last on the
        first, beginning with the lowest number; empty where there is none.
        """
        path: list[int] = []
        done: set[int] = set()

        def walk(at: int) -> tuple[int, ...]:
            if at in path:
                return tuple(path[path.index(at) :])
            if at in done:
                return ()
            path.append(at)
            found = next((round_trip for under in self.below(at) if (round_trip := walk(under))), ())
            path.pop()
            done.add(at)
            return found

        found = walk(ticket)
        first = found.index(min(found)) if found else 0
        return (*found[first:], *found[:first])


def graph_of(record: Record, observation: Observation) -> Graph:
    """The edges that one look shows around a ticket, PRs and Issues of this repository only."""
    return Graph(frozenset((over, under) for over, under in _edges(record, observation) if over != under))


def _edges(record: Record, observation: Observation) -> Iterator[tuple[int, int]]:
    around, ticket = observation.around, record.ticket
    for under in code_predecessors(record, observation):
        yield ticket, under
    for pull in (*around.below, *around.dependents):
        over, below = ticket_of_branch(pull.head), ticket_of_branch(pull.base)
        if pull.state == "OPEN" and pull.own_repository and over is not None and below is not None:
            yield over, below
    for linked in _open_here(around.blocked_by):
        yield ticket, linked.number
        for further in _open_here(linked.blocked_by):
            yield linked.number, further.number
    for linked in _open_here(around.blocking):
        yield linked.number, ticket


def _open_here(linked: tuple[Linked, ...]) -> list[Linked]:
    return [one for one in linked if one.is_open and one.repository is None]


def code_predecessors(record: Record, observation: Observation) -> tuple[int, ...]:
    """The tickets whose unlanded code this one is built on, by its open PRs' bases and by its checkpoint: none, one, or
    several, which contradict each other unless they stand on one another.
    """
    bases = [p.base for p in own_pulls(observation) if p.state == "OPEN" and not landed_under(p.base, observation)]
    found = [below for base in bases if (below := ticket_of_branch(base)) is not None]
    recorded = _recorded(record, observation)
    if recorded is not None:
        found.append(recorded)
    return tuple(one for one in dict.fromkeys(found) if one != record.ticket)


def _recorded(record: Record, observation: Observation) -> int | None:
    """The ticket that the checkpoint names as predecessor, unless it has landed. A PR counts as its branch's ticket."""
    around = observation.around
    stands = stacking(record.checkpoint, around)
    if isinstance(stands, NoPredecessor) or has_landed(stands, observation):
        return None
    predecessor = around.predecessor
    if predecessor is not None and predecessor.pull is not None:
        return ticket_of_branch(predecessor.pull.head)
    return record.checkpoint.predecessor_issue_or_pr


def ticket_below(record: Record, pull: Pull) -> int | None:
    """The other ticket whose branch an open PR has as base; None where the base is the recorded trunk, or nobody's."""
    if record.child is not None or pull.state != "OPEN" or pull.base == record.trunk:
        return None
    below = ticket_of_branch(pull.base)
    return None if below == record.ticket else below


def landed_under(base: str, observation: Observation) -> OtherPull | None:
    """The PR that brought a stack's lower branch to the trunk, where that is seen: the newest from that branch, merged
    into the trunk itself.
    """
    trunk = observation.trunk
    pulls = [p for p in observation.around.below if p.head == base and p.own_repository]
    newest = max(pulls, key=lambda p: p.number, default=None)
    if newest is None or trunk is None or any(p.state == "OPEN" for p in pulls):
        return None
    return newest if newest.state == "MERGED" and newest.base == trunk.name else None
