"""What a person says of an effect is about the effect as it was when it was said: not about one that its holder means
to do since then under the same key, nor about an end that nobody could know yet.
"""

from dataclasses import dataclass
from datetime import datetime

from app.commands.verb import Said
from app.controller.effect_decisions import Decision
from app.domain.effect_journal import Noted, find
from app.domain.outcome import Blocked, Code
from app.domain.record import Record


@dataclass(frozen=True)
class AsSeen:
    """A decision about one effect that counts only where the effect was so already when `said` was written. What was
    decided by it stays decided, however often it is asked again.
    """

    decision: Decision
    key: str
    said: Said

    def __call__(self, record: Record, *, now: datetime) -> Noted | Blocked:
        effect = find(record, self.key)
        since = {"intended": effect.intended_at, "unknown": effect.settled_at}.get(effect.state) if effect else None
        # Comments carry whole seconds.
        if effect is None or since is None or since.replace(microsecond=0) <= self.said.at:
            return self.decision(record, now=now)
        reason = f"the effect {self.key} is {effect.state} only since this was said"
        remedy = "look at what it is now (`/recovery status`), then say it again in a new comment"
        return Blocked(Code.TOO_OLD, reason, remedy)
