"""Who is who and who may what."""

from __future__ import annotations

import re
import time
from typing import Any

import httpx
import jwt
import pytest
from emulated import REPO, World, rest

BASE = f"/repos/{REPO}"


def bearer(world: World, token: str, path: str, method: str = "GET", **more: Any) -> httpx.Response:
    return httpx.request(
        method,
        world.emulator.url + path,
        headers={"authorization": f"Bearer {token}"},
        trust_env=False,
        **more,
    )


def signed(world: World, **claims: Any) -> str:
    now = int(time.time())
    body = {"iat": now - 10, "exp": now + 300, "iss": str(world.app["id"])} | claims
    return jwt.encode({k: v for k, v in body.items() if v is not None}, world.app["pem"], "RS256")


def test_app_tokens(world: World) -> None:
    now = int(time.time())
    assert bearer(world, signed(world), "/app").json()["slug"] == "keeper"
    assert bearer(world, signed(world, iss=world.app["client_id"]), "/app").status_code == 200
    for wrong in ({"exp": now - 5}, {"iat": now + 300}, {"exp": now + 3600}, {"exp": None}, {"iat": None}):
        assert bearer(world, signed(world, **wrong), "/app").status_code == 401, wrong
    forged = jwt.encode({"iat": now, "exp": now + 60, "iss": str(world.app["id"])}, "secret" * 8, "HS256")
    assert bearer(world, forged, "/app").status_code == 401
    assert bearer(world, world.tokens["bot"], "/app").status_code == 401
    assert bearer(world, signed(world), f"{BASE}/issues").status_code == 404
    found = bearer(world, signed(world), f"{BASE}/installation").json()
    assert found["id"] == world.installation["id"]


def test_app_tokens_follow_the_emulated_clock(world: World) -> None:
    token = signed(world)
    world.emulator.advance(600)
    assert bearer(world, token, "/app").status_code == 401
    assert bearer(world, world.emulator.app_jwt(world.app), "/app").status_code == 200


def test_installation_tokens_are_long_and_live_an_hour(world: World) -> None:
    token = world.tokens["bot"]
    assert re.fullmatch(r"ghs_[A-Za-z0-9._]{36,}", token)
    assert token.startswith(f"ghs_{world.app['id']}_")
    assert 500 <= len(token) <= 540
    world.emulator.advance(3590)
    assert world.bot.get(BASE).status_code == 200
    world.emulator.advance(20)
    expired = world.bot.get(BASE)
    assert (expired.status_code, expired.json()["message"]) == (401, "Bad credentials")


def test_unknown_revoked_and_suspended(world: World) -> None:
    unknown = bearer(world, "ghp_nobody", BASE)
    assert (unknown.status_code, unknown.json()["message"]) == (401, "Bad credentials")
    number = world.installation["id"]
    world.emulator.change_installation(number, suspended=True)
    suspended = world.bot.get(BASE)
    assert (suspended.status_code, suspended.json()["message"]) == (403, "This installation has been suspended")
    mint = bearer(world, signed(world), f"/app/installations/{number}/access_tokens", "POST")
    assert mint.status_code == 403
    world.emulator.change_installation(number, suspended=False)
    assert world.bot.delete("/installation/token").status_code == 204
    assert world.bot.get(BASE).status_code == 401


def test_narrowed_tokens(world: World) -> None:
    world.emulator.repo("octo", "other", private=True)
    number = world.installation["id"]
    narrow = rest(
        world.emulator,
        world.emulator.installation_token(world.app, number, repositories=["demo"], permissions={"issues": "read"}),
    )
    assert narrow.get(f"{BASE}/issues").status_code == 200
    assert narrow.get("/repos/octo/other").status_code == 404
    assert world.bot.get("/repos/octo/other").status_code == 200
    assert [r["name"] for r in narrow.get("/installation/repositories").json()["repositories"]] == ["demo"]
    refused = narrow.post(f"{BASE}/issues", json={"title": "t"})
    assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")
    url = f"/app/installations/{number}/access_tokens"
    for body in ({"permissions": {"administration": "write"}}, {"repositories": ["nothing"]}):
        assert bearer(world, signed(world), url, "POST", json=body).status_code == 422


