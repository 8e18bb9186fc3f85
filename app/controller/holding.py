"""What a holder writes through the API: evidence, checkpoints, handoff, heartbeats.

Every write carries an idempotency key, looked up before the fence (R16): what if it happened and the agent did not hear
is answered by the stored answer. What if two of us do it: the ledger's compare-and-set lets one through, the other sees
the key. What if the lease is gone: the fencing identity at the head is no longer the token's, and the write is refused.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from app.controller.accounts import Accounts
from app.controller.briefing import criteria_of, frozen_refusal
from app.controller.heartbeats import Heartbeats, Holder
from app.controller.journal import Journal, Journaled
from app.controller.pokes import PokeStore
from app.controller.project import Projector
from app.controller.view import Gone, View, Views
from app.controller.witnessing import Witnessing
from app.domain.admission import admit
from app.domain.agent_api import (
    CheckpointRequest,
    EvidenceRequest,
    HandoffRequest,
    HeartbeatAnswer,
    HeartbeatRequest,
    WriteAnswer,
    WriteRequest,
)
from app.domain.checkpoint import Change, Checkpoint
from app.domain.children import unfinished
from app.domain.decide import SEAL_EVERY
from app.domain.effect_journal import Noted
from app.domain.effect_state import EffectState, state_of
from app.domain.evidence import with_evidence
from app.domain.fence import not_ready, other_request, out_of_order, present_lease
from app.domain.fencing import head_of
from app.domain.hardness import Soft, is_hard
from app.domain.keys import TicketKey
from app.domain.outcome import Blocked, Code, Refused
from app.domain.policy import Mode, Policy
from app.domain.policy_in_force import noted
from app.domain.progress import alive, handed_off, progressed, recovered
from app.domain.record import Answered, Lease, Record
from app.domain.ticket_id import TicketId
from app.domain.token import Claims
from app.domain.triggers import Trigger
from app.domain.validation import name_for_story, recorded
from app.domain.validation_api import ValidationRequest
from app.github.refs import RefUpdate, RefValue
from app.github.repository import Repository
from app.ledger.api import Undecided
from app.ledger.reading import Standing
from app.ledger.witness import Current, Witness, judge

MAX_TRIES = 10
SETTLE_AFTER = timedelta(seconds=5)


@dataclass(frozen=True)
class Along:
    """Refs that move together with the holder's ledger, or not at all. `kept_at`: see `Journal.write`."""

    updates: tuple[RefUpdate, ...] = ()
    kept_at: RefValue | None = None


@dataclass(frozen=True)
class Written:
    """A record to be written, and the answer that goes with it."""

    record: Record
    event: str
    changes: tuple[Change, ...] = ()
    effect: EffectState | None = None
    stands_at: str | None = None
    """The commit that a checkpoint's maker says it stands on."""
    along: Callable[[], Awaitable[Along]] | None = None
    """Makes what moves along, once it is known that the write may be tried."""
    refused: Blocked | None = None
    """What is written down is that the call was refused with this. It is no answer that a repetition gets: what stood
    in its way may be gone then.
    """


