"""`recover`: from nothing but a ticket's number to a verified workspace and a prefilled next checkpoint.

Stages, each finished or repeated when the command is run again after a crash at any point:

| stage | what stands on disk before it | a crash inside it |
|---|---|---|
| claim | the claim id | the same id again gives the same grant |
| workspace | `recovery.json`: building or moving | what was half-made is replaced; nobody worked there yet |
| next.json | workspace done | written again whole |
| verify and evidence | the whole request with its key | the same request is sent again |
"""

from dataclasses import dataclass
from typing import Any, Literal

from app.agent import claiming, dependencies, held, next_checkpoint, resuming, show, verify_runs, writes
from app.agent.api import Service
from app.agent.environment import usage
from app.agent.home import Home
from app.agent.way_in import WayIn
from app.agent.workspace import Empty, Occupied, State, UnfitRepository, Workspace, refuse_occupied
from app.domain.agent_api import Grant, VerifyRun, WriteAnswer
from app.domain.brief import Brief
from app.domain.model import Message
from app.domain.outcome import Blocked, Refused

FILE = "recovery.json"

Stage = Literal["building", "moving", "workspace", "next", "evidence"]
_ORDER: tuple[Stage, ...] = ("building", "moving", "workspace", "next", "evidence")


class Progress(Message):
    """The last stage begun (`building`, `moving`) or finished (the others) under one lease."""

    generation: int
    nonce: str
    stage: Stage

    def has(self, stage: Stage) -> bool:
        return _ORDER.index(self.stage) >= _ORDER.index(stage)


@dataclass(frozen=True)
class Recovered:
    """What `recover` reports. `evidence` is None where an earlier run already posted it: then `resumed` is how the
    workspace that stands compares with the ledger and the remote.
    """

    grant: Grant
    state: State
    runs: tuple[VerifyRun, ...]
    evidence: WriteAnswer | None
    resumed: resuming.Resumed | None = None


def recover(home: Home, service: Service, wish: claiming.Wish, way: WayIn) -> Recovered:
    """Claims the ticket and makes the workspace. Raises Refused."""
    workspace = Workspace(home)
    _refuse_unfit(home, workspace)
    lease, grant = claiming.claim(home, service, wish, way, lambda: _before_fresh(home, workspace, keeps=True))
    try:
        state = _workspace(home, workspace, lease)
    except UnfitRepository as unfit:
        raise _given_back(home, service, unfit) from None
    if not _reached(home, lease, "next"):
        next_checkpoint.write(home, next_checkpoint.prefilled(grant.brief))
        _note(home, lease, "next")
    if _reached(home, lease, "evidence"):
        resumed = resuming.check(home)
        return Recovered(grant, workspace.state(), (), None, resumed)
    runs, answer = _evidence(home, service, lease, state, grant.brief)
    _note(home, lease, "evidence")
    return Recovered(grant, state, runs, answer)


def _given_back(home: Home, service: Service, unfit: UnfitRepository) -> Refused:
    """Nobody can work at this commit: the lease is not kept from those who could once it is mended."""
    writes.send(home, service, held.identity(home), "handoff", {"checkpoint": None})
    claiming.end(home, "handed back: no workspace can be made of the repository")
    why = unfit.blocked
    return Refused(Blocked(why.code, f"{why.reason}; the ticket was handed back", f"{why.remedy}; then recover again"))


def look_only(home: Home, brief: Brief) -> dict[str, Any]:
    """What `recover --dry-run` would do here. Raises Refused where it would refuse before claiming."""
    workspace = Workspace(home)
    _refuse_unfit(home, workspace)
    _before_fresh(home, workspace, keeps=False)
    return {
        "claimable": brief.claimable,
        "claimable_because": brief.claimable_because,
        "observed_generation": brief.generation,
        "folder": str(home.root),
    }


def _refuse_unfit(home: Home, workspace: Workspace) -> None:
    workspace.refuse_unusable()
    lease = home.load(held.FILE, held.HeldLease)
    found = workspace.look(lease.addresses if lease else ())
    if isinstance(found, Occupied):
        raise refuse_occupied(found)


def _before_fresh(home: Home, workspace: Workspace, *, keeps: bool) -> None:
    """A new generation starts from another commit: work that is only here must not be lost from sight, nor with this
    machine. `keeps`: its commits are kept aside before anybody is asked.
    """
    progress = home.load(FILE, Progress)
    if progress is None or not progress.has("workspace"):
        return
    try:
        workspace.refuse_losing_work()
    except Refused:
        lease, commits = home.load(held.FILE, held.HeldLease), workspace.unpublished()
        if keeps and lease is not None and commits:
            show.warn(f"its commits are kept: {resuming.keep_aside(home, lease, commits[0])}")
        raise


def _workspace(home: Home, workspace: Workspace, lease: held.HeldLease) -> State:
    if _reached(home, lease, "workspace"):
        return workspace.state()
    workspace_is_ours_alone = _nobody_worked_here(home, workspace, lease)
    if workspace_is_ours_alone and not _reached(home, lease, "moving"):
        _note(home, lease, "building")
    workspace.begin(lease)
    if not workspace_is_ours_alone:
        workspace.refuse_losing_work()
        _note(home, lease, "moving")
    workspace.check_out(lease)
    state = workspace.verify_exact(lease)
    _note(home, lease, "workspace")
    return state


def _nobody_worked_here(home: Home, workspace: Workspace, lease: held.HeldLease) -> bool:
    """Whether the folder is empty, or was found without work of its own by a run that was cut off."""
    found = workspace.look(lease.addresses)
    if isinstance(found, Empty):
        return True
    if isinstance(found, Occupied):
        raise usage(
            "this folder belongs to another repository now", "run `agent-recovery recover` in a new empty folder"
        )
    progress = home.load(FILE, Progress)
    return progress is not None and (
        progress.stage == "building" or (progress.stage == "moving" and _reached(home, lease, "moving"))
    )


def _evidence(
    home: Home, service: Service, lease: held.HeldLease, state: State, brief: Brief
) -> tuple[tuple[VerifyRun, ...], WriteAnswer]:
    identity = held.identity(home)
    waiting = writes.unanswered(home, identity, "evidence")
    if waiting is not None:
        body = waiting.body
        runs = tuple(VerifyRun.model_validate(run) for run in body["verify"])
    else:
        known = dependencies.digest()
        stands = verify_runs.reused(lease.verify, brief, state.head, known)
        runs = (*(stands or verify_runs.run_all(lease.verify, home.root)), *_about_checkout(state))
        body = {
            "head_sha": state.head,
            "clean": state.clean,
            "verify": [run.model_dump(mode="json") for run in runs],
            "dependencies": known,
        }
    return runs, writes.send(home, service, identity, "evidence", body)


def _about_checkout(state: State) -> tuple[VerifyRun, ...]:
    """What the evidence says of files that git's checkout itself makes differ from the commit."""
    if not state.normalised:
        return ()
    told = f"HEAD and index equal the commit; the checkout normalises {len(state.normalised)} files, first "
    return (VerifyRun(command=("git", "status"), exit_code=0, output=f"{told}{show.line(state.normalised[0])[:500]}"),)


def _reached(home: Home, lease: held.HeldLease, stage: Stage) -> bool:
    progress = home.load(FILE, Progress)
    if progress is None or (progress.generation, progress.nonce) != lease.identity:
        return False
    return progress.has(stage)


def _note(home: Home, lease: held.HeldLease, stage: Stage) -> None:
    home.save(FILE, Progress(generation=lease.generation, nonce=lease.nonce, stage=stage))
