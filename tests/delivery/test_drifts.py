"""Level-triggered: every drift is found and put right, or told with the exact blocker, whatever made the loop look; and
a second round writes nothing. The drifts stand in `drifts.py`.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from drifts import APART, ROWS, TRIGGERS, Drift, Play, Played, play_all

from app.emulator.client import Emulator

pytestmark = pytest.mark.drill

# A row says which triggers cannot meet it: no agent ever calls about what is no ticket's.
CASES = [(trigger, row) for trigger in TRIGGERS for row in ROWS if trigger not in row.never_by]


@pytest.fixture(scope="module")
def played(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Played]]:
    """All drifts at once in one world, once for each trigger."""
    folder: Path = tmp_path_factory.mktemp("drifts")
    loop = asyncio.new_event_loop()
    play = Play(emulator, folder)
    done: dict[str, Played] = {}

    def by(trigger: str) -> Played:
        if trigger not in done:
            # Where a play cannot be played to its end, it is not played again for every row.
            done[trigger] = Played({}, [f"the drifts of {trigger} were not brought about"])
            done[trigger] = loop.run_until_complete(play_all(play, trigger))
        return done[trigger]

    yield by
    loop.run_until_complete(play.world.close())
    loop.close()


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("trigger", "row"), CASES, ids=[f"{trigger} - {row.name}" for trigger, row in CASES])
def test_a_drift_is_put_right_or_told_whatever_made_the_loop_look(
    played: Callable[[str], Played], trigger: str, row: Drift
) -> None:
    fault = played(trigger).faults[row.name]
    assert fault is None, fault


@pytest.mark.timeout(240)
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_second_round_on_all_of_them_writes_nothing(played: Callable[[str], Played], trigger: str) -> None:
    assert played(trigger).second_round == []


@pytest.mark.timeout(240)
@pytest.mark.parametrize("trigger", TRIGGERS)
async def test_a_drift_that_needs_a_world_of_its_own(emulator: Emulator, tmp_path: Path, trigger: str) -> None:
    """After all the others: this world takes the place of theirs."""
    play = Play(emulator, tmp_path)
    try:
        done = await play_all(play, trigger, APART)
    finally:
        await play.world.close()
    assert [fault for fault in done.faults.values() if fault is not None] == []
    assert set(done.faults) == {row.name for row in APART}
    assert done.second_round == []
