"""Claims: who gets a ticket. One compare-and-set to generation + 1 with a fresh nonce; of N racers exactly one wins.

What if it happened and we did not hear: the ledger says so (R8), and the caller's claim id, kept hashed in the lease,
gets the same grant again (R16). What if two of us do it: a claim compares the lease, not the ref (R9): where only the
ref moved it is rebuilt and tried again. What if our lease is gone: the answer names the one that stands. Where a merge
was sent meanwhile the claim fences it off, and is granted only once it is known that the merge did not come first.
"""

import asyncio
import hashlib
import random
import secrets
from datetime import timedelta

from app.controller.act import Actor, permit_for
from app.controller.authors import Authors
from app.controller.briefing import brief_of, frozen_refusal
from app.controller.fencing_off import FencingOff, require_fenced, unresolved
from app.controller.holding import require_own
from app.controller.journal import Journal, Journaled
from app.controller.keyring import Keyring
from app.controller.pokes import PokeStore
from app.controller.run_binding import require_run, require_workflow
from app.controller.view import View, Views
from app.domain import gates, permits
from app.domain.agent_api import ClaimRequest, Grant, RepositoryInfo
from app.domain.attempt import claimed
from app.domain.board import trunk_of_release
from app.domain.branch_names import in_the_way, ticket_branch
from app.domain.derived import derived
from app.domain.dispatched import Run
from app.domain.effect_journal import due, interrupted
from app.domain.fence import present_lease
from app.domain.fence_commit import may_still_merge
from app.domain.fencing import NothingPublished, shown_head
from app.domain.issue_gate import open_issue
from app.domain.life_cycle import merged_pull
from app.domain.model import instant_text
from app.domain.observation import Branch, Issue
from app.domain.outcome import Blocked, Code, Refused
from app.domain.person_verbs import landed_before
from app.domain.plan import CreateCheckRun
from app.domain.policy import Policy
from app.domain.policy_in_force import no_policy, noted
from app.domain.record import Lease, Permit, Record, Work
from app.domain.returning import returned
from app.domain.run_claims import RunClaims
from app.domain.settling import Unknown
from app.domain.ticket_id import Child, TicketId, child_name_of, number_of
from app.domain.token import Claims, issue
from app.domain.trunks import choose_trunk, is_trunk, literal_prefixes
from app.ledger.api import Lost, Undecided
from app.ledger.reading import Standing

MAX_TRIES = 10
SETTLE_AFTER = timedelta(minutes=2)
"""When the loop looks after a claim whose agent sent no evidence."""


