"""What a holder's word makes of the record: a checkpoint, and the evidence that ends a recovery."""

from datetime import datetime, timedelta

from app.domain import gates
from app.domain.admission import stored_size
from app.domain.checkpoint import MAX_BYTES, Checkpoint
from app.domain.checkpoint_gap import keeps_the_work, saved
from app.domain.decide import own_check_run
from app.domain.derived import derived, merged
from app.domain.effect_journal import interrupted
from app.domain.hardness import Soft, is_hard
from app.domain.observation import Observation
from app.domain.outcome import Blocked, Code
from app.domain.record import FINISHED, Lease, Published, Record, Status
from app.domain.settling import Made, settle
from app.domain.stopping import progress_made


def progressed(record: Record, sent: Checkpoint, status: Status, observation: Observation) -> Record | Blocked:
    """The record after a checkpoint: content merged, derived fields set, attempts back to 0 after proven progress.
    That brings an exhausted ticket back, too.
    """
    updated = record.model_copy(update={"status": status, "checkpoint": merged(record.checkpoint, sent)})
    checkpoint = derived(updated, updated.checkpoint, now=observation.now)
    size = stored_size(checkpoint)
    if size > MAX_BYTES:
        return Blocked(
            Code.CHECKPOINT_TOO_LARGE,
            f"with what was stored before, the checkpoint has {size} bytes; the limit is {MAX_BYTES}",
            "send the fields that grew again, shorter; a field you send replaces what is stored",
        )
    updated = updated.model_copy(update={"checkpoint": checkpoint})
    keeps = keeps_the_work(updated, sent.checkpoint_sha_or_snapshot)
    updated = saved(updated, now=observation.now) if keeps else updated
    hard = not isinstance(is_hard(updated, observation, stands_at=sent.checkpoint_sha_or_snapshot), Soft)
    attempts = gates.after_progress(record.attempts, record.checkpoint, checkpoint, hard=hard, now=observation.now)
    standing, stopped = progress_made(record, attempts, status)
    updated = updated.model_copy(update={"attempts": attempts, "status": standing, "stopped": stopped})
    if standing == status:
        return updated
    return updated.model_copy(update={"checkpoint": derived(updated, updated.checkpoint, now=observation.now)})


def alive(record: Record, *, ttl: timedelta, now: datetime) -> Record:
    """The record after any write of its holder, if it still has one: a lease that nobody took over is renewed by every
    write, also past its expiry (the ownership protocol, R15), without a commit of its own.
    """
    lease = record.lease
    if lease is None or record.status in FINISHED:
        return record
    renewed = {"expires_at": now + ttl, "renewed_at": now, "renewals_seen": record.renewals}
    attempts = gates.after_life(record.attempts, now=now)
    return record.model_copy(update={"lease": lease.model_copy(update=renewed), "attempts": attempts})


def handed_off(record: Record, *, now: datetime) -> Record:
    """The record without a holder: nothing counts as interrupted, save effects whose end nobody wrote down. The word
    of a person who wanted it to go on is carried out with that: after a mere handoff no agent is started.
    """
    ended = interrupted(record, now=now)
    given = {"lease": None, "status": "unclaimed", "stopped": None, "intent": None, "attempts": gates.after_handoff()}
    handed = ended.model_copy(update=given)
    return handed.model_copy(update={"checkpoint": derived(handed, handed.checkpoint, now=now)})


def recovered(record: Record, lease: Lease, head_sha: str, observation: Observation) -> Record | Blocked:
    """The record once the holder's workspace stands at the recorded commit: a published head is stamped anew under the
    present fencing identity (unless it is burned), the claim's own check-run permit is settled by what GitHub shows
    (the ownership protocol, R2), and the status is `working`. The checkpoint's derived fields follow, so that what is
    shown of this record is what it holds.
    """
    expected = record.published.sha if record.published else record.base_sha
    if head_sha != expected:
        return Blocked(
            Code.BRANCH_MOVED,
            f"the workspace is at {head_sha}, the ticket's work is at {expected}",
            "run `agent-recovery recover` again in an empty folder",
            retryable=True,
        )
    published = record.published
    if published is not None and published.sha not in record.burned_shas:
        published = Published(sha=published.sha, generation=lease.generation, nonce=lease.nonce)
    status = "working" if record.status == "recovering" else record.status
    settled = settle(record, _check_runs_found(record, observation))
    after = settled.model_copy(update={"status": status, "published": published})
    return after.model_copy(update={"checkpoint": derived(after, after.checkpoint, now=observation.now)})


def _check_runs_found(record: Record, observation: Observation) -> list[Made]:
    return [
        Made(permit, number)
        for permit in record.open
        if permit.kind == "check_run_create"
        and permit.target.generation == record.generation
        and (number := own_check_run(record, observation, permit.target.head_sha or "")) is not None
    ]
