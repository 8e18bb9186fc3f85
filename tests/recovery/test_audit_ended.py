"""The audit finds nothing wrong with tickets that ended, were pruned and came back."""

from pathlib import Path

from auditing import audited
from loop_world import LoopWorld
from test_pruning import issue, pruned


async def test_a_ticket_that_ended_was_pruned_and_came_back_holds_no_lie(world: LoopWorld, tmp_path: Path) -> None:
    controller, _ = await pruned(world)
    assert [lie for ticket in audited(world, tmp_path / "pruned") for lie in ticket.lies] == []
    issue(world, "open")
    await world.recalled(controller)
    await world.claim(controller, 1)
    await world.settle(controller)
    found = audited(world, tmp_path / "back")
    assert [lie for ticket in found for lie in ticket.lies] == []
    assert len(found) == 1