class Claiming:
    """Grants tickets."""

    def __init__(
        self,
        views: Views,
        journal: Journal,
        actor: Actor,
        keys: Keyring,
        authors: Authors,
        pokes: PokeStore,
        fencing: FencingOff,
        *,
        resume: bool = True,
    ) -> None:
        self._views = views
        self._journal = journal
        self._actor = actor
        self._keys = keys
        self._authors = authors
        self._pokes = pokes
        self._fencing = fencing
        self._resume = resume

    async def claim(
        self,
        owner: str,
        name: str,
        ticket: TicketId,
        request: ClaimRequest,
        login: str,
        run: RunClaims | None = None,
    ) -> Grant:
        """Make `login` the holder. `run`: the workflow run that claims, where no account does; it has to be the one
        that was started for the ticket. Raises Refused with what stands in the way, and GitHubError.
        """
        view = await self._views.look(owner, name, ticket)
        if run is not None:
            require_workflow(view, run)
        policy, issue_ = _policy_and_issue(view)
        sent_again = False
        with self._authors.run() as author:
            for tried in range(MAX_TRIES):
                if tried > 1:
                    await asyncio.sleep(random.uniform(0.05, 0.5))
                standing = view.standing
                if standing is not None and _is_same_claim(standing.record, request, login, run):
                    require_fenced(standing.record, await self._fencing.outcome(view, standing.record))
                    if sent_again or await self._shown(view, standing, author):
                        return self._grant(view, standing, policy)
                    sent_again = True
                    view = await self._views.look(owner, name, ticket)
                    policy, issue_ = _policy_and_issue(view)
                    continue
                passed = gates.may_claim(
                    standing.record if standing else None,
                    policy,
                    now=view.now,
                    observed_generation=request.observed_generation,
                    login=login,
                    heartbeat_at=view.heartbeat_at,
                    run_ended=view.run_ended,
                    resumes=self._resume,
                    attempt=request.attempt,
                    by_run=run.run if run is not None else None,
                )
                if isinstance(passed, Blocked):
                    raise Refused(noted(passed, view.policy))
                if standing is not None:
                    _require_unmerged(view, standing.record)
                ours = await require_run(view, run) if run is not None else None
                before = _beginning(view, standing)
                work = await self._work(view, before, policy, issue_, request)
                record = _claimed(view, before, request, passed, work, login, ours)
                opening = _check_run_permit(view, record, author)
                record = permits.opened(record, opening, round_id=secrets.token_hex(6), author=author, now=view.now)
                won = await self._write(view, standing, record)
                if isinstance(won, Journaled):
                    results = await self._actor.send(view, won, view.head or NothingPublished(None), opening)
                    soon = timedelta(0) if due(record, now=view.now) else SETTLE_AFTER
                    await self._pokes.poke(view.key, due_at=view.now + soon)
                    if not any(isinstance(result, Unknown) for result in results):
                        require_fenced(won.standing.record, await self._fencing.outcome(view, won.standing.record))
                        return self._grant(view, won.standing, policy)
                view = await self._views.look(owner, name, ticket)
                policy, issue_ = _policy_and_issue(view)
        raise Refused(_overtaken(view.record))

    async def granted(self, owner: str, name: str, ticket: TicketId, claims: Claims) -> Grant:
        """The grant of the lease that stands, for whoever has its token: as it is now. Raises Refused, GitHubError."""
        view = await self._views.look(owner, name, ticket)
        require_own(claims, view.repo.id)
        policy, _ = _policy_and_issue(view)
        if view.standing is None:
            raise Refused(Blocked(Code.NOT_FOUND, "the ticket has no ledger", "claim it first"))
        lease = present_lease(view.standing.record, claims, repository_id=view.repo.id, ticket=ticket)
        if isinstance(lease, Blocked):
            raise Refused(lease)
        return self._grant(view, view.standing, policy)

    async def _write(self, view: View, standing: Standing | None, record: Record) -> Journaled | None:
        if standing is None:
            if isinstance(view.ticket, Child):
                raise Refused(_never_spawned(view.ticket))
            # Birth: the ledger first stands without a holder, under both places; the claim then takes `done/` away.
            born = Record(ticket=view.ticket, sequence=1, status="unclaimed")
            outcome = await self._journal.write(view, None, born, "born", when=view.now)
            if not isinstance(outcome, Journaled):
                self._require_decided(outcome)
                return None
            standing = outcome.standing
        event = "claimed" if record.generation == 1 else f"claimed by generation {record.generation}"
        if standing.place == "done":
            event = f"came back: {event}"
        because = f"generation {record.generation} begins"
        outcome = await self._fencing.write(view, standing, record, event, because=because)
        if isinstance(outcome, Journaled):
            return outcome
        self._require_decided(outcome, fences=bool(may_still_merge(record)))
        return None

    async def _shown(self, view: View, standing: Standing, author: str) -> bool:
        """Whether a claim that was granted before may be answered. The process that granted it may have died before it
        made the check-run of the new generation, or GitHub may not have answered: where none is found it is made now,
        under the permit that was left (R4, R18). False where something was written, or somebody else wrote meanwhile.
        """
        record, head = standing.record, view.head
        sha = shown_head(head) if head is not None else None
        left = tuple(
            p
            for p in record.open
            if (p.kind, p.target.generation, p.target.head_sha) == ("check_run_create", record.generation, sha)
            and (p.author == author or not self._authors.is_running(p.author))
        )
        if head is None or not left or await self._actor.probe(view, left):
            return True
        adopted = permits.adopted(record, left, author=author, now=view.now)
        outcome = await self._journal.write(view, standing, adopted, "permits adopted", when=view.now)
        if not isinstance(outcome, Journaled):
            self._require_decided(outcome)
            return False
        await self._actor.send(view, outcome, head, [p for p in outcome.standing.record.open if p.author == author])
        # What it came to is noted by the loop, which adopts what this run leaves open.
        return False

    def _require_decided(self, outcome: Lost | Undecided, *, fences: bool = False) -> None:
        if isinstance(outcome, Undecided) and fences:
            raise Refused(unresolved(outcome.reason))
        if isinstance(outcome, Undecided):
            raise Refused(
                Blocked(
                    Code.UNKNOWN_OUTCOME,
                    f"GitHub does not say whether the claim was written: {outcome.reason}",
                    "run the same command again: the same claim id gets the same grant",
                    retryable=True,
                )
            )

    async def _work(self, view: View, before: Record, policy: Policy, issue_: Issue, request: ClaimRequest) -> Work:
        known = before.work
        if isinstance(view.ticket, Child):
            return _work_of_child(view.ticket, known)
        recorded = known.trunk if known else None
        if recorded is not None and request.trunk not in (None, recorded):
            raise Refused(
                Blocked(
                    Code.TRUNK_UNCLEAR,
                    f"the ticket's work goes to {recorded!r}",
                    "claim without --trunk; a ticket that was begun is moved by a person",
                )
            )
        existing = await self._existing(view, policy, recorded)
        names = [b.name for b in existing]
        default = view.observation.default_branch
        trunks = [name for name in names if is_trunk(name, policy.trunks, default)]
        released = trunk_of_release(view.observation, policy, trunks)
        chosen = choose_trunk(request.trunk, recorded, names, policy.trunks, default, released)
        if isinstance(chosen, Blocked):
            raise Refused(chosen)
        head = next(b.sha for b in existing if b.name == chosen.name)
        if known is not None and before.published is not None:
            return known
        # Nothing was published yet, so the work may as well start from the trunk as it is now.
        branch = known.branch if known else ticket_branch(view.ticket, issue_.title)
        blocking = in_the_way(branch, [b.name for b in view.observation.branches])
        if blocking is not None:
            raise Refused(
                Blocked(
                    Code.BRANCH_BLOCKED,
                    f"the branch {blocking!r} leaves no room for {branch!r}",
                    f"rename or delete the branch {blocking!r}, then claim again",
                )
            )
        return Work(branch=branch, trunk=chosen.name, base_sha=head)

    async def _existing(self, view: View, policy: Policy, recorded: str | None) -> list[Branch]:
        if recorded is not None:
            trunk = view.observation.trunk
            return [trunk] if trunk is not None else []
        found = await asyncio.gather(*(view.repo.find_branches(p) for p in literal_prefixes(policy.trunks)))
        return [branch for branches in found for branch in branches]

    def _grant(self, view: View, standing: Standing, policy: Policy) -> Grant:
        record, lease, work = standing.record, standing.record.lease, standing.record.work
        if lease is None or work is None:
            raise Refused(Blocked(Code.FROZEN, "the record names no holder or no trunk", "a person has to look"))
        claims = Claims(view.repo.id, view.ticket, lease.generation, lease.nonce)
        published = record.published.sha if record.published else None
        return Grant(
            repository=RepositoryInfo(
                id=view.repo.id, owner=view.repo.owner, name=view.repo.name, clone_url=view.repo.clone_url
            ),
            ticket=view.ticket,
            generation=lease.generation,
            nonce=lease.nonce,
            lease_token=issue(*self._keys.lease_key, claims),
            expires_at=lease.expires_at,
            ttl_s=int(policy.lease.ttl.total_seconds()),
            heartbeat_every_s=int(policy.lease.heartbeat.total_seconds()),
            max_gap_s=int(policy.checkpoint.max_gap.total_seconds()),
            ledger_ref=view.ledger.refs.active(view.ticket),
            ledger_head=standing.entry.sha,
            namespace=view.ledger.refs.namespace,
            branch=work.branch,
            trunk=work.trunk,
            base_sha=work.base_sha,
            published_sha=published,
            head_sha=published or work.base_sha,
            public_keys=self._keys.public_keys_base64(),
            verify=policy.verify,
            brief=brief_of(view, standing.record, just_granted=True),
        )


