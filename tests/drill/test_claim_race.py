"""Callers who claim at the same moment, of two services that share nothing: one wins, all others learn of it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from app.domain.outcome import Blocked, Code, Refused
from benchmarks.claim_race import Race, play

pytestmark = pytest.mark.drill


def test_of_sixteen_callers_of_two_services_one_wins(tmp_path: Path) -> None:
    races = play(tmp_path, callers=16, rounds=2, replicas=2)
    assert [race.generation for race in races] == [1, 2]
    for race in races:
        assert race.problems() == []
        assert len(race.grants) == 1
        assert race.told == {"lease_live": 15}


def _race(*, winners: int = 1, code: Code = Code.LEASE_LIVE, holder: str = "caller 1", ledger: str = "n1") -> Race:
    grant = SimpleNamespace(generation=1, nonce="n1", brief=SimpleNamespace(holder="caller 1"))
    refused = Refused(Blocked(code, "why not", "wait", holder=holder, generation=1))
    return Race(7, 1, (grant,) * winners, (refused,), (ledger,), 1.0, 10)  # type: ignore[arg-type]


def test_a_race_is_judged_by_its_winner_and_by_what_the_others_were_told() -> None:
    assert _race().problems() == []
    assert "0 winners" in _race(winners=0).problems()[0]
    assert "2 winners" in _race(winners=2).problems()[0]
    assert "another holder" in _race(ledger="n2").problems()[0]
    assert "told frozen" in _race(code=Code.FROZEN).problems()[0]
    assert "caller 9 holds" in _race(holder="caller 9").problems()[0]
