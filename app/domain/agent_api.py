"""The messages of the agent API: what the command line sends and what the service answers.

`claim` and `brief` carry the caller's GitHub user token as bearer; every later call carries the lease token alone.
Paths (all below `/api/v1/repos/{owner}/{repo}/tickets/{ticket}`): `GET brief`, `POST claim`, `POST evidence`,
`POST checkpoint`, `POST heartbeat`, `POST handoff`.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from app.domain.brief import Brief, Criterion
from app.domain.checkpoint import Change
from app.domain.effect_state import EffectState
from app.domain.model import Instant, Message, Sha
from app.domain.plain_text import cut, is_one_line
from app.domain.secret_shapes import redact
from app.domain.ticket_id import TicketField
from app.domain.triggers import Trigger

Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
"""An idempotency key or claim id: 8 to 64 URL-safe characters, made by the caller and saved before the call."""

HIGHEST_SEQ = 2**31 - 1
"""The highest number a holder's write may have."""


def _one_line(label: str) -> str:
    if not is_one_line(label):
        raise ValueError("not one printable line")
    return label


OneLine = Annotated[str, AfterValidator(_one_line)]
"""A label that others see: one printable line, so that it can pretend to be nobody else's words."""


def _without_secrets(label: str) -> str:
    return cut(redact(label).text, MAX_LABEL)


MAX_LABEL = 80
Label = Annotated[OneLine, Field(min_length=1, max_length=MAX_LABEL), AfterValidator(_without_secrets)]
"""A label that is stored and shown to everybody: a secret in it is redacted before anything else reads it."""


class ClaimRequest(Message):
    claim_id: Key
    observed_generation: int = Field(ge=0, le=2**31 - 1, description="from the brief; 0 where nobody ever claimed")
    trunk: str | None = Field(default=None, max_length=255)
    holder: Label = Field(default="agent", description="a label people recognise")
    attempt: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{16}$",
        description="the attempt a dispatched agent was started under; only such an agent sends it",
    )


class RepositoryInfo(Message):
    id: int
    owner: str
    name: str
    clone_url: str


class Grant(Message):
    """What a claim returns. `head_sha` is the commit to work from: the published head, else the base."""

    repository: RepositoryInfo
    ticket: TicketField
    generation: int
    nonce: str
    lease_token: str
    expires_at: Instant
    ttl_s: int
    heartbeat_every_s: int
    max_gap_s: int = Field(default=1800, description="the policy's checkpoint.max_gap: save at least that often")
    ledger_ref: str
    ledger_head: Sha
    namespace: str
    branch: str
    trunk: str
    base_sha: Sha
    published_sha: Sha | None
    head_sha: Sha
    public_keys: dict[str, str] = Field(description="seal key id → base64 raw Ed25519 public key")
    verify: tuple[tuple[str, ...], ...] = Field(description="the policy's verify commands, as argument arrays")
    brief: Brief


class WriteRequest(Message):
    """Every write of a holder: an idempotency key, looked up before the fence, and a number that only rises."""

    key: Key
    seq: int = Field(ge=1, le=HIGHEST_SEQ)


class VerifyRun(Message):
    command: tuple[str, ...]
    exit_code: int
    output: str = Field(default="", max_length=4000, description="the tail of what it printed")
    reused: bool = Field(default=False, description="not run now: the recorded result of the same snapshot stands")


class EvidenceRequest(WriteRequest):
    """What the agent's side found after it made the workspace: posted by `recover`, ends status `recovering`."""

    head_sha: Sha
    clean: bool
    verify: tuple[VerifyRun, ...] = ()
    dependencies: str | None = Field(
        default=None,
        pattern=r"^sha256:[0-9a-f]{64}$",
        description="a digest of what the commands depend on outside the commit, where it is known",
    )


class CheckpointRequest(WriteRequest):
    checkpoint: dict[str, Any]
    status: Literal["working", "waiting", "ready"] = "working"
    at: Trigger | None = Field(default=None, description="the moment at which it is made")


class HandoffRequest(WriteRequest):
    checkpoint: dict[str, Any] | None = None


class HeartbeatRequest(Message):
    ledger_head: Sha | None = Field(default=None, description="the ledger commit the agent last pushed or saw")


class WriteAnswer(Message):
    """The answer to every write of a holder; stored in the record, so it stays small."""

    generation: int
    sequence: int
    status: str
    ledger_commit: Sha | None = Field(default=None, description="None only inside the stored copy of itself")
    hard: bool = Field(default=False, description="true when the checkpoint survives the loss of this machine")
    soft_because: tuple[str, ...] = Field(default=(), description="what is missing for a hard checkpoint")
    changes: tuple[Change, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    effect: EffectState | None = Field(default=None, description="the effect that the call was about")
    repeated: bool = Field(default=False, description="this is the stored answer of an earlier call with the key")


class HeartbeatAnswer(Message):
    generation: int
    status: str
    expires_at: Instant
    ledger_head: Sha


class ErrorDetail(Message):
    code: str
    message: str
    next_action: str
    retryable: bool
    holder: str | None = None
    generation: int | None = None
    highest_seq: int | None = Field(
        default=None, description="with stale_request: the highest number known of this lease; go on above it"
    )


class ErrorBody(Message):
    error: ErrorDetail
