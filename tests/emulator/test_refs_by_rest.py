"""Refs and objects by REST."""

from __future__ import annotations

import base64

import pytest
from emulated import REPO, World

BASE = f"/repos/{REPO}"


def test_matching_refs_is_a_prefix_match(world: World) -> None:
    main = world.head("main")
    for name in ("active/8", "active/87", "active/872", "done/8"):
        world.bot.post(f"{BASE}/git/refs", json={"ref": f"refs/agent-recovery/{name}", "sha": main})
    assert len(world.refs("agent-recovery/active/87")) == 2
    assert len(world.refs("agent-recovery/active/")) == 3
    assert list(world.refs("agent-recovery/done")) == ["refs/agent-recovery/done/8"]
    assert world.refs("nothing") == {}
    page = world.bot.get(f"{BASE}/git/matching-refs/agent-recovery/?per_page=3")
    assert len(page.json()) == 3
    assert 'rel="next"' in page.headers["link"]
    assert len(world.bot.get(page.links["next"]["url"]).json()) == 1


def test_create(world: World) -> None:
    main = world.head("main")

    def create(ref: str, sha: str) -> tuple[int, str]:
        answer = world.bot.post(f"{BASE}/git/refs", json={"ref": ref, "sha": sha})
        return answer.status_code, answer.json().get("message", "")

    assert create("refs/agent-recovery/x", main) == (201, "")
    assert create("refs/agent-recovery/x", main) == (422, "Reference already exists")
    assert create("refs/agent-recovery/y", "a" * 40) == (422, "Object does not exist")
    assert create("refs/pull/9/head", main) == (422, "Reference update failed")
    assert create("refs/one", main) == (
        422,
        "Reference name must contain at least three slash-separated components.",
    )
    assert create("heads/x", main) == (422, "Reference name must start with 'refs/'.")
    assert create("refs/heads/a b", main) == (422, "refs/heads/a b is not a valid ref name.")
    short = "Invalid request.\n\nAt least 40 characters are required; only 7 were supplied."
    assert create("refs/heads/x", main[:7]) == (422, short)
    both = world.bot.post(f"{BASE}/git/refs", json={})
    assert both.json()["message"] == 'Invalid request.\n\n"ref", "sha" weren\'t supplied.'
    missing = world.bot.post(f"{BASE}/git/refs", json={"ref": "refs/heads/x"})
    assert missing.json()["message"] == 'Invalid request.\n\n"sha" wasn\'t supplied.'


def test_update_and_delete(world: World) -> None:
    main = world.head("main")
    one, other = world.commit(main, "one"), world.commit(main, "other")
    url = f"{BASE}/git/refs/agent-recovery/x"
    assert world.bot.patch(url, json={"sha": one}).json()["message"] == "Reference does not exist"
    world.bot.post(f"{BASE}/git/refs", json={"ref": "refs/agent-recovery/x", "sha": one})
    lost = world.bot.patch(url, json={"sha": other})
    assert (lost.status_code, lost.json()["message"]) == (422, "Update is not a fast forward")
    unknown = world.bot.patch(url, json={"sha": "a" * 40})
    assert (unknown.status_code, unknown.content) == (500, b"")
    assert world.bot.patch(url, json={"sha": other, "force": "true"}).status_code == 422
    assert world.bot.patch(url, json={"sha": other, "force": True}).json()["object"]["sha"] == other
    assert world.bot.delete(url).status_code == 204
    assert world.bot.delete(url).status_code == 422
    assert world.bot.get(f"{BASE}/git/ref/agent-recovery/x").status_code == 404
    assert world.bot.delete(f"{BASE}/git/refs/heads/main").status_code == 422


def test_custom_refs_can_be_switched_off(world: World) -> None:
    world.emulator.switches(REPO, custom_refs="refused")
    main = world.head("main")
    answer = world.bot.post(f"{BASE}/git/refs", json={"ref": "refs/agent-recovery/x", "sha": main})
    assert (answer.status_code, answer.json()["message"]) == (422, "Reference update failed")
    assert "errors" in world.update_refs({"name": "refs/agent-recovery/x", "afterOid": main})
    assert "errors" not in world.update_refs({"name": "refs/heads/agent-recovery/x", "afterOid": main})