T = TypeVar("T")
Build = Callable[[View, Record, Lease], Written]


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
        accounts: Accounts,
    ) -> None:
        self._views = views
        self._accounts = accounts
        self._journal = journal
        self._projector = projector
        self._heartbeats = heartbeats
        self._witnessing = witnessing
        self._pokes = pokes

    async def evidence(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: EvidenceRequest
    ) -> WriteAnswer:
        """End a recovery: the workspace stands at the recorded commit, so the published head is stamped anew under the
        present fencing identity, and the status is `working`. Projected before it answers.
        """

        def build(view: View, record: Record, lease: Lease) -> Written:
            after = or_refuse(recovered(record, lease, request.head_sha, view.observation))
            commands = view.usable_policy.verify if view.usable_policy is not None else ()
            return Written(
                with_evidence(after, request, commands, view.observation.around, now=view.now), "workspace rebuilt"
            )

        answer, view, standing = await self._write(
            owner, name, ticket, claims, request, build, to="evidence", evidence=request
        )
        if view is not None and standing is not None:
            head = head_of(standing.record, view.observation, None) if view.comparison is None else view.head
            if head is not None:
                await self._projector.project(view, standing, head)
        return answer

    async def checkpoint(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: CheckpointRequest
    ) -> WriteAnswer:
        """Store a checkpoint; status `ready` needs a branch whose head the caller published."""
        admitted = admit(request.checkpoint)
        if isinstance(admitted, Blocked):
            raise Refused(admitted)

        def build(view: View, record: Record, lease: Lease) -> Written:
            if request.status == "ready":
                _unless(unfinished(record))
                _unless(not_ready(view.head))
            after = or_refuse(
                progressed(record, _made_at(admitted.checkpoint, request.at), request.status, view.observation)
            )
            at = f", at {request.at}" if request.at else ""
            stands_at = admitted.checkpoint.checkpoint_sha_or_snapshot
            return Written(after, f"checkpoint, {request.status}{at}", admitted.changes, stands_at=stands_at)

        answer, _, _ = await self._write(owner, name, ticket, claims, request, build, to="checkpoint")
        return answer

    async def validation(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: ValidationRequest
    ) -> WriteAnswer:
        """Record what was checked on a snapshot; it takes the place of the profile's last result."""

        def build(view: View, record: Record, lease: Lease) -> Written:
            made = request.validation
            return Written(recorded(record, made, now=view.now), f"validation {name_for_story(made)}")

        answer, _, _ = await self._write(owner, name, ticket, claims, request, build, to="validation")
        return answer

    async def handoff(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: HandoffRequest
    ) -> WriteAnswer:
        """Give the ticket back: no holder afterwards, and nothing counts as interrupted."""
        admitted = admit(request.checkpoint or {})
        if isinstance(admitted, Blocked):
            raise Refused(admitted)

        def build(view: View, record: Record, lease: Lease) -> Written:
            after = or_refuse(progressed(record, _made_at(admitted.checkpoint, None), "working", view.observation))
            return Written(handed_off(after, now=view.now), "handed off", admitted.changes)

        answer, _, _ = await self._write(owner, name, ticket, claims, request, build, to="handoff")
        return answer

    async def heartbeat(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: HeartbeatRequest
    ) -> HeartbeatAnswer:
        """Note that the holder lives. Reads the ledger, writes nothing to GitHub; the loop stamps the lease when half
        of its time is gone.
        """
        repo, standing, highest = await self.standing(owner, name, ticket, claims)
        record = standing.record
        lease = or_refuse(present_lease(record, claims, repository_id=repo.id, ticket=ticket))
        await self._accounts.require_covered(repo, lease, self._views.now())
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

    async def standing(
        self, owner: str, name: str, ticket: TicketId, claims: Claims
    ) -> tuple[Repository, Standing, list[Witness]]:
        """The ticket's ledger, and what the table knew of it, with as few requests as can be: one where the table can
        vouch for what stands. Raises Refused where the ledger cannot be used.
        """
        repo, ledger = await self._views.ledger(owner, name)
        require_own(claims, repo.id)
        reading = await ledger.read(ticket)
        known = await self._witnessing.told_by_table(repo, ledger, ticket)
        if (
            isinstance(reading, Standing)
            and known
            and isinstance(judge(reading.entries, known, reading.earlier), Current)
        ):
            return repo, reading, known
        # The table was lost, or contradicts it, or the namespace is not known yet: a full look tells.
        view = await self._views.look(owner, name, ticket)
        if view.frozen is not None:
            raise Refused(frozen_refusal(view))
        if view.standing is None:
            raise Refused(_unusable())
        return view.repo, view.standing, known

    async def effect(
        self,
        owner: str,
        name: str,
        ticket: TicketId,
        claims: Claims,
        request: WriteRequest,
        rule: Callable[[View, Record, Lease], Noted | Blocked],
        *,
        word: str,
    ) -> WriteAnswer:
        """Write down a word about an effect. `rule` says what it makes of the record; `word` names effect and call."""

        def build(view: View, record: Record, lease: Lease) -> Written:
            noted = or_refuse(rule(view, record, lease))
            if noted.denied is not None and noted.record == record:
                raise Refused(noted.denied)
            event = f"effect {word}" if noted.denied is None else f"effect {word} denied"
            state = state_of(noted.effect, go=noted.go)
            return Written(noted.record, event, effect=state, refused=noted.denied)

        answer, _, _ = await self._write(owner, name, ticket, claims, request, build, to=f"effects/{word}")
        return answer

    async def write(
        self,
        owner: str,
        name: str,
        ticket: TicketId,
        claims: Claims,
        request: WriteRequest,
        build: Build,
        *,
        to: str,
    ) -> WriteAnswer:
        """Any write of a holder: `build` says what it makes of the record, or raises Refused; `to` names the call."""
        answer, _, _ = await self._write(owner, name, ticket, claims, request, build, to=to)
        return answer

    async def _write(
        self,
        owner: str,
        name: str,
        ticket: TicketId,
        claims: Claims,
        request: WriteRequest,
        build: Build,
        *,
        to: str,
        evidence: EvidenceRequest | None = None,
    ) -> tuple[WriteAnswer, View | None, Standing | None]:
        for tried in range(MAX_TRIES):
            if tried > 1:
                await asyncio.sleep(random.uniform(0.05, 0.5))
            view = await self._views.look(owner, name, ticket)
            require_own(claims, view.repo.id)
            standing = view.standing
            if standing is not None:
                stored = standing.record.answered(request.key)
                if stored is not None and stored.generation == claims.generation:
                    _unless(other_request(stored, to))
                    return WriteAnswer(**{**stored.answer, "repeated": True}), None, None
            if view.frozen is not None:
                raise Refused(frozen_refusal(view))
            require_writable(view)
            if standing is None:
                raise Refused(Blocked(Code.NOT_FOUND, "the ticket has no ledger", "claim it first"))
            lease = or_refuse(present_lease(standing.record, claims, repository_id=view.repo.id, ticket=ticket))
            await self._accounts.require_covered(view.repo, lease, view.now)
            _unless(out_of_order(standing.record, claims, request.seq))
            built = build(view, standing.record, lease)
            answer = self._answer(view, built, evidence)
            entry = Answered(
                key=request.key,
                seq=request.seq,
                generation=lease.generation,
                answer=answer.model_dump(mode="json"),
                to=to,
            )
            kept = alive(built.record, ttl=(view.usable_policy or Policy()).lease.ttl, now=view.now)
            record = kept if built.refused else kept.model_copy(update={"requests": kept.with_answer(entry)})
            along = await built.along() if built.along is not None else Along()
            outcome = await self._journal.write(
                view,
                standing,
                record,
                built.event,
                when=view.now,
                request=None if built.refused else request.key,
                also=along.updates,
                kept_at=along.kept_at,
            )
            if isinstance(outcome, Journaled):
                await self._pokes.poke(view.key, due_at=view.now + self._delay(evidence))
                _unless(built.refused)
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

    def _answer(self, view: View, built: Written, evidence: EvidenceRequest | None) -> WriteAnswer:
        record = built.record
        hardness = is_hard(record, view.observation, stands_at=built.stands_at)
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
            effect=built.effect,
        )


