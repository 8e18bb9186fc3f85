"""The fence at the agent API: which writes of a holder pass.

Identity is (generation, nonce), compared for equality only. A lease past its expiry that nobody took over is still the
present one: its writes pass and renew it. Only a new generation, a hold, a handoff or the ticket's end ends it (the
ownership protocol, R15). Numbers of one lease's requests only rise (R16).
"""

from app.domain.fencing import AtPublished, Foreign, Head
from app.domain.hold import why_held
from app.domain.outcome import Blocked, Code
from app.domain.record import FINISHED, TERMINAL, Answered, Lease, Record
from app.domain.ticket_id import TicketId
from app.domain.token import Claims


def present_lease(record: Record, claims: Claims, *, repository_id: int, ticket: TicketId) -> Lease | Blocked:
    """The lease that a verified token speaks of, if it is the present one of this very ticket."""
    lease = record.lease
    stale = (claims.repository_id, claims.ticket) != (repository_id, ticket) or record.identity != claims.identity
    if record.status in TERMINAL | FINISHED:
        return Blocked(
            Code.ENDED,
            f"the ticket is {record.status}",
            "stop: nothing is left to do",
            generation=record.generation,
        )
    if lease is None or stale:
        now_held = f"generation {record.generation} is held by {lease.holder}" if lease else "nobody holds it now"
        return Blocked(
            Code.STALE_GENERATION,
            f"this lease (generation {claims.generation}) has ended: {now_held}",
            "stop working on the ticket; `agent-recovery recover` claims it anew where that is allowed",
            holder=lease.holder if lease else None,
            generation=record.generation,
        )
    if record.status == "held":
        return Blocked(
            Code.HELD,
            why_held(record),
            "stop, and keep what you have: nothing is taken from you, and the same call passes once it is off hold",
            retryable=True,
            generation=record.generation,
        )
    return lease


def out_of_order(record: Record, claims: Claims, seq: int) -> Blocked | None:
    """Why a request whose key is unknown comes too late: a later one of the same lease was carried out already."""
    highest = highest_seq(record, claims)
    if seq > highest:
        return None
    return Blocked(
        Code.STALE_REQUEST,
        f"request {seq} is older than one already carried out ({highest})",
        "send what you know now with a new key and a higher number",
        generation=record.generation,
        highest_seq=highest,
    )


def highest_seq(record: Record, claims: Claims) -> int:
    """The highest number of this lease's requests that the ledger knows; 0 where it knows none."""
    return max((r.seq for r in record.requests if r.generation == claims.generation), default=0)


def other_request(stored: Answered, to: str) -> Blocked | None:
    """Why a stored answer is not the answer to this call: its key was used to ask for something else."""
    if stored.to in ("", to):
        return None
    return Blocked(
        Code.USAGE,
        f"the key was used before for another call ({stored.to})",
        "send the call again with a key of its own; nothing was done",
    )


def not_ready(head: Head | None) -> Blocked | None:
    """Why the holder may not say `ready`: done is claimed only for what was pushed with the fence."""
    if isinstance(head, AtPublished) and head.fenced:
        return None
    if isinstance(head, Foreign):
        return Blocked(
            Code.FOREIGN_COMMITS,
            "the branch has commits you did not publish",
            "`agent-recovery push --rewind` puts the branch back, `agent-recovery adopt SHA` takes the commits over",
        )
    return Blocked(
        Code.NOT_PUBLISHED,
        "the branch's head is not published under your lease",
        "run `agent-recovery push`, then say ready again",
    )