def test_an_empty_repository_refuses_objects(world: World) -> None:
    world.dev.post("/user/repos", json={"name": "empty"})
    for path in ("git/refs", "git/trees", "git/blobs", "git/commits"):
        body = {"ref": "refs/heads/x", "sha": "a" * 40, "tree": [], "content": "", "message": ""}
        assert world.dev.post(f"/repos/dev/empty/{path}", json=body).status_code == 409
    sha = {"sha": "a" * 40}
    for method, path, json in (
        ("GET", "git/matching-refs/heads/", None),
        ("GET", "git/ref/heads/main", None),
        ("PATCH", "git/refs/heads/main", sha),
        ("DELETE", "git/refs/heads/main", None),
        ("GET", f"git/commits/{'a' * 40}", None),
        ("GET", f"git/trees/{'a' * 40}", None),
        ("GET", f"git/blobs/{'a' * 40}", None),
        ("GET", f"git/tags/{'a' * 40}", None),
        ("GET", "commits/main", None),
        ("GET", "commits", None),
    ):
        answer = world.dev.request(method, f"/repos/dev/empty/{path}", json=json)
        assert (answer.status_code, answer.json()["message"]) == (409, "Git Repository is empty."), path
    nothing = world.dev.get("/repos/dev/empty/contents/README.md")
    assert (nothing.status_code, nothing.json()["message"]) == (404, "This repository is empty.")


@pytest.mark.parametrize(
    "name", ["refs/heads/refs/x", "refs/tags/refs/x", "refs/heads/" + "ab" * 20, f"refs/tags/{'1' * 40}"]
)
def test_names_of_branches_and_tags_that_github_does_not_take(world: World, name: str) -> None:
    main = world.head("main")
    answer = world.bot.post(f"{BASE}/git/refs", json={"ref": name, "sha": main})
    assert (answer.status_code, answer.json()["message"]) == (422, "Reference update failed")
    assert "errors" in world.update_refs({"name": name, "afterOid": main})
    assert world.refs(name.removeprefix("refs/")) == {}


def test_names_of_objects_are_whole(world: World) -> None:
    head = world.head("main")
    tree = world.bot.get(f"{BASE}/git/commits/{head}").json()["tree"]["sha"]

    def said(method: str, path: str, **body: object) -> tuple[int, str]:
        answer = world.bot.request(method, f"{BASE}/git/{path}", json=body or None)
        return answer.status_code, answer.json()["message"]

    rest = "must be exactly 40 characters and contain only [0-9a-f]."
    assert said("GET", "blobs/xyz") == (422, f"The sha parameter {rest}")
    assert said("POST", "commits", message="m", tree="xyz") == (422, f"The tree parameter {rest}")
    parents = (422, f"Each SHA in the 'parents' parameter {rest}")
    assert said("POST", "commits", message="m", tree=tree, parents=[head[:7]]) == parents


def test_trees(world: World) -> None:
    main = world.head("main")

    def tree(base: str | None, *entries: dict[str, object]) -> tuple[int, dict[str, str]]:
        body = {"tree": list(entries)} | ({"base_tree": base} if base else {})
        made = world.bot.post(f"{BASE}/git/trees", json=body)
        if made.status_code != 201:
            return made.status_code, {}
        listed = world.bot.get(f"{BASE}/git/trees/{made.json()['sha']}?recursive=1").json()
        return 201, {e["path"]: e["sha"] for e in listed["tree"] if e["type"] == "blob"}

    file = {"mode": "100644", "type": "blob"}
    status, paths = tree(main, file | {"path": "deep/er/x.json", "content": "{}"})
    assert status == 201
    assert set(paths) == {".github/agent-recovery.yml", "README.md", "deep/er/x.json"}
    _, alone = tree(None, file | {"path": "record.json", "content": "{}"})
    assert set(alone) == {"record.json"}
    _, removed = tree(main, file | {"path": "README.md", "sha": None})
    assert set(removed) == {".github/agent-recovery.yml"}
    assert tree(main, file | {"path": "missing", "sha": None})[0] == 422
    assert tree(main, file | {"path": "../x", "content": ""})[0] == 422
    assert tree(main, file | {"path": "x", "sha": "a" * 40})[0] == 422
    assert tree("a" * 40, file | {"path": "x", "content": ""})[0] == 422


