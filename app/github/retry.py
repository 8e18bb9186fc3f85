"""Which failed reads are tried again, and when. Writes never come here."""

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from app.github.errors import RateLimited, ServerError, Unanswered
from app.github.pace import Sleep

ATTEMPTS = 4
PATIENCE_S = 5.0
"""A limit that ends within this many seconds is waited out; a longer one is the caller's to schedule."""

_TRANSIENT = (502, 503, 504)
_backoff = wait_exponential(multiplier=0.2, max=2.0) + wait_random(0, 0.2)


def reads(sleep: Sleep) -> AsyncRetrying:
    """Retries lost connections, timeouts, 502/503/504 and short limits; raises the last error as it was."""
    return AsyncRetrying(
        retry=retry_if_exception(_worth_another_try),
        stop=stop_after_attempt(ATTEMPTS),
        wait=_wait,
        sleep=sleep,
        reraise=True,
    )


def _worth_another_try(error: BaseException) -> bool:
    if isinstance(error, RateLimited):
        return error.stated and error.wait_s <= PATIENCE_S
    return isinstance(error, Unanswered) or (isinstance(error, ServerError) and error.status in _TRANSIENT)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    return error.wait_s if isinstance(error, RateLimited) else _backoff(state)
