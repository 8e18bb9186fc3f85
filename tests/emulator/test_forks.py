"""Forks, and pull requests that come from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from emulated import REPO, Inbox, World, git, new_commit, rest

BASE = f"/repos/{REPO}"
FORK = "/repos/stranger/demo"


@pytest.fixture
def stranger(world: World) -> httpx.Client:
    """Somebody without access to octo/demo, who has forked it."""
    client = rest(world.emulator, world.tokens["stranger"])
    made = client.post(f"{BASE}/forks", json={})
    assert made.status_code == 202, made.text
    return client


def work(world: World, name: str = "new.txt", branch: str = "main") -> str:
    return world.emulator.commit("stranger/demo", {name: "new\n"}, branch=branch, author="stranger")


def propose(client: httpx.Client, head: str = "stranger:main", base: str = "main", **more: Any) -> Any:
    return client.post(f"{BASE}/pulls", json={"title": "From a fork", "head": head, "base": base} | more)


def test_a_fork_has_branches_and_its_lineage(world: World, stranger: httpx.Client) -> None:
    shown = stranger.get(FORK).json()
    assert (shown["fork"], shown["parent"]["full_name"], shown["source"]["full_name"]) == (True, REPO, REPO)
    assert shown["permissions"]["admin"] is True
    assert {b["name"] for b in stranger.get(f"{FORK}/branches").json()} == {"main", "release-1", "42-x"}
    assert stranger.get(f"{FORK}/git/ref/heads/main").json()["object"]["sha"] == world.head("main")
    assert [r["full_name"] for r in world.bot.get(f"{BASE}/forks").json()] == ["stranger/demo"]
    assert world.bot.get(BASE).json()["forks_count"] == 1
    again = stranger.post(f"{BASE}/forks", json={"name": "other"})
    assert (again.status_code, again.json()["full_name"]) == (202, "stranger/demo")
    seen = world.graphql('{repository(owner:"stranger",name:"demo"){isFork parent{nameWithOwner}}}')
    assert seen["data"]["repository"] == {"isFork": True, "parent": {"nameWithOwner": REPO}}


def test_forking_into_an_organization_under_another_name(world: World) -> None:
    world.emulator.org("acme")
    made = world.dev.post(f"{BASE}/forks", json={"organization": "acme", "name": "copy", "default_branch_only": True})
    assert (made.status_code, made.json()["full_name"]) == (202, "acme/copy")
    assert [b["name"] for b in world.dev.get("/repos/acme/copy/branches").json()] == ["main"]


def test_fork_refusals(world: World) -> None:
    answer = world.dev.post(f"{BASE}/forks", json={"organization": "nobody"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "organization")
    world.emulator.repo("octo", "empty", files={}, collaborators={"dev": "write"})
    empty = world.dev.post("/repos/octo/empty/forks", json={})
    assert empty.status_code == 403
    assert empty.json()["message"].endswith("contains no Git content. Empty repositories cannot be forked.")
    world.emulator.change_repo(REPO, private=True, allow_forking=False)
    closed = world.dev.post(f"{BASE}/forks", json={})
    assert (closed.status_code, closed.json()["message"]) == (
        403,
        "The repository exists, but forking is disabled.",
    )
    app = world.bot.post(f"{BASE}/forks", json={"organization": "octo"})
    assert (app.status_code, app.json()["message"]) == (403, "Resource not accessible by integration")
    stranger = rest(world.emulator, world.tokens["stranger"])
    assert stranger.post(f"{BASE}/forks", json={}).status_code == 404


def test_a_pull_request_from_a_fork(world: World, stranger: httpx.Client) -> None:
    head = work(world)
    made = propose(stranger)
    assert made.status_code == 201, made.text
    shown = made.json()
    assert (shown["head"]["label"], shown["head"]["repo"]["full_name"]) == ("stranger:main", "stranger/demo")
    assert (shown["head"]["sha"], shown["maintainer_can_modify"]) == (head, True)
    assert world.refs(f"pull/{shown['number']}/") == {f"refs/pull/{shown['number']}/head": head}
    listed = world.bot.get(f"{BASE}/pulls", params={"head": "stranger:main"}).json()
    assert [p["number"] for p in listed] == [shown["number"]]
    seen = world.graphql(
        "query($id:ID!){node(id:$id){... on PullRequest{isCrossRepository maintainerCanModify"
        " headRepositoryOwner{login} headRef{name}}}}",
        id=shown["node_id"],
    )["data"]["node"]
    assert seen == {
        "isCrossRepository": True,
        "maintainerCanModify": True,
        "headRepositoryOwner": {"login": "stranger"},
        "headRef": {"name": "main"},
    }


def test_it_follows_the_fork_and_lands_like_any_other(world: World, stranger: httpx.Client) -> None:
    work(world)
    number = propose(stranger).json()["number"]
    ahead = work(world, "more.txt")
    assert world.pull(number)["head"]["sha"] == ahead
    assert world.pull(number)["mergeable"] is True
    answer = world.bot.put(f"{BASE}/pulls/{number}/merge", json={"sha": ahead})
    assert answer.status_code == 200
    made = world.bot.get(f"{BASE}/git/commits/{answer.json()['sha']}").json()
    assert made["message"].startswith(f"Merge pull request #{number} from stranger/main")
    assert world.bot.get(f"{BASE}/contents/more.txt").status_code == 200


def test_comparing_across_a_network(world: World, stranger: httpx.Client) -> None:
    work(world)
    seen = world.bot.get(f"{BASE}/compare/main...stranger:main").json()
    assert (seen["status"], [f["filename"] for f in seen["files"]]) == ("ahead", ["new.txt"])
    assert world.bot.get(f"{BASE}/compare/main...nobody:main").status_code == 404


def test_refusals_name_both_owners(world: World, stranger: httpx.Client) -> None:
    (error,) = propose(stranger).json()["errors"]
    assert error["message"] == "No commits between octo:main and stranger:main"
    work(world)
    propose(stranger)
    (error,) = propose(stranger).json()["errors"]
    assert error["message"] == "A pull request already exists for stranger:main."
    assert propose(stranger, head="main").status_code == 403


def test_only_the_owner_of_a_fork_lets_maintainers_in(world: World, stranger: httpx.Client) -> None:
    work(world)
    (error,) = propose(world.dev, maintainer_can_modify=True).json()["errors"]
    assert (error["field"], error["code"], error["message"]) == (
        "fork_collab",
        "invalid",
        "Fork collab can't be granted by someone without permission",
    )
    number = propose(stranger, maintainer_can_modify=False).json()["number"]
    assert world.pull(number)["maintainer_can_modify"] is False
    changed = stranger.patch(f"{BASE}/pulls/{number}", json={"maintainer_can_modify": True})
    assert changed.json()["maintainer_can_modify"] is True
    refused = world.dev.patch(f"{BASE}/pulls/{number}", json={"maintainer_can_modify": False})
    assert refused.status_code == 422


def test_a_maintainer_updates_and_pushes_to_the_branch_he_was_let_into(
    world: World, stranger: httpx.Client, tmp_path: Path
) -> None:
    number = propose(stranger, head="stranger:42-x").json()["number"]
    world.emulator.commit(REPO, {"base.txt": "b\n"})
    updated = world.dev.put(f"{BASE}/pulls/{number}/update-branch", json={})
    assert updated.status_code == 202, updated.text
    world.emulator.flush()
    assert len(world.pull(number)["head"]["sha"]) == 40
    clone = tmp_path / "fork"
    git(tmp_path, "clone", "-q", world.remote("dev", "stranger/demo"), "fork")
    git(clone, "config", "user.name", "Dev")
    git(clone, "config", "user.email", "dev@example.com")
    git(clone, "checkout", "-q", "42-x")
    pushed = new_commit(clone, "maintained.txt")
    git(clone, "push", "-q", "origin", "42-x")
    assert world.pull(number)["head"]["sha"] == pushed
    denied = git(clone, "push", "origin", "42-x:main", check=False)
    assert denied.returncode != 0
    stranger.patch(f"{BASE}/pulls/{number}", json={"maintainer_can_modify": False})
    new_commit(clone, "late.txt")
    assert git(clone, "push", "origin", "42-x", check=False).returncode != 0


def test_a_deleted_fork_closes_its_pull_requests_for_good(world: World, stranger: httpx.Client, inbox: Inbox) -> None:
    head = work(world)
    shown = propose(stranger).json()
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    weak = rest(world.emulator, world.emulator.classic_token("stranger", scopes=["repo"]))
    for client in (world.dev, weak):
        assert client.delete(FORK).json()["message"] == "Must have admin rights to Repository."
    assert stranger.delete(FORK).status_code == 204
    assert stranger.get(FORK).status_code == 404
    gone = world.pull(shown["number"])
    assert (gone["state"], gone["head"]["repo"], gone["head"]["user"]["login"]) == ("closed", None, "stranger")
    assert (gone["head"]["sha"], gone["head"]["label"]) == (head, "stranger:main")
    again = world.bot.patch(f"{BASE}/pulls/{shown['number']}", json={"state": "open"})
    words = "state cannot be changed. The repository that submitted this pull request has been deleted."
    assert again.json()["errors"][0]["message"] == words
    seen = world.graphql(
        "query($id:ID!){node(id:$id){... on PullRequest{headRepository{name} headRef{name} headRefName}}}",
        id=shown["node_id"],
    )["data"]["node"]
    assert seen == {"headRepository": None, "headRef": None, "headRefName": "main"}


def test_syncing_a_fork(world: World, stranger: httpx.Client) -> None:
    def sync() -> Any:
        return stranger.post(f"{FORK}/merge-upstream", json={"branch": "main"})

    assert sync().json() == {
        "message": "This branch is not behind the upstream octo:main.",
        "merge_type": "none",
        "base_branch": "octo:main",
    }
    ahead = world.emulator.commit(REPO, {"up.txt": "1\n"})
    assert sync().json()["merge_type"] == "fast-forward"
    assert stranger.get(f"{FORK}/git/ref/heads/main").json()["object"]["sha"] == ahead
    work(world)
    world.emulator.commit(REPO, {"up.txt": "2\n"})
    assert sync().json()["merge_type"] == "merge"
    work(world, "up.txt")
    world.emulator.commit(REPO, {"up.txt": "3\n"})
    assert sync().status_code == 409
    assert stranger.post(f"{FORK}/merge-upstream", json={"branch": "no"}).status_code == 422


def test_a_source_that_is_deleted_leaves_its_forks(world: World, stranger: httpx.Client) -> None:
    world.emulator.change_repo(REPO, collaborators={"dev": "admin"})
    assert world.dev.delete(BASE).status_code == 204
    assert stranger.get(FORK).json()["fork"] is False
    assert world.bot.get(BASE).status_code == 404
