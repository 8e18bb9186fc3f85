"""The emulator without a socket: same answers, same faults, webhooks into an application of this process."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.emulator.acts.refs import RefRefusal
from app.emulator.inprocess import InProcess
from app.emulator.repos import GitRepo, RefChange, TreeEntry

ZERO = "0" * 40
Message = MutableMapping[str, Any]


async def small_world(github: InProcess) -> str:
    """dev/demo with its first commit; the token of its owner."""
    token = str((await github.control("POST", "/users", login="dev"))["token"])
    await github.control("POST", "/repos", owner="dev", name="demo")
    return token


async def test_it_answers_as_behind_a_port(tmp_path: Path) -> None:
    async with InProcess(tmp_path) as github:
        token = await small_world(github)
        async with github.client(token) as client, github.client() as nobody:
            made = await client.post("/repos/dev/demo/issues", json={"title": "One & ünïcode"})
            assert (made.status_code, made.json()["title"]) == (201, "One & ünïcode")
            listed = await client.get("/repos/dev/demo/issues", params={"labels": "no such, label"})
            assert listed.json() == []
            query = {"query": '{repository(owner:"dev",name:"demo"){issues(first:1){nodes{title}}}}'}
            answer = (await client.post("/graphql", json=query)).json()
            assert answer["data"]["repository"]["issues"]["nodes"] == [{"title": "One & ünïcode"}]
            assert (await nobody.post("/repos/dev/demo/issues", json={"title": "x"})).status_code == 401
            assert "x-ratelimit-remaining" in made.headers
        with pytest.raises(httpx.HTTPStatusError):
            await github.control("POST", "/users", login="dev")


async def test_a_cut_connection_raises_as_on_the_network(tmp_path: Path) -> None:
    async with InProcess(tmp_path) as github:
        token = await small_world(github)
        await github.control("POST", "/faults", kind="drop_after", match={"method": "POST"})
        async with github.client(token) as client:
            with pytest.raises(httpx.RemoteProtocolError):
                await client.post("/repos/dev/demo/issues", json={"title": "Landed"})
            assert [i["title"] for i in (await client.get("/repos/dev/demo/issues")).json()] == ["Landed"]


async def test_git_is_the_real_repository(tmp_path: Path) -> None:
    async with InProcess(tmp_path) as github:
        token = await small_world(github)
        git = github.git("dev/demo")
        main = git.branch("main")
        assert main is not None
        signed = git.commit(main).author
        tree = git.write_tree(main, [TreeEntry("a.txt", git.write_blob(b"a"))])
        ahead = git.write_commit(tree, [main], "Ahead", signed, signed)
        github.push("dev/demo", "dev", [RefChange("refs/heads/main", main, ahead)])
        with pytest.raises(RefRefusal):
            github.push("dev/demo", "dev", [RefChange("refs/heads/main", main, ahead)])
        with pytest.raises(RefRefusal):
            github.push("dev/demo", "dev", [RefChange("refs/heads/main", ahead, main)])
        github.push("dev/demo", "dev", [RefChange("refs/heads/main", ahead, main)], force=True)
        github.push("dev/demo", "dev", [RefChange("refs/ledger/1", ZERO, ahead)])
        async with github.client(token) as client:
            shown = (await client.get("/repos/dev/demo/git/ref/ledger/1")).json()
        assert shown["object"]["sha"] == ahead
        assert (tmp_path / "repos" / f"{github.repository('dev/demo').id}.git" / "refs" / "ledger" / "1").is_file()
        with pytest.raises(KeyError):
            github.git("dev/other")
        with pytest.raises(KeyError):
            github.push("dev/demo", "nobody", [])


async def test_a_branch_of_the_trunk_costs_the_same_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with InProcess(tmp_path) as github:
        token = await small_world(github)
        await github.control("POST", "/commits", repo="dev/demo", files={"a": "b\n"})
        listed: list[str] = []
        every = GitRepo.refs

        def counted(git: GitRepo, prefix: str = "refs/") -> list[tuple[str, str]]:
            listed.append(prefix)
            return every(git, prefix)

        monkeypatch.setattr(GitRepo, "refs", counted)
        async with github.client(token) as client:
            body = {"ref": "refs/heads/new", "sha": github.git("dev/demo").branch("main")}
            assert (await client.post("/repos/dev/demo/git/refs", json=body)).status_code == 201
        assert listed == []


async def test_webhooks_reach_an_application_of_this_process(tmp_path: Path) -> None:
    told: list[tuple[str, Any]] = []

    async def service(
        scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        headers = {k.decode().lower(): v.decode() for k, v in scope["headers"]}
        told.append((headers["x-github-event"], json.loads((await receive())["body"])))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    mounts = {"http://service.test": httpx.ASGITransport(app=service)}
    async with InProcess(tmp_path, mounts) as github:
        for _ in range(2):  # a reset forgets the world, not the way to the service
            token = await small_world(github)
            hook = {"slug": "keeper", "events": ["issues"], "webhook_url": "http://service.test/hook"}
            await github.control("POST", "/apps", **hook, permissions={"issues": "write"})
            await github.control("POST", "/installations", app="keeper", account="dev")
            async with github.client(token) as client:
                await client.post("/repos/dev/demo/issues", json={"title": "One"})
            assert (await github.control("POST", "/deliveries/flush"))["pending"] == 0
            assert sorted(event for event, _ in told) == ["installation", "issues", "ping"]
            told.clear()
            await github.control("POST", "/reset")
