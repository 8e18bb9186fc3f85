"""Every probe of GitHub against the emulated one: found, not found, and what only looks like it."""

from datetime import UTC, datetime
from typing import Any

from loop_world import REPO, LoopWorld

from app.controller.http_probe import HttpGet
from app.controller.probing import Prober
from app.domain.effect import Effect
from app.domain.effect_probe import CannotTell, NothingThere, Present

UNKNOWN = {"key": "e", "kind": "tag", "state": "unknown", "generation": 1, "nonce": "n", "login": "wanda"}


async def test_every_probe_finds_what_stands_and_nothing_else(world: LoopWorld) -> None:
    controller, agent, sha = await world.published()
    repo, _ = await controller._views.ledger("acme", "shop")
    prober = Prober(HttpGet())
    begun = datetime.fromtimestamp(world.emulator.now(), UTC)

    async def look(**probe: Any) -> Any:
        effect = Effect.model_validate({**UNKNOWN, "probe": probe, "intended_at": begun})
        return await prober.look(repo, effect)

    def post(path: str, **body: Any) -> dict[str, Any]:
        made: dict[str, Any] = world.http.post(f"/repos/{REPO}/{path}", json=body).raise_for_status().json()
        return made

    async def before_and_after(act: Any, **probe: Any) -> Present:
        assert isinstance(await look(**probe), NothingThere), probe
        act()
        found = await look(**probe)
        assert isinstance(found, Present), found
        return found

    branch = agent.grant.branch
    assert isinstance(await look(type="pull_request", head=branch, base="release-1"), Present)
    assert isinstance(await look(type="pull_request", head=branch, base="main"), NothingThere)

    tag = {"type": "tag", "name": "v1", "sha": sha}
    await before_and_after(lambda: post("git/refs", ref="refs/tags/v1", sha=sha), **tag)
    assert isinstance(await look(**tag | {"sha": "d" * 40}), CannotTell)
    assert isinstance(await look(type="tag", name="v"), NothingThere)
    await before_and_after(lambda: post("git/refs", ref="refs/heads/topic", sha=sha), type="branch", name="topic")

    draft = post("releases", tag_name="v2", draft=True)
    await before_and_after(
        lambda: world.http.patch(f"/repos/{REPO}/releases/{draft['id']}", json={"draft": False}).raise_for_status(),
        type="release",
        tag="v2",
    )

    world.emulator.user("stranger")
    world.emulator.comment(REPO, world.ticket, "stranger", "deploy 42 done")
    comment = {"type": "comment", "number": world.ticket, "marker": "deploy 42"}
    assert isinstance(await look(**comment, author="stranger"), Present)
    found = await before_and_after(lambda: post(f"issues/{world.ticket}/comments", body="deploy 42: done"), **comment)
    assert found.remote_id is not None
    assert "/issues/" in found.remote_id
    assert isinstance(await look(**comment | {"number": 9999}), CannotTell)

    world.emulator.issue(REPO, "Incident", body="incident 42", author="stranger")
    issue = {"type": "issue", "marker": "incident 42"}
    await before_and_after(lambda: post("issues", title="Incident", body="incident 42"), **issue)

    check = {"type": "check_run", "name": "Agent Recovery", "sha": sha}
    assert isinstance(await look(**check), Present)
    assert isinstance(await look(**check | {"name": "Agent"}), NothingThere)

    # The App was not given the permission to look at deployments: GitHub's own words are told.
    denied = await look(type="deployment", environment="staging", sha=sha)
    assert denied == CannotTell("GitHub does not show it: Resource not accessible by integration")
    assert isinstance(await look(type="newer", x=1), CannotTell)


async def test_a_deployment_counts_when_it_was_a_success(world: LoopWorld) -> None:
    permissions = {"metadata": "read", "deployments": "read"}
    world.emulator.change_installation(world.installation, permissions={**permissions, "contents": "write"})
    controller = world.controller()
    repo, _ = await controller._views.ledger("acme", "shop")
    prober, sha = Prober(HttpGet()), world.head("main")
    probe = {"type": "deployment", "environment": "staging", "sha": sha}
    effect = Effect.model_validate({**UNKNOWN, "probe": probe})

    def deploy() -> int:
        body = {"ref": sha, "environment": "staging", "required_contexts": [], "auto_merge": False}
        return int(world.http.post(f"/repos/{REPO}/deployments", json=body).raise_for_status().json()["id"])

    def say(number: int, state: str) -> None:
        url = f"/repos/{REPO}/deployments/{number}/statuses"
        world.http.post(url, json={"state": state}).raise_for_status()

    assert isinstance(await prober.look(repo, effect), NothingThere)
    first = deploy()
    assert isinstance(await prober.look(repo, effect), NothingThere)
    say(first, "failure")
    assert isinstance(await prober.look(repo, effect), CannotTell)
    say(first, "success")
    assert isinstance(await prober.look(repo, effect), Present)
    say(first, "inactive")
    assert isinstance(await prober.look(repo, effect), Present)
