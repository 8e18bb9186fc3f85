"""One ticket that may land: ready, fenced, green on its head, mergeable. Tests change one thing and look what stands in
its way then.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.domain.fencing import AtPublished, Head
from app.domain.landing_evidence import BranchRules, LandingEvidence
from app.domain.policy import LandingPolicy, Mode, Policy
from app.domain.record import Projections
from app.domain.required_checks import Checks, Required, RunSeen
from app.domain.situation import Situation
from app.domain.surroundings import Surroundings
from tests.domain.recovery_scene import HEAD, PULL, RECORD, WORLD

GREEN = RunSeen("build", "completed", "success", app_id=1, suite=1, id=1)
CHECKS = Checks(sha=HEAD, head_after=HEAD, runs=(GREEN,))
RULES = BranchRules(required=(Required("build"),))
EVIDENCE = LandingEvidence(
    rules=RULES,
    checks=CHECKS,
    review=None,
    open_conversations=0,
    mergeable="MERGEABLE",
    merge_state="CLEAN",
    files=("src/app.py",),
    base_files=(),
    queued=False,
    auto_merge=False,
    release_guard=True,
)
POLICY = Policy(mode=Mode.FULL)
READY_PULL = replace(PULL, is_draft=False, mergeable="MERGEABLE")
READY_WORLD = replace(WORLD, pulls=(READY_PULL,))
READY = RECORD.model_copy(update={"status": "ready", "projections": Projections(pr_number=57)})
FENCED = AtPublished(HEAD, True)


def situation(
    *,
    record: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    world: Mapping[str, Any] | None = None,
    pull: Mapping[str, Any] | None = None,
    around: Mapping[str, Any] | None = None,
    evidence: Mapping[str, Any] | None = None,
    rules: Mapping[str, Any] | None = None,
    checks: Mapping[str, Any] | None = None,
    landing: Mapping[str, Any] | None = None,
    head: Head = FENCED,
    looked: bool = True,
) -> Situation:
    """The ticket with these fields of these parts changed. `landing`: the policy's."""
    seen = replace(EVIDENCE, **{"rules": replace(RULES, **(rules or {})), "checks": replace(CHECKS, **(checks or {}))})
    return Situation(
        observation=replace(
            READY_WORLD,
            **{
                "pulls": (replace(READY_PULL, **(pull or {})),),
                "around": replace(Surroundings(), **(around or {})),
                **(world or {}),
            },
        ),
        record=READY.model_copy(update=dict(record or {})),
        policy=POLICY.model_copy(update={"landing": LandingPolicy(**(landing or {})), **(policy or {})}),
        head=head,
        tail=0,
        author_is_dead=lambda _: True,
        landing=replace(seen, **(evidence or {})) if looked else None,
    )
