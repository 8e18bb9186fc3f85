"""Auto-merge: its refusals, and that it merges when the last condition is met."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest
from emulated import ALL, EVENTS, REPO, World
from guarded import BASE, admin, check, checks_rule, pull_request_rule, reviewer, ruleset

ENABLE = """mutation($i:EnablePullRequestAutoMergeInput!){enablePullRequestAutoMerge(input:$i){pullRequest{
  autoMergeRequest{mergeMethod enabledBy{login}}}}}"""
DISABLE = "mutation($i:DisablePullRequestAutoMergeInput!){disablePullRequestAutoMerge(input:$i){pullRequest{number}}}"


def enable(world: World, pull: dict[str, Any], client: httpx.Client | None = None, **more: Any) -> Any:
    return world.graphql(ENABLE, client, i={"pullRequestId": pull["node_id"]} | more)


def complaint(answer: Any) -> str:
    (error,) = answer["errors"]
    assert error["type"] == "UNPROCESSABLE"
    return str(error["message"])


def settled(world: World, number: int) -> dict[str, Any]:
    """The pull request once it is merged; the background has its turn after requests."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        shown = world.pull(number)
        if shown["merged"]:
            return shown
        time.sleep(0.02)
    raise AssertionError("not merged")


def allow(boss: httpx.Client) -> None:
    assert boss.patch(BASE, json={"allow_auto_merge": True}).status_code == 200


def test_refusals(world: World) -> None:
    boss, pull = admin(world), world.open_pull()
    assert complaint(enable(world, pull)) == "Pull request Auto merge is not allowed for this repository"
    allow(boss)
    unprotected = "Pull request Protected branch rules not configured for this branch"
    assert complaint(enable(world, pull)) == unprotected
    ruleset(boss, {"type": "deletion"})
    assert complaint(enable(world, pull)) == "Pull request Pull request is in clean status"
    check(world, pull["head"]["sha"], "optional", "failure")
    assert complaint(enable(world, pull)) == "Pull request Pull request is in unstable status"
    stale = enable(world, pull, expectedHeadOid="a" * 40)
    assert "Head branch was modified" in complaint(stale)
    off = world.graphql(DISABLE, i={"pullRequestId": pull["node_id"]})
    assert complaint(off) == "Can't disable auto-merge for this pull request."
    assert enable(world, pull, world.reader)["errors"][0]["type"] == "FORBIDDEN"
    world.bot.patch(f"{BASE}/pulls/{pull['number']}", json={"state": "closed"})
    assert complaint(enable(world, pull)) == "Pull request Pull request is closed"


@pytest.mark.parametrize("method", ["MERGE", "SQUASH", "REBASE"])
def test_it_merges_when_the_last_check_passes(world: World, method: str) -> None:
    boss = admin(world)
    allow(boss)
    ruleset(boss, checks_rule("ci", "lint"))
    pull = world.open_pull()
    made = enable(world, pull, world.dev, mergeMethod=method)["data"]["enablePullRequestAutoMerge"]["pullRequest"]
    assert made["autoMergeRequest"] == {"mergeMethod": method, "enabledBy": {"login": "dev"}}
    assert world.pull(pull["number"])["auto_merge"]["merge_method"] == method.lower()
    check(world, pull["head"]["sha"], "ci")
    assert not world.pull(pull["number"])["merged"]
    check(world, pull["head"]["sha"], "lint")
    shown = settled(world, pull["number"])
    assert (shown["merged_by"]["login"], shown["auto_merge"]) == ("dev", None)
    parents = world.bot.get(f"{BASE}/commits/{shown['merge_commit_sha']}").json()["parents"]
    assert len(parents) == (2 if method == "MERGE" else 1)


def test_an_approval_is_a_condition_too(world: World) -> None:
    boss = admin(world)
    allow(boss)
    ruleset(boss, pull_request_rule(1))
    pull = world.open_pull()
    enable(world, pull)
    reviewer(world, "mara").post(f"{BASE}/pulls/{pull['number']}/reviews", json={"event": "APPROVE"})
    settled(world, pull["number"])


def test_orders_that_end(world: World) -> None:
    boss = admin(world)
    allow(boss)
    ruleset(boss, checks_rule("ci"))
    world.emulator.app("watcher", permissions=ALL, events=EVENTS, webhook_url="http://127.0.0.1:9/hook")
    world.emulator.installation("watcher", "octo")
    pull = world.open_pull()
    number = pull["number"]
    enable(world, pull)
    world.graphql(DISABLE, i={"pullRequestId": pull["node_id"]})
    check(world, pull["head"]["sha"], "ci")
    assert not world.pull(number)["merged"]
    assert world.timeline(number) == ["auto_merge_enabled", "auto_merge_disabled"]
    sent = [d["action"] for d in world.emulator.deliveries() if (d["action"] or "").startswith("auto_merge")]
    assert sent == ["auto_merge_enabled", "auto_merge_disabled"]
    world.bot.patch(f"{BASE}/pulls/{number}", json={"base": "main"})
    assert world.bot.get(f"/repos/{REPO}/pulls/{number}").json()["auto_merge"] is None
