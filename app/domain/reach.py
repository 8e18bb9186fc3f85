"""Where the App may act: how it stands with an account, and which of its repositories it has to leave alone.

Nothing here is kept: GitHub is asked at every look, and says it by its answers (a token that is refused) and, sooner
but without any promise, by its events.
"""

from dataclasses import dataclass
from enum import StrEnum


class Reach(StrEnum):
    """How the App stands with an account."""

    INSTALLED = "installed"
    SUSPENDED = "suspended"
    """Until somebody unsuspends it; everything there is then looked at whole."""
    UNINSTALLED = "uninstalled"
    """What the App wrote before stays where it is, to be read; nothing is written any more."""


@dataclass(frozen=True, slots=True)
class Left:
    """What an account took from the App: all of it (`state`), or the repositories with these ids."""

    state: Reach
    paused_repo_ids: tuple[int, ...] = ()

    @property
    def reason(self) -> str:
        """In words, for the log and for the sender of the event."""
        if self.state is not Reach.INSTALLED:
            return f"the App is {self.state} in this account"
        named = ", ".join(map(str, self.paused_repo_ids[:10]))
        more = f" and {len(self.paused_repo_ids) - 10} more" if len(self.paused_repo_ids) > 10 else ""
        return f"the App was taken from repositories: {named or 'none is named'}{more}"
