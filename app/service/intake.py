"""The webhook intake: from signed bytes to durable pokes, and nothing else.

Wanted: (1) nothing is believed before its signature is checked on the raw bytes, and nothing is read that carries none;
(2) 2xx is answered only after every poke is durable, so that a service killed a moment later has lost nothing, and
anything else lets GitHub show the delivery as failed, to be sent again; (3) no payload, however odd, ends in an
exception; (4) never more than the limits are held in memory, of one body and of all together, and no body is waited for
longer than GitHub waits for an answer; (5) one log line a delivery, without bodies.

It is a plain ASGI callable, because a framework's routing and body models cost more than the work itself:

    app.router.routes.append(Route("/webhook", WebhookIntake(secrets, pokes, own_app_id=111)))
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

from app.controller.words import Spoken
from app.github.webhook import Refused, claimed_signature, verify_signature
from app.service.events import Ignored, keys_of
from app.service.run_events import run_of, with_key

LARGEST_BODY = 25 * 1024 * 1024
"""Bytes. GitHub sends no payload above 25 MB."""
ALL_BODIES = 4 * LARGEST_BODY
"""Bytes of bodies that are being read at one time. Ordinary payloads have some 20 KB."""
SMALL_BODY = 256 * 1024
"""Bytes. A body up to this is never put off: who holds large ones open must not shut ordinary deliveries out."""
BODY_WITHIN_S = 10
"""GitHub itself gives up after this long."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_WORD = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LENGTH = re.compile(r"[0-9]{1,18}")
_log = structlog.get_logger(__name__)


class Pokes(Protocol):
    """Where pokes go; durable when the call returns."""

    async def poke(self, *keys: str, words: Sequence[Spoken] = ()) -> None: ...


class Runs(Protocol):
    """What is remembered of workflow runs that were started for tickets."""

    async def key_of(self, repository_id: int, run_id: int) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What the sender gets, and what the log says of it."""

    status: int
    reason: str
    keys: tuple[str, ...] = ()
    action: str = ""


class _Disconnected(Exception):
    """The sender went away before the body was complete."""


class _TooLarge(Exception):
    """The body exceeds the limit."""


class _Crowded(Exception):
    """The bodies of all requests together exceed their limit."""


class WebhookIntake:
    """Takes GitHub's deliveries. `secrets` are all that are live; more than one while one is rotated."""

    def __init__(self, secrets: Sequence[bytes], pokes: Pokes, *, own_app_id: int, runs: Runs | None = None) -> None:
        if not secrets or not all(secrets):
            raise ValueError("the webhook needs a secret, and none may be empty")
        self._secrets = tuple(secrets)
        self._pokes = pokes
        self._own_app_id = own_app_id
        self._runs = runs
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request of ASGI type `http`."""
        began = time.perf_counter()
        headers = _Headers(scope["headers"])
        event = headers.word(b"x-github-event")
        try:
            answer = await self._answer(scope["method"], event, headers, receive)
        except _Disconnected:
            answer = Answer(0, "the sender went away")
        _log.info(
            "webhook",
            status=answer.status,
            reason=answer.reason,
            delivery=headers.word(b"x-github-delivery"),
            github_event=event,
            action=answer.action,
            keys=answer.keys[:20],
            milliseconds=round((time.perf_counter() - began) * 1000, 1),
        )
        if answer.status:
            await _send(send, answer)

    async def _answer(self, method: str, event: str, headers: "_Headers", receive: Receive) -> Answer:
        if method != "POST":
            return Answer(405, "deliveries come by POST")
        claimed = claimed_signature(headers.only(b"x-hub-signature-256"))
        if isinstance(claimed, Refused):
            return Answer(401, claimed.reason)
        try:
            async with asyncio.timeout(BODY_WITHIN_S):
                body = await self._read(headers, receive)
        except _TooLarge:
            return Answer(413, f"more than {LARGEST_BODY} bytes")
        except _Crowded:
            return Answer(503, "too many large bodies at once; send it again")
        except TimeoutError:
            return Answer(408, f"the body did not come within {BODY_WITHIN_S} s")
        verified = verify_signature(self._secrets, body, headers.only(b"x-hub-signature-256"))
        if isinstance(verified, Refused):
            return Answer(401, verified.reason)
        try:
            payload = json.loads(body)
        except (ValueError, RecursionError):
            return Answer(400, "not JSON; the webhook's content type must be application/json")
        return await self._accept(event, payload)

    async def _read(self, headers: "_Headers", receive: Receive) -> bytes:
        announced = headers.only(b"content-length") or ""
        # Only a number of sane length is worth converting; the count below holds for all the others.
        if _LENGTH.fullmatch(announced) and int(announced) > LARGEST_BODY:
            raise _TooLarge
        chunks: list[bytes] = []
        size = 0
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _Disconnected
                chunk: bytes = message.get("body", b"")
                size += len(chunk)
                self._held += len(chunk)
                if size > LARGEST_BODY:
                    raise _TooLarge
                if size > SMALL_BODY and self._held > ALL_BODIES:
                    raise _Crowded
                chunks.append(chunk)
                if not message.get("more_body", False):
                    return b"".join(chunks)
        finally:
            self._held -= size

    async def _accept(self, event: str, payload: object) -> Answer:
        action = _action(payload)
        routing = keys_of(event, payload, own_app_id=self._own_app_id)
        run = run_of(event, payload) if self._runs is not None else None
        if isinstance(routing, Ignored) and run is None:
            return Answer(202, f"ignored: {routing.reason}", action=action)
        try:
            if self._runs is not None and run is not None:
                routing = with_key(routing, await self._runs.key_of(*run))
            if isinstance(routing, Ignored):
                return Answer(202, f"ignored: {routing.reason}", action=action)
            await self._pokes.poke(*routing.keys, words=routing.words)
        except Exception as problem:
            # Whatever stopped it, the poke is not known to be durable; the class says enough for the log.
            keys = () if isinstance(routing, Ignored) else routing.keys
            return Answer(503, f"not stored ({type(problem).__name__})", keys, action)
        return Answer(202, routing.reason, routing.keys, action)


class _Headers:
    """The request's headers: lower-case names, bytes as they came."""

    def __init__(self, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        self._pairs = pairs

    def only(self, name: bytes) -> str | None:
        """The header's value; values of a repeated header are joined, as HTTP says."""
        values = [value for key, value in self._pairs if key == name]
        return b", ".join(values).decode("latin-1") if values else None

    def word(self, name: bytes) -> str:
        """The header's value where it is a plain word, so that it may be logged; else an empty text."""
        value = self.only(name)
        return value if value is not None and _WORD.fullmatch(value) else ""


def _action(payload: object) -> str:
    action = payload.get("action") if isinstance(payload, dict) else None
    return action if isinstance(action, str) and _WORD.fullmatch(action) else ""


async def _send(send: Send, answer: Answer) -> None:
    body = json.dumps({"message": answer.reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if answer.status == 405:
        headers.append((b"allow", b"POST"))
    if answer.status in (408, 413, 503):
        headers.append((b"connection", b"close"))  # what is left of the body is not read
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
