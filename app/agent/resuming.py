"""`resume`: before work goes on in a workspace that stands, its head is compared with the ledger and the remote.

Wanted properties: nothing is overwritten, here or there; where the two sides went apart both heads are kept under
`recovered/…` before anybody is asked; what is restored or pushed goes through the fence like every other push.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.agent import pushing, show, writes
from app.agent.environment import usage
from app.agent.held import FILE, HeldLease, held_lease, identity
from app.agent.home import Home
from app.agent.soft_checkpoints import ROOT
from app.agent.workspace import Workspace
from app.domain.outcome import Blocked, Code, Refused
from app.domain.resume import Apart, Comparison, FastForward, ForeignHead, Heads, RemoteGone, compare, results_count
from app.ledger.clone import Clone, PushedRefs
from app.ledger.git_outcomes import FencedOut
from app.ledger.git_standing import Known, standing


@dataclass(frozen=True)
class Resumed:
    """The workspace may go on. `done`: what was done to make it so; `trunk_ahead`: commits of the trunk it lacks."""

    comparison: Comparison
    head: str
    done: str
    trunk_ahead: int | None


def resume(*, restore: bool, dry_run: bool, as_json: bool) -> None:
    """`agent-recovery resume [--restore]`."""
    home = Home.find(Path.cwd())
    resumed = check(home, restore=restore, dry_run=dry_run)
    if as_json:
        show.data(as_data(resumed, dry_run=dry_run))
        return
    show.say(f"{'dry run: ' if dry_run else ''}{resumed.done}: {resumed.comparison.reason}; HEAD is {resumed.head}")
    warn_of_base(resumed)


def check(home: Home, *, restore: bool = False, dry_run: bool = False) -> Resumed:
    """Compares, and brings this workspace up to the remote where nothing can be lost by it.

    Raises Refused: fenced out, the remote does not answer, or a person has to decide.
    """
    lease = held_lease(home)
    workspace = Workspace(home)
    local = workspace.branch_head(lease.branch)
    if local is None or workspace.current_branch() != lease.branch:
        way = f"git checkout {lease.branch}" if local else f"git checkout -b {lease.branch} {lease.head_sha}"
        raise usage(f"the ticket branch {lease.branch} is not checked out here", way)
    try:
        workspace.fetch_branches(lease)
    except Refused as refused:
        if refused.blocked.code in _OVER and not dry_run:
            _keep_own(home, workspace, lease, local)
        raise
    who = identity(home)
    known = standing(
        pushing.ledger_of(home, lease),
        who.token,
        lease.branch,
        repository_id=lease.repository_id,
        public_keys=lease.keys(),
    )
    if isinstance(known, FencedOut) and not dry_run:
        _keep_own(home, workspace, lease, local)
    if not isinstance(known, Known):
        raise pushing.refusal(known, lease)
    if not dry_run:
        # Another process of this lease may have written meanwhile: the next write goes on above its number.
        writes.learn(home, who, known.highest)
    found = compare(_heads(workspace, local, known))
    match found:
        case ForeignHead():
            beside = Clone(home.root).commits_beside(
                found.remote, [local, *([known.published] if known.published else [])]
            )
            raise pushing.foreign_commits(found.remote, beside, lease)
        case Apart() if known.withdrawn is not None and workspace.is_ancestor(known.withdrawn.on, local):
            done = "would take the service's fence commit into the work"
            if not dry_run:
                done = "took the service's fence commit into the work, which changes no file"
                pushing.follow_fence(home, lease.branch, local, pushing.ledger_of(home, lease), known.withdrawn)
        case Apart():
            raise _apart(home, lease, found, dry_run)
        case RemoteGone():
            done = _restored(home, found, lease, restore, dry_run)
        case FastForward():
            done = "would fast-forward" if dry_run else "fast-forwarded"
            if not dry_run:
                workspace.fast_forward(lease.branch, found.to)
                home.save(FILE, lease.model_copy(update={"published_sha": found.to}))
        case _:
            done = "go on"
    return Resumed(found, workspace.head() or local, done, workspace.missing_of(lease.trunk))


def as_data(resumed: Resumed, *, dry_run: bool = False) -> dict[str, Any]:
    """The outcome as JSON."""
    ahead = resumed.trunk_ahead
    return {
        "resume": _NAMES[type(resumed.comparison).__name__],
        "reason": resumed.comparison.reason,
        "head": resumed.head,
        "dry_run": dry_run,
        "trunk_ahead": ahead,
        "results_count": None if ahead is None else results_count(ahead),
    }


def warn_of_base(resumed: Resumed) -> None:
    """Says that results on an old base say nothing about the trunk."""
    if resumed.trunk_ahead and not results_count(resumed.trunk_ahead):
        show.warn(
            f"the trunk has {resumed.trunk_ahead} commits that this work lacks: results here say nothing about it; "
            "update the base first"
        )


def keep_aside(home: Home, lease: HeldLease, *heads: str) -> str:
    """Keeps commits where nothing reads them as state: on the remote under `recovered/…`, or, where that cannot be, in
    this clone. Returns where, in words.
    """
    clone = Clone(home.root, lease.git_url)
    refs = pushing.ledger_of(home, lease).refs
    names = {refs.recovered(lease.ticket, head): head for head in heads}
    if isinstance(clone.push([], create=names), PushedRefs):
        return ", ".join(names)
    workspace = Workspace(home)
    kept = {f"{ROOT}/{lease.ticket}/kept/{head}": head for head in heads}
    for ref, head in kept.items():
        workspace.git("update-ref", ref, head)
    return f"{', '.join(kept)} (in this clone only)"


_OVER = frozenset({Code.STALE_GENERATION, Code.ENDED})
_NAMES = {
    "GoOn": "continue",
    "Apart": "continue",
    "FastForward": "fast_forward",
    "RemoteGone": "restored",
}


def _keep_own(home: Home, workspace: Workspace, lease: HeldLease, local: str) -> None:
    """The lease is over: commits that nobody else has must not go with this machine."""
    if workspace.unpublished():
        show.warn(f"your commits are kept: {keep_aside(home, lease, local)}")


def _heads(workspace: Workspace, local: str, known: Known) -> Heads:
    remote, published = known.branch, known.published
    return Heads(
        local=local,
        published=published,
        remote=remote,
        local_has_remote=remote is not None and workspace.is_ancestor(remote, local),
        remote_has_local=remote is not None and workspace.is_ancestor(local, remote),
        remote_has_published=None not in (remote, published) and workspace.is_ancestor(str(published), str(remote)),
    )


def _apart(home: Home, lease: HeldLease, found: Apart, dry_run: bool) -> show.DetailedRefusal:
    kept = None if dry_run else keep_aside(home, lease, found.local, found.remote)
    commands = [["git", "merge", found.remote], ["git", "reset", "--keep", found.remote]]
    remedy = (
        f"a person decides. To have both: `git merge {found.remote}`, then `agent-recovery push`; to have the remote's "
        f"alone: `git reset --keep {found.remote}`"
    )
    if found.overwritten:
        commands = [["agent-recovery", "push", "--rewind"]]
        remedy = "a person decides. To put the branch back: `agent-recovery push --rewind`"
    return show.DetailedRefusal(
        Blocked(
            Code.BRANCH_MOVED,
            f"{found.reason}: here {found.local}, there {found.remote}; nothing was pushed"
            + (f"; both are kept: {kept}" if kept else ""),
            remedy,
        ),
        details={
            "resume": "stop",
            "local": found.local,
            "remote": found.remote,
            "kept": kept,
            "commands": commands,
        },
        lines=(),
    )


def _restored(home: Home, found: RemoteGone, lease: HeldLease, restore: bool, dry_run: bool) -> str:
    """Puts the published commit back with a fenced push, where that was asked for."""
    if not restore:
        raise show.DetailedRefusal(
            Blocked(Code.BRANCH_MOVED, found.reason, "put it back: `agent-recovery resume --restore`"),
            details={
                "resume": "offer_restore",
                "restore_sha": found.restore,
                "commands": [["agent-recovery", "resume", "--restore"]],
            },
            lines=(),
        )
    if dry_run:
        return f"would put {lease.branch} back at {found.restore}"
    planned = pushing.plan(home, "working")
    checkpoint = planned.checkpoint.model_copy(update={"checkpoint_sha_or_snapshot": found.restore})
    pushing.publish(home, replace(planned, code_sha=found.restore, checkpoint=checkpoint))
    return f"put {lease.branch} back at {found.restore}"
