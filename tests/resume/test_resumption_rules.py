"""What is wished for a ticket that stopped, who may claim with an attempt, and how attempts are counted. Pure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain import attempt, resumption
from app.domain.dispatch_settled import Burned, Started, Unstartable
from app.domain.dispatched import Dispatched, Run
from app.domain.fencing import NothingPublished
from app.domain.gates import Pass, after_claim, may_claim
from app.domain.observation import Branch, Issue, Observation
from app.domain.outcome import Blocked, Code, Exit, exit_code
from app.domain.plan import Abandon, AskPerson, Dispatch, Exhaust, NoteDispatched, Wait
from app.domain.policy import Mode, Policy, ResumePolicy
from app.domain.progress import handed_off
from app.domain.record import Attempts, Intent, Lease, Permit, Record, Target, Work
from app.domain.resumption import wishes
from app.domain.run_seen import RunSeen
from app.domain.settling import Declined, NotSent, Unknown, settle
from app.domain.situation import Situation

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SHA = "a" * 40
RUN = Run(id=7, attempt=1)
STARTING = Policy(mode=Mode.REPAIR, resume=ResumePolicy(dispatch="workflow_dispatch"))
ASKING = Policy(mode=Mode.REPAIR)


def ago(**kwargs: float) -> datetime:
    return NOW - timedelta(**kwargs)


def record(**more: Any) -> Record:
    """A ticket whose holder was never heard of again, half an hour ago."""
    lease = Lease(
        generation=3,
        nonce="n",
        holder="agent",
        login="octo",
        claim_id_hash="h",
        granted_at=ago(minutes=45),
        expires_at=ago(minutes=30),
    )
    given_ = {
        "ticket": 42,
        "sequence": 9,
        "status": "working",
        "generation": 3,
        "lease": lease,
        "work": Work(branch="ticket/42", trunk="release-1", base_sha=SHA),
        "attempts": Attempts(count=1, alive_at=ago(minutes=45)),
    }
    return Record(**(given_ | more))


def situation(of: Record, policy: Policy = STARTING, *, trunk: bool = True, **more: Any) -> Situation:
    seen = Observation(NOW, 1, "acme", "shop", "main", None, Issue(42, "Ripen", "", "OPEN", "ann"))
    seen = replace(seen, trunk=Branch("release-1", SHA) if trunk else None)
    return Situation(
        observation=seen,
        record=of,
        policy=policy,
        head=NothingPublished(None),
        tail=0,
        author_is_dead=lambda _: True,
        **more,
    )


def dispatched(state: str = "open", *, at: datetime | None = None, **more: Any) -> Dispatched:
    given_ = {"attempt": "0" * 16, "start": "workflow_dispatch", "generation": 3, "at": at or ago(minutes=1)}
    return Dispatched(**(given_ | {"state": state, "workflow": "agent.yml"} | more))


OLD = Attempts(count=1, alive_at=ago(hours=9), interrupted_at=ago(hours=8))
USED_UP = Attempts(count=3, alive_at=ago(hours=1), interrupted_at=ago(minutes=50))
FREE = {"lease": None, "status": "unclaimed", "attempts": Attempts()}
ALIVE = record().lease.model_copy(update={"expires_at": NOW + timedelta(minutes=5)})  # type: ignore[union-attr]
NEW_WORD, OLD_WORD = Intent(by="ann", at=ago(seconds=5)), Intent(by="ann", at=ago(hours=2))


@pytest.mark.parametrize(
    ("of", "policy", "kinds"),
    [
        (record(), STARTING, [Dispatch]),
        (record(), ASKING, []),
        (record(status="waiting"), STARTING, [Dispatch]),
        (record(status="ready"), STARTING, []),
        (record(status="held"), STARTING, []),
        (record(status="cancelled"), STARTING, []),
        (record(lease=ALIVE), STARTING, []),
        (record(generation=0, **FREE), STARTING, []),
        (record(child="docs"), STARTING, []),
        (record(), STARTING.model_copy(update={"mode": Mode.OBSERVE}), []),
        (record(), Policy(mode=Mode.FULL, resume=ResumePolicy(enabled=False, dispatch="workflow_dispatch")), []),
        (record(attempts=USED_UP), STARTING, [Exhaust]),
        (record(attempts=USED_UP), ASKING, [Exhaust]),
        (record(attempts=OLD), STARTING, [Abandon]),
        (record(attempts=OLD), ASKING, [Abandon]),
        (record(attempts=OLD, child="docs"), STARTING, [Exhaust]),
        (record(attempts=OLD, intent=NEW_WORD), STARTING, [Dispatch]),
        (record(**FREE), STARTING, []),
        (record(**FREE, intent=NEW_WORD), STARTING, [Dispatch]),
        (record(**FREE, intent=OLD_WORD, dispatched=dispatched("over")), STARTING, []),
        (record(**FREE, intent=NEW_WORD, dispatched=dispatched("burned")), STARTING, [Dispatch]),
        (record(**FREE, dispatched=dispatched("claimed", generation=2)), STARTING, [AskPerson]),
        (record(dispatched=dispatched()), STARTING, [Wait]),
        (record(dispatched=dispatched(at=ago(minutes=20))), STARTING, [NoteDispatched]),
        (record(dispatched=dispatched(generation=2)), STARTING, [NoteDispatched]),
        (record(dispatched=dispatched("burned")), STARTING, [Dispatch]),
        (record(dispatched=dispatched("unstartable")), STARTING, [Abandon]),
        (record(dispatched=dispatched("unstartable"), intent=NEW_WORD), STARTING, [Dispatch]),
        (record(dispatched=dispatched("unstartable", workflow="other.yml")), STARTING, [Dispatch]),
    ],
)
def test_what_a_ticket_wants(of: Record, policy: Policy, kinds: list[type]) -> None:
    assert [type(wish) for wish in wishes(situation(of, policy))] == kinds


def test_what_surrounds_a_ticket_says_what_it_wants() -> None:
    assert [type(w) for w in wishes(situation(record(), trunk=False))] == [Abandon]
    assert wishes(situation(record(), resumes=False)) == ()
    assert [type(w) for w in wishes(situation(record(lease=ALIVE), run_ended=True))] == [Dispatch]
    command = Policy(mode=Mode.REPAIR, resume=ResumePolicy(dispatch="command"))
    assert [type(w) for w in wishes(situation(record(), command))] == [Wait]
    (wish,) = wishes(situation(record(), command, has_command=True))
    assert isinstance(wish, Dispatch)
    assert (wish.start, wish.workflow) == ("command", None)


@pytest.mark.parametrize(
    ("seen", "over"),
    [
        (RunSeen(RUN, "waiting"), False),
        (RunSeen(RUN, "running"), False),
        (RunSeen(RUN, "completed", conclusion="failure"), True),
        (RunSeen(RUN, "gone"), True),
        (RunSeen(Run(id=7, attempt=2), "running"), True),
        (RunSeen(Run(id=8, attempt=1), "completed"), False),
        (None, False),
    ],
)
def test_a_dispatch_is_over_with_its_run(seen: RunSeen | None, over: bool) -> None:
    (wish,) = wishes(situation(record(dispatched=dispatched(run=RUN)), run=seen))
    assert isinstance(wish, NoteDispatched) is over
    if isinstance(wish, NoteDispatched):
        assert wish.value.state == "over"


def test_a_run_that_waits_for_a_machine_is_waited_for_longer() -> None:
    late = record(dispatched=dispatched(run=RUN, at=ago(minutes=20)))
    assert isinstance(wishes(situation(late, run=RunSeen(RUN, "waiting")))[0], Wait)
    assert isinstance(wishes(situation(late, run=RunSeen(RUN, "running")))[0], NoteDispatched)


COMMAND = {"start": "command", "workflow": None}


@pytest.mark.parametrize(
    ("latest", "with_", "run", "granted"),
    [
        (dispatched(**COMMAND), "0" * 16, None, True),
        (dispatched(**COMMAND), "1" * 16, None, False),
        (dispatched(), "0" * 16, None, False),
        (dispatched(), "0" * 16, RUN, True),
        (dispatched(run=RUN), "0" * 16, RUN, True),
        (dispatched(run=Run(id=9, attempt=1)), "0" * 16, RUN, False),
        (dispatched("claimed", **COMMAND), "0" * 16, None, False),
        (dispatched("over", **COMMAND), "0" * 16, None, False),
        (dispatched("burned", **COMMAND), "0" * 16, None, False),
        (dispatched(generation=2, **COMMAND), "0" * 16, None, False),
        (None, "0" * 16, None, False),
        (dispatched(), None, RUN, False),
        (dispatched("burned"), None, None, True),
    ],
)
def test_who_may_claim_with_an_attempt(
    latest: Dispatched | None, with_: str | None, run: Run | None, granted: bool
) -> None:
    answer = may_claim(
        record(dispatched=latest), STARTING, now=NOW, observed_generation=3, login="o", attempt=with_, by_run=run
    )
    assert isinstance(answer, Pass) is granted
    if isinstance(answer, Blocked):
        assert (answer.code, exit_code(answer.code)) == (Code.ATTEMPT_OVER, Exit.GATE_CLOSED)


def test_an_account_with_the_attempt_of_a_workflow_is_told_how_to_claim_as_anybody() -> None:
    answer = may_claim(
        record(dispatched=dispatched(run=RUN)), STARTING, now=NOW, observed_generation=3, login="o", attempt="0" * 16
    )
    assert isinstance(answer, Blocked)
    assert answer.remedy == (
        "unset AGENT_RECOVERY_ATTEMPT and claim as anybody may; the run shows who it is by GitHub's token"
    )


def _open(of: Record) -> tuple[Record, Permit]:
    (wish,) = (w for w in wishes(situation(of)) if isinstance(w, Dispatch))
    permit = Permit(id="0" * 16, kind="dispatch", target=Target(generation=wish.generation), author="me", round="r")
    return resumption.opened(of.model_copy(update={"open": (permit,)}), wish, permit, situation(of)), permit


@pytest.mark.parametrize("comes", ["0" * 16, None])
def test_one_slot_is_counted_once_whoever_takes_it(comes: str | None) -> None:
    begun, _ = _open(record())
    assert (begun.attempts.count, begun.attempts.interrupted_at) == (2, NOW)
    run = RUN if comes is not None else None
    passed = may_claim(begun, STARTING, now=NOW, observed_generation=3, login="o", attempt=comes, by_run=run)
    assert isinstance(passed, Pass)
    assert after_claim(begun, passed, now=NOW).count == 2
    after = attempt.claimed(begun, comes, run)
    assert after.dispatched is not None
    assert (after.dispatched.state, after.open) == ("claimed" if comes else "over", ())


def test_what_the_answers_to_a_dispatch_make_of_it() -> None:
    begun, permit = _open(record())
    adopted = begun.open[0].model_copy(update={"unanswered": True})
    taken = begun.model_copy(update={"open": (adopted,)})
    for of, result, state, count, left in (
        (begun, Started(permit, RUN), "open", 2, 0),
        (begun, Unknown(permit), "open", 2, 1),
        (begun, NotSent(permit), "over", 1, 0),
        (begun, Declined(permit, "no", NOW), "over", 1, 1),
        (begun, Unstartable(permit, "gone", NOW), "unstartable", 1, 0),
        (taken, NotSent(permit), "burned", 2, 0),
        (taken, Burned(permit, "unknown"), "burned", 2, 0),
    ):
        after = settle(of, [result])
        assert after.dispatched is not None
        assert (after.dispatched.state, after.attempts.count, len(after.open)) == (state, count, left), result
    late = settle(attempt.claimed(begun, "0" * 16), [Started(permit, RUN)])
    assert late.dispatched is not None
    assert (late.dispatched.state, late.dispatched.run) == ("claimed", RUN)


def test_a_mere_handoff_starts_nothing_even_after_a_persons_older_word() -> None:
    handed = handed_off(record(intent=NEW_WORD), now=NOW)
    assert wishes(situation(handed)) == ()


@given(st.lists(st.sampled_from(["comes", "another", "over", "burned"]), max_size=12), st.integers(1, 5))
def test_attempts_are_counted_before_anything_starts_and_never_pass_the_cap(story: list[str], cap: int) -> None:
    policy = Policy(mode=Mode.REPAIR, resume=ResumePolicy(dispatch="workflow_dispatch", max_attempts=cap))
    of, started = record(attempts=Attempts(count=0, alive_at=ago(minutes=45))), 0
    for step in story:
        planned = wishes(situation(of, policy))
        found = [w for w in planned if isinstance(w, Dispatch)]
        if not found:
            assert started == cap
            assert [type(w) for w in planned] == [Exhaust]
            return
        permit = Permit(id=f"{started:016x}", kind="dispatch", target=Target(), author="me", round="r")
        opening = of.model_copy(update={"open": (permit,)})
        of, started = resumption.opened(opening, found[0], permit, situation(of, policy)), started + 1
        assert of.attempts.count == started <= cap
        assert not any(isinstance(w, Dispatch) for w in wishes(situation(of, policy)))
        if step == "burned":
            of = settle(of, [Burned(permit, "unknown")])
        elif step == "over":
            of = attempt.ended(of, "its run ended")
        else:
            of = attempt.claimed(of, permit.id if step == "comes" else None, RUN)
        assert of.attempts.count == started
    assert started <= cap
