"""The commands that push: `push`, `push --rewind`, `push --rebased`, `adopt`."""

import re
from pathlib import Path
from typing import Any

from app.agent import held, next_checkpoint, pushing, show
from app.agent.api import Service
from app.agent.environment import usage
from app.agent.home import Home
from app.agent.workspace import Workspace
from app.domain.outcome import Refused
from app.domain.triggers import Trigger

_SHA = re.compile(r"[0-9a-f]{40}")


def push(
    status: str | None,
    at: Trigger | None,
    hints: tuple[str, ...] = (),
    *,
    rewind: bool,
    rebased: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """`agent-recovery push [--rewind | --rebased]`."""
    told = next_checkpoint.status_told(status, at)
    home = Home.find(Path.cwd())
    if hints and not dry_run:
        next_checkpoint.note_hints(home, next_checkpoint.hints_of(hints))
    planned = pushing.plan(home, told, at)
    next_checkpoint.warn_of_untold(at, planned.checkpoint.model_dump(mode="json"))
    if dry_run:
        _show_dry_run(planned, as_json)
        return
    _publish(home, planned, as_json, rewind=rewind, rebased=rebased)


def adopt(sha: str, *, dry_run: bool, as_json: bool) -> None:
    """`agent-recovery adopt SHA`: the work must contain the foreign commits; where it has none of its own beside
    them, the ticket branch is moved forward to them.
    """
    if not _SHA.fullmatch(sha):
        raise usage("that is no full commit id", "pass the 40 digits that `agent-recovery push` named")
    home = Home.find(Path.cwd())
    lease = held.held_lease(home)
    workspace = Workspace(home)
    workspace.fetch_branches(lease)
    if not workspace.has(sha):
        raise usage(f"{sha} is not on the remote", "run `agent-recovery push` again: it names what is there")
    head = workspace.branch_head(lease.branch)
    if head is not None and workspace.is_ancestor(head, sha) and head != sha:
        if dry_run:
            _show_adoption(lease.branch, sha, as_json)
            return
        workspace.fast_forward(lease.branch, sha)
    elif head is None or not workspace.is_ancestor(sha, head):
        raise usage(
            f"{lease.branch} does not contain {sha}",
            f"git merge {sha} (or rebase onto it), then `agent-recovery adopt {sha}` again",
        )
    planned = pushing.adopting(pushing.plan(home, "working"), sha)
    if dry_run:
        _show_adoption(lease.branch, sha, as_json)
        return
    _publish(home, planned, as_json, adopted=sha)


def _publish(
    home: Home,
    planned: pushing.Plan,
    as_json: bool,
    *,
    adopted: str | None = None,
    rewind: bool = False,
    rebased: bool = False,
) -> None:
    if planned.uses_lfs:
        show.warn(f"this branch keeps files in git-lfs: run `git lfs push origin {planned.lease.branch}` too")
    done = pushing.publish(home, planned, adopted=adopted, rewind=rewind, rebased=rebased)
    promoted = pushing.promote(home, planned)
    beat = heartbeat(planned, done.ledger_commit)
    if planned.left_behind:
        show.warn(f"{len(planned.left_behind)} files are not in what was pushed, first {planned.left_behind[0]}")
    if as_json:
        show.data(
            {
                "generation": planned.lease.generation,
                "branch": planned.lease.branch,
                "pushed": done.code_sha,
                "ledger_commit": done.ledger_commit,
                "adopted": adopted,
                "rewound": rewind,
                "rebased": rebased,
                "promoted": list(promoted),
                "changes": [change.model_dump() for change in planned.changes],
                "heartbeat": beat,
            }
        )
        return
    show.say(f"pushed {done.code_sha} to {planned.lease.branch}, ledger {done.ledger_commit}")
    show.changes(planned.changes)


def heartbeat(planned: pushing.Plan, ledger_head: str) -> dict[str, Any]:
    """Tells the service of the new ledger head. The push stands in any case, so a failure is a warning."""
    who = planned.identity
    try:
        with Service(who.url, who.repository, who.ticket, patience_s=3.0) as service:
            return service.heartbeat(who.token, ledger_head).model_dump(mode="json")
    except Refused as refused:
        show.warn(f"pushed, but the heartbeat failed: {refused.blocked.reason}")
        return {"warning": refused.blocked.reason, "code": str(refused.blocked.code)}


def _show_dry_run(planned: pushing.Plan, as_json: bool) -> None:
    if as_json:
        show.data(
            {
                "dry_run": {
                    "branch": planned.lease.branch,
                    "would_push": planned.code_sha,
                    "left_behind": list(planned.left_behind),
                    "checkpoint": planned.checkpoint.model_dump(mode="json", exclude_defaults=True),
                    "changes": [change.model_dump() for change in planned.changes],
                }
            }
        )
        return
    show.say(f"dry run: would push {planned.code_sha} to {planned.lease.branch}")
    show.changes(planned.changes)


def _show_adoption(branch: str, sha: str, as_json: bool) -> None:
    if as_json:
        show.data({"dry_run": {"branch": branch, "would_adopt": sha}})
    else:
        show.say(f"dry run: would adopt {sha} on {branch}")
