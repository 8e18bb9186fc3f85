"""The commands of a holder that go through the service: `checkpoint`, `heartbeat`, `ready`, `handoff`."""

import signal
import time
from pathlib import Path
from types import FrameType
from typing import Any

from app.agent import claiming, held, next_checkpoint, show, writes
from app.agent.api import Service
from app.agent.environment import usage
from app.agent.home import Home
from app.agent.workspace import Empty, Occupied, State, Workspace
from app.domain.agent_api import HeartbeatAnswer, WriteAnswer
from app.domain.checkpoint import Change
from app.domain.outcome import Blocked, Code, Refused

_HEARTBEAT_S = 60


def checkpoint(file: Path | None, status: str, *, dry_run: bool, as_json: bool) -> None:
    """`agent-recovery checkpoint`."""
    if status not in ("working", "waiting"):
        raise usage("--status is working or waiting", "say `agent-recovery ready` when the work is done")
    home = Home.find(Path.cwd())
    identity = held.identity(home)
    body, changes = _checkpoint_body(home, file)
    if dry_run:
        _show_dry_run("would store this checkpoint", {"checkpoint": body}, changes, as_json)
        return
    with _service(identity) as service:
        answer = writes.send(home, service, identity, "checkpoint", {"checkpoint": body, "status": status})
    _show_answer("checkpoint stored", answer, changes, as_json)


def ready(*, dry_run: bool, as_json: bool) -> None:
    """`agent-recovery ready`."""
    home = Home.find(Path.cwd())
    identity = held.identity(home)
    with _service(identity) as service:
        # First the question whether this lease still counts: "not pushed" would send a fenced-out agent the wrong way.
        service.heartbeat(identity.token, None)
        _refuse_unpushed(home, held.held_lease(home))
        body, changes = _checkpoint_body(home, None)
        if dry_run:
            _show_dry_run("would say ready", {"checkpoint": body}, changes, as_json)
            return
        answer = writes.send(home, service, identity, "checkpoint", {"checkpoint": body, "status": "ready"})
    _show_answer("ready", answer, changes, as_json)


def handoff(*, dry_run: bool, as_json: bool) -> None:
    """`agent-recovery handoff`."""
    home = Home.find(Path.cwd())
    identity = held.identity(home)
    body, changes = _checkpoint_body(home, None) if next_checkpoint.exists(home) else (None, ())
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


def _service(identity: held.Identity) -> Service:
    return Service(identity.url, identity.repository, identity.ticket)


def _checkpoint_body(home: Home, file: Path | None) -> tuple[dict[str, Any], tuple[Change, ...]]:
    """What goes to the service: admitted here first, so that a secret or a machine path never leaves this machine."""
    content = next_checkpoint.read(home, file)
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