def require_own(claims: Claims, repository_id: int) -> None:
    """A lease of one repository learns nothing about another: the answer is that of a repository that is not there."""
    if claims.repository_id != repository_id:
        raise Gone("Not Found", status=404)


def _unusable() -> Blocked:
    return Blocked(Code.FROZEN, "the ticket's ledger cannot be trusted", "a person has to look: see its pull request")


def require_writable(view: View) -> None:
    """Raises Refused where the policy does not let holders write."""
    policy = view.usable_policy
    if policy is None:
        raise Refused(
            Blocked(
                Code.NO_POLICY,
                "the repository has no usable policy on its default branch any more",
                "mend .github/agent-recovery.yml on the default branch; pushes with a GitHub token work meanwhile",
                retryable=True,
            )
        )
    if policy.mode is Mode.OBSERVE:
        blocked = Blocked(
            Code.MODE_OBSERVE,
            "the policy says mode: observe now, so nothing is written",
            "set mode: repair in .github/agent-recovery.yml; pushes with a GitHub token work meanwhile",
            retryable=True,
        )
        raise Refused(noted(blocked, view.policy))


def _made_at(checkpoint: Checkpoint, trigger: Trigger | None) -> Checkpoint:
    """What was sent, with the moment it was made at: the last one's moment never stands for another."""
    return checkpoint.model_copy(update={"trigger": trigger.value if trigger else None})


def or_refuse(value: T | Blocked) -> T:
    """A rule's answer, or Refused with its reason."""
    if isinstance(value, Blocked):
        raise Refused(value)
    return value


def _unless(blocked: Blocked | None) -> None:
    if blocked is not None:
        raise Refused(blocked)