def test_commits_keep_their_words_parents_and_authors(world: World) -> None:
    main, side = world.head("main"), world.head("42-x")
    tree = world.bot.get(f"{BASE}/git/commits/{main}").json()["tree"]["sha"]
    who = {"name": "Ana", "email": "ana@example.com", "date": "2026-01-02T03:04:05Z"}
    body = {"tree": tree, "parents": [main, side], "message": "Say\n\nKey: value", "author": who}
    one = world.bot.post(f"{BASE}/git/commits", json=body).json()
    two = world.bot.post(f"{BASE}/git/commits", json=body).json()
    assert one["sha"] == two["sha"]
    assert one["author"] == one["committer"] == who
    assert one["message"] == "Say\n\nKey: value"
    assert [p["sha"] for p in one["parents"]] == [main, side]
    own = world.bot.post(f"{BASE}/git/commits", json={"tree": tree, "parents": [], "message": "m"}).json()
    assert own["author"]["name"] == "keeper[bot]"
    wrong = world.bot.post(f"{BASE}/git/commits", json=body | {"parents": ["a" * 40]})
    assert wrong.status_code == 422


def test_contents_have_a_precondition_on_the_blob(world: World) -> None:
    url = f"{BASE}/contents/notes/a%20b.txt"
    text = base64.b64encode(b"one").decode()
    made = world.bot.put(url, json={"message": "m", "content": text, "branch": "42-x"})
    assert made.status_code == 201
    sha = made.json()["content"]["sha"]
    again = {"message": "m", "content": text, "branch": "42-x"}
    assert world.bot.put(url, json=again).status_code == 422
    assert world.bot.put(url, json=again | {"sha": "a" * 40}).status_code == 409
    assert world.bot.put(url, json=again | {"sha": sha}).status_code == 200
    raw = world.bot.get(url, params={"ref": "42-x"}, headers={"accept": "application/vnd.github.raw+json"})
    assert raw.text == "one"
    assert world.bot.get(url).status_code == 404
    shown = world.bot.get(url, params={"ref": "42-x"}).json()
    assert base64.b64decode(shown["content"]) == b"one"
    assert [e["name"] for e in world.bot.get(f"{BASE}/contents/notes?ref=42-x").json()] == ["a b.txt"]
    gone = world.bot.request("DELETE", url, json={"message": "m", "sha": sha, "branch": "42-x"})
    assert gone.status_code == 200
    assert world.bot.get(url, params={"ref": "42-x"}).status_code == 404


def test_compare_and_commit_lists(world: World) -> None:
    compared = world.bot.get(f"{BASE}/compare/main...42-x").json()
    assert (compared["status"], compared["ahead_by"], compared["behind_by"]) == ("ahead", 1, 0)
    assert [f["filename"] for f in compared["files"]] == ["a.txt"]
    assert world.bot.get(f"{BASE}/compare/42-x...main").json()["status"] == "behind"
    assert world.bot.get(f"{BASE}/compare/main...nothing").status_code == 404
    listed = world.bot.get(f"{BASE}/commits?sha=42-x&path=a.txt").json()
    assert [c["sha"] for c in listed] == [world.head("42-x")]
    one = world.bot.get(f"{BASE}/commits/42-x").json()
    assert one["files"][0]["status"] == "added"
    assert one["stats"]["additions"] == 1


@pytest.mark.parametrize("branch", ["feature/x", "feature%2Fx"])
def test_branch_names_may_hold_slashes(world: World, branch: str) -> None:
    world.update_refs({"name": "refs/heads/feature/x", "afterOid": world.head("main")})
    assert world.bot.get(f"{BASE}/branches/{branch}").json()["name"] == "feature/x"
    assert world.bot.get(f"{BASE}/git/ref/heads/{branch}").json()["ref"] == "refs/heads/feature/x"


def test_a_branch_that_a_commit_makes_begins_at_the_default_branch(world: World) -> None:
    main = world.head("main")
    made = world.emulator.commit(REPO, {"x": "1"}, branch="topic")
    parents = world.bot.get(f"/repos/{REPO}/git/commits/{made}").json()["parents"]
    assert [p["sha"] for p in parents] == [main]
    assert world.open_pull(head="topic", base="main")["state"] == "open"
