"""Tokens of every kind: what each reaches, how it ends, and how GitHub words its refusals."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from emulated import ALL, REPO, Inbox, World, git, rest

BASE = f"/repos/{REPO}"
NOT_BY_APP = "Resource not accessible by integration"
NOT_BY_TOKEN = "Resource not accessible by personal access token"


def message(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["message"]


def with_jwt(world: World, method: str, path: str, token: str | None = None, **more: Any) -> httpx.Response:
    bearer = token if token is not None else world.emulator.app_jwt(world.app)
    headers = {"authorization": f"Bearer {bearer}"} | more.pop("headers", {})
    return httpx.request(method, world.emulator.url + path, headers=headers, trust_env=False, verify=False, **more)


def mint(world: World, **body: Any) -> httpx.Response:
    return with_jwt(world, "POST", f"/app/installations/{world.installation['id']}/access_tokens", json=body)


def private(world: World) -> None:
    world.emulator.change_repo(REPO, private=True)


# What the App's own token must be


def claims(world: World, **changed: Any) -> dict[str, Any]:
    now = int(time.time())
    body = {"iat": now - 10, "exp": now + 300, "iss": str(world.app["id"])} | changed
    return {k: v for k, v in body.items() if v is not None}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"exp": -5}, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which "),
        ({"exp": 3600}, "'Expiration time' claim ('exp') is too far in the future"),
        ({"iat": 300}, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was "),
        ({"iat": -9.5}, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was "),
    ],
)
def test_refused_claims(world: World, changed: dict[str, float], words: str) -> None:
    now = int(time.time())
    token = jwt.encode(claims(world, **{k: now + v for k, v in changed.items()}), world.app["pem"], "RS256")
    status, said = message(with_jwt(world, "GET", "/app", token))
    assert status == 401
    assert said.startswith(words)


def test_a_foreign_key_and_an_unknown_issuer(world: World) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    undecodable = (401, "A JSON web token could not be decoded")
    assert message(with_jwt(world, "GET", "/app", jwt.encode(claims(world), pem, "RS256"))) == undecodable
    assert message(with_jwt(world, "GET", "/app", "eyJ.eyJ.x")) == undecodable
    nobody = jwt.encode(claims(world, iss="12"), world.app["pem"], "RS256")
    assert message(with_jwt(world, "GET", "/app", nobody)) == (404, "Integration not found")
    unsigned = jwt.encode(claims(world, iss=None), world.app["pem"], "RS256")
    assert message(with_jwt(world, "GET", "/app", unsigned))[0] == 401


# Installation tokens


def test_the_form_of_today_and_the_one_on_request(world: World) -> None:
    long = mint(world).json()["token"]
    assert re.fullmatch(rf"ghs_{world.app['id']}_eyJ[A-Za-z0-9_]+\.eyJ[A-Za-z0-9_]+\.[A-Za-z0-9_]+", long)
    assert 500 <= len(long) <= 540
    path = f"/app/installations/{world.installation['id']}/access_tokens"
    short = with_jwt(world, "POST", path, headers={"x-github-stateless-s2s-token": "disabled"}).json()["token"]
    assert re.fullmatch(r"ghs_[A-Za-z0-9]{36}", short)
    for token in (long, short):
        assert rest(world.emulator, token).get(BASE).status_code == 200
    tampered = rest(world.emulator, long[:-1] + ("a" if long[-1] != "a" else "b"))
    assert message(tampered.get(BASE)) == (401, "Bad credentials")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"permissions": {"actions": "write"}}, "The permissions requested are not granted to this installation."),
        (
            {"permissions": {"metadata": "write"}},
            "The level of access for permissions requested are not granted to this installation.",
        ),
        (
            {"repositories": ["demo", "nothing"]},
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        ),
        (
            {"repository_ids": [12]},
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        ),
    ],
)
def test_what_the_app_lacks_no_token_has(world: World, body: dict[str, Any], said: str) -> None:
    assert message(mint(world, **body)) == (422, said)


def test_repositories_by_id_and_what_the_answer_says(world: World) -> None:
    other = world.emulator.repo("octo", "other", private=True)
    made = mint(world, repository_ids=[other["id"]], permissions={"contents": "read"}).json()
    assert made["repository_selection"] == "selected"
    assert made["permissions"] == {"contents": "read", "metadata": "read"}
    assert [r["full_name"] for r in made["repositories"]] == ["octo/other"]
    narrow = rest(world.emulator, made["token"])
    assert narrow.get("/repos/octo/other/commits").status_code == 200
    assert message(narrow.get("/repos/octo/other/issues")) == (403, NOT_BY_APP)
    refused = narrow.post("/repos/octo/other/git/refs", json={"ref": "refs/heads/x", "sha": "0" * 40})
    assert message(refused) == (403, NOT_BY_APP)
    assert refused.headers["x-accepted-github-permissions"] == "contents=write"
    private(world)
    assert narrow.get(BASE).status_code == 404


def test_each_endpoint_says_what_it_asks(world: World) -> None:
    number = world.emulator.issue(REPO, "One")["number"]
    asked = {
        BASE: "metadata=read",
        f"{BASE}/issues/{number}": "issues=read",
        f"{BASE}/commits": "contents=read",
        f"{BASE}/commits/main/check-runs": "checks=read",
        f"{BASE}/labels": "issues=read; pull_requests=read",
        "/installation/repositories": "allows_permissionless_access=true",
    }
    seen = {path: world.bot.get(path).headers["x-accepted-github-permissions"] for path in asked}
    assert seen == asked


def test_a_token_revokes_itself_once(world: World) -> None:
    token = rest(world.emulator, mint(world).json()["token"])
    assert token.delete("/installation/token").status_code == 204
    assert message(token.delete("/installation/token")) == (401, "Bad credentials")
    assert message(token.get(BASE)) == (401, "Bad credentials")
    assert world.bot.get(BASE).status_code == 200


def test_an_hour_by_the_clock_also_for_git(world: World, tmp_path: Path) -> None:
    clone = world.clone(tmp_path / "clone")
    made = mint(world).json()
    assert made["expires_at"] > time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3500))
    world.emulator.advance(3601)
    assert message(rest(world.emulator, made["token"]).get(BASE)) == (401, "Bad credentials")
    refused = git(clone, "push", "origin", "HEAD:refs/heads/x", check=False)
    assert "Invalid username or token" in refused.stderr


def test_uninstalled(world: World, inbox: Inbox) -> None:
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    world.emulator.uninstall(world.installation["id"])
    assert message(world.bot.get(BASE)) == (401, "Bad credentials")
    assert mint(world).status_code == 404
    assert with_jwt(world, "GET", f"{BASE}/installation").status_code == 404
    told = world.emulator.wait_for("installation", "deleted")["payload"]
    assert [r["full_name"] for r in told["repositories"]] == [REPO]


def test_suspended(world: World) -> None:
    world.emulator.change_installation(world.installation["id"], suspended=True)
    suspended = (403, "This installation has been suspended")
    assert message(world.bot.get(BASE)) == suspended
    assert message(mint(world)) == suspended
    assert message(world.bot.post("/graphql", json={"query": "{viewer{login}}"})) == suspended
    shown = with_jwt(world, "GET", f"/app/installations/{world.installation['id']}").json()
    assert shown["suspended_at"].endswith("Z")


def test_new_permissions_wait_for_acceptance(world: World) -> None:
    world.emulator.change_app("keeper", permissions=ALL | {"metadata": "read", "administration": "write"})
    assert mint(world, permissions={"administration": "write"}).status_code == 422
    before = rest(world.emulator, mint(world).json()["token"])
    world.emulator.accept_permissions(world.installation["id"])
    assert mint(world).json()["permissions"]["administration"] == "write"
    assert "administration" not in mint(world, permissions={"contents": "read"}).json()["permissions"]
    # A token made before keeps what it was made with.
    assert message(before.patch(BASE, json={"description": "new"})) == (403, NOT_BY_APP)
    after = rest(world.emulator, mint(world).json()["token"])
    assert after.patch(BASE, json={"description": "new"}).status_code == 200


def test_events_that_the_installation_may_not_read_are_not_sent(world: World, inbox: Inbox) -> None:
    world.emulator.app("blind", permissions={"issues": "read"}, events=["push", "issues"], webhook_url=inbox.url)
    world.emulator.installation("blind", "octo")
    world.emulator.commit(REPO, {"a.txt": "a"})
    world.emulator.issue(REPO, "One")
    world.emulator.wait_for("issues", "opened")
    assert {d["event"] for d in world.emulator.deliveries() if d["app"] == "blind"} <= {
        "ping",
        "installation",
        "issues",
    }


# People's tokens


def test_a_classic_token_tells_its_scopes(world: World) -> None:
    token = rest(world.emulator, world.emulator.classic_token("dev", ["public_repo", "workflow"]))
    answer = token.get(BASE)
    assert answer.headers["x-oauth-scopes"] == "public_repo, workflow"
    assert "x-accepted-github-permissions" not in answer.headers
    assert token.post(f"{BASE}/issues", json={"title": "t"}).status_code == 201
    private(world)
    assert message(token.get(BASE)) == (404, "Not Found")
    assert world.dev.get(BASE).status_code == 200


def test_a_classic_token_without_scopes_reads_what_all_may_read(world: World) -> None:
    token = rest(world.emulator, world.emulator.classic_token("dev", []))
    assert token.get(BASE).status_code == 200
    assert token.get("/user").json()["login"] == "dev"
    assert message(token.post(f"{BASE}/git/refs", json={"ref": "refs/heads/x", "sha": world.head("main")})) == (
        404,
        "Not Found",
    )


def test_a_fine_grained_token_is_refused_by_permission(world: World) -> None:
    token = rest(world.emulator, world.emulator.fine_grained_token("dev", "octo", {"issues": "read"}, ["demo"]))
    assert token.get(f"{BASE}/issues").status_code == 200
    refused = token.post(f"{BASE}/issues", json={"title": "t"})
    assert message(refused) == (403, NOT_BY_TOKEN)
    assert refused.headers["x-accepted-github-permissions"] == "issues=write"
    assert "x-oauth-scopes" not in refused.headers


def test_a_fine_grained_token_ends_where_its_repositories_end(world: World) -> None:
    world.emulator.repo("octo", "other", private=True, collaborators={"dev": "write"})
    world.emulator.repo("octo", "open", collaborators={"dev": "write"})
    granted = {"issues": "write", "contents": "write"}
    token = rest(world.emulator, world.emulator.fine_grained_token("dev", "octo", granted, ["demo"]))
    assert token.post(f"{BASE}/issues", json={"title": "t"}).status_code == 201
    assert token.get("/repos/octo/other").status_code == 404
    assert token.get("/repos/octo/open").status_code == 200
    assert message(token.post("/repos/octo/open/issues", json={"title": "t"})) == (403, NOT_BY_TOKEN)


def test_a_fine_grained_token_gives_no_more_than_its_owner_has(world: World) -> None:
    token = rest(world.emulator, world.emulator.fine_grained_token("reader", "octo", {"contents": "write"}))
    ref = {"ref": "refs/heads/x", "sha": world.head("main")}
    assert token.post(f"{BASE}/git/refs", json=ref).status_code == 403


ADD = "mutation($i:AddCommentInput!){addComment(input:$i){clientMutationId}}"


def test_mutations_ask_the_same_of_a_persons_token(world: World) -> None:
    subject = {"subjectId": world.emulator.issue(REPO, "One")["node_id"], "body": "x"}

    def errors(token: str) -> list[tuple[str, str]]:
        answer = world.graphql(ADD, rest(world.emulator, token), i=subject)
        return [(e["type"], e["message"]) for e in answer.get("errors", [])]

    assert errors(world.emulator.fine_grained_token("dev", "octo", {"issues": "write"})) == []
    assert errors(world.emulator.fine_grained_token("dev", "octo", {"issues": "read"})) == [("FORBIDDEN", NOT_BY_TOKEN)]
    assert errors(world.emulator.token_on_behalf("keeper", "dev")) == []
    world.emulator.app("blind", permissions={"contents": "write"})
    world.emulator.installation("blind", "octo")
    assert errors(world.emulator.token_on_behalf("blind", "dev")) == [("FORBIDDEN", NOT_BY_APP)]
    assert errors(world.emulator.classic_token("dev", ["public_repo"])) == []
    ((kind, words),) = errors(world.emulator.classic_token("dev", ["read:org"]))
    assert kind == "INSUFFICIENT_SCOPES"
    assert "The 'addComment' field requires one of the following scopes: ['public_repo']" in words
    assert "only been granted the: ['read:org'] scopes" in words


def test_expiry_of_a_persons_token_is_announced(world: World) -> None:
    token = rest(world.emulator, world.emulator.fine_grained_token("dev", "octo", {"issues": "read"}, lifetime_s=7200))
    announced = token.get(BASE).headers["github-authentication-token-expiration"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", announced)
    world.emulator.advance(7201)
    assert message(token.get(BASE)) == (401, "Bad credentials")


def test_an_app_acts_for_a_person_within_what_both_may(world: World, inbox: Inbox) -> None:
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    value = world.emulator.token_on_behalf("keeper", "dev")
    assert value.startswith("ghu_")
    token = rest(world.emulator, value)
    made = token.post(f"{BASE}/issues", json={"title": "t"}).json()
    assert made["user"]["login"] == "dev"
    assert made["performed_via_github_app"]["slug"] == "keeper"
    assert message(token.patch(BASE, json={"archived": True})) == (403, NOT_BY_APP)
    for_reader = rest(world.emulator, world.emulator.token_on_behalf("keeper", "reader"))
    ref = {"ref": "refs/heads/x", "sha": world.head("main")}
    assert for_reader.post(f"{BASE}/git/refs", json=ref).status_code == 403
    private(world)
    world.emulator.change_installation(world.installation["id"], suspended=True)
    assert token.get(BASE).status_code == 404


def test_a_revoked_token_of_a_person(world: World, tmp_path: Path) -> None:
    private(world)
    token = world.emulator.classic_token("dev")
    assert rest(world.emulator, token).get(BASE).status_code == 200
    world.emulator.revoke(token)
    assert message(rest(world.emulator, token).get(BASE)) == (401, "Bad credentials")
    url = world.emulator.url.replace("http://", f"http://x:{token}@") + f"/{REPO}.git"
    assert "Invalid username or token" in git(tmp_path, "ls-remote", url, check=False).stderr
