"""The service's ledgers through real HTTP and real git: everywhere, where updateRefs is refused, and where custom refs
are."""

import asyncio
import itertools
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.domain.model import ZERO_SHA
from app.domain.record import MAX_BYTES, Rebuilt, Record
from app.domain.refs import BRANCH_NAMESPACE, DEFAULT_NAMESPACE, LedgerRefs
from app.domain.ticket_id import Child
from app.emulator.client import Emulator
from app.github.client import GitHub
from app.github.errors import NotFound, RefsUndecided, ServerError
from app.github.refs import Occupied, RefUpdate, RefValue
from app.github.repository import Repository
from app.ledger.agent_commits import amend_as_agent
from app.ledger.api import ApiLedger, Lost, Undecided, Won
from app.ledger.codec import Draft, Entry, blob_bytes, commit_bytes, commit_sha, draft_text, dump_fields, tree_bytes
from app.ledger.fitting import NOTICE
from app.ledger.reading import Absent, Damaged, LedgerCache, Standing
from app.ledger.seals import service_secrets

TICKET = 42
WHEN = datetime(2026, 11, 30, 4, 0, tzinfo=UTC)
PERMISSIONS = {"metadata": "read", "contents": "write", "workflows": "write"}
UPDATE = {"operation": "UpdateRefs"}
WORLDS = {
    "everything works": ({}, DEFAULT_NAMESPACE),
    "updateRefs refused": ({"update_refs": "refused"}, DEFAULT_NAMESPACE),
    "custom refs refused": ({"custom_refs": "refused"}, BRANCH_NAMESPACE),
}
_numbers = itertools.count(1)


