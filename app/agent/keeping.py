"""What `run` does beside the agent it wraps: heartbeats, soft checkpoints, and hard ones before time runs out.

Wanted properties: a lease that is somebody else's stops the agent; what the agent said itself is never covered up by a
save it did not ask for; a service that does not answer costs nothing but warnings, because the push needs git alone;
nothing is stored twice.
"""

import threading
import time
from dataclasses import dataclass
from typing import Any, Literal

from app.agent import held, holding, last_save, next_checkpoint, publishing, pushing, show, soft_checkpoints
from app.agent.api import Service
from app.agent.home import Home
from app.agent.workspace import Workspace
from app.domain.agent_api import HeartbeatAnswer
from app.domain.outcome import Blocked, Code, Refused
from app.domain.triggers import Trigger, automatic

PATIENCE_S = 5.0
"""For one call to the service: the machine may be about to go."""
TICK_S = 0.5
SHARE = 20
"""Soft checkpoints take at most this part of the time: one that took a second is followed by the next after twenty."""
_BEFORE_THE_END_S = 60.0
_AGAIN_S = 30.0
"""Between two tries of a save that is due and does not succeed."""
_NOTED_WITHIN_S = 1.0
_STOPS = frozenset({Code.STALE_GENERATION, Code.ENDED, Code.HELD, Code.FROZEN})


@dataclass(frozen=True)
class Times:
    """When a hard checkpoint is due, in seconds. `ends_in`: until this machine goes away, where that is known."""

    ttl_s: float
    max_gap_s: float
    ends_in: float | None = None

    @property
    def lease_margin(self) -> float:
        """A sign of life keeps a lease for at least half its time (the ownership protocol, R13): so long before that
        is over a silent service is made up for by a push.
        """
        return self.ttl_s / 2 - min(60.0, self.ttl_s / 8)

    @property
    def gap(self) -> float:
        return self.max_gap_s * 0.8

    @property
    def end_margin(self) -> float | None:
        return None if self.ends_in is None else max(self.ends_in - _BEFORE_THE_END_S, self.ends_in / 2)