def test_an_installation_on_some_repositories(world: World) -> None:
    world.emulator.repo("octo", "closed", private=True)
    app = world.emulator.app("small", permissions={"contents": "write"})
    number = world.emulator.installation("small", "octo", ["demo"])["id"]
    client = rest(world.emulator, world.emulator.installation_token(app, number))
    assert client.get(BASE).status_code == 200
    assert client.get("/repos/octo/closed").status_code == 404


@pytest.mark.parametrize(
    ("role", "permission", "comment", "label", "branch"),
    [
        ("read", "read", 201, 403, 403),
        ("triage", "read", 201, 200, 403),
        ("write", "write", 201, 200, 201),
        ("maintain", "write", 201, 200, 201),
        ("admin", "admin", 201, 200, 201),
    ],
)
def test_roles(world: World, role: str, permission: str, comment: int, label: int, branch: int) -> None:
    world.emulator.change_repo(REPO, collaborators={"reader": role})
    shown = world.bot.get(f"{BASE}/collaborators/reader/permission").json()
    assert (shown["permission"], shown["role_name"]) == (permission, role)
    number = world.emulator.issue(REPO, "One")["number"]
    assert world.reader.post(f"{BASE}/issues/{number}/comments", json={"body": "x"}).status_code == comment
    assert world.reader.post(f"{BASE}/issues/{number}/labels", json={"labels": ["x"]}).status_code == label
    ref = {"ref": "refs/heads/new", "sha": world.head("main")}
    assert world.reader.post(f"{BASE}/git/refs", json=ref).status_code == branch


def test_a_custom_role_goes_by_its_own_name_and_does_what_its_base_does(world: World) -> None:
    world.emulator.org("big", custom_roles={"release-manager": "maintain", "sorter": "triage"})
    world.emulator.repo("big", "demo", private=True, collaborators={"dev": "release-manager", "reader": "sorter"})
    app = world.emulator.installation_token(world.app, world.emulator.installation("keeper", "big")["id"])
    asked = rest(world.emulator, app)

    def shown(login: str) -> dict[str, Any]:
        return dict(asked.get(f"/repos/big/demo/collaborators/{login}/permission").json())

    assert (shown("dev")["permission"], shown("dev")["role_name"]) == ("write", "release-manager")
    assert (shown("reader")["permission"], shown("reader")["user"]["role_name"]) == ("read", "sorter")
    assert shown("reader")["user"]["permissions"]["triage"]
    assert shown("stranger")["permission"] == "none"
    writer = rest(world.emulator, world.tokens["dev"])
    assert writer.get("/repos/big/demo").json()["permissions"]["maintain"]
    own = world.emulator.repo("octo", "own", collaborators={"dev": "admin"})["full_name"]
    refused = writer.put(f"/repos/{own}/collaborators/reader", json={"permission": "release-manager"})
    assert refused.status_code == 422


def test_whose_role_can_be_asked_for(world: World) -> None:
    """People alone have one; who is no collaborator reads what all may read, and is told so in the same words."""
    for name in ("keeper[bot]", "octo"):
        answer = world.bot.get(f"{BASE}/collaborators/{name}/permission")
        assert (answer.status_code, answer.json()["message"]) == (404, f"{name} is not a user")
    assert world.bot.get(f"{BASE}/collaborators/nobody/permission").json()["message"] == "Not Found"
    outside = world.bot.get(f"{BASE}/collaborators/stranger/permission").json()
    assert (outside["permission"], outside["role_name"]) == ("read", "read")
    world.emulator.change_repo(REPO, private=True)
    assert world.bot.get(f"{BASE}/collaborators/stranger/permission").json()["permission"] == "none"
    world.emulator.change_repo(REPO, collaborators={"dev": "none"})
    assert world.bot.get(f"{BASE}/collaborators/dev/permission").json()["permission"] == "none"