@dataclass
class World:
    emulator: Emulator
    data: Path
    app: dict[str, Any]
    name: str
    github: GitHub
    repo: Repository
    writers: Any
    cache: LedgerCache
    updates_refused: bool

    @property
    def ledger(self) -> ApiLedger:
        """A ledger object of its own, as another replica has one; what is learned is shared."""
        return self.replica(self.cache)

    def replica(self, cache: LedgerCache | None = None) -> ApiLedger:
        secrets = service_secrets({"l1": self.writers.lease_key}, self.repo.id)
        w = self.writers
        return ApiLedger(self.repo, w.refs, w.public_keys, w.sealer, secrets, cache, sleep=_no_sleep)

    @property
    def bare(self) -> Path:
        return self.data / "repos" / f"{self.repo.id}.git"

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        command = ["git", "-C", str(self.bare), *arguments]
        names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        done = subprocess.run(command, input=stdin, capture_output=True, env={**os.environ, **names})
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def refs(self) -> dict[str, str]:
        """Everything in the ledger's namespace, by its short name."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)", self.writers.refs.namespace).splitlines()
        prefix = self.writers.refs.namespace + "/"
        return {name.removeprefix(prefix): sha for name, sha in (line.split(" ") for line in lines)}

    def put(self, entry: Any, ref: str | None = None) -> str:
        """Stores a commit that was written without GitHub, and points a ref to it."""
        made = Draft("", entry.parent, entry.code_parent, entry.record_text, entry.tree, entry.message, WHEN)
        for kind, content in (
            ("blob", blob_bytes(made.record_text)),
            ("tree", tree_bytes(made.record_text)),
            ("commit", commit_bytes(made)),
        ):
            sha = self.git("hash-object", "-w", "--stdin", "-t", kind, stdin=content)
        self.git("update-ref", ref or self.writers.refs.active(TICKET), sha)
        return sha

    @contextmanager
    def counted(self) -> Iterator[list[dict[str, Any]]]:
        """The requests to GitHub within the block, tokens left out."""
        before = self.emulator.requests()
        found: list[dict[str, Any]] = []
        yield found
        last = before[-1]["n"] if before else 0
        found += [r for r in self.emulator.requests(last) if "access_tokens" not in r["path"]]

    async def born(self) -> Standing:
        won = await self.ledger.write(
            TICKET, base=None, record=Record(ticket=TICKET, sequence=1, status="unclaimed"), event="born", when=WHEN
        )
        assert isinstance(won, Won), won
        return won.standing

    async def change(self, base: Standing, event: str = "changed", **fields: Any) -> Any:
        """One write on top of a base; `to` and `also` go to the write, the rest into the record."""
        extra = {name: fields.pop(name) for name in ("to", "also", "code_parent") if name in fields}
        record = base.record.model_copy(update={"sequence": base.record.sequence + 1, **fields})
        return await self.ledger.write(TICKET, base=base, record=record, event=event, when=WHEN, **extra)

    async def claimed(self) -> Standing:
        won = await self.change(
            await self.born(), "claimed", status="working", generation=1, lease=self.writers.lease()
        )
        assert isinstance(won, Won), won
        return won.standing


async def _no_sleep(seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Emulator, Path, dict[str, Any]]]:
    data = tmp_path_factory.mktemp("emulator")
    with Emulator.start(data) as emulator:
        emulator.org("octo-org")
        app = emulator.app("agent-recovery", permissions=PERMISSIONS)
        emulator.installation(app["slug"], "octo-org")
        yield emulator, data, app


async def _world(emulated: Any, writers: Any, switches: dict[str, str], namespace: str) -> AsyncIterator[World]:
    emulator, data, app = emulated
    name = f"demo-{next(_numbers)}"
    emulator.repo("octo-org", name, files={"README.md": "hello\n"}, branches={"release": None})
    if switches:
        emulator.switches(f"octo-org/{name}", **switches)
    async with GitHub(app["id"], [app["pem"]], emulator.url, timeout_s=5.0, sleep=_no_sleep) as github:
        repo = await github.repository("octo-org", name)
        mine = replace(writers, repository_id=repo.id, refs=LedgerRefs(namespace))
        yield World(emulator, data, app, name, github, repo, mine, LedgerCache(), "update_refs" in switches)
    emulator.clear_faults()


@pytest.fixture(params=WORLDS, ids=[name.replace(" ", "-") for name in WORLDS])
async def world(request: pytest.FixtureRequest, emulated: Any, writers: Any) -> AsyncIterator[World]:
    async for made in _world(emulated, writers, *WORLDS[request.param]):
        yield made


@pytest.fixture
async def plain(emulated: Any, writers: Any) -> AsyncIterator[World]:
    async for made in _world(emulated, writers, {}, DEFAULT_NAMESPACE):
        yield made


# -- in all three worlds ---------------------------------------------------------------------------------------------


async def test_a_life_from_birth_to_its_end_and_back(world: World) -> None:
    assert await world.ledger.read(TICKET) == Absent()
    born = await world.born()
    assert world.refs() == {"active/42": born.entry.sha, "done/42": born.entry.sha}
    read = await world.replica().read(TICKET)
    assert isinstance(read, Standing)
    assert (read.unborn, read.entry) == (True, born.entry)

    claimed = (await world.change(read, status="working", generation=1, lease=world.writers.lease())).standing
    assert world.refs() == {"active/42": claimed.entry.sha}
    assert not claimed.unborn

    ended = (await world.change(claimed, "cancelled", status="cancelled", to="done")).standing
    assert world.refs() == {"done/42": ended.entry.sha}
    read = await world.replica().read(TICKET)
    assert isinstance(read, Standing)
    assert (read.place, read.record.status) == ("done", "cancelled")

    noted = (await world.change(read, "noted", status="landed", to="done")).standing
    back = await world.change(noted, "claimed", status="working", generation=2, lease=world.writers.lease(2, "n2"))
    assert world.refs() == {"active/42": back.entry.sha}
    assert [e.sha for e in back.standing.entries] == [back.entry.sha]
    story = world.git("log", "--first-parent", "--format=%s", back.entry.sha).splitlines()
    assert story == ["42 · claimed", "42 · noted", "42 · cancelled", "42 · changed", "42 · born"]


async def test_an_unborn_ticket_can_be_cancelled(world: World) -> None:
    ended = await world.change(await world.born(), status="cancelled", to="done")
    assert world.refs() == {"done/42": ended.entry.sha}


@pytest.mark.parametrize("start", ["born", "claimed"])
async def test_of_eight_writers_on_one_base_exactly_one_wins(world: World, start: str) -> None:
    base = await (world.born() if start == "born" else world.claimed())
    leases = [world.writers.lease(base.record.generation + 1, f"n{number}") for number in range(8)]
    outcomes = await asyncio.gather(
        *(world.change(base, status="working", generation=lease.generation, lease=lease) for lease in leases)
    )
    won = [outcome for outcome in outcomes if isinstance(outcome, Won)]
    lost = [outcome for outcome in outcomes if isinstance(outcome, Lost)]
    assert (len(won), len(lost)) == (1, 7)
    assert world.refs() == {"active/42": won[0].entry.sha}
    for outcome in lost:
        assert isinstance(outcome.now, Standing)
        assert outcome.now.entry == won[0].entry
        assert world.writers.refs.active(TICKET) in outcome.elsewhere


async def test_of_four_births_exactly_one_stands(world: World) -> None:
    record = Record(ticket=TICKET, sequence=1, status="unclaimed")
    outcomes = await asyncio.gather(
        *(world.ledger.write(TICKET, base=None, record=record, event="born", when=WHEN) for _ in range(4))
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Lost", "Lost", "Lost", "Won"]


async def test_a_branch_moves_together_with_the_ledger_or_not_at_all(world: World) -> None:
    base = await world.claimed()
    release = await world.repo.commit_of_branch("release")
    assert release is not None
    new = RefUpdate("refs/heads/ticket/42", ZERO_SHA, release)
    won = await world.change(base, also=[new], code_parent=release)
    assert isinstance(won, Won)
    assert await world.repo.commit_of_branch("ticket/42") == release
    assert world.git("rev-parse", f"{won.entry.sha}^2") == release

    lost = await world.change(won.standing, also=[new])
    assert isinstance(lost, Lost)
    assert lost.elsewhere == ("refs/heads/ticket/42",)
    assert isinstance(lost.now, Standing)
    assert world.refs() == {"active/42": won.entry.sha} == {"active/42": lost.now.entry.sha}


async def test_the_index_lists_tickets_and_children_in_progress_and_nothing_else(world: World) -> None:
    base = await world.claimed()
    refs = world.writers.refs
    child = Child(42, "docs-1")
    for name in (refs.active(child), refs.active(7), refs.done(8), refs.active_prefix + "042"):
        world.git("update-ref", name, base.entry.sha)
    assert await world.ledger.active_tickets() == [(ticket, base.entry.sha) for ticket in (7, 42, child)]


async def test_a_refusal_of_updateRefs_is_learned_once(world: World) -> None:
    base = await world.claimed()
    with world.counted() as requests:
        assert isinstance(await world.change(base), Won)
    updates = [r for r in requests if r["operation"] == "UpdateRefs"]
    is_refused = world.repo.id in world.cache.refused.repositories
    assert is_refused == world.updates_refused
    assert len(updates) == (0 if is_refused else 1)
    assert len(requests) == (4 if is_refused else 3)


# -- reading ---------------------------------------------------------------------------------------------------------


async def test_a_cold_read_costs_three_requests_and_a_warm_one_two(plain: World) -> None:
    await plain.claimed()
    replica = plain.replica()
    for expected in (["rest", "rest", "graphql"], ["rest", "rest"]):
        with plain.counted() as requests:
            assert isinstance(await replica.read(TICKET), Standing)
        assert [r["kind"] for r in requests] == expected


def by_holder(world: World, parent: Entry, code: str | None = None, text: str | None = None) -> Entry:
    """A holder's commit on top of another, stored, with the ledger's ref on it; honest unless `text` is its record."""
    record = parent.record
    assert isinstance(record, Record)
    made = draft_text(
        ref=world.writers.refs.active(TICKET),
        parent=parent.sha,
        code_parent=code,
        record_text=text or amend_as_agent(parent),
        event="pushed",
        repository_id=world.repo.id,
        sealer=world.writers.lease_sealer(),
        request=None,
        when=WHEN,
        nonce=None,
        numbers=(TICKET, record.generation, record.sequence + 1),
    )
    entry = made.entry(commit_sha(made))
    world.put(entry)
    return entry


@pytest.mark.parametrize("shown", ["in no place", "in both places"])
async def test_what_shows_only_while_the_ledger_is_being_moved_is_not_believed(
    plain: World, monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    base = await plain.claimed()
    ended = (await plain.change(base, status="cancelled", to="done")).standing
    exact, calls = plain.repo.place_and_branches_of_ref, itertools.count()

    async def torn(ref: str) -> tuple[RefValue | Occupied | None, tuple[RefValue, ...]]:
        if next(calls) < 2:
            both = {plain.writers.refs.active(TICKET): base.entry.sha, plain.writers.refs.done(TICKET): ended.entry.sha}
            return (RefValue(ref, both[ref]) if shown == "in both places" and ref in both else None), ()
        return await exact(ref)

    monkeypatch.setattr(plain.repo, "place_and_branches_of_ref", torn)
    read = await plain.replica().read(TICKET)
    assert isinstance(read, Standing)
    assert (read.place, read.entry) == ("done", ended.entry)


async def test_a_birth_between_two_looks_is_no_damage(plain: World, monkeypatch: pytest.MonkeyPatch) -> None:
    born = await plain.born()
    exact, calls = plain.repo.place_and_branches_of_ref, itertools.count()

    async def torn(ref: str) -> tuple[RefValue | Occupied | None, tuple[RefValue, ...]]:
        # The first look came before the birth. In the second the place under active was read before it, done after.
        number = next(calls)
        return (None, ()) if number < 2 or (number < 4 and "/active/" in ref) else await exact(ref)

    monkeypatch.setattr(plain.repo, "place_and_branches_of_ref", torn)
    read = await plain.replica().read(TICKET)
    assert isinstance(read, Standing)
    assert (read.entry, read.unborn) == (born.entry, True)


async def test_a_claim_after_a_half_seen_birth_leaves_nothing_behind(
    plain: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    born = await plain.born()
    exact, calls = plain.repo.place_and_branches_of_ref, itertools.count()

    async def torn(ref: str) -> tuple[RefValue | Occupied | None, tuple[RefValue, ...]]:
        return (None, ()) if next(calls) < 2 and "/done/" in ref else await exact(ref)

    monkeypatch.setattr(plain.repo, "place_and_branches_of_ref", torn)
    read = await plain.replica().read(TICKET)
    assert isinstance(read, Standing)
    assert (read.entry, read.unborn) == (born.entry, True)
    won = await plain.change(read, "claimed", status="working", generation=1, lease=plain.writers.lease())
    assert isinstance(won, Won)
    assert await exact(plain.writers.refs.done(TICKET)) == (None, ())


async def test_a_look_during_the_birth_and_one_during_the_claim_agree_and_are_no_damage(
    plain: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    born = await plain.born()
    exact, calls = plain.repo.place_and_branches_of_ref, itertools.count()

    async def torn(ref: str) -> tuple[RefValue | Occupied | None, tuple[RefValue, ...]]:
        # First: done before the birth, active after it. Second: active before the claim, done after it.
        if next(calls) < 4:
            return (RefValue(ref, born.entry.sha) if "/active/" in ref else None), ()
        return await exact(ref)

    read = await plain.replica().read(TICKET)
    assert isinstance(read, Standing)
    claimed = await plain.change(read, "claimed", status="working", generation=1, lease=plain.writers.lease())
    assert isinstance(claimed, Won)
    monkeypatch.setattr(plain.repo, "place_and_branches_of_ref", torn)
    read = await plain.replica().read(TICKET)
    assert isinstance(read, Standing)
    assert (read.entry, read.unborn) == (claimed.standing.entry, False)


async def test_looks_that_never_agree_are_no_answer(plain: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await plain.born()
    exact, calls = plain.repo.place_and_branches_of_ref, itertools.count()

    async def torn(ref: str) -> tuple[RefValue | Occupied | None, tuple[RefValue, ...]]:
        return (None, ()) if next(calls) // 2 % 2 == 0 or "/active/" in ref else await exact(ref)

    monkeypatch.setattr(plain.repo, "place_and_branches_of_ref", torn)
    with pytest.raises(ServerError, match="at every look"):
        await plain.replica().read(TICKET)


@pytest.mark.parametrize(("length", "pages"), [(3, 1), (64, 1), (130, 2)])
async def test_a_tail_of_holders_commits_is_read_and_checked(plain: World, length: int, pages: int) -> None:
    head = (await plain.claimed()).entry
    for _ in range(length):
        head = by_holder(plain, head)
    with plain.counted() as requests:
        read = await plain.replica().read(TICKET)
    assert isinstance(read, Standing), read
    assert (read.tail, read.record.renewals, read.entry.sha) == (length, length, head.sha)
    assert [r["kind"] for r in requests] == ["rest", "rest"] + ["graphql"] * pages


async def test_a_code_commit_with_the_same_record_hides_nothing(plain: World) -> None:
    """A path's history follows only the parent whose file is equal: a holder could let a ledger commit vanish in it."""
    base = await plain.claimed()
    tree = plain.git("mktree", stdin=_tree_line(plain, amend_as_agent(base.entry)))
    code = plain.git("commit-tree", tree, "-m", "code")
    by_holder(plain, by_holder(plain, base.entry, code))
    read = await plain.replica().read(TICKET)
    assert isinstance(read, Standing), read
    assert read.tail == 2


