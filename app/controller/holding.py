"""What a holder writes through the API: evidence, checkpoints, handoff, heartbeats.

Every write carries an idempotency key, looked up before the fence (R16): what if it happened and the agent did not hear
is answered by the stored answer. What if two of us do it: the ledger's compare-and-set lets one through, the other sees
the key. What if the lease is gone: the fencing identity at the head is no longer the token's, and the write is refused.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from app.controller.briefing import criteria_of, frozen_refusal
from app.controller.heartbeats import Heartbeats, Holder
from app.controller.journal import Journal, Journaled
from app.controller.pokes import PokeStore
from app.controller.project import Projector
from app.controller.view import Gone, View, Views
from app.controller.witnessing import Witnessing
from app.domain import gates
from app.domain.admission import admit, stored_size
from app.domain.agent_api import (
    CheckpointRequest,
    EvidenceRequest,
    HandoffRequest,
    HeartbeatAnswer,
    HeartbeatRequest,
    WriteAnswer,
    WriteRequest,
)
from app.domain.checkpoint import MAX_BYTES, Change, Checkpoint
from app.domain.decide import SEAL_EVERY, own_check_run
from app.domain.derived import derived, merged
from app.domain.fencing import AtPublished, Foreign, head_of
from app.domain.hardness import Soft, is_hard
from app.domain.keys import TicketKey
from app.domain.outcome import Blocked, Code, Refused
from app.domain.policy import Mode, Policy
from app.domain.record import TERMINAL, Answered, Lease, Published, Record
from app.domain.settling import Made, settle
from app.domain.token import Claims
from app.github.repository import Repository
from app.ledger.api import ApiLedger, Standing, Undecided
from app.ledger.witness import Current, judge

MAX_TRIES = 10
SETTLE_AFTER = timedelta(seconds=5)


@dataclass(frozen=True)
class _Written:
    """A record to be written, and the answer that goes with it."""

    record: Record
    event: str
    changes: tuple[Change, ...] = ()


_Build = Callable[[View, Record, Lease, Policy], _Written]


class Holding:
    """Writes of the present holder."""

    def __init__(
        self,
        views: Views,
        journal: Journal,
        projector: Projector,
        heartbeats: Heartbeats,
        witnessing: Witnessing,
        pokes: PokeStore,
    ) -> None:
        self._views = views
        self._journal = journal
        self._projector = projector
        self._heartbeats = heartbeats
        self._witnessing = witnessing
        self._pokes = pokes

    async def evidence(
        self, owner: str, name: str, ticket: int, claims: Claims, request: EvidenceRequest
    ) -> WriteAnswer:
        """End a recovery: the workspace stands at the recorded commit, so the published head is stamped anew under the
        present fencing identity, and the status is `working`. Projected before it answers.
        """

        def build(view: View, record: Record, lease: Lease, policy: Policy) -> _Written:
            expected = record.published.sha if record.published else record.work.base_sha if record.work else None
            if request.head_sha != expected:
                raise Refused(
                    Blocked(
                        Code.BRANCH_MOVED,
                        f"the workspace is at {request.head_sha}, the ticket's work is at {expected}",
                        "run `agent-recovery recover` again in an empty folder",
                        retryable=True,
                    )
                )
            published = record.published
            if published is not None and published.sha not in record.burned_shas:
                published = Published(sha=published.sha, generation=lease.generation, nonce=lease.nonce)
            status = "working" if record.status == "recovering" else record.status
            record = _with_probe(view, record)
            return _Written(record.model_copy(update={"status": status, "published": published}), "workspace rebuilt")

        answer, view, standing = await self._write(owner, name, ticket, claims, request, build, evidence=request)
        if view is not None and standing is not None:
            head = head_of(standing.record, view.observation, None) if view.comparison is None else view.head
            if head is not None:
                await self._projector.project(view, standing, head)
        return answer

    async def checkpoint(
        self, owner: str, name: str, ticket: int, claims: Claims, request: CheckpointRequest
    ) -> WriteAnswer:
        """Store a checkpoint; status `ready` needs a branch whose head the caller published."""
        admitted = admit(request.checkpoint)
        if isinstance(admitted, Blocked):
            raise Refused(admitted)

        def build(view: View, record: Record, lease: Lease, policy: Policy) -> _Written:
            if request.status == "ready":
                _require_published(view)
            return _Written(
                _progressed(view, record, admitted.checkpoint, request.status),
                f"checkpoint, {request.status}",
                admitted.changes,
            )

        answer, _, _ = await self._write(owner, name, ticket, claims, request, build)
        return answer

    async def handoff(self, owner: str, name: str, ticket: int, claims: Claims, request: HandoffRequest) -> WriteAnswer:
        """Give the ticket back: no holder afterwards, and nothing counts as interrupted."""
        admitted = admit(request.checkpoint or {})
        if isinstance(admitted, Blocked):
            raise Refused(admitted)

        def build(view: View, record: Record, lease: Lease, policy: Policy) -> _Written:
            record = _progressed(view, record, admitted.checkpoint, "working")
            handed = record.model_copy(update={"lease": None, "status": "unclaimed", "attempts": gates.after_handoff()})
            checkpoint = derived(handed, handed.checkpoint, now=view.now)
            return _Written(handed.model_copy(update={"checkpoint": checkpoint}), "handed off", admitted.changes)

        answer, _, _ = await self._write(owner, name, ticket, claims, request, build)
        return answer

    async def heartbeat(
        self, owner: str, name: str, ticket: int, claims: Claims, request: HeartbeatRequest
    ) -> HeartbeatAnswer:
        """Note that the holder lives. Reads the ledger, writes nothing to GitHub; the loop stamps the lease when half
        of its time is gone.
        """
        repo, ledger, standing = await self._standing(owner, name, ticket, claims)
        record = standing.record
        lease = _fence(record, claims, repo.id, ticket)
        highest = await self._witnessing.told_by_table(repo, ledger, ticket)
        if not isinstance(judge(standing.entries, highest, standing.earlier), Current):
            raise Refused(_unusable())
        await self._heartbeats.beat(Holder(repo.id, str(ticket), lease.generation, lease.nonce))
        last_sign = lease.renewed_at or lease.granted_at
        half_gone = self._views.now() >= last_sign + (lease.expires_at - last_sign) / 2
        unseen = not any(w.commit_prefix == standing.entry.sha for w in highest)
        if half_gone or unseen or standing.tail >= SEAL_EVERY:
            await self._pokes.poke(str(TicketKey(repo.full_name, ticket)))
        return HeartbeatAnswer(
            generation=record.generation,
            status=record.status,
            expires_at=lease.expires_at,
            ledger_head=standing.entry.sha,
        )

    async def _standing(
        self, owner: str, name: str, ticket: int, claims: Claims
    ) -> tuple[Repository, ApiLedger, Standing]:
        """The ticket's ledger with as few requests as can be. Raises Refused where it cannot be used."""
        repo, ledger = await self._views.ledger(owner, name)
        _require_own(claims, repo.id)
        reading = await ledger.read(ticket)
        if isinstance(reading, Standing):
            return repo, ledger, reading
        # Maybe only the namespace is not known yet, which a full look finds out from the policy.
        view = await self._views.look(owner, name, ticket)
        if view.standing is None or view.frozen is not None:
            raise Refused(_unusable())
        return view.repo, view.ledger, view.standing

    async def _write(
        self,
        owner: str,
        name: str,
        ticket: int,
        claims: Claims,
        request: WriteRequest,
        build: _Build,
        *,
        evidence: EvidenceRequest | None = None,
    ) -> tuple[WriteAnswer, View | None, Standing | None]:
        for tried in range(MAX_TRIES):
            if tried > 1:
                await asyncio.sleep(random.uniform(0.05, 0.5))
            view = await self._views.look(owner, name, ticket)
            _require_own(claims, view.repo.id)
            standing = view.standing
            if standing is not None:
                stored = standing.record.answered(request.key)
                if stored is not None and stored.generation == claims.generation:
                    return WriteAnswer(**{**stored.answer, "repeated": True}), None, None
            if view.frozen is not None:
                raise Refused(frozen_refusal(view))
            policy = _writable(view)
            if standing is None:
                raise Refused(Blocked(Code.NOT_FOUND, "the ticket has no ledger", "claim it first"))
            lease = _fence(standing.record, claims, view.repo.id, ticket)
            _require_rising(standing.record, claims, request)
            built = build(view, standing.record, lease, policy)
            answer = self._answer(view, built, evidence)
            entry = Answered(
                key=request.key, seq=request.seq, generation=lease.generation, answer=answer.model_dump(mode="json")
            )
            record = built.record.model_copy(update={"requests": built.record.with_answer(entry)})
            outcome = await self._journal.write(view, standing, record, built.event, when=view.now, request=request.key)
            if isinstance(outcome, Journaled):
                await self._pokes.poke(view.key, due_at=view.now + self._delay(evidence))
                written = answer.model_copy(update={"ledger_commit": outcome.standing.entry.sha})
                return written, view, outcome.standing
            if isinstance(outcome, Undecided):
                raise Refused(
                    Blocked(
                        Code.UNKNOWN_OUTCOME,
                        f"GitHub does not say whether it was written: {outcome.reason}",
                        "run the same command again: its key gets the same answer",
                        retryable=True,
                    )
                )
        raise Refused(Blocked(Code.LOST_RACE, "others kept writing to the ticket", "try again", retryable=True))

    def _delay(self, evidence: EvidenceRequest | None) -> timedelta:
        # Evidence projects by itself; everything else is projected by the loop, at once.
        return SETTLE_AFTER if evidence is not None else timedelta(0)

    def _answer(self, view: View, built: _Written, evidence: EvidenceRequest | None) -> WriteAnswer:
        record = built.record
        hardness = is_hard(record, view.observation)
        soft = hardness.missing if isinstance(hardness, Soft) else ()
        criteria = criteria_of(view, record, evidence) if evidence is not None else ()
        return WriteAnswer(
            generation=record.generation,
            sequence=record.sequence + 1,
            status=record.status,
            hard=not soft,
            soft_because=soft,
            changes=built.changes[:20],
            criteria=criteria,
        )


