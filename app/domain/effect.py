"""Effects: operations outside Git, journaled before and after (section 9 of the recovery specification).

One idempotency key, one effect: the key names it for good, whatever becomes of the ticket, its holders and this
record. An effect is intended, then dispatched, then settled; who dies in between leaves an unknown one, because "no
response" never means "did not happen".
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from app.domain.attendance import Attendance, Attended
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


@dataclass(frozen=True)
class Rule:
    """What may be done of a kind without a person's approval of that very effect in that generation. `unattended`:
    where nobody is there; `attended`: where a person acts at this very moment. What cannot be undone is denied to both.
    """

    unattended: bool
    attended: bool
    why: str

    @property
    def denies_all(self) -> bool:
        return not self.attended


RULES: dict[Kind, Rule] = {
    Kind.DEPLOY_STAGING: Rule(True, True, "another deployment takes its place, and no customer sees it"),
    Kind.DEPLOY_PRODUCTION: Rule(False, True, "customers see it at once; whoever is there can put the last one back"),
    Kind.MIGRATION: Rule(False, False, "data that was changed or dropped does not come back"),
    Kind.PUBLISH: Rule(False, False, "others have taken the version by the time it is withdrawn"),
    Kind.RELEASE: Rule(False, False, "others have taken the version by the time it is withdrawn"),
    Kind.TAG: Rule(True, True, "a tag can be removed"),
    Kind.CLOUD_CHANGE: Rule(True, True, "another change puts it back"),
    Kind.CLOUD_DESTROY: Rule(False, False, "what was destroyed does not come back"),
    Kind.EMAIL: Rule(False, False, "what was sent was read"),
    Kind.NOTIFY: Rule(False, False, "what was sent was read"),
    Kind.COMMENT: Rule(True, True, "it can be edited and removed"),
    Kind.GITHUB: Rule(True, True, "it can be closed or removed"),
    Kind.BILLING: Rule(False, False, "money that moved is not ours to fetch back"),
}
"""The deny-list: every kind, and what may be done of it without approval."""

UNKNOWN_KIND = Rule(False, False, "this version does not know what it does")


def rule_of(kind: str) -> Rule:
    """The rule of a kind; one of a newer version's counts as what cannot be undone."""
    return RULES[Kind(kind)] if kind in RULES else UNKNOWN_KIND


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
    denied_in: int | None = None
    """The latest generation in which it was refused because nobody approved it."""
    denied_at: Instant | None = None

    @property
    def identity(self) -> tuple[int, str]:
        return self.generation, self.nonce


def needs_approval(kind: str, at: Attendance) -> bool:
    """Whether a person must approve an effect of this kind before it is dispatched, where it is `at` this moment
    attended or not.
    """
    rule = rule_of(kind)
    return not (rule.attended if isinstance(at, Attended) else rule.unattended)


def is_approved(approvals: tuple[dict[str, Any], ...], key: str, generation: int) -> bool:
    """Whether a person approved this very effect in this generation. `approvals` are the record's; only the service
    writes them, from a command it checked.
    """
    return any(a.get("effect") == key and a.get("generation") == generation for a in approvals)
