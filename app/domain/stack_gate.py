"""What of a ticket's stack keeps it from landing: what it stands on, and what its branch was built on.

A stack lands from its lowest ticket upwards, each onto the trunk: being merged into the branch below is no landing.
What is not told is never guessed: a circle, two predecessors, a predecessor that is gone are named with all who take
part, for a person or the holder to decide.
"""

from collections.abc import Iterator

from app.domain.landing_blocker import Blocker, BlockerCode, names
from app.domain.observation import Observation
from app.domain.record import Record
from app.domain.situation import ticket_pull
from app.domain.stack import MovedOn, NoPredecessor, SamePlace, Stacking, Unclear, stacking
from app.domain.stack_graph import Graph, code_predecessors, graph_of, landed_under, ticket_below
from app.domain.undermined import Stale, has_landed, undermined


def gating(record: Record, observation: Observation) -> tuple[Blocker, ...]:
    """Everything about the ticket's stack that keeps it from landing now; empty where nothing does. A child has none:
    its parent's holder takes it in.
    """
    if record.child is not None:
        return ()
    graph = graph_of(record, observation)
    circle = graph.circle(record.ticket)
    several = _several(record, observation, graph)
    if circle:
        return (_circle(circle), *several)
    return (*several, *_predecessor(record, observation))


def rebase_first(stale: Stale) -> Blocker:
    """That the branch holds commits of its predecessor which are not on the trunk, and the command that helps."""
    return Blocker(
        BlockerCode.UNDERMINED,
        f"#{stale.predecessor}, on which it is stacked, landed as other commits than its branch holds of it",
        "the holder fetches, moves the ticket's own commits onto the trunk and runs agent-recovery push --rebased: move"
        " them with",
        command=stale.command,
    )


def _circle(members: tuple[int, ...]) -> Blocker:
    shown = ", then ".join(f"#{one}" for one in (*members, members[0]))
    return Blocker(
        BlockerCode.CIRCLE,
        f"tickets wait for each other in a circle: {shown}",
        "a person opens it: give one of them another base, or remove one dependency",
    )


def _several(record: Record, observation: Observation, graph: Graph) -> tuple[Blocker, ...]:
    found = code_predecessors(record, observation)
    apart = [one for one in found if not any(graph.reaches(other, one) for other in found if other != one)]
    if len(apart) < 2:
        return ()
    named = " and ".join(f"#{one}" for one in sorted(apart))
    reason = f"it is stacked on {named}, of which neither stands on the other"
    remedy = (
        "a person gives the PR its right base, and the holder records that predecessor; or one is stacked on the other"
    )
    return (Blocker(BlockerCode.SEVERAL_PREDECESSORS, reason, remedy),)


def _predecessor(record: Record, observation: Observation) -> Iterator[Blocker]:
    stale = undermined(record, observation)
    if stale is not None:
        yield rebase_first(stale)
        return
    stands = stacking(record.checkpoint, observation.around)
    recorded = _by_checkpoint(stands, observation)
    if recorded is not None:
        yield recorded
    pull = ticket_pull(record, observation)
    below = ticket_below(record, pull) if pull is not None else None
    if pull is None or below is None:
        return
    if landed_under(pull.base, observation) is not None:
        yield Blocker(
            BlockerCode.PREDECESSOR,
            f"#{below} has landed, and the PR still has its branch as base",
            "wait: the App gives the PR its trunk as base; in a native stack GitHub does that",
            names([pull.base]),
        )
    elif recorded is None:
        yield _not_landed(below)


def _by_checkpoint(stands: Stacking, observation: Observation) -> Blocker | None:
    if isinstance(stands, NoPredecessor) or has_landed(stands, observation):
        return None
    if isinstance(stands, SamePlace):
        return _not_landed(stands.number)
    if isinstance(stands, MovedOn):
        reason = f"#{stands.number}, on which it is stacked, is at {stands.now} and was taken in at {stands.recorded}"
        remedy = "the holder takes the new state in and records it as predecessor_sha"
        command = ("git", "merge", "--no-edit", stands.now)
        return Blocker(BlockerCode.STALE_BASE, reason, remedy, command=command)
    told = names([stands.reason]) if isinstance(stands, Unclear) else ()
    remedy = "the holder records what it is stacked on: predecessor_issue_or_pr and predecessor_sha"
    return Blocker(BlockerCode.STALE_BASE, "what it is stacked on cannot be told", remedy, told)


def _not_landed(number: int) -> Blocker:
    reason = f"#{number}, on which it is stacked, has not landed"
    return Blocker(BlockerCode.PREDECESSOR, reason, "wait: a stack lands from the bottom")