def _tree_line(world: World, text: str) -> bytes:
    blob = world.git("hash-object", "-w", "--stdin", stdin=text.encode())
    return f"100644 blob {blob}\trecord.json\n".encode()


async def test_a_record_that_its_holder_filled_to_the_last_byte_is_still_claimed(plain: World) -> None:
    base = await plain.claimed()
    fields = json.loads(amend_as_agent(base.entry))
    fields["validations"] = [{"log": ""}]
    fields["validations"][0]["log"] = "x" * (MAX_BYTES - len(dump_fields(fields)))
    full = by_holder(plain, base.entry, text=dump_fields(fields))
    assert len(full.record_text or "") == MAX_BYTES
    read = await plain.ledger.read(TICKET)
    assert isinstance(read, Standing), read

    won = await plain.change(read, "claimed", generation=2, lease=plain.writers.lease(2, "n2", "a successor"))
    assert isinstance(won, Won), won
    again = await plain.replica().read(TICKET)
    assert isinstance(again, Standing)
    assert again.record == won.standing.record
    assert again.record.checkpoint.blockers == (NOTICE + "validations",)


Forgery = Callable[[World, Standing], object]


def _forged_seal(world: World, base: Standing) -> None:
    entry = world.writers.sealed(world.writers.held(sequence=3), base.entry, repository_id=1)
    world.put(entry)


