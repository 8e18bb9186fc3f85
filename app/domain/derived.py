"""What the service knows better than the agent, filled into every checkpoint it writes."""

from datetime import datetime

from app.domain.checkpoint import SCHEMA_VERSION, Checkpoint
from app.domain.children import active_names, integrated_texts
from app.domain.record import Record


def derived(record: Record, checkpoint: Checkpoint, *, now: datetime) -> Checkpoint:
    """The checkpoint with its derived fields set from the record, which only the service writes them into."""
    work = record.work
    return checkpoint.model_copy(
        update={
            "schema_version": SCHEMA_VERSION,
            "issue_id": record.ticket,
            "target_release": work.trunk if work else None,
            "ticket_branch": work.branch if work else None,
            "pr_number": record.projections.pr_number,
            "immediate_pr_base": work.trunk if work else None,
            "base_sha": work.base_sha if work else None,
            "checkpoint_sha_or_snapshot": record.published.sha if record.published else None,
            "execution_generation": record.generation,
            "status": record.status,
            "updated_at": now,
            **_of_children(record),
        }
    )


def _of_children(record: Record) -> dict[str, tuple[str, ...]]:
    """Where a list of children stands, it says better than the agent what became of them."""
    if not record.children:
        return {}
    return {"active_children": active_names(record), "integrated_child_results": integrated_texts(record)}


def merged(before: Checkpoint, sent: Checkpoint) -> Checkpoint:
    """What an agent sent, over what was known: a field it did not send stays as it was."""
    return before.model_copy(update={name: getattr(sent, name) for name in sent.model_fields_set})
