"""`child integrate`: what a child completed, merged into the ticket's branch and noted in the same fenced push.

Everything is read by git and judged here, so it works while the service is down. Only what still holds is merged: the
child's own generation, the snapshot and the predecessor it was asked for (the ownership protocol, R19). Crash points:

| crash | the same command again |
|---|---|
| before or in the merge | judges afresh; a merge that was cut off is told by git |
| merged, not pushed | finds the child's commit in the branch, and pushes |
| pushed, not heard | the key of the push finds it in the ledger |
"""

from dataclasses import dataclass, replace

from app.agent import next_checkpoint, pushing
from app.agent.environment import usage
from app.agent.held import HeldLease, held_lease, identity
from app.agent.home import Home
from app.agent.workspace import GitFailed, Workspace
from app.domain.child_contract import ListedChild, SealedResult
from app.domain.children import (
    Seen,
    Unseen,
    active_names,
    first_in_the_way,
    integrable,
    integrated_text,
    integrated_texts,
    is_settled,
    listed,
)
from app.domain.outcome import Blocked, Code, Refused
from app.domain.record import Record
from app.domain.ticket_id import Child
from app.domain.triggers import Trigger
from app.ledger import git_outcomes
from app.ledger.agent_commits import Integrated
from app.ledger.clone import Unreachable
from app.ledger.git_standing import Known, standing


@dataclass(frozen=True)
class Chosen:
    """The child whose result is to be merged next, and the record it was judged by."""

    entry: ListedChild
    result: SealedResult
    parent: Record


@dataclass(frozen=True)
class Nothing:
    """No child is left to integrate."""

    reason: str


@dataclass(frozen=True)
class Merged:
    """What was pushed."""

    name: str
    result: SealedResult
    pushed: git_outcomes.Pushed
    plan: pushing.Plan


def choose(home: Home, name: str | None) -> Chosen | Nothing:
    """The child to integrate: the next in order, or `name` where it is its turn. Raises Refused."""
    lease = held_lease(home)
    if isinstance(lease.ticket, Child):
        raise usage("a child has no children", "its parent's holder integrates them")
    ledger = pushing.ledger_of(home, lease)
    # Judged before anything is merged here: what a forged record lists must not even come into the work tree.
    known = standing(
        ledger, identity(home).token, lease.branch, repository_id=lease.repository_id, public_keys=lease.keys()
    )
    if not isinstance(known, Known):
        raise pushing.refusal(known, lease)
    record = known.record
    entries = listed(record)
    found = ledger.children(entries)
    if isinstance(found, Unreachable):
        raise pushing.refusal(git_outcomes.Unheard(found.reason), lease)
    return _chosen(Workspace(home), lease, record, found, name)


def _chosen(
    workspace: Workspace, lease: HeldLease, record: Record, found: dict[str, Seen | Unseen], name: str | None
) -> Chosen | Nothing:
    head = lease.published_sha or lease.base_sha
    entries = listed(record)
    gone = Unseen("its ledger is gone")
    holds = {entry.base_sha: workspace.is_ancestor(entry.base_sha, head) for entry in entries}

    def unsettled(entry: ListedChild) -> bool:
        return not is_settled(entry, found.get(entry.name, gone), record, holds[entry.base_sha])

    wanted = next((e for e in entries if (e.name == name if name else unsettled(e))), None)
    if wanted is None:
        if name is not None:
            raise usage(f"no child {name} is listed", "look at `agent-recovery child list`")
        return Nothing("every child is integrated, or has nothing that could be")
    before = first_in_the_way(wanted.name, entries, unsettled)
    if before is not None:
        reason, remedy = (
            f"{before} is integrated before {wanted.name}",
            f"wait, or `agent-recovery child cancel {before}`",
        )
        raise Refused(Blocked(Code.CHILD_UNFINISHED, reason, remedy, retryable=True))
    answer = integrable(wanted, found.get(wanted.name, gone), record, holds[wanted.base_sha])
    if isinstance(answer, Blocked):
        raise Refused(answer)
    if answer.merged is not None:
        return Nothing(f"{wanted.name} is integrated already: {answer.merged}")
    return Chosen(wanted, answer, record)


def integrate(home: Home, chosen: Chosen) -> Merged:
    """Merge and push. Raises Refused; a conflict leaves the work tree as it was."""
    workspace, lease = Workspace(home), held_lease(home)
    if workspace.current_branch() != lease.branch:
        raise usage(f"{lease.branch} is not checked out here", f"git checkout {lease.branch}")
    name, head = chosen.entry.name, chosen.result.head_sha
    at = workspace.branch_head(lease.branch) or ""
    if head is not None and not workspace.is_ancestor(head, at):
        _merge(workspace, name, chosen.result.generation, head)
        at = workspace.branch_head(lease.branch) or ""
    result = chosen.result.model_copy(update={"merged": at})
    planned = pushing.plan(home, "working", Trigger.INTEGRATE)
    told = {
        "active_children": tuple(n for n in active_names(chosen.parent) if n != name),
        "integrated_child_results": (*integrated_texts(chosen.parent), integrated_text(name, result)),
    }
    planned = replace(planned, checkpoint=planned.checkpoint.model_copy(update=told))
    if next_checkpoint.exists(home):
        next_checkpoint.write(home, {**next_checkpoint.read(home), **{k: list(v) for k, v in told.items()}})
    pushed = pushing.publish(home, planned, integrated=(Integrated(chosen.entry, result),))
    return Merged(name, result, pushed, planned)


def _merge(workspace: Workspace, name: str, generation: int, head: str) -> None:
    state = workspace.state()
    if state.changed:
        raise usage(f"{len(state.changed)} files are changed, first {state.changed[0]}", "commit them, then integrate")
    message = f"Integrate {name}, generation {generation}"
    try:
        # Never a fast-forward: the child's commit has checks of its own, and the merge is the parent's.
        workspace.git("merge", "--no-ff", "--no-edit", "--quiet", "-m", message, head)
    except GitFailed as failure:
        conflicts = workspace.git("diff", "--name-only", "--diff-filter=U", "-z").split("\0")[:-1]
        if not conflicts:
            raise
        workspace.git("merge", "--abort")
        raise Refused(
            Blocked(
                Code.BRANCH_MOVED,
                f"{name} conflicts with the branch in {', '.join(conflicts[:5])} ({failure.said})",
                f"git merge --no-ff {head}, resolve and commit; then `agent-recovery child integrate {name}` again",
            )
        ) from None
