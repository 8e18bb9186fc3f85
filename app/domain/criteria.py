"""The 13 completion criteria of a recovery (section 13 of the recovery specification), each with its reason.

`met` is None where a criterion cannot be judged yet or does not apply; the reason says which, and says plainly what
this version does not look at.
"""

from collections.abc import Callable

from app.domain.brief import Criterion
from app.domain.effect_findings import judged as effects_judged
from app.domain.fencing import AtPublished, Foreign, NothingPublished, Tampered
from app.domain.linked_issue import linked_issue_of
from app.domain.recovery_view import RecoveryView, tasks_of

Verdict = tuple[bool | None, str]


def criteria(view: RecoveryView) -> tuple[Criterion, ...]:
    """All thirteen, in the order of the specification."""
    return tuple(
        Criterion(number=number, name=name, met=met, reason=reason)
        for number, (name, judge) in enumerate(_CRITERIA, start=1)
        for met, reason in (judge(view),)
    )


def _identified(view: RecoveryView) -> Verdict:
    issue = view.observation.issue
    if issue is None:
        return False, "the Issue was not found"
    if issue.state != "OPEN":
        return False, f"Issue #{issue.number} is closed"
    if view.work is None:
        return None, "the trunk is chosen by the first claim"
    if view.observation.trunk is None or view.observation.trunk.name != view.work.trunk:
        return False, "the recorded trunk does not stand any more"
    return True, f"Issue #{issue.number} and its trunk stand; Projects and dependencies are not looked at yet"


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
    if view.work is None or pull.base != view.work.trunk:
        wrong.append("its base is not the recorded trunk")
    if view.record is not None and linked_issue_of(pull.body) != view.record.ticket:
        wrong.append("its body does not begin with the line that links the Issue")
    is_ready = view.record is not None and view.record.status == "ready"
    if is_ready and pull.is_draft:
        wrong.append("it is a draft although the ticket is ready")
    if wrong:
        return False, f"PR #{pull.number}: {'; '.join(wrong)}"
    return True, f"PR #{pull.number} is open, {'draft' if pull.is_draft else 'ready'}, with the right base and Issue"


def _landed(view: RecoveryView) -> Verdict:
    if view.record is not None and view.record.status == "ready":
        return None, "the ticket is ready; landing is not part of this version, a person merges"
    return None, "does not apply before the ticket is ready"


def _release(view: RecoveryView) -> Verdict:
    return None, "release pull requests are not looked at yet; this version never merges anything"


def _stack(view: RecoveryView) -> Verdict:
    predecessor = view.checkpoint.predecessor_issue_or_pr
    if predecessor is None:
        return None, "does not apply: no predecessor is recorded"
    if view.checkpoint.predecessor_sha is None:
        return False, f"#{predecessor} is recorded as predecessor without its exact commit"
    return None, f"#{predecessor} is recorded; its present state is not looked at yet"


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


def _children(view: RecoveryView) -> Verdict:
    if view.record is not None and view.record.children:
        return None, f"{len(view.record.children)} children are recorded; this version does not reconcile them"
    return None, "does not apply: no children are recorded"


def _effects(view: RecoveryView) -> Verdict:
    return effects_judged(view.record, len(view.checkpoint.external_side_effects))


def _validations(view: RecoveryView) -> Verdict:
    wanted = view.policy.verify if view.policy is not None else ()
    if not wanted:
        return None, "the policy names no verify command"
    if view.evidence is None:
        return None, "the verify commands have not been run on this commit yet"
    if view.evidence.head_sha != view.start_sha or not view.evidence.clean:
        return False, "the verify commands ran on something else than the published commit"
    ran = {run.command: run.exit_code for run in view.evidence.verify}
    not_run = sum(command not in ran for command in wanted)
    failed = sum(ran.get(command, 0) != 0 for command in wanted)
    if not_run or failed:
        return False, f"of {len(wanted)} verify commands {failed} failed and {not_run} did not run"
    return True, f"all {len(wanted)} verify commands passed on {view.start_sha}"


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
    ("Issue, Project, PR, release and dependencies are identified", _identified),
    ("the work is published and the remote head confirmed", _published),
    ("the PR exists with the right state, Issue and base", _pull_fits),
    ("a ready ticket has landed, its Issue is closed", _landed),
    ("the release boundary is kept", _release),
    ("the predecessor and its exact snapshot are known", _stack),
    ("the workspace was rebuilt from a traceable commit", _workspace),
    ("the fencing identity is held by one holder", _owned),
    ("stale executions have no rights", _stale_without_rights),
    ("active children are reconciled", _children),
    ("no effect outside Git is unknown", _effects),
    ("validations are judged on the present commit", _validations),
    ("the next step is clear", _next_step),
)
