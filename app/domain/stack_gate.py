"""What lies with other tickets and keeps one from landing: dependencies, its stack, what its branch was built on.

A stack lands from its lowest ticket upwards, each onto the trunk: being merged into the branch below is no landing.
What is not told is never guessed: a circle, two predecessors, a predecessor that is gone are named with all who take
part, for a person or the holder to decide.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from app.domain.branches import ticket_of_branch
from app.domain.observation import Observation
from app.domain.record import Record
from app.domain.situation import ticket_pull
from app.domain.stack import MovedOn, NoPredecessor, SamePlace, Stacking, Unclear, stacking
from app.domain.stack_graph import Graph, code_predecessors, graph_of, landed_under
from app.domain.surroundings import Linked
from app.domain.undermined import has_landed, undermined

_SHOWN = 20


class WaitsFor(StrEnum):
    """What keeps a ticket from landing that lies with other tickets."""

    DEPENDENCY = "dependency"
    SUB_ISSUES = "sub_issues"
    PREDECESSOR = "predecessor"
    BASE = "base"
    STALE_BASE = "stale_base"
    UNDERMINED = "undermined"
    UNCLEAR = "predecessor_unclear"
    CIRCLE = "circle"
    SEVERAL = "several_predecessors"


@dataclass(frozen=True)
class Waiting:
    """One thing a landing waits for, in words, and what ends the wait. `members`: the tickets, Issues or PRs it is
    about. `command`: what the holder runs, as an argument array, where it is one command.
    """

    code: WaitsFor
    reason: str
    remedy: str
    members: tuple[int, ...] = ()
    command: tuple[str, ...] | None = None


def gating(record: Record, observation: Observation) -> tuple[Waiting, ...]:
    """Everything about other tickets that keeps this one from landing now; empty where nothing does. A child has none:
    its parent's holder takes it in.
    """
    if record.child is not None:
        return ()
    graph = graph_of(record, observation)
    circle = graph.circle(record.ticket)
    return (
        *_dependencies(observation),
        *(_circle(circle) if circle else ()),
        *_several(record, observation, graph),
        *(() if circle else _predecessor(record, observation)),
    )


def _dependencies(observation: Observation) -> Iterator[Waiting]:
    blocking = tuple(one for one in observation.around.blocked_by if one.is_open)
    if blocking:
        yield Waiting(
            WaitsFor.DEPENDENCY,
            f"the Issue is blocked by {_listed(blocking)}, still open",
            "it lands when they are closed; where one does not block it any more, remove it under the Issue's"
            " relationships",
            tuple(one.number for one in blocking if one.repository is None),
        )
    parts = tuple(one for one in observation.around.sub_issues if one.is_open)
    if parts:
        yield Waiting(
            WaitsFor.SUB_ISSUES,
            f"the Issue has open sub-issues: {_listed(parts)}",
            "it lands when they are closed; take one out of the Issue where it is no part of this work",
            tuple(one.number for one in parts if one.repository is None),
        )


def _circle(members: tuple[int, ...]) -> Iterator[Waiting]:
    shown = " → ".join(f"#{one}" for one in (*members, members[0]))
    yield Waiting(
        WaitsFor.CIRCLE,
        f"these tickets wait for each other in a circle: {shown}",
        "a person opens it: give one of them another base, or remove one dependency",
        members,
    )


def _several(record: Record, observation: Observation, graph: Graph) -> Iterator[Waiting]:
    found = code_predecessors(record, observation)
    lowest = [one for one in found if not any(graph.reaches(other, one) for other in found if other != one)]
    if len(lowest) > 1:
        named = " and ".join(f"#{one}" for one in sorted(lowest))
        yield Waiting(
            WaitsFor.SEVERAL,
            f"the ticket is stacked on {named}, and neither stands on the other",
            "a person decides: stack one on the other, or give the PR its right base and record that predecessor",
            tuple(sorted(lowest)),
        )


def _predecessor(record: Record, observation: Observation) -> Iterator[Waiting]:
    stale = undermined(record, observation)
    if stale is not None:
        why = "run it in the ticket's workspace after `git fetch`, then `agent-recovery push`"
        yield Waiting(WaitsFor.UNDERMINED, stale.reason, why, (stale.predecessor,), stale.command)
        return
    stands = stacking(record.checkpoint, observation.around)
    yield from _by_checkpoint(stands, observation)
    pull = ticket_pull(record, observation)
    under = ticket_of_branch(pull.base) if pull is not None and pull.state == "OPEN" else None
    if pull is None or under is None or under == record.ticket or pull.base == record.trunk:
        return
    if landed_under(pull.base, observation) is not None:
        yield Waiting(
            WaitsFor.BASE,
            f"#{under} has landed and PR #{pull.number} still has its branch {pull.base} as base",
            f"the App moves the base to {record.trunk}; a PR of a native stack is moved by GitHub",
            (under,),
        )
    elif not isinstance(stands, SamePlace | MovedOn | Unclear):
        yield _not_landed(under, f"PR #{pull.number} has its branch {pull.base} as base")


def _by_checkpoint(stands: Stacking, observation: Observation) -> Iterator[Waiting]:
    if isinstance(stands, NoPredecessor) or has_landed(stands, observation):
        return
    if isinstance(stands, SamePlace):
        yield _not_landed(stands.number, f"the work was begun on its commit {stands.sha[:12]}")
    elif isinstance(stands, MovedOn):
        yield Waiting(
            WaitsFor.STALE_BASE,
            f"#{stands.number}, the predecessor, was taken in at {stands.recorded[:12]} and is at {stands.now[:12]}",
            "take in what it has now, record that commit as predecessor_sha, and push",
            (stands.number,),
            ("git", "merge", "--no-edit", stands.now),
        )
    elif isinstance(stands, Unclear):
        yield Waiting(
            WaitsFor.UNCLEAR,
            stands.reason,
            "record in the checkpoint which predecessor the work is stacked on and its commit, or that there is none",
            (stands.number,),
        )


def _not_landed(number: int, because: str) -> Waiting:
    return Waiting(
        WaitsFor.PREDECESSOR,
        f"#{number}, the predecessor, has not landed; {because}",
        f"a stack lands from below: #{number} first",
        (number,),
    )


def _listed(linked: tuple[Linked, ...]) -> str:
    more = f" and {len(linked) - _SHOWN} more" if len(linked) > _SHOWN else ""
    return f"{', '.join(map(str, linked[:_SHOWN]))}{more}"