def _plain_commit(world: World, base: Standing) -> None:
    tree = world.git("mktree", stdin=_tree_line(world, base.entry.record_text or ""))
    commit = world.git("commit-tree", tree, "-p", base.entry.sha, "-m", "42 · landed")
    world.git("update-ref", world.writers.refs.active(TICKET), commit)


def _other_ticket(world: World, base: Standing) -> None:
    other = replace(world.writers, ticket=43)
    world.put(other.sealed(other.held()))


def _both_places(world: World, base: Standing) -> None:
    world.git("update-ref", world.writers.refs.done(TICKET), base.entry.sha)


def _moved_to_done(world: World, base: Standing) -> None:
    _both_places(world, base)
    world.git("update-ref", "-d", world.writers.refs.active(TICKET))


def _blob(world: World, base: Standing) -> None:
    blob = world.git("hash-object", "-w", "--stdin", stdin=b"x")
    world.git("update-ref", world.writers.refs.active(TICKET), blob)


def _code_branch(world: World, base: Standing) -> None:
    world.git("update-ref", world.writers.refs.active(TICKET), world.git("rev-parse", "refs/heads/main"))


def _newer(world: World, base: Standing) -> None:
    tree = world.git("mktree", stdin=_tree_line(world, '{"schema":99}'))
    commit = world.git("commit-tree", tree, "-p", base.entry.sha, "-m", "newer")
    world.git("update-ref", world.writers.refs.active(TICKET), commit)


