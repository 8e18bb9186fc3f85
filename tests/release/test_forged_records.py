"""A release's ledger that somebody with `contents: write` forged, copied, rolled back or took away, by plain git: none
of it is ever a ledger that may be acted on.

Every row is pushed by real git. What is shown to hold is the reading and, where the commit is one of the service's own,
the witnesses: the service's table, or a guard run where the table is gone.
"""

import asyncio
import itertools
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.controller.database import Database
from app.controller.release_witnessing import ReleaseWitnessing
from app.controller.witnesses import Witnesses
from app.domain.record import Rebuilt, Record
from app.domain.refs import BRANCH_NAMESPACE, LedgerRefs
from app.domain.release_external_id import witness
from app.domain.release_observation import GuardRun
from app.domain.release_record import Authorization, Person, ReleaseRecord, Source, Voided, begun
from app.domain.report import Frozen
from app.emulator.client import Emulator
from app.github.client import GitHub
from app.github.repository import Repository
from app.ledger.api import ApiLedger, Won
from app.ledger.codec import Draft, blob_bytes, commit_bytes, commit_sha, tree_bytes, tree_sha
from app.ledger.reading import Absent, Damaged
from app.ledger.release_codec import release_draft
from app.ledger.releases import ReleaseLedger, ReleaseLedgerStanding, ReleaseReading, ReleaseWon
from app.ledger.seals import (
    SEAL_PREFIX,
    LeaseSealer,
    PublicKeys,
    ServiceSealer,
    seal_preimage,
    service_secrets,
    split_message,
)

pytestmark = pytest.mark.drill

WHEN = datetime(2026, 11, 30, 4, 0, tzinfo=UTC)
HEAD = "c" * 40
_numbers = itertools.count(1)


async def _no_sleep(seconds: float) -> None:
    await asyncio.sleep(0)


