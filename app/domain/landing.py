"""Whether a ticket's pull request lands now, and everything that stands in its way otherwise.

Wanted properties: what lands is a ticket's own pull request at exactly the commit that the present holder published,
with every required check green on that very commit; nothing lands that no check was named for; a person's word for one
commit replaces the holder's "ready" and the protection of files, and nothing else. Pure: no I/O, no clock.

Accepted loss: between a look and the merge a rule may change. GitHub judges its own rules again at the merge; ours are
judged again when the permit is opened.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from app.domain import landing_of_pull, landing_of_ticket, permits
from app.domain.fencing import AtPublished, Head
from app.domain.landing_actions import Enqueue, Merge, UpdateBranch
from app.domain.landing_blocker import Blocker, BlockerCode, in_order, names
from app.domain.landing_evidence import Method
from app.domain.merge_text import merge_text
from app.domain.observation import Observation
from app.domain.plan import target_of
from app.domain.policy import Mode, Policy
from app.domain.pull_class import Classed, PullClass, TicketPull, landable
from app.domain.record import FINISHED, TERMINAL, Record
from app.domain.situation import Situation, ticket_pull
from app.domain.stack_gate import gating


@dataclass(frozen=True)
class Land:
    """Merge it now."""

    pull: TicketPull
    method: Method
    generation: int
    reason: str


@dataclass(frozen=True)
class Queue:
    """Give it a place in its base's merge queue now."""

    pull: TicketPull
    reason: str


@dataclass(frozen=True)
class Behind:
    """Nothing is in its way but that the rules want the trunk's newest commit in it: bring the branch up to date. One
    at a time for each trunk.
    """

    pull: TicketPull
    reason: str


@dataclass(frozen=True)
class NotYet:
    """It does not land now: everything that is in its way, the most useful first."""

    blockers: tuple[Blocker, ...]

    @property
    def until(self) -> datetime | None:
        """When another look is worth it though nothing happened; None where a happening brings it."""
        return min((b.until for b in self.blockers if b.until is not None), default=None)

    def has(self, code: BlockerCode) -> bool:
        return any(blocker.code is code for blocker in self.blockers)


@dataclass(frozen=True)
class NotLanding:
    """Landing is no question here: a child, an ended ticket, one without a PR, one whose PR was merged."""

    reason: str


Decision = Land | Queue | Behind | NotYet | NotLanding


def wanted(record: Record, policy: Policy, head: Head, observation: Observation) -> bool:
    """Whether what GitHub asks of the pull request is to be read at all: only for a ticket that is ready, or asked for
    by a person, and whose landing the policy leaves to the App.
    """
    pull = ticket_pull(record, observation)
    if policy.mode is not Mode.FULL or pull is None or not isinstance(head, AtPublished) or not head.fenced:
        return False
    if record.status != "ready" and not landing_of_ticket.is_asked_for(record, head.sha):
        return False
    if record.status == "held" or _was_merged(record, pull.number):
        return False
    # A draft waits for a person, whatever else holds; one that the App made a draft for its conflict is told the files.
    shown = not pull.is_draft or pull.mergeable == "CONFLICTING"
    return shown and isinstance(landable(pull, record, observation, policy), TicketPull)


def decide_landing(s: Situation) -> Decision:
    """What becomes of the ticket's pull request now."""
    record, pull = s.record, ticket_pull(s.record, s.observation)
    if record.child is not None:
        return NotLanding("a child's work is merged by the holder of its parent")
    if record.status in TERMINAL or record.status in FINISHED:
        return NotLanding(f"the ticket is {record.status}")
    if pull is not None and (pull.state == "MERGED" or _was_merged(record, pull.number)):
        return NotLanding("its PR was merged")
    if pull is None or pull.state != "OPEN":
        return NotLanding("it has no open PR")
    mine = landable(pull, record, s.observation, s.policy)
    if isinstance(mine, Classed):
        below = gating(record, s.observation) if mine.kind is PullClass.STACKED else ()
        its_class = () if below else (_not_landable(mine),)
        return NotYet(in_order((*_mode(s), *its_class, *landing_of_ticket.blockers(s))))
    found = in_order(
        (*_mode(s), *landing_of_ticket.blockers(s), *landing_of_ticket.of_its_pull(s, mine), *_evidence(s, mine))
    )
    return NotYet(found) if found else _now(s, mine)


def in_its_way(s: Situation) -> tuple[Blocker, ...]:
    """What readers are told: everything in the way, and what GitHub answered where the merge itself was refused."""
    decision = decide_landing(s)
    if isinstance(decision, NotLanding):
        return ()
    if isinstance(decision, NotYet):
        return decision.blockers
    kind, target = target_of(action_of(decision))
    refusal = permits.refused(s.record, kind, target)
    if refusal is None:
        return ()
    reason, remedy = "GitHub refused it", "do what GitHub's words ask for; it is tried again"
    words = names([refusal.reason] if refusal.reason else [])
    return (Blocker(BlockerCode.REFUSED, reason, remedy, words, permits.retry_at(refusal)),)


def action_of(decision: Land | Queue | Behind) -> Merge | Enqueue | UpdateBranch:
    """The write that a decision asks for."""
    pull = decision.pull
    if isinstance(decision, Behind):
        return UpdateBranch(pull.number, pull.head_sha, pull.base, decision.reason)
    if isinstance(decision, Queue):
        return Enqueue(pull.number, pull.node_id, pull.head_sha, pull.base, decision.reason)
    text = merge_text(pull, decision.method, decision.generation)
    return Merge(pull.number, pull.head_sha, pull.base, decision.method, text.title, text.message, decision.reason)


def _now(s: Situation, pull: TicketPull) -> Land | Queue | Behind:
    evidence = s.landing
    assert evidence is not None  # without it there is a blocker
    if evidence.rules.queue:
        return Queue(pull, "nothing is in its way, and its trunk takes merges through a queue")
    if landing_of_pull.is_behind(evidence, s.observation.around, pull):
        return Behind(pull, "the rules want the trunk's newest commit in it")
    return Land(pull, s.policy.landing.method, s.record.generation, "it is ready and nothing is in its way")


def _was_merged(record: Record, number: int) -> bool:
    """Noted as merged already, though the look may be older than the note. In a later life of the ticket the note is
    of another PR.
    """
    return record.landing.merged is not None and record.landing.merged.pr == number


def _mode(s: Situation) -> Iterator[Blocker]:
    if s.policy.mode is not Mode.FULL:
        yield Blocker(
            BlockerCode.MODE,
            f"the policy says mode: {s.policy.mode}, in which the App merges nothing",
            "a person merges the PR, or the policy says mode: full",
        )


def _not_landable(classed: Classed) -> Blocker:
    remedy = "give the PR a trunk as its base, or say in release.into which branch releases go into, if not this one"
    return Blocker(BlockerCode.NOT_LANDABLE, f"the PR is of class {classed.kind}: {classed.reason}", remedy)


def _evidence(s: Situation, pull: TicketPull) -> Iterator[Blocker]:
    """Judged only where it is read, so that a ticket at work is not told of checks that have not run."""
    if wanted(s.record, s.policy, s.head, s.observation):
        yield from landing_of_pull.blockers(s, pull)
