"""The auditor on a ticket with children: nothing in an honest world, every planted lie about results and lists."""

import asyncio
from pathlib import Path

from auditing import audited
from loop_world import LoopWorld
from test_children import Parent, Worker

from app.drill.audit.audit import Audited
from app.drill.audit.lie import Kind


async def kinds(world: LoopWorld, folder: Path) -> set[Kind]:
    found: list[Audited] = await asyncio.to_thread(audited, world, folder)
    return {lie.kind for ticket in found for lie in ticket.lies}


async def test_a_moved_result_and_a_child_that_nobody_listed_are_found(world: LoopWorld, tmp_path: Path) -> None:
    parent = await Parent.working(world)
    await parent.spawn("docs-1")
    worker = await Worker.on(parent, "docs-1")
    worker.agent.push("chapter")
    await worker.settle()
    await worker.give()
    await worker.settle()
    await world.settle(parent.controller)
    assert await kinds(world, tmp_path / "honest") == set()
    agent, ticket = parent.agent, world.ticket
    result = f"refs/agent-recovery/results/{ticket}.docs-1.g1"
    world.git(agent.folder, "fetch", "-q", "origin", result)
    world.git(agent.folder, "push", "-q", "--force", "origin", f"HEAD:{result}")
    assert await kinds(world, tmp_path / "moved") == {Kind.RESULT_MOVED}
    stranger = f"refs/agent-recovery/results/{ticket}.docs-2.g1"
    world.git(agent.folder, "push", "-q", "--force", "origin", f"FETCH_HEAD:{result}", f"FETCH_HEAD:{stranger}")
    assert await kinds(world, tmp_path / "unlisted") == {Kind.CHILD_UNLISTED}