def _work_of_child(child: Child, known: Work | None) -> Work:
    """Where a child works was decided when it was spawned: at that snapshot its result is judged."""
    if known is None:
        raise Refused(_never_spawned(child))
    return known


def _never_spawned(child: Child) -> Blocked:
    return Blocked(
        Code.NOT_FOUND,
        f"#{child.parent} has no child {child.name!r}",
        f"the holder of #{child.parent} spawns it: `agent-recovery child spawn {child.name}`",
    )


def _policy_and_issue(view: View) -> tuple[Policy, Issue]:
    """The policy and Issue of a ticket that could be claimed at all. Raises Refused."""
    if view.frozen is not None:
        raise Refused(frozen_refusal(view))
    found = open_issue(view.observation, view.ticket)
    if isinstance(found, Blocked):
        raise Refused(found)
    policy = view.usable_policy
    if policy is None:
        raise Refused(no_policy(view.policy))
    return policy, found


def _require_unmerged(view: View, record: Record) -> None:
    """Raises Refused where a merge was sent and the PR shows it: the ticket is landing, and nobody works on it."""
    pull = merged_pull(record, view.observation) if may_still_merge(record) else None
    if pull is not None:
        raise Refused(landed_before(record, pull.number, pull.base))


def _is_same_claim(record: Record, request: ClaimRequest, login: str, run: RunClaims | None) -> bool:
    # Who claims, too: a claim id is chosen by its caller, and another that guesses it must not get the token.
    lease = record.lease
    by = (_hashed(request.claim_id), login, run.run if run is not None else None)
    return lease is not None and (lease.claim_id_hash, lease.login, lease.run) == by


