"""The policy: what a repository says in `.github/agent-recovery.yml`, with defaults and bounds.

Every value has a safe default. A number or duration outside its bounds is moved to the nearest bound and the move is
reported; a wrong value makes the whole text unusable, because half a policy is nobody's intention. An unknown key is
reported and ignored, so that a newer policy works with an older App. Reading the text is the subject of
`policy_text.py`.
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, StringConstraints, WithJsonSchema

from app.domain.shell_words import argument_arrays

PATH = ".github/agent-recovery.yml"
"""Where a repository keeps its policy, on its default branch."""

_DURATION = re.compile(r"^([0-9]{1,9})\s*(s|m|h|d)?$")
_UNIT_SECONDS = {None: 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class Mode(StrEnum):
    """How far the App may go: show only, put right what is broken, or also land finished tickets."""

    OBSERVE = "observe"
    REPAIR = "repair"
    FULL = "full"


@dataclass(frozen=True)
class Bounds:
    """The lowest and highest value a key may take; seconds for durations, plain numbers otherwise."""

    low: int
    high: int


def duration_seconds(value: object) -> int:
    """Seconds of `15m`, `4h`, `90d`, `60s` or a plain number of seconds. Raises ValueError on anything else."""
    if isinstance(value, timedelta):
        return int(value.total_seconds())
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return value
    match = _DURATION.match(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError("a duration is a number with s, m, h or d, for example 15m")
    return int(match[1]) * _UNIT_SECONDS[match[2]]


def duration_text(value: timedelta) -> str:
    """A duration as a policy would write it: the largest unit that divides it."""
    seconds = int(value.total_seconds())
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _timedelta(value: object) -> timedelta:
    try:
        return timedelta(seconds=duration_seconds(value))
    except OverflowError:
        raise ValueError("that duration is too long") from None


Duration = Annotated[
    timedelta,
    BeforeValidator(_timedelta),
    PlainSerializer(duration_text, return_type=str),
    WithJsonSchema({"type": ["string", "integer"], "pattern": r"^[0-9]{1,9}\s*(s|m|h|d)?$"}),
]
BranchPattern = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^\s~^:\\]+$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=255)]
WorkflowFile = Annotated[str, StringConstraints(max_length=100, pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*\.ya?ml$")]
MAX_PATTERNS = 20
"""Each pattern of trunks may cost a request at a claim."""
Authorizer = Annotated[
    str,
    StringConstraints(
        pattern=r"^(permission:(admin|maintain|write)|@[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}"
        r"|[A-Za-z0-9][A-Za-z0-9_-]{0,38})$"
    ),
]
MAX_AUTHORIZERS = 50
"""Each team costs a request for every authorization that is looked at."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ReleasePolicy(_Part):
    into: BranchPattern | None = Field(default=None, description="base of releases; the default branch where absent")
    exclusive: bool = Field(default=False, description="only release pull requests may go into the base of releases")
    authorizers: tuple[Authorizer, ...] = Field(
        default=("permission:maintain",),
        max_length=MAX_AUTHORIZERS,
        description="accounts, teams (@organization/team) or a level that may authorize; an empty list: nobody",
    )
    approvals: Annotated[int, Bounds(1, 5)] = Field(
        default=1, description="how many persons have to authorize the same commit"
    )
    not_last_pusher: bool = Field(default=False, description="whoever pushed the commit does not count for it")
    expires: Annotated[Duration, Bounds(600, 7 * 86400)] = Field(
        default=timedelta(hours=24), description="how long a release authorization lives"
    )


class EnrollPolicy(_Part):
    label: Name | None = Field(default=None, description="an Issue with this label is a ticket")
    branch: bool = Field(default=False, description="an Issue with a branch of the ticket grammar is a ticket")


class LeasePolicy(_Part):
    ttl: Annotated[Duration, Bounds(120, 4 * 3600)] = Field(
        default=timedelta(minutes=15), description="how long a lease lives without a sign of its holder"
    )
    grace: Annotated[Duration, Bounds(60, 600)] = Field(
        default=timedelta(seconds=60), description="added to the expiry before a lease counts as dead"
    )
    heartbeat: Annotated[Duration, Bounds(15, 300)] = Field(
        default=timedelta(seconds=60), description="how often a holder shows itself; suspect after three missed"
    )
    recovering_ttl: Annotated[Duration, Bounds(120, 4 * 3600)] = Field(
        default=timedelta(minutes=15), description="how long a recovery may take until it shows evidence"
    )


