"""The 17 steps of the recovery algorithm (section 6 of the recovery specification), each with what was found.

Steps 1 to 7 only read; 8 is the claim's compare-and-set; 10 and 16 are the agent's side; repairs (13) follow through
the loop. A step that belongs to a later capability says so instead of claiming to be done.
"""

from collections.abc import Callable
from typing import Any

from app.domain import child_findings, release_boundary, ticket_evidence, unfinished_landing
from app.domain.brief import Finding, ShownValidation
from app.domain.checkpoint_gap import overdue
from app.domain.criteria import criteria
from app.domain.decision_refs import Decision, resolved
from app.domain.effect_findings import rechecked
from app.domain.fencing import AtPublished, Foreign, NothingPublished, Tampered
from app.domain.hints import hints_in
from app.domain.linked_issue import linked_issue_of
from app.domain.model import instant_text
from app.domain.policy import PATH
from app.domain.recovery_view import Found, RecoveryView, tasks_of
from app.domain.stack import MovedOn, NoPredecessor, stacking
from app.domain.surroundings import MOST_DECISIONS
from app.domain.triggers import meaning_of
from app.domain.validation import VERIFY, present, shown

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


def _branches(view: RecoveryView) -> Found:
    work = view.work
    branch = view.observation.branch(work.branch) if work else None
    published = view.record.published if view.record else None
    around = view.observation.around
    over = around.trunk_over_work
    evidence = {
        "branch": work.branch if work else None,
        "head": branch.sha if branch else None,
        "published": published.sha if published else None,
        "base": work.base_sha if work else None,
        "ahead_of_trunk": over.behind if over else None,
        "behind_trunk": over.ahead if over else None,
        "predecessor": view.checkpoint.predecessor_issue_or_pr,
        "successors": [pull.number for pull in around.dependents],
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
    evidence = {
        "number": pull.number,
        "state": pull.state,
        "draft": pull.is_draft,
        "head": pull.head_sha,
        "base": pull.base,
        "issue": linked_issue_of(pull.body),
    }
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
    decisions = decisions_of(view)
    missing = [d.ref for d in decisions if d.state == "missing"]
    unread = [d.ref for d in decisions if d.state == "not looked up"]
    evidence = {
        "decisions": len(view.checkpoint.accepted_decisions),
        "resolved": [{"ref": d.ref, "at": d.at, "object": d.object} for d in decisions if d.state == "found"],
        "missing": missing,
        "not_looked_up": unread,
    }
    if view.policy is None:
        return "blocked", f"there is no usable policy in {PATH}", evidence
    if missing:
        return "blocked", f"{len(missing)} recorded decisions are missing: find them before you go on", evidence
    why = f"they name nothing in this repository, or stand behind the first {MOST_DECISIONS}"
    names = f", {len(unread)} not looked up ({why})" if unread else ""
    told = f"{len(decisions) - len(unread)} references to decisions resolved{names}"
    note = f". {view.policy_note}" if view.policy_note else ""
    return "done", f"mode {view.policy.mode}; {told}; read them before you go on{note}", evidence


def decisions_of(view: RecoveryView) -> tuple[Decision, ...]:
    """The checkpoint's references to decisions, resolved at the commit that was looked at."""
    around, observation = view.observation.around, view.observation
    repository = f"{observation.owner}/{observation.name}"
    return resolved(view.checkpoint.decision_refs, repository, around.asked.work, around.objects, around.numbers)


def _ownership(view: RecoveryView) -> Found:
    lease = view.record.lease if view.record else None
    if lease is None or not view.is_held:
        return "pending", "nobody holds the ticket; a claim takes it", {}
    evidence = {"generation": lease.generation, "granted_at": instant_text(lease.granted_at)}
    return "done", f"generation {lease.generation} has one holder", evidence


def _workspace(view: RecoveryView) -> Found:
    judged = criteria(view)[6]
    evidence = {"at": view.start_sha}
    if judged.met is False:
        return "blocked", judged.reason, evidence
    return ("done" if judged.met else "pending"), judged.reason, evidence


def _predecessor(view: RecoveryView) -> Found:
    stack, judged = stacking(view.checkpoint, view.observation.around), criteria(view)[5]
    if isinstance(stack, NoPredecessor):
        return "not_applicable", judged.reason, {}
    evidence = {
        "predecessor": view.checkpoint.predecessor_issue_or_pr,
        "recorded": view.checkpoint.predecessor_sha,
        "now": stack.now if isinstance(stack, MovedOn) else None,
    }
    if isinstance(stack, MovedOn):
        return "pending", f"{judged.reason}; take its commits in, then record the new one", evidence
    return ("blocked" if judged.met is False else "done"), judged.reason, evidence


def _validations(view: RecoveryView) -> Found:
    judged, here = criteria(view)[11], validations_here(view)
    evidence = {
        "at": view.start_sha,
        "judged": [{"profile": v.profile, "version": v.version, "state": v.state, "because": v.because} for v in here],
    }
    return "done", judged.reason, evidence


def validations_here(view: RecoveryView) -> tuple[ShownValidation, ...]:
    """Every recorded result, judged on the commit to work from."""
    if view.record is None or view.start_sha is None:
        return ()
    return shown(view.record, present(view.record, view.start_sha, view.observation.around))


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
    trunk, over = view.observation.trunk, view.observation.around.trunk_over_work
    if view.work is None or trunk is None:
        return "not_applicable", "no base is recorded yet", {}
    evidence = {
        "recorded": view.work.base_sha,
        "trunk": trunk.sha,
        "behind": over.ahead if over else None,
        "mergeable": view.pull.mergeable if view.pull else None,
    }
    if view.pull is not None and view.pull.mergeable == "CONFLICTING":
        return "blocked", f"PR #{view.pull.number} conflicts with {trunk.name}: merge it in and resolve", evidence
    if view.work.base_sha == trunk.sha or (over is not None and over.ahead == 0):
        return "done", "the work holds everything that is on the trunk", evidence
    moved = f"the trunk has moved{f' by {over.ahead} commits' if over else ''} since"
    if view.pull is None:
        return "done", f"{moved}; conflicts are looked for once there is a PR", evidence
    if view.pull.mergeable == "MERGEABLE":
        return "done", f"{moved}, and PR #{view.pull.number} merges without conflict", evidence
    return "pending", f"{moved}; GitHub has not computed yet whether PR #{view.pull.number} conflicts", evidence


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
    verify = next((v for v in validations_here(view) if v.profile == VERIFY), None)
    evidence = {
        "at": verify.snapshot if verify else None,
        "completed": list(verify.completed) if verify else [],
        "failed": list(verify.failed) if verify else [],
        "not_run": list(verify.not_run) if verify else [],
    }
    if judged.met is False:
        return "blocked", judged.reason, evidence
    return ("done" if judged.met else "pending"), judged.reason, evidence


def _go_on(view: RecoveryView) -> Found:
    if not view.is_held:
        return "pending", "claim the ticket first", {}
    if view.record is not None and view.record.status == "recovering" and view.evidence is None:
        return "pending", "show the workspace first: `agent-recovery recover` does it", {}
    return "done", "every write is checked against the present generation", {}


_LOOKS: tuple[Callable[[RecoveryView], Found], ...] = (
    ticket_evidence.found,
    _branches,
    _pull,
    unfinished_landing.found,
    release_boundary.found,
    _checkpoint,
    _policy,
    _ownership,
    child_findings.found,
    _workspace,
    _predecessor,
    _validations,
    _repairs,
    _base,
    _plan,
    _verification,
    _go_on,
)
