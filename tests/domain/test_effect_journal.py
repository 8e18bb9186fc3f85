"""The journal of effects: one key lets one execution through, ever, and nothing is concluded from silence."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from app.domain import effect_findings
from app.domain.admitted_again import admitted_again
from app.domain.attendance import of_holder
from app.domain.effect import Effect, Kind, needs_approval
from app.domain.effect_api import EffectIntent, EffectOutcome
from app.domain.effect_journal import (
    KEPT_SETTLED,
    MAX_KEYS,
    MAX_UNSETTLED,
    Noted,
    admitted,
    dispatched,
    due,
    find,
    intended,
    interrupted,
    lost_room,
    needs_person,
    reported,
    seen,
    unknown,
)
from app.domain.effect_probe import CannotTell, NothingThere, Present, TagProbe
from app.domain.effect_report import settling
from app.domain.observation import Observation
from app.domain.outcome import Blocked, Code
from app.domain.plan import AskAboutEffect, ProbeEffect
from app.domain.progress import handed_off
from app.domain.record import Lease, Record

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
A, B = "attempt-a", "attempt-b"


def lease(generation: int = 1) -> Lease:
    return Lease(
        generation=generation,
        nonce=f"n{generation}",
        holder="agent",
        login="wanda",
        claim_id_hash="0" * 64,
        granted_at=NOW,
        expires_at=NOW + timedelta(minutes=15),
    )


def held(generation: int = 1, **more: Any) -> Record:
    return Record(ticket=42, sequence=5, status="working", generation=generation, lease=lease(generation), **more)


def intent(key: str = "tag-1", kind: str = "tag", probe: Any = None) -> EffectIntent:
    return EffectIntent(key="k" * 8, seq=1, effect=key, kind=Kind(kind), probe=probe)


def outcome(result: str, attempt: str = A, **more: Any) -> EffectOutcome:
    return EffectOutcome.model_validate({"key": "k" * 8, "seq": 3, "attempt": attempt, "outcome": result, **more})


def done(answer: Noted | Blocked) -> Noted:
    assert isinstance(answer, Noted), answer
    return answer


def refusal(answer: Noted | Blocked) -> Blocked:
    assert isinstance(answer, Noted), answer
    assert answer.denied is not None
    assert not answer.go
    return answer.denied


def begun(probe: Any = None, key: str = "tag-1") -> Record:
    record = done(intended(held(), lease(), intent(key, probe=probe), now=NOW)).record
    return done(dispatched(record, lease(), key, A, now=NOW)).record


def taken_over(record: Record) -> Record:
    """The record after generation 2 took the ticket, as a claim makes it."""
    ended = interrupted(record, now=NOW)
    return ended.model_copy(update={"generation": 2, "lease": lease(2)})


def state(record: Record, key: str = "tag-1") -> str:
    effect = find(record, key)
    assert effect is not None
    return effect.state


# --- the ordinary way ---


def test_intended_then_let_through_then_confirmed() -> None:
    first = done(intended(held(), lease(), intent(), now=NOW))
    assert (first.effect.state, first.go, first.effect.login) == ("intended", False, "wanda")
    through = done(dispatched(first.record, lease(), "tag-1", A, now=NOW))
    assert (through.effect.state, through.go) == ("dispatching", True)
    word = outcome("confirmed", exit_code=0, remote_id="refs/tags/v1", note="pushed")
    end = done(reported(through.record, word, "tag-1", now=NOW))
    assert (end.effect.state, end.effect.result.by, end.effect.result.remote_id) == (  # type: ignore[union-attr]
        "confirmed",
        "command",
        "refs/tags/v1",
    )
    assert len(end.record.effects) == 1


@pytest.mark.parametrize("result", ["confirmed", "failed_no_effect"])
def test_a_second_run_of_a_settled_key_gets_the_first_result_and_may_not_go(result: str) -> None:
    record = done(reported(begun(), outcome(result, exit_code=4), "tag-1", now=NOW)).record
    for answer in (
        intended(record, lease(), intent(), now=NOW),
        dispatched(record, lease(), "tag-1", B, now=NOW),
        reported(record, outcome("unknown", attempt=B), "tag-1", now=NOW),
        seen(record, "tag-1", NothingThere("nothing"), now=NOW),
    ):
        again = done(answer)
        assert (again.record, again.effect.state, again.go) == (record, result, False)


def test_the_same_attempt_is_let_through_again_and_no_other() -> None:
    record = begun()
    assert done(dispatched(record, lease(), "tag-1", A, now=NOW)).go
    assert not done(dispatched(record, lease(), "tag-1", B, now=NOW)).go


def test_only_the_attempt_that_was_let_through_tells_its_end() -> None:
    refused = reported(begun(), outcome("confirmed", attempt=B), "tag-1", now=NOW)
    assert isinstance(refused, Blocked)
    assert refused.code is Code.STALE_REQUEST


def test_a_key_is_of_one_kind() -> None:
    refused = intended(begun(), lease(), intent(kind="comment"), now=NOW)
    assert isinstance(refused, Blocked)
    assert refused.code is Code.USAGE


@pytest.mark.parametrize("word", ["dispatched", "reported", "seen"])
def test_what_was_never_intended_is_refused(word: str) -> None:
    answers = {
        "dispatched": dispatched(held(), lease(), "x", A, now=NOW),
        "reported": reported(held(), outcome("confirmed"), "x", now=NOW),
        "seen": seen(held(), "x", Present("there"), now=NOW),
    }
    answer = answers[word]
    assert isinstance(answer, Blocked)
    assert answer.code is Code.NOT_FOUND


def test_who_reads_the_ledger_cannot_tell_the_end_of_anothers_execution() -> None:
    after = taken_over(begun())
    assert A not in after.model_dump_json()
    read = after.effects[0].attempt
    assert read is not None
    lie = reported(after, outcome("failed_no_effect", attempt=read), "tag-1", now=NOW)
    assert isinstance(lie, Blocked)
    assert lie.code is Code.STALE_REQUEST


# --- approval ---


@pytest.mark.parametrize("kind", list(Kind))
def test_what_cannot_be_undone_waits_for_a_persons_approval_of_this_effect_in_this_generation(kind: Kind) -> None:
    asked = done(intended(held(2), lease(2), intent(kind=kind), now=NOW)).record
    answer = dispatched(asked, lease(2), "tag-1", A, now=NOW)
    if not needs_approval(kind, of_holder(None)):
        assert done(answer).go
        return
    assert refusal(answer).code is Code.EFFECT_NOT_APPROVED
    for wrong in ({"effect": "tag-1", "generation": 1}, {"effect": "tag-2", "generation": 2}, {}):
        still = asked.model_copy(update={"approvals": (wrong,)})
        assert refusal(dispatched(still, lease(2), "tag-1", A, now=NOW))
    approved = asked.model_copy(update={"approvals": ({"effect": "tag-1", "generation": 2},)})
    assert done(dispatched(approved, lease(2), "tag-1", A, now=NOW)).go


def test_a_holder_who_calls_it_dispatching_in_its_own_commit_has_no_approval_by_that() -> None:
    asked = done(intended(held(2), lease(2), intent(kind="migration"), now=NOW)).record
    approved = asked.model_copy(update={"approvals": ({"effect": "tag-1", "generation": 2},)})
    through = done(dispatched(approved, lease(2), "tag-1", A, now=NOW)).record
    assert done(dispatched(through, lease(2), "tag-1", A, now=NOW)).go
    pushed = through.model_copy(update={"approvals": ()})
    refused = refusal(dispatched(pushed, lease(2), "tag-1", A, now=NOW))
    assert refused.code is Code.EFFECT_NOT_APPROVED


def test_the_kinds_that_need_approval() -> None:
    assert {kind.value for kind in Kind if needs_approval(kind, of_holder(None))} == {
        "deploy.production",
        "migration",
        "publish",
        "release",
        "cloud.destroy",
        "email",
        "notify",
        "billing",
    }
    assert needs_approval("something.newer", of_holder(None))


# --- interruptions ---


def test_a_takeover_makes_what_was_on_its_way_unknown() -> None:
    after = taken_over(begun())
    assert state(after) == "unknown"
    assert [e.key for e in unknown(after)] == ["tag-1"]
    for answer in (
        intended(after, lease(2), intent(), now=NOW),
        dispatched(after, lease(2), "tag-1", B, now=NOW),
        dispatched(after, lease(2), "tag-1", A, now=NOW),
    ):
        assert (done(answer).effect.state, done(answer).go) == ("unknown", False)


def test_what_was_never_let_through_is_given_up_and_may_be_taken_up_by_the_next() -> None:
    after = taken_over(done(intended(held(), lease(), intent(), now=NOW)).record)
    assert state(after) == "abandoned"
    assert isinstance(dispatched(after, lease(2), "tag-1", A, now=NOW), Blocked)
    again = done(intended(after, lease(2), intent(), now=NOW))
    assert (again.effect.state, again.effect.identity) == ("intended", (2, "n2"))
    assert done(dispatched(again.record, lease(2), "tag-1", B, now=NOW)).go


def test_a_holder_who_knows_the_attempt_settles_what_its_folder_did_before_the_takeover() -> None:
    end = done(reported(taken_over(begun()), outcome("confirmed", exit_code=0), "tag-1", now=NOW))
    assert (end.effect.state, end.effect.result.by) == ("confirmed", "command")  # type: ignore[union-attr]


def test_settled_effects_outlive_a_takeover() -> None:
    record = done(reported(begun(), outcome("confirmed"), "tag-1", now=NOW)).record
    assert interrupted(record, now=NOW) is record


# --- probes ---


def test_a_probe_that_finds_it_confirms_it() -> None:
    found = done(seen(taken_over(begun(TagProbe(name="v1"))), "tag-1", Present("it stands", "refs/tags/v1"), now=NOW))
    assert (found.effect.state, found.effect.result.by) == ("confirmed", "probe")  # type: ignore[union-attr]


@pytest.mark.parametrize("sighting", [NothingThere("no such tag"), CannotTell("another commit")])
def test_a_probe_that_finds_nothing_concludes_nothing_and_makes_it_a_blocker(sighting: Any) -> None:
    before = taken_over(begun(TagProbe(name="v1")))
    assert effect_findings.judged(before, 0)[0] is False
    after = done(seen(before, "tag-1", sighting, now=NOW)).record
    assert state(after) == "unknown"
    assert needs_person(after.effects[0])
    assert effect_findings.judged(after, 0)[0] is True
    (told,) = effect_findings.blockers(after)
    assert "tag-1" in told
    assert sighting.note in told


def test_an_unknown_effect_without_a_probe_is_a_blocker_at_once() -> None:
    after = taken_over(begun())
    assert "has no probe" in effect_findings.blockers(after)[0]
    assert due(after, now=NOW + timedelta(days=9)) == ()


def test_pauses_between_probes_grow_from_a_minute_to_a_day() -> None:
    record, now, pauses = taken_over(begun(TagProbe(name="v1"))), NOW, []
    assert [e.key for e in due(record, now=now)] == ["tag-1"]
    for _ in range(9):
        record = done(seen(record, "tag-1", NothingThere("no"), now=now)).record
        assert due(record, now=now) == ()
        step = next(s for s in range(1, 10**6) if due(record, now=now + timedelta(minutes=s)))
        pauses.append(step)
        now += timedelta(minutes=step)
    assert pauses == [1, 4, 16, 64, 256, 1024, 1440, 1440, 1440]


# --- keys are never forgotten ---


def test_older_settled_effects_shrink_to_key_and_outcome_and_are_still_answered() -> None:
    record = held()
    for number in range(KEPT_SETTLED + 3):
        key = f"tag-{number}"
        record = done(intended(record, lease(), intent(key), now=NOW)).record
        record = done(dispatched(record, lease(), key, A, now=NOW)).record
        word = outcome("failed_no_effect" if number else "confirmed", exit_code=number)
        record = done(reported(record, word, key, now=NOW)).record
    assert (len(record.effects), len(record.effect_keys)) == (KEPT_SETTLED, 3)
    first = done(intended(record, lease(), intent("tag-0", kind="comment"), now=NOW))
    assert (first.record, first.effect.state, first.effect.result.exit_code) == (record, "confirmed", 0)  # type: ignore[union-attr]
    assert not done(dispatched(record, lease(), "tag-1", B, now=NOW)).go
    assert effect_findings.judged(record, 0) == (True, f"all {KEPT_SETTLED + 3} journaled effects are settled")


def test_a_record_without_room_keeps_what_is_unknown_as_unknown() -> None:
    shrunk = lost_room(taken_over(begun(TagProbe(name="v1"))))
    assert shrunk is not None
    assert shrunk.effects == ()
    assert state(shrunk) == "unknown"
    assert len(unknown(shrunk)) == 1
    assert len(effect_findings.blockers(shrunk)) == 1
    assert not done(intended(shrunk, lease(2), intent(), now=NOW)).go
    assert lost_room(shrunk) is None


def test_too_many_effects_are_refused_before_anything_is_done() -> None:
    record = held()
    for number in range(MAX_UNSETTLED):
        record = done(intended(record, lease(), intent(f"tag-{number}"), now=NOW)).record
    more = held(effect_keys={f"{n:016x}": "confirmed:0" for n in range(MAX_KEYS)})
    for full in (record, more):
        refused = intended(full, lease(), intent("one-more"), now=NOW)
        assert isinstance(refused, Blocked)
        assert refused.code is Code.RECORD_FULL


def test_a_secret_in_what_a_command_says_is_taken_out() -> None:
    token = "ghp_" + "a1B2" * 9
    end = done(reported(begun(), outcome("unknown", note=f"curl -H 'x: {token}'\nline two"), "tag-1", now=NOW))
    assert end.effect.result is not None
    assert token not in end.effect.result.note
    assert "\n" not in end.effect.result.note


# --- whatever is said in whatever order ---

_WORDS = st.lists(
    st.tuples(st.sampled_from(["intend", "go", "end", "look", "claim"]), st.sampled_from([A, B]), st.integers(0, 2)),
    max_size=25,
)


@settings(max_examples=300, deadline=None)
@given(_WORDS)
def test_one_key_lets_one_execution_through_ever_and_settled_stays_settled(words: list[tuple[str, str, int]]) -> None:
    record, through, settled = held(), set(), None
    for word, attempt, choice in words:
        present = record.lease
        assert present is not None
        attempt = f"{attempt}-{present.generation}"
        answer: Noted | Blocked
        match word:
            case "intend":
                answer = intended(record, present, intent(probe=TagProbe(name="v1")), now=NOW)
            case "go":
                answer = dispatched(record, present, "tag-1", attempt, now=NOW)
            case "end":
                result = ("confirmed", "failed_no_effect", "unknown")[choice]
                answer = reported(record, outcome(result, attempt=attempt), "tag-1", now=NOW)
            case "look":
                sighting = (Present("there"), NothingThere("no"), CannotTell("?"))[choice]
                answer = seen(record, "tag-1", sighting, now=NOW)
            case _:
                generation = present.generation + 1
                new = {"generation": generation, "lease": lease(generation)}
                record = interrupted(record, now=NOW).model_copy(update=new)
                continue
        if isinstance(answer, Blocked):
            continue
        record = answer.record
        if answer.go:
            through.add(attempt)
        if settled is not None:
            assert answer.effect.state == settled
            assert not answer.go
        if answer.effect.state in ("confirmed", "failed_no_effect"):
            settled = answer.effect.state
    assert len(through) <= 1


def test_what_a_holder_pushed_is_shown_without_secrets_and_unreadable_probes() -> None:
    token = "ghp_" + "a1B2" * 9
    fields = {"key": "e", "kind": "tag", "state": "unknown", "generation": 1, "nonce": "n"}
    pushed = [
        fields | {"result": {"by": "command", "note": f"with {token}", "remote_id": token}},
        fields | {"key": "f", "x_newer": [{"a": token}], "probe": {"type": "tag", "name": token}},
        fields | {"key": "g", "probe": {"type": "tag", "name": "v1"}, "x_newer": "kept"},
    ]
    record = held(effects=tuple(Effect.model_validate(effect) for effect in pushed))
    after = admitted(record)
    assert token not in after.model_dump_json()
    assert [e.probe for e in after.effects] == [None, None, {"type": "tag", "name": "v1"}]
    assert after.effects[2] == record.effects[2]
    assert admitted(after) is after
    assert admitted_again(after) == admitted_again(admitted_again(record))


def test_however_many_a_holder_pushed_a_round_looks_at_a_few_and_the_brief_names_a_few() -> None:
    fields = {"kind": "tag", "state": "unknown", "generation": 1, "nonce": "n", "probes": 2}
    probe = {"probe": {"type": "http", "url": "https://a.example.com/"}}
    pushed = tuple(Effect.model_validate({**fields, **probe, "key": f"e{n}"}) for n in range(200))
    observation = Observation(NOW, 1, "acme", "shop", "main", None, None)
    planned = list(settling(held(effects=pushed), observation))
    assert sum(isinstance(a, ProbeEffect) for a in planned) == MAX_UNSETTLED
    assert sum(isinstance(a, AskAboutEffect) for a in planned) == MAX_UNSETTLED
    assert len(effect_findings.blockers(held(effects=pushed))) == effect_findings.MAX_SHOWN + 1


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "a b"}, {"kind": "x" * 41}, {"login": "a b"}, {"attempt": "a\nb"}, {"key": "a/b"}, {"state": "done"}],
)
def test_an_effect_of_another_form_is_none(wrong: dict[str, str]) -> None:
    fields = {"key": "e", "kind": "tag", "state": "unknown", "generation": 1, "nonce": "n"}
    with pytest.raises(ValidationError):
        Effect.model_validate(fields | wrong)


def test_a_stored_effect_keeps_what_a_newer_version_wrote() -> None:
    fields = {"key": "e", "kind": "newer.kind", "state": "unknown", "generation": 1, "nonce": "n", "x": 1}
    assert Effect.model_validate(fields).model_dump()["x"] == 1


def test_a_handoff_leaves_what_was_on_its_way_unknown() -> None:
    after = handed_off(begun(), now=NOW)
    assert (after.lease, state(after)) == (None, "unknown")