async def test_a_tail_under_a_lease_key_that_was_taken_away_is_not_called_tampered(plain: World) -> None:
    base = await plain.claimed()
    by_holder(plain, base.entry)
    w = plain.writers
    later = ApiLedger(plain.repo, w.refs, w.public_keys, w.sealer, service_secrets({"l2": b"M" * 32}, plain.repo.id))
    read = await later.read(TICKET)
    assert isinstance(read, Damaged)
    assert (read.kind, read.reason) == (
        "unreadable",
        "its holder sealed under a lease key this service does not have any more",
    )
    assert isinstance(await plain.replica().read(TICKET), Standing)


async def test_a_ref_on_the_codes_history_costs_one_query_and_then_none(plain: World) -> None:
    commits = (f"commit refs/heads/long\ncommitter a <a@b> {n} +0000\ndata 1\nx\n" for n in range(300))
    plain.git("fast-import", "--quiet", stdin="".join(commits).encode())
    plain.git("update-ref", plain.writers.refs.active(TICKET), "refs/heads/long")
    replica = plain.replica()
    for expected in (["rest", "rest", "graphql"], ["rest", "rest"]):
        with plain.counted() as requests:
            read = await replica.read(TICKET)
        assert isinstance(read, Damaged)
        assert [r["kind"] for r in requests] == expected


