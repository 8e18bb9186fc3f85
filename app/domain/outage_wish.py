"""Which actions of a plan the rules of outages ask about, and what is kept of them."""

from app.domain.outage import Kind, Limits, Wish
from app.domain.plan import Abandon, Dispatch, Exhaust
from app.domain.policy import Policy
from app.domain.priority import rank_of
from app.domain.record import Record
from app.domain.situation import Situation

Wished = Dispatch | Abandon | Exhaust


def wish_of(action: Wished, s: Situation) -> Wish:
    """The action as a wish. Of a dispatch every attempt is a wish of its own, of the others every happening."""
    issue = s.observation.issue
    title = issue.title if issue is not None else ""
    ticket, priority = str(s.record.ticket_id), rank_of(s.observation, s.policy)
    if isinstance(action, Dispatch):
        latest = s.record.dispatched.attempt if s.record.dispatched is not None else "none"
        subject = f"{action.generation} after {latest}"
        return Wish(ticket, "dispatch", subject, title, priority, is_asked_for(s.record))
    kind: Kind = "abandon" if isinstance(action, Abandon) else "exhaust"
    return Wish(ticket, kind, action.stopped.edge, title, priority)


def is_asked_for(record: Record) -> bool:
    """Whether a person said that this very ticket is to go on, since its holder and the latest agent began."""
    if record.intent is None:
        return False
    began = [record.lease.granted_at] if record.lease is not None else []
    began += [record.dispatched.at] if record.dispatched is not None else []
    return all(record.intent.at > moment for moment in began)


def limits_of(policy: Policy) -> Limits:
    """What a policy says; how many tickets are in progress is added by who knows it."""
    return Limits(
        heartbeat=policy.lease.heartbeat,
        ttl=policy.lease.ttl,
        mass_limit=policy.resume.mass_limit,
        max_concurrent=policy.resume.max_concurrent,
        max_per_hour=policy.resume.max_per_hour,
    )
