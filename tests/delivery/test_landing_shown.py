"""How what is in a landing's way is shown: in the comment, the check-run, the brief, the documentation."""

from pathlib import Path

import pytest

from app.domain.compose_brief import compose, render_markdown
from app.domain.criteria import criteria
from app.domain.handoff_comment import render
from app.domain.landing_blocker import Blocker, BlockerCode, blocker_table
from app.domain.landing_told import MOST_SHOWN, lasting, lines, quoted, standing_in_the_way
from app.domain.lease import liveness
from app.domain.policy import Policy
from app.domain.record import AskedToLand, Landing
from app.domain.recovery_steps import findings
from app.domain.recovery_view import RecoveryView
from app.domain.situation import Situation
from app.domain.verdict import verdict_on
from tests.delivery.landing_scene import situation
from tests.domain.recovery_scene import HEAD, NOW

PAGE = Path(__file__).parents[2] / "docs/landing.md"
BEGIN = "<!-- blockers: written by `python -m tests.delivery.test_landing_shown` -->\n"
END = "<!-- end of blockers -->"
RED = {"files": ("src/a.py", ".github/workflows/@all.yml"), "review": "CHANGES_REQUESTED"}


def _shown(s: Situation, policy: Policy | str | None = "its own") -> tuple[Blocker, ...]:
    used = s.policy if isinstance(policy, str) else policy
    return standing_in_the_way(s.record, s.observation, used, s.head, s.landing)


def _view(s: Situation) -> RecoveryView:
    holder = liveness(s.record, s.policy, now=s.now)
    return RecoveryView(s.record, s.observation, s.policy, holder, s.head, landing=s.landing)


def test_the_page_lists_every_blocker_as_the_code_has_it() -> None:
    text = PAGE.read_text()
    shown = text[text.index(BEGIN) + len(BEGIN) : text.index(END)]
    assert shown == f"{blocker_table()}\n", "run: python -m tests.delivery.test_landing_shown"


def test_a_ticket_at_work_is_not_told_that_it_is_not_finished() -> None:
    assert _shown(situation(record={"status": "working"})) == ()
    asked = Landing(asked=AskedToLand(by="ann", at=NOW, head_sha="c" * 40))
    (told,) = _shown(situation(record={"status": "working", "landing": asked}))
    assert told.code is BlockerCode.NOT_READY
    assert "c" * 40 in told.reason


def test_a_ready_ticket_without_a_policy_in_force_says_so() -> None:
    assert [b.code for b in _shown(situation(), None)] == [BlockerCode.POLICY_UNREADABLE]
    assert _shown(situation(record={"child": "docs-1"}), None) == ()


def test_what_passes_within_seconds_is_not_shown() -> None:
    found = _shown(situation(evidence={"mergeable": "UNKNOWN", "review": "CHANGES_REQUESTED"}))
    assert [b.code for b in found] == [BlockerCode.CHANGES_REQUESTED, BlockerCode.MERGEABLE_UNKNOWN]
    assert [b.code for b in lasting(found)] == [BlockerCode.CHANGES_REQUESTED]
    assert len(lines(found)) == 1
    assert lines(_shown(situation(looked=False))) == []


def test_the_list_is_short() -> None:
    many = tuple(Blocker(BlockerCode.CHECKS_FAILED, f"reason {n}", "help") for n in range(9))
    told = lines(many)
    assert len(told) == MOST_SHOWN + 1
    assert told[0] == "Reason 0. What helps: help."
    assert told[-1] == "and 3 more"


def test_the_comment_and_the_check_run_show_it() -> None:
    s = situation(evidence=RED)
    found = _shown(s)
    comment = render(s.record, s.head, payload="{}", seal="s", blockers=found)
    assert "**Before it lands**\n- A reviewer asked for changes. What helps: answer the review" in comment
    assert "- Protected files that it changes: 1 (.github/workflows/@\N{WORD JOINER}all.yml). What helps:" in comment
    verdict = verdict_on(s.record, s.head, s.observation, None, found)
    assert verdict.conclusion == "success"
    assert "Before it lands:\n\n- A reviewer asked for changes." in verdict.summary
    assert "Before it lands" not in render(s.record, s.head, payload="{}", seal="s", blockers=())
    assert "Before it lands" not in verdict_on(s.record, s.head, s.observation).summary


def test_the_brief_shows_it_with_others_words_apart() -> None:
    view = _view(situation(evidence=RED))
    brief = compose(view, findings=findings(view), criteria=criteria(view), claim=None)
    told = [text for text in brief.blockers if text.startswith("landing (")]
    assert [text.split(":")[0] for text in told] == ["landing (changes_requested)", "landing (protected_paths)"]
    assert not any("@all" in text for text in (*brief.blockers, *(c.reason for c in brief.criteria)))
    assert brief.untrusted.quoted == ("protected_paths: .github/workflows/@all.yml",)
    assert brief.criteria[3].met is None
    assert "the ticket is ready and waits: a reviewer asked for changes; protected files" in brief.criteria[3].reason
    assert "a reviewer asked for changes" in brief.findings[3].finding
    assert brief.findings[3].evidence["in_the_way"] == ["changes_requested", "protected_paths"]
    page = render_markdown(brief)
    assert "A reviewer" not in page.split("## Blockers")[0]
    assert ".github/workflows/@\N{WORD JOINER}all.yml" in page
    assert quoted(_shown(situation())) == ()


@pytest.mark.parametrize(
    ("s", "words"),
    [
        (situation(), "nothing is in its way: the App lands it"),
        (situation(world={"pulls": ()}), "no open PR that could land"),
        (situation(checks={"runs": ()}), f"have not reported on {HEAD}: 1"),
    ],
)
def test_criterion_four_of_a_ready_ticket(s: Situation, words: str) -> None:
    fourth = criteria(_view(s))[3]
    assert fourth.met is None
    assert words in fourth.reason


if __name__ == "__main__":
    page = PAGE.read_text()
    before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    PAGE.write_text(f"{before}{blocker_table()}\n{after}")
