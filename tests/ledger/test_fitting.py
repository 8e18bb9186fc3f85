"""Whatever a holder filled its record with, the service's next write fits, and says what was left out."""

from typing import Any

import pytest

from app.domain.checkpoint import Checkpoint, Step
from app.domain.effect import Effect
from app.domain.record import AGENT_MAX_BYTES, MAX_BYTES, Answered, Published, Record
from app.ledger.agent_commits import amend_as_agent
from app.ledger.codec import NotStorable, dump
from app.ledger.fitting import NOTICE, ROOMY, fitted

LARGE = "x" * 46_000
FULL = Checkpoint(objective="sort", current_diff=LARGE, next_steps=(Step(text="second"),))


def answer(key: str, text: str = "") -> Answered:
    return Answered(key=key, seq=1, generation=1, answer={"text": text})


def test_a_record_that_fits_is_left_alone(writers: Any, checkpoint: Checkpoint) -> None:
    record = writers.held(checkpoint=checkpoint, requests=(answer("k"),), validations=({"profile": "unit"},))
    assert fitted(record) is record


def test_old_answers_go_first_and_the_one_being_given_stays(writers: Any, checkpoint: Checkpoint) -> None:
    requests = tuple(answer(f"k{number}", "x" * 5_000) for number in range(10))
    record = writers.held(checkpoint=checkpoint, requests=requests)
    kept = fitted(record, "k0")
    assert kept.requests == (requests[0], *requests[-len(kept.requests) + 1 :])
    assert ROOMY - 6_000 < len(dump(kept)) <= ROOMY
    assert kept.checkpoint == checkpoint


EFFECT = {"key": "e1", "kind": "tag", "state": "unknown", "generation": 1, "nonce": "n1"}


@pytest.mark.parametrize(
    ("filled", "left_out"),
    [
        ({"validations": ({"log": LARGE}, {"log": LARGE})}, "validations"),
        ({"validations": tuple({"n": n} for n in range(6_000))}, "validations"),
        ({"checkpoint": FULL}, "current_diff"),
        ({"checkpoint": FULL, "validations": ({"log": LARGE},)}, "validations, current_diff"),
        ({"checkpoint": Checkpoint.model_validate({"x" * 900: LARGE})}, "unknown fields"),
        ({"checkpoint": Checkpoint(blockers=(LARGE, "b"))}, "blockers"),
        ({"checkpoint": Checkpoint(completed_steps=(Step(text=LARGE),))}, "completed_steps"),
        ({"checkpoint": Checkpoint(next_steps=(Step(text=LARGE),))}, "next_steps"),
        ({"effects": (Effect.model_validate({**EFFECT, "x": LARGE}),)}, "details of effects"),
        ({"children": ({"name": "docs-1", "result": LARGE},)}, "children's results"),
        (
            {"published": Published.model_validate({"sha": "b" * 40, "generation": 1, "nonce": "n1", "x": LARGE})},
            "additions to published",
        ),
    ],
)
def test_whatever_the_holder_filled_is_shortened_and_that_is_said(
    writers: Any, filled: dict[str, Any], left_out: str
) -> None:
    record: Record = writers.held(**filled, burned_shas=("d" * 40,) * 60)
    with pytest.raises(NotStorable):
        dump(record)
    kept = fitted(record)
    assert len(dump(kept)) <= MAX_BYTES
    assert kept.checkpoint.blockers[-1] == NOTICE + left_out
    assert (kept.identity, kept.burned_shas) == (record.identity, record.burned_shas)
    assert fitted(kept) == kept


def test_the_steps_and_the_smaller_fields_outlast_the_largest(writers: Any) -> None:
    kept = fitted(writers.held(checkpoint=FULL, burned_shas=("d" * 40,) * 60)).checkpoint
    assert (kept.objective, kept.current_diff, kept.next_steps) == ("sort", None, FULL.next_steps)


def test_being_told_twice_leaves_one_notice(writers: Any) -> None:
    once = fitted(writers.held(checkpoint=FULL, burned_shas=("d" * 40,) * 60))
    twice = fitted(once.model_copy(update={"validations": ({"log": LARGE},)}))
    assert twice.checkpoint.blockers == (NOTICE + "validations",)


def test_what_only_the_service_writes_is_not_shortened(writers: Any) -> None:
    record = writers.held(commands=({"text": LARGE + LARGE},))
    assert fitted(record).commands == record.commands
    with pytest.raises(NotStorable):
        dump(fitted(record))


def test_an_agent_leaves_the_service_room(writers: Any) -> None:
    base = writers.sealed(writers.held())
    room = AGENT_MAX_BYTES - len(amend_as_agent(base, checkpoint=Checkpoint(objective="")))
    assert amend_as_agent(base, checkpoint=Checkpoint(objective="x" * room))
    with pytest.raises(NotStorable, match=f"at most {AGENT_MAX_BYTES}"):
        amend_as_agent(base, checkpoint=Checkpoint(objective="x" * (room + 1)))


def test_the_newest_answer_stays_so_that_an_older_request_comes_too_late(writers: Any) -> None:
    answers = tuple(answer(f"k{number}", "x" * 4_000).model_copy(update={"seq": number}) for number in range(1, 9))
    record = writers.held(checkpoint=Checkpoint(objective="o" * 20_000), requests=answers)
    kept = fitted(record)
    assert [entry.seq for entry in kept.requests][-1] == 8
    assert (
        fitted(writers.held(checkpoint=Checkpoint(objective="o" * 42_000), requests=answers)).requests == answers[-1:]
    )
