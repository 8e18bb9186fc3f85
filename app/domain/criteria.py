"""The 13 completion criteria of a recovery (section 13 of the recovery specification), each with its reason.

`met` is None where a criterion cannot be judged yet or does not apply; the reason says which, and says plainly what
this version does not look at.
"""

from collections.abc import Callable

from app.domain import child_findings, release_boundary, ticket_evidence, unfinished_landing
from app.domain.brief import Criterion
from app.domain.effect_findings import judged as effects_judged
from app.domain.fencing import AtPublished, Foreign, NothingPublished, Tampered
from app.domain.linked_issue import linked_issue_of
from app.domain.recovery_view import RecoveryView, Verdict, tasks_of
from app.domain.stack import HasLanded, MovedOn, NoPredecessor, SamePlace, Unclear, stacking
from app.domain.stack_graph import landed_under, ticket_below
from app.domain.validation import VERIFY, Failed, NotRun, Passed, judged, listed, present, validations_of, version_of


def criteria(view: RecoveryView) -> tuple[Criterion, ...]:
    """All thirteen, in the order of the specification."""
    return tuple(
        Criterion(number=number, name=name, met=met, reason=reason)
        for number, (name, judge) in enumerate(_CRITERIA, start=1)
        for met, reason in (judge(view),)
    )


def _published(view: RecoveryView) -> Verdict:
    match view.head:
        case AtPublished(sha=sha, fenced=True):
            return True, f"the remote branch is at {sha}, as its holder published it"
        case AtPublished(sha=sha):
            return None, f"the remote branch is at {sha}; the new holder has not yet shown its workspace there"
        case Foreign(head=head):
            return False, f"the branch is at {head}, which its holder did not publish"
        case Tampered():
            return False, "the branch does not hold the published commit any more; the App puts it back"
        case NothingPublished(head=str() as head):
            return False, f"the branch is at {head}, and nothing was ever published by a holder"
    return None, "nothing has been published yet"


def _pull_fits(view: RecoveryView) -> Verdict:
    pull = view.pull
    if pull is None:
        if isinstance(view.head, AtPublished | Foreign | Tampered):
            return False, "the ticket's branch has published work and no PR; the App creates it"
        return None, "no PR is needed before something is published"
    wrong = []
    if pull.state != "OPEN":
        wrong.append(f"it is {pull.state.lower()}")
    below = ticket_below(view.record, pull) if view.record is not None else None
    stacked = below is not None and landed_under(pull.base, view.observation) is None
    if view.work is None or (pull.base != view.work.trunk and not stacked):
        wrong.append("its base is not the recorded trunk")
    if view.record is not None and linked_issue_of(pull.body) != view.record.ticket:
        wrong.append("its body does not begin with the line that links the Issue")
    is_ready = view.record is not None and view.record.status == "ready"
    if is_ready and pull.is_draft:
        wrong.append("it is a draft although the ticket is ready")
    if wrong:
        return False, f"PR #{pull.number}: {'; '.join(wrong)}"
    fits = f"with the branch of #{below} as base and the right Issue" if stacked else "with the right base and Issue"
    return True, f"PR #{pull.number} is open, {'draft' if pull.is_draft else 'ready'}, {fits}"


def _stack(view: RecoveryView) -> Verdict:
    match stacking(view.checkpoint, view.observation.around):
        case NoPredecessor():
            return None, "does not apply: no predecessor is recorded"
        case SamePlace(number=number, sha=sha):
            return True, f"#{number}, the predecessor, stands at {sha}, as it was recorded"
        case HasLanded(number=number, sha=sha):
            return True, f"#{number}, the predecessor, landed as it was recorded, at {sha}"
        case MovedOn(number=number, recorded=recorded, now=now):
            return False, f"#{number}, the predecessor, was recorded at {recorded} and is at {now}: the base is stale"
        case Unclear(reason=reason):
            return False, reason


