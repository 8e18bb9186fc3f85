"""Lies about a ticket's children: results that moved or were never merged, children that nobody listed.

The ownership protocol, R19: a result is made once and never moved, and its commit is sealed in the parent's record.
"""

from collections.abc import Iterator

from app.domain.children import listed
from app.domain.record import Record
from app.domain.refs import LedgerRefs
from app.drill.audit.facts import Facts
from app.drill.audit.lie import Kind, Lie


def lies(facts: Facts, record: Record, refs: LedgerRefs) -> Iterator[Lie]:
    """What the parent's record says of its children, against the refs and the branch."""
    known = {entry.name: entry for entry in listed(record)}
    standing = {
        (of[0].name, of[1]): sha for ref, sha in facts.results.items() if (of := refs.result_of(ref)) is not None
    }
    for name in sorted({*facts.children, *(name for name, _ in standing)} - known.keys()):
        what = f"the child {name} has refs of its own, and the ticket's record does not list it"
        yield Lie(Kind.CHILD_UNLISTED, facts.name, what, f"{facts.name}.{name}")
    for entry in known.values():
        result = entry.result
        if result is None:
            continue
        found = standing.get((entry.name, result.generation))
        if found != result.commit:
            what = f"the result of {entry.name} is sealed as {result.commit}, its ref is at {found or 'no commit'}"
            yield Lie(Kind.RESULT_MOVED, facts.name, what, result.commit)
        if result.merged is not None and not _is_in(facts, record, result.merged, result.head_sha):
            what = f"the result of {entry.name} is called merged as {result.merged}, and the branch does not hold it"
            yield Lie(Kind.RESULT_NOT_MERGED, facts.name, what, result.merged)


def _is_in(facts: Facts, record: Record, merged: str, head: str | None) -> bool:
    published = record.published.sha if record.published else None
    if published is None or not facts.contains(published, merged):
        return False
    return head is None or facts.contains(merged, head)
