"""Renamed and transferred repositories, renamed accounts: old names lead on, ids stay, the events say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from emulated import ALL, REPO, Inbox, World, git, new_commit, rest

BASE = f"/repos/{REPO}"


def hear(world: World, inbox: Inbox, *events: str) -> None:
    world.emulator.change_app("keeper", webhook_url=inbox.url, events=list(events))


def payload(world: World, event: str, action: str) -> Any:
    return world.emulator.wait_for(event, action)["payload"]


def test_a_read_under_the_old_name_is_led_on_by_id(world: World) -> None:
    world.emulator.rename_repo(REPO, "renamed")
    answer = world.bot.get(f"{BASE}/labels?per_page=2")
    target = f"{world.emulator.url}/repositories/{world.repo['id']}/labels?per_page=2"
    assert (answer.status_code, answer.headers["location"]) == (301, target)
    assert answer.json()["message"] == "Moved Permanently"
    assert answer.json()["url"] == target
    followed = world.bot.get(target)
    assert len(followed.json()) == 2
    shown = world.bot.get("/repos/octo/renamed").json()
    assert (shown["id"], shown["node_id"]) == (world.repo["id"], world.repo["node_id"])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_write_under_the_old_name_does_nothing_and_is_led_on(world: World, method: str) -> None:
    world.emulator.rename_repo(REPO, "renamed")
    before = len(world.bot.get("/repos/octo/renamed/issues").json())
    answer = world.bot.request(method, f"{BASE}/issues", json={"title": "t"})
    assert answer.status_code == 307
    assert answer.headers["location"].endswith(f"/repositories/{world.repo['id']}/issues")
    assert len(world.bot.get("/repos/octo/renamed/issues").json()) == before
    assert world.bot.post(answer.headers["location"], json={"title": "t"}).status_code == 201


def test_the_old_name_is_free_and_then_leads_nowhere_else(world: World) -> None:
    world.emulator.rename_repo(REPO, "renamed")
    other = world.emulator.repo("octo", "demo")
    assert world.bot.get(BASE).json()["id"] == other["id"] != world.repo["id"]
    world.emulator.rename_repo("octo/demo", "third")
    assert world.bot.get(BASE).headers["location"].endswith(str(other["id"]))


def test_strangers_learn_nothing_of_a_private_repository_that_moved(world: World) -> None:
    world.emulator.change_repo(REPO, private=True)
    world.emulator.rename_repo(REPO, "renamed")
    stranger = rest(world.emulator, world.tokens["stranger"])
    assert stranger.get(BASE).status_code == 404
    assert stranger.get(f"/repositories/{world.repo['id']}").status_code == 404
    assert stranger.get("/repositories/1").status_code == 404
    assert world.bot.get(BASE).status_code == 301


def test_graphql_follows_unless_told_not_to(world: World) -> None:
    world.emulator.rename_repo(REPO, "renamed")
    query = 'query($f:Boolean!){repository(owner:"octo",name:"demo",followRenames:$f){id nameWithOwner}}'
    assert world.graphql(query, f=True)["data"]["repository"] == {
        "id": world.repo["node_id"],
        "nameWithOwner": "octo/renamed",
    }
    assert world.graphql(query, f=False)["errors"][0]["type"] == "NOT_FOUND"


def test_git_works_under_the_old_name(world: World, tmp_path: Path) -> None:
    old = world.remote("bot")
    clone = world.clone(tmp_path / "clone")
    world.emulator.rename_repo(REPO, "renamed")
    again = git(tmp_path, "clone", old, "again")
    assert "warning: redirecting to" in again.stderr
    sha = new_commit(clone, "new.txt")
    pushed = git(clone, "push", "origin", "HEAD:refs/heads/pushed")
    assert "This repository moved. Please use the new location:" in pushed.stderr
    assert "/octo/renamed.git" in pushed.stderr
    assert world.bot.get("/repos/octo/renamed/git/ref/heads/pushed").json()["object"]["sha"] == sha


def test_who_may_rename(world: World) -> None:
    refused = world.dev.patch(BASE, json={"name": "renamed"})
    assert (refused.status_code, refused.json()["message"]) == (403, "Must have admin rights to Repository.")
    assert world.bot.patch(BASE, json={"name": "renamed"}).status_code == 403
    world.emulator.change_repo(REPO, collaborators={"dev": "admin"})
    world.emulator.repo("octo", "taken")
    clash = world.dev.patch(BASE, json={"name": "taken"})
    assert clash.json()["errors"][0]["message"] == "name already exists on this account"
    assert world.dev.patch(BASE, json={"name": "renamed"}).json()["full_name"] == "octo/renamed"


def test_the_event_of_a_renaming(world: World, inbox: Inbox) -> None:
    hear(world, inbox, "repository")
    world.emulator.rename_repo(REPO, "renamed")
    told = payload(world, "repository", "renamed")
    assert told["changes"] == {"repository": {"name": {"from": "demo"}}}
    assert (told["repository"]["full_name"], told["repository"]["id"]) == ("octo/renamed", world.repo["id"])


def test_a_transfer_changes_who_reaches_it(world: World, inbox: Inbox) -> None:
    hear(world, inbox, "repository")
    world.emulator.org("other")
    world.emulator.change_repo(REPO, private=True)
    world.emulator.transfer_repo(REPO, "other")
    assert world.bot.get(BASE).status_code == 404
    removed = payload(world, "installation_repositories", "removed")
    assert [r["id"] for r in removed["repositories_removed"]] == [world.repo["id"]]
    world.emulator.transfer_repo("other/demo", "octo", "back")
    told = payload(world, "repository", "transferred")
    assert told["changes"]["owner"]["from"]["organization"]["login"] == "other"
    assert world.bot.get("/repos/other/demo").headers["location"].endswith(str(world.repo["id"]))
    assert world.bot.get("/repos/octo/back").json()["id"] == world.repo["id"]


def test_a_transfer_by_the_api(world: World) -> None:
    world.emulator.org("other")
    assert world.dev.post(f"{BASE}/transfer", json={"new_owner": "other"}).status_code == 403
    world.emulator.change_repo(REPO, collaborators={"dev": "admin"})
    assert world.dev.post(f"{BASE}/transfer", json={"new_owner": "other"}).status_code == 202
    assert world.dev.get("/repos/other/demo").json()["id"] == world.repo["id"]


def test_a_renamed_organization(world: World, inbox: Inbox) -> None:
    hear(world, inbox, "organization")
    world.emulator.change_installation(world.installation["id"], permissions=ALL | {"members": "read"})
    world.emulator.rename_account("octo", "octopus")
    told = payload(world, "installation_target", "renamed")
    assert told["changes"] == {"login": {"from": "octo"}}
    assert told["account"]["login"] == "octopus"
    assert told["installation"]["id"] == world.installation["id"]
    assert payload(world, "organization", "renamed")["organization"]["login"] == "octopus"
    assert world.bot.get(BASE).status_code == 301
    assert world.bot.get("/repos/octopus/demo").json()["id"] == world.repo["id"]
    assert world.bot.get("/users/octo").status_code == 404


def test_a_renamed_person_keeps_the_role(world: World) -> None:
    world.emulator.rename_account("dev", "devon")
    role = world.bot.get(f"{BASE}/collaborators/devon/permission").json()
    assert role["permission"] == "write"
    assert world.dev.get("/user").json()["login"] == "devon"


def test_links_of_lists_go_by_id(world: World) -> None:
    page = world.bot.get(f"{BASE}/labels?per_page=1")
    assert page.links["next"]["url"].startswith(f"{world.emulator.url}/repositories/{world.repo['id']}/labels?")
    again = httpx.get(page.links["next"]["url"], headers=world.bot.headers, trust_env=False, verify=False)
    assert again.json()[0]["name"] != page.json()[0]["name"]
