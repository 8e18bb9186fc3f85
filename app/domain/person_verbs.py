"""What a person may say about a ticket, and what each word makes of the record. Pure.

Wanted: the same word again, by the same command or another, changes nothing and is answered the same; a word that comes
after the merge is answered with "landed"; what a person asked to land is exactly one commit, and no other word lets it
stand. A word takes nothing a holder did: branch, commits and checkpoint stay, running effects become unknown where the
lease ends.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from app.domain.derived import derived
from app.domain.effect_decision import only_begun
from app.domain.effect_journal import interrupted
from app.domain.fence_commit import may_still_merge
from app.domain.fencing import AtPublished, Foreign, Head, NothingPublished
from app.domain.gates import is_interrupted
from app.domain.hold import held, unheld, why_held
from app.domain.lease import Live, Suspect, liveness
from app.domain.life_cycle import Ending, ended, merged_pull
from app.domain.model import instant_text
from app.domain.observation import Branch, Observation
from app.domain.outcome import Blocked, Code
from app.domain.plain_text import cut, one_line
from app.domain.policy import Mode, Policy
from app.domain.pull_acts import latest
from app.domain.record import ACCEPTED, FINISHED, TERMINAL, AskedToLand, Attempts, Intent, Published, Record
from app.domain.refs import Place
from app.domain.resumption import wants_to_go_on
from app.domain.returning import may_return
from app.domain.secret_shapes import redact
from app.domain.situation import ticket_pull
from app.domain.stopping import going_on
from app.domain.told_commands import of
from app.domain.trunks import is_trunk

REASON_BYTES = 300


@dataclass(frozen=True)
class Grounds:
    """What a person's word is judged by. `branch`: the branch that it names, if that stands. `heartbeat_at`: the
    last heartbeat of its holder that is known. `run_ended`: the workflow run that holds it is over.
    """

    record: Record
    head: Head
    observation: Observation
    policy: Policy
    branch: Branch | None = None
    heartbeat_at: datetime | None = None
    run_ended: bool = False

    @property
    def now(self) -> datetime:
        return self.observation.now


@dataclass(frozen=True)
class Heard:
    """The record after a word, and the answer to whoever said it. `because`: what the word comes to in a few words of
    ours, as branch and ledger tell it; empty where the word changes nothing.
    """

    record: Record
    answer: str
    because: str = ""
    to: Place = "active"
    ending: Ending | None = None


Verb = Callable[[Grounds], Heard | Blocked]


def hold(g: Grounds, *, by: str, reason: str | None) -> Heard | Blocked:
    """Nothing is claimed, written or landed until somebody takes the ticket off hold."""
    if (over := _over(g.record) or _merged(g)) is not None:
        return over
    if g.record.status == "held":
        return Heard(g.record, f"{why_held(g.record)}; it stays so")
    after = held(g.record, by=by, reason=_said(reason), now=g.now)
    return Heard(after, f"#{g.record.ticket_id} is on hold: nothing is claimed, written or landed", f"on hold, by {by}")


def unhold(g: Grounds, *, by: str) -> Heard | Blocked:
    """The ticket goes on where it was; its holder keeps the lease."""
    if (over := _over(g.record)) is not None:
        return over
    if g.record.status != "held":
        return Heard(g.record, f"#{g.record.ticket_id} is not on hold; it is {g.record.status}")
    after = unheld(g.record, by=by, ttl=g.policy.lease.ttl, now=g.now)
    if after.landing.incident is not None:
        # Whoever takes it off hold has looked at what went wrong.
        after = after.model_copy(update={"landing": after.landing.model_copy(update={"incident": None})})
    return Heard(after, f"#{after.ticket_id} is off hold and {after.status} again", f"off hold, by {by}")


def cancel(g: Grounds, *, by: str, reason: str | None) -> Heard | Blocked:
    """The ticket ends, and its children with it. Its Issue, its branch and its PR are left as they are."""
    if g.record.status == "cancelled":
        return _not_recalled(g.record, by)
    if (over := _over(g.record) or _for_tickets(g.record, "cancel") or _merged(g)) is not None:
        return over
    how = Ending("cancelled", "command", f"{by} cancelled it")
    after = ended(g.record, how, now=g.now)
    if after.ended is not None:
        said = after.ended.model_copy(update={"by": by, "reason": _said(reason)})
        after = after.model_copy(update={"ended": said})
    words = f"#{after.ticket_id} is cancelled; its branch and its PR are left as they are"
    return Heard(_unasked(after), words, f"cancelled, by {by}", to="done", ending=how)


def _not_recalled(record: Record, by: str) -> Heard:
    """Cancelled already; a word that it may come back, said since, is taken back."""
    words = f"#{record.ticket_id} is cancelled already"
    if record.ended is None or record.ended.recalled is None:
        return Heard(record, words, to="done")
    stays = record.ended.model_copy(update={"recalled": None})
    return Heard(
        record.model_copy(update={"ended": stays}), f"{words}, and stays so", f"stays over, by {by}", to="done"
    )


def bring_back(g: Grounds, *, by: str) -> Heard | Blocked:
    """A ticket that was cancelled or abandoned may be claimed again: the next claim begins another life of it."""
    record = g.record
    if record.status not in ("cancelled", "abandoned") or record.child is not None or record.ended is None:
        return Heard(record, f"#{record.ticket_id} is {record.status}: there is nothing to bring back")
    recalled = f"#{record.ticket_id} can be claimed again while its Issue is open"
    if may_return(record):
        return Heard(record, recalled, to="done")
    ended_ = record.ended.model_copy(update={"recalled": Intent(by=by, at=g.now)})
    return Heard(record.model_copy(update={"ended": ended_}), recalled, f"may come back, by {by}", to="done")


def recover(g: Grounds, *, by: str) -> Heard | Blocked:
    """A ticket that stopped may go on: its age and its attempts count anew from this word, and one that was cancelled
    or abandoned may be claimed again. Nothing is taken from a holder that lives.
    """
    record, ticket = g.record, f"#{g.record.ticket_id}"
    if record.status in ("cancelled", "abandoned") and record.child is None:
        return bring_back(g, by=by)
    if (stop := _over(record) or _held(record) or _merged(g)) is not None:
        return stop
    state = liveness(record, g.policy, now=g.now, heartbeat_at=g.heartbeat_at, run_ended=g.run_ended)
    if isinstance(state, Live | Suspect) and record.lease is not None:
        lease = record.lease
        reason = f"{lease.holder} holds generation {lease.generation} of {ticket} until {instant_text(state.until)}"
        remedy = f"let it work; `/recovery takeover{of(record.ticket_id)}` ends its lease, however alive it is"
        return Blocked(Code.LEASE_LIVE, reason, remedy, holder=lease.holder, generation=lease.generation)
    if not is_interrupted(record):
        return _wanted_on(g, by)
    if not g.policy.resume.enabled:
        reason = "the policy says resume.enabled: false, so an interrupted ticket is not resumed"
        remedy = f"`/recovery takeover{of(record.ticket_id)}` ends the dead lease, and any agent may claim then"
        return Blocked(Code.RESUME_DISABLED, reason, remedy, generation=record.generation)
    after = going_on(record).model_copy(update={"intent": Intent(by=by, at=g.now), "approvals": only_begun(record)})
    return Heard(after, f"{ticket} can be claimed again: its age and attempts count from now", f"to go on, by {by}")


def _wanted_on(g: Grounds, by: str) -> Heard:
    """Nobody holds it and nothing stands in a claim's way: the word starts an agent, where the App starts them."""
    free = f"nobody holds #{g.record.ticket_id}: it can be claimed now"
    starts = g.policy.resume.dispatch != "none" and g.record.child is None and g.record.generation > 0
    if not starts or wants_to_go_on(g.record):
        return Heard(g.record, free)
    after = g.record.model_copy(update={"intent": Intent(by=by, at=g.now)})
    return Heard(after, f"{free}, and an agent is started for it", f"to go on, by {by}")


