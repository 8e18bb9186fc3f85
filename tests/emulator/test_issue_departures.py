"""Issues that are deleted or transferred, and branches that are renamed, as GitHub shows them afterwards."""

import json
from typing import Any

import pytest
from emulated import REPO, World, rest
from issue_world import Listener, listener

BASE = f"/repos/{REPO}"
DELETE = "mutation($i:ID!){deleteIssue(input:{issueId:$i}){repository{nameWithOwner}}}"
TRANSFER = """mutation($i:ID!,$r:ID!,$l:Boolean){transferIssue(input:{issueId:$i,repositoryId:$r,
  createLabelsIfMissing:$l}){issue{number title author{login} repository{nameWithOwner}
  labels(first:9){nodes{name}} assignees(first:9){nodes{login}} comments(first:9){nodes{body}}}}}"""
SHOW = """query($n:Int!){repository(owner:"octo",name:"demo"){issueOrPullRequest(number:$n){__typename}}}"""


@pytest.fixture
def app(world: World) -> Listener:
    return listener(world)


def person(world: World, login: str, role: str, repo: str = REPO) -> Any:
    """Somebody with a role, and a client of theirs."""
    token = world.emulator.user(login)["token"]
    world.emulator.change_repo(repo, collaborators={login: role})
    return rest(world.emulator, token)


