"""The agent API over HTTP.

Wanted properties: a call that may have been carried out is only ever repeated with the same key or claim id, so a
lost response is harmless; the service's refusals arrive as `Refused` with their own code and next action; no text
that leaves this module holds a token.

Loss accepted: after `patience_s` seconds without an answer the outcome is unknown, and the caller is told so. The same
command run again uses the same key and learns the outcome.
"""

from collections.abc import Callable
from types import TracebackType
from typing import TypeVar
from urllib.parse import quote, urlsplit

import httpx
from pydantic import BaseModel, ValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from app.domain.agent_api import (
    ClaimRequest,
    ErrorBody,
    Grant,
    HeartbeatAnswer,
    HeartbeatRequest,
    WriteAnswer,
    WriteRequest,
)
from app.domain.brief import Brief
from app.domain.effect_api import EffectList
from app.domain.outcome import Blocked, Code, Refused
from app.domain.shown_child import Children
from app.domain.ticket_id import TicketId

Answer = TypeVar("Answer", bound=BaseModel)
Bearer = str | Callable[[], str]
"""A token, or what gives a fresh one for every request that is sent; it may raise Refused."""

_PASSING = frozenset({429, 502, 503, 504})
_FALLBACK = {401: Code.UNAUTHENTICATED, 403: Code.FORBIDDEN, 404: Code.NOT_FOUND, 413: Code.CHECKPOINT_TOO_LARGE}
_TIMEOUT = httpx.Timeout(60.0, connect=5.0)
_AGAIN = "run the same command again: it uses the same key, so nothing happens twice"


class _NoAnswerYet(Exception):
    """One attempt failed in a way that may pass; carries what to tell the user if none succeeds."""

    def __init__(self, blocked: Blocked) -> None:
        super().__init__(blocked.reason)
        self.blocked = blocked


class Service:
    """One ticket's part of the agent API. A context manager; `patience_s` bounds the retries of one call."""

    def __init__(self, url: str, repository: str, ticket: TicketId, *, patience_s: float = 20.0) -> None:
        owner, name = repository.split("/")
        self._base = f"{url}/api/v1/repos/{quote(owner, safe='')}/{quote(name, safe='')}/tickets/{ticket}"
        self._patience_s = patience_s
        # Plain http is allowed on this machine only: no proxy belongs in between, and no TLS context is needed.
        plain = urlsplit(url).scheme == "http"
        self._client = httpx.Client(timeout=_TIMEOUT, trust_env=not plain, verify=not plain, follow_redirects=False)

    def __enter__(self) -> "Service":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def brief(self, bearer: Bearer) -> Brief:
        """The brief, for a GitHub user who may read the repository, or the run that was started. Raises Refused."""
        return self._call("GET", "brief", bearer, None, Brief)

    def claim(self, bearer: Bearer, request: ClaimRequest) -> Grant:
        """Claims the ticket. The same claim id gives the same grant again. Raises Refused."""
        return self._call("POST", "claim", bearer, request, Grant)

    def lease(self, lease_token: str) -> Grant:
        """The grant of the lease that stands, for whoever has its token. Raises Refused."""
        return self._call("GET", "lease", lease_token, None, Grant)

    def write(self, lease_token: str, operation: str, request: WriteRequest) -> WriteAnswer:
        """Any write of a holder by its path; its key has been saved by the caller. Raises Refused."""
        return self._call("POST", operation, lease_token, request, WriteAnswer)

    def effects(self, lease_token: str) -> EffectList:
        """The effects of the ticket that the lease is for. Raises Refused."""
        return self._call("GET", "effects", lease_token, None, EffectList)

    def children(self, lease_token: str) -> Children:
        """The children of the ticket that the lease is for. Raises Refused."""
        return self._call("GET", "children", lease_token, None, Children)

    def heartbeat(self, lease_token: str, ledger_head: str | None) -> HeartbeatAnswer:
        """Says that the holder lives, and which ledger commit it last saw. Raises Refused."""
        return self._call("POST", "heartbeat", lease_token, HeartbeatRequest(ledger_head=ledger_head), HeartbeatAnswer)

    def _call(self, method: str, path: str, bearer: Bearer, body: BaseModel | None, kind: type[Answer]) -> Answer:
        attempts = Retrying(
            retry=retry_if_exception_type(_NoAnswerYet),
            stop=stop_after_delay(self._patience_s),
            wait=wait_random_exponential(multiplier=0.2, max=3),
            reraise=True,
        )
        try:
            answer: Answer = attempts(self._once, method, path, bearer, body, kind)
            return answer
        except _NoAnswerYet as failure:
            raise Refused(failure.blocked) from None

    def _once(self, method: str, path: str, bearer: Bearer, body: BaseModel | None, kind: type[Answer]) -> Answer:
        token = bearer if isinstance(bearer, str) else bearer()
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        content: str | None = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = body.model_dump_json()
        try:
            answer = self._client.request(method, f"{self._base}/{path}", headers=headers, content=content)
        except httpx.TransportError as error:
            # The kind of failure is enough; the text could quote what was sent.
            raise _NoAnswerYet(_unavailable(f"no answer from the service ({type(error).__name__})")) from None
        if answer.status_code in _PASSING:
            raise _NoAnswerYet(_refusal(answer))
        if answer.status_code >= 400:
            raise Refused(_refusal(answer))
        if answer.status_code >= 300:
            raise Refused(
                Blocked(
                    Code.UNAVAILABLE,
                    "the service answers with a redirect, which is not followed with a token",
                    "set AGENT_RECOVERY_URL to the address it really has",
                )
            )
        try:
            return kind.model_validate_json(answer.content)
        except ValidationError as error:
            raise Refused(
                _unavailable(
                    f"the answer is none of Agent Recovery's ({error.error_count()} fields wrong)",
                    "check AGENT_RECOVERY_URL and the versions of both sides",
                )
            ) from None


def is_definite(refused: Refused) -> bool:
    """Whether the service surely did not and will not carry the call out."""
    return refused.blocked.code not in (Code.UNAVAILABLE, Code.UNKNOWN_OUTCOME, Code.LANDING_UNRESOLVED)


def _refusal(answer: httpx.Response) -> Blocked:
    try:
        detail = ErrorBody.model_validate_json(answer.content).error
        return Blocked(
            Code(detail.code),
            detail.message,
            detail.next_action,
            retryable=detail.retryable,
            holder=detail.holder,
            generation=detail.generation,
            highest_seq=detail.highest_seq,
        )
    except ValueError:  # not our error body, or a code of a newer service
        return _foreign_refusal(answer)


def _foreign_refusal(answer: httpx.Response) -> Blocked:
    status = answer.status_code
    said = f"the service answered {status}"
    detail = _detail(answer)
    if detail is not None:
        said = f"{said}: {detail[0]}"
    if status >= 500 or status == 429:
        return _unavailable(said)
    remedy = detail[1] if detail else "check AGENT_RECOVERY_URL and the versions of both sides"
    return Blocked(_FALLBACK.get(status, Code.USAGE), said, remedy)


def _detail(answer: httpx.Response) -> tuple[str, str] | None:
    """Message and next action of a well-formed error whose code this version does not know."""
    try:
        detail = ErrorBody.model_validate_json(answer.content).error
    except ValidationError:
        return None
    return f"{detail.code}: {detail.message}", detail.next_action


def _unavailable(reason: str, remedy: str = _AGAIN) -> Blocked:
    return Blocked(Code.UNAVAILABLE, reason, remedy, retryable=True)
