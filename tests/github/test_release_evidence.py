"""One release as the emulated GitHub shows it: what differs, which pull requests there are, what is in it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from delivery_world import NAME, DeliveryWorld

from app.domain.release_observation import Account, Included, ReleaseObservation, Unread
from app.github.access import RELEASE_CHECK_NAME
from app.github.release_evidence import MOST_CLOSED

TRUNK = "release-1"
PULLS = f"/repos/{NAME}/pulls"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[DeliveryWorld]:
    async with DeliveryWorld(tmp_path) as made:
        yield made


async def look(world: DeliveryWorld) -> ReleaseObservation:
    return await world.repository.release_observation(TRUNK, "main")


async def opened(world: DeliveryWorld, who: Any = None, head: str = TRUNK, base: str = "main") -> dict[str, Any]:
    made = await (who or world.wanda).post(PULLS, json={"title": "Release", "head": head, "base": base, "draft": True})
    found: dict[str, Any] = made.raise_for_status().json()
    return found


async def landed(world: DeliveryWorld, number: int, title: str, method: str = "merge") -> int:
    """A ticket with its Issue and its pull request, merged onto the trunk; the pull request's number."""
    issue = await world.emulated.control("POST", "/issues", repo=NAME, title=title)
    assert issue["number"] == number, "tickets are numbered as the test says"
    pull = await world.pull(branch=f"ticket/{number}-work", files={f"{number}.txt": title})
    merged = await world.boss.put(f"{PULLS}/{pull['number']}/merge", json={"merge_method": method})
    merged.raise_for_status()
    return int(pull["number"])


async def guard(world: DeliveryWorld, sha: str, external_id: str, name: str = RELEASE_CHECK_NAME) -> None:
    fields = {"name": name, "head_sha": sha, "conclusion": "action_required", "external_id": external_id}
    values = {"owner": "acme", "repo": "shop"}
    await world.repository.session.write("POST", "/repos/{owner}/{repo}/check-runs", values, fields)


async def test_nothing_differs_and_empty_commits_are_nothing(world: DeliveryWorld) -> None:
    seen = await look(world)
    assert (seen.files, seen.ahead, seen.pulls, seen.included) == (0, 0, (), ())
    assert seen.trunk is not None
    assert seen.into is not None
    assert seen.trunk.tree == seen.into.tree
    assert (seen.default_branch, seen.into_name, seen.branch) == ("main", "main", TRUNK)
    assert isinstance(seen.lease_accounts, Unread)
    empty = world.emulated.git(NAME).branch(TRUNK)
    tree = (await world.boss.get(f"/repos/{NAME}/git/commits/{empty}")).json()["tree"]["sha"]
    made = await world.boss.post(
        f"/repos/{NAME}/git/commits", json={"tree": tree, "parents": [empty], "message": "nothing"}
    )
    await world.boss.patch(f"/repos/{NAME}/git/refs/heads/{TRUNK}", json={"sha": made.json()["sha"]})
    seen = await look(world)
    assert (seen.files, seen.ahead) == (0, 1)


async def test_a_trunk_that_is_not_there(world: DeliveryWorld) -> None:
    seen = await world.repository.release_observation("release-9", "main")
    assert (seen.trunk, seen.files, seen.ahead, seen.guard_runs) == (None, None, None, ())
    seen = await world.repository.release_observation(TRUNK, "nowhere")
    assert (seen.into, seen.files) == (None, None)


async def test_included_tickets_by_their_pull_requests_and_their_commits(world: DeliveryWorld) -> None:
    first = await landed(world, 1, "Sell `shoes` @everyone")
    second = await landed(world, 3, "Ship", "squash")
    third = await landed(world, 5, "Rebased", "rebase")
    await world.emulated.control("POST", "/issues", repo=NAME, title="By hand")
    message = "Fix by hand\n\nTicket: #7"
    await world.emulated.control(
        "POST", "/commits", repo=NAME, files={"h.txt": "x"}, branch=TRUNK, author="wanda", message=message
    )
    message = "Names a pull request and nobody\n\nTicket: #2\nTicket: #999"
    await world.emulated.control(
        "POST", "/commits", repo=NAME, files={"i.txt": "x"}, branch=TRUNK, author="wanda", message=message
    )
    seen = await look(world)
    assert seen.included == (
        Included(1, "Sell `shoes` @everyone", first),
        Included(3, "Ship", second),
        Included(5, "Rebased", third),
        Included(7, "By hand", None),
    )
    assert (seen.files, seen.included_more) == (5, False)