@dataclass
class Ground:
    """A repository with the service's keys beside it, and a clone of somebody who may write."""

    emulator: Emulator
    repo: Repository
    clone: Path
    sealer: ServiceSealer
    refs: LedgerRefs

    def ledger(self) -> ReleaseLedger:
        """A replica that has judged nothing yet."""
        keys = PublicKeys({self.sealer.kid: self.sealer.public_key})
        return ReleaseLedger(self.repo, self.refs, keys, self.sealer, sleep=_no_sleep)

    def tickets(self) -> ApiLedger:
        keys = PublicKeys({self.sealer.kid: self.sealer.public_key})
        return ApiLedger(self.repo, self.refs, keys, self.sealer, service_secrets({}, self.repo.id), sleep=_no_sleep)

    def git(self, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> str:
        names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        done = subprocess.run(
            ["git", "-C", str(self.clone), *arguments],
            input=stdin,
            capture_output=True,
            env={**os.environ, **names, "GIT_TERMINAL_PROMPT": "0", **(env or {})},
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def push(self, sha: str, ref: str) -> None:
        self.git("push", "-q", "origin", f"+{sha}:{ref}")

    def fetch(self) -> None:
        self.git("fetch", "-q", "--prune", "--force", "origin", f"+{self.refs.namespace}/*:refs/kept/*")

    def commit(self, made: Draft, tree: str | None = None) -> str:
        """The commit in the clone, as it is told, whatever it says."""
        self.stored("blob", blob_bytes(made.record_text))
        self.stored("tree", tree_bytes(made.record_text))
        return self.stored("commit", commit_bytes(replace(made, tree=tree or made.tree)))

    def stored(self, kind: str, content: bytes) -> str:
        return self.git("hash-object", "-w", "-t", kind, "--stdin", "--literally", stdin=content)


@dataclass
class Release:
    """One release with three commits: begun, authorized by maya, revoked. The receipt is live in `authorized` alone."""

    ground: Ground
    branch: str
    born: ReleaseLedgerStanding
    authorized: ReleaseLedgerStanding
    revoked: ReleaseLedgerStanding

    @property
    def ref(self) -> str:
        return self.ground.refs.release(self.branch)

    def live(self) -> ReleaseRecord:
        """The record that a forger wants to stand: the present one with the receipt live again."""
        sequence = self.revoked.record.sequence + 1
        return self.authorized.record.model_copy(update={"sequence": sequence})

    def draft(self, record: ReleaseRecord | None = None, **changes: Any) -> Draft:
        """The commit that the service would make on the present head, changed."""
        made: dict[str, Any] = {
            "refs": self.ground.refs,
            "parent": self.revoked.entry.sha,
            "record": record or self.live(),
            "event": "authorized",
            "repository_id": self.ground.repo.id,
            "sealer": FORGERS,
            "request": None,
            "when": WHEN,
            "nonce": "n1",
        }
        return release_draft(**{**made, **changes})

    def put(self, sha: str) -> None:
        self.ground.push(sha, self.ref)


FORGERS = ServiceSealer("mine", Ed25519PrivateKey.generate())


def receipt() -> Authorization:
    return Authorization(
        id="7",
        pull=5,
        base="main",
        head_sha=HEAD,
        by=Person(login="maya", id=3),
        at=WHEN,
        expires_at=WHEN + timedelta(days=1),
        source=Source(comment_id=7, number=5, created_at=WHEN, body_digest="0" * 64),
    )


async def written(ground: Ground, branch: str) -> Release:
    ledger = ground.ledger()
    voided = receipt().model_copy(update={"voided": Voided(why="revoked", at=WHEN, by="maya")})
    standings: list[ReleaseLedgerStanding] = []
    for authorizations in ((), (receipt(),), (voided,)):
        base = standings[-1] if standings else None
        record = (base.record if base else begun(branch, "main")).model_copy(update={"authorizations": authorizations})
        won = await ledger.write(branch, base=base, record=record, event="changed", when=WHEN)
        assert isinstance(won, ReleaseWon), won
        standings.append(won.standing)
    ground.fetch()
    return Release(ground, branch, *standings)


@pytest.fixture(scope="module")
def place(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    token = emulator.user("mallory")["token"]
    emulator.org("octo-org")
    app = emulator.app("octo-recovery", permissions={"metadata": "read", "contents": "write"})
    emulator.installation("octo-recovery", "octo-org")
    emulator.repo("octo-org", "demo", files={"README.md": "hello\n"}, collaborators={"mallory": "write"})
    clone = tmp_path_factory.mktemp("mallory") / "demo"
    url = emulator.url.replace("http://", f"http://x-access-token:{token}@")
    subprocess.run(["git", "clone", "-q", f"{url}/octo-org/demo.git", str(clone)], check=True, capture_output=True)
    return app, clone


@pytest.fixture
async def release(emulator: Emulator, place: tuple[dict[str, Any], Path]) -> AsyncIterator[Release]:
    app, clone = place
    async with GitHub(app["id"], [app["pem"]], emulator.url, sleep=_no_sleep) as github:
        repo = await github.repository("octo-org", "demo")
        sealer = ServiceSealer("k1", Ed25519PrivateKey.from_private_bytes(b"1" * 32))
        yield await written(Ground(emulator, repo, clone, sealer, LedgerRefs()), f"release-{next(_numbers)}")


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Witnesses]:
    database = Database(f"sqlite:///{tmp_path / 'witnesses.db'}")
    yield Witnesses(database)
    database.close()


# -- what is forged ----------------------------------------------------------------------------------------------------


def unsealed(r: Release) -> None:
    made = r.draft()
    r.put(r.ground.commit(replace(made, message=split_message(made.message)[0])))


def a_seal_of_nobody(r: Release) -> None:
    r.put(r.ground.commit(r.draft()))


def another_key_under_our_name(r: Release) -> None:
    r.put(r.ground.commit(r.draft(sealer=ServiceSealer("k1", Ed25519PrivateKey.generate()))))


def a_lease_seal(r: Release) -> None:
    r.put(r.ground.commit(r.draft(sealer=LeaseSealer("l1", 1, "n1", b"L" * 32))))


def the_seal_of_the_commit_below(r: Release) -> None:
    made = r.draft()
    seal = split_message(r.revoked.entry.message)[1]
    r.put(r.ground.commit(replace(made, message=f"{split_message(made.message)[0]}\n{SEAL_PREFIX}{seal}")))


def a_field_changed_under_the_old_seal(r: Release) -> None:
    text = (r.revoked.entry.record_text or "").replace('"revoked"', '"expired"')
    assert text != r.revoked.entry.record_text
    again = Draft(r.ref, r.authorized.entry.sha, None, text, tree_sha(text), r.revoked.entry.message, WHEN)
    r.put(r.ground.commit(again))


def a_receipt_added_under_the_old_seal(r: Release) -> None:
    made = r.draft()
    r.put(r.ground.commit(replace(made, parent=r.authorized.entry.sha, message=r.revoked.entry.message)))


def the_old_receipt_put_above_the_revoke(r: Release) -> None:
    old = r.authorized.entry
    text = old.record_text or ""
    r.put(r.ground.commit(Draft(r.ref, r.revoked.entry.sha, None, text, old.tree, old.message, WHEN)))


def two_heads_in_one_commit(r: Release) -> None:
    old = r.authorized.entry
    text = old.record_text or ""
    joined = Draft(r.ref, r.born.entry.sha, r.revoked.entry.sha, text, old.tree, old.message, WHEN)
    r.put(r.ground.commit(joined))


def two_heads_below_one_name(r: Release) -> None:
    r.ground.git("push", "-q", "origin", f":{r.ref}", f"{r.authorized.entry.sha}:{r.ref}/head")


def sealed_for_another_release(r: Release) -> None:
    """The service's own seal over the very same words, made for another ref."""
    other = r.draft(r.live().model_copy(update={"branch": f"{r.branch}-x"}), sealer=r.ground.sealer)
    same = r.draft()
    r.put(r.ground.commit(replace(same, message=other.message)))


def sealed_for_another_repository(r: Release) -> None:
    r.put(r.ground.commit(r.draft(sealer=r.ground.sealer, repository_id=r.ground.repo.id + 1)))


def sealed_for_another_namespace(r: Release) -> None:
    r.put(r.ground.commit(r.draft(sealer=r.ground.sealer, refs=LedgerRefs(BRANCH_NAMESPACE))))


async def copied_from_another_release(r: Release) -> None:
    other = await written(r.ground, f"{r.branch}-other")
    r.put(other.authorized.entry.sha)


async def copied_from_a_ticket(r: Release) -> None:
    number = next(_numbers) + 100
    born = Record(ticket=number, sequence=1, status="unclaimed")
    won = await r.ground.tickets().write(number, base=None, record=born, event="born", when=WHEN)
    assert isinstance(won, Won)
    r.ground.fetch()
    r.put(won.entry.sha)


def a_commit_of_the_code(r: Release) -> None:
    r.put(r.ground.git("rev-parse", "origin/main"))


def a_commit_of_a_fork(r: Release) -> None:
    """A fork's own ledger: sealed by the service there, and for that repository."""
    record = r.authorized.record.model_copy(update={"sequence": 1})
    forked = r.draft(record, parent=None, sealer=r.ground.sealer, repository_id=r.ground.repo.id + 7)
    r.put(r.ground.commit(forked))


def no_commit_at_all(r: Release) -> None:
    r.put(r.ground.stored("blob", b"nothing"))


def nothing_in_it(r: Release) -> None:
    tree = r.ground.git("mktree")
    r.put(r.ground.commit(r.draft(), tree))


def no_json(r: Release) -> None:
    made = r.draft()
    r.put(r.ground.commit(replace(made, record_text="not json", tree=tree_sha("not json"))))


def a_key_twice(r: Release) -> None:
    text = r.draft().record_text.replace('{"asked"', '{"status":"merged","asked"', 1)
    r.put(r.ground.commit(replace(r.draft(), record_text=text, tree=tree_sha(text))))


def a_newer_schema(r: Release) -> None:
    text = json.dumps({**json.loads(r.draft().record_text), "schema": 99})
    r.put(r.ground.commit(replace(r.draft(), record_text=text, tree=tree_sha(text))))


def huge(r: Release) -> None:
    text = json.dumps({**json.loads(r.draft().record_text), "more": "x" * 3_000_000})
    r.put(r.ground.commit(replace(r.draft(), record_text=text, tree=tree_sha(text))))


def very_deep(r: Release) -> None:
    text = '{"a":' * 30_000 + "1" + "}" * 30_000
    r.put(r.ground.commit(replace(r.draft(), record_text=text, tree=tree_sha(text))))


FORGED: tuple[Callable[[Release], Any], ...] = (
    unsealed,
    a_seal_of_nobody,
    another_key_under_our_name,
    a_lease_seal,
    the_seal_of_the_commit_below,
    a_field_changed_under_the_old_seal,
    a_receipt_added_under_the_old_seal,
    the_old_receipt_put_above_the_revoke,
    two_heads_in_one_commit,
    two_heads_below_one_name,
    sealed_for_another_release,
    sealed_for_another_repository,
    sealed_for_another_namespace,
    copied_from_another_release,
    copied_from_a_ticket,
    a_commit_of_the_code,
    a_commit_of_a_fork,
    no_commit_at_all,
    nothing_in_it,
    no_json,
    a_key_twice,
    a_newer_schema,
    huge,
    very_deep,
)


async def done(forge: Callable[[Release], Any], release: Release) -> None:
    outcome = forge(release)
    if outcome is not None:
        await outcome


async def judged(release: Release, table: Witnesses, *runs: GuardRun) -> tuple[ReleaseReading, Frozen | None]:
    ledger = release.ground.ledger()
    reading = await ledger.read(release.branch)
    found = await ReleaseWitnessing(table).judge(release.ground.repo, ledger, release.branch, reading, runs)
    return reading, found


def guard_run(standing: ReleaseLedgerStanding, id: int = 1, external_id: str | None = None) -> GuardRun:
    shown = str(witness(standing.record.branch, standing.record.sequence, standing.entry.sha))
    return GuardRun(id, HEAD, "completed", "success", shown if external_id is None else external_id)


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
async def test_what_is_forged_is_no_ledger_even_where_nothing_remembers_the_right_one(
    release: Release, table: Witnesses, forge: Callable[[Release], Any]
) -> None:
    assert await release.ground.ledger().read(release.branch) == release.revoked
    await done(forge, release)
    reading, frozen = await judged(release, table)
    assert isinstance(reading, Damaged), reading
    assert frozen is not None
    # What the service had in hand before is no base to go on from: whoever moved the ref has won the race.
    stale = await release.ground.ledger().write(
        release.branch, base=release.revoked, record=release.revoked.record, event="changed", when=WHEN
    )
    assert not isinstance(stale, ReleaseWon)


def rolled_back(r: Release) -> None:
    r.put(r.authorized.entry.sha)


def back_to_the_beginning(r: Release) -> None:
    r.put(r.born.entry.sha)


def deleted(r: Release) -> None:
    r.ground.git("push", "-q", "origin", f":{r.ref}")


async def a_sealed_commit_that_lost(r: Release) -> None:
    """The service made and sealed a commit that lost the race to the revoke; it lies unreachable on GitHub."""
    made = r.draft(
        r.authorized.record.model_copy(update={"sequence": 3}), parent=r.authorized.entry.sha, sealer=r.ground.sealer
    )
    r.put(r.ground.commit(made))
    assert r.ground.git("rev-parse", commit_sha(made))


BACK: tuple[Callable[[Release], Any], ...] = (rolled_back, back_to_the_beginning, deleted, a_sealed_commit_that_lost)


@pytest.mark.parametrize("forge", BACK, ids=lambda forge: forge.__name__)
@pytest.mark.parametrize("remembers", ["the table", "a guard run"])
async def test_the_services_own_commits_are_no_ledger_below_what_was_seen(
    release: Release, table: Witnesses, forge: Callable[[Release], Any], remembers: str
) -> None:
    runs: tuple[GuardRun, ...] = ()
    if remembers == "the table":
        await judged(release, table)
    else:
        runs = (guard_run(release.born), guard_run(release.revoked, id=2))
    await done(forge, release)
    reading, frozen = await judged(release, table, *runs)
    assert isinstance(reading, ReleaseLedgerStanding | Absent)
    assert frozen is not None
    assert "3" in frozen.expected


@pytest.mark.parametrize("forge", BACK, ids=lambda forge: forge.__name__)
async def test_without_any_witness_a_rollback_cannot_be_seen_and_shows_as_what_it_is(
    release: Release, table: Witnesses, forge: Callable[[Release], Any]
) -> None:
    """Said in the ownership protocol, R20. The receipt that comes back so is still judged by its comment, head, base
    and time."""
    await done(forge, release)
    _, frozen = await judged(release, table)
    assert frozen is None


async def test_guard_runs_of_other_releases_and_strangers_words_are_no_witnesses(
    release: Release, table: Witnesses
) -> None:
    strange = (
        "release:zzzz:9:0",
        "42:3:17:0123456789ab",
        f"release:{'0' * 12}:9:{'0' * 12}",
        "release",
        "",
        "x" * 9000,
    )
    runs = [guard_run(release.revoked, id=number, external_id=text) for number, text in enumerate(strange)]
    assert (await judged(release, table, *runs))[1] is None


async def test_what_others_write_later_raises_the_witness_and_an_older_look_does_not_lower_it(
    release: Release, table: Witnesses
) -> None:
    witnessing, ledger = ReleaseWitnessing(table), release.ground.ledger()
    await witnessing.saw(release.ground.repo, ledger, release.revoked)
    await witnessing.saw(release.ground.repo, ledger, release.born)
    known = await witnessing.witnesses(release.ground.repo, ledger, release.branch, ())
    assert [(one.sequence, one.commit_prefix) for one in known] == [(3, release.revoked.entry.sha)]


async def test_a_newer_version_of_the_app_is_left_in_peace(release: Release, table: Witnesses) -> None:
    made, ground = release.draft(), release.ground
    text = json.dumps({**json.loads(made.record_text), "schema": 99})
    body, tree = split_message(made.message)[0], tree_sha(text)
    seal = ground.sealer.seal(seal_preimage(ground.repo.id, release.ref, made.parent, tree, None, body))
    message = f"{body}\n{SEAL_PREFIX}{seal}"
    release.put(ground.commit(replace(made, record_text=text, tree=tree, message=message)))
    reading, frozen = await judged(release, table)
    assert isinstance(reading, Damaged)
    assert reading.kind == "newer"
    assert frozen is not None


async def test_a_person_has_it_begun_anew_above_everything_seen(release: Release, table: Witnesses) -> None:
    await judged(release, table)
    unsealed(release)
    ledger = release.ground.ledger()
    assert isinstance(await ledger.read(release.branch), Damaged)
    anew = begun(release.branch, "main").model_copy(
        update={"sequence": 4, "rebuilt": Rebuilt(by="maya", at=WHEN, sequence=4)}
    )
    found = await ledger.head(release.branch)
    won = await ledger.begin_anew(release.branch, anew, found=found, event="rebuilt", when=WHEN)
    assert isinstance(won, ReleaseWon)
    reading, frozen = await judged(release, table, guard_run(release.revoked))
    assert (reading, frozen) == (won.standing, None)
    # The ledger of before is behind for good.
    release.put(release.revoked.entry.sha)
    assert (await judged(release, table))[1] is not None
