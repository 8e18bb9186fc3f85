"""Deployments: which commit, which checks, what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from emulated import ALL, REPO, World, rest

DEPLOYMENTS = f"/repos/{REPO}/deployments"


@pytest.fixture
def shipper(world: World) -> Iterator[httpx.Client]:
    """An App that deploys, and hears of it."""
    app = world.emulator.app(
        "shipper",
        permissions={**ALL, "deployments": "write"},
        events=["deployment", "deployment_status"],
        webhook_url="http://127.0.0.1:9/hook",
    )
    number = world.emulator.installation("shipper", "octo")["id"]
    with rest(world.emulator, world.emulator.installation_token(app, number)) as client:
        yield client


def deploy(client: httpx.Client, **body: Any) -> httpx.Response:
    return client.post(DEPLOYMENTS, json={"ref": "42-x", "environment": "staging", "required_contexts": []} | body)


def states(client: httpx.Client, deployment: dict[str, Any]) -> list[str]:
    return [s["state"] for s in client.get(f"{DEPLOYMENTS}/{deployment['id']}/statuses").json()]


def say(client: httpx.Client, deployment: dict[str, Any], state: str, **more: Any) -> httpx.Response:
    return client.post(f"{DEPLOYMENTS}/{deployment['id']}/statuses", json={"state": state} | more)


def test_a_deployment_names_its_commit_and_is_found(world: World, shipper: httpx.Client) -> None:
    made = deploy(shipper)
    assert made.status_code == 201, made.text
    assert (made.json()["sha"], made.json()["production_environment"]) == (world.head("42-x"), False)
    query = {"environment": "staging", "sha": world.head("42-x")}
    assert [d["id"] for d in shipper.get(DEPLOYMENTS, params=query).json()] == [made.json()["id"]]
    assert shipper.get(DEPLOYMENTS, params={"environment": "production"}).json() == []
    assert shipper.get(f"{DEPLOYMENTS}/{made.json()['id']}").json()["ref"] == "42-x"
    assert states(shipper, made.json()) == []


def test_a_success_makes_the_one_before_inactive(world: World, shipper: httpx.Client) -> None:
    first, second = deploy(shipper).json(), deploy(shipper, ref="release-1").json()
    assert say(shipper, first, "in_progress").status_code == 201
    said = say(shipper, first, "success", environment_url="https://staging.example.com").json()
    assert shipper.get(said["url"].removeprefix(world.emulator.url)).json() == said
    say(shipper, second, "success")
    assert states(shipper, first) == ["inactive", "success", "in_progress"]
    heard = [d["event"] for d in world.emulator.deliveries() if d["event"].startswith("deployment")]
    assert (heard.count("deployment"), heard.count("deployment_status")) == (2, 4)


def test_every_check_that_was_submitted_must_pass(world: World, shipper: httpx.Client) -> None:
    sha = world.head("42-x")
    world.bot.post(f"/repos/{REPO}/statuses/{sha}", json={"state": "pending", "context": "ci"}).raise_for_status()
    refused = deploy(shipper, required_contexts=None)
    assert (refused.status_code, refused.json()["message"]) == (409, "Conflict: Commit status checks failed for 42-x.")
    assert refused.json()["errors"][0]["field"] == "required_contexts"
    assert deploy(shipper).status_code == 201
    assert deploy(shipper, required_contexts=["never sent"]).status_code == 409


def test_a_branch_that_is_behind_is_merged_first(world: World, shipper: httpx.Client) -> None:
    ahead = world.commit(world.head("main"), "ahead")
    world.update_refs({"name": "refs/heads/main", "afterOid": ahead})
    merged = deploy(shipper)
    assert (merged.status_code, merged.json()) == (202, {"message": "Auto-merged main into 42-x on deployment."})
    assert deploy(shipper).status_code == 201
    assert deploy(shipper, ref="release-1", auto_merge=False).json()["sha"] != ahead


def test_what_is_no_deployment(world: World, shipper: httpx.Client) -> None:
    refused = deploy(shipper, ref="nowhere")
    assert (refused.status_code, refused.json()["message"]) == (422, "No ref found for: nowhere")
    assert deploy(shipper, description="d" * 141).status_code == 422
    made = deploy(shipper).json()
    assert say(shipper, made, "shiny").status_code == 422
    assert say(shipper, made, "success", environment_url="ftp://x").status_code == 422
    assert shipper.get(f"{DEPLOYMENTS}/1/statuses").status_code == 404


def test_an_active_deployment_is_not_removed(world: World, shipper: httpx.Client) -> None:
    first, second = deploy(shipper).json(), deploy(shipper, environment="qa").json()
    say(shipper, first, "success")
    assert shipper.delete(f"{DEPLOYMENTS}/{first['id']}").status_code == 422
    say(shipper, first, "inactive")
    assert shipper.delete(f"{DEPLOYMENTS}/{first['id']}").status_code == 204
    assert shipper.delete(f"{DEPLOYMENTS}/{second['id']}").status_code == 204


def test_who_may_not_deploy(world: World) -> None:
    assert deploy(world.bot).status_code == 403
    assert world.bot.get(DEPLOYMENTS).status_code == 403
    assert deploy(world.reader).status_code == 403
    assert deploy(world.dev).status_code == 201