async def test_a_look_costs_four_requests(world: DeliveryWorld) -> None:
    await landed(world, 1, "One")
    await opened(world)
    before = world.sent()
    await look(world)
    assert world.sent() - before == 4, "pull requests, comparison, the rest, and titles"
    before = world.sent()
    await world.repository.last_pusher(TRUNK, "0" * 40)
    assert world.sent() - before == 1


async def test_the_release_pull_request_with_everything_about_it(world: DeliveryWorld) -> None:
    await world.commit(TRUNK, {"new.txt": "x"})
    pull = await opened(world)
    await guard(world, pull["head"]["sha"], "release:0f1e2d3c4b5a:1:0123456789ab")
    await guard(world, pull["head"]["sha"], "42:1:1:0123456789ab", "Agent Recovery")
    comment = await world.repository.create_comment(pull["number"], "ours")
    await world.wanda.post(f"/repos/{NAME}/issues/{pull['number']}/comments", json={"body": "theirs"})
    seen = await look(world)
    (found,) = seen.pulls
    assert seen.open_pulls == seen.pulls
    assert (found.number, found.node_id, found.state, found.is_draft) == (
        pull["number"],
        pull["node_id"],
        "OPEN",
        True,
    )
    assert (found.head, found.head_sha, found.base) == (TRUNK, pull["head"]["sha"], "main")
    assert found.author == Account("wanda", pull["user"]["id"])
    assert [(one.id, one.body) for one in found.comments] == [(comment.id, "ours")]
    assert (found.auto_merge, found.queued, found.queue_entry, found.merged_at) == (False, False, None, None)
    assert (found.closed_by, found.disturbed_at, found.repairs) == (None, None, 0)
    assert [(run.conclusion, run.external_id) for run in seen.guard_runs] == [
        ("action_required", "release:0f1e2d3c4b5a:1:0123456789ab")
    ]


async def test_who_closed_it_who_changed_its_base_and_what_we_put_right(world: DeliveryWorld) -> None:
    await world.commit(TRUNK, {"new.txt": "x"})
    pull = await opened(world)
    url = f"{PULLS}/{pull['number']}"
    await world.boss.patch(url, json={"state": "closed"})
    seen = (await look(world)).pulls[0]
    assert seen.closed_by is not None
    assert (seen.state, seen.closed_by.login, seen.repairs) == ("CLOSED", "boss", 0)
    assert seen.disturbed_at is not None
    await world.repository.reopen_pull(pull["number"])
    await world.boss.post(f"/repos/{NAME}/git/refs", json={"ref": "refs/heads/other", "sha": pull["base"]["sha"]})
    await world.wanda.patch(url, json={"base": "other"})
    moved = (await look(world)).pulls[0]
    assert (moved.state, moved.base, moved.closed_by, moved.repairs) == ("OPEN", "other", None, 1)
    assert (await look(world)).open_pulls == ()
    await world.repository.edit_base(pull["number"], "main")
    put_right = (await look(world)).pulls[0]
    assert (put_right.base, put_right.repairs) == ("main", 2)


async def test_merged_by_whom_and_as_what_also_when_the_trunk_is_gone(world: DeliveryWorld) -> None:
    await world.commit(TRUNK, {"new.txt": "x"})
    pull = await opened(world)
    await world.repository.set_draft(pull["node_id"], False)
    merged = (await world.boss.put(f"{PULLS}/{pull['number']}/merge", json={})).raise_for_status().json()
    await world.boss.delete(f"/repos/{NAME}/git/refs/heads/{TRUNK}")
    seen = await look(world)
    (found,) = seen.pulls
    assert found.merged_by is not None
    assert (found.state, found.merge_sha, found.merged_by.login) == ("MERGED", merged["sha"], "boss")
    assert (seen.trunk, found.head_sha) == (None, pull["head"]["sha"])