def _require_own(claims: Claims, repository_id: int) -> None:
    """A lease of one repository learns nothing about another: the answer is that of a repository that is not there."""
    if claims.repository_id != repository_id:
        raise Gone("Not Found", status=404)


def _unusable() -> Blocked:
    return Blocked(Code.FROZEN, "the ticket's ledger cannot be trusted", "a person has to look: see its pull request")


def _writable(view: View) -> Policy:
    """The policy, where it lets holders write. Raises Refused."""
    policy = view.usable_policy
    if policy is None:
        raise Refused(
            Blocked(
                Code.NO_POLICY,
                "the repository has no usable policy on its default branch any more",
                "mend .github/agent-recovery.yml on the default branch; `agent-recovery push` works meanwhile",
                retryable=True,
            )
        )
    if policy.mode is Mode.OBSERVE:
        raise Refused(
            Blocked(
                Code.MODE_OBSERVE,
                "the policy says mode: observe now, so nothing is written",
                "set mode: repair in .github/agent-recovery.yml; `agent-recovery push` works meanwhile",
                retryable=True,
            )
        )
    return policy


def _fence(record: Record, claims: Claims, repository_id: int, ticket: int) -> Lease:
    """The lease that a token speaks of, if it is the present one. Raises Refused. The nonce is compared for equality
    only; a lease past its expiry that nobody took over is still the present one (R15).
    """
    lease = record.lease
    stale = (claims.repository_id, claims.ticket) != (repository_id, ticket) or record.identity != claims.identity
    if record.status in TERMINAL:
        raise Refused(
            Blocked(
                Code.ENDED,
                f"the ticket is {record.status}",
                "stop: nothing is left to do",
                generation=record.generation,
            )
        )
    if lease is None or stale:
        now_held = f"generation {record.generation} is held by {lease.holder}" if lease else "nobody holds it now"
        raise Refused(
            Blocked(
                Code.STALE_GENERATION,
                f"this lease (generation {claims.generation}) has ended: {now_held}",
                "stop working on the ticket; `agent-recovery recover` claims it anew where that is allowed",
                holder=lease.holder if lease else None,
                generation=record.generation,
            )
        )
    if record.status == "held":
        raise Refused(
            Blocked(Code.HELD, "a person has put the ticket on hold", "wait until it is taken off hold", retryable=True)
        )
    return lease


