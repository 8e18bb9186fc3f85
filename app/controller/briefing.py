"""Briefs of a look: the findings of the 17 steps, the 13 criteria, and whether a claim would pass now."""

from app.controller.view import View
from app.domain import gates
from app.domain.agent_api import EvidenceRequest
from app.domain.brief import Brief, Criterion
from app.domain.compose_brief import compose
from app.domain.criteria import criteria
from app.domain.issue_gate import open_issue
from app.domain.lease import liveness
from app.domain.outcome import Blocked, Code
from app.domain.policy import Policy
from app.domain.policy_in_force import no_policy, noted
from app.domain.record import Record
from app.domain.recovery_steps import findings
from app.domain.recovery_view import RecoveryView


def brief_of(view: View, record: Record | None, *, just_granted: bool, resumes: bool = True) -> Brief:
    """The brief of a ticket. `just_granted`: the reader was granted the ticket this moment, so no claim is judged.
    `resumes`: the operator's switch, as the gates take it.
    """
    seen = _recovery(view, record, None)
    claim = None if just_granted else _claim(view, record, resumes)
    return compose(seen, findings=findings(seen), criteria=criteria(seen), claim=claim)


def criteria_of(view: View, record: Record, evidence: EvidenceRequest) -> tuple[Criterion, ...]:
    """The completion criteria as they stand with what the agent's side showed."""
    return criteria(_recovery(view, record, evidence))


def frozen_refusal(view: View) -> Blocked:
    """Why nothing is granted or written on a frozen ticket."""
    told = view.frozen is not None and view.frozen.is_ours
    where = "see the report on the ticket's pull request or Issue" if told else "whoever may write made that ref"
    return Blocked(
        Code.FROZEN,
        f"the ticket is frozen. {view.frozen.reason if view.frozen else 'Its ledger cannot be trusted.'}",
        f"a person has to look: {where}",
        generation=view.record.generation if view.record else None,
    )


def _claim(view: View, record: Record | None, resumes: bool) -> gates.Pass | Blocked:
    if view.frozen is not None:
        return frozen_refusal(view)
    found = open_issue(view.observation, view.ticket)
    if isinstance(found, Blocked):
        return found
    if view.usable_policy is None:
        return no_policy(view.policy)
    passed = gates.if_claimed_now(
        record,
        view.usable_policy,
        now=view.now,
        heartbeat_at=view.heartbeat_at,
        run_ended=view.run_ended,
        resumes=resumes,
    )
    return noted(passed, view.policy) if isinstance(passed, Blocked) else passed


def _recovery(view: View, record: Record | None, evidence: EvidenceRequest | None) -> RecoveryView:
    policy = view.usable_policy
    return RecoveryView(
        record=record,
        observation=view.observation,
        policy=policy,
        holder=liveness(
            record, policy or Policy(), now=view.now, heartbeat_at=view.heartbeat_at, run_ended=view.run_ended
        ),
        head=view.head_under(record) if record is not None else view.head,
        evidence=evidence,
        children=view.family.shown(record) if record is not None else (),
        landing=view.landing.landing,
        policy_note=view.policy.note,
    )
