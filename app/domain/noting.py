"""Writing down in the record what was seen about a PR or a board, what a ticket is stacked on, and that it goes to
another trunk.
"""

from datetime import datetime

from app.domain.derived import derived
from app.domain.plan import MoveTrunk, Note, NotePredecessor
from app.domain.record import Board, Carried, Drafting, Record


def noted(record: Record, action: Note | MoveTrunk | NotePredecessor, *, now: datetime) -> Record:
    """The record with it."""
    if isinstance(action, Note):
        return with_value(record, action.value)
    if isinstance(action, NotePredecessor):
        pin = {"predecessor_issue_or_pr": action.number, "predecessor_sha": action.sha}
        return record.model_copy(update={"checkpoint": record.checkpoint.model_copy(update=pin)})
    if record.work is None:
        return record
    work = record.work.model_copy(update={"trunk": action.trunk, "base_sha": action.base_sha or record.work.base_sha})
    moved = record.model_copy(update={"work": work})
    return moved.model_copy(update={"checkpoint": derived(moved, moved.checkpoint, now=now)})


def with_value(record: Record, value: Drafting | Carried | Board) -> Record:
    """The record with one part of what is known of its images replaced."""
    name = "drafting" if isinstance(value, Drafting) else "carried" if isinstance(value, Carried) else "board"
    return record.model_copy(update={"projections": record.projections.model_copy(update={name: value})})


def open_pull(record: Record, number: int) -> Record:
    """The record with the ticket's PR, which is open. Of another PR than the one before nothing is known yet."""
    at = record.projections
    known = {} if number == at.pr_number else {"drafting": Drafting(), "carried": Carried()}
    update = {"reopen_pr": None, "closed_pr": None, "pr_number": number, **known}
    return record.model_copy(update={"projections": at.model_copy(update=update)})
