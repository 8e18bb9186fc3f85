"""The webhooks of a pull request's life, the App's own acts among them."""

from __future__ import annotations

from typing import Any

from emulated import REPO, ZERO, Inbox, World

BASE = f"/repos/{REPO}"
ON_PULL = "mutation($id:ID!){%s(input:{pullRequestId:$id}){clientMutationId}}"


def told(world: World) -> list[dict[str, Any]]:
    assert world.emulator.flush() == 0
    return [d["payload"] for d in world.emulator.deliveries() if d["event"] == "pull_request"]


def test_each_act_is_told_with_what_it_changed(world: World, inbox: Inbox) -> None:
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    pull = world.open_pull(draft=True)
    before, path = pull["head"]["sha"], f"{BASE}/pulls/{pull['number']}"
    world.graphql(ON_PULL % "markPullRequestReadyForReview", id=pull["node_id"])
    world.graphql(ON_PULL % "convertPullRequestToDraft", id=pull["node_id"])
    world.graphql(ON_PULL % "convertPullRequestToDraft", id=pull["node_id"])
    base_sha = pull["base"]["sha"]
    world.bot.patch(path, json={"base": "main"})
    ahead = world.commit(before, "more")
    world.update_refs({"name": "refs/heads/42-x", "afterOid": ahead})
    world.bot.patch(path, json={"state": "closed"})
    world.bot.patch(path, json={"state": "open"})
    world.update_refs({"name": "refs/heads/42-x", "afterOid": ZERO})
    events = told(world)
    assert [e["action"] for e in events] == [
        "opened",
        "ready_for_review",
        "converted_to_draft",
        "edited",
        "synchronize",
        "closed",
        "reopened",
        "closed",
    ]
    edited, moved, last = events[3], events[4], events[-1]
    assert edited["changes"] == {"base": {"ref": {"from": "release-1"}, "sha": {"from": base_sha}}}
    assert (moved["before"], moved["after"], moved["pull_request"]["head"]["sha"]) == (before, ahead, ahead)
    assert (last["pull_request"]["merged"], last["pull_request"]["mergeable"]) == (False, None)
    assert {e["sender"]["login"] for e in events} == {world.app["bot_login"]}


def test_a_push_onto_the_base_of_others_tells_of_no_pull_request(world: World, inbox: Inbox) -> None:
    world.open_pull()
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    world.emulator.commit(REPO, {"z.txt": "z\n"}, branch="release-1")
    assert told(world) == []


def test_an_updated_branch_is_a_push_and_a_synchronize_of_who_asked(world: World, inbox: Inbox) -> None:
    pull = world.open_pull()
    world.emulator.commit(REPO, {"z.txt": "z\n"}, branch="release-1")
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    world.dev.put(f"{BASE}/pulls/{pull['number']}/update-branch", json={})
    (event,) = told(world)
    assert (event["action"], event["before"], event["sender"]["login"]) == ("synchronize", pull["head"]["sha"], "dev")
    pushes = [d["payload"] for d in world.emulator.deliveries() if d["event"] == "push"]
    assert [(p["ref"], p["after"], p["forced"]) for p in pushes] == [("refs/heads/42-x", event["after"], False)]


def test_a_deleted_base_tells_of_everything_that_stood_on_it(world: World, inbox: Inbox) -> None:
    world.update_refs({"name": "refs/heads/43-y", "afterOid": world.commit(world.head("main"), "y")})
    numbers = [world.open_pull()["number"], world.open_pull(head="43-y")["number"]]
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    world.update_refs({"name": "refs/heads/release-1", "afterOid": ZERO})
    assert [(e["action"], e["number"]) for e in told(world)] == [("closed", n) for n in numbers]