def _require_rising(record: Record, claims: Claims, request: WriteRequest) -> None:
    highest = max((r.seq for r in record.requests if r.generation == claims.generation), default=0)
    if request.seq <= highest:
        raise Refused(
            Blocked(
                Code.STALE_REQUEST,
                f"request {request.seq} is older than one already carried out ({highest})",
                "send what you know now with a new key and a higher number",
                generation=record.generation,
            )
        )


def _require_published(view: View) -> None:
    if isinstance(view.head, AtPublished) and view.head.fenced:
        return
    foreign = isinstance(view.head, Foreign)
    raise Refused(
        Blocked(
            Code.FOREIGN_COMMITS if foreign else Code.NOT_PUBLISHED,
            "the branch has commits you did not publish"
            if foreign
            else "the branch's head is not published under your lease",
            "`agent-recovery push --rewind` puts the branch back, `agent-recovery adopt SHA` takes the commits over"
            if foreign
            else "run `agent-recovery push`, then say ready again",
        )
    )


def _progressed(view: View, record: Record, sent: Checkpoint, status: str) -> Record:
    """The record after a checkpoint: content merged, derived fields set, attempts back to 0 after proven progress."""
    updated = record.model_copy(update={"status": status, "checkpoint": merged(record.checkpoint, sent)})
    checkpoint = derived(updated, updated.checkpoint, now=view.now)
    size = stored_size(checkpoint)
    if size > MAX_BYTES:
        raise Refused(
            Blocked(
                Code.CHECKPOINT_TOO_LARGE,
                f"with what was stored before, the checkpoint has {size} bytes; the limit is {MAX_BYTES}",
                "send the fields that grew again, shorter; a field you send replaces what is stored",
            )
        )
    updated = updated.model_copy(update={"checkpoint": checkpoint})
    hard = not isinstance(is_hard(updated, view.observation), Soft)
    attempts = gates.after_progress(record.attempts, record.checkpoint, checkpoint, hard=hard, now=view.now)
    return updated.model_copy(update={"attempts": attempts})


def _with_probe(view: View, record: Record) -> Record:
    """The claim's own check-run permit settled by what the observation shows: the evidence's commit may be the one with
    the results of the claim's round (R2).
    """
    found = [
        Made(permit, number)
        for permit in record.open
        if permit.kind == "check_run_create"
        and permit.target.generation == record.generation
        and (number := own_check_run(record, view.observation, permit.target.head_sha or "")) is not None
    ]
    return settle(record, found)
