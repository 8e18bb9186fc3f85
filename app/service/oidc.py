"""Tokens by which workflow runs show who they are: OpenID Connect of GitHub Actions, without asking GitHub's API.

Wanted properties: only signatures by the issuer's RSA keys count (RS256, whatever a token asks for); a token is for
this service alone, lives by our clock with a minute's tolerance, and is good for one call in all processes together; a
caller without a genuine token costs no request but one a while; where the issuer gives no answer nobody is told that a
token is wrong. No answer and no log holds a token.

Source: docs.github.com, "OpenID Connect reference". The keys stand at `<issuer>/.well-known/jwks`.
"""

import asyncio
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import RSAAlgorithm
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from app.controller.clock import Clock
from app.controller.spent_tokens import SpentTokens
from app.domain.dispatched import Run
from app.domain.outcome import Blocked, Code
from app.domain.run_claims import RunClaims

MAX_TOKEN = 8192
"""Characters. GitHub's are about 1,500."""
TOLERANCE = timedelta(seconds=60)
LONGEST_LIFE = timedelta(hours=1)
"""GitHub's tokens live for minutes: one that lives longer was not made for a run."""
KEYS_KEPT_S = 3600.0
LOOKED_AGAIN_AFTER_S = 10.0
"""How soon the issuer is asked once more, after an answer without the key that is wanted or without any answer."""
TIMEOUT_S = 5.0
MAX_KEYS_BYTES = 256 * 1024
_SHORTEST_KEY, _LONGEST_KEY = 2048, 8192

Digits = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,17}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[ -~]+$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Seconds = Annotated[int, Field(ge=0, le=2**40)]


class _Payload(BaseModel):
    """What is read of a token's claims. GitHub writes its numbers as texts."""

    model_config = ConfigDict(strict=True, extra="ignore", hide_input_in_errors=True)

    iss: Text
    aud: Text
    exp: Seconds
    nbf: Seconds
    iat: Seconds
    jti: Text
    repository_id: Digits
    repository: Text
    run_id: Digits
    run_attempt: Digits
    event_name: Text
    ref: Name
    workflow_ref: Name
    job_workflow_ref: Name
    actor: Text


class _Key(BaseModel):
    model_config = ConfigDict(extra="ignore")

    kty: Literal["RSA"]
    kid: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    n: Annotated[str, StringConstraints(max_length=2000)]
    e: Annotated[str, StringConstraints(max_length=16)]
    alg: Literal["RS256"] = "RS256"
    use: Literal["sig"] = "sig"


class _NoAnswer(Exception):
    """The issuer's keys are not to be had now."""


def is_run_token(bearer: str) -> bool:
    """Whether this has the form of a token of a workflow run; none of GitHub's other tokens has."""
    return bearer.startswith("eyJ") and bearer.count(".") == 2


