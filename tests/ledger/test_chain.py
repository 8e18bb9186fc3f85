"""How much of a hostile chain is read at most."""

from app.github.history import RECORD_FILE, History, RawCommit
from app.ledger import chain
from app.ledger.chain import read_chain


class Endless:
    """A repository whose ledger was never born: every answer holds a hundred commits more."""

    def __init__(self, characters: int) -> None:
        self.asked = 0
        self._record = "x" * characters

    async def ledger_history(self, oid: str) -> History:
        self.asked += 1
        start = int(oid, 16)
        commits = [
            RawCommit(f"{n:040x}", (f"{n + 1:040x}",), "0" * 40, "", {RECORD_FILE: self._record})
            for n in range(start, start + 100)
        ]
        return History(tuple(commits), has_next=True, cursor=None)


async def test_a_chain_is_given_up_for_its_length_or_for_its_weight() -> None:
    light, heavy = Endless(10), Endless(40_000)
    for repository in (light, heavy):
        read = await read_chain(repository, "0" * 40, lambda entry: False)  # type: ignore[arg-type]
        assert read.is_cut
    assert light.asked == chain.MAX_REQUESTS
    assert heavy.asked == chain.MAX_CHARACTERS // (100 * 40_000) + 1