class Keeper:
    """Keeps a lease alive and the work safe while the agent runs. `stopped_by` is set once the agent has to stop."""

    def __init__(self, home: Home, lease: held.HeldLease, times: Times) -> None:
        self.home = home
        self.who = held.identity(home)
        self.stopped_by: Blocked | None = None
        self._times = times
        self._every_s = float(lease.heartbeat_every_s)
        self._saving = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self.born = self._sign = self._beat = time.monotonic()
        self._soft_at = self._gap_again = self._lease_again = 0.0
        self._status: str | None = None
        self._hears = False
        self._told_end = False
        self._read_as: tuple[int, int, int] | None = None
        self._told: dict[str, Any] = {}
        self._warned: set[str] = set()

    def start(self) -> None:
        """The first heartbeat, then the rest beside the agent. Raises Refused where the lease is over."""
        self._heartbeat()
        if self.stopped_by is not None:
            raise Refused(self.stopped_by)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(timeout=2 * PATIENCE_S)

    def save_soft(self, trigger: Trigger | None = None, *, debounce_s: float = 0.0) -> None:
        """A soft checkpoint now. What goes wrong is a warning."""
        try:
            body = self._soft_body()
            place = soft_checkpoints.Place.of(self.who)
            soft_checkpoints.save(self.home, place, body, self._moment(trigger), debounce_s=debounce_s)
        except (Refused, OSError) as problem:
            self._warn(f"no soft checkpoint: {_words(problem)}")

    def _soft_body(self) -> dict[str, Any]:
        """What next.json says, read and checked again only where the file is another. Where it is lost or half written,
        what it said before: the work tree is saved all the same.
        """
        try:
            stat = self.home.path(next_checkpoint.FILE).stat()
            known = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if known != self._read_as:
                self._told, self._read_as = holding.soft_body(self.home), known
        except (Refused, OSError) as problem:
            last = soft_checkpoints.newest(self.home, soft_checkpoints.Place.of(self.who))
            if not self._told and last is None:
                raise
            self._warn(f"{_words(problem)}: the soft checkpoint says what {next_checkpoint.FILE} said before")
            return self._told or (last.checkpoint if last is not None else {})
        return self._told

    def save_hard(self, trigger: Trigger | None, *, always: bool = False) -> bool:
        """Brings what is committed and what next.json says into the ledger: by a push where commits are not published
        yet or the service is silent, else through the service. `always`: also what is stored already. What goes wrong
        is a warning; returns whether it went well.
        """
        with self._saving:
            try:
                self._save_hard(trigger, always)
                return True
            except (Refused, OSError) as problem:
                self._warn(f"not saved: {_words(problem)}")
                if isinstance(problem, Refused) and problem.blocked.code in _STOPS:
                    self.stopped_by = problem.blocked
                return False

    def _save_hard(self, trigger: Trigger | None, always: bool) -> None:
        lease = self._lease()
        told = self._notes() if lease is not None else None
        if lease is None or told is None:
            return
        body, _ = holding.checkpoint_body(self.home, None, told)
        if not always and last_save.is_stored(self.home, self.who, body):
            return
        if self._hears:
            self._heartbeat()  # the agent may have said "ready" since the last one
        if self._status == "ready" or self.stopped_by is not None:
            return
        status: Literal["working", "waiting"] = "waiting" if self._status == "waiting" else "working"
        moment = self._moment(trigger)
        at = Trigger(moment) if moment else None
        if self._is_unpublished(lease) or not self._hears:
            try:
                self._push(status, at, told)
            except Refused as refused:
                if not self._hears or refused.blocked.code in _STOPS:
                    raise
                # Foreign commits, or a rule of the repository: what the agent knows is saved all the same.
                self._warn(f"not pushed: {refused.blocked.reason}")
                holding.store(self.home, self.who, body, status, at, PATIENCE_S)
        else:
            holding.store(self.home, self.who, body, status, at, PATIENCE_S)
        self._sign = time.monotonic()

    def _notes(self) -> dict[str, Any] | None:
        """What the agent tells: next.json, else, where that is lost or half written, the latest soft checkpoint's text,
        because an agent that ends while it writes must not lose its commits. None where it never told anything.
        """
        try:
            content = next_checkpoint.read(self.home)
            next_checkpoint.admitted(self.home, content)
            return content
        except Refused as refused:
            last = soft_checkpoints.newest(self.home, soft_checkpoints.Place.of(self.who))
            if last is None and next_checkpoint.exists(self.home):
                raise
            if last is None:
                return None
            self._warn(f"{refused.blocked.reason}: stored is what the last soft checkpoint tells")
            return last.checkpoint

    def _push(self, status: Literal["working", "waiting"], at: Trigger | None, told: dict[str, Any]) -> None:
        planned = pushing.plan(self.home, status, at, told=told)
        done = pushing.publish(self.home, planned)
        pushing.promote(self.home, planned)
        publishing.heartbeat(planned, done.ledger_commit)

    def _is_unpublished(self, lease: held.HeldLease) -> bool:
        workspace = Workspace(self.home)
        head = workspace.branch_head(lease.branch)
        if head is None or workspace.current_branch() != lease.branch:
            return False
        return head != (lease.published_sha or lease.base_sha)

    def _keep(self) -> None:
        while not self._ended.wait(TICK_S) and self.stopped_by is None:
            try:
                self._tick(time.monotonic())
            except Exception as fault:
                # Whatever is wrong with one save, the lease must not end for want of a heartbeat.
                self._warn(f"a fault of this program: {type(fault).__name__}: {fault}")

    def _tick(self, now: float) -> None:
        if now >= self._beat + self._every_s:
            self._heartbeat()
        if now >= self._soft_at:
            self.save_soft()
            self._soft_at = time.monotonic() + max(soft_checkpoints.DEBOUNCE_S, SHARE * (time.monotonic() - now))
        self._save_in_time(time.monotonic())

    def _save_in_time(self, now: float) -> None:
        end = self._times.end_margin
        if end is not None and not self._told_end and now >= self.born + end:
            self._told_end = True
            self.save_hard(Trigger.SHUTDOWN, always=True)
        elif not self._hears and now >= max(self._sign + self._times.lease_margin, self._lease_again):
            self._lease_again = now + _AGAIN_S
            self.save_hard(Trigger.SHUTDOWN, always=True)
        elif now >= max(self._saved_at(now) + self._times.gap, self._gap_again):
            self._gap_again = now + _AGAIN_S
            self.save_hard(None, always=True)

    def _saved_at(self, now: float) -> float:
        """When this workspace last saved, by the monotonic clock; the beginning of the run where it never did."""
        found = last_save.last(self.home, self.who)
        return self.born if found is None else max(self.born, now - max(time.time() - found.at, 0.0))

    def _heartbeat(self) -> None:
        lease = self._lease()
        self._beat = time.monotonic()
        if lease is None:
            return
        try:
            answer: HeartbeatAnswer
            with Service(self.who.url, self.who.repository, self.who.ticket, patience_s=PATIENCE_S) as service:
                answer = service.heartbeat(self.who.token, lease.ledger_head)
        except Refused as refused:
            self._hears = False
            if refused.blocked.code not in _STOPS:
                self._warn(f"no heartbeat: {refused.blocked.reason}")
            elif not self._was_given_back():
                self.stopped_by = refused.blocked
            return
        self._sign, self._status, self._hears = time.monotonic(), answer.status, True
        self._warned.clear()

    def _was_given_back(self) -> bool:
        """Whether the agent itself ended the lease: `handoff` hears the service's answer before it notes it here."""
        deadline = time.monotonic() + _NOTED_WITHIN_S
        while self._lease() is not None and time.monotonic() < deadline:
            time.sleep(0.1)
        return self._lease() is None

    def _lease(self) -> held.HeldLease | None:
        """The lease as it stands, None once the agent gave it back."""
        lease = self.home.load(held.FILE, held.HeldLease)
        over = lease is None or lease.ended or lease.identity != self.who.claims.identity
        return None if over else lease

    def _moment(self, trigger: Trigger | None) -> str | None:
        found = last_save.last(self.home, self.who)
        moment = automatic(found.trigger if found else None, trigger)
        return moment.value if moment else None

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            show.warn(text)


def _words(problem: Refused | OSError) -> str:
    return problem.blocked.reason if isinstance(problem, Refused) else problem.strerror or type(problem).__name__