class RunTokens:
    """Checks tokens of workflow runs. `audience`: this service, as the token must name it; None: the operator said
    nothing by which a token for this service could be told from one for another. `passed`: seconds of a clock that
    never goes back.
    """

    def __init__(
        self,
        issuer: str,
        audience: str | None,
        spent: SpentTokens,
        clock: Clock,
        *,
        passed: Callable[[], float] = time.monotonic,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._spent = spent
        self._clock = clock
        self._keys = _Keys(f"{issuer}/.well-known/jwks", passed, transport)

    async def verify(self, token: str) -> RunClaims | Blocked:
        """What the token says of its run, once: the same token again is refused, here and in every other process."""
        if self._audience is None:
            return _refused(
                "this service does not know its own address, so no token of a workflow run is for it",
                "the operator sets AGENT_RECOVERY_PUBLIC_URL (or AGENT_RECOVERY_OIDC_AUDIENCE)",
            )
        kid = _kid(token)
        if isinstance(kid, Blocked):
            return kid
        try:
            key = await self._keys.key(kid)
        except _NoAnswer as problem:
            return Blocked(
                Code.UNAVAILABLE,
                f"the issuer of tokens of workflow runs gives no usable answer ({problem})",
                "take a fresh token and send the same call again",
                retryable=True,
            )
        if key is None:
            return _refused("the token was signed by a key that its issuer does not have")
        read = _payload(token, key)
        if isinstance(read, Blocked):
            return read
        wrong = self._wrong(read)
        if wrong is not None:
            return wrong
        if not await self._spent.spend(read.jti, _moment(read.exp) + TOLERANCE):
            return _refused("the token was used before", "take a fresh token for every call")
        return RunClaims(
            repository_id=int(read.repository_id),
            repository=read.repository,
            run=Run(id=int(read.run_id), attempt=int(read.run_attempt)),
            event=read.event_name,
            ref=read.ref,
            workflow_ref=read.workflow_ref,
            job_workflow_ref=read.job_workflow_ref,
            actor=read.actor,
        )

    def _wrong(self, read: _Payload) -> Blocked | None:
        if read.iss != self._issuer:
            return _refused("another issuer made the token")
        if read.aud != self._audience:
            return _refused(
                "the token is for another audience",
                f"take one for the audience {self._audience}: the same address as AGENT_RECOVERY_URL, or set "
                "AGENT_RECOVERY_OIDC_AUDIENCE",
            )
        now = self._clock()
        if now > _moment(read.exp) + TOLERANCE:
            return _refused("the token has expired")
        if now < max(_moment(read.nbf), _moment(read.iat)) - TOLERANCE:
            return _refused("the token is from the future")
        if not timedelta(0) < _moment(read.exp) - _moment(read.iat) <= LONGEST_LIFE:
            return _refused("the token's times are none that GitHub gives")
        return None


class _Keys:
    """The issuer's keys by their id, kept for an hour, and looked up once more for an id that is not among them."""

    def __init__(
        self, url: str, passed: Callable[[], float], transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._url = url
        self._passed = passed
        self._transport = transport
        self._known: dict[str, RSAPublicKey] = {}
        self._read_at: float | None = None
        self._asked_at: float | None = None
        self._failed = ""
        self._one_at_a_time = asyncio.Lock()

    async def key(self, kid: str) -> RSAPublicKey | None:
        """The key of this id; None where the issuer has none. Raises _NoAnswer."""
        if (known := self._usable(kid)) is not None:
            return known
        async with self._one_at_a_time:
            if (known := self._usable(kid)) is not None:
                return known
            now = self._passed()
            if self._asked_at is not None and now < self._asked_at + LOOKED_AGAIN_AFTER_S:
                if self._failed:
                    raise _NoAnswer(self._failed)
                return None
            self._asked_at = now
            try:
                self._known, self._failed = await self._ask(), ""
            except (TimeoutError, OSError, httpx.HTTPError, _NoAnswer) as problem:
                self._failed = str(problem) if isinstance(problem, _NoAnswer) else type(problem).__name__
                raise _NoAnswer(self._failed) from None
            self._read_at = self._passed()
            return self._known.get(kid)

    def _usable(self, kid: str) -> RSAPublicKey | None:
        fresh = self._read_at is not None and self._passed() < self._read_at + KEYS_KEPT_S
        return self._known.get(kid) if fresh else None

    async def _ask(self) -> dict[str, RSAPublicKey]:
        plain = self._url.startswith("http://")
        body = b""
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpx.AsyncClient(
                transport=self._transport,
                verify=not plain,
                trust_env=not plain,
                follow_redirects=False,
                timeout=TIMEOUT_S,
            ) as client,
            client.stream("GET", self._url, headers={"Accept-Encoding": "identity"}) as answer,
        ):
            if answer.status_code != 200:
                raise _NoAnswer(f"status {answer.status_code}")
            async for part in answer.aiter_raw():
                body += part
                if len(body) > MAX_KEYS_BYTES:
                    raise _NoAnswer("an answer that is too large")
        return _keys_of(body)


def _keys_of(body: bytes) -> dict[str, RSAPublicKey]:
    """The keys of a JWKS that RS256 may be checked by; others are left out. Raises _NoAnswer."""
    try:
        listed = json.loads(body)["keys"]
    except (ValueError, RecursionError, KeyError, TypeError):
        listed = None
    if not isinstance(listed, list):
        raise _NoAnswer("an answer that holds no keys")
    found = {kid: key for kid, key in map(_read_key, listed) if key is not None}
    if not found:
        raise _NoAnswer("an answer without a key for RS256")
    return found


def _read_key(listed: Any) -> tuple[str, RSAPublicKey | None]:
    try:
        shape = _Key.model_validate(listed)
        key = RSAAlgorithm.from_jwk({"kty": "RSA", "n": shape.n, "e": shape.e})
    except (ValidationError, ValueError, jwt.InvalidKeyError):
        return "", None
    usable = isinstance(key, RSAPublicKey) and _SHORTEST_KEY <= key.key_size <= _LONGEST_KEY
    return shape.kid, key if usable and isinstance(key, RSAPublicKey) else None


def _kid(token: str) -> str | Blocked:
    """By which key the token says that it is signed."""
    malformed = _refused("this is no token of a workflow run")
    if len(token) > MAX_TOKEN:
        return malformed
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.InvalidTokenError, ValueError, RecursionError):
        return malformed
    kid = header.get("kid")
    if header.get("alg") != "RS256" or {"crit", "b64"} & header.keys():
        return _refused("the token is not signed the way GitHub signs (RS256)")
    if not isinstance(kid, str) or not 0 < len(kid) <= 200:
        return malformed
    return kid


def _payload(token: str, key: RSAPublicKey) -> _Payload | Blocked:
    """The claims, once the signature is right. Whom they are for and when they hold is judged by our own clock."""
    judged_here = {f"verify_{claim}": False for claim in ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")}
    try:
        claims = jwt.decode(token, key, algorithms=["RS256"], options=judged_here)  # type: ignore[arg-type]
    except jwt.InvalidSignatureError:
        return _refused("the token's signature is wrong")
    except (jwt.InvalidTokenError, ValueError, RecursionError):
        return _refused("this is no token of a workflow run")
    try:
        return _Payload.model_validate(claims)
    except ValidationError as error:
        names = sorted({str(detail["loc"][0]) for detail in error.errors(include_input=False)})
        return _refused(f"the token lacks what a token of a workflow run says: {', '.join(names)}")


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(min(seconds, 2**36), UTC)


def _refused(reason: str, remedy: str = "take a fresh token from the run that the App started") -> Blocked:
    return Blocked(Code.UNAUTHENTICATED, reason, remedy)