async def test_a_forged_tail_is_read_no_further_than_its_first_unsealed_commit(plain: World) -> None:
    base = await plain.claimed()
    _plain_commit(plain, base)
    forged = replace(base.entry, sha=plain.refs()["active/42"])
    for _ in range(3):
        forged = by_holder(plain, forged)
    replica = plain.replica()
    # The unsealed commit repeats its parent's record, so the path's history leaves it out: that is the second query.
    for expected in (["rest", "rest", "graphql", "graphql"], ["rest", "rest"]):
        with plain.counted() as requests:
            read = await replica.read(TICKET)
        assert isinstance(read, Damaged), read
        assert (read.kind, read.sha) == ("tampered", plain.git("rev-parse", "refs/agent-recovery/active/42~3"))
        assert [r["kind"] for r in requests] == expected


async def test_a_commit_that_shows_later_than_its_ref_is_looked_for_again(
    plain: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = await plain.claimed()
    history, calls = plain.repo.ledger_history, itertools.count()

    async def late(oid: str) -> Any:
        if next(calls) == 0:
            raise NotFound("there is no such commit", route="LedgerHistory")
        return await history(oid)

    monkeypatch.setattr(plain.repo, "ledger_history", late)
    read = await plain.replica().read(TICKET)
    assert isinstance(read, Standing)
    assert read.entry == base.entry


@pytest.mark.parametrize(
    ("forgery", "kind"),
    [
        (_forged_seal, "tampered"),
        (_plain_commit, "tampered"),
        (_other_ticket, "tampered"),
        (_both_places, "tampered"),
        (_moved_to_done, "tampered"),
        (_blob, "unreadable"),
        (_code_branch, "unreadable"),
        (_newer, "newer"),
    ],
)
async def test_a_ledger_that_strangers_touched_is_damaged(plain: World, forgery: Forgery, kind: str) -> None:
    base = await plain.claimed()
    forgery(plain, base)
    read = await plain.replica().read(TICKET)
    assert isinstance(read, Damaged), read
    assert read.kind == kind
    assert read.reason
    refs = plain.refs()
    if refs.get("active/42") != base.entry.sha:
        lost = await plain.change(base)
        assert isinstance(lost, Lost)
        assert lost.now == read
        assert plain.refs() == refs


# -- answers that were lost (the ownership protocol, R8) -------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("drop_before", {}),
        ("drop_after", {}),
        ("status_after", {"code": 502}),
        ("status", {"code": 502}),
        ("graphql_error", {}),
        ("late", {"after": 1}),
        ("late", {"after": 2}),
        ("late", {"after": 4}),
        ("late", {"after": 9}),
    ],
)
@pytest.mark.parametrize("times", [1, 3])
async def test_a_write_whose_answer_was_lost_is_found(
    plain: World, kind: str, options: dict[str, Any], times: int
) -> None:
    base = await plain.claimed()
    plain.emulator.fault(kind, match=UPDATE, times=times, **options)
    won = await plain.change(base)
    assert isinstance(won, Won), won
    assert plain.refs() == {"active/42": won.entry.sha}
    for _ in range(10):
        await plain.repo.matching_refs("refs/heads/main")
    assert plain.refs() == {"active/42": won.entry.sha}, "a request that came late changed something"
    assert won.entry.parent == base.entry.sha


