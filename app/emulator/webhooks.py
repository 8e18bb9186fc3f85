"""Webhook deliveries: recorded first, sent from a queue, kept when they fail, never sent again by themselves."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import random
import uuid
from collections import deque
from dataclasses import dataclass
from typing import Any

import httpx

from app.emulator.clock import Clock
from app.emulator.errors import ApiError
from app.emulator.ids import Ids
from app.emulator.state import App, Installation, Repository

MODES = ("normal", "hold", "drop", "duplicate", "shuffle")
TIMEOUT_S = 10.0
_SHUFFLE_WINDOW_S = 0.05


@dataclass(eq=False)
class Delivery:
    """One attempt to deliver one event; ``guid`` is shared by all attempts of the event."""

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
    response_body: str = ""

    def headers(self) -> dict[str, str]:
        """The headers GitHub sends, the signature computed over the exact bytes."""
        headers = {
            "content-type": "application/json",
            "user-agent": "GitHub-Hookshot/emulator",
            "accept": "*/*",
            "x-github-event": self.event,
            "x-github-delivery": self.guid,
            "x-github-hook-id": str(self.app.hook_id),
            "x-github-hook-installation-target-id": str(self.app.id),
            "x-github-hook-installation-target-type": "integration",
        }
        if self.app.webhook_secret:
            key = self.app.webhook_secret.encode()
            headers["x-hub-signature"] = "sha1=" + hmac.new(key, self.body, hashlib.sha1).hexdigest()
            headers["x-hub-signature-256"] = "sha256=" + hmac.new(key, self.body, hashlib.sha256).hexdigest()
        return headers


class Deliveries:
    """The log of all deliveries and the queue in front of the network."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self.log: list[Delivery] = []
        self.mode = "normal"
        self._random = random.Random(0)
        self._queue: deque[Delivery] = deque()
        self._wake = asyncio.Event()
        self._sending = 0

    @property
    def pending(self) -> int:
        """Deliveries queued or on the wire."""
        return len(self._queue) + self._sending

    def record(
        self,
        app: App,
        event: str,
        payload: dict[str, Any],
        installation: Installation | None = None,
        repo: Repository | None = None,
    ) -> None:
        """Record an event for an App and queue it. Without a webhook URL there is nothing to deliver."""
        if not app.webhook_url:
            return
        body = json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()
        self._enqueue(
            Delivery(
                id=self._ids.next("delivery"),
                guid=str(uuid.uuid4()),
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
        again = Delivery(
            id=self._ids.next("delivery"),
            guid=delivery.guid,
            app=delivery.app,
            event=delivery.event,
            action=delivery.action,
            body=delivery.body,
            installation_id=delivery.installation_id,
            repository_id=delivery.repository_id,
            delivered_at=self._clock.stamp(),
            redelivery=True,
        )
        self._enqueue(again)
        return again

    def set_mode(self, mode: str) -> None:
        """Change how deliveries travel; leaving "hold" lets the held ones go."""
        if mode not in MODES:
            raise ApiError(422, f"Unknown delivery mode {mode}")
        self.mode = mode
        self._wake.set()

    async def flush(self, timeout_s: float) -> int:
        """Wait until nothing is queued or on the wire (or all is held); how many remain after the timeout."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        while self.pending and asyncio.get_running_loop().time() < deadline:
            if self.mode == "hold" and not self._sending:
                break
            await asyncio.sleep(0.01)
        return self.pending

    async def run(self) -> None:
        """Send what is queued, one after the other, until cancelled."""
        async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False, verify=False) as client:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._queue and self.mode != "hold":
                    if self.mode == "shuffle":
                        await asyncio.sleep(_SHUFFLE_WINDOW_S)
                        mixed = list(self._queue)
                        self._random.shuffle(mixed)
                        self._queue = deque(mixed)
                    await self._send(client, self._queue.popleft())

    def _enqueue(self, delivery: Delivery) -> None:
        self.log.append(delivery)
        self._queue.append(delivery)
        self._wake.set()

    async def _send(self, client: httpx.AsyncClient, delivery: Delivery) -> None:
        self._sending += 1
        started = asyncio.get_running_loop().time()
        try:
            if self.mode == "drop":
                delivery.status, delivery.status_code = "timed out", 0
                return
            for _ in range(2 if self.mode == "duplicate" else 1):
                await self._post(client, delivery)
        finally:
            delivery.duration = round(asyncio.get_running_loop().time() - started, 3)
            self._sending -= 1

    async def _post(self, client: httpx.AsyncClient, delivery: Delivery) -> None:
        try:
            answer = await client.post(
                delivery.app.webhook_url or "", content=delivery.body, headers=delivery.headers()
            )
        except httpx.TimeoutException:
            delivery.status, delivery.status_code = "timed out", 0
        except (httpx.HTTPError, httpx.InvalidURL):
            delivery.status, delivery.status_code = "failed to connect to host", 0
        else:
            delivery.status_code = answer.status_code
            delivery.status = "OK" if answer.is_success else "Invalid HTTP Response: " + str(answer.status_code)
            delivery.response_body = answer.text[:1000]
