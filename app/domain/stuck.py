"""Tickets that nothing resumes any more until a person has looked: told once a generation, where people read.

The gates only refuse (`domain/gates.py`); without this a refused claim would be known to nobody but a supervisor's log.
"""

from collections.abc import Iterator
from datetime import datetime

from app.domain import gates
from app.domain.handoff_marker import report_marker
from app.domain.observation import Observation
from app.domain.outcome import Blocked, Code
from app.domain.plan import AskPerson, RemoveComment
from app.domain.policy import Policy
from app.domain.record import Record


def needs_person(
    record: Record, policy: Policy, *, now: datetime, heartbeat_at: datetime | None = None, run_ended: bool = False
) -> Blocked | None:
    """Why the interrupted ticket waits for a person: its attempts are used up, or it is too old. None while somebody
    holds it, while a claim would pass, where the work is ready, and where somebody chose that nothing is resumed.
    """
    if record.status == "ready":
        return None
    answer = gates.may_claim(
        record,
        policy,
        now=now,
        observed_generation=record.generation,
        login="",
        heartbeat_at=heartbeat_at,
        run_ended=run_ended,
    )
    stuck = isinstance(answer, Blocked) and answer.code in (Code.ATTEMPTS_EXHAUSTED, Code.TOO_OLD)
    return answer if isinstance(answer, Blocked) and stuck else None


def asking(record: Record, observation: Observation, why: Blocked) -> Iterator[AskPerson | RemoveComment]:
    """Tell a person, unless it is told; a double goes, the oldest stays. One edge a generation: a ticket that is
    exhausted today and too old tomorrow is the same news.
    """
    edge = f"stuck-g{record.generation}"
    marker = report_marker(record.ticket_id, edge)
    comments = {c.id: c for p in observation.pulls for c in p.comments} | {c.id: c for c in observation.issue_comments}
    told = sorted(id for id, comment in comments.items() if comment.body.startswith(marker))
    if not told:
        yield AskPerson(edge, why.reason, why.remedy)
    for double in told[1:]:
        yield RemoveComment(double, "it is told already; the oldest report stays")
