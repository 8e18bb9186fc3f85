"""Native stacks: made by REST, locked bases, merged only later and from the bottom."""

from __future__ import annotations

from typing import Any

import pytest
from emulated import REPO, World

BASE = f"/repos/{REPO}"
ONLY_LATER = "Merging stacked PRs via this endpoint is not supported. Use the asynchronous merge endpoint instead."
LOCKED = "Cannot change the base branch because the pull request is part of a stack."


def three(world: World) -> list[dict[str, Any]]:
    """Pull requests on top of one another, the lowest onto release-1."""
    pulls = [world.open_pull()]
    for name, below in (("43-y", "42-x"), ("44-z", "43-y")):
        world.bot.post(f"{BASE}/git/refs", json={"ref": f"refs/heads/{name}", "sha": world.head(below)})
        world.emulator.commit(REPO, {f"{name}.txt": "x"}, branch=name)
        pulls.append(world.open_pull(head=name, base=below))
    return pulls


def stacked(world: World) -> list[int]:
    numbers = [pull["number"] for pull in three(world)]
    made = world.bot.post(f"{BASE}/stacks", json={"pull_requests": numbers})
    assert made.status_code == 201, made.text
    return numbers


def merged_later(world: World, number: int, **order: str) -> dict[str, Any]:
    asked = world.bot.put(f"{BASE}/pulls/{number}/merge-async", json=order).json()
    path = f"{BASE}/pulls/{number}/merge-async/{asked['details']['uuid']}"
    world.bot.get(path)
    return dict(world.bot.get(path).json())


def test_a_stacks_life(world: World) -> None:
    low, middle, top = three(world)
    made = world.bot.post(f"{BASE}/stacks", json={"pull_requests": [low["number"], middle["number"]]}).json()
    assert (made["base"], made["open"]) == ({"ref": "release-1"}, True)
    assert [p["number"] for p in made["pull_requests"]] == [low["number"], middle["number"]]
    path = f"{BASE}/stacks/{made['number']}"
    added = world.bot.post(f"{path}/add", json={"pull_requests": [top["number"]]})
    assert [p["title"] for p in added.json()["pull_requests"]] == ["A change"] * 3
    assert world.bot.get(path).json() == added.json()
    place = world.pull(middle["number"])["stack"]
    assert (place["number"], place["size"], place["position"]) == (made["number"], 3, 2)
    assert place["base"] == {"ref": "release-1", "sha": world.head("release-1")}
    listed = world.bot.get(f"{BASE}/stacks", params={"pull_request": top["number"]}).json()
    assert [stack["number"] for stack in listed] == [made["number"]]
    assert world.bot.post(f"{path}/unstack").status_code == 204
    assert world.pull(middle["number"])["stack"] is None
    assert world.bot.get(path).status_code == 404


def test_what_is_no_row_is_no_stack(world: World) -> None:
    low, middle, top = (pull["number"] for pull in three(world))
    for numbers, words in (
        ([low, top], "Pull requests must form a stack, where each PR's base ref is the previous PR's head ref"),
        ([low, 999], "Validation Failed"),
    ):
        refused = world.bot.post(f"{BASE}/stacks", json={"pull_requests": numbers})
        assert (refused.status_code, refused.json()["message"]) == (422, words)
    world.bot.post(f"{BASE}/stacks", json={"pull_requests": [low, middle]})
    again = world.bot.post(f"{BASE}/stacks", json={"pull_requests": [middle, top]})
    assert again.json()["message"] == f"Pull request #{middle} is already part of a stack"


@pytest.mark.parametrize("base", ["main", "42-x"])
def test_a_stacks_base_is_locked_and_only_that(world: World, base: str) -> None:
    number = stacked(world)[1]
    refused = world.bot.patch(f"{BASE}/pulls/{number}", json={"base": base, "title": "New"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["message"] == LOCKED
    assert (world.pull(number)["title"], world.pull(number)["base"]["ref"]) == ("New", "42-x")
    assert world.bot.patch(f"{BASE}/pulls/{number}", json={"body": "text"}).status_code == 200
    document = "mutation($i: UpdatePullRequestInput!) { updatePullRequest(input: $i) { clientMutationId } }"
    told = world.graphql(document, i={"pullRequestId": world.pull(number)["node_id"], "baseRefName": "main"})
    assert LOCKED in told["errors"][0]["message"]


def test_a_stack_is_only_merged_later(world: World) -> None:
    low = stacked(world)[0]
    refused = world.bot.put(f"{BASE}/pulls/{low}/merge", json={})
    assert (refused.status_code, refused.json()["message"]) == (403, ONLY_LATER)
    document = "mutation($i: MergePullRequestInput!) { mergePullRequest(input: $i) { clientMutationId } }"
    told = world.graphql(document, i={"pullRequestId": world.pull(low)["node_id"]})
    assert "asynchronous merge REST API" in told["errors"][0]["message"]


def test_everything_below_lands_first_and_what_is_above_comes_down(world: World) -> None:
    low, middle, top = stacked(world)
    done = merged_later(world, middle, merge_method="merge")
    assert (done["status"], done["details"]["sha"]) == ("merged", world.head("release-1"))
    assert [world.pull(number)["merged"] for number in (low, middle, top)] == [True, True, False]
    assert world.pull(top)["base"]["ref"] == "release-1"
    # What landed stays in its stack, and such a stack cannot be dissolved outright.
    place = world.pull(top)["stack"]
    assert (place["size"], place["position"]) == (3, 3)
    left = world.bot.post(f"{BASE}/stacks/{place['number']}/unstack")
    assert [p["number"] for p in left.json()["pull_requests"]] == [low, middle]
    again = world.bot.post(f"{BASE}/stacks/{place['number']}/unstack")
    assert again.json()["message"] == "Pull requests in this stack cannot be removed"


def test_a_draft_below_stops_all(world: World) -> None:
    low, middle, _ = stacked(world)
    document = "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { clientMutationId } }"
    world.graphql(document, id=world.pull(low)["node_id"])
    failed = merged_later(world, middle)
    assert (failed["status"], failed["details"]["message"]) == ("failed", "Pull Request is still a draft")
    assert not world.pull(middle)["merged"]


def test_a_stacks_pull_request_is_closed_with_its_base(world: World) -> None:
    _, middle, _ = stacked(world)
    world.bot.delete(f"{BASE}/git/refs/heads/42-x")
    assert world.pull(middle)["state"] == "closed"