@pytest.mark.parametrize("path", ["/git/trees", "/git/commits"])
@pytest.mark.parametrize("kind", ["drop_before", "drop_after"])
async def test_objects_whose_answer_was_lost_are_made_again(plain: World, path: str, kind: str) -> None:
    base = await plain.claimed()
    plain.emulator.fault(kind, match={"path_regex": path, "method": "POST"})
    assert isinstance(await plain.change(base), Won)


async def test_a_move_whose_answer_was_lost_is_found_in_the_other_place(plain: World) -> None:
    base = await plain.claimed()
    plain.emulator.fault("drop_after", match=UPDATE)
    won = await plain.change(base, status="cancelled", to="done")
    assert isinstance(won, Won)
    assert plain.refs() == {"done/42": won.entry.sha}


@pytest.mark.parametrize("on_top", ["active", "done"])
async def test_our_write_landed_and_somebody_built_on_it_before_we_read(
    plain: World, monkeypatch: pytest.MonkeyPatch, on_top: str
) -> None:
    base = await plain.claimed()
    update = plain.repo.update_refs
    calls = itertools.count()

    async def unheard(updates: Any) -> None:
        await update(updates)
        if next(calls) == 0:
            ours = await plain.ledger.read(TICKET)
            assert isinstance(ours, Standing)
            fields = {"to": "done", "status": "cancelled"} if on_top == "done" else {}
            assert isinstance(await plain.change(ours, "built on it", **fields), Won)
            raise RefsUndecided("connection lost")

    monkeypatch.setattr(plain.repo, "update_refs", unheard)
    won = await plain.change(base)
    assert isinstance(won, Won)
    assert plain.git("rev-parse", f"{plain.refs()[f'{on_top}/42']}^") == won.entry.sha


