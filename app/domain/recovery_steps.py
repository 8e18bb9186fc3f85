"""The 17 steps of the recovery algorithm (section 6 of the recovery specification), each with what was found.

Steps 1 to 7 only read; 8 is the claim's compare-and-set; 10 and 16 are the agent's side; repairs (13) follow through
the loop. A step that belongs to a later capability says so instead of claiming to be done.
"""

from collections.abc import Callable
from typing import Any, Literal

from app.domain.brief import Finding
from app.domain.checkpoint_gap import overdue
from app.domain.criteria import criteria
from app.domain.effect_findings import rechecked
from app.domain.fencing import AtPublished, Foreign, NothingPublished, Tampered
from app.domain.hints import hints_in
from app.domain.model import instant_text
from app.domain.policy import PATH
from app.domain.recovery_view import RecoveryView, tasks_of
from app.domain.triggers import meaning_of

State = Literal["done", "not_applicable", "pending", "blocked"]
Found = tuple[State, str, dict[str, Any]]

_NAMES = (
    "identify the Issue, its PR, trunk and dependencies",
    "read the branches and the commit graph",
    "check the ticket's PR",
    "look for unfinished landings",
    "check the release branch and its PR",
    "read the latest valid checkpoint",
    "read the policy and recorded decisions",
    "take ownership by compare-and-set",
    "reconcile children",
    "rebuild the workspace at the exact commit",
    "compare the predecessor with its recorded commit",
    "judge validations on the present commit",
    "repair what drifted",
    "check for a stale base",
    "rebuild the remaining plan",
    "run the smallest verification",
    "go on under the present identity",
)


def findings(view: RecoveryView) -> tuple[Finding, ...]:
    """All seventeen, in the order of the specification."""
    return tuple(
        Finding(step=number, name=name, state=state, finding=text, evidence=evidence)
        for number, (name, look) in enumerate(zip(_NAMES, _LOOKS, strict=True), start=1)
        for state, text, evidence in (look(view),)
    )


def _identify(view: RecoveryView) -> Found:
    issue, pull = view.observation.issue, view.pull
    if issue is None:
        return "blocked", "the Issue was not found", {}
    evidence = {
        "issue": issue.number,
        "issue_state": issue.state,
        "pull": pull.number if pull else None,
        "trunk": view.work.trunk if view.work else None,
    }
    state: State = "done" if issue.state == "OPEN" else "blocked"
    return state, f"the Issue is {issue.state.lower()}; Projects and dependencies are not looked at yet", evidence


def _branches(view: RecoveryView) -> Found:
    work = view.work
    branch = view.observation.branch(work.branch) if work else None
    published = view.record.published if view.record else None
    evidence = {
        "branch": work.branch if work else None,
        "head": branch.sha if branch else None,
        "published": published.sha if published else None,
        "base": work.base_sha if work else None,
    }
    match view.head:
        case AtPublished():
            return "done", "the branch is where its holder published it", evidence
        case Foreign():
            return "done", "foreign commits stand on the published one; they do not count", evidence
        case Tampered():
            return "done", "the branch was moved or deleted; the published commit is kept and put back", evidence
    return "done", "nothing has been published yet; the work starts at the base", evidence


def _pull(view: RecoveryView) -> Found:
    judged, pull = criteria(view)[2], view.pull
    if pull is None:
        return "done", judged.reason, {}
    evidence = {"number": pull.number, "state": pull.state, "draft": pull.is_draft, "head": pull.head_sha}
    return "done", judged.reason, evidence


def _checkpoint(view: RecoveryView) -> Found:
    if view.record is None:
        return "done", "there is none: nobody has claimed this ticket yet", {}
    c = view.checkpoint
    evidence: dict[str, Any] = {
        "sequence": view.record.sequence,
        "generation": view.record.generation,
        "completed": len(c.completed_steps),
        "next": len(c.next_steps),
        "updated_at": instant_text(c.updated_at) if c.updated_at else None,
        "trigger": c.trigger,
    }
    if not view.has_checkpoint:
        return "done", "no agent has written one yet; the Issue is the plan", evidence
    meaning = meaning_of(c.trigger)
    follows = f". It was made at {c.trigger}: {meaning}" if meaning else ""
    hints = hints_in(c.artifact_refs)
    if hints:
        evidence["hints"] = list(hints)
        follows += ". The hints may lead back faster; compare what they give with the published commit"
    late = overdue(view.record, view.policy, view.holder, now=view.now) if view.policy else None
    if late is not None:
        return "pending", f"read from the ledger, but not saved for too long: {late.reason}{follows}", evidence
    return "done", f"read from the ledger, whose seals were checked{follows}", evidence


