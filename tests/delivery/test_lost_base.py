"""A trunk that somebody deletes takes its pull requests with it: GitHub closes them, and no person meant that."""

from loop_world import REPO, LoopWorld


async def test_a_pr_that_was_closed_with_its_trunk_comes_back_with_it(world: LoopWorld) -> None:
    controller, _, _ = await world.published()
    (pull,) = world.get("pulls?state=open")
    trunk, stood = pull["base"]["ref"], world.head(pull["base"]["ref"])
    world.http.delete(f"/repos/{REPO}/git/refs/heads/{trunk}").raise_for_status()
    assert world.get(f"pulls/{pull['number']}")["state"] == "closed"
    await world.settle(controller)
    before = world.requested()
    ended = await world.settle(controller, turns=1)
    assert world.writes(before) == []
    assert "does not stand any more" in ended[-1].reason
    again_at = ended[-1].again_at
    assert again_at is not None
    assert again_at.timestamp() > world.emulator.now() + 3000

    made = {"ref": f"refs/heads/{trunk}", "sha": stood}
    world.http.post(f"/repos/{REPO}/git/refs", json=made).raise_for_status()
    await world.settle(controller)
    (again,) = world.get("pulls?state=open")
    assert (again["number"], again["base"]["ref"]) == (pull["number"], trunk)
    before = world.requested()
    await world.settle(controller)
    assert world.writes(before) == []
