"""What is kept of callers, and for how long."""

import pytest

from app.domain.outcome import Refused
from app.service import callers as module
from app.service.callers import Account, Callers

WRITER = "ghp_writer0000000000000000000000000000000"
READER = "ghp_reader0000000000000000000000000000000"


class Time:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def callers(people, time):
    return Callers(people, {}, now=time)


async def test_github_is_asked_once_in_60_seconds_for_each_caller(callers, people, time):
    for _ in range(3):
        assert await callers.may_claim(f"Bearer {WRITER}", "acme", "shop") == Account("wanda")
    assert people.asked == ["caller", "permission"]
    await callers.may_see(f"Bearer {READER}", "Acme".lower(), "shop")
    assert people.asked == ["caller", "permission"] * 2
    time.seconds += 60
    await callers.may_claim(f"bearer {WRITER}", "acme", "shop")
    assert people.asked == ["caller", "permission"] * 3


async def test_a_refused_permission_is_kept_as_well(callers, people):
    for _ in range(3):
        with pytest.raises(Refused):
            await callers.may_claim(f"Bearer {READER}", "acme", "shop")
    assert people.asked == ["caller", "permission"]


async def test_no_token_is_kept(callers):
    await callers.may_claim(f"Bearer {WRITER}", "acme", "shop")
    assert WRITER not in repr([vars(kept) for kept in (callers._accounts, callers._permissions)])


async def test_what_is_kept_is_bounded(callers, monkeypatch):
    monkeypatch.setattr(module, "KEPT_ENTRIES", 1)
    await callers.may_claim(f"Bearer {WRITER}", "acme", "shop")
    await callers.may_see(f"Bearer {READER}", "acme", "shop")
    assert len(callers._accounts._entries) == len(callers._permissions._entries) == 1
