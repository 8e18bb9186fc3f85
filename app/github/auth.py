"""Who we are to GitHub: App tokens signed with a key, and the installation tokens they buy.

Installation tokens live an hour. They are fetched once however many callers wait, renewed five minutes early, and
dropped at the first 401. Nothing here is ever logged; the classes that hold secrets print without them.
"""

import asyncio
import base64
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import AwareDatetime

from app.domain.model import Message
from app.github.clock import GitHubClock
from app.github.errors import GitHubError, NotFound, ServerError, Unanswered, Unauthorized, Uninstalled
from app.github.pace import Sleep
from app.github.retry import reads
from app.github.shapes import read
from app.github.wire import Answer, Call, Wire

RENEW_BEFORE = timedelta(minutes=5)
JWT_LIFE = timedelta(minutes=8)
"""GitHub refuses App tokens that live longer than ten minutes."""
JWT_BACKDATED = timedelta(seconds=60)
CLOCK_MOVED = timedelta(seconds=2)

_MINT = "/app/installations/{installation}/access_tokens"


class Credentials(Protocol):
    """The credentials to try for one call, best first. Asking for the next one means the last was refused (401)."""

    payer: str

    def candidates(self) -> AsyncGenerator[str, None]:
        """Values for the Authorization header."""
        ...


class AppKeys:
    """The App as itself. Two private keys may be live while one replaces the other: the first that works is kept."""

    payer = "app"

    def __init__(self, app_id: int, private_keys: Sequence[str], clock: GitHubClock) -> None:
        if not private_keys:
            raise ValueError("the App has no private key")
        self.app_id = app_id
        # Parsed once: PyJWT would parse the text, and test its primes, at every call. The settings tested them.
        self._keys = tuple(_key(text) for text in private_keys)
        self._clock = clock
        self._preferred = 0

    async def candidates(self) -> AsyncGenerator[str, None]:
        """Each live key once; a key again where the refusal taught us that our clock was wrong."""
        count = len(self._keys)
        for index in [(self._preferred + step) % count for step in range(count)]:
            self._preferred = index
            before = self._clock.now(), self._clock.monotonic()
            yield self._header(index)
            passed = timedelta(seconds=self._clock.monotonic() - before[1])
            if abs(self._clock.now() - before[0] - passed) > CLOCK_MOVED:
                yield self._header(index)
        self._preferred = 0

    def _header(self, index: int) -> str:
        now = self._clock.now()
        claims = {"iss": str(self.app_id), "iat": int((now - JWT_BACKDATED).timestamp())}
        claims["exp"] = int((now + JWT_LIFE).timestamp())
        return f"Bearer {jwt.encode(claims, self._keys[index], algorithm='RS256')}"


def _key(text: str) -> RSAPrivateKey:
    key = load_pem_private_key(text.encode(), password=None, unsafe_skip_rsa_key_validation=True)
    if not isinstance(key, RSAPrivateKey):
        raise ValueError("the App's private key is no RSA key")
    return key


@dataclass(frozen=True)
class Token:
    """An installation token. Printing it shows no secret."""

    value: str = field(repr=False)
    expires_at: datetime


class _Minted(Message):
    token: str
    expires_at: AwareDatetime


class InstallationTokens:
    """The tokens of all installations."""

    def __init__(
        self, wire: Wire, app: AppKeys, *, sleep: Sleep, on_gone: Callable[[int], None] = lambda _: None
    ) -> None:
        self._wire = wire
        self._sleep = sleep
        self._app = app
        self._on_gone = on_gone
        self._tokens: dict[int, Token] = {}
        self._minting: dict[int, asyncio.Task[Token]] = {}

    async def get(self, installation_id: int) -> Token:
        """A token good for five minutes at least.

        Raises Suspended, Uninstalled, Unauthorized (no key of ours is accepted) or another GitHubError.
        """
        token = self._tokens.get(installation_id)
        if token is not None and self._wire.clock.now() < token.expires_at - RENEW_BEFORE:
            return token
        task = self._minting.get(installation_id)
        if task is None:
            task = asyncio.create_task(self._mint(installation_id))
            self._minting[installation_id] = task
            task.add_done_callback(lambda done: self._minted(installation_id, done))
        # Shielded: a caller that gives up must not take the token from the others who wait for it.
        return await asyncio.shield(task)

    def drop(self, installation_id: int, refused: Token) -> None:
        """Forget a token GitHub refused, unless another caller has replaced it already."""
        if self._tokens.get(installation_id) == refused:
            del self._tokens[installation_id]

    def _minted(self, installation_id: int, task: asyncio.Task[Token]) -> None:
        self._minting.pop(installation_id, None)
        if not task.cancelled() and task.exception() is None:
            self._tokens[installation_id] = task.result()

    async def _mint(self, installation_id: int) -> Token:
        # No write in the sense of the journal: a token nobody received expires by itself, so it is asked for again.
        call = Call("POST", _MINT, {"installation": installation_id}, kind="token")
        refused: GitHubError | None = None
        answer: Answer
        async with aclosing(self._app.candidates()) as candidates:
            async for authorization in candidates:
                try:
                    answer = await reads(self._sleep)(
                        self._wire.send, call, authorization=authorization, payer=self._app.payer
                    )
                except Unauthorized as e:
                    refused = e
                    continue
                except NotFound as e:
                    self._on_gone(installation_id)
                    raise Uninstalled(e.message, status=e.status, request_id=e.request_id, route=e.route) from e
                except Unanswered as e:
                    # To whoever wanted to write with this token, nothing at all was sent.
                    raise ServerError(f"no installation token: {e.message}", status=e.status, route=call.name) from e
                minted = read(_Minted, answer.body, call)
                return Token(minted.token, minted.expires_at)
        raise refused or Unauthorized("no key of the App is accepted", route=call.name)


class AsInstallation:
    """Credentials of one installation: its token and, after a 401, one new token."""

    def __init__(self, tokens: InstallationTokens, installation_id: int) -> None:
        self.payer = f"installation:{installation_id}"
        self._tokens = tokens
        self._id = installation_id

    async def candidates(self) -> AsyncGenerator[str, None]:
        async for token in self._twice():
            yield f"token {token.value}"

    async def for_git(self) -> AsyncGenerator[str, None]:
        """The same for git over HTTP, which takes the token as a password."""
        async for token in self._twice():
            pair = base64.b64encode(f"x-access-token:{token.value}".encode()).decode()
            yield f"Basic {pair}"

    async def _twice(self) -> AsyncGenerator[Token, None]:
        first = await self._tokens.get(self._id)
        yield first
        self._tokens.drop(self._id, first)
        second = await self._tokens.get(self._id)
        yield second
        self._tokens.drop(self._id, second)
