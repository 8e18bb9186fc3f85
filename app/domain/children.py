"""Children of a ticket: which are listed, whether a result still holds, and which is integrated next.

The ownership protocol, R19: a child that the parent's record does not list is an orphan and never integrated. A result
holds while the child's generation is the one at its ledger's head, and the snapshot and the predecessor that it was
asked for are still the parent's; the parent's own generation is no condition, so the death of a parent cancels nobody.
Whatever does not hold any more is shown as stale, never integrated by itself.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from app.domain.child_contract import ListedChild, SealedResult, read_listing
from app.domain.lease import Liveness
from app.domain.outcome import Blocked, Code
from app.domain.record import FINISHED, Record


@dataclass(frozen=True)
class Seen:
    """A child's ledger as it stands: its record, how its holder does. `result`: of one that ended, the ledger commit
    that its result was given in, as the ref of the result keeps it; or why that ref cannot be followed.
    """

    record: Record
    holder: Liveness
    result: "str | Unseen | None" = None


@dataclass(frozen=True)
class Unseen:
    """A child whose ledger cannot be used: gone, or damaged."""

    reason: str


def listed(record: Record | None) -> tuple[ListedChild, ...]:
    """The children that a record lists, in the order in which they are integrated."""
    entries = (read_listing(entry) for entry in (record.children if record else ()))
    return tuple(entry for entry in entries if entry is not None)


def snapshot_of(record: Record) -> str | None:
    """The commit that a child spawned now starts from: what the parent published, before that its base."""
    return record.published.sha if record.published else record.base_sha


def active_names(record: Record) -> tuple[str, ...]:
    """The children of whom something is still to come."""
    return tuple(e.name for e in listed(record) if not e.cancelled and not _is_merged(e))


def integrated_texts(record: Record) -> tuple[str, ...]:
    """What was integrated, as a checkpoint tells it."""
    return tuple(integrated_text(e.name, e.result) for e in listed(record) if e.result is not None and _is_merged(e))


def integrated_text(name: str, result: SealedResult) -> str:
    return f"{name} generation {result.generation} (result {result.commit}) merged as {result.merged}"


def unfinished(record: Record) -> Blocked | None:
    """Why the ticket is not ready: something is still to come of a child."""
    names = active_names(record)
    if not names:
        return None
    return Blocked(
        Code.CHILD_UNFINISHED,
        f"{len(names)} children are neither integrated nor cancelled: {', '.join(names[:5])}",
        f"`agent-recovery child integrate`, or `agent-recovery child cancel {names[0]}`; then say ready again",
    )


def _is_merged(entry: ListedChild) -> bool:
    return entry.result is not None and entry.result.merged is not None


def stale_because(entry: ListedChild, parent: Record, base_holds: bool | None) -> str | None:
    """Why work under this listing is not worth anything to the parent any more, or None. `base_holds`: whether the
    commit it was asked for is in the parent's branch; None where nobody looked.
    """
    now = parent.checkpoint.predecessor_sha
    if entry.predecessor_sha != now:
        return (
            f"it was spawned while the predecessor was at {entry.predecessor_sha or 'none'}; now it is {now or 'none'}"
        )
    if entry.base_sha in parent.burned_shas:
        return f"the commit it started from ({entry.base_sha}) was withdrawn"
    if base_holds is False:
        return f"the ticket's branch does not contain the commit it started from ({entry.base_sha}) any more"
    return None


def result_of(entry: ListedChild, seen: Seen) -> SealedResult | Blocked:
    """The result that may count under this listing, as the child's own ledger has it."""
    record, result = seen.record, seen.record.result
    if record.status not in FINISHED or result is None:
        return Blocked(Code.CHILD_UNFINISHED, f"{entry.name} has not given its result yet", "wait for it")
    if result.generation != record.generation:
        return _stale(entry, f"its result is of generation {result.generation}, its ledger in {record.generation}")
    if result.generation <= entry.after_generation:
        return _stale(entry, f"its result is of generation {result.generation}, from before it was spawned anew")
    wanted = (entry.base_sha, entry.predecessor_sha)
    if (result.base_sha, result.predecessor_sha) != wanted:
        return _stale(entry, "its result is for another snapshot than the one it is listed with")
    if not isinstance(seen.result, str):
        return _stale(entry, seen.result.reason if seen.result else "the ref of its result is gone")
    known = entry.result
    if known is not None and (known.generation, known.commit) != (result.generation, seen.result):
        return _stale(entry, f"the ticket's record has another result of it ({known.commit})")
    merged = known.merged if known is not None else None
    return SealedResult(
        generation=result.generation,
        commit=seen.result,
        head_sha=result.head_sha,
        outcome=result.outcome,
        merged=merged,
    )


def integrable(
    entry: ListedChild, seen: Seen | Unseen, parent: Record, base_holds: bool | None
) -> SealedResult | Blocked:
    """The result that the parent's holder may merge, or why not."""
    if entry.cancelled:
        return Blocked(Code.CHILD_UNFINISHED, f"{entry.name} was cancelled", "nothing is left to do")
    if isinstance(seen, Unseen):
        return Blocked(Code.FROZEN, f"{entry.name}: {seen.reason}", f"`agent-recovery child respawn {entry.name}`")
    result = result_of(entry, seen)
    if isinstance(result, Blocked):
        return result
    if result.outcome == "failed":
        reason = f"{entry.name} failed: {seen.record.result.summary[:200] if seen.record.result else ''}"
        return Blocked(Code.CHILD_FAILED, reason, f"`agent-recovery child respawn {entry.name}`")
    because = stale_because(entry, parent, base_holds)
    return _stale(entry, because) if because and result.merged is None else result


def _stale(entry: ListedChild, because: str) -> Blocked:
    return Blocked(
        Code.CHILD_STALE,
        f"{entry.name} is stale: {because}",
        f"`agent-recovery child respawn {entry.name}` asks for its work at the present snapshot",
    )


def first_in_the_way(name: str, entries: Iterable[ListedChild], unsettled: Callable[[ListedChild], bool]) -> str | None:
    """The child that has to be integrated before this one: listed earlier, and not settled."""
    for entry in entries:
        if entry.name == name:
            return None
        if unsettled(entry):
            return entry.name
    return None


def is_settled(entry: ListedChild, seen: Seen | Unseen, parent: Record, base_holds: bool | None) -> bool:
    """Whether nothing of this child is to be merged before a later one: it is merged, ended without a result that
    holds, or is not there.
    """
    answer = integrable(entry, seen, parent, base_holds)
    if isinstance(answer, SealedResult):
        return answer.merged is not None
    return answer.code is not Code.CHILD_UNFINISHED or entry.cancelled