def takeover(g: Grounds, *, by: str) -> Heard | Blocked:
    """The lease ends, whoever holds it and however alive: a new generation begins without a holder, and the next claim
    is that of a ticket which was never interrupted.
    """
    if (stop := _over(g.record) or _held(g.record) or _merged(g)) is not None:
        return stop
    if g.record.lease is None and not is_interrupted(g.record):
        return Heard(g.record, f"nobody holds #{g.record.ticket_id}: it can be claimed now")
    before = g.record.generation
    after = interrupted(g.record, now=g.now).model_copy(
        update={
            "lease": None,
            "status": "unclaimed",
            "generation": before + 1,
            "attempts": Attempts(),
            "stopped": None,
            "intent": Intent(by=by, at=g.now),
        }
    )
    after = after.model_copy(update={"checkpoint": derived(after, after.checkpoint, now=g.now)})
    words = f"generation {before} of #{after.ticket_id} has ended; an agent may claim it now"
    return Heard(_unasked(after), words, f"taken from generation {before}, by {by}")


def retarget(g: Grounds, *, by: str, to: str) -> Heard | Blocked:
    """The ticket goes to another trunk, and the base of its PR follows."""
    record, work = g.record, g.record.work
    if (stop := _over(record) or _held(record) or _for_tickets(record, "retarget") or _merged(g)) is not None:
        return stop
    if work is None:
        return Blocked(Code.NOT_FOUND, "the ticket has no branch yet", f"claim it with --trunk {to}")
    if not is_trunk(to, g.policy.trunks, g.observation.default_branch):
        remedy = "name a branch that trunks in .github/agent-recovery.yml match"
        return Blocked(Code.TRUNK_UNCLEAR, f"the branch {to!r} is no trunk by the policy", remedy)
    if g.branch is None or g.branch.name != to:
        return Blocked(Code.TRUNK_UNCLEAR, f"the branch {to!r} does not exist", "create the release branch first")
    pull = ticket_pull(record, g.observation)
    follows = ""
    if pull is not None and pull.state == "OPEN" and pull.base != to:
        follows = f"; the base of PR #{pull.number} follows"
    words = f"#{record.ticket_id} goes to {to}{follows}"
    if to == work.trunk:
        return Heard(record, words)
    # Where nothing was published yet the work begins where the new trunk is.
    base_sha = g.branch.sha if record.published is None else work.base_sha
    carried = record.projections.carried
    if pull is not None and (edit := latest(pull.acts, "base")) is not None:
        # An edit of the base that was made before this word is older than it.
        carried = carried.model_copy(update={"base_act": edit.id, "base_by": None, "base_trunk": None})
    after = record.model_copy(
        update={
            "work": work.model_copy(update={"trunk": to, "base_sha": base_sha}),
            "projections": record.projections.model_copy(update={"carried": carried}),
        }
    )
    after = after.model_copy(update={"checkpoint": derived(after, after.checkpoint, now=g.now)})
    return Heard(_unasked(after), words, f"moved to another trunk, by {by}")


