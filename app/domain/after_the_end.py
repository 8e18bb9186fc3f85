"""What still happens to a ticket that has ended: writes that GitHub carries out late (the ownership protocol, R11)."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.observation import Pull
from app.domain.pull_text import pull_body
from app.domain.record import TERMINAL, Permit, Record


@dataclass(frozen=True)
class LatePull:
    """A PR that the App asked for while the ticket lived, and that came only after its end. It is closed once: whoever
    opens it again is a person.
    """

    permit: Permit
    number: int
    to_close: bool


def awaited_pulls(record: Record) -> tuple[Permit, ...]:
    """Permits of an ended ticket under which a PR may still come: those refused once, too, because a send before that
    may have stayed unanswered.
    """
    return tuple(p for p in record.open if p.kind == "pr_create") if record.status in TERMINAL else ()


def late_pull(record: Record, permit: Permit, found: Iterable[Pull]) -> LatePull | None:
    """The PR that came under this permit, among those of its head and base. One that the record knows, or that says
    something else than the App does, is not meant: it is older, or a person's.
    """
    at = record.projections
    known = {at.pr_number, at.closed_pr, at.reopen_pr, at.replaced_pr}
    ours = pull_body(record.ticket_id).strip()
    for pull in found:
        if pull.number not in known and pull.body.replace("\r\n", "\n").strip() == ours:
            return LatePull(permit, pull.number, to_close=pull.state == "OPEN")
    return None
