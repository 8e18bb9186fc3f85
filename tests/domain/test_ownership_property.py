"""Any order of claims, writes, pushes, handoffs and silence, on the pure rules: who holds a ticket is never in doubt.

I1: a generation has one nonce, and only the head's identity passes the fence. I5: attempts never exceed the cap, and
are counted by the claim itself. I6: what is published under the present lease was pushed by its holder.
"""

from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.domain import gates
from app.domain.checkpoint import Checkpoint, Step
from app.domain.fence import present_lease
from app.domain.observation import Observation
from app.domain.outcome import Blocked
from app.domain.policy import Mode, Policy
from app.domain.progress import alive, handed_off, progressed
from app.domain.pushed import pushed
from app.domain.record import Lease, Record, Work
from app.domain.token import Claims

POLICY = Policy(mode=Mode.REPAIR)
TTL = POLICY.lease.ttl
TICKET, REPOSITORY = 42, 7


class Ownership(RuleBasedStateMachine):
    """One ledger, written by compare-and-set; agents keep every token they ever had."""

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2026, 11, 30, 12, tzinfo=UTC)
        self.record = Record(
            ticket=TICKET,
            sequence=1,
            status="unclaimed",
            work=Work(branch="ticket/42", trunk="release-1", base_sha="b" * 40),
        )
        self.tokens: list[Claims] = []
        self.nonces: dict[int, set[str]] = {}
        self.pushed_by: dict[str, tuple[int, str]] = {}
        self.shas = 0

    @property
    def seen(self) -> Observation:
        return Observation(self.now, REPOSITORY, "acme", "shop", "main", None, None)

    @rule(login=st.sampled_from(["ann", "bob"]), behind=st.integers(0, 1))
    def claim(self, login: str, behind: int) -> None:
        """Take the ticket, from the generation that the claimer saw."""
        before = self.record
        observed = max(before.generation - behind, 0)
        passed = gates.may_claim(before, POLICY, now=self.now, observed_generation=observed, login=login)
        if isinstance(passed, Blocked):
            return
        assert observed == before.generation
        assert before.lease is None or self.now > before.lease.expires_at
        assert passed.attempts_after <= POLICY.resume.max_attempts
        nonce = f"nonce-{len(self.tokens)}"
        lease = Lease(
            generation=before.generation + 1,
            nonce=nonce,
            holder=login,
            login=login,
            claim_id_hash="h",
            granted_at=self.now,
            expires_at=self.now + TTL,
        )
        attempts = gates.after_claim(before, passed, now=self.now)
        assert attempts.count == passed.attempts_after
        changes = {"generation": lease.generation, "lease": lease, "status": "working", "attempts": attempts}
        self._write(before.model_copy(update=changes))
        self.tokens.append(Claims(REPOSITORY, TICKET, lease.generation, nonce))

    @rule(whose=st.integers(0, 9), step=st.sampled_from(["one", "two", ""]))
    def checkpoint(self, whose: int, step: str) -> None:
        """Somebody who once held the ticket saves."""
        if self._passes(whose) is not None:
            done = (Step(id=step, text=step),) if step else ()
            after = progressed(self.record, Checkpoint(completed_steps=done), "working", self.seen)
            assert not isinstance(after, Blocked)
            self._write(alive(after, ttl=TTL, now=self.now))

    @rule(whose=st.integers(0, 9))
    def push(self, whose: int) -> None:
        """Somebody who once held the ticket pushes."""
        lease = self._passes(whose)
        if lease is not None:
            self.shas += 1
            sha = f"{self.shas:040x}"
            self.pushed_by[sha] = self.tokens[whose].identity
            self._write(pushed(self.record, lease, sha, ttl=TTL, now=self.now))

    @rule(whose=st.integers(0, 9))
    def hand_off(self, whose: int) -> None:
        """Somebody who once held the ticket gives it back."""
        if self._passes(whose) is not None:
            self._write(handed_off(self.record, now=self.now))

    @rule(minutes=st.sampled_from([1, 8, 14, 17, 60, 300]))
    def silence(self, minutes: int) -> None:
        """Time goes by, past expiries too."""
        self.now += timedelta(minutes=minutes)

    def _passes(self, whose: int) -> Lease | None:
        if whose >= len(self.tokens):
            return None
        answer = present_lease(self.record, self.tokens[whose], repository_id=REPOSITORY, ticket=TICKET)
        # A lease past its expiry passes as long as nobody took over; an older one never does.
        assert isinstance(answer, Lease) is (self.tokens[whose].identity == self.record.identity)
        return answer if isinstance(answer, Lease) else None

    def _write(self, record: Record) -> None:
        assert record.generation >= self.record.generation
        self.record = record.model_copy(update={"sequence": self.record.sequence + 1})
        if record.lease is not None:
            assert record.lease.expires_at > self.now
            self.nonces.setdefault(record.generation, set()).add(record.lease.nonce)

    @invariant()
    def one_nonce_a_generation(self) -> None:
        assert all(len(nonces) == 1 for nonces in self.nonces.values())
        fitting = [token for token in self.tokens if token.identity == self.record.identity]
        assert len(fitting) == (1 if self.record.lease is not None else 0)

    @invariant()
    def attempts_are_bounded(self) -> None:
        assert self.record.attempts.count <= POLICY.resume.max_attempts

    @invariant()
    def what_is_published_now_was_pushed_by_the_holder(self) -> None:
        published = self.record.published_now
        if published is not None:
            assert self.pushed_by[published.sha] == self.record.identity


TestOwnership = Ownership.TestCase
TestOwnership.settings = settings(max_examples=60, stateful_step_count=40, deadline=None, derandomize=True)
