"""The ledgers of releases through real HTTP and real git: everywhere, where updateRefs is refused, and where custom
refs are.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.domain.record import Rebuilt
from app.domain.refs import BRANCH_NAMESPACE, DEFAULT_NAMESPACE, LedgerRefs
from app.domain.release_record import ReleaseRecord, begun
from app.emulator.client import Emulator
from app.github.client import GitHub
from app.github.refs import RefUpdate
from app.github.repository import Repository
from app.ledger.api import Undecided
from app.ledger.codec import NotStorable
from app.ledger.reading import Absent, Damaged
from app.ledger.releases import ReleaseCache, ReleaseLedger, ReleaseLedgerStanding, ReleaseLost, ReleaseWon

BRANCH = "release/1.2 ü"
WHEN = datetime(2026, 11, 30, 4, 0, tzinfo=UTC)
PERMISSIONS = {"metadata": "read", "contents": "write", "workflows": "write"}
WORLDS = {
    "everything works": ({}, DEFAULT_NAMESPACE),
    "updateRefs refused": ({"update_refs": "refused"}, DEFAULT_NAMESPACE),
    "custom refs refused": ({"custom_refs": "refused"}, BRANCH_NAMESPACE),
}
_numbers = itertools.count(1)


async def _no_sleep(seconds: float) -> None:
    await asyncio.sleep(0)


@dataclass
class World:
    emulator: Emulator
    name: str
    repo: Repository
    writers: Any
    cache: ReleaseCache

    def ledger(self, cache: ReleaseCache | None = None) -> ReleaseLedger:
        """A ledger object of its own, as another replica has one."""
        w = self.writers
        return ReleaseLedger(self.repo, w.refs, w.public_keys, w.sealer, cache or ReleaseCache(), sleep=_no_sleep)

    async def born(self) -> ReleaseLedgerStanding:
        won = await self.ledger().write(BRANCH, base=None, record=begun(BRANCH, "main"), event="begun", when=WHEN)
        assert isinstance(won, ReleaseWon), won
        return won.standing

    async def change(self, base: ReleaseLedgerStanding, event: str = "changed", **fields: Any) -> Any:
        record = base.record.model_copy(update=fields)
        return await self.ledger(self.cache).write(BRANCH, base=base, record=record, event=event, when=WHEN)


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Emulator, dict[str, Any]]]:
    with Emulator.start(tmp_path_factory.mktemp("emulator")) as emulator:
        emulator.org("octo-org")
        app = emulator.app("agent-recovery", permissions=PERMISSIONS)
        emulator.installation(app["slug"], "octo-org")
        yield emulator, app


async def _world(emulated: Any, writers: Any, switches: dict[str, str], namespace: str) -> AsyncIterator[World]:
    emulator, app = emulated
    name = f"demo-{next(_numbers)}"
    emulator.repo("octo-org", name, files={"README.md": "hello\n"})
    if switches:
        emulator.switches(f"octo-org/{name}", **switches)
    async with GitHub(app["id"], [app["pem"]], emulator.url, timeout_s=5.0, sleep=_no_sleep) as github:
        repo = await github.repository("octo-org", name)
        mine = replace(writers, repository_id=repo.id, refs=LedgerRefs(namespace))
        yield World(emulator, name, repo, mine, ReleaseCache())
    emulator.clear_faults()


@pytest.fixture(params=WORLDS, ids=[name.replace(" ", "-") for name in WORLDS])
async def world(request: pytest.FixtureRequest, emulated: Any, writers: Any) -> AsyncIterator[World]:
    async for made in _world(emulated, writers, *WORLDS[request.param]):
        yield made


@pytest.fixture
async def plain(emulated: Any, writers: Any) -> AsyncIterator[World]:
    async for made in _world(emulated, writers, {}, DEFAULT_NAMESPACE):
        yield made


async def test_a_release_from_its_birth_on(world: World) -> None:
    ledger = world.ledger()
    assert await ledger.read(BRANCH) == Absent()
    born = await world.born()
    assert (born.record.sequence, born.record.branch, born.record.into) == (1, BRANCH, "main")
    changed = (await world.change(born, pull=7, later_field={"a": 1})).standing
    read = await ledger.read(BRANCH)
    assert isinstance(read, ReleaseLedgerStanding)
    assert (read.entry, read.record) == (changed.entry, changed.record)
    assert read.record.model_extra == {"later_field": {"a": 1}}
    assert read.head.chain == (changed.entry.sha, born.entry.sha)
    assert await ledger.branches() == [(BRANCH, changed.entry.sha)]
    assert await ledger.read("release/1.2") == Absent(), "another release's"


async def test_of_eight_writers_on_one_base_exactly_one_wins(world: World) -> None:
    base = await world.born()
    outcomes = await asyncio.gather(*(world.change(base, pull=number) for number in range(1, 9)))
    won = [outcome for outcome in outcomes if isinstance(outcome, ReleaseWon)]
    lost = [outcome for outcome in outcomes if isinstance(outcome, ReleaseLost)]
    assert (len(won), len(lost)) == (1, 7)
    for outcome in lost:
        assert isinstance(outcome.now, ReleaseLedgerStanding)
        assert outcome.now.entry == won[0].standing.entry


async def test_of_four_births_exactly_one_stands(world: World) -> None:
    births = [
        world.ledger().write(BRANCH, base=None, record=begun(BRANCH, "main"), event="begun", when=WHEN)
        for _ in range(4)
    ]
    outcomes = await asyncio.gather(*births)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["ReleaseLost"] * 3 + ["ReleaseWon"]


@pytest.mark.parametrize("fault", ["drop_after", "status_after"])
async def test_a_write_that_was_carried_out_unheard_is_won(plain: World, fault: str) -> None:
    base = await plain.born()
    more = {"code": 502} if fault == "status_after" else {}
    plain.emulator.fault(fault, match={"operation": "UpdateRefs"}, times=1, **more)
    won = await plain.change(base, pull=7)
    assert isinstance(won, ReleaseWon)
    above = await plain.change(won.standing, pull=8)
    assert isinstance(above, ReleaseWon)


async def test_what_nobody_decides_stays_undecided(plain: World) -> None:
    base = await plain.born()
    plain.emulator.fault("status", match={"operation": "UpdateRefs"}, times=50, code=502)
    plain.emulator.fault("status", match={"path_regex": "git-receive-pack"}, times=50, code=502)
    outcome = await plain.change(base, pull=7)
    assert isinstance(outcome, Undecided)
    assert not outcome.refused


async def test_reading_a_known_head_costs_one_request(plain: World) -> None:
    standing = (await plain.change(await plain.born(), pull=7)).standing
    ledger = plain.ledger(plain.cache)
    before = len(plain.emulator.requests())
    assert await ledger.read(BRANCH) == standing
    assert len(plain.emulator.requests()) - before == 1
    fresh = plain.ledger()
    assert isinstance(await fresh.read(BRANCH), ReleaseLedgerStanding)
    assert len(plain.emulator.requests()) - before == 1 + 2


async def test_a_long_name_has_a_ledger_and_no_other_ones(plain: World) -> None:
    ledger = plain.ledger()
    names = ["release-" + "ü" * 100 + end for end in "ab"]
    for number, name in enumerate(names):
        record = begun(name, "main").model_copy(update={"pull": number + 1})
        assert isinstance(await ledger.write(name, base=None, record=record, event="begun", when=WHEN), ReleaseWon)
    read = [await ledger.read(name) for name in names]
    assert [one.record.pull for one in read if isinstance(one, ReleaseLedgerStanding)] == [1, 2]


async def test_a_ref_in_the_ledgers_place_is_named(plain: World) -> None:
    ref = plain.writers.refs.release(BRANCH)
    head = await plain.repo.commit_of_branch("main")
    await plain.repo.update_refs([RefUpdate(f"{ref}/x", "0" * 40, head or "")])
    found = await plain.ledger().read(BRANCH)
    assert isinstance(found, Damaged)
    assert (found.kind, found.sha) == ("tampered", f"{ref}/x")


async def test_a_record_that_is_too_large_is_not_stored(plain: World) -> None:
    base = await plain.born()
    with pytest.raises(NotStorable, match="at most 49152 are kept"):
        await plain.change(base, reported=tuple(f"{number:0100}" for number in range(600)))
    assert await plain.ledger().read(BRANCH) == base


async def test_a_ledger_is_begun_anew_from_exactly_what_was_seen(plain: World) -> None:
    base = await plain.born()
    head = await plain.repo.commit_of_branch("main")
    ref = plain.writers.refs.release(BRANCH)
    await plain.repo.update_refs([RefUpdate(ref, base.entry.sha, head or "", force=True)])
    ledger = plain.ledger()
    assert isinstance(await ledger.read(BRANCH), Damaged)
    found = await ledger.head(BRANCH)
    anew = ReleaseRecord(branch=BRANCH, into="main", sequence=9, rebuilt=Rebuilt(by="maya", at=WHEN, sequence=9))
    stale = await ledger.begin_anew(BRANCH, anew, found=base.entry.sha, event="rebuilt", when=WHEN)
    assert isinstance(stale, ReleaseLost)
    won = await ledger.begin_anew(BRANCH, anew, found=found, event="rebuilt", when=WHEN)
    assert isinstance(won, ReleaseWon)
    assert won.standing.head.begun_at == 9
    assert await plain.ledger().read(BRANCH) == won.standing
    assert await plain.repo.exact_ref(plain.writers.refs.recovered_release(BRANCH, found)) == found
    above = await plain.change(won.standing, pull=7)
    assert (above.standing.record.sequence, above.standing.record.rebuilt) == (10, anew.rebuilt)


async def test_what_does_not_fit_is_never_written(plain: World) -> None:
    base = await plain.born()
    ledger = plain.ledger()
    rebuilt = Rebuilt(by="maya", at=WHEN, sequence=2)
    wrong = [begun("other", "main"), base.record.model_copy(update={"rebuilt": rebuilt})]
    for record in wrong:
        with pytest.raises(ValueError, match=r"another release's|begun anew"):
            await ledger.write(BRANCH, base=base, record=record, event="changed", when=WHEN)
    with pytest.raises(ValueError, match="only by a person's word"):
        await ledger.begin_anew(BRANCH, base.record, found=base.entry.sha, event="rebuilt", when=WHEN)
