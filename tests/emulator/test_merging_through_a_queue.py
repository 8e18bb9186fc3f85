"""Merges where the base has a merge queue."""

from __future__ import annotations

from typing import Any

import httpx
from emulated import REPO, World
from guarded import admin, checks_rule, ruleset
from test_rules import QUEUE

BASE = f"/repos/{REPO}"


def guarded(world: World) -> dict[str, Any]:
    ruleset(admin(world), {"type": "merge_queue", "parameters": QUEUE}, checks_rule("ci"))
    pull = world.open_pull()
    world.bot.post(f"{BASE}/check-runs", json={"name": "ci", "head_sha": pull["head"]["sha"], "conclusion": "success"})
    return pull


def settled(client: httpx.Client, number: int, **order: str) -> dict[str, Any]:
    asked = client.put(f"{BASE}/pulls/{number}/merge-async", json=order)
    assert asked.status_code == 202, asked.text
    path = f"{BASE}/pulls/{number}/merge-async/{asked.json()['details']['uuid']}"
    client.get(path)
    return dict(client.get(path).json())


def test_a_merge_must_go_through_the_queue(world: World) -> None:
    number = guarded(world)["number"]
    answer = world.bot.put(f"{BASE}/pulls/{number}/merge", json={})
    assert answer.status_code == 405
    assert "Changes must be made through the merge queue" in answer.json()["message"]
    failed = settled(world.bot, number, merge_action="direct_merge")
    assert (failed["status"], failed["details"]) == ("failed", {"message": answer.json()["message"]})


def test_a_person_is_put_into_the_queue_and_told_so_again(world: World) -> None:
    number = guarded(world)["number"]
    done = settled(world.dev, number)
    assert done == {"status": "enqueued", "details": {"message": "Pull request is in the merge queue."}}
    again = world.dev.put(f"{BASE}/pulls/{number}/merge-async", json={})
    assert again.status_code == 200
    words = "Pull request is already in the merge queue."
    assert again.json() == {"status": "enqueued", "details": {"message": words}}


def test_an_app_is_accepted_and_refused_later(world: World) -> None:
    failed = settled(world.bot, guarded(world)["number"])
    assert failed == {"status": "failed", "details": {"message": "Enqueuer is not authorized to merge"}}


def test_there_may_be_no_queue(world: World) -> None:
    failed = settled(world.dev, world.open_pull(base="main")["number"], merge_action="merge_queue")
    assert failed["status"] == "failed"
    assert failed["details"]["message"].endswith("Base branch does not have a merge queue enabled")
