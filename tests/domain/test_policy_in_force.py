"""Which policy is in force: the file's own, or the last valid one of the default branch's own line."""

import pytest

from app.domain.outcome import Blocked, Code
from app.domain.policy import Mode
from app.domain.policy_in_force import InForce, OlderPolicy, PolicyVersion, last_valid, no_policy, noted
from app.domain.policy_text import read_policy

REPAIR = "mode: repair\n"
FULL = "mode: full\n"
OBSERVE = "mode: observe\n"
BROKEN = "mode: everything\n"
NOT_YAML = "mode: [\n"

LINES = [
    pytest.param([], None, id="no commit was read"),
    pytest.param([BROKEN, REPAIR], (Mode.REPAIR, 1), id="the one before the mistake"),
    pytest.param([BROKEN, NOT_YAML, FULL, REPAIR], (Mode.FULL, 2), id="the newest valid one"),
    pytest.param([BROKEN, OBSERVE, FULL], (Mode.OBSERVE, 1), id="also where it allows less"),
    pytest.param([BROKEN, None, FULL], None, id="a deleted file is a decision"),
    pytest.param([None, FULL], None, id="no file now"),
    pytest.param([BROKEN, NOT_YAML], None, id="never a valid one"),
    pytest.param([BROKEN, ""], (Mode.OBSERVE, 1), id="an empty file is the defaults"),
    pytest.param([BROKEN, "lease:\n  ttl: 9h\nmode: repair"], (Mode.REPAIR, 1), id="a clamped one is valid"),
]


@pytest.mark.parametrize(("texts", "expected"), LINES)
def test_the_last_valid_policy_of_a_line(texts: list[str | None], expected: tuple[Mode, int] | None) -> None:
    older = last_valid([PolicyVersion(f"{n:040x}", text) for n, text in enumerate(texts)])
    found = None if older is None else (older.policy.mode, int(older.commit, 16))
    assert found == expected


def in_force(text: str | None, older: str | None = None) -> InForce:
    found = last_valid([PolicyVersion("c0ffee" + "0" * 34, older)]) if older is not None else None
    return InForce(read_policy(text), found)


@pytest.mark.parametrize(
    ("text", "older", "mode", "is_older"),
    [
        (REPAIR, FULL, Mode.REPAIR, False),
        (BROKEN, FULL, Mode.FULL, True),
        (BROKEN, None, None, False),
        (None, None, None, False),
    ],
)
def test_the_file_counts_wherever_it_can_be_used(
    text: str | None, older: str | None, mode: Mode | None, is_older: bool
) -> None:
    found = in_force(text, older)
    assert (found.policy.mode if found.policy else None, found.is_older) == (mode, is_older)
    assert (found.note is None) is not is_older


def test_the_note_names_the_commit_and_the_first_mistakes() -> None:
    wrong = "mode: everything\nretention: soon\nlease: 3\nresume: 4\nverify: 5\n"
    note = in_force(wrong, REPAIR).note
    assert note is not None
    assert "that of commit c0ffee000000 is in force" in note
    assert "line 1: mode" in note
    assert "and 2 more" in note


def test_the_clamps_are_those_of_the_policy_in_force() -> None:
    long = "mode: repair\nlease:\n  ttl: 9h\n"
    assert in_force(long).clamps == in_force(BROKEN, long).clamps
    assert in_force(BROKEN, long).clamps[0].startswith("lease.ttl: 9h")


def test_a_refusal_says_that_an_older_policy_is_in_force() -> None:
    refusal = Blocked(Code.MODE_OBSERVE, "the policy says mode: observe", "change it")
    assert noted(refusal, in_force(OBSERVE)) is refusal
    told = noted(refusal, in_force(BROKEN, OBSERVE))
    assert told.reason.startswith("the policy says mode: observe. .github/agent-recovery.yml cannot be used (line 1:")
    assert (told.code, told.remedy) == (refusal.code, refusal.remedy)


def test_no_policy_says_whether_there_is_a_file() -> None:
    assert no_policy(in_force(None)).reason == "the default branch has no policy file"
    told = no_policy(in_force(BROKEN))
    assert told.code is Code.NO_POLICY
    assert "line 1: mode" in told.reason
    assert "none before it is in force" in told.reason
    assert "agent-recovery init" in told.remedy


def test_a_policy_without_problems_carries_no_older_one_into_force() -> None:
    newer = InForce(read_policy(REPAIR), OlderPolicy(read_policy(FULL).policy or pytest.fail("valid"), "a" * 40))
    assert newer.policy is not None
    assert newer.policy.mode is Mode.REPAIR
