"""Stacks by the loop: they land from below, each onto the trunk, and no branch goes while a PR needs it."""

from typing import Any

from landing_world import policy
from loop_world import REPO, LoopWorld
from stack_world import Stack, Storey


def bases(stack: Stack) -> list[str]:
    return [one.pull()["base"]["ref"] for one in stack.storeys]


def deletions_with_dependents(world: LoopWorld) -> list[Any]:
    """PRs that GitHub closed because their base branch was deleted."""
    events = world.get("issues/events")
    return [e for e in events if e["event"] in ("base_ref_deleted", "automatic_base_change_failed")]


async def test_a_stack_lands_from_below_with_merge_commits(world: LoopWorld) -> None:
    stack = await Stack.of(world, 3)
    await stack.run()
    low, middle, high = stack.storeys
    assert bases(stack) == ["release-1", low.branch, middle.branch]
    for one in (high, middle):
        await one.say("ready")
    await stack.run()
    assert [one.pull()["merged"] for one in stack.storeys] == [False] * 3, "the lowest is not ready"
    await low.say("ready")
    await stack.run()
    assert [one.pull()["merged"] for one in stack.storeys] == [True] * 3
    assert bases(stack) == ["release-1"] * 3
    assert [one.issue() for one in stack.storeys] == [("closed", "completed")] * 3
    assert [world.head(one.branch) for one in stack.storeys] == [None] * 3
    merged = [one.pull()["merged_at"] for one in stack.storeys]
    assert merged == sorted(merged)
    assert deletions_with_dependents(world) == []
    names = {c["name"] for c in world.get("contents?ref=release-1")}
    assert {"storey-1.txt", "storey-2.txt", "storey-3.txt"} <= names


async def test_a_pull_that_nobody_moves_keeps_the_branch_and_not_the_ticket(world: LoopWorld) -> None:
    """One of a person, and one of a ticket that is in nobody's care: neither is touched, and the branch stays."""
    stack = await Stack.of(world, 1)
    (low,) = stack.storeys
    await stack.run()
    untouched = world.emulator.issue(REPO, "Left alone", author="wanda")["number"]
    for name in ("feature", f"ticket/{untouched}"):
        world.git(low.agent.folder, "checkout", "-q", "-b", name, f"origin/{low.branch}")
        low.agent.work(name.replace("/", "-"))
        world.git(low.agent.folder, "push", "-q", "origin", name)
        fields = {"title": name, "head": name, "base": low.branch}
        world.http.post(f"/repos/{REPO}/pulls", json=fields).raise_for_status()
    await low.say("ready")
    await stack.run()
    assert (low.pull()["merged"], low.issue()) == (True, ("closed", "completed"))
    assert (await low.record()).status == "landed"
    assert world.head(low.branch) is not None
    standing = world.get(f"pulls?state=open&base={low.branch}")
    assert len(standing) == 2
    for pull in standing:
        world.http.patch(f"/repos/{REPO}/pulls/{pull['number']}", json={"base": "release-1"}).raise_for_status()
    await stack.run()
    assert world.head(low.branch) is None


async def test_a_squashed_stack_is_stale_until_it_is_rebased(world: LoopWorld) -> None:
    stack = await Stack.of(world, 2, policy(method="squash"))
    low, middle = stack.storeys
    high = await stack.add(pins=False)
    fields = {"title": "High", "head": high.branch, "base": middle.branch, "body": f"Ticket: #{high.ticket}\n"}
    world.http.post(f"/repos/{REPO}/pulls", json=fields).raise_for_status()
    await stack.run()
    pinned = (await high.record()).checkpoint
    middle_at = world.head(middle.branch)
    assert (pinned.predecessor_issue_or_pr, pinned.predecessor_sha) == (middle.pull()["number"], middle_at)
    for one in stack.storeys:
        await one.say("ready")
    low_at = world.head(low.branch)
    await stack.run()
    assert [one.pull()["merged"] for one in stack.storeys] == [True, False, False]
    assert bases(stack) == ["release-1", "release-1", middle.branch]
    assert world.head(low.branch) is None

    command = ["git", "rebase", "--onto", "origin/release-1", low_at, middle.branch]
    (comment,) = world.comments(middle.pull()["number"], "Before it lands")
    assert f"`{' '.join(command)}`" in comment["body"]
    await rebased(middle, command, "middle-moved")
    await stack.run()
    assert [one.pull()["merged"] for one in stack.storeys] == [True, True, False]
    assert world.head(middle.branch) is None

    await rebased(high, ["git", "rebase", "--onto", "origin/release-1", middle_at, high.branch], "high-moved")
    await stack.run()
    assert high.pull()["merged"]
    assert [one.issue() for one in stack.storeys] == [("closed", "completed")] * 3
    files = [c["commit"]["message"].splitlines()[0] for c in world.get("commits?sha=release-1")][:3]
    assert len(set(files)) == 3, "each of them once"
    assert deletions_with_dependents(world) == []


