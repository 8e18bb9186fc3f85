"""Any order of claims, writes, pushes, handoffs, silence, ends and returns, on the pure rules and on real ledger
commits: who holds a ticket, where its ledger lies and what may be merged are never in doubt.

I1: a generation has one nonce, and only the head's identity passes the fence, whoever else seals a commit. I4: a ticket
is in progress exactly while its ledger stands under `active/` and not the same under `done/`. I5: attempts never exceed
the cap, and are counted by the claim itself. I6: what may be merged was pushed or vouched for by the present holder,
was never withdrawn, and no end, handoff or takeover stands between.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from app.domain import fence, gates, life_cycle, progress, pruning, returning
from app.domain import pushed as pushing
from app.domain.checkpoint import Checkpoint, Step
from app.domain.fencing import AtPublished, head_of
from app.domain.issue_gate import open_issue
from app.domain.life_cycle import Ending
from app.domain.model import ZERO_SHA
from app.domain.observation import Branch, Issue, Observation, Pull
from app.domain.outcome import Blocked
from app.domain.policy import Mode, Policy
from app.domain.push_rules import Command, Grounds, Passes, judge
from app.domain.record import TERMINAL, Lease, Published, Record, Work
from app.domain.refs import LedgerRefs, Place
from app.domain.token import Claims, lease_secret
from app.ledger.agent_commits import amend_as_agent
from app.ledger.codec import Entry, commit_sha, draft, draft_text
from app.ledger.seals import LeaseSealer, PublicKeys, ServiceSealer, service_secrets
from app.ledger.verify import Placed, Sound, Tampered, place_is_sound, verify_tail

POLICY = Policy(mode=Mode.REPAIR)
TTL = POLICY.lease.ttl
TICKET, REPOSITORY = 42, 7
REFS = LedgerRefs()
BASE_SHA = "b" * 40
WORK = Work(branch="ticket/42", trunk="release-1", base_sha=BASE_SHA)
OPEN = Issue(number=TICKET, title="Sort", body="", state="OPEN", author="ann")
SEALER = ServiceSealer("s1", Ed25519PrivateKey.from_private_bytes(b"1" * 32))
PUBLIC_KEYS = PublicKeys({SEALER.kid: SEALER.public_key})
LEASE_KEY = b"L" * 32
LEASE_SECRETS = service_secrets({"l1": LEASE_KEY}, REPOSITORY)(TICKET)

STEPS = st.sampled_from(["one", "two", "three", ""])


def is_held(machine: "Ownership") -> bool:
    return machine.in_progress and machine.record.lease is not None


class Ownership(RuleBasedStateMachine):
    """One ledger in its two places, moved by compare-and-set; agents keep every token they ever had."""

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2026, 11, 30, 12, tzinfo=UTC)
        self.refs: dict[Place, Entry] = {}
        self.tail: list[Entry] = []
        self.issue: Issue | None = OPEN
        self.branch: str | None = None
        self.pulls: tuple[Pull, ...] = ()
        self.shas = 0
        self.tokens: list[Claims] = []
        # What really happened, kept apart from the record, to judge it by.
        self.in_progress = False
        self.nonces: dict[int, set[str]] = {}
        self.over: set[tuple[int, str]] = set()
        self.vouched_for: dict[str, set[tuple[int, str]]] = {}
        self.unproven = 0
        self._birth()

    @property
    def head(self) -> Entry:
        return self.tail[0]

    @property
    def record(self) -> Record:
        record = self.head.record
        assert isinstance(record, Record)
        return record

    @property
    def seen(self) -> Observation:
        branches = () if self.branch is None else (Branch(WORK.branch, self.branch),)
        return Observation(
            *(self.now, REPOSITORY, "acme", "shop", "main", None, self.issue),
            branches=branches,
            pulls=self.pulls,
            whereabouts="hidden" if self.issue is None else None,
        )

    @precondition(lambda self: not isinstance(open_issue(self.seen, TICKET), Blocked))
    @rule(
        login=st.sampled_from(["ann", "bob"]),
        behind=st.sampled_from([0, 0, 0, 1]),
        after_minutes=st.sampled_from([0, 30, 30]),
        by_person=st.sampled_from([False, False, False, True]),
        merging=st.booleans(),
        dies=st.booleans(),
    )
    def claim(self, login: str, behind: int, after_minutes: int, by_person: bool, merging: bool, dies: bool) -> None:
        """Take the ticket from the generation that the claimer saw, at once or after the holder fell silent, while a
        merge may be under way. Whoever does not die over it goes to work.
        """
        self.now += timedelta(minutes=after_minutes)
        before = self.record
        observed = max(before.generation - behind, 0)
        passed = gates.may_claim(
            before, POLICY, now=self.now, observed_generation=observed, login=login, by_person=by_person
        )
        if isinstance(passed, Blocked):
            return
        assert observed == before.generation
        assert by_person or before.status != "cancelled" or before.ended is None or before.ended.because != "command"
        if before.lease is not None:
            slow = before.status == "recovering" and self.now > before.lease.granted_at + POLICY.lease.recovering_ttl
            assert slow or self.now > before.lease.expires_at
            self._is_over(before)
        self.unproven = 1 if by_person else 1 + (0 if gates.shows_progress(before) else self.unproven)
        fresh = "active" not in self.refs
        begun = returning.returned(before, self.seen) if fresh else before
        lease = Lease(
            generation=begun.generation + 1,
            nonce=f"nonce-{len(self.tokens)}",
            holder=login,
            login=login,
            claim_id_hash="h",
            granted_at=self.now,
            expires_at=self.now + TTL,
            renewals_seen=begun.renewals,
        )
        changes = {
            "generation": lease.generation,
            "lease": lease,
            "status": "recovering",
            "work": begun.work or WORK,
            "attempts": gates.after_claim(begun, passed, now=self.now, by_person=by_person),
            "burned_shas": self._burned(begun) if merging else begun.burned_shas,
        }
        self.tokens.append(Claims(REPOSITORY, TICKET, lease.generation, lease.nonce))
        self.in_progress = True
        self._write(begun.model_copy(update=changes), "claimed")
        assert self.record.attempts.count == self.unproven
        if not dies:
            self._show_evidence()

    @precondition(is_held)
    @rule()
    def evidence(self) -> None:
        """The holder shows that the ticket's work is in its workspace."""
        self._show_evidence()

    def _show_evidence(self) -> None:
        before = self.record
        expected = before.published.sha if before.published else before.base_sha
        assert before.lease is not None
        assert expected is not None
        after = progress.recovered(before, before.lease, expected, self.seen)
        assert isinstance(after, Record)
        self.vouched_for.setdefault(expected, set()).add(self.tokens[-1].identity)
        self._write(progress.alive(after, ttl=TTL, now=self.now), "recovered")

    @precondition(is_held)
    @rule(step=STEPS)
    def checkpoint(self, step: str) -> None:
        """The holder saves."""
        after = progress.progressed(self.record, _completed(step), "working", self.seen)
        assert not isinstance(after, Blocked)
        self.unproven = 0 if after.attempts.count == 0 else self.unproven
        self._write(progress.alive(after, ttl=TTL, now=self.now), "saved")

    @precondition(is_held)
    @rule(again=st.booleans())
    def push(self, again: bool) -> None:
        """The holder pushes plainly, perhaps what was withdrawn."""
        before = self.record
        assert before.lease is not None
        sha = before.burned_shas[-1] if again and before.burned_shas else self._new_sha()
        command = Command(f"refs/heads/{WORK.branch}", self.branch or ZERO_SHA, sha)
        answer = judge([command], Grounds(TICKET, REFS, before, self.head.sha, self.branch))
        published = before.published.sha if before.published else None
        # A branch that outlived a pruned ledger holds commits that the holder has to adopt first.
        assert isinstance(answer, Passes) is (sha not in before.burned_shas and self.branch in (None, published))
        if isinstance(answer, Passes):
            self._pushed(sha, self.tokens[-1])
            self._write(pushing.pushed(before, before.lease, sha, ttl=TTL, now=self.now), "pushed")

    @precondition(is_held)
    @rule(older=st.sampled_from([0, 0, 1, 2]), again=st.booleans(), step=STEPS)
    def push_by_git(self, older: int, again: bool, step: str) -> None:
        """Somebody who holds or once held the ticket writes its ledger and asks nobody: what counts are the seals."""
        before, claims = self.record, self.tokens[max(-1 - older, -len(self.tokens))]
        sha = before.burned_shas[-1] if again and before.burned_shas else self._new_sha()
        said = Published(sha=sha, generation=claims.generation, nonce=claims.nonce)
        made = draft_text(
            ref=REFS.active(TICKET),
            parent=self.head.sha,
            code_parent=sha,
            record_text=amend_as_agent(self.head, checkpoint=_completed(step), published=said, status="working"),
            event="pushed",
            repository_id=REPOSITORY,
            sealer=LeaseSealer("l1", claims.generation, claims.nonce, lease_secret(LEASE_KEY, claims)),
            request=None,
            when=self.now,
            nonce=None,
            numbers=(TICKET, before.generation, before.sequence + 1),
        )
        entry = made.entry(commit_sha(made))
        honest = claims.identity == before.identity and sha not in before.burned_shas
        assert isinstance(_judged([entry, *self.tail]), Sound if honest else Tampered)
        if honest:
            self._pushed(sha, claims)
            self._move("active", entry)
            self.tail.insert(0, entry)

    @precondition(is_held)
    @rule()
    def hand_off(self) -> None:
        """The holder gives the ticket back."""
        self._is_over(self.record)
        self.unproven = 0
        self._write(progress.handed_off(self.record, now=self.now), "handed off")

    @precondition(lambda self: self.record.status not in TERMINAL)
    @rule(by=st.sampled_from(["command", "closed", "hidden"]), merging=st.booleans())
    def cancel(self, by: str, merging: bool) -> None:
        """A person ends the ticket, while a merge may be under way."""
        if by == "command":
            how: Ending | None = Ending("cancelled", "command", "a person cancelled it")
        else:
            self.issue = None if by == "hidden" else replace(OPEN, state="CLOSED", state_reason="NOT_PLANNED")
            how = life_cycle.ending(self.record, self.seen)
        assert how is not None
        assert how.status == "cancelled"
        self._end(how, self._burned(self.record) if merging else self.record.burned_shas)

    @precondition(lambda self: self._may_merge() is not None)
    @rule(branch_goes=st.booleans())
    def land(self, branch_goes: bool) -> None:
        """What may be merged is merged, and the Issue closed."""
        self._merge(self._may_merge())
        self.issue = replace(OPEN, state="CLOSED", state_reason="COMPLETED")
        self.branch = None if branch_goes else self.branch
        how = life_cycle.ending(self.record, self.seen)
        assert how is not None
        assert how.status == "landed"
        self._end(how, self.record.burned_shas)

    @precondition(lambda self: self.record.status == "cancelled" and self.record.published is not None)
    @rule()
    def late_merge(self) -> None:
        """A person merges the cancelled ticket's PR by hand."""
        self._merge(self.record.published.sha if self.record.published else None)
        how = life_cycle.ending(self.record, self.seen)
        if how is not None:
            self._end(how, self.record.burned_shas)

    @precondition(lambda self: self.issue != OPEN)
    @rule()
    def reopen(self) -> None:
        """The Issue is there and open; nothing comes back by itself."""
        self.issue = OPEN
        assert self.record.status not in TERMINAL or life_cycle.ending(self.record, self.seen) is None

    @precondition(lambda self: self.record.status in TERMINAL and self.record.pruned is None)
    @rule()
    def prune(self) -> None:
        """Nobody asks for the ended ticket for as long as it is retained."""
        self.now = max(self.now, self._ended_at() + POLICY.retention)
        assert pruning.is_due(self.record, POLICY, now=self.now)
        self._put(pruning.tombstone(self.record, now=self.now), pruning.PRUNED, "done", alone=True)

    @rule(minutes=st.sampled_from([1, 8, 14, 17, 60, 300]))
    def silence(self, minutes: int) -> None:
        """Time goes by, past expiries too."""
        self.now += timedelta(minutes=minutes)

    def _is_over(self, record: Record) -> None:
        if record.identity is not None:
            self.over.add(record.identity)

    def _burned(self, record: Record) -> tuple[str, ...]:
        published = record.published_now
        return record.burned_shas if published is None else (*record.burned_shas, published.sha)

    def _new_sha(self) -> str:
        self.shas += 1
        return f"{self.shas:040x}"

    def _pushed(self, sha: str, claims: Claims) -> None:
        self.vouched_for.setdefault(sha, set()).add(claims.identity)
        self.branch = sha
        closed = tuple(pull for pull in self.pulls if pull.state == "MERGED")
        number = 100 + len(closed)
        mine = Pull(number, f"P{number}", "OPEN", True, "", "", WORK.branch, sha, WORK.trunk, "acme/shop")
        self.pulls = (mine, *closed)

    def _merge(self, sha: str | None) -> None:
        self.pulls = tuple(replace(p, state="MERGED") if p.head_sha == sha else p for p in self.pulls)

    def _may_merge(self) -> str | None:
        """What a merge is allowed for now: new work at the branch's head, published with the fence."""
        head = head_of(self.record, self.seen, None)
        is_new = isinstance(head, AtPublished) and head.sha != self.record.base_sha
        return head.sha if isinstance(head, AtPublished) and head.fenced and is_new else None

    def _ended_at(self) -> datetime:
        assert self.record.ended is not None
        return self.record.ended.at

    def _end(self, how: Ending, burned: tuple[str, ...]) -> None:
        self._is_over(self.record)
        self.in_progress, self.unproven = False, 0
        before = self.record.model_copy(update={"burned_shas": burned})
        self._put(life_cycle.ended(before, how, now=self.now), how.status, "done")

    def _write(self, record: Record, event: str) -> None:
        assert record.lease is None or record.lease.expires_at > self.now
        self._put(record, event, "active")

    def _birth(self) -> None:
        born = Record(ticket=TICKET, sequence=1, status="unclaimed")
        self._put(born, "born", "active", alone=True)
        self.refs["done"] = self.refs["active"]

    def _put(self, record: Record, event: str, to: Place, *, alone: bool = False) -> None:
        """The service's commit; the one update that publishes it takes the ledger out of the other place."""
        sequence = self.record.sequence + 1 if self.refs else 1
        made = draft(
            ref=REFS.at(to, TICKET),
            parent=None if alone else self.head.sha,
            code_parent=record.published.sha if record.published and not alone else None,
            record=record.model_copy(update={"sequence": sequence}),
            event=event,
            repository_id=REPOSITORY,
            sealer=SEALER,
            request=None,
            when=self.now,
        )
        entry = made.entry(commit_sha(made))
        self._move(to, entry)
        self.tail = [entry]

    def _move(self, to: Place, entry: Entry) -> None:
        assert isinstance(entry.record, Record)
        if self.refs:
            assert entry.record.generation >= self.record.generation
        if entry.record.lease is not None:
            self.nonces.setdefault(entry.record.generation, set()).add(entry.record.lease.nonce)
        self.refs = {to: entry}

    @invariant()
    def one_nonce_a_generation(self) -> None:
        assert all(len(nonces) == 1 for nonces in self.nonces.values())
        assert self.record.generation == len(self.tokens)
        fitting = [token for token in self.tokens if token.identity == self.record.identity]
        assert len(fitting) == (1 if self.record.lease is not None else 0)

    @invariant()
    def only_the_heads_token_passes(self) -> None:
        for claims in self.tokens:
            answer = fence.present_lease(self.record, claims, repository_id=REPOSITORY, ticket=TICKET)
            # A lease past its expiry passes as long as nobody took over; an older one never does.
            assert isinstance(answer, Lease) is (self.in_progress and claims.identity == self.record.identity)

    @invariant()
    def the_ledger_is_believed(self) -> None:
        judged = _judged(self.tail)
        assert isinstance(judged, Sound), judged
        assert judged.unchecked == 0

    @invariant()
    def the_place_says_whether_it_is_in_progress(self) -> None:
        active, done = self.refs.get("active"), self.refs.get("done")
        placed = place_is_sound(active, done)
        assert isinstance(placed, Placed), placed
        assert self.in_progress is (active is not None and (done is None or done.sha != active.sha))
        assert self.in_progress is (placed.place == "active" and not placed.unborn)

    @invariant()
    def attempts_are_bounded(self) -> None:
        assert max(self.record.attempts.count, self.unproven) <= POLICY.resume.max_attempts

    @invariant()
    def what_may_be_merged_is_the_holders(self) -> None:
        published = self.record.published_now
        if published is not None:
            identity = (published.generation, published.nonce)
            assert self.in_progress
            assert identity not in self.over
            assert identity == self.record.identity
            assert identity in self.vouched_for[published.sha]
            assert published.sha not in self.record.burned_shas
        assert self._may_merge() in (None, published.sha if published else None)


