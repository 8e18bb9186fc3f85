"""Step 6 of the recovery: what the last checkpoint tells besides its content, each with its evidence."""

import sys
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for the scene that the recovery's rules share

from recovery_scene import NOW, RECORD, changed, noted, view

from app.domain.brief import Finding
from app.domain.policy import CheckpointPolicy, Policy
from app.domain.recovery_steps import findings


def step_six(*args: object, **kwargs: object) -> Finding:
    return findings(view(*args, **kwargs))[5]  # type: ignore[arg-type]


def test_a_moment_with_an_open_end_is_told_with_its_meaning() -> None:
    found = step_six(noted(trigger="effect-before"))
    assert found.evidence["trigger"] == "effect-before"
    assert "made at effect-before: an effect outside Git was about to be made" in found.finding
    plain = step_six(noted(trigger="effect-after"))
    assert (plain.evidence["trigger"], plain.finding) == (
        "effect-after",
        "read from the ledger, whose seals were checked",
    )


def test_hints_are_shown_as_what_they_are() -> None:
    found = step_six(noted(artifact_refs=("dist/report.html", "hint:native-session:0f3c")))
    assert found.evidence["hints"] == ["native-session:0f3c"]
    assert "compare what they give with the published commit" in found.finding
    assert "hints" not in step_six().evidence


def test_a_holder_that_saves_nothing_for_too_long_is_told_as_pending() -> None:
    lease = RECORD.lease
    assert lease is not None
    policy = Policy(checkpoint=CheckpointPolicy(max_gap=timedelta(minutes=5)))
    long_ago = lease.model_copy(update={"granted_at": NOW - timedelta(minutes=20), "expires_at": NOW})
    late = step_six(changed(lease=long_ago, status="working", saved_at=NOW - timedelta(minutes=6)), policy=policy)
    assert late.state == "pending"
    assert "not saved for too long: its last hard checkpoint is of" in late.finding
    fine = step_six(changed(lease=long_ago, status="working", saved_at=NOW - timedelta(minutes=4)), policy=policy)
    assert fine.state == "done"
