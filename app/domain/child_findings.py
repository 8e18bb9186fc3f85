"""What a recovery finds about children: step 9, criterion 10, and the commands by which the holder goes on."""

from typing import Any

from app.domain.brief import Command
from app.domain.recovery_view import Found, RecoveryView, State, Verdict
from app.domain.shown_child import ShownChild

_LOOSE = frozenset({"interrupted", "failed", "stale", "orphaned", "lost"})
"""States in which somebody has to decide what becomes of a child."""


def found(view: RecoveryView) -> Found:
    """Step 9: every child found again by its ledger, with what it is in and what it gave."""
    children = view.children
    if not children:
        return "not_applicable", "the ticket has no children", {}
    state: State = "done"
    if any(c.state in _LOOSE or c.integrable for c in children):
        state = "pending"
    if any(c.state == "lost" for c in children):
        state = "blocked"
    told = "; ".join(f"{c.name} is {c.state}" for c in children)
    return state, f"{told}. The death of a parent ends no child", {"children": [_evidence(c) for c in children]}


def judged(view: RecoveryView) -> Verdict:
    """Criterion 10: no child is left in a state that somebody has to decide about."""
    children = view.children
    if not children:
        return None, "does not apply: the ticket has no children"
    # In our own words: what an agent said of a child stands beside it as data.
    loose = [f"{c.name} is {c.state}" for c in children if c.state in _LOOSE]
    if loose:
        return False, "; ".join(loose)
    return True, f"all {len(children)} children are accounted for: {', '.join(f'{c.name} {c.state}' for c in children)}"


def commands(view: RecoveryView) -> tuple[Command, ...]:
    """For the holder, in the order in which they make sense."""
    repository = f"{view.observation.owner}/{view.observation.name}"
    made: list[Command] = []
    for child in view.children:
        verb = _VERBS.get(child.state)
        if child.integrable:
            why = f"merge what {child.name} completed, with the fence"
            made.append(Command(when="children", why=why, argv=("agent-recovery", "child", "integrate", child.name)))
        elif child.state in ("waiting", "interrupted") and view.record is not None:
            why = f"start an agent on {child.name}, in an empty folder of its own"
            name = f"{view.record.ticket}.{child.name}"
            argv = ("agent-recovery", "recover", name, "--repo", repository)
            made.append(Command(when="children", why=why, argv=argv))
        elif verb is not None:
            why = f"{child.name} is {child.state}: {_WHY[verb]}"
            made.append(Command(when="children", why=why, argv=("agent-recovery", "child", verb, child.name)))
    return tuple(made)


_VERBS = {"stale": "respawn", "failed": "respawn", "orphaned": "adopt"}
_WHY = {"respawn": "ask for its work anew, at the present snapshot", "adopt": "list it among the children"}


def _evidence(child: ShownChild) -> dict[str, Any]:
    return {
        "name": child.name,
        "state": child.state,
        "generation": child.generation,
        "base": child.base_sha,
        "predecessor": child.predecessor_sha,
        "head": child.head_sha,
        "result": child.result_commit,
        "pull": child.pr_number,
    }
