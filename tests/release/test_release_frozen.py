"""A release's ledger that somebody moved: red, told once, nothing counts, and only a person has it begun anew."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loop_world import REPO
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


async def deleted(world: ReleaseWorld) -> tuple[Controller, int, str]:
    """A release that was authorized, whose ledger somebody deleted, and that is shown red."""
    controller, number, sha = await authorized(world)
    world.as_person("wanda", "DELETE", f"git/refs/{REF}")
    await world.settle(controller)
    assert world.guard(sha) == "action_required"
    return controller, number, sha


async def test_an_answer_that_was_lost_is_given_again(world: ReleaseWorld) -> None:
    controller, number, sha = await deleted(world)
    tried = await controller.rebuild_release(*AT, TRUNK, id="9", by="maya", dry_run=True)
    assert (tried.changed, world.release_refs()) == (True, [])
    world.emulator.fault(match={"operation": "updateRefs"}, kind="drop_after")
    done = await controller.rebuild_release(*AT, TRUNK, id="9", by="maya")
    assert (done.changed, done.record.pull, sha in done.answer) == (True, number, True)
    (head,) = world.get(f"git/matching-refs/{REF}")
    again = await world.controller().rebuild_release(*AT, TRUNK, id="9", by="maya")
    assert (again.changed, again.answer) == (False, done.answer)
    assert world.get(f"git/matching-refs/{REF}") == [head]
    with pytest.raises(Refused) as told:
        await controller.rebuild_release(*AT, TRUNK, id="10", by="boss")
    assert told.value.blocked.code is Code.USAGE
    assert "maya had it begun anew" in told.value.blocked.reason


async def test_of_two_at_once_one_begins_it(world: ReleaseWorld) -> None:
    controller, _, _ = await deleted(world)
    asked = (
        one.rebuild_release(*AT, TRUNK, id=f"1{number}", by=by)
        for number, (one, by) in enumerate(((controller, "maya"), (world.controller(), "boss")))
    )
    came = await asyncio.gather(*asked, return_exceptions=True)
    (won,) = [one for one in came if not isinstance(one, BaseException)]
    (lost,) = [one for one in came if isinstance(one, BaseException)]
    assert isinstance(lost, Refused)
    assert lost.blocked.code in (Code.LOST_RACE, Code.USAGE)
    seen = await controller.rebuild_release(*AT, TRUNK, id=str(won.record.commands[-1]["id"]), by="maya")
    assert (seen.changed, seen.record.sequence) == (False, won.record.sequence)


async def test_a_merge_that_was_under_way_from_the_lost_ledger_is_told_as_an_incident(world: ReleaseWorld) -> None:
    controller, number, sha = await authorized(world)
    pull = world.pull(number)
    (before,) = world.get(f"git/matching-refs/{REF}")
    world.as_person("wanda", "DELETE", f"git/refs/{REF}")
    await world.settle(controller)
    done = await controller.rebuild_release(*AT, TRUNK, id="1", by="maya")
    assert (done.found, done.record.pull) == (None, number)
    await world.settle(controller)
    assert world.pull(number)["draft"]
    # What GitHub still had to carry out comes now.
    ready = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
    assert "errors" not in world.graphql("boss", ready, id=pull["node_id"])
    world.as_person("boss", "PUT", f"pulls/{number}/merge", sha=sha)
    await world.settle(controller)
    (incident,) = world.issues_of_app()
    assert f"#{number}" in incident["title"]
    assert "nobody's word" in incident["body"]
    # The ledger of before is behind for good, for a replica that knows only GitHub, too.
    world.as_person("wanda", "PATCH", f"git/refs/{REF}", sha=before["object"]["sha"], force=True)
    assert "frozen" in " ".join(await world.settle(controller))


@pytest.mark.drill
async def test_the_operator_begins_it_anew_from_the_terminal(world: ReleaseWorld) -> None:
    controller, number, sha = await authorized(world)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AGENT_RECOVERY_")},
        **world.key_settings,
        "AGENT_RECOVERY_APP_ID": str(world.app["id"]),
        "AGENT_RECOVERY_APP_PRIVATE_KEY": world.app["pem"],
        "AGENT_RECOVERY_GITHUB_URL": world.emulator.url,
        "AGENT_RECOVERY_DATABASE_URL": f"sqlite:///{world.folder}/operator.db",
    }

    def run(*more: str, branch: str = TRUNK) -> tuple[int, dict[str, Any]]:
        program = str(Path(sys.executable).parent / "agent-recovery")
        command = [program, "rebuild-release", REPO, branch, "--by", "boss", "--json", *more]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        return done.returncode, json.loads(done.stdout)

    status, refused = await asyncio.to_thread(run)
    assert (status, refused["error"]["code"]) == (2, "usage")
    assert "ledger is sound" in refused["error"]["message"]
    head = world.get(f"git/commits/{sha}")
    made = world.as_person("wanda", "POST", "git/commits", message="mine", tree=head["tree"]["sha"], parents=[])
    world.as_person("wanda", "PATCH", f"git/refs/{REF}", sha=made["sha"], force=True)
    await world.settle(controller)
    status, told = await asyncio.to_thread(run, "--dry-run")
    assert (status, told["written"], told["found"]) == (0, False, made["sha"])
    assert world.get("git/matching-refs/agent-recovery/recovered/") == []
    status, told = await asyncio.to_thread(run)
    assert (status, told["written"], told["pull"], told["found"]) == (0, True, number, made["sha"])
    (kept,) = world.get("git/matching-refs/agent-recovery/recovered/")
    assert (kept["ref"], kept["object"]["sha"]) == (told["kept"], made["sha"])
    await world.settle(controller)
    assert (world.guard(sha), world.merges()) == ("action_required", [])
    status, refused = await asyncio.to_thread(run, branch="main")
    assert (status, refused["error"]["code"]) == (2, "not_found")
