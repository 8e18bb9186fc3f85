"""A ready ticket that conflicts with its trunk becomes a draft and says with which files; resolved, it lands."""

import subprocess

from landing_world import Landing
from loop_world import LoopWorld


async def test_a_conflict_is_a_draft_until_it_is_resolved(world: LoopWorld) -> None:
    ticket = await Landing.ready(world)
    world.emulator.commit("acme/shop", {"one.txt": "another"}, branch="release-1")
    await ticket.settle()
    pull = ticket.pull()
    assert (pull["draft"], pull["merged"]) == (True, False)
    (comment,) = world.comments(pull["number"], "agent-recovery:handoff")
    assert "one.txt" in comment["body"]
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []
    agent = ticket.agent
    world.git(agent.folder, "fetch", "-q", "origin", "release-1")
    try:
        world.git(agent.folder, "merge", "-q", "FETCH_HEAD")
    except subprocess.CalledProcessError:
        (agent.folder / "one.txt").write_text("both")
        world.git(agent.folder, "commit", "-qam", "Merge the trunk")
    agent.push_commit(world.git(agent.folder, "rev-parse", "HEAD"), "two")
    await ticket.say("ready")
    await ticket.settle()
    assert (ticket.pull()["merged"], ticket.place(), ticket.issue()[0]) == (True, "done", "closed")
