"""What a failed call to GitHub means to whoever called us: a code, a reason in our words, a next action."""

import math

from app.domain.outcome import Blocked, Code
from app.github.errors import Forbidden, GitHubError, Moved, NotFound, RateLimited, Suspended, Unauthorized


def refusal_of(error: GitHubError) -> Blocked:
    """The refusal; GitHub's own sentence stays in the log, since it may speak of what the caller cannot see."""
    match error:
        case Suspended():
            return Blocked(
                Code.SUSPENDED,
                "the App's installation is suspended; nothing is read or written there",
                "ask an owner of the account to unsuspend it under Settings → GitHub Apps",
            )
        case RateLimited():
            return Blocked(
                Code.UNAVAILABLE,
                "GitHub's rate limit is met",
                f"repeat the same call in {math.ceil(error.wait_s)} seconds",
                retryable=True,
            )
        case NotFound():
            return Blocked(
                Code.NOT_FOUND,
                "GitHub shows the App no such repository or object",
                "check the name, and that the App is installed on this repository",
            )
        case Moved():
            return Blocked(
                Code.NOT_FOUND, "the repository has another name or owner now", "use the name GitHub shows for it now"
            )
        case Forbidden():
            return Blocked(
                Code.FORBIDDEN,
                "the App lacks a permission there",
                "an owner must accept the permissions the App asks for (app.yml lists them and why)",
            )
        case Unauthorized():
            return Blocked(
                Code.UNAVAILABLE,
                "GitHub does not accept the App's own key",
                "tell the operator: AGENT_RECOVERY_APP_PRIVATE_KEY or AGENT_RECOVERY_APP_ID is wrong or revoked",
            )
    return Blocked(
        Code.UNAVAILABLE,
        "GitHub gives no usable answer now",
        "repeat the same call with the same key in a minute",
        retryable=True,
    )


def retry_after(error: GitHubError) -> dict[str, str]:
    """The `Retry-After` header that goes with it, in whole seconds."""
    return {"Retry-After": str(math.ceil(error.wait_s))} if isinstance(error, RateLimited) else {}