async def rebased(one: Storey, command: list[str | None], step: str) -> None:
    """Its agent does what it was told, pushes, and is ready again."""
    world, folder = one.world, one.agent.folder
    world.git(folder, "fetch", "-q", "origin")
    world.git(folder, *[word for word in command[1:] if word is not None])
    one.publish(world.git(folder, "rev-parse", "HEAD"), step, rebased=True)
    await one.say("ready")


async def test_what_is_merged_into_the_branch_below_is_done_when_that_has_landed(world: LoopWorld) -> None:
    stack = await Stack.of(world, 2)
    low, high = stack.storeys
    await stack.run()
    number = high.pull()["number"]
    mark_ready(world, high)
    world.http.put(f"/repos/{REPO}/pulls/{number}/merge", json={}).raise_for_status()
    await stack.run()
    assert (high.issue()[0], (await high.record()).status) == ("open", "working")
    assert world.comments(high.ticket, "was merged into") == []

    await low.accept_what_stands()
    await low.say("ready")
    await stack.run()
    assert low.pull()["merged"]
    await stack.run()
    assert high.issue() == ("closed", "completed")
    assert [(await one.record()).status for one in stack.storeys] == ["landed", "landed"]


def mark_ready(world: LoopWorld, one: Storey) -> None:
    query = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
    answer = world.http.post("/graphql", json={"query": query, "variables": {"id": one.pull()["node_id"]}})
    assert "errors" not in answer.raise_for_status().json()


async def test_the_base_of_a_native_stack_is_githubs_to_move(world: LoopWorld) -> None:
    stack = await Stack.of(world, 2)
    await stack.run()
    numbers = [one.pull()["number"] for one in stack.storeys]
    world.http.post(f"/repos/{REPO}/stacks", json={"pull_requests": numbers}).raise_for_status()
    for one in stack.storeys:
        await one.say("ready")
    since = world.requested()
    await stack.run(60)
    assert edits_of_pulls(world, since) == []
    assert [(one.pull()["merged"], one.issue()) for one in stack.storeys] == [(True, ("closed", "completed"))] * 2


async def test_a_native_stack_on_a_tickets_branch_keeps_its_base_and_the_branch(world: LoopWorld) -> None:
    stack = await Stack.of(world, 3)
    await stack.run()
    low, middle, high = stack.storeys
    numbers = [one.pull()["number"] for one in (middle, high)]
    world.http.post(f"/repos/{REPO}/stacks", json={"pull_requests": numbers}).raise_for_status()
    since = world.requested()
    await low.say("ready")
    await stack.run(60)
    assert edits_of_pulls(world, since) == []
    assert bases(stack) == ["release-1", low.branch, middle.branch]
    assert world.head(low.branch) is not None
    (comment,) = world.comments(numbers[0], "native stack")
    assert "the change of a PR's base" in comment["body"]
    world.emulator.advance(600)
    await stack.run(60)
    assert (low.issue(), (await low.record()).status) == (("closed", "completed"), "landed")
    assert world.head(low.branch) is not None


def edits_of_pulls(world: LoopWorld, since: int) -> list[str]:
    return [write for write in world.writes(since) if write.startswith("PATCH") and "/pulls/" in write]


async def test_a_ticket_lands_as_soon_as_the_issue_it_waited_for_is_closed(world: LoopWorld) -> None:
    stack = await Stack.of(world, 1)
    (first,) = stack.storeys
    second = await stack.add(apart=True)
    database_id = world.get(f"issues/{first.ticket}")["id"]
    path = f"/repos/{REPO}/issues/{second.ticket}/dependencies/blocked_by"
    world.http.post(path, json={"issue_id": database_id}).raise_for_status()
    await second.say("ready")
    await stack.run()
    assert not second.pull()["merged"]
    assert len(world.comments(second.pull()["number"], "he Issue is blocked by")) == 1
    await first.say("ready")
    await stack.run(only=first)
    assert [one.issue() for one in stack.storeys] == [("closed", "completed")] * 2
