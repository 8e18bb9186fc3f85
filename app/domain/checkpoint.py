"""The checkpoint: the facts, decisions and next steps a fresh agent needs.

Its fields are those of sections 3 and 11 of the recovery specification, by their names. It never holds private
reasoning, secrets or machine paths; `domain/admission.py` sees to that before one is stored.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from app.domain.model import Instant, Sha, Stored

SCHEMA_VERSION = 1
MAX_BYTES = 40 * 1024
"""A checkpoint as it will stand in the comment: escaped JSON, UTF-8 bytes."""


def _step(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


class Step(Stored):
    """One step of the plan. `id` is the agent's own short name for it; `sha` the commit that completed it."""

    text: str
    id: str = ""
    sha: Sha | None = None


Steps = tuple[Annotated[Step, BeforeValidator(_step)], ...]
Texts = tuple[str, ...]


class Checkpoint(Stored):
    """What is known about a ticket's work at one moment. All fields may be absent in what an agent sends:
    what the App can derive (identity, refs, generation, times) it fills in itself.
    """

    schema_version: int = SCHEMA_VERSION
    issue_id: int | None = None
    target_release: str | None = None
    ticket_branch: str | None = None
    pr_number: int | None = None
    immediate_pr_base: str | None = None
    predecessor_issue_or_pr: int | None = None
    predecessor_sha: Sha | None = None
    base_sha: Sha | None = None
    checkpoint_sha_or_snapshot: str | None = None
    execution_generation: int | None = None
    status: str | None = None
    completed_steps: Steps = ()
    next_steps: Steps = ()
    pending_validation: Texts = ()
    active_children: Texts = ()
    integrated_child_results: Texts = ()
    external_side_effects: Texts = ()
    blockers: Texts = ()
    decision_refs: Texts = ()
    artifact_refs: Texts = ()
    updated_at: Instant | None = None
    objective: str | None = None
    accepted_decisions: Texts = ()
    relevant_refs: Texts = ()
    current_diff: str | None = None
    validation_state: str | None = None
    trigger: str | None = None
    """The moment at which it was made (`domain/triggers.py`)."""


DERIVED_FIELDS = (
    "schema_version",
    "issue_id",
    "target_release",
    "ticket_branch",
    "pr_number",
    "immediate_pr_base",
    "base_sha",
    "execution_generation",
    "status",
    "updated_at",
)
"""What the service knows better than the agent: an agent's own values for these are replaced, not trusted."""


class Change(Stored):
    """One thing admission did to what was sent: reported to the caller, who goes on."""

    field: str
    kind: str = Field(description="redacted | left_out | shortened | derived | withheld")
    detail: str


def checkpoint_schema() -> dict[str, Any]:
    """The JSON Schema of what an agent keeps in `.agent-recovery/next.json` and sends as its checkpoint."""
    schema = Checkpoint.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Agent Recovery checkpoint"}