class ResumePolicy(_Part):
    enabled: bool = Field(default=True, description="off keeps the marker of interrupted tickets and starts nothing")
    # Four hours: long enough for a night's CI queue or a lunch, short enough that the world the plan was made for
    # (trunk, reviews, priorities) is still about the same. An older ticket comes back by a person's word.
    max_age: Annotated[Duration, Bounds(600, 7 * 86400)] = Field(
        default=timedelta(hours=4), description="an interrupted ticket older than this needs a person"
    )
    max_attempts: Annotated[int, Bounds(1, 10)] = Field(
        default=3, description="claims without a newly completed step before a person is asked"
    )
    dispatch: Literal["none", "workflow_dispatch", "repository_dispatch", "command"] = Field(
        default="none",
        description="how a fresh agent is started; command: the operator's own, where there is one; none asks a person",
    )
    workflow: WorkflowFile = Field(
        default="agent.yml", description="the file below .github/workflows/ whose run is the fresh agent"
    )
    max_concurrent: Annotated[int, Bounds(1, 20)] = Field(
        default=3, description="how many dispatched agents may be at work at the same time"
    )
    max_per_hour: Annotated[int, Bounds(1, 60)] = Field(default=10, description="how many may be started in an hour")
    mass_limit: Annotated[int, Bounds(1, 100)] = Field(
        default=5,
        description="more tickets that stop at once than this, or than a fifth of those in progress, wait for a person",
    )


class CheckpointPolicy(_Part):
    max_gap: Annotated[Duration, Bounds(300, 4 * 3600)] = Field(
        default=timedelta(minutes=30), description="the longest time between two checkpoints of a working agent"
    )


class LandingPolicy(_Part):
    method: Literal["merge", "squash", "rebase"] = Field(default="merge", description="how a ticket is merged")
    checks: tuple[Name, ...] | Literal["none"] | None = Field(
        default=None, description="checks that must be green besides the rules' own; none: the rules alone"
    )
    unguarded_base: Literal["block", "accept"] = Field(
        default="block", description="whether to land though the base of releases is not guarded by our check"
    )


class StatusNames(_Part):
    """What the field for the state says, by the ticket's status; nothing is written where there is no name."""

    unclaimed: Name | None = Field(default=None, description="nobody holds it: just begun, or handed off")
    working: Name | None = Field(default="In progress", description="an agent works on it, or takes it over")
    waiting: Name | None = Field(default="In progress", description="an agent waits for an answer")
    ready: Name | None = Field(default="In review", description="its work is finished and has not landed")
    held: Name | None = Field(default=None, description="a person put it on hold")
    exhausted: Name | None = Field(default=None, description="several attempts made no progress")
    landed: Name | None = Field(default="Done", description="its work is on the trunk")
    cancelled: Name | None = Field(default=None, description="a person ended it")
    abandoned: Name | None = Field(default=None, description="it was too old to be taken up by itself")


class ProjectPolicy(_Part):
    number: Annotated[int, Field(ge=1)] | None = Field(default=None, description="the organization's Project")
    status_field: Name = Field(default="Status", description="its field for the state of a ticket")
    priority_field: Name = Field(default="Priority", description="its field for the priority")
    release_field: Name = Field(default="Target release", description="its field for the target release")
    status: StatusNames = Field(
        default=StatusNames(), description="options of the status field by the ticket's status; case does not count"
    )


class LedgerPolicy(_Part):
    namespace: Literal["refs/agent-recovery", "refs/heads/agent-recovery"] = Field(
        default="refs/agent-recovery",
        description="where the ledgers lie; branches where custom refs are refused",
    )


class Policy(_Part):
    """A repository's policy, all values valid and inside their bounds."""

    version: Literal[1] = 1
    mode: Mode = Field(default=Mode.OBSERVE, description="observe: show only; repair: put right; full: also land")
    trunks: tuple[BranchPattern, ...] = Field(
        default=("release-*", "release/*"),
        max_length=MAX_PATTERNS,
        description="patterns of the branches tickets land on; * stops at /",
    )
    release: ReleasePolicy = ReleasePolicy()
    main_exceptions: tuple[Name, ...] = Field(
        default=(), description="head branches that may go into the base of releases all the same"
    )
    enroll: EnrollPolicy = EnrollPolicy()
    verify: Annotated[
        tuple[tuple[str, ...], ...],
        BeforeValidator(argument_arrays),
        WithJsonSchema(
            {
                "type": "array",
                "items": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
                "maxItems": 20,
            }
        ),
    ] = Field(default=(), description="commands that show the work can be trusted; run without a shell")
    lease: LeasePolicy = LeasePolicy()
    resume: ResumePolicy = ResumePolicy()
    checkpoint: CheckpointPolicy = CheckpointPolicy()
    retention: Annotated[Duration, Bounds(86400, 3650 * 86400)] = Field(
        default=timedelta(days=90), description="how long a finished ticket's ledger is kept in full"
    )
    landing: LandingPolicy = LandingPolicy()
    draft_label: Name | None = Field(
        default=None, description="put onto the PR of a ticket in work where the repository's plan has no drafts"
    )
    protected_paths: tuple[Name, ...] = Field(
        default=(".github/**", ".claude/**", ".mcp.json", "AGENTS.md", "CLAUDE.md", ".githooks/**", ".husky/**"),
        description="files whose change needs a person before landing",
    )
    project: ProjectPolicy = ProjectPolicy()
    ledger: LedgerPolicy = LedgerPolicy()


def policy_schema() -> dict[str, Any]:
    """The JSON Schema of the policy file, for editors and for the repository's own checks."""
    schema = Policy.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Agent Recovery policy"}
