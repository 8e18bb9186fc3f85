"""Effects: operations outside Git, journaled before and after (section 9 of the recovery specification).

One idempotency key, one effect: the key names it for good, whatever becomes of the ticket, its holders and this
record. An effect is intended, then dispatched, then settled; who dies in between leaves an unknown one, because "no
response" never means "did not happen".
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from app.domain.model import Instant, Stored

EFFECT_KEY = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
EffectKey = Annotated[str, StringConstraints(pattern=EFFECT_KEY)]
"""The name of one effect within its ticket: 1 to 64 letters, digits, `.`, `_`, `-`; chosen by who wants the effect."""

MAX_REMOTE_ID = 200
MAX_NOTE = 200


class Kind(StrEnum):
    """What an effect does: the list of section 9, with what has no undoing apart, and `notify`."""

    DEPLOY_STAGING = "deploy.staging"
    DEPLOY_PRODUCTION = "deploy.production"
    MIGRATION = "migration"
    PUBLISH = "publish"
    RELEASE = "release"
    TAG = "tag"
    CLOUD_CHANGE = "cloud.change"
    CLOUD_DESTROY = "cloud.destroy"
    EMAIL = "email"
    NOTIFY = "notify"
    COMMENT = "comment"
    GITHUB = "github"
    """An Issue, pull request, branch or check-run beside the ticket's own."""
    BILLING = "billing"


REVERSIBLE: frozenset[str] = frozenset(
    {Kind.DEPLOY_STAGING, Kind.TAG, Kind.CLOUD_CHANGE, Kind.COMMENT, Kind.GITHUB},
)
"""What can be put back by another effect. Every other kind, one of a newer version too, needs a person's approval of
that very effect in that generation, from attended and unattended holders alike.
"""

State = Literal["intended", "dispatching", "confirmed", "failed_no_effect", "unknown", "abandoned"]
SETTLED: frozenset[str] = frozenset({"confirmed", "failed_no_effect"})
"""Known for good: the same key gets this result and runs nothing."""

By = Literal["command", "probe", "person", "service"]


class EffectResult(Stored):
    """What is known of an effect, and from whom: the command that did it, a probe, a person, or the service, which only
    knows that a lease ended.
    """

    by: By
    exit_code: int | None = None
    remote_id: str | None = Field(default=None, max_length=MAX_REMOTE_ID)
    note: str = Field(default="", max_length=2 * MAX_NOTE)


class Effect(Stored):
    """One effect in the record. (`generation`, `nonce`) is the fencing identity it was last intended under, `login` the
    account behind that lease. `attempt` is the one execution that was let through, as a digest of its name: no other
    is, ever.
    """

    key: EffectKey
    kind: str = Field(pattern=r"^([a-z][a-z0-9._-]{0,39})?$")
    """Empty where only key and outcome are known any more."""
    state: State
    generation: int
    nonce: str = Field(max_length=64)
    login: str = Field(default="", pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,38}(\[bot\])?)?$")
    probe: dict[str, Any] | None = None
    """How to look whether it happened, as `domain/effect_probe.py` reads it; None where nobody can."""
    attempt: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-]{1,64}$")
    intended_at: Instant | None = None
    dispatched_at: Instant | None = None
    settled_at: Instant | None = None
    """When the present state was written down, where it is neither intended nor dispatching."""
    result: EffectResult | None = None
    probes: int = 0
    """How often a probe did not find it since it is unknown."""
    probed_at: Instant | None = None

    @property
    def identity(self) -> tuple[int, str]:
        return self.generation, self.nonce


def needs_approval(kind: str) -> bool:
    """Whether a person must approve an effect of this kind before it is dispatched."""
    return kind not in REVERSIBLE


def is_approved(approvals: tuple[dict[str, Any], ...], key: str, generation: int) -> bool:
    """Whether a person approved this very effect in this generation. `approvals` are the record's; only the service
    writes them, from a command it checked.
    """
    return any(a.get("effect") == key and a.get("generation") == generation for a in approvals)