def land(g: Grounds, *, by: str, sha: str) -> Heard | Blocked:
    """A person asks for the landing of exactly this head: what its holder says of it is not waited for, everything else
    that landing needs is.
    """
    record = g.record
    if (stop := _over(record) or _held(record) or _for_tickets(record, "land") or _merged(g)) is not None:
        return stop
    if g.policy.mode is not Mode.FULL:
        reason = f"the policy says mode: {g.policy.mode.value}, in which nothing is landed"
        return Blocked(Code.MODE_REPAIR, reason, "set mode: full in .github/agent-recovery.yml")
    if not (isinstance(g.head, AtPublished) and g.head.fenced):
        reason = "the branch's head is not published under the present lease"
        remedy = f"its holder pushes it; commits of somebody else are accepted by a person: {_accepting(g)}"
        return Blocked(Code.NOT_PUBLISHED, reason, remedy)
    if g.head.sha != sha:
        reason = f"the branch stands at {g.head.sha}, not at {sha}"
        command = f"`/recovery land {g.head.sha}`"
        return Blocked(Code.BRANCH_MOVED, reason, f"look at what is there now; to land exactly that say {command}")
    if any(p.target.head_sha == sha for p in may_still_merge(record)):
        # Written down it would withdraw the very merge that is asked for.
        return Heard(record, f"#{record.ticket_id} lands at {sha} already: its merge is on the way")
    if record.landing.asked is not None and record.landing.asked.head_sha == sha:
        asked = record.landing.asked
        return Heard(record, f"{asked.by} asked for the landing of {sha} at {instant_text(asked.at)} already")
    asked = AskedToLand(by=by, at=g.now, head_sha=sha)
    after = record.model_copy(update={"landing": record.landing.model_copy(update={"asked": asked})})
    return Heard(after, f"#{after.ticket_id} lands at {sha} once nothing stands in its way", f"asked to land, by {by}")


