"""The commands of a holder that go through the service: `checkpoint`, `heartbeat`, `ready`, `handoff`."""

import signal
import time
from pathlib import Path
from types import FrameType
from typing import Any

from app.agent import claiming, held, last_save, next_checkpoint, show, soft_checkpoints, writes
from app.agent.api import Service
from app.agent.environment import usage
from app.agent.home import Home
from app.agent.workspace import Empty, Occupied, State, Workspace
from app.domain.agent_api import HeartbeatAnswer, WriteAnswer
from app.domain.checkpoint import Change
from app.domain.outcome import Blocked, Code, Refused
from app.domain.triggers import Trigger

_HEARTBEAT_S = 60


def checkpoint(
    file: Path | None,
    status: str | None,
    at: Trigger | None = None,
    hints: tuple[str, ...] = (),
    *,
    soft: bool = False,
    dry_run: bool,
    as_json: bool,
) -> None:
    """`agent-recovery checkpoint [--soft]`."""
    told = next_checkpoint.status_told(status, at)
    home = Home.find(Path.cwd())
    identity = held.identity(home)
    if hints and not dry_run:
        next_checkpoint.note_hints(home, next_checkpoint.hints_of(hints))
    if soft and not dry_run:
        _save_softly(home, identity, file, at, as_json)
        return
    body, changes = checkpoint_body(home, file)
    if dry_run:
        _show_dry_run("would store this checkpoint", {"checkpoint": body}, changes, as_json)
        return
    answer = store(home, identity, body, told, at)
    next_checkpoint.warn_of_untold(at, body)
    _show_answer("checkpoint stored", answer, changes, as_json)


def store(
    home: Home, identity: held.Identity, body: dict[str, Any], status: str, at: Trigger | None, patience_s: float = 20.0
) -> WriteAnswer:
    """Stores an admitted checkpoint through the service. Raises Refused."""
    request: dict[str, Any] = {"checkpoint": body, "status": status}
    if at is not None:
        request["at"] = at.value
    with _service(identity, patience_s) as service:
        answer = writes.send(home, service, identity, "checkpoint", request)
    last_save.note(home, identity, body, request.get("at"))
    return answer


def soft(*, as_json: bool) -> None:
    """`agent-recovery soft`: the soft checkpoints of this clone, and how to put one back."""
    home = Home.find(Path.cwd())
    lease = home.load(held.FILE, held.HeldLease)
    if lease is None:
        raise usage("no lease in this folder (.agent-recovery/lease.json)", "run it in the workspace of a ticket")
    # A lease that is over is no reason to hide what its agent saved.
    found = soft_checkpoints.saved(home, soft_checkpoints.Place(str(lease.ticket), lease.generation))
    if as_json:
        show.data({"soft": [_soft_data(one) for one in found]})
        return
    for one in found:
        show.say(f"{one.ref} of {one.made_at}{f', at {one.trigger}' if one.trigger else ''}")
    if found:
        show.say(f"put the newest back: {' '.join(found[0].restore())}")
    else:
        show.say("no soft checkpoint stands in this clone")


def ready(*, dry_run: bool, as_json: bool) -> None:
    """`agent-recovery ready`."""
    home = Home.find(Path.cwd())
    identity = held.identity(home)
    with _service(identity) as service:
        # First the question whether this lease still counts: "not pushed" would send a fenced-out agent the wrong way.
        service.heartbeat(identity.token, None)
        _refuse_unpushed(home, held.held_lease(home))
        body, changes = checkpoint_body(home, None)
        if dry_run:
            _show_dry_run("would say ready", {"checkpoint": body}, changes, as_json)
            return
        answer = writes.send(home, service, identity, "checkpoint", {"checkpoint": body, "status": "ready"})
    last_save.note(home, identity, body, None)
    _show_answer("ready", answer, changes, as_json)


def handoff(*, dry_run: bool, as_json: bool) -> None:
    """`agent-recovery handoff`."""
    home = Home.find(Path.cwd())
    identity = held.identity(home)
    body, changes = checkpoint_body(home, None) if next_checkpoint.exists(home) else (None, ())
    if dry_run:
        _show_dry_run("would hand the ticket off", {"checkpoint": body}, changes, as_json)
        return
    with _service(identity) as service:
        answer = writes.send(home, service, identity, "handoff", {"checkpoint": body})
    lease = home.load(held.FILE, held.HeldLease)
    if lease is not None and lease.identity == identity.claims.identity:
        claiming.end(home, "handed off")
    _show_answer("handed off", answer, changes, as_json)


def heartbeat(*, loop: bool, as_json: bool) -> None:
    """`agent-recovery heartbeat`; with `loop` until SIGTERM, SIGINT, or until the lease is somebody else's."""
    home = Home.find(Path.cwd())
    identity = held.identity(home)
    if loop:
        signal.signal(signal.SIGTERM, _stop)
    with _service(identity) as service:
        while True:
            # Read each time: a push of another process moves the head that this lease stands at.
            lease = home.load(held.FILE, held.HeldLease)
            mine = lease if lease is not None and lease.identity == identity.claims.identity else None
            every_s = mine.heartbeat_every_s if mine else _HEARTBEAT_S
            try:
                _show_heartbeat(service.heartbeat(identity.token, mine.ledger_head if mine else None), as_json)
            except Refused as refused:
                if not loop or refused.blocked.code is not Code.UNAVAILABLE:
                    raise
                show.warn(f"{refused.blocked.reason}; trying again in {every_s} s")
            if not loop:
                return
            time.sleep(every_s)


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


