"""A release's ledger that somebody moved: red, told once, nothing counts, and only a person has it begun anew."""

import pytest
from release_world import AT, TRUNK, ReleaseWorld

from app.controller.controller import Controller
from app.domain.outcome import Code, Refused

REF = f"agent-recovery/releases/{TRUNK}"


async def authorized(world: ReleaseWorld) -> tuple[Controller, int, str]:
    controller = world.controller()
    world.differ()
    await world.settle(controller)
    pull = world.pull()
    sha = str(pull["head"]["sha"])
    await world.word(controller, "maya", "authorize-release", sha)
    await world.settle(controller)
    assert world.guard(sha) == "success"
    return controller, int(pull["number"]), sha


@pytest.mark.parametrize("how", ["rolled back", "deleted", "forged"])
async def test_a_moved_ledger_authorizes_nothing_until_a_person_has_it_begun_anew(
    world: ReleaseWorld, how: str
) -> None:
    controller, number, sha = await authorized(world)
    (before,) = world.get(f"git/matching-refs/{REF}")
    if how == "rolled back":
        await world.word(controller, "wanda", "revoke-release")
        await world.settle(controller)
        assert world.guard(sha) == "action_required"
        world.as_person("wanda", "PATCH", f"git/refs/{REF}", sha=before["object"]["sha"], force=True)
    elif how == "deleted":
        world.as_person("wanda", "DELETE", f"git/refs/{REF}")
    else:
        head = world.get(f"git/commits/{before['object']['sha']}")
        parents = [before["object"]["sha"]]
        fields = {"message": head["message"], "tree": head["tree"]["sha"], "parents": parents}
        made = world.as_person("wanda", "POST", "git/commits", **fields)
        world.as_person("wanda", "PATCH", f"git/refs/{REF}", sha=made["sha"], force=True)
    # Another replica, with a database of its own, sees it by what the guard shows.
    for one in (controller, world.controller()):
        await world.settle(one)
    assert world.guard(sha) == "action_required"
    assert len([c for c in world.ours(number) if "has stopped acting" in c["body"]]) == 1
    for verb in ("merge-release", "authorize-release"):
        with pytest.raises(Refused) as told:
            await world.word(controller, "maya", verb, sha)
        assert told.value.blocked.code is Code.FROZEN
    with pytest.raises(Refused):
        await world.controller(writes=False).rebuild_release(*AT, TRUNK, id="1", by="boss")
    begun = await controller.rebuild_release(*AT, TRUNK, id="1", by="boss")
    await world.settle(controller)
    assert (begun.record.standing, world.guard(sha), world.merges()) == ((), "action_required", [])
    await world.word(controller, "maya", "authorize-release", sha)
    await world.settle(controller)
    assert world.guard(sha) == "success"
    assert len(world.ours(number)) == 2
