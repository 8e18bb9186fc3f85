"""What stopped is found from the index of tickets in progress alone, and finding it costs what is in progress.

The second specification, 40.3: a start that looks through everything that ever ran gets slower the longer one uses it.
"""

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from crowd import REPO, Crowd

from app.github.refs import RefValue
from app.github.repository import Repository

ACTIVE, FEW, MANY = 10, 5, 500
ENDED = range(5001, 5001 + MANY)


async def _asked(crowd: Crowd, since: int) -> list[tuple[str, str]]:
    seen = await crowd.emulated.control("GET", "/requests")
    return [(r["method"], str(r["path"])) for r in seen if int(r["n"]) > since]


async def _now(crowd: Crowd) -> int:
    seen = await crowd.emulated.control("GET", "/requests")
    return int(seen[-1]["n"]) if seen else 0


def _seen(crowd: Crowd) -> list[int]:
    """What has an Issue or a pull request."""
    repo = crowd.emulated.repository(REPO)
    return [*repo.issues, *(pull.number for pull in repo.pulls())]


async def _costs(folder: Path, active: int, finished: int) -> tuple[list[str], list[str], int, set[str]]:
    """What a start and then a sweep ask, in what order; the points of both; and the tickets that the start pokes."""
    named: set[str] = set()
    real = Repository.refs_below

    async def refs_below(repo: Repository, *prefixes: str) -> Sequence[RefValue]:
        named.update(prefixes)
        return await real(repo, *prefixes)

    async with Crowd(folder, real=0, others=active) as crowd:
        for number in ENDED[:finished]:
            crowd.ref(f"refs/agent-recovery/done/{number}")
        await crowd.later(600)
        crowd.forget()
        points, mark = crowd.points(), await _now(crowd)
        with patch.object(Repository, "refs_below", refs_below):
            await crowd.controller._loop._sweeper.start_up()
        started = await _asked(crowd, mark)
        poked = set(await crowd.due()) & {f"{REPO}#{number}" for number in (*crowd.others, *ENDED[:finished])}
        mark = await _now(crowd)
        with patch.object(Repository, "refs_below", refs_below):
            await crowd.sweep()
        swept = await _asked(crowd, mark)
        # Of ended ledgers only those are asked for by name that a ticket in progress would have.
        ended = {name.partition("agent-recovery/done/")[2] for name in named if "agent-recovery/done" in name}
        assert ended <= {str(number) for number in _seen(crowd)}
        return (
            [f"{method} {path}" for method, path in started],
            [f"{method} {path}" for method, path in swept],
            crowd.points() - points,
            poked,
        )


@pytest.mark.parametrize("active", [0, ACTIVE])
async def test_what_a_start_and_a_sweep_ask_is_the_same_with_five_and_with_five_hundred_ended_tickets(
    tmp_path: Path, active: int
) -> None:
    few = await _costs(tmp_path / "few", active, FEW)
    many = await _costs(tmp_path / "many", active, MANY)
    assert few == many
    started, swept, _, poked = many
    assert len(poked) == active
    assert len(started) <= 10
    assert len(swept) <= 10


async def test_a_start_asks_no_more_for_ten_tickets_in_progress_than_for_one(tmp_path: Path) -> None:
    """They are listed together; what each costs is its own round's."""
    one = await _costs(tmp_path / "one", 1, FEW)
    ten = await _costs(tmp_path / "ten", ACTIVE, FEW)
    # Ledgers that are due together are read together, by one request more.
    assert len(ten[0]) - len(one[0]) <= 1
    assert len(ten[3]) == ACTIVE