def _service(identity: held.Identity, patience_s: float = 20.0) -> Service:
    return Service(identity.url, identity.repository, identity.ticket, patience_s=patience_s)


def _save_softly(home: Home, identity: held.Identity, file: Path | None, at: Trigger | None, as_json: bool) -> None:
    body = soft_body(home, file)
    next_checkpoint.warn_of_untold(at, body)
    done = soft_checkpoints.save(home, soft_checkpoints.Place.of(identity), body, at.value if at else None)
    if isinstance(done, soft_checkpoints.Coalesced):
        if as_json:
            show.data({"soft": None, "coalesced": True})
        else:
            show.say("another soft checkpoint is about to be made; it holds this too")
        return
    if done.without_untracked:
        show.warn("too many or too large untracked files: they are not in the soft checkpoint; ignore what is no work")
    if as_json:
        show.data({"soft": _soft_data(done.soft), "is_new": done.is_new, "coalesced": False})
        return
    show.say(f"{'saved' if done.is_new else 'nothing new since'} {done.soft.ref}: on this machine only, until a push")


def _soft_data(one: soft_checkpoints.Soft) -> dict[str, Any]:
    return {
        "ref": one.ref,
        "sha": one.sha,
        "head": one.head,
        "made_at": one.made_at,
        "trigger": one.trigger,
        "restore": list(one.restore()),
    }


def soft_body(home: Home, file: Path | None = None) -> dict[str, Any]:
    """What a soft checkpoint keeps of next.json. The work tree lies beside it, so nothing is said of that."""
    checkpoint, _ = next_checkpoint.admitted(home, next_checkpoint.read(home, file))
    return checkpoint.model_dump(mode="json", exclude_defaults=True)


def checkpoint_body(
    home: Home, file: Path | None, told: dict[str, Any] | None = None
) -> tuple[dict[str, Any], tuple[Change, ...]]:
    """What goes to the service: admitted here first, so that a secret or a machine path never leaves this machine.
    `told`: what the agent tells, by default what stands in the file.
    """
    content = next_checkpoint.read(home, file) if told is None else told
    lease = home.load(held.FILE, held.HeldLease)
    workspace = Workspace(home)
    found = workspace.look(lease.addresses if lease else ())
    if lease is not None and not isinstance(found, Empty | Occupied):
        content = next_checkpoint.with_local_facts(content, workspace.state(), lease.published_sha)
    checkpoint, changes = next_checkpoint.admitted(home, content)
    return checkpoint.model_dump(mode="json", exclude_defaults=True), changes


def _refuse_unpushed(home: Home, lease: held.HeldLease) -> None:
    state = Workspace(home).state()
    missing = _unpushed(state, lease)
    if missing:
        raise Refused(
            Blocked(Code.NOT_PUBLISHED, f"not pushed: {missing}", "commit, `agent-recovery push`, then say ready")
        )
    if state.untracked:
        show.warn(f"{len(state.untracked)} untracked files are not part of what is ready: {state.untracked[0]} …")


def _unpushed(state: State, lease: held.HeldLease) -> str | None:
    if state.changed:
        return f"{len(state.changed)} tracked files are changed and not committed, first {state.changed[0]}"
    if lease.published_sha is None:
        return f"{lease.branch} was never published"
    if state.head != lease.published_sha:
        return f"HEAD is {state.head}, published is {lease.published_sha}"
    return None


def _show_answer(done: str, answer: WriteAnswer, local: tuple[Change, ...], as_json: bool) -> None:
    changes = (*local, *(change for change in answer.changes if change not in local))
    if as_json:
        show.data({**answer.model_dump(mode="json"), "changes": [change.model_dump() for change in changes]})
        return
    again = " (the stored answer of an earlier call)" if answer.repeated else ""
    show.say(f"{done}: generation {answer.generation}, sequence {answer.sequence}, status {answer.status}{again}")
    if answer.hard:
        show.say("hard: it survives the loss of this machine")
    elif answer.soft_because:
        show.say("soft, because: " + "; ".join(answer.soft_because))
    show.changes(changes)


def _show_heartbeat(answer: HeartbeatAnswer, as_json: bool) -> None:
    if as_json:
        show.data(answer.model_dump(mode="json"))
    else:
        show.say(
            f"alive: generation {answer.generation}, {answer.status}, lease until {answer.expires_at:%H:%M:%S} UTC"
        )


def _show_dry_run(what: str, facts: dict[str, Any], changes: tuple[Change, ...], as_json: bool) -> None:
    if as_json:
        show.data({"dry_run": {**facts, "changes": [change.model_dump() for change in changes]}})
        return
    show.say(f"dry run: {what}")
    show.changes(changes)
