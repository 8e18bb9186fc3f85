"""The commits of a release's ledger: made, and judged when they are read.

Only the service writes them, so its seal is asked for first: what a commit without it says is of no interest, be it
damaged, newer or larger than anything of ours. The seal covers repository, ref and parent: a sealed record copied from
another release, a ticket, a fork or another point of this ledger's own history is not sealed where it was put. Pure.
"""

import re
from datetime import datetime

from app.domain.refs import LedgerRefs
from app.domain.release_record import MAX_BYTES, SCHEMA, ReleaseRecord
from app.ledger.codec import Draft, Entry, NewerSchema, Unreadable, dump_as, load_as, sealed_draft, tree_sha
from app.ledger.seals import PublicKeys, Sealer, ServiceSeal
from app.ledger.verify import Tampered, service_seal_breach

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9./_-]")
_SHOWN = 60


def dump_release(record: ReleaseRecord) -> str:
    """The record as canonical JSON. Raises NotStorable where it would be larger than 48 KiB or is no JSON."""
    fields = record.model_dump(mode="json", by_alias=True)
    return dump_as(ReleaseRecord, SCHEMA, fields, MAX_BYTES, "what is long settled has to be left out")


def release_draft(
    *,
    refs: LedgerRefs,
    parent: str | None,
    record: ReleaseRecord,
    event: str,
    repository_id: int,
    sealer: Sealer,
    request: str | None,
    when: datetime,
    nonce: str | None,
) -> Draft:
    """The sealed commit that puts `record` on `parent`. Raises NotStorable (see `dump_release`), and ValueError on an
    event, request or nonce that would break the message.
    """
    ref = refs.release(record.branch)
    return sealed_draft(
        ref=ref,
        parent=parent,
        code_parent=None,
        record_text=dump_release(record),
        subject=_NOT_PLAIN.sub("_", record.branch)[:_SHOWN],
        named=_named(refs, record),
        event=event,
        repository_id=repository_id,
        sealer=sealer,
        request=request,
        when=when,
        nonce=nonce,
    )


def verify_release(
    entry: Entry, *, branch: str, refs: LedgerRefs, repository_id: int, public_keys: PublicKeys
) -> ReleaseRecord | Tampered | Unreadable | NewerSchema:
    """The record of a release's ledger with this commit as its head, if the service sealed it for exactly this release
    in this repository. The service seals only on what it has verified, so the head stands for all below it. Never
    raises on hostile input.
    """
    seal = entry.seal
    if not isinstance(seal, ServiceSeal):
        return Tampered("the commit is not sealed by the service, which alone writes releases", entry.sha)
    if breach := service_seal_breach(entry, seal, (refs.release(branch),), repository_id, public_keys):
        return breach
    if entry.record_text is None:
        return Unreadable("the commit holds no readable record", entry.sha)
    record = load_as(ReleaseRecord, SCHEMA, entry.record_text)
    match record:
        case Unreadable(reason):
            return Unreadable(reason, entry.sha)
        case NewerSchema(version):
            return NewerSchema(version, entry.sha)
    return _incoherent(entry, record, branch, refs) or record


def _incoherent(entry: Entry, record: ReleaseRecord, branch: str, refs: LedgerRefs) -> Tampered | None:
    """What speaks against a sealed commit all the same: it is none that this version of the App makes."""
    if entry.code_parent is not None or entry.surplus_parents:
        return Tampered("the commit has more than one parent", entry.sha)
    if entry.record_text is None or tree_sha(entry.record_text) != entry.tree:
        return Tampered("the commit's tree holds something beside its record", entry.sha)
    if record.branch != branch:
        return Tampered("the record is another release's", entry.sha)
    if {name: entry.trailers.get(f"Recovery-{name}") for name in _named(refs, record)} != _named(refs, record):
        return Tampered("the message says something else than the record", entry.sha)
    begun_anew = record.rebuilt is not None and record.rebuilt.sequence == record.sequence
    if (entry.parent is None) != (begun_anew or record.sequence == 1):
        return Tampered("the ledger begins in the middle", entry.sha)
    return None


def _named(refs: LedgerRefs, record: ReleaseRecord) -> dict[str, str]:
    leaf = refs.release(record.branch).removeprefix(refs.releases_prefix)
    return {"Release": leaf, "Sequence": str(record.sequence)}
