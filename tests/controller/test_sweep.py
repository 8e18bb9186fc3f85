"""The sweep at start-up: what it costs, and that nobody's trouble is anybody else's."""

import asyncio
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from loop_world import REPO, LoopWorld

from app.controller.controller import Controller

SUSPENDED = {"message": "This installation has been suspended"}


def _refs(world: LoopWorld, repo: str, names: Iterable[str]) -> None:
    """Ledger refs at any commit: a sweep reads where ledgers are, not what they say."""
    folder = world.folder / repo.replace("/", "-")
    if not folder.exists():
        world.git(world.folder, "clone", "-q", f"{world.emulator.url}/{repo}.git", str(folder))
    url = world.emulator.url.replace("://", f"://x-access-token:{world.token}@")
    world.git(folder, "push", "-q", f"{url}/{repo}.git", *(f"HEAD:refs/agent-recovery/{name}" for name in names))


def _more(world: LoopWorld, owner: str, name: str, tickets: Iterable[int]) -> None:
    world.emulator.repo(owner, name, files={"README.md": name}, collaborators={"wanda": "write"})
    _refs(world, f"{owner}/{name}", [f"active/{ticket}" for ticket in tickets])


def _installation(world: LoopWorld, account: str) -> int:
    headers = {"authorization": f"Bearer {world.emulator.app_jwt(world.app)}"}
    listed = httpx.get(f"{world.emulator.url}/app/installations", headers=headers).raise_for_status().json()
    return next(int(i["id"]) for i in listed if i["account"]["login"] == account)


def _asked(world: LoopWorld, since: int, part: str = "") -> list[dict[str, Any]]:
    seen = world.emulator.requests(since)
    return [r for r in seen if str(r["identity"]).startswith("app:") and part in r["path"]]


async def test_what_start_up_asks_follows_the_active_tickets_and_never_the_finished_ones(world: LoopWorld) -> None:
    _refs(world, REPO, [f"active/{n}" for n in range(1001, 1051)])
    _refs(world, REPO, ["active/1001.docs-1", "results/1001.docs-1.g1", "recovered/1001/abc"])
    asked = []
    for finished in (range(0), range(2001, 2021), range(3001, 3301)):
        _refs(world, REPO, [f"done/{n}" for n in finished] or ["results/1002.docs-1.g1"])
        controller, mark = world.controller(), world.requested()
        await controller.start_up()
        asked.append([(r["method"], r["route"]) for r in _asked(world, mark)])
        tickets = [f"{REPO}#{n}" for n in range(1001, 1051)]
        assert sorted(await world.poked()) == sorted([*tickets, f"{REPO}#1001.docs-1"])
        assert world.writes(mark) == []
    assert asked[0] == asked[1] == asked[2]
    # Two of them save two of every round: the ledgers' refs are read for all rounds together.
    assert len(asked[0]) <= 7


@pytest.mark.parametrize(
    "trouble", ["suspended", "suspended in between", "uninstalled", "no permission", "server error"]
)
async def test_one_installation_without_an_answer_stops_no_other(world: LoopWorld, trouble: str) -> None:
    first = _installation(world, "acme")
    _refs(world, REPO, ["active/7"])
    world.emulator.org("beta")
    _more(world, "beta", "barn", [8])
    world.emulator.installation("agent-recovery", "beta")
    mint = {"path_regex": f"^/app/installations/{first}/access_tokens$"}
    match trouble:
        case "suspended":
            world.emulator.change_installation(first, suspended=True)
        case "suspended in between":
            world.emulator.fault("status", match=mint, times=9, code=403, body=SUSPENDED)
        case "uninstalled":
            world.emulator.fault("status", match=mint, times=9, code=404, body={"message": "Not Found"})
        case "no permission":
            listed = {"path_regex": "^/installation/repositories"}
            refusal = {"message": "Resource not accessible by integration"}
            world.emulator.fault("status", match=listed, times=1, code=403, body=refusal)
        case "server error":
            world.emulator.fault("status", match=mint, times=9, code=500)
    controller, mark = world.controller(), world.requested()
    await controller.start_up()
    assert await world.poked() == ["beta/barn#8"]
    # Nothing is tried again there in the same sweep.
    assert len(_asked(world, mark, f"/{first}/access_tokens")) <= (0 if trouble == "suspended" else 1)

    world.emulator.clear_faults()
    if trouble == "suspended":
        world.emulator.change_installation(first, suspended=False)
    await controller.start_up()
    assert sorted(await world.poked()) == ["acme/shop#7", "beta/barn#8"]


@pytest.mark.parametrize("code", [500, 502])
async def test_a_repository_that_fails_stops_no_other_and_is_looked_at_again(world: LoopWorld, code: int) -> None:
    agent = world.agent(await world.claim(world.controller()))
    agent.push("one")
    _more(world, "acme", "yard", [9])
    failing = {"path_regex": f"^/{REPO}.git/git-upload-pack"}
    world.emulator.fault("status", match=failing, times=1000, code=code)
    controller = world.controller()
    await controller.start_up()
    # Its own key stands for its tickets, which nobody could list; and it stays while the failure lasts.
    (again, other) = [await world.pokes.take("test"), await world.pokes.take("test")]
    assert again is not None
    assert other is not None
    again, other = sorted((again, other), key=lambda poke: poke.key)
    assert (again.key, other.key) == (REPO, "acme/yard#9")
    again_at = await controller._loop._run(again)
    assert again_at is not None
    await world.pokes.settle(other, None)
    await world.pokes.settle(again, controller._loop._clock())

    world.emulator.clear_faults()
    await _until_a_pull_request(world, controller)


async def test_a_repository_that_went_away_is_not_looked_at_again_for_ever(world: LoopWorld) -> None:
    controller = world.controller()
    await world.pokes.poke("acme/gone")
    gone = await world.pokes.take("test")
    assert gone is not None
    assert await controller._loop._run(gone) is None


async def test_an_installation_that_comes_back_is_looked_at_whole(world: LoopWorld) -> None:
    _refs(world, REPO, ["active/7"])
    _more(world, "acme", "barn", [8])
    controller = world.controller()
    await world.pokes.poke(f"installation:{_installation(world, 'acme')}")
    back = await world.pokes.take("test")
    assert back is not None
    assert await controller._loop._run(back) is None
    await world.pokes.settle(back, None)
    assert sorted(await world.poked()) == ["acme/barn#8", "acme/shop#7"]


async def _until_a_pull_request(world: LoopWorld, controller: Controller) -> None:
    stop, deadline = asyncio.Event(), time.monotonic() + 30
    working = asyncio.create_task(controller.work(stop))
    try:
        while not await asyncio.to_thread(world.get, "pulls?state=all"):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
    finally:
        stop.set()
        await working


async def test_a_holder_that_falls_silent_is_looked_at_in_its_time_without_an_event(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    await world.pokes.poke(f"{REPO}#{world.ticket}")
    poke = await world.pokes.take("test")
    assert poke is not None
    due = await controller._loop._run(poke)
    until = agent.grant.expires_at
    assert due is not None
    assert until < due < until + timedelta(minutes=5)
