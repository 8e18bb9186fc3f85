"""Ready tickets of one trunk whose rules want its newest commit in every head: all land, with one update each."""

from pathlib import Path

import pytest
from many_tickets import REPO, ManyTickets

pytestmark = [
    pytest.mark.drill,
    pytest.mark.timeout(300),
]  # some twenty seconds of processor time, however busy the machine is

MANY = 30
STRICT = {"strict_required_status_checks_policy": True, "required_status_checks": [{"context": "ci"}]}


async def test_thirty_ready_tickets_of_one_strict_trunk_all_land(tmp_path: Path) -> None:
    async with ManyTickets(tmp_path) as world:
        tickets = [await world.ready() for _ in range(MANY)]
        await world.rules({"type": "required_status_checks", "parameters": STRICT})
        await world.run(rounds=40 * MANY)
        issues = (await world.wanda.get(f"/repos/{REPO}/issues?state=open&per_page=100")).raise_for_status().json()
        assert not {issue["number"] for issue in issues} & set(tickets)
        git = world.emulated.git(REPO)
        assert all(git.branch(f"ticket/{ticket}-ripen") is None for ticket in tickets)
        # The first is up to date as it is; each other one is brought up to date once.
        assert await world.asked("/update-branch") == MANY - 1
        assert await world.asked("/merge") == MANY
        assert max(world.rounds.values()) <= 14, "who waits is not looked at again and again"