async def test_a_release_that_was_squashed_brings_nothing_twice(world: DeliveryWorld) -> None:
    await landed(world, 1, "One")
    pull = await opened(world)
    await world.repository.set_draft(pull["node_id"], False)
    (await world.boss.put(f"{PULLS}/{pull['number']}/merge", json={"merge_method": "squash"})).raise_for_status()
    await world.commit("main", {"hotfix.txt": "x"})
    seen = await look(world)
    assert (seen.files, seen.ahead, seen.included) == (0, 0, ())
    await landed(world, 4, "Two")
    seen = await look(world)
    assert [one.number for one in seen.included] == [4]
    assert seen.files


async def test_auto_merge_and_a_place_in_the_queue_show(world: DeliveryWorld) -> None:
    await world.commit(TRUNK, {"new.txt": "x"})
    pull = await opened(world)
    await world.repository.set_draft(pull["node_id"], False)
    await world.boss.patch(f"/repos/{NAME}", json={"allow_auto_merge": True})
    checks = {"required_status_checks": [{"context": "build"}], "strict_required_status_checks_policy": False}
    await world.rules({"type": "required_status_checks", "parameters": checks}, on="main")
    on = "mutation($id: ID!) { enablePullRequestAutoMerge(input: {pullRequestId: $id}) { clientMutationId } }"
    answer = await world.boss.post("/graphql", json={"query": on, "variables": {"id": pull["node_id"]}})
    assert "errors" not in answer.json(), answer.text
    assert (await look(world)).pulls[0].auto_merge


async def test_forks_that_call_their_branch_like_the_trunk_are_nobody(world: DeliveryWorld) -> None:
    await world.commit(TRUNK, {"new.txt": "x"})
    made = await world.emulated.control("POST", "/users", login="stranger")
    async with world.emulated.client(made["token"]) as stranger:
        await stranger.post(f"/repos/{NAME}/forks", json={})
        await stranger.put(
            "/repos/stranger/shop/contents/evil.txt",
            json={"message": "m", "content": "eA==", "branch": TRUNK},
        )
        theirs = await stranger.post(PULLS, json={"title": "x", "head": f"stranger:{TRUNK}", "base": "main"})
        assert theirs.status_code == 201, theirs.text
    pull = await opened(world)
    assert [found.number for found in (await look(world)).pulls] == [pull["number"]]


async def test_more_than_a_page_of_everything(world: DeliveryWorld) -> None:
    """130 pull requests from the trunk, 130 commits, 60 runs of the guard on one head."""
    await world.emulated.control("POST", "/limits", secondary=False)
    await landed(world, 1, "One")
    for number in range(130):
        await world.commit(TRUNK, {"counter.txt": str(number)})
    head = world.emulated.git(NAME).branch(TRUNK) or ""
    numbers = []
    for number in range(130):
        base = f"b{number}"
        at = {"ref": f"refs/heads/{base}", "sha": world.emulated.git(NAME).branch("main")}
        (await world.boss.post(f"/repos/{NAME}/git/refs", json=at)).raise_for_status()
        numbers.append((await opened(world, base=base))["number"])
    for number in numbers[:60]:
        await world.boss.patch(f"{PULLS}/{number}", json={"state": "closed"})
    pull = await opened(world)
    for number in range(60):
        await guard(world, head, f"run-{number}")
    seen = await look(world)
    assert {found.number for found in seen.pulls if found.state == "OPEN"} == {*numbers[60:], pull["number"]}
    assert sum(found.state == "CLOSED" for found in seen.pulls) == MOST_CLOSED
    assert [found.number for found in seen.open_pulls] == [pull["number"]]
    assert seen.ahead is not None
    assert seen.ahead >= 132
    assert [one.number for one in seen.included] == [1]
    assert sorted(run.external_id for run in seen.guard_runs) == sorted(f"run-{number}" for number in range(60))


async def test_who_brought_the_head_to_the_trunk(world: DeliveryWorld) -> None:
    first = await world.commit(TRUNK, {"new.txt": "x"})
    pusher = await world.repository.last_pusher(TRUNK, first)
    assert pusher is not None
    assert (pusher.login, pusher.kind) == ("wanda", "User")
    await landed(world, 1, "One")
    head = world.emulated.git(NAME).branch(TRUNK)
    merger = await world.repository.last_pusher(TRUNK, head or "")
    assert merger is not None
    assert merger.login == "boss"
    assert await world.repository.last_pusher(TRUNK, "1" * 40) is None
    assert await world.repository.last_pusher("release-9", first) is None
