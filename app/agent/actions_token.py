"""The token by which a workflow run of GitHub Actions shows which run it is.

Wanted properties: one fresh token for each call, because each is good for one call; made for this service alone, so
that it is worth nothing elsewhere; it stands in no file, no output and no environment. What GitHub hands out tokens for
(`ACTIONS_ID_TOKEN_REQUEST_…`) is a secret as well, and is sent to GitHub's own address alone.

Source: docs.github.com, "OpenID Connect reference", requesting the token by the environment variables of the runner.
"""

from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

import httpx
from pydantic import BaseModel, ValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from app.agent.environment import url_problem, usage
from app.domain.outcome import Blocked, Code, Refused

PATIENCE_S = 20.0
_TIMEOUT = httpx.Timeout(10.0, connect=5.0)


class _Issued(BaseModel):
    value: str


class _NoToken(Exception):
    """GitHub gave none, which may pass."""


@dataclass(frozen=True)
class ActionsToken:
    """Fetches tokens. `url` and `secret`: what GitHub gave this run; `audience`: whom the tokens are for."""

    url: str = field(repr=False)
    secret: str = field(repr=False)
    audience: str
    patience_s: float = PATIENCE_S

    def fresh(self) -> str:
        """A token that nobody used yet. Raises Refused."""
        problem = url_problem(self.url.partition("?")[0])
        if problem:
            raise usage(f"ACTIONS_ID_TOKEN_REQUEST_URL cannot be used: {problem}", "leave it as GitHub Actions sets it")
        attempts = Retrying(
            retry=retry_if_exception_type(_NoToken),
            stop=stop_after_delay(self.patience_s),
            wait=wait_random_exponential(multiplier=0.2, max=3),
            reraise=True,
        )
        try:
            return attempts(self._once)
        except _NoToken as failure:
            raise Refused(
                Blocked(
                    Code.UNAVAILABLE,
                    f"GitHub Actions gives this run no identity token ({failure})",
                    "run the same command again",
                    retryable=True,
                )
            ) from None

    def _once(self) -> str:
        plain = urlsplit(self.url).scheme == "http"
        joined = "&" if "?" in self.url else "?"
        try:
            answer = httpx.get(
                f"{self.url}{joined}{urlencode({'audience': self.audience})}",
                headers={"Authorization": f"Bearer {self.secret}", "Accept": "application/json"},
                timeout=_TIMEOUT,
                trust_env=not plain,
                verify=not plain,
                follow_redirects=False,
            )
        except httpx.TransportError as error:
            # The kind of failure is enough; the text could quote what was sent.
            raise _NoToken(type(error).__name__) from None
        if answer.status_code >= 500 or answer.status_code == 429:
            raise _NoToken(f"it answered {answer.status_code}")
        if answer.status_code != 200:
            raise Refused(
                Blocked(
                    Code.UNAUTHENTICATED,
                    f"GitHub Actions gives this run no identity token: it answered {answer.status_code}",
                    "the job needs `permissions: id-token: write`, and only the job itself may ask",
                )
            )
        try:
            token = _Issued.model_validate_json(answer.content).value
        except ValidationError:
            raise _NoToken("its answer holds none") from None
        if not token.isascii() or not token.isprintable() or " " in token or not token:
            raise _NoToken("its answer holds none")
        return token
