"""The buttons of a ticket's check-run: a click is a command, by the same rules of who may, once for each state."""

from typing import Any

from landing_world import Landing
from loop_world import REPO
from spoken_world import Replica, SpokenWorld, ticket

from app.domain.buttons import BUTTONS


async def ready(world: SpokenWorld, service: Replica) -> Landing:
    """A ticket whose check-run is completed: GitHub shows buttons only then."""
    made = await ticket(world, service)
    await made.say("ready")
    world.policy("repair")
    await made.settle()
    return made


def run_of(world: SpokenWorld, made: Landing) -> dict[str, Any]:
    (found,) = [r for r in world.check_runs(made.pull()["head"]["sha"]) if r["name"] == "Agent Recovery"]
    return found


def click(world: SpokenWorld, made: Landing, identifier: str, by: str = "wanda") -> dict[str, Any]:
    """What GitHub delivers of a click on the run as it is now."""
    person = world.http.get("/user", headers={"Authorization": f"Bearer {world.tokens[by]}"}).raise_for_status().json()
    return {
        "action": "requested_action",
        "requested_action": {"identifier": identifier},
        "check_run": run_of(world, made),
        "sender": person,
        "repository": {"full_name": REPO, "default_branch": "main"},
    }


def answers_to(world: SpokenWorld, made: Landing) -> list[str]:
    found = world.comments(int(made.pull()["number"]), "agent-recovery:answer button-")
    return [c["body"] for c in found]


def test_what_github_takes() -> None:
    assert [one.label for one in BUTTONS] == ["Recover now", "Hold", "Show brief"]
    for one in BUTTONS:
        assert len(one.identifier) <= 20
        assert len(one.label) <= 20
        assert len(one.description) <= 40


async def test_hold_is_clicked_twice_and_replayed(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ready(world, service)
    run = run_of(world, made)
    assert run["status"] == "completed"
    nowhere = "http://127.0.0.1:9/hook"
    world.emulator.change_app("agent-recovery", events=["check_run"], webhook_url=nowhere)
    world.emulator.press(run["id"], "hold", "wanda")
    (payload,) = [d["payload"] for d in world.emulator.deliveries() if d["payload"]["action"] == "requested_action"]
    assert payload["check_run"]["pull_requests"][0]["number"] == made.pull()["number"]
    for _ in range(2):
        await world.deliver(service, "check_run", payload)
        await service.hear()
    empty = world.replica()
    await world.deliver(empty, "check_run", payload)
    await empty.hear()
    record = await made.record()
    assert (record.status, [c["verb"] for c in record.commands]) == ("held", ["hold"])
    (answer,) = answers_to(world, made)
    assert "The button “Hold” of ticket #1: done." in answer
    # Off hold, and the same button again: that is another thing said.
    await world.say(service, made.ticket, "/recovery unhold")
    await made.settle()
    await world.deliver(service, "check_run", click(world, made, "hold"))
    await service.hear()
    assert (await made.record()).status == "held"
    assert len(answers_to(world, made)) == 2


async def test_who_may_click_and_what_is_no_button(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ready(world, service)
    before = await made.record()
    await world.deliver(service, "check_run", click(world, made, "hold", by="rita"))
    await service.hear()
    (answer,) = answers_to(world, made)
    assert "GitHub gives rita the role read" in answer
    for identifier in ("authorize-release", "merge", "cancel"):
        await world.deliver(service, "check_run", click(world, made, identifier))
    forged = click(world, made, "hold")
    forged["check_run"] = {**forged["check_run"], "app": {"id": world.app["id"] + 1}}
    await world.deliver(service, "check_run", forged)
    by_a_bot = click(world, made, "hold")
    by_a_bot["sender"] = {**by_a_bot["sender"], "type": "Bot"}
    await world.deliver(service, "check_run", by_a_bot)
    assert await service.waiting() == []
    assert await made.record() == before


async def test_a_click_on_a_state_that_is_gone(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ready(world, service)
    late = click(world, made, "hold")
    await world.say(service, made.ticket, "/recovery takeover")
    await world.claim(service.controller, (await made.record()).generation)
    await world.deliver(service, "check_run", late)
    await service.hear()
    assert (await made.record()).status != "held"
    (answer,) = answers_to(world, made)
    assert "showed generation 1 of the ticket" in answer


async def test_the_brief_is_shown_to_whoever_may_read(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ready(world, service)
    ledger = world.ledger()
    await world.deliver(service, "check_run", click(world, made, "brief", by="rita"))
    await service.hear()
    (answer,) = answers_to(world, made)
    assert "**Ticket #1** is ready, generation 1" in answer
    assert "<summary>The brief</summary>" in answer
    assert world.ledger() == ledger