def test_private_repositories_do_not_exist_for_strangers(world: World) -> None:
    world.emulator.change_repo(REPO, private=True)
    stranger = rest(world.emulator, world.tokens["stranger"])
    assert stranger.get(BASE).status_code == 404
    answer = world.graphql('{repository(owner:"octo",name:"demo"){id}}', stranger)
    assert answer["errors"][0]["type"] == "NOT_FOUND"
    assert httpx.get(world.emulator.url + BASE, trust_env=False).status_code == 404


def test_comments_of_others(world: World) -> None:
    number = world.emulator.issue(REPO, "One")["number"]
    comment = world.emulator.comment(REPO, number, "stranger", "mine")["id"]
    url = f"{BASE}/issues/comments/{comment}"
    assert world.reader.patch(url, json={"body": "x"}).status_code == 403
    assert world.dev.patch(url, json={"body": "x"}).status_code == 200
    assert world.dev.get(url).json()["user"]["login"] == "stranger"


def test_headers_pages_and_etags(world: World) -> None:
    first = world.bot.get(f"{BASE}/labels")
    assert first.headers["x-ratelimit-limit"] == "5000"
    assert first.headers["x-github-request-id"]
    assert first.headers["date"].endswith("GMT")
    unchanged = world.bot.get(f"{BASE}/labels", headers={"if-none-match": first.headers["etag"]})
    assert unchanged.status_code == 304
    assert unchanged.headers["x-ratelimit-remaining"] == first.headers["x-ratelimit-remaining"]
    assert world.dev.get(f"{BASE}/labels").headers["etag"] != first.headers["etag"]
    for n in range(101):
        world.emulator.issue(REPO, f"Issue {n}")
    page = world.bot.get(f"{BASE}/issues?per_page=1000")
    assert len(page.json()) == 100
    assert len(world.bot.get(page.links["next"]["url"]).json()) == 1


def test_the_hourly_limit(world: World) -> None:
    world.emulator.rate("user:reader", 2)
    assert [world.reader.get(BASE).status_code for _ in range(3)] == [200, 200, 403]
    assert world.reader.get("/rate_limit").json()["rate"]["remaining"] == 0
    world.emulator.advance(3601)
    assert world.reader.get(BASE).status_code == 200


def test_both_roots_serve_the_same(world: World) -> None:
    shown = world.bot.get(f"/api/v3{BASE}").json()
    assert shown["id"] == world.bot.get(BASE).json()["id"]
    assert shown["url"] == f"{world.emulator.url}/api/v3{BASE}"
    assert world.bot.get(f"/api/v3{BASE}/nothing").status_code == 501


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("users", {"login": "_emulator"}),
        ("users", {"login": "<b>"}),
        ("users", {"login": "a/b"}),
        ("users", {"login": ""}),
        ("orgs", {"login": "x" * 40}),
        ("apps", {"slug": "Two Words"}),
        ("repos", {"owner": "dev", "name": ".."}),
        ("repos", {"owner": "dev", "name": "x.git"}),
        ("repos", {"owner": "dev", "name": "a/b"}),
    ],
)
def test_no_name_leads_to_a_path_of_something_else(world: World, call: str, body: dict[str, str]) -> None:
    answer = httpx.post(f"{world.emulator.url}/_emulator/{call}", json=body)
    assert answer.status_code == 422
    assert "is no name GitHub would give" in answer.json()["message"]


@pytest.mark.parametrize("login", ["octocat_acme", "ci-helper[bot]", "a"])
def test_names_of_every_kind_of_account(world: World, login: str) -> None:
    assert httpx.post(f"{world.emulator.url}/_emulator/users", json={"login": login}).json()["login"] == login