def _policy(view: RecoveryView) -> Found:
    evidence = {"decisions": len(view.checkpoint.accepted_decisions), "references": len(view.checkpoint.decision_refs)}
    if view.policy is None:
        return "blocked", f"there is no usable policy in {PATH}", evidence
    return "done", f"mode {view.policy.mode}; read the recorded decisions before you go on", evidence


def _ownership(view: RecoveryView) -> Found:
    lease = view.record.lease if view.record else None
    if lease is None or not view.is_held:
        return "pending", "nobody holds the ticket; a claim takes it", {}
    evidence = {"generation": lease.generation, "granted_at": instant_text(lease.granted_at)}
    return "done", f"generation {lease.generation} has one holder", evidence


def _children(view: RecoveryView) -> Found:
    if view.record is not None and view.record.children:
        return "blocked", "children are recorded, and this version does not reconcile them", {}
    return "not_applicable", "no children are recorded; they belong to a later version", {}


def _workspace(view: RecoveryView) -> Found:
    judged = criteria(view)[6]
    evidence = {"at": view.start_sha}
    if judged.met is False:
        return "blocked", judged.reason, evidence
    return ("done" if judged.met else "pending"), judged.reason, evidence


def _predecessor(view: RecoveryView) -> Found:
    judged = criteria(view)[5]
    state: State = "blocked" if judged.met is False else "not_applicable"
    return state, judged.reason, {}


def _validations(view: RecoveryView) -> Found:
    judged = criteria(view)[11]
    return "done", f"earlier results are never reused in this version; {judged.reason}", {"met": judged.met}


def _repairs(view: RecoveryView) -> Found:
    state, text, evidence = _drift(view)
    effects, listed = rechecked(view.record)
    return ("pending" if effects else state), f"{text}{effects}", evidence | listed


def _drift(view: RecoveryView) -> Found:
    match view.head:
        case Foreign():
            return "pending", "the holder decides about the foreign commits: adopt or rewind", {}
        case Tampered():
            return "pending", "the App puts the branch back", {}
        case AtPublished() if view.pull is None:
            return "pending", "the App creates the missing PR", {}
        case None | NothingPublished():
            return "not_applicable", "nothing has been published that could have drifted", {}
    return "done", "branch, PR and projections are kept right by the App, never inside this call", {}


def _base(view: RecoveryView) -> Found:
    trunk = view.observation.trunk
    if view.work is None or trunk is None:
        return "not_applicable", "no base is recorded yet", {}
    evidence = {"recorded": view.work.base_sha, "trunk": trunk.sha}
    if view.work.base_sha == trunk.sha:
        return "done", "the trunk has not moved since the ticket began", evidence
    return "done", "the trunk has moved since the ticket began; conflicts are not looked for yet", evidence


def _plan(view: RecoveryView) -> Found:
    c = view.checkpoint
    if view.has_checkpoint:
        return "done", "the plan is the checkpoint's", {"next": [step.id for step in c.next_steps if step.id]}
    body = view.observation.issue.body if view.observation.issue else ""
    return "done", "there is no checkpoint yet: the plan is the Issue's task list", {"tasks": len(tasks_of(body))}


def _verification(view: RecoveryView) -> Found:
    judged = criteria(view)[11]
    if view.policy is not None and not view.policy.verify:
        return "not_applicable", judged.reason, {}
    runs = [{"exit_code": run.exit_code} for run in view.evidence.verify] if view.evidence else []
    if judged.met is False:
        return "blocked", judged.reason, {"runs": runs}
    return ("done" if judged.met else "pending"), judged.reason, {"runs": runs}


def _go_on(view: RecoveryView) -> Found:
    if not view.is_held:
        return "pending", "claim the ticket first", {}
    if view.record is not None and view.record.status == "recovering" and view.evidence is None:
        return "pending", "show the workspace first: `agent-recovery recover` does it", {}
    return "done", "every write is checked against the present generation", {}


def _later(what: str) -> Callable[[RecoveryView], Found]:
    return lambda view: ("not_applicable", f"{what} are not looked at yet; this version never merges anything", {})


_LOOKS: tuple[Callable[[RecoveryView], Found], ...] = (
    _identify,
    _branches,
    _pull,
    _later("unfinished landings"),
    _later("release branches and their pull requests"),
    _checkpoint,
    _policy,
    _ownership,
    _children,
    _workspace,
    _predecessor,
    _validations,
    _repairs,
    _base,
    _plan,
    _verification,
    _go_on,
)