def _overtaken(record: Record | None) -> Blocked:
    """Every try found the ledger moved, though nobody else was granted the ticket meanwhile."""
    lease = record.lease if record else None
    last = ""
    if lease is not None:
        until = instant_text(lease.expires_at)
        last = f"; its last holder is {lease.holder}, generation {lease.generation}, until {until}"
    return Blocked(
        Code.LOST_RACE,
        f"others kept writing to the ticket{last}",
        "claim again in a minute; the same claim id is safe to repeat",
        retryable=True,
        holder=lease.holder if lease else None,
        generation=record.generation if record else 0,
    )


def _hashed(claim_id: str) -> str:
    return hashlib.sha256(claim_id.encode()).hexdigest()


def _beginning(view: View, standing: Standing | None) -> Record:
    """What the claim builds on: for an ended ticket, the beginning of its next life."""
    if standing is None:
        return Record(ticket=number_of(view.ticket), child=child_name_of(view.ticket), sequence=1, status="unclaimed")
    return returned(standing.record, view.observation) if standing.place == "done" else standing.record


def _claimed(
    view: View, before: Record, request: ClaimRequest, passed: gates.Pass, work: Work, login: str, run: Run | None
) -> Record:
    generation = before.generation + 1
    lease = Lease(
        generation=generation,
        nonce=secrets.token_hex(16),
        holder=request.holder,
        login=login,
        claim_id_hash=_hashed(request.claim_id),
        granted_at=view.now,
        expires_at=view.now + (view.usable_policy or Policy()).lease.ttl,
        renewals_seen=before.renewals,
        run=run,
    )
    # The agent that was started for the ticket comes now, or finds its place taken.
    record = interrupted(claimed(before, request.attempt, run), now=view.now).model_copy(
        update={
            "status": "recovering",
            "generation": generation,
            "lease": lease,
            "work": work,
            "stopped": None,
            "attempts": gates.after_claim(before, passed, now=view.now, heartbeat_at=view.heartbeat_at),
        }
    )
    return record.model_copy(update={"checkpoint": derived(record, record.checkpoint, now=view.now)})


def _check_run_permit(view: View, record: Record, author: str) -> tuple[Permit, ...]:
    """A claim creates the new generation's check-run before it answers, where a head exists (R18)."""
    head = view.head
    if may_still_merge(record):
        # The branch moves on with this very claim; the loop makes the run for the head that comes.
        return ()
    sha = shown_head(head) if head is not None else None
    if sha is None:
        return ()
    action = CreateCheckRun(sha, record.generation, "a new generation begins")
    return (permit_for(action, author=author, round_id="claim"),)
