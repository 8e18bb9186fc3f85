"""The numbers of a lease's writes are learnt again from the ledger when this folder lost count (R16)."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.agent import held, writes
from app.agent.api import Service
from app.agent.home import Home
from app.domain.outcome import Code, Refused
from tests.agent.conftest import TICKET, World, refusal
from tests.agent.in_process import swift


@pytest.fixture
def world(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    """The shared world, with commands called in this process."""
    return swift(world, monkeypatch, capsys)


@pytest.fixture
def here(world: World) -> Path:
    """A holder's folder; the service refuses every new request whose number is not above 30, then above the last."""
    folder = world.holder()
    highest = 30
    plain = world.service.answer

    def numbered(operation: str, bearer: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        nonlocal highest
        if "seq" in body and body["key"] not in world.service.answers and bearer == world.service.lease_token:
            if body["seq"] <= highest:
                return refusal(409, "stale_request", highest_seq=highest)
            highest = body["seq"]
        return plain(operation, bearer, body)

    world.service.answer = numbered  # type: ignore[method-assign]
    return folder


def count(here: Path) -> int:
    value = json.loads((here / ".agent-recovery" / "writes.json").read_text())["seq"]
    assert isinstance(value, int)
    return value


@pytest.mark.parametrize("left", [None, "", "{", '{"generation": "x"}', "\udcff"])
def test_a_lost_or_damaged_file_costs_nothing(world: World, here: Path, left: str | None) -> None:
    file = here / ".agent-recovery" / "writes.json"
    file.unlink()
    if left is not None:
        file.write_text(left, errors="surrogateescape")
    done = world.run(here, "checkpoint", "--json")
    assert done.code == 0, done.out + done.err
    first, second = (call.body for call in world.service.of("checkpoint"))
    assert (first["seq"], second["seq"]) == (1, 31)
    assert first["key"] != second["key"]
    assert count(here) == 31


@pytest.mark.parametrize("number", ["2147483647", "-5", "100000000000000000000", "1e400", "1.5", '"x"'])
def test_a_number_that_no_write_could_have_counts_as_lost(world: World, here: Path, number: str) -> None:
    file = here / ".agent-recovery" / "writes.json"
    saved = json.loads(file.read_text())
    pending = '{"checkpoint": {"key": "k", "seq": 1, "body": {}}}'
    head = f'"generation": {saved["generation"]}, "nonce": "{saved["nonce"]}"'
    for damaged in (f'{{{head}, "seq": {number}}}', f'{{{head}, "seq": 3, "pending": {pending}}}'):
        file.write_text(damaged)
        done = world.run(here, "checkpoint", "--json")
        assert done.code == 0, done.out + done.err
    assert [call.body["seq"] for call in world.service.of("checkpoint")] == [1, 31, 1, 32]
    assert count(here) == 32


@pytest.mark.parametrize("number", [2147483647, -5, 10**20])
def test_no_such_number_is_sealed_by_a_push(world: World, number: int) -> None:
    here = world.holder()
    file = here / ".agent-recovery" / "writes.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "seq": number}))
    world.commit(here, "prices.txt")
    done = world.run(here, "push", "--json")
    assert done.code == 0, done.out
    assert [r["seq"] for r in world.record()["requests"]] == [1]
    assert world.run(here, "checkpoint", "--json").code == 0


def test_a_push_under_the_key_of_a_checkpoint_is_refused_once(world: World) -> None:
    here = world.holder()
    used = {"key": "k" * 12, "seq": 40, "generation": 1, "answer": {}, "to": "checkpoint"}
    world.write_ledger(event="checkpoint", requests=(used,))
    sha = world.commit(here, "prices.txt")
    file = here / ".agent-recovery" / "writes.json"
    checkpoint = json.loads(world.run(here, "push", "--dry-run", "--json").out)["dry_run"]["checkpoint"]
    body = {
        "code_sha": sha,
        "status": "working",
        "checkpoint": checkpoint,
        "adopt": None,
        "rewind": False,
        "integrated": [],
    }
    begun = {"push": {"key": used["key"], "seq": 40, "body": body}}
    file.write_text(json.dumps({**json.loads(file.read_text()), "seq": 40, "pending": begun}))
    done = world.run(here, "push", "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "usage")
    assert "a key of its own" in done.json["error"]["next_action"]
    assert world.run(here, "push").code == 0
    assert [(r["seq"], r["to"]) for r in world.record()["requests"]] == [(40, "checkpoint"), (41, "push")]


def test_the_same_lease_in_another_folder_learns_the_number(world: World, here: Path) -> None:
    elsewhere = world.folder("elsewhere")
    (elsewhere / ".agent-recovery").mkdir(mode=0o700)
    (elsewhere / ".agent-recovery" / "next.json").write_text('{"objective": "go on"}')
    own = {"AGENT_RECOVERY_LEASE_TOKEN": world.service.lease_token, "AGENT_RECOVERY_TICKET": str(TICKET)}
    assert world.run(elsewhere, "checkpoint", **own).code == 0
    assert world.run(here, "checkpoint").code == 0  # and the first folder goes on above the other one
    assert [call.body["seq"] for call in world.service.of("checkpoint")] == [1, 31, 2, 32]


def test_what_a_later_write_of_this_folder_overtook_is_not_sent_again(world: World, here: Path) -> None:
    home = Home.at(here)
    lease = held.held_lease(home)
    identity = held.identity(home, {"AGENT_RECOVERY_URL": world.service.url})
    writes.learn(home, identity, 30)
    plain = world.service.answer

    def overtaken(operation: str, bearer: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        writes.learn(home, identity, 32)  # meanwhile another process of this folder gave out 32, and it was carried out
        return refusal(409, "stale_request", highest_seq=32)

    world.service.answer = overtaken  # type: ignore[method-assign]
    with Service(lease.service_url, lease.repository, TICKET) as service, pytest.raises(Refused) as told:
        writes.send(home, service, identity, "checkpoint", {"checkpoint": {}, "status": "working"})
    assert told.value.blocked.code is Code.STALE_REQUEST
    assert len(world.service.of("checkpoint")) == 1
    world.service.answer = plain  # type: ignore[method-assign]


def test_a_fenced_push_counts_on_from_the_ledger(world: World) -> None:
    here = world.holder()
    request = {"key": "k" * 12, "seq": 40, "generation": 1, "answer": {}}
    world.write_ledger(event="checkpoint", requests=(request,))
    (here / ".agent-recovery" / "writes.json").unlink()
    sha = world.commit(here, "prices.txt")
    done = world.run(here, "push", "--json")
    assert done.code == 0, done.out
    assert done.json["pushed"] == sha
    assert [r["seq"] for r in world.record()["requests"]] == [40, 41]
    assert count(here) == 41
