"""Reading a ledger's chain through GitHub: from a head down its first parents, by SHA.

GitHub's history is filtered by path and simplified, so neighbours in it need not be parent and child, commits of the
repository's own history may stand among the ledger's, and one whose record equals that of its code commit may be left
out. A commit that a page does not hold is therefore asked for by its SHA: every request brings at least one further.
"""

from collections.abc import Callable
from dataclasses import dataclass

from app.github.history import RECORD_FILE, RawCommit
from app.github.repository import Repository
from app.ledger.codec import Entry

MAX_REQUESTS = 100
"""Of a hundred commits each: a tail longer than ten thousand commits is nobody's work."""
MAX_CHARACTERS = 64 * 1024**2
"""Of records, in one chain: all of it is in memory at once, and anybody with write access can make one."""


@dataclass(frozen=True)
class Chain:
    """`entries`: newest first, down to and including the first that was enough, or to the ledger's first commit.
    `earlier`: the commits below, as far as the same answers held them. `is_cut`: the limit came first.
    """

    entries: tuple[Entry, ...]
    earlier: tuple[str, ...]
    is_cut: bool = False


async def read_chain(repo: Repository, head: str, enough: Callable[[Entry], bool]) -> Chain:
    """The chain from `head` down. Raises NotFound where `head` is no commit, else what the requests raise."""
    known: dict[str, RawCommit] = {}
    entries: list[Entry] = []
    wanted: str | None = head
    requests, read = 0, 0
    while wanted is not None:
        if wanted not in known:
            if requests == MAX_REQUESTS or read > MAX_CHARACTERS:
                return Chain(tuple(entries), (), is_cut=True)
            page = await repo.ledger_history(wanted)
            requests += 1
            read += sum(len(commit.files.get(RECORD_FILE) or "") for commit in page.commits)
            known |= {commit.oid: commit for commit in page.commits}
        entry = _entry(known[wanted])
        entries.append(entry)
        wanted = entry.parent
        if enough(entry):
            break
    return Chain(tuple(entries), _below(wanted, known))


def _entry(commit: RawCommit) -> Entry:
    return Entry.read(commit.oid, commit.parents, commit.tree, commit.message, commit.files.get(RECORD_FILE))


def _below(start: str | None, known: dict[str, RawCommit]) -> tuple[str, ...]:
    found: list[str] = []
    while start is not None and start in known:
        found.append(start)
        parents = known[start].parents
        start = parents[0] if parents else None
    if start is not None:
        found.append(start)
    return tuple(found)
