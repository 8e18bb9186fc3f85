"""The ledgers of a ticket's children through a local clone: what its holder integrates from, also while the service is
down.

A child that gave its result ended with a commit of the service, whose seal anybody can check with its public keys; what
stands above the last such seal is its holder's word and is not believed here. Fetching a ledger brings its code commit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from app.domain.child_contract import ListedChild
from app.domain.children import Seen, Unseen
from app.domain.lease import Nobody
from app.domain.record import FINISHED, Record
from app.domain.refs import LedgerRefs
from app.domain.ticket_id import Child
from app.ledger.clone import Clone, Unreachable
from app.ledger.codec import Entry
from app.ledger.seals import PublicKeys
from app.ledger.verify import Sound, verify_tail

MOST_ABOVE = 1000
"""Commits above a result in its child's ledger, among which it is looked for."""


def look_at_children(
    clone: Clone,
    refs: LedgerRefs,
    repository_id: int,
    public_keys: PublicKeys,
    entries: Sequence[tuple[Child, ListedChild]],
    tail: Callable[[str], tuple[Entry, ...]],
) -> dict[str, Seen | Unseen] | Unreachable:
    """The listed children by name, as their ledgers stand on the remote now. `tail` reads a fetched ledger from its
    head.
    """
    children = [child for child, _ in entries]
    here = {child: f"refs/agent-recovery-seen/{child}/ledger" for child in children}
    found = clone.fetch({refs.active(child): local for child, local in here.items()}) if here else {}
    if isinstance(found, Unreachable):
        return found
    seen: dict[str, Seen | Unseen] = {}
    for child in children:
        head = found.get(refs.active(child))
        judged = verify_tail(
            tail(head) if head is not None else (),
            ticket=child,
            refs=refs,
            repository_id=repository_id,
            public_keys=public_keys,
            lease_secrets=None,
        )
        if head is None:
            seen[child.name] = Unseen("its ledger is not in progress")
        elif not isinstance(judged, Sound):
            seen[child.name] = Unseen("its ledger cannot be trusted")
        else:
            seen[child.name] = Seen(judged.record, Nobody("nobody looked"))
    return _with_results(clone, refs, entries, seen, found)


def _with_results(
    clone: Clone,
    refs: LedgerRefs,
    entries: Sequence[tuple[Child, ListedChild]],
    seen: dict[str, Seen | Unseen],
    heads: Mapping[str, str],
) -> dict[str, Seen | Unseen] | Unreachable:
    """Those that ended, with the commits that the refs of their results point to: commits of their own ledgers, each
    with this very result.
    """
    ended = {
        child: s for child, _ in entries if isinstance(s := seen[child.name], Seen) and s.record.status in FINISHED
    }
    sealed = {child: entry.result.commit for child, entry in entries if entry.result is not None}
    if not ended:
        return seen
    names = {child: refs.result(child, s.record.generation) for child, s in ended.items()}
    found = clone.remote_refs(tuple(names.values()))
    if isinstance(found, Unreachable):
        return found
    with clone.objects() as objects:
        for child, s in ended.items():
            # A deleted ref is no loss where the parent's record names the commit.
            at = found.get(names[child], sealed.get(child))
            chain = clone.first_parents(heads[refs.active(child)], MOST_ABOVE)
            entry = objects.entry(at) if at in chain else None
            there = entry.record if entry is not None else None
            same = isinstance(there, Record) and there.result == s.record.result
            problem = Unseen(f"the ref of its result was moved to {at}") if at is not None else None
            seen[child.name] = replace(s, result=at if same else problem)
    return seen
