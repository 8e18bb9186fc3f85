"""Pushes on their way through: the commands that are read, those that are sent, what the pusher is told."""

from collections.abc import AsyncIterator

import pytest

from app.domain.model import ZERO_SHA
from app.domain.push_rules import Command
from app.github.pkt import FLUSH, BrokenStream, Incoming, banded, packet, packets
from app.github.relayed_push import PushReport, PushRequest, narrowed_offer, read_report, read_request

A, B, C = "a" * 40, "b" * 40, "c" * 40
BRANCH, LEDGER = "refs/heads/ticket/42", "refs/agent-recovery/active/42"


async def arriving(data: bytes, size: int = 7) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


async def read(data: bytes, size: int = 7) -> PushRequest | None:
    return await read_request(Incoming(arriving(data, size)))


def line(ref: str, old: str = A, new: str = B, capabilities: str | None = None) -> bytes:
    tail = b"" if capabilities is None else b"\0 " + capabilities.encode()
    return packet(f"{old} {new} {ref}".encode() + tail)


@pytest.mark.parametrize("size", [1, 7, 10_000])
async def test_commands_are_read_and_the_pack_is_left(size: int) -> None:
    asked = "report-status side-band-64k quiet object-format=sha1 agent=git/2.39.5"
    data = packet(f"shallow {C}".encode()) + line(BRANCH, capabilities=asked) + line("refs/tags/v1", ZERO_SHA)
    incoming = Incoming(arriving(data + FLUSH + b"PACKxyz", size))
    request = await read_request(incoming)
    assert request is not None
    assert request.commands == (Command(BRANCH, A, B), Command("refs/tags/v1", ZERO_SHA, B))
    assert request.shallow == (f"shallow {C}",)
    assert request.is_banded
    assert b"".join([piece async for piece in incoming.rest()]) == b"PACKxyz"


async def test_what_is_forwarded_is_atomic_and_has_our_command_behind_theirs() -> None:
    request = PushRequest((Command(BRANCH, A, B),), frozenset({"report-status", "side-band-64k", "object-format=sha1"}))
    sent = await read(request.forwarded([Command(LEDGER, B, C)]))
    assert sent is not None
    assert sent.commands == (Command(BRANCH, A, B), Command(LEDGER, B, C))
    assert {"atomic", "report-status", "side-band-64k"} <= sent.capabilities
    assert "quiet" not in sent.capabilities


async def test_the_question_whether_one_may_push_has_no_commands() -> None:
    assert await read(FLUSH) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"00",
        b"zzzz",
        b"0003",
        b"+0_4",
        line(BRANCH)[:-3],
        line(BRANCH),
        packet(b"push-cert\0 push-cert=abc") + FLUSH,
        line(BRANCH, old="A" * 40) + FLUSH,
        line("refs/heads/a b") + FLUSH,
        line("refs/heads/a\x01b") + FLUSH,
        packet(f"{A} {B} refs/heads/".encode() + b"\xff") + FLUSH,
        line("refs/heads/" + "x" * 3000) + FLUSH,
        line(BRANCH, capabilities="report-status push-options") + FLUSH,
        line(BRANCH, capabilities="push-cert=nonce") + FLUSH,
        line(BRANCH) + line(BRANCH) + FLUSH,
        line(BRANCH) + packet(f"shallow {C}".encode()) + FLUSH,
        b"".join(line(f"refs/heads/{n}") for n in range(5001)) + FLUSH,
        packet(f"shallow {C}".encode()) * 5001,
    ],
)
async def test_what_git_does_not_send_is_refused(data: bytes) -> None:
    with pytest.raises(BrokenStream):
        await read(data, size=5000)


OFFERED = (
    "report-status report-status-v2 delete-refs side-band-64k quiet atomic ofs-delta object-format=sha1 push-options"
)


