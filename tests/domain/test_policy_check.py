"""What the check-run about the policy file says, and where it says nothing."""

import pytest

from app.domain.observation import CheckRun
from app.domain.policy_check import MOST_TOLD, PolicyAt, Verdict, of_default_branch, of_pull
from app.domain.policy_in_force import InForce, PolicyVersion, last_valid
from app.domain.policy_text import read_policy

HEAD = "a" * 40
VALID = "mode: repair\n"
CLAMPED = "mode: repair\nlease:\n  ttl: 9h\nnew: 1\n"
BROKEN = "mode: repair\nmode: full\n"


def in_force(text: str | None, older: str | None = VALID) -> InForce:
    found = last_valid([PolicyVersion("b" * 40, older)]) if older is not None else None
    return InForce(read_policy(text), found)


def default(text: str | None, *, changed: bool, runs: tuple[CheckRun, ...] = ()) -> Verdict | None:
    return of_default_branch(PolicyAt(HEAD, text, changed, runs), in_force(text))


def shown(verdict: Verdict, id: int = 7) -> CheckRun:
    return CheckRun(id, HEAD, "completed", verdict.conclusion, "policy", verdict.title, verdict.summary)


SAID = [
    pytest.param(None, True, None, id="no file"),
    pytest.param(VALID, False, None, id="valid, and another commit changed it"),
    pytest.param(VALID, True, "success", id="valid, and this commit changes it"),
    pytest.param(BROKEN, True, "failure", id="broken by this commit"),
    pytest.param(BROKEN, False, "failure", id="broken by an earlier commit"),
]


@pytest.mark.parametrize(("text", "changed", "conclusion"), SAID)
def test_on_the_default_branch(text: str | None, changed: bool, conclusion: str | None) -> None:
    verdict = default(text, changed=changed)
    assert (verdict.conclusion if verdict else None) == conclusion


@pytest.mark.parametrize(
    ("text", "changed", "conclusion"),
    [
        (VALID, False, None),
        (BROKEN, False, None),
        (VALID, True, "success"),
        (BROKEN, True, "failure"),
        (None, True, "success"),
    ],
)
def test_on_a_pull_request(text: str | None, changed: bool, conclusion: str | None) -> None:
    verdict = of_pull(PolicyAt(HEAD, text, changed))
    assert (verdict.conclusion if verdict else None) == conclusion


def test_a_mistake_is_told_with_its_line_and_what_to_do() -> None:
    verdict = default(BROKEN, changed=True)
    assert verdict is not None
    assert verdict.title == "The policy cannot be used: line 2"
    assert "- Line 2: mode is given twice. To do: keep one of the two." in verdict.summary
    assert f"The policy of commit {'b' * 40} stays in force (mode repair)." in verdict.summary


def test_what_was_moved_or_ignored_is_told_beside_success() -> None:
    verdict = default(CLAMPED, changed=True)
    assert verdict is not None
    assert (verdict.conclusion, verdict.title) == ("success", "Valid: mode repair, 3 to look at")
    assert "- Line 4: unknown key new." in verdict.summary
    assert "- Moved to its bounds: lease.ttl: 9h is outside its bounds" in verdict.summary


@pytest.mark.parametrize("text", [VALID, BROKEN, CLAMPED])
def test_what_stands_is_not_written_again(text: str) -> None:
    verdict = default(text, changed=True)
    assert verdict is not None
    assert default(text, changed=True, runs=(shown(verdict),)) is None


def test_the_newest_run_is_the_one_that_is_corrected() -> None:
    failed = default(BROKEN, changed=True)
    assert failed is not None
    mended = default(VALID, changed=False, runs=(shown(failed, 3), shown(failed, 9)))
    assert mended is not None
    assert (mended.run, mended.conclusion) == (9, "success")


def test_strangers_words_have_no_effect_in_it() -> None:
    wrong = 'mode: "@acme/owners closes #1 <!-- x"\nverify: "a \\"@b"\n"@everyone": 1\n'
    verdict = default(wrong, changed=True)
    assert verdict is not None
    assert "@acme" not in verdict.summary
    assert "@everyone" not in verdict.summary
    assert "<!--" not in verdict.summary


def test_a_long_list_is_cut_and_says_so() -> None:
    verdict = default("mode: repair\n" + "".join(f"key{n}: 1\n" for n in range(30)), changed=True)
    assert verdict is not None
    assert verdict.summary.count("\n- ") == MOST_TOLD + 1
    assert verdict.summary.endswith("- 10 more.")
