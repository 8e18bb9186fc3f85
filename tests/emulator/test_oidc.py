"""OIDC tokens of workflow runs: asked for by the run alone, checked by whoever reads the keys."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from actions_world import RUN, Stage, stage_of, wait_until
from emulated import REPO, World

ASK = """
import urllib.request
url = os.environ["ACTIONS_ID_TOKEN_REQUEST_URL"]
bearer = os.environ["ACTIONS_ID_TOKEN_REQUEST_TOKEN"]
def ask(audience):
    request = urllib.request.Request(url + audience, headers={"Authorization": "bearer " + bearer})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["value"]
(out / "tokens.json").write_text(json.dumps([url, bearer, ask("&audience=https://keeper.example"), ask("")]))
"""


@pytest.fixture
def stage(world: World, tmp_path: Path) -> Iterator[Stage]:
    made = stage_of(world, tmp_path)
    yield made
    made.bot.close()


def get(stage: Stage, path: str, **headers: str) -> httpx.Response:
    return httpx.get(stage.world.emulator.url + path, headers=headers, trust_env=False, verify=False)


def checked(stage: Stage, token: str, audience: str) -> dict[str, Any]:
    """The claims, checked as a stranger checks them: discovery, keys, signature, issuer, audience, times."""
    issuer = stage.world.emulator.url
    found = get(stage, "/.well-known/openid-configuration").json()
    assert found["issuer"] == issuer
    keys = jwt.PyJWKSet.from_dict(httpx.get(found["jwks_uri"], trust_env=False, verify=False).json())
    key = keys[jwt.get_unverified_header(token)["kid"]]
    body: dict[str, Any] = jwt.decode(token, key, ["RS256"], audience=audience, issuer=issuer)
    assert set(body) <= set(found["claims_supported"])
    return body


def test_a_run_proves_who_it_is(stage: Stage) -> None:
    stage.command(ASK)
    number = stage.start()
    run = stage.wait(number)
    assert run["conclusion"] == "success", stage.world.emulator.run_log(number)
    _, _, chosen, default = stage.read("tokens.json")
    body = checked(stage, chosen, "https://keeper.example")
    expected = {
        "sub": f"repo:octo@{body['repository_owner_id']}/demo@{stage.world.repo['id']}:ref:refs/heads/main",
        "repository": REPO,
        "repository_id": str(stage.world.repo["id"]),
        "repository_owner": "octo",
        "repository_visibility": "public",
        "ref": "refs/heads/main",
        "ref_type": "branch",
        "sha": run["head_sha"],
        "workflow": "Recover",
        "workflow_ref": f"{REPO}/.github/workflows/run.yml@refs/heads/main",
        "job_workflow_ref": f"{REPO}/.github/workflows/run.yml@refs/heads/main",
        "event_name": "workflow_dispatch",
        "run_id": str(number),
        "run_number": "1",
        "run_attempt": "1",
        "actor": "keeper[bot]",
        "runner_environment": "github-hosted",
    }
    assert {name: body[name] for name in expected} == expected
    assert body["exp"] - body["iat"] == 300
    assert body["iat"] - body["nbf"] == 600
    assert abs(body["iat"] - time.time()) < 60
    other = checked(stage, default, f"{stage.world.emulator.url}/octo")
    assert other["jti"] != body["jti"]
    with pytest.raises(jwt.InvalidAudienceError):
        checked(stage, default, "https://keeper.example")


def test_no_token_without_the_runs_own_secret(stage: Stage) -> None:
    stage.command(ASK + "\nwhile not (out / 'go').exists(): time.sleep(0.02)")
    number = stage.start()
    wait_until(lambda: (stage.folder / "tokens.json").exists(), bool, "the tokens")
    url, secret = (
        wait_until(lambda: (stage.folder / "tokens.json").read_text(), bool, "the tokens")
        and (json.loads((stage.folder / "tokens.json").read_text())[:2])
    )
    path = url.removeprefix(stage.world.emulator.url)
    assert get(stage, path).status_code == 401
    assert get(stage, path, authorization="bearer wrong").status_code == 401
    assert get(stage, path, authorization=f"bearer {stage.world.tokens['bot']}").status_code == 401
    assert get(stage, path, authorization=f"bearer {secret}").status_code == 200
    assert get(stage, "/_services/idtoken/1/2", authorization=f"bearer {secret}").status_code == 401
    (stage.folder / "go").touch()
    stage.wait(number)
    assert get(stage, path, authorization=f"bearer {secret}").status_code == 401


def test_only_for_workflows_that_ask_for_it(stage: Stage) -> None:
    plain = RUN.replace(", id-token: write", "")
    stage.world.emulator.commit(REPO, {".github/workflows/run.yml": plain})
    stage.command("(out / 'env.json').write_text(json.dumps(dict(os.environ)))")
    stage.wait(stage.start())
    assert not [name for name in stage.read("env.json") if name.startswith("ACTIONS_ID_TOKEN")]


def test_a_second_attempt_says_so_and_time_runs_by_the_emulated_clock(stage: Stage) -> None:
    stage.command(ASK)
    number = stage.start()
    stage.wait(number)
    old = stage.read("tokens.json")[2]
    assert stage.bot.post(f"/repos/{REPO}/actions/runs/{number}/rerun").status_code == 201
    stage.wait(number, attempt=2)
    assert checked(stage, stage.read("tokens.json")[2], "https://keeper.example")["run_attempt"] == "2"
    now = stage.world.emulator.advance(1000)
    assert jwt.decode(old, options={"verify_signature": False})["exp"] < now


def test_the_token_service_is_no_part_of_the_api(stage: Stage) -> None:
    for _ in range(70):
        answer = get(stage, "/.well-known/jwks")
        assert answer.status_code == 200
    assert "x-ratelimit-limit" not in answer.headers
    (key,) = answer.json()["keys"]
    assert (key["kty"], key["alg"], key["use"]) == ("RSA", "RS256", "sig")
    assert get(stage, "/.well-known/nothing").status_code == 404


def test_repositories_of_old_keep_the_subject_of_names_until_they_move(world: World, tmp_path: Path) -> None:
    now = world.emulator.now()
    world.emulator.set_clock("2026-02-01T00:00:00Z")
    old = world.emulator.repo("octo", "old", files={".github/workflows/run.yml": RUN}, collaborators={"dev": "write"})
    world.emulator.set_clock(now)

    def subject(name: str) -> str:
        file = tmp_path / name
        script = ASK.replace('"tokens.json"', repr(name))
        text = f"import json, os, pathlib\nout = pathlib.Path({str(tmp_path)!r})\n{script}"
        world.emulator.workflow_command(f"octo/{name}", "run.yml", [sys.executable, "-c", text])
        body = {"ref": "main", "inputs": {"ticket": "1"}}
        answer = world.dev.post(f"/repos/octo/{name}/actions/workflows/run.yml/dispatches", json=body)
        assert answer.status_code == 204
        told = wait_until(lambda: file.read_text() if file.exists() else "", lambda t: t.endswith("]"), "the tokens")
        return str(jwt.decode(json.loads(told)[2], options={"verify_signature": False})["sub"])

    assert subject("old") == "repo:octo/old:ref:refs/heads/main"
    world.emulator.rename_repo("octo/old", "new")
    owner = old["owner"]["id"]
    assert subject("new") == f"repo:octo@{owner}/new@{old['id']}:ref:refs/heads/main"