@pytest.mark.parametrize("size", [1, 9, 100_000])
async def test_only_what_passes_through_is_offered(size: int) -> None:
    first = packet(f"{A} {BRANCH}".encode() + b"\0" + f"{OFFERED} push-cert=n agent=github/x".encode() + b"\n")
    data = packet(b"# service=git-receive-pack\n") + FLUSH + first + packet(f"{B} refs/heads/main\n".encode()) + FLUSH
    seen = b"".join([piece async for piece in narrowed_offer(arriving(data, size))])
    lines = list(packets(seen))
    assert lines[0] == b"# service=git-receive-pack\n"
    name, _, capabilities = lines[1].partition(b"\0")
    assert name == f"{A} {BRANCH}".encode()
    assert set(capabilities.decode().split()) == {
        *("report-status", "delete-refs", "side-band-64k", "quiet", "atomic", "ofs-delta", "object-format=sha1"),
        "agent=agent-recovery",
    }
    assert lines[2] == f"{B} refs/heads/main\n".encode()
    assert seen.endswith(FLUSH)


async def test_a_server_without_atomic_pushes_is_no_server_to_push_to() -> None:
    first = packet(f"{A} {BRANCH}".encode() + b"\0report-status delete-refs\n")
    with pytest.raises(BrokenStream, match="atomic"):
        [piece async for piece in narrowed_offer(arriving(first + FLUSH))]


def report(*lines: str) -> bytes:
    return b"".join(packet(f"{text}\n".encode()) for text in lines) + FLUSH


@pytest.mark.parametrize("is_banded", [True, False])
def test_a_report_is_read_and_shown_without_our_own_command(is_banded: bool) -> None:
    raw = report("unpack ok", f"ok {BRANCH}", f"ng {LEDGER} cannot lock ref")
    body = banded(2, b"Resolving deltas\n") + banded(1, raw) + FLUSH if is_banded else raw
    found = read_report(body, [BRANCH, LEDGER], is_banded=is_banded)
    assert found.refs == {BRANCH: None, LEDGER: "cannot lock ref"}
    assert not found.moved
    shown = found.about([Command(BRANCH, A, B)])
    assert shown.moved
    again = read_report(shown.written(is_banded=is_banded), [BRANCH], is_banded=is_banded)
    assert again == shown
    assert shown.said == (b"Resolving deltas\n" if is_banded else b"")


def test_what_fell_with_our_own_command_tells_its_reason() -> None:
    found = PushReport({BRANCH: "atomic push failure", "refs/tags/v1": "hook declined", LEDGER: "hidden ref"})
    told = found.about([Command(BRANCH, A, B), Command("refs/tags/v1", A, B)])
    assert told.refs == {BRANCH: f"atomic push failure; {LEDGER}: hidden ref", "refs/tags/v1": "hook declined"}


@pytest.mark.parametrize(
    "raw",
    [b"", FLUSH, report("unpack ok"), report("unpack ok", f"ok {BRANCH}"), report(f"ok {BRANCH}", f"ok {LEDGER}")],
)
def test_an_incomplete_report_says_nothing(raw: bytes) -> None:
    with pytest.raises(BrokenStream):
        read_report(raw, [BRANCH, LEDGER], is_banded=False)


def test_a_pack_that_was_not_taken_moves_nothing() -> None:
    found = read_report(report("unpack index-pack abnormal exit"), [BRANCH], is_banded=False)
    assert (found.moved, found.reasons) == (False, ("index-pack abnormal exit", "the pack was not taken"))


def test_a_reason_stays_on_its_line() -> None:
    written = PushReport({BRANCH: f"no\nok {LEDGER}"}).written(is_banded=False)
    assert list(packets(written)) == [b"unpack ok\n", f"ng {BRANCH} no ok {LEDGER}\n".encode()]


def test_long_words_take_several_lines_of_a_band() -> None:
    said = bytes(200_000)
    lines = list(packets(banded(2, said)))
    assert len(lines) == 4
    assert b"".join(part[1:] for part in lines) == said