def _completed(step: str) -> Checkpoint:
    return Checkpoint(completed_steps=(Step(id=step, text=step),) if step else (), next_steps=(Step(id="n", text="n"),))


def _judged(entries: list[Entry]) -> object:
    return verify_tail(
        entries,
        ticket=TICKET,
        refs=REFS,
        repository_id=REPOSITORY,
        public_keys=PUBLIC_KEYS,
        lease_secrets=LEASE_SECRETS,
    )


TestOwnership = Ownership.TestCase
TestOwnership.settings = settings(max_examples=80, stateful_step_count=40, deadline=None, derandomize=True)


def _changed(function: Callable[..., Any], **changes: object) -> Callable[..., Any]:
    """A rule that is right but for these fields of what it answers."""
    return lambda *args, **named: function(*args, **named).model_copy(update=changes)


def _keeps_the_lease(record: Record, how: Ending, *, now: datetime) -> Record:
    return RIGHT_END(record, how, now=now).model_copy(update={"lease": record.lease})


def _keeps_the_generation(record: Record, observation: Observation) -> Record:
    return RIGHT_RETURN(record, observation).model_copy(update={"generation": max(record.generation - 1, 0)})


def _leaves_active(machine: Ownership, to: Place, entry: Entry) -> None:
    before = machine.refs
    RIGHT_MOVE(machine, to, entry)
    machine.refs = {**before, **machine.refs} if to == "done" else machine.refs