def accept(g: Grounds, *, by: str, sha: str) -> Heard | Blocked:
    """A head that somebody else pushed counts as published: under the present lease, or, where nobody holds the ticket,
    until somebody does. What was said and checked of the one before is not said of this one.
    """
    record, head = g.record, g.head
    if (stop := _over(record) or _held(record) or _merged(g)) is not None:
        return stop
    if isinstance(head, AtPublished) and head.sha == sha and sha not in record.burned_shas:
        return Heard(record, f"{sha} is what is published")
    stands = head.head if isinstance(head, Foreign | NothingPublished) else None
    if stands is None or stands != sha:
        at = head.sha if isinstance(head, AtPublished) else head.head
        where = f"the branch stands at {at}" if at is not None else "the branch does not stand"
        remedy = "only the branch's present head can be accepted, where it contains what was published"
        return Blocked(Code.BRANCH_MOVED, where, remedy)
    if sha in record.burned_shas:
        reason = f"{sha[:12]} was withdrawn and is never published again"
        return Blocked(Code.FORBIDDEN, reason, "commit anew on top of it")
    generation, nonce = record.identity or (record.generation, ACCEPTED)
    status = "working" if record.status in ("ready", "waiting") else record.status
    after = record.model_copy(
        update={
            "published": Published(sha=sha, generation=generation, nonce=nonce),
            "status": status,
            "intent": Intent(by=by, at=g.now),
        }
    )
    after = after.model_copy(update={"checkpoint": derived(after, after.checkpoint, now=g.now)})
    return Heard(_unasked(after), f"{sha} counts as published now", f"accepted {sha[:12]}, by {by}")


def _unasked(record: Record) -> Record:
    return record.model_copy(update={"landing": record.landing.model_copy(update={"asked": None})})


def _over(record: Record) -> Blocked | None:
    if record.status in TERMINAL:
        code = Code.LANDED if record.status == "landed" else Code.ENDED
        reason = f"#{record.ticket_id} is {record.status}"
    elif record.status in FINISHED:
        code, reason = Code.ENDED, f"the child {record.ticket_id} has {record.status}"
    else:
        return None
    return Blocked(code, reason, _after_the_end(record), generation=record.generation)


def _after_the_end(record: Record) -> str:
    if record.status in ("cancelled", "abandoned") and record.child is None:
        return "`/recovery recover` lets an agent claim it again"
    if record.status == "landed":
        return "nothing is left to do here; work that is still missing belongs into a new Issue"
    return "nothing is left to do here"


def _held(record: Record) -> Blocked | None:
    if record.status != "held":
        return None
    remedy = f"take it off hold first: `/recovery unhold{of(record.ticket_id)}`"
    return Blocked(Code.HELD, why_held(record), remedy, generation=record.generation)


def _accepting(g: Grounds) -> str:
    head = g.head.head if isinstance(g.head, Foreign | NothingPublished) else None
    return f"`/recovery accept{of(g.record.ticket_id)} {head or 'SHA'}`"


def _merged(g: Grounds) -> Blocked | None:
    pull = merged_pull(g.record, g.observation)
    return landed_before(g.record, pull.number, pull.base) if pull is not None else None


def landed_before(record: Record, number: int, base: str) -> Blocked:
    """The answer to a word that came after the merge, which may have gone another way than it was meant to."""
    meant = {record.trunk, record.fence.base if record.fence is not None else None}
    if base not in meant:
        return Blocked(
            Code.LANDED,
            f"PR #{number} of #{record.ticket_id} was merged into {base!r} before that, which is not its trunk",
            "close the Issue if the ticket ends with that; it goes on by itself once its trunk has the work",
            generation=record.generation,
        )
    return Blocked(
        Code.LANDED,
        f"#{record.ticket_id} has landed: PR #{number} was merged into {base!r} before that",
        "nothing is left to do here; work that is still missing belongs into a new Issue",
        generation=record.generation,
    )


def _for_tickets(record: Record, verb: str) -> Blocked | None:
    if record.child is None:
        return None
    reason = f"{record.ticket_id} is a child; {verb} is said of its ticket"
    return Blocked(Code.USAGE, reason, f"say it of #{record.ticket}, or let that ticket's holder see to its child")


def _said(reason: str | None) -> str | None:
    """A person's own words as they are kept: one short line without secrets."""
    words = cut(one_line(redact(reason).text), REASON_BYTES) if reason else ""
    return words or None
