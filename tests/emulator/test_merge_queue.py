"""The merge queue: who gets in, what is built, what lands, what is thrown out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from emulated import ALL, EVENTS, REPO, World, rest
from guarded import BASE, admin, check, checks_rule, merge, refusal, ruleset
from test_rules import QUEUE

ENQUEUE = """mutation($i:EnqueuePullRequestInput!){enqueuePullRequest(input:$i){mergeQueueEntry{id position state}}}"""
DEQUEUE = "mutation($i:DequeuePullRequestInput!){dequeuePullRequest(input:$i){mergeQueueEntry{id state}}}"
ENTRIES = """{repository(owner:"octo",name:"demo"){mergeQueue(branch:"release-1"){configuration{checkResponseTimeout}
  entries(first:10){nodes{
  position state jump enqueuer{login} baseCommit{oid} headCommit{oid} pullRequest{number}}}}}}"""


def queue(world: World, **more: Any) -> httpx.Client:
    boss = admin(world)
    ruleset(boss, {"type": "merge_queue", "parameters": QUEUE | more}, checks_rule("ci"))
    return boss


def enqueue(world: World, pull: dict[str, Any], client: httpx.Client | None = None, **more: Any) -> Any:
    return world.graphql(ENQUEUE, client, i={"pullRequestId": pull["node_id"]} | more)


def ready(world: World, head: str = "42-x", files: dict[str, str] | None = None) -> dict[str, Any]:
    """A pull request whose own head is green."""
    if files is not None:
        world.update_refs({"name": f"refs/heads/{head}", "afterOid": world.head("main")})
        world.emulator.commit(REPO, files, branch=head)
    pull = world.open_pull(head)
    check(world, pull["head"]["sha"], "ci")
    return pull


def entries(world: World) -> list[dict[str, Any]]:
    found = world.graphql(ENTRIES)["data"]["repository"]["mergeQueue"]["entries"]["nodes"]
    return list(found)


def until(world: World, met: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 8
    while time.monotonic() < deadline:
        value = met()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("never met")


def built(world: World, count: int = 1) -> list[dict[str, Any]]:
    def all_built() -> list[dict[str, Any]]:
        found = entries(world)
        return found if len(found) == count and all(e["headCommit"] for e in found) else []

    return list(until(world, all_built))


def complaint(answer: Any) -> str:
    (error,) = answer["errors"]
    assert error["type"] == "UNPROCESSABLE"
    return str(error["message"])


def test_only_the_queue_merges(world: World) -> None:
    queue(world)
    pull = ready(world)
    assert refusal(merge(world.dev, pull["number"])) == "Changes must be made through the merge queue"
    direct = world.dev.patch(f"{BASE}/git/refs/heads/release-1", json={"sha": pull["head"]["sha"]})
    assert "Changes must be made through the merge queue" in refusal(direct, 422)


def test_who_gets_in(world: World) -> None:
    pull = world.open_pull()
    assert complaint(enqueue(world, pull)) == "Base branch does not have a merge queue enabled"
    queue(world)
    assert complaint(enqueue(world, pull)).endswith('Required status check "ci" is expected.\n\n')
    check(world, pull["head"]["sha"], "ci")
    assert "Head branch was modified" in complaint(enqueue(world, pull, expectedHeadOid="a" * 40))
    entry = enqueue(world, pull, expectedHeadOid=pull["head"]["sha"])["data"]["enqueuePullRequest"]["mergeQueueEntry"]
    assert entry["position"] == 1
    assert "already" in complaint(enqueue(world, pull))
    merged = merge(world.dev, pull["number"])
    assert (merged.status_code, merged.json()["message"]) == (405, "Pull Request is in the merge queue")
    updated = world.dev.put(f"{BASE}/pulls/{pull['number']}/update-branch", json={})
    assert updated.json()["message"] == "Branches that are queued for merging cannot be updated"


def test_an_entry_lands_when_its_own_head_is_green(world: World) -> None:
    queue(world)
    pull = ready(world)
    enqueue(world, pull, world.dev)
    (entry,) = built(world)
    base = world.head("release-1")
    assert (entry["state"], entry["baseCommit"]["oid"], entry["enqueuer"]["login"]) == ("AWAITING_CHECKS", base, "dev")
    head = entry["headCommit"]["oid"]
    name = f"refs/heads/gh-readonly-queue/release-1/pr-{pull['number']}-{base}"
    assert world.refs("heads/gh-readonly-queue/") == {name: head}
    assert not world.pull(pull["number"])["merged"]  # a green head of the pull request is not enough
    check(world, head, "ci")
    shown = until(world, lambda: (p := world.pull(pull["number"]))["merged"] and p)
    assert (shown["merge_commit_sha"], shown["merged_by"]["login"]) == (head, "github-merge-queue[bot]")
    assert world.head("release-1") == head
    assert until(world, lambda: world.refs("heads/gh-readonly-queue/") == {})
    kinds = world.timeline(pull["number"])
    assert kinds == ["added_to_merge_queue", "merged", "closed", "removed_from_merge_queue"]


@pytest.mark.parametrize("method", ["MERGE", "SQUASH", "REBASE"])
def test_what_is_queued_again_is_another_commit_that_no_old_check_judges(world: World, method: str) -> None:
    world.emulator.freeze_clock()
    queue(world, merge_method=method)
    pull = ready(world)
    enqueue(world, pull)
    (first,) = built(world)
    check(world, first["headCommit"]["oid"], "ci", "failure")
    until(world, lambda: entries(world) == [])
    enqueue(world, pull)
    (second,) = built(world)
    assert second["headCommit"]["oid"] != first["headCommit"]["oid"]
    check(world, second["headCommit"]["oid"], "ci")
    until(world, lambda: world.pull(pull["number"])["merged"])


def test_entries_are_built_on_one_another_and_land_in_order(world: World) -> None:
    queue(world)
    first, second = ready(world), ready(world, "43-y", {"b.txt": "2\n"})
    enqueue(world, first)
    enqueue(world, second)
    one, two = built(world, 2)
    assert two["baseCommit"]["oid"] == one["headCommit"]["oid"]
    check(world, two["headCommit"]["oid"], "ci")
    assert not world.pull(second["number"])["merged"]
    check(world, one["headCommit"]["oid"], "ci")
    until(world, lambda: world.pull(second["number"])["merged"] and world.pull(first["number"])["merged"])
    assert world.head("release-1") == two["headCommit"]["oid"]


def test_a_red_entry_leaves_and_those_behind_are_built_anew(world: World) -> None:
    queue(world)
    world.emulator.app(
        "watcher",
        permissions=ALL | {"merge_queues": "read"},
        events=[*EVENTS, "merge_group"],
        webhook_url="http://127.0.0.1:9/hook",
    )
    world.emulator.installation("watcher", "octo")
    first, second = ready(world), ready(world, "43-y", {"b.txt": "2\n"})
    enqueue(world, first)
    enqueue(world, second)
    one, two = built(world, 2)
    check(world, one["headCommit"]["oid"], "ci", "failure")
    (left,) = until(
        world, lambda: (found := built(world)) and found[0]["baseCommit"]["oid"] != one["headCommit"]["oid"] and found
    )
    assert (left["pullRequest"]["number"], left["position"]) == (second["number"], 1)
    assert left["headCommit"]["oid"] != two["headCommit"]["oid"]
    assert world.pull(first["number"])["state"] == "open"
    events = world.emulator.deliveries()
    groups = [(d["action"], d["payload"].get("reason")) for d in events if d["event"] == "merge_group"]
    assert groups == [
        ("checks_requested", None),
        ("checks_requested", None),
        ("destroyed", "dequeued"),
        ("destroyed", "invalidated"),
        ("checks_requested", None),
    ]
    (out,) = [d["payload"] for d in events if d["action"] == "dequeued"]
    assert (out["number"], out["reason"]) == (first["number"], "CI_FAILURE")


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        ("time", "CI_TIMEOUT"),
        ("push", "UNKNOWN_REMOVAL_REASON"),
        ("close", "MANUAL"),
        ("rule", "QUEUE_CLEARED"),
        ("wrong app", "CI_FAILURE"),
    ],
)
def test_ways_out(world: World, act: str, reason: str) -> None:
    boss = queue(world, check_response_timeout_minutes=1)
    pull = ready(world)
    enqueue(world, pull)
    (entry,) = built(world)
    if act == "time":
        world.emulator.advance(61)
    elif act == "push":
        world.dev.patch(f"{BASE}/git/refs/heads/42-x", json={"sha": world.commit(pull["head"]["sha"], "more")})
    elif act == "close":
        world.bot.patch(f"{BASE}/pulls/{pull['number']}", json={"state": "closed"})
    elif act == "rule":
        (made,) = boss.get(f"{BASE}/rulesets").json()
        boss.put(f"{BASE}/rulesets/{made['id']}", json={"rules": []})
    else:
        (made,) = boss.get(f"{BASE}/rulesets").json()
        pinned = checks_rule({"context": "ci", "integration_id": world.app["id"]})
        boss.put(
            f"{BASE}/rulesets/{made['id']}", json={"rules": [{"type": "merge_queue", "parameters": QUEUE}, pinned]}
        )
        world.dev.post(f"{BASE}/statuses/{entry['headCommit']['oid']}", json={"state": "success", "context": "ci"})
    until(world, lambda: "removed_from_merge_queue" in world.timeline(pull["number"]))
    query = """query($n:Int!){repository(owner:"octo",name:"demo"){pullRequest(number:$n){isInMergeQueue
      timelineItems(last:5,itemTypes:[REMOVED_FROM_MERGE_QUEUE_EVENT]){nodes{
      ... on RemovedFromMergeQueueEvent{reason}}}}}}"""
    found = world.graphql(query, n=pull["number"])["data"]["repository"]["pullRequest"]
    assert found == {"isInMergeQueue": False, "timelineItems": {"nodes": [{"reason": reason.lower()}]}}


def test_dequeue_by_hand_and_jump(world: World) -> None:
    boss = queue(world)
    first, second = ready(world), ready(world, "43-y", {"b.txt": "2\n"})
    enqueue(world, first)
    assert enqueue(world, second, world.dev, jump=True)["errors"][0]["type"] == "FORBIDDEN"
    enqueue(world, second, boss, jump=True)
    found = built(world, 2)
    assert [e["pullRequest"]["number"] for e in found] == [second["number"], first["number"]]
    out = world.graphql(DEQUEUE, i={"id": first["node_id"]})["data"]["dequeuePullRequest"]["mergeQueueEntry"]
    assert out["state"] == "UNMERGEABLE"
    assert len(entries(world)) == 1
    assert f"Failed to remove PR #{first['number']}" in complaint(world.graphql(DEQUEUE, i={"id": first["node_id"]}))


def test_a_conflict_with_the_entry_before_leaves_the_queue(world: World) -> None:
    queue(world)
    first, second = ready(world), ready(world, "43-y", {"a.txt": "other\n"})
    enqueue(world, first)
    enqueue(world, second)
    (left,) = built(world)
    assert left["pullRequest"]["number"] == first["number"]
    assert world.pull(second["number"])["state"] == "open"


def test_one_green_head_carries_its_group(world: World) -> None:
    queue(world, grouping_strategy="HEADGREEN")
    first, second = ready(world), ready(world, "43-y", {"b.txt": "2\n"})
    enqueue(world, first)
    enqueue(world, second)
    _, two = built(world, 2)
    check(world, two["headCommit"]["oid"], "ci")
    until(world, lambda: world.pull(second["number"])["merged"])
    assert world.pull(first["number"])["merged"]


def test_a_group_waits_for_company(world: World) -> None:
    queue(world, min_entries_to_merge=2, min_entries_to_merge_wait_minutes=5)
    pull = ready(world)
    enqueue(world, pull)
    (entry,) = built(world)
    check(world, entry["headCommit"]["oid"], "ci")
    until(world, lambda: entries(world)[0]["state"] == "MERGEABLE")
    assert not world.pull(pull["number"])["merged"]
    world.emulator.advance(301)
    until(world, lambda: world.pull(pull["number"])["merged"])


def test_another_app_cannot_report_for_the_pinned_one(world: World) -> None:
    other = world.emulator.app("other", permissions=ALL)
    token = world.emulator.installation_token(other, world.emulator.installation("other", "octo")["id"])
    boss = admin(world)
    pinned = checks_rule({"context": "ci", "integration_id": world.app["id"]})
    ruleset(boss, pinned)
    pull = world.open_pull()
    check(world, pull["head"]["sha"], "ci", client=rest(world.emulator, token))
    words = 'Required status check "ci" was not set by the expected GitHub app.'
    assert refusal(merge(world.dev, pull["number"])) == words