def garden(world: World, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = world.emulator.repo("octo", "garden", **more)
    return made


def test_a_deleted_issue_is_gone_for_good_and_its_number_stays_taken(world: World, app: Listener) -> None:
    issue, other = (world.emulator.issue(REPO, title) for title in ("One", "Two"))
    app.client.post(f"{BASE}/issues/{issue['number']}/sub_issues", json={"sub_issue_id": other["id"]})
    admin = person(world, "olga", "admin")
    answer = world.graphql(DELETE, admin, i=issue["node_id"])
    assert answer["data"]["deleteIssue"] == {"repository": {"nameWithOwner": REPO}}
    path = f"{BASE}/issues/{issue['number']}"
    gone = app.client.get(path)
    assert (gone.status_code, gone.json()["message"]) == (410, "This issue was deleted")
    assert app.client.patch(path, json={"title": "x"}).status_code == 410
    assert app.client.get(f"{path}/comments").status_code == 410
    shown = world.graphql(SHOW, app.client, n=issue["number"])
    assert shown["errors"][0]["type"] == "NOT_FOUND"
    assert world.graphql(DELETE, admin, i=issue["node_id"])["errors"][0]["type"] == "NOT_FOUND"
    assert issue["number"] not in [i["number"] for i in app.client.get(f"{BASE}/issues?state=all").json()]
    assert "parent_issue_url" not in app.client.get(f"{BASE}/issues/{other['number']}").json()
    assert [p["issue"]["number"] for p in app.heard("issues", "deleted")] == [issue["number"]]
    assert world.emulator.issue(REPO, "Three")["number"] == other["number"] + 1


@pytest.mark.parametrize(("role", "message"), [("write", "DeleteIssue"), ("read", "DeleteIssue")])
def test_only_an_administrator_deletes_issues(world: World, app: Listener, role: str, message: str) -> None:
    issue = world.emulator.issue(REPO, "One")
    refused = world.graphql(DELETE, person(world, "rudi", role), i=issue["node_id"])
    assert refused["errors"][0]["type"] == "FORBIDDEN"
    assert message in refused["errors"][0]["message"]
    assert app.client.get(f"{BASE}/issues/{issue['number']}").status_code == 200


def test_a_transferred_issue_leads_on_to_its_new_place(world: World, app: Listener) -> None:
    target = garden(world, collaborators={"dev": "write"})
    issue = world.emulator.issue(REPO, "One", author="dev", labels=["bug", "ours"], assignees=["dev"])
    path = f"{BASE}/issues/{issue['number']}"
    app.client.post(f"{path}/comments", json={"body": "said here"})
    admin = person(world, "olga", "write")
    world.emulator.change_repo("octo/garden", collaborators={"olga": "write"})
    answer = world.graphql(TRANSFER, admin, i=issue["node_id"], r=target["node_id"], l=True)
    moved = answer["data"]["transferIssue"]["issue"]
    assert (moved["title"], moved["author"], moved["repository"]["nameWithOwner"]) == (
        "One",
        {"login": "dev"},
        "octo/garden",
    )
    assert {x["name"] for x in moved["labels"]["nodes"]} == {"bug", "ours"}
    assert moved["assignees"]["nodes"] == [{"login": "dev"}]
    assert [c["body"] for c in moved["comments"]["nodes"]] == ["said here"]
    gone = app.client.get(path, follow_redirects=False)
    assert gone.status_code == 301
    assert gone.headers["location"].endswith(f"/repositories/{target['id']}/issues/{moved['number']}")
    assert app.client.get(path, follow_redirects=True).json()["title"] == "One"
    (left,) = app.heard("issues", "transferred")
    assert left["repository"]["full_name"] == REPO
    assert left["changes"]["new_repository"]["full_name"] == "octo/garden"
    arrived = [p for p in app.heard("issues", "opened") if "changes" in p]
    assert [p["changes"]["old_issue"]["number"] for p in arrived] == [issue["number"]]


def test_without_being_asked_a_transfer_makes_no_labels(world: World, app: Listener) -> None:
    target = garden(world)
    issue = world.emulator.issue(REPO, "One", labels=["ours"])
    olga = person(world, "olga", "write")
    world.emulator.change_repo("octo/garden", collaborators={"olga": "write"})
    moved = world.graphql(TRANSFER, olga, i=issue["node_id"], r=target["node_id"])["data"]["transferIssue"]["issue"]
    assert moved["labels"]["nodes"] == []


def test_who_may_not_see_where_an_issue_went_is_told_of_nothing(world: World, app: Listener) -> None:
    target = garden(world, private=True)
    issue = world.emulator.issue(REPO, "One")
    olga = person(world, "olga", "write")
    world.emulator.change_repo("octo/garden", collaborators={"olga": "write"})
    world.graphql(TRANSFER, olga, i=issue["node_id"], r=target["node_id"])
    world.emulator.change_installation(app.installation["id"], repositories=[REPO])
    assert app.client.get(f"{BASE}/issues/{issue['number']}").status_code == 404


@pytest.mark.parametrize("reason", ["another owner", "here", "private to public", "no role there"])
def test_refused_transfers(world: World, app: Listener, reason: str) -> None:
    olga = person(world, "olga", "write")
    owner = "dev" if reason == "another owner" else "octo"
    role = "read" if reason == "no role there" else "write"
    target = world.emulator.repo(owner, "garden", collaborators={"olga": role})
    issue = world.emulator.issue(REPO, "One")
    if reason == "private to public":
        world.emulator.change_repo(REPO, private=True)
    to = world.repo["node_id"] if reason == "here" else target["node_id"]
    refused = world.graphql(TRANSFER, olga, i=issue["node_id"], r=to)
    kind = "FORBIDDEN" if reason == "no role there" else "UNPROCESSABLE"
    assert refused["errors"][0]["type"] == kind, refused
    assert app.client.get(f"{BASE}/issues/{issue['number']}").status_code == 200


def test_a_renamed_branch_takes_its_bases_along_and_closes_what_came_from_it(world: World, app: Listener) -> None:
    onto = world.open_pull(base="release-1")
    renamed = world.dev.post(f"{BASE}/branches/release-1/rename", json={"new_name": "release-one"})
    assert (renamed.status_code, renamed.json()["name"]) == (201, "release-one")
    pull = app.client.get(f"{BASE}/pulls/{onto['number']}").json()
    assert (pull["state"], pull["base"]["ref"]) == ("open", "release-one")
    assert world.dev.post(f"{BASE}/branches/42-x/rename", json={"new_name": "43-y"}).status_code == 201
    assert app.client.get(f"{BASE}/pulls/{onto['number']}").json()["state"] == "closed"
    assert set(world.refs("heads/")) == {"refs/heads/main", "refs/heads/release-one", "refs/heads/43-y"}


def test_a_renamed_default_branch_is_the_head_of_the_repository(world: World, app: Listener) -> None:
    admin = person(world, "olga", "admin")
    owner, name = (json.dumps(word) for word in REPO.split("/"))
    document = f'query {{ repository(owner: {owner}, name: {name}) {{ object(expression: "HEAD:") {{ id }} }} }}'
    before = world.graphql(document, app.client)["data"]["repository"]["object"]
    assert admin.post(f"{BASE}/branches/main/rename", json={"new_name": "stem"}).status_code == 201
    assert app.client.get(BASE).json()["default_branch"] == "stem"
    assert before is not None
    assert world.graphql(document, app.client)["data"]["repository"]["object"] == before


@pytest.mark.parametrize(
    ("who", "branch", "new", "status"),
    [
        ("reader", "42-x", "43-y", 403),
        ("dev", "nowhere", "43-y", 404),
        ("dev", "42-x", "main", 422),
        ("dev", "42-x", "a..b", 422),
        ("dev", "42-x", None, 422),
    ],
)
def test_refused_renames(world: World, who: str, branch: str, new: str | None, status: int) -> None:
    before = world.refs("heads/")
    body = {} if new is None else {"new_name": new}
    assert getattr(world, who).post(f"{BASE}/branches/{branch}/rename", json=body).status_code == status
    assert world.refs("heads/") == before