def _workspace(view: RecoveryView) -> Verdict:
    evidence, start = view.evidence, view.start_sha
    if evidence is None:
        if view.is_held and view.record is not None and view.record.status in {"working", "waiting", "ready"}:
            return True, "the holder showed it when it took over"
        return None, "the agent has not shown its workspace yet"
    if evidence.head_sha != start:
        return False, f"the workspace is at {evidence.head_sha}, the work stands at {start}"
    if not evidence.clean:
        return False, f"the workspace is at {start} but not clean"
    return True, f"the workspace is clean at {start}"


def _owned(view: RecoveryView) -> Verdict:
    if view.record is None or view.record.lease is None or not view.is_held:
        return False, "nobody holds the ticket now"
    return True, f"generation {view.record.lease.generation} is held by one holder, by compare-and-set"


def _stale_without_rights(view: RecoveryView) -> Verdict:
    if view.record is None or view.record.lease is None:
        return None, "does not apply: nobody holds the ticket"
    if isinstance(view.head, Foreign | Tampered):
        return False, "something wrote to the branch past the fence; it does not count"
    return True, "writes of any other generation are refused; a plain push would be shown and not counted"


def _effects(view: RecoveryView) -> Verdict:
    return effects_judged(view.record, len(view.checkpoint.external_side_effects))


def _validations(view: RecoveryView) -> Verdict:
    wanted = view.policy.verify if view.policy is not None else ()
    if view.evidence is not None and (view.evidence.head_sha != view.start_sha or not view.evidence.clean):
        return False, "the verify commands ran on something else than the published commit"
    if view.record is None or view.start_sha is None:
        return None, "there is no commit to judge results on yet"
    snapshot = present(view.record, view.start_sha, view.observation.around)
    known = {v.profile: v for v in validations_of(view.record)}
    failed = [name for name, v in known.items() if name != VERIFY and isinstance(judged(v, snapshot), Failed)]
    if failed:
        return False, f"failed on {view.start_sha}: {listed(failed)}"
    if not wanted:
        passed = [name for name, v in known.items() if isinstance(judged(v, snapshot), Passed)]
        others = f"; passed on {view.start_sha}: {listed(passed)}" if passed else ""
        return None, f"the policy names no verify command{others}"
    verify = known.get(VERIFY)
    if verify is not None and verify.version != version_of(wanted):
        return None, "the policy's verify commands are others than those that were run"
    match judged(verify, snapshot):
        case Passed(checks=checks):
            return True, f"all {len(checks)} verify commands passed on {view.start_sha}"
        case Failed(checks=checks):
            return False, f"of {len(wanted)} verify commands {len(checks)} failed on {view.start_sha}"
        case NotRun(reason=reason):
            met = False if view.evidence is not None else None
            return met, f"the verify commands have not been run on {view.start_sha}: {reason}"


def _next_step(view: RecoveryView) -> Verdict:
    c = view.checkpoint
    if view.record is not None and view.record.status == "ready":
        return True, "nothing is left to do: the ticket is ready"
    if c.next_steps or c.blockers or c.pending_validation:
        return True, f"{len(c.next_steps)} next steps, {len(c.blockers)} blockers in the checkpoint"
    if not view.has_checkpoint and view.observation.issue is not None:
        tasks = len(tasks_of(view.observation.issue.body))
        return (True, f"no checkpoint yet; the Issue lists {tasks} steps") if tasks else (None, "only the Issue's text")
    return False, "the checkpoint names no next step"


_CRITERIA: tuple[tuple[str, Callable[[RecoveryView], Verdict]], ...] = (
    ("Issue, Project, PR, release and dependencies are identified", ticket_evidence.judged),
    ("the work is published and the remote head confirmed", _published),
    ("the PR exists with the right state, Issue and base", _pull_fits),
    ("a ready ticket has landed, its Issue is closed", unfinished_landing.judged),
    ("the release boundary is kept", release_boundary.judged),
    ("the predecessor and its exact snapshot are known", _stack),
    ("the workspace was rebuilt from a traceable commit", _workspace),
    ("the fencing identity is held by one holder", _owned),
    ("stale executions have no rights", _stale_without_rights),
    ("active children are reconciled", child_findings.judged),
    ("no effect outside Git is unknown", _effects),
    ("validations are judged on the present commit", _validations),
    ("the next step is clear", _next_step),
)
