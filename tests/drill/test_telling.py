"""What a story says to a person and to a program."""

import json

import pytest

from app.drill.proof import Attempt
from app.drill.telling import Result, Telling

REFUSAL = {"error": {"code": "stale_generation", "message": "generation 2 holds the ticket", "next_action": "stop"}}
PUSHED = "To http://127.0.0.1:1/acme/orchard.git\n + 09d8fb0...82c30f7 HEAD -> ticket/42 (forced update)"


@pytest.mark.parametrize(
    ("exit_code", "said", "gist"),
    [
        (3, json.dumps(REFUSAL, indent=2), "exit code 3, stale_generation: generation 2 holds the ticket"),
        (3, json.dumps(REFUSAL) + "\nwarning: 1 file", "exit code 3, stale_generation: generation 2 holds the ticket"),
        (0, PUSHED, "exit code 0, + 09d8fb0...82c30f7 HEAD -> ticket/42 (forced update)"),
        (0, '{"error": "none"}', 'exit code 0, {"error": "none"}'),
        (1, "", "exit code 1, without a word"),
    ],
)
def test_an_answer_is_told_in_one_line(exit_code: int, said: str, gist: str) -> None:
    assert Attempt("a command", exit_code, said).gist == gist


def test_a_story_that_stopped_tells_each_reason_once(capsys: pytest.CaptureFixture[str]) -> None:
    result = Result(seed=3, proved={"installed": {"id": 1}}, failed={"claimed": "no ledger"})
    result.not_reached = dict.fromkeys(("work_pushed", "ready"), "claimed: no ledger")
    Telling().summary(result)
    told = capsys.readouterr().out
    assert "1 of 4" in told
    assert told.count("no ledger") == 1
    assert "not reached: work_pushed, ready" in told
    assert not result.all_proved


def test_data_names_every_step_that_was_not_proved() -> None:
    result = Result(seed=3, failed={"claimed": "no ledger"}, not_reached={"ready": "claimed: no ledger"})
    assert result.data()["failed"] == {"claimed": "no ledger", "ready": "not reached: claimed: no ledger"}


def test_no_step_left_and_no_duplicate_is_all_proved() -> None:
    assert Result(seed=3, duplicates=0).all_proved
    assert not Result(seed=3, duplicates=1).all_proved
    assert not Result(seed=3).all_proved
    assert not Result(seed=3, duplicates=0, not_reached={"ready": "stopped"}).all_proved
