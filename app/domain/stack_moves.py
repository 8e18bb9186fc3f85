"""What keeps a ticket's place in a stack right: its predecessor is pinned, and its PR gets the trunk as base once the
predecessor has landed there.

Every step is the dependent's own, decided in its own round and journaled in its own ledger, where the permit for the
base excludes a merge (the ownership protocol, R3): whoever lands below only asks for that round. The pin comes first,
because after the base has moved nothing else tells which commits were the predecessor's.
"""

from collections.abc import Iterator
from dataclasses import replace

from app.domain.fence_commit import MERGES
from app.domain.landing_actions import EditBase
from app.domain.observation import Observation, Pull
from app.domain.plan import NotePredecessor
from app.domain.record import Record
from app.domain.situation import ticket_pull
from app.domain.stack_graph import landed_under, ticket_below
from app.domain.surroundings import Asked, OtherPull


def stack_moves(record: Record, observation: Observation) -> Iterator[NotePredecessor | EditBase]:
    """The pin and the base edit that are due now."""
    pull = _stacked_pull(record, observation)
    work = record.work
    if pull is None or work is None:
        return
    pinned = record.checkpoint.predecessor_issue_or_pr is not None
    under = None if pinned else _newest_under(pull, observation)
    if under is not None and _holds(under, observation):
        yield NotePredecessor(under.number, under.head_sha, "the PR's base is the branch of another ticket")
        pinned = True
    landed = landed_under(pull.base, observation)
    if landed is None or any(p.kind in MERGES for p in record.open):
        return
    if pinned or _is_on_trunk(landed, observation):
        reason = f"PR #{landed.number}, on which it was stacked, has landed on {work.trunk}"
        yield EditBase(pull.number, pull.base, work.trunk, reason)


def pin_asked(record: Record, observation: Observation) -> Asked | None:
    """The question that a second look answers where the PR is stacked and its record names no predecessor: how the
    branch and the trunk stand to the one below. None where nothing more is to be asked.
    """
    pull = _stacked_pull(record, observation)
    if pull is None or record.checkpoint.predecessor_issue_or_pr is not None:
        return None
    under = _newest_under(pull, observation)
    asked = observation.around.asked
    if under is None or (asked.predecessor, asked.predecessor_sha) == (under.number, under.head_sha):
        return None
    return replace(asked, predecessor=under.number, predecessor_sha=under.head_sha)


def _stacked_pull(record: Record, observation: Observation) -> Pull | None:
    """The ticket's open PR, where its base is another ticket's branch and not the recorded trunk."""
    pull = ticket_pull(record, observation)
    return pull if pull is not None and ticket_below(record, pull) is not None else None


def _newest_under(pull: Pull, observation: Observation) -> OtherPull | None:
    found = [p for p in observation.around.below if p.head == pull.base and p.own_repository]
    return max(found, key=lambda p: p.number, default=None)


def _holds(under: OtherPull, observation: Observation) -> bool:
    around = observation.around
    over = around.branch_over_predecessor
    return around.asked.predecessor_sha == under.head_sha and over is not None and over.behind == 0


def _is_on_trunk(landed: OtherPull, observation: Observation) -> bool:
    around = observation.around
    over = around.trunk_over_predecessor
    return around.asked.predecessor_sha == landed.head_sha and over is not None and over.behind == 0