@pytest.mark.parametrize("shown", ["an older commit", "nothing"])
async def test_a_read_that_lags_is_asked_again(plain: World, monkeypatch: pytest.MonkeyPatch, shown: str) -> None:
    first = await plain.claimed()
    second = (await plain.change(first)).standing
    exact, calls = plain.repo.place_of_ref, itertools.count()

    async def lagging(ref: str) -> RefValue | Occupied | None:
        if next(calls) < 4:
            old = RefValue(ref, first.entry.sha) if ref == plain.writers.refs.active(TICKET) else None
            return old if shown == "an older commit" else None
        return await exact(ref)

    monkeypatch.setattr(plain.repo, "place_of_ref", lagging)
    plain.emulator.fault("drop_after", match=UPDATE)
    assert isinstance(await plain.change(second), Won)


async def test_where_nothing_helps_the_write_is_undecided_and_says_what_git_said(plain: World) -> None:
    base = await plain.claimed()
    plain.emulator.switches(f"octo-org/{plain.name}", custom_refs="refused")
    with plain.counted() as requests:
        outcome = await plain.change(base)
    assert isinstance(outcome, Undecided)
    assert "hidden ref" in outcome.reason
    assert plain.refs() == {"active/42": base.entry.sha}
    sent = [r for r in requests if r["operation"] == "UpdateRefs"]
    assert len(sent) == 6
    assert sum(r["method"] == "POST" and r["path"].endswith("git-receive-pack") for r in requests) == 1
    assert plain.cache.refused.repositories == set()


async def test_lost_answers_alone_do_not_teach_that_updateRefs_is_refused(plain: World) -> None:
    base = await plain.claimed()
    plain.emulator.fault("drop_before", match=UPDATE, times=6)
    assert isinstance(await plain.change(base), Won)
    assert plain.cache.refused.repositories == set()


async def test_a_ledger_that_was_deleted_or_put_back_is_lost_and_not_written(plain: World) -> None:
    first = await plain.claimed()
    second = (await plain.change(first)).standing
    plain.git("update-ref", plain.writers.refs.active(TICKET), first.entry.sha)
    lost = await plain.change(second)
    assert isinstance(lost, Lost)
    assert plain.refs() == {"active/42": first.entry.sha}
    plain.git("update-ref", "-d", plain.writers.refs.active(TICKET))
    lost = await plain.change(second)
    assert isinstance(lost, Lost)
    assert lost.now == Absent()
    assert plain.refs() == {}


# -- what is never sent ----------------------------------------------------------------------------------------------


async def test_a_record_that_does_not_fit_its_base_or_place_is_not_written(plain: World) -> None:
    base = await plain.claimed()
    with plain.counted() as requests:
        for fields in ({"sequence": 9}, {"ticket": 43}, {"status": "landed"}, {"to": "done"}, {"generation": 0}):
            with pytest.raises(ValueError, match=r"record|sequence|belong"):
                await plain.change(base, **fields)
        held = base.record.model_copy(update={"sequence": 1})
        with pytest.raises(ValueError, match="born"):
            await plain.ledger.write(TICKET, base=None, record=held, event="born", when=WHEN)
    assert requests == []


async def test_what_is_written_on_a_ledger_that_was_begun_anew_stands_in_one_place(plain: World) -> None:
    base = await plain.claimed()
    ledger = plain.ledger
    anew = {"sequence": base.record.sequence + 1, "generation": base.record.generation + 1, "status": "unclaimed"}
    rebuilt = Rebuilt(by="wanda", at=WHEN, sequence=base.record.sequence + 1)
    record = base.record.model_copy(update={**anew, "lease": None, "rebuilt": rebuilt})
    begun = await ledger.begin_anew(TICKET, record, heads=await ledger.heads(TICKET), event="rebuilt", when=WHEN)
    assert isinstance(begun, Won)
    assert not begun.standing.unborn
    assert await plain.replica().read(TICKET) == begun.standing
    won = await plain.change(begun.standing, "claimed", status="working", lease=plain.writers.lease())
    assert isinstance(won, Won)
    assert plain.refs()["active/42"] == won.entry.sha
    assert "done/42" not in plain.refs()
