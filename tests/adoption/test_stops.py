"""Writes off, and the operator's stop of a repository or an account: no write leaves, wherever a round is."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from loop_world import REPO, LoopWorld, claims_of
from operating import Operator

from app.controller.database import Database
from app.controller.stops import KNOWN_FOR_S, Stops
from app.domain.agent_api import ClaimRequest
from app.domain.outcome import Code, Refused
from app.service.settings import BadSettings, load_settings

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
def operator(world: LoopWorld, monkeypatch: pytest.MonkeyPatch) -> Operator:
    return Operator(world, monkeypatch)


def claim() -> ClaimRequest:
    return ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=0, holder="agent")


async def test_a_stopped_repository_is_written_to_no_more_and_goes_on_afterwards(
    world: LoopWorld, operator: Operator
) -> None:
    controller = world.controller(database_file=operator.database)
    agent = world.agent(await world.claim(controller))
    agent.push("one")
    said = await operator.run("stop", "--repo", "Acme/Shop", "--by", "wanda", "--reason", "an incident")
    assert (said.code, "is stopped" in said.out) == (0, True)
    await asyncio.sleep(KNOWN_FOR_S)
    since = world.requested()
    with pytest.raises(Refused) as refused:
        await world.settle(controller)
    assert refused.value.blocked.code is Code.WRITES_OFF
    assert "wanda stopped acme/shop: an incident" in refused.value.blocked.reason
    assert world.writes(since) == []
    assert await world.stops.listed() == ("acme/shop",)
    assert (await operator.run("start", "--repo", REPO)).code == 0
    assert await operator.has_poked(REPO)
    await asyncio.sleep(KNOWN_FOR_S)
    await world.settle(controller)
    assert world.writes(since) != []


async def test_a_holders_git_is_told_of_a_stop_before_it_sends_anything(world: LoopWorld) -> None:
    controller = world.controller()
    claims = claims_of(await world.claim(controller))
    await world.stops.stop("acme", None, by="wanda", reason="an incident", now=NOW)
    with pytest.raises(Refused) as refused:
        await controller.git_access("acme", "shop", claims, to_push=True)
    assert refused.value.blocked.code is Code.WRITES_OFF
    assert (await controller.git_access("acme", "shop", claims, to_push=False)).full_name == REPO


async def empty() -> AsyncIterator[bytes]:
    yield b"0000"


async def test_every_way_to_write_asks_first_and_no_way_to_read_does(world: LoopWorld) -> None:
    repo, _ = await world.controller()._views.ledger("acme", "shop")
    ways, at = repo.session, {"owner": "acme", "repo": "shop"}
    push = f"{repo.clone_url}/git-receive-pack"
    await ways.get("/repos/{owner}/{repo}", at)  # the token is there from now on
    await world.stops.stop("acme", None, by="wanda", reason="x", now=NOW)
    since = world.requested()
    route, mutation = "/{owner}/{repo}.git/git-receive-pack", "mutation M($input: X!) { m(input: $input) { id } }"
    for writing in (
        ways.write("POST", "/repos/{owner}/{repo}/issues", at, {"title": "No"}),
        ways.mutate("M", mutation, {}),
        ways.git("POST", push, route=route, headers={}, content=b"0000"),
        ways.git_open("POST", push, route=route, headers={}, content=empty()),
    ):
        with pytest.raises(Refused):
            await writing
    assert world.emulator.requests(since) == []
    await ways.get("/repos/{owner}/{repo}", at)
    await repo.policy_state(".github/agent-recovery.yml")
    await repo.refs_below("refs/heads/")
    assert len(world.emulator.requests(since)) == 3


async def test_the_loop_leaves_a_stopped_repository_alone_and_keeps_its_pokes(
    world: LoopWorld, operator: Operator
) -> None:
    controller = world.controller(database_file=operator.database)
    await world.claim(controller)
    await world.stops.stop(REPO, None, by="wanda", reason="x", now=NOW)
    since = world.requested()
    stop = asyncio.Event()
    await world.pokes.poke(f"{REPO}#{world.ticket}", REPO)
    working = asyncio.create_task(controller.work(stop))
    async with asyncio.timeout(10):
        while await world.pokes.take("test") is not None or await world.pokes.next_due() is None:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    stop.set()
    await working
    assert world.emulator.requests(since) == []
    assert await world.pokes.next_due() is not None


@pytest.mark.parametrize(
    ("scope", "stopped"),
    [
        pytest.param("acme/shop", True, id="the repository"),
        pytest.param("ACME/Shop", True, id="whatever its spelling"),
        pytest.param("acme", True, id="its account"),
        pytest.param("acme/shop2", False, id="a longer name"),
        pytest.param("acm", False, id="another account"),
        pytest.param("other/shop", False, id="the same name elsewhere"),
    ],
)
async def test_what_a_scope_stops(database: Database, scope: str, stopped: bool) -> None:
    for stops in (Stops(database, always=[scope]), Stops(database)):
        await stops.stop(scope, None, by="wanda", reason="x", now=NOW)
        assert (await stops.blocked("acme/shop", 7) is not None) is stopped


async def test_a_renamed_repository_stays_stopped(database: Database) -> None:
    stops = Stops(database)
    await stops.stop("acme/shop", 7, by="wanda", reason="x", now=NOW)
    assert await stops.blocked("acme/renamed", 7) is not None
    assert await stops.blocked("acme/renamed", 8) is None
    assert await stops.start("acme/renamed", 7)
    assert await stops.blocked("acme/shop", 7) is None


async def test_another_process_learns_of_a_stop_within_a_second(database: Database) -> None:
    now = 0.0
    other = Stops(database, monotonic=lambda: now)
    assert await other.blocked("acme/shop") is None
    await Stops(database).stop("acme/shop", None, by="wanda", reason="x", now=NOW)
    now = KNOWN_FOR_S
    assert await other.blocked("acme/shop") is not None


async def test_the_operators_own_command_passes_a_stop_but_not_writes_off(database: Database) -> None:
    stops = Stops(database, always=["acme"])
    with stops.as_operator():
        assert await stops.blocked("acme/shop") is None
    assert await stops.blocked("acme/shop") is not None
    off = Stops(database, writes=False)
    with off.as_operator():
        assert await off.blocked("acme/shop") is not None
    with Stops(database).only_looking():
        assert await Stops(database).blocked("acme/shop") is not None


async def test_with_writes_off_nothing_is_sent_even_where_a_round_runs(world: LoopWorld) -> None:
    agent = world.agent(await world.claim(world.controller()))
    agent.push("one")
    off, since = world.controller(writes=False), world.requested()
    with pytest.raises(Refused):
        await world.settle(off)
    with pytest.raises(Refused):
        await off.claim("acme", "shop", world.ticket, claim(), "wanda")
    assert world.writes(since) == []


async def test_a_stop_of_the_settings_is_told_where_start_is_tried(
    world: LoopWorld, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_RECOVERY_STOPPED", "other, acme/shop")
    said = await operator.run("start", "--repo", REPO, "--json")
    assert (said.code, said.json["error"]["code"]) == (4, "writes_off")
    assert "AGENT_RECOVERY_STOPPED names acme/shop" in said.json["error"]["message"]
    said = await operator.run("stop", "--account", "acme", "--by", "wanda", "--json")
    assert (said.code, said.json) == (0, {"scope": "acme", "stopped": True})


@pytest.mark.parametrize(
    "words",
    [
        ("stop", "--by", "wanda"),
        ("stop", "--by", "wanda", "--repo", "acme/shop", "--account", "acme"),
        ("stop", "--by", "wanda", "--repo", "acme"),
        ("stop", "--by", "w a", "--repo", "acme/shop"),
        ("start", "--account", "acme/shop"),
    ],
)
async def test_a_wrong_call_says_so(operator: Operator, words: tuple[str, ...]) -> None:
    said = await operator.run(*words, "--json")
    assert (said.code, said.json["error"]["code"]) == (2, "usage")


@pytest.mark.parametrize("value", ["acme/shop other", "https://github.com/acme", "-acme", "acme//shop"])
def test_a_misspelt_scope_stops_the_start(operator: Operator, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("AGENT_RECOVERY_STOPPED", value)
    with pytest.raises(BadSettings, match="AGENT_RECOVERY_STOPPED"):
        load_settings()
