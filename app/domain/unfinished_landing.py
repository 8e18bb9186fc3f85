"""Step 4 and criterion 4 of a recovery: work that was delivered, or nearly, and what is left of it.

Read only: a ready PR that has not landed, a merged one whose Issue is open, branches left behind, pull requests that
build on the ticket's branch. Delivered work is never done again.
"""

from typing import Any

from app.domain.branches import ticket_of_branch
from app.domain.landing_blocker import Blocker
from app.domain.landing_told import standing_in_the_way
from app.domain.recovery_view import Found, RecoveryView, Verdict


def found(view: RecoveryView) -> Found:
    """Step 4: what of a landing stands unfinished now."""
    pull, left = view.pull, left_over(view)
    evidence: dict[str, Any] = {
        "pull": pull.number if pull else None,
        "pull_state": pull.state if pull else None,
        "issue_state": view.observation.issue.state if view.observation.issue else None,
        "other_branches": _other_branches(view),
        "dependents": [p.number for p in view.observation.around.dependents],
        "in_the_way": [blocker.code for blocker in in_the_way(view)],
    }
    if pull is not None and pull.state == "MERGED":
        return ("pending" if left else "done"), "; ".join(("the work has landed", *left)), evidence
    if left:
        return "done", "; ".join(left), evidence
    return "done", "nothing of this ticket waits to be finished", evidence


def judged(view: RecoveryView) -> Verdict:
    """Criterion 4: a ready ticket without blockers has landed, its Issue is closed, its branch is gone."""
    pull = view.pull
    if pull is not None and pull.state == "MERGED":
        left = left_over(view)
        return (False, f"PR #{pull.number} was merged; {'; '.join(left)}") if left else (True, "it has landed")
    if view.record is None or view.record.status != "ready":
        return None, "does not apply before the ticket is ready"
    if waits := [blocker.reason for blocker in in_the_way(view)]:
        return None, f"the ticket is ready and waits: {'; '.join(waits)}"
    if pull is None or pull.state != "OPEN":
        return None, "the ticket is ready and has no open PR that could land"
    return None, "the ticket is ready and nothing is in its way: the App lands it"


def in_the_way(view: RecoveryView) -> tuple[Blocker, ...]:
    """What is in the way of the ticket's landing, once it is ready; nothing before that."""
    if view.record is None:
        return ()
    return standing_in_the_way(view.record, view.observation, view.policy, view.head, view.landing)


def left_over(view: RecoveryView) -> tuple[str, ...]:
    """In words, what a finished landing would not leave behind, or what of a ready one is still to come."""
    pull, issue, around = view.pull, view.observation.issue, view.observation.around
    left = []
    if pull is not None and pull.state == "MERGED":
        if issue is not None and issue.state == "OPEN":
            left.append(f"Issue #{issue.number} is still open")
        if view.work is not None and view.observation.branch(view.work.branch) is not None:
            left.append("the ticket's branch is still there")
    elif pull is not None and pull.state == "OPEN" and not pull.is_draft:
        ready = view.record is not None and view.record.status == "ready"
        left.append(
            f"PR #{pull.number} is {'ready' if ready else 'marked ready while work goes on'} and has not landed"
        )
        left += [blocker.reason for blocker in in_the_way(view)]
    if around.dependents:
        numbers = ", ".join(f"#{p.number}" for p in around.dependents)
        left.append(f"{numbers} build on the ticket's branch, so it stays until they have another base")
    if others := _other_branches(view):
        left.append(f"other branches that carry the ticket's number: {len(others)}")
    return tuple(left)


def _other_branches(view: RecoveryView) -> list[str]:
    own = view.work.branch if view.work else None
    if view.record is None or view.record.child is not None:
        return []
    ticket = view.record.ticket
    return [b.name for b in view.observation.branches if b.name != own and ticket_of_branch(b.name) == ticket][:20]
