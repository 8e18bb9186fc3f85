"""What a holder must know before it goes on in a workspace: what the ledger says is published, and where the branch
stands. Reads only, by git alone, so it works while the service is down.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.fence import highest_seq, present_lease
from app.domain.outcome import Blocked, Code
from app.domain.record import Record
from app.domain.token import Forged, secret_of
from app.domain.token import read as read_token
from app.ledger.clone import Unreachable
from app.ledger.codec import NewerSchema
from app.ledger.git import GitLedger
from app.ledger.git_outcomes import Declined, Distrusted, FencedOut, Gone, OnHold, Refused, Unheard, Withdrawn
from app.ledger.seals import PublicKeys, own_secret
from app.ledger.verify import Sound, verify_tail


@dataclass(frozen=True)
class Known:
    """The ledger is sound and this lease is the present one. `published`: its word; `branch`: the remote's head;
    `highest`: the highest number it knows of this lease's requests. `record`: the whole of it. `withdrawn`: what is
    published is a fence commit.
    """

    published: str | None
    branch: str | None
    highest: int
    record: Record
    withdrawn: Withdrawn | None = None


def standing(
    ledger: GitLedger, token: str, branch: str, *, repository_id: int, public_keys: Mapping[str, bytes]
) -> Known | FencedOut | OnHold | Refused:
    """One look at ledger and ticket branch, judged for this lease."""
    claims = read_token(token)
    if isinstance(claims, Forged):
        return Refused(claims.reason)
    seen = ledger.look(branch)
    if isinstance(seen, Unreachable):
        return Declined(seen.reason, seen.fault) if seen.fault.is_final else Unheard(seen.reason)
    if isinstance(seen, Gone):
        return FencedOut(seen.reason)
    judged = verify_tail(
        seen.entries,
        ticket=ledger.ticket,
        refs=ledger.refs,
        repository_id=repository_id,
        public_keys=PublicKeys(public_keys),
        lease_secrets=own_secret(claims, secret_of(token)),
    )
    if not isinstance(judged, Sound):
        why = "a newer version wrote it" if isinstance(judged, NewerSchema) else judged.reason
        return Distrusted(f"the ledger cannot be trusted: {why}")
    record = judged.record
    lease = present_lease(record, claims, repository_id=repository_id, ticket=ledger.ticket)
    if isinstance(lease, Blocked) and lease.code is Code.HELD:
        return OnHold(lease.reason, record.generation)
    if isinstance(lease, Blocked):
        return FencedOut(lease.reason, lease.holder, lease.generation)
    published, fence = record.published.sha if record.published else None, record.fence
    withdrawn = Withdrawn(fence.sha, fence.on) if fence is not None and fence.sha == published else None
    return Known(published, seen.branch, highest_seq(record, claims), record, withdrawn)