def _stamps_what_is_burned(record: Record, lease: Lease, head_sha: str, observation: Observation) -> Any:
    after = RIGHT_EVIDENCE(record.model_copy(update={"burned_shas": ()}), lease, head_sha, observation)
    return after.model_copy(update={"burned_shas": record.burned_shas}) if isinstance(after, Record) else after


def _passes_anybody(record: Record, claims: Claims, **_: object) -> Any:
    return record.lease or RIGHT_FENCE(record, claims, repository_id=REPOSITORY, ticket=TICKET)


RIGHT_END, RIGHT_RETURN, RIGHT_MOVE = life_cycle.ended, returning.returned, Ownership._move
RIGHT_EVIDENCE, RIGHT_FENCE = progress.recovered, fence.present_lease

BROKEN = [
    pytest.param(fence, "present_lease", _passes_anybody, "only_the", id="I1-an-older-lease-passes-the-fence"),
    pytest.param(returning, "returned", _keeps_the_generation, "one_nonce", id="I1-a-return-keeps-the-generation"),
    pytest.param(Ownership, "_move", _leaves_active, "the_place", id="I4-an-end-leaves-active-standing"),
    pytest.param(life_cycle, "ended", _changed(RIGHT_END, status="working"), "the_place", id="I4-an-end-in-words-only"),
    pytest.param(gates, "after_claim", _changed(gates.after_claim, count=0), "claim", id="I5-a-claim-is-not-counted"),
    pytest.param(gates, "_gates", lambda *_: None, "attempts_are", id="I5-nothing-stops-the-next-attempt"),
    pytest.param(life_cycle, "ended", _keeps_the_lease, "what_may", id="I6-an-end-keeps-the-lease"),
    pytest.param(progress, "recovered", _stamps_what_is_burned, "what_may", id="I6-a-withdrawn-commit-comes-back"),
]


@pytest.mark.parametrize(("owner", "name", "wrong", "found_by"), BROKEN)
def test_a_broken_rule_is_found(
    owner: object, name: str, wrong: object, found_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    first_failure = settings(
        TestOwnership.settings, max_examples=300, phases=[Phase.generate], report_multiple_bugs=False, database=None
    )
    with pytest.raises(AssertionError) as failure:
        run_state_machine_as_test(Ownership, settings=first_failure)
    assert any(entry.name.startswith(found_by) for entry in failure.traceback)
