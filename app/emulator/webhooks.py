"""Webhook deliveries: recorded first, sent from a queue, kept when they fail, never sent again by themselves.

Several are on the wire at once, so a target that hangs delays nobody else, and no order is promised.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

import httpx

from app.emulator.clock import Clock
from app.emulator.errors import ApiError
from app.emulator.faults import Faults, Occurrence
from app.emulator.ids import Ids
from app.emulator.state import App, Installation, Repository

MODES = ("normal", "hold", "drop", "duplicate", "shuffle")
# docs.github.com: "Troubleshooting webhooks" (10 seconds, then the connection is cut) and "Webhook events and
# payloads" (payloads beyond 25 MB are not delivered).
TIMEOUT_S = 10.0
LARGEST_PAYLOAD = 25 * 1024 * 1024
_AT_ONCE = 10
_SHUFFLE_WINDOW_S = 0.05
_KEPT_OF_ANSWER = 1000


def new_guid() -> str:
    """The name of a new event."""
    return str(uuid.uuid4())


@dataclass(eq=False)
class Delivery:
    """One attempt to deliver one event to one App. ``guid`` is the event's: its attempts share it, and so do all Apps
    that hear it (OpenAPI, hook-delivery: "shared with all deliveries for all webhooks that subscribe to this event";
    github/docs#32822)."""

    id: int
    guid: str
    app: App
    event: str
    action: str | None
    body: bytes
    installation_id: int | None
    repository_id: int | None
    delivered_at: str
    redelivery: bool = False
    status: str = "pending"
    status_code: int = 0
    duration: float = 0.0
    url: str = ""
    response_headers: dict[str, str] = field(default_factory=dict)
    response_body: str = ""

    @property
    def content(self) -> bytes:
        """The bytes on the wire: the JSON payload, or a form with it as its one field."""
        return urlencode({"payload": self.body}).encode() if self.app.hook_content_type == "form" else self.body

    def headers(self) -> dict[str, str]:
        """The headers GitHub sends, the signature computed over the exact bytes."""
        form = self.app.hook_content_type == "form"
        headers = {
            "Content-Type": "application/x-www-form-urlencoded" if form else "application/json",
            "User-Agent": "GitHub-Hookshot/emulator",
            "Accept": "*/*",
            "X-GitHub-Event": self.event,
            "X-GitHub-Delivery": self.guid,
            "X-GitHub-Hook-ID": str(self.app.hook_id),
            "X-GitHub-Hook-Installation-Target-ID": str(self.app.id),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
        }
        if self.app.webhook_secret:
            key, content = self.app.webhook_secret.encode(), self.content
            headers["X-Hub-Signature"] = "sha1=" + hmac.new(key, content, hashlib.sha1).hexdigest()
            headers["X-Hub-Signature-256"] = "sha256=" + hmac.new(key, content, hashlib.sha256).hexdigest()
        return headers


@dataclass(eq=False)
class Waiting:
    """A delivery in the queue: it goes ``copies`` times, ``delay_s`` seconds after its turn, and its turn comes after
    ``behind`` more deliveries have arrived."""

    delivery: Delivery
    copies: int = 1
    delay_s: float = 0.0
    behind: int = 0
    held: bool = False


class Deliveries:
    """The log of all deliveries and the queue in front of the network."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self.log: list[Delivery] = []
        self.mode = "normal"
        self.timeout_s = TIMEOUT_S
        self.queue: list[Waiting] = []
        self._random = random.Random(0)
        self.begin()

    def __getstate__(self) -> dict[str, Any]:
        names = ("_clock", "_ids", "log", "mode", "timeout_s", "queue")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._random = random.Random(0)
        self.begin()
        # What was on the wire when the process ended goes once more: it may or may not have arrived.
        queued = {waiting.delivery.id for waiting in self.queue}
        self.queue += [Waiting(d) for d in self.log if d.status == "pending" and d.id not in queued]
        self._wake.set()

    def begin(self) -> None:
        """What only a running process has: the network, the tasks, the orders about deliveries."""
        self.faults = Faults()
        self.mounts: dict[str, httpx.AsyncBaseTransport] = {}
        self.settled: Callable[[], None] = lambda: None
        self._wake = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()

    @property
    def pending(self) -> int:
        """Deliveries queued, held or on the wire."""
        return len(self.queue) + len(self._sending)

    def record(
        self,
        app: App,
        event: str,
        payload: dict[str, Any],
        installation: Installation | None = None,
        repo: Repository | None = None,
        guid: str = "",
    ) -> None:
        """Record an event for an App and queue it. Without a webhook URL there is nothing to deliver, and a payload
        that is too large is not delivered at all. `guid` names the event to all Apps that hear it."""
        if not app.webhook_url:
            return
        body = json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()
        if len(body) > LARGEST_PAYLOAD:
            return
        self._enqueue(
            Delivery(
                id=self._ids.next("delivery"),
                guid=guid or new_guid(),
                app=app,
                event=event,
                action=payload.get("action"),
                body=body,
                installation_id=installation.id if installation else None,
                repository_id=repo.id if repo else None,
                delivered_at=self._clock.stamp(),
            )
        )

    def redeliver(self, delivery: Delivery) -> Delivery:
        """Queue the same event once more: same GUID, same bytes, a new attempt."""
        again = replace(
            delivery,
            id=self._ids.next("delivery"),
            delivered_at=self._clock.stamp(),
            redelivery=True,
            status="pending",
            status_code=0,
            duration=0.0,
            response_headers={},
            response_body="",
        )
        self._enqueue(again)
        return again

    def set_mode(self, mode: str) -> None:
        """Change how deliveries travel; leaving "hold" lets go what the mode held."""
        if mode not in MODES:
            raise ApiError(422, f"Unknown delivery mode {mode}")
        self.mode = mode
        self._wake.set()

    def hold(self, wanted: Sequence[int | str]) -> int:
        """Hold queued deliveries, named by id or GUID; how many."""
        chosen = [w for w in self.queue if w.delivery.id in wanted or w.delivery.guid in wanted]
        for waiting in chosen:
            waiting.held = True
        return len(chosen)

    def release(self, wanted: Sequence[int | str] | None = None) -> int:
        """Let queued deliveries go, whatever holds them: those named, in the order they are named, or all. How many."""
        if wanted is None:
            chosen = list(self.queue)
        else:
            named = [[w for w in self.queue if name in (w.delivery.id, w.delivery.guid)] for name in wanted]
            chosen = list(dict.fromkeys(w for found in named for w in found))
        self.queue = [w for w in self.queue if w not in chosen]
        for waiting in chosen:
            self._depart(waiting)
        return len(chosen)

    async def flush(self, timeout_s: float) -> int:
        """Wait until nothing is queued or on the wire (or all is held); how many remain after the timeout."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        while self.pending and asyncio.get_running_loop().time() < deadline:
            if not self._sending and (self.mode == "hold" or all(w.held or w.behind for w in self.queue)):
                break
            await asyncio.sleep(0.005)
        return self.pending

    async def run(self) -> None:
        """Send what is queued until cancelled."""
        async with httpx.AsyncClient(trust_env=False, verify=False, timeout=None, mounts=self.mounts) as client:
            self._client = client
            try:
                while True:
                    await self._wake.wait()
                    self._wake.clear()
                    if self.mode == "shuffle" and self.queue:
                        await asyncio.sleep(_SHUFFLE_WINDOW_S)
                        self._random.shuffle(self.queue)
                    self._send_what_may_go()
            finally:
                for task in list(self._sending):
                    task.cancel()
                await asyncio.gather(*self._sending, return_exceptions=True)

    def _enqueue(self, delivery: Delivery) -> None:
        delivery.url = delivery.app.webhook_url or ""
        self.log.append(delivery)
        members = {"event": delivery.event, "action": delivery.action, "app": delivery.app.slug}
        fault = self.faults.take(Occurrence(delivery.id, members))
        waiting = Waiting(delivery)
        if fault is not None and fault.kind == "delivery_drop":
            waiting.copies = 0
        elif fault is not None and fault.kind == "delivery_duplicate":
            waiting.copies = 2
        elif fault is not None and fault.kind == "delivery_hold":
            waiting.held = True
        elif fault is not None and fault.kind == "delivery_delay":
            waiting.delay_s = fault.seconds
        elif fault is not None:
            waiting.behind = fault.after
        self.queue.append(waiting)
        self._wake.set()

    def _send_what_may_go(self) -> None:
        while self.mode != "hold" and len(self._sending) < _AT_ONCE:
            ready = next((w for w in self.queue if not w.held and not w.behind), None)
            if ready is None:
                return
            self.queue.remove(ready)
            self._depart(ready)

    def _depart(self, waiting: Waiting) -> None:
        task = asyncio.create_task(self._send(waiting))
        self._sending.add(task)
        task.add_done_callback(self._arrived)

    def _arrived(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        for later in self.queue:
            later.behind = max(0, later.behind - 1)
        self._wake.set()
        self.settled()

    async def _send(self, waiting: Waiting) -> None:
        delivery = waiting.delivery
        if waiting.delay_s:
            await asyncio.sleep(waiting.delay_s)
        copies = {"drop": 0, "duplicate": 2}.get(self.mode, waiting.copies)
        if copies == 0:
            delivery.status, delivery.status_code = "timed out", 0
        started = asyncio.get_running_loop().time()
        for _ in range(copies):
            await self._post(delivery)
        delivery.duration = round(asyncio.get_running_loop().time() - started, 3)

    async def _post(self, delivery: Delivery) -> None:
        try:
            async with asyncio.timeout(self.timeout_s):
                answer = await self._client.post(delivery.url, content=delivery.content, headers=delivery.headers())
        except TimeoutError:
            delivery.status, delivery.status_code = "timed out", 0
        except (httpx.HTTPError, httpx.InvalidURL):
            delivery.status, delivery.status_code = "failed to connect to host", 0
        else:
            delivery.status_code = answer.status_code
            delivery.status = "OK" if answer.is_success else "Invalid HTTP Response: " + str(answer.status_code)
            delivery.response_headers = dict(answer.headers)
            delivery.response_body = answer.text[:_KEPT_OF_ANSWER]
