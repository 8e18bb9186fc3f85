"""The git endpoint's face: credentials, malformed and outsized bodies, deflated ones, the words of refusals."""

import gzip
import hashlib
import re
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from app.domain.outcome import Blocked, Code, Refused
from app.github.errors import RateLimited, Unanswered
from app.github.held_pack import IN_MEMORY, HeldPack
from app.github.pack import empty_pack
from app.github.pkt import FLUSH, packet, packets
from app.github.relayed_push import PushReport, PushRequest

BRANCH = "refs/heads/ticket/42"
URL = "/git/acme/shop.git"
A, B, ZERO = "a" * 40, "b" * 40, "0" * 40


class Door:
    """Stands for the controller: keeps what it was asked, answers or raises what the test says."""

    def __init__(self) -> None:
        self.problem: Exception | None = None
        self.calls: list[tuple[Any, ...]] = []
        self.packs: list[bytes] = []

    async def git_access(self, owner: str, name: str, claims: Any, *, to_push: bool) -> Any:
        self.calls.append(("access", owner, name, claims.ticket, to_push))
        if self.problem is not None:
            raise self.problem
        return SimpleNamespace(git_refs=self._refs, git_fetch=self._fetch)

    async def git_push(self, owner: str, name: str, claims: Any, request: PushRequest, pack: HeldPack) -> PushReport:
        self.calls.append(("push", owner, name, request.commands))
        if self.problem is not None:
            raise self.problem
        self.packs.append(b"".join([piece async for piece in pack.pieces()]))
        return PushReport({command.ref: None for command in request.commands})

    async def _refs(self, service: str, headers: Any) -> AsyncIterator[bytes]:
        return _pieces(f"{service} {dict(headers)}".encode())

    async def _fetch(self, body: AsyncIterator[bytes], headers: Any) -> AsyncIterator[bytes]:
        return _pieces(b"".join([piece async for piece in body]), str(dict(headers)).encode())


async def _pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


@pytest.fixture
def door(service) -> Door:
    door = Door()
    service.loop.git_access, service.loop.git_push = door.git_access, door.git_push
    return door


def body(*commands: tuple[str, str, str], pack: bytes | None = None) -> bytes:
    lines = [
        packet(f"{old} {new} {ref}".encode() + (b"" if n else b"\0 report-status"))
        for n, (old, new, ref) in enumerate(commands)
    ]
    return b"".join(lines) + FLUSH + (empty_pack() if pack is None else pack)


async def push(service, content: bytes, **headers: str) -> httpx.Response:
    auth = ("anything", service.lease_token())
    return await service.http.post(f"{URL}/git-receive-pack", content=content, auth=auth, headers=headers)


def report(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [line.decode().strip() for line in packets(response.content)]


@pytest.mark.parametrize("name", ["git-upload-pack", "git-receive-pack"])
async def test_refs_are_asked_for_with_the_lease_token_as_password(service, door, name: str) -> None:
    auth = ("anything", service.lease_token())
    for path in (URL, "/git/acme/shop"):
        params = {"service": name}
        answer = await service.http.get(
            f"{path}/info/refs", params=params, auth=auth, headers={"Git-Protocol": "version=2"}
        )
        assert answer.status_code == 200
        assert answer.headers["content-type"] == f"application/x-{name}-advertisement"
        assert "no-cache" in answer.headers["cache-control"]
        # A push has no newer protocol; a fetch gets the one it asks for.
        assert answer.text == f"{name} {{'Git-Protocol': 'version=2'}}" if name == "git-upload-pack" else f"{name} {{}}"
    assert door.calls == [("access", "acme", "shop", 42, name == "git-receive-pack")] * 2


@pytest.mark.parametrize(
    "header", [None, "Basic", "Basic !!", "Basic dXNlcg==", "Bearer {token}", "Basic " + "A" * 9000]
)
async def test_without_readable_credentials_git_is_asked_for_them(service, door, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header.format(token=service.lease_token())}
    answer = await service.http.get(f"{URL}/info/refs?service=git-upload-pack", headers=headers)
    assert (answer.status_code, answer.headers["www-authenticate"][:5]) == (401, "Basic")
    assert answer.text.startswith("unauthenticated: ")
    assert not door.calls


async def test_other_services_and_other_names_are_not_served(service, door) -> None:
    auth = ("x", service.lease_token())
    for url, status in (
        (f"{URL}/info/refs", 403),
        (f"{URL}/info/refs?service=git-upload-archive", 403),
        ("/git/acme/.git/info/refs?service=git-upload-pack", 404),
        ("/git/-/shop.git/info/refs?service=git-upload-pack", 404),
        (f"{URL}/HEAD", 404),
        (f"{URL}/objects/info/packs", 404),
    ):
        assert (await service.http.get(url, auth=auth)).status_code == status, url
    assert not door.calls


async def test_a_fetch_is_passed_through_deflated_or_not(service, door) -> None:
    auth = ("x", service.lease_token())
    sent = gzip.compress(b"want")
    answer = await service.http.post(
        f"{URL}/git-upload-pack",
        content=sent,
        auth=auth,
        headers={"Content-Encoding": "gzip", "Git-Protocol": "version=9"},
    )
    assert answer.content == sent + b"{'Content-Encoding': 'gzip'}"
    assert answer.headers["content-type"] == "application/x-git-upload-pack-result"


@pytest.mark.parametrize("deflated", [False, True])
async def test_a_push_reaches_the_loop_whole(service, door, deflated: bool) -> None:
    content = body((A, B, BRANCH))
    headers = {"Content-Encoding": "gzip"} if deflated else {}
    answer = await push(service, gzip.compress(content) if deflated else content, **headers)
    assert report(answer) == ["unpack ok", f"ok {BRANCH}"]
    assert door.packs == [empty_pack()]


async def test_deletions_bring_no_pack(service, door) -> None:
    assert report(await push(service, body((A, ZERO, BRANCH), pack=b""))) == ["unpack ok", f"ok {BRANCH}"]
    assert door.packs == [b""]


async def test_the_question_whether_one_may_push_asks_the_fence(service, door) -> None:
    answer = await push(service, FLUSH)
    assert (answer.status_code, answer.content) == (200, b"")
    assert door.calls == [("access", "acme", "shop", 42, True)]
    door.problem = Refused(Blocked(Code.STALE_GENERATION, "this lease has ended", "stop"))
    refused = await push(service, FLUSH)
    assert (refused.status_code, refused.text) == (403, "stale_generation: this lease has ended\nnext: stop\n")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"00",
        b"garbage",
        body((A, B, BRANCH))[:-1],
        body((A, B, BRANCH), pack=b""),
        body((A, B, BRANCH), pack=b"x" * 40),
    ],
)
async def test_what_is_no_push_is_refused_before_anything_is_asked(service, door, content: bytes) -> None:
    answer = await push(service, content)
    assert answer.status_code == 400
    assert re.match(r"usage: what was sent is no push: .+\nnext: push again\n", answer.text)
    assert not door.calls


async def test_a_body_that_is_not_deflated_as_it_says_is_refused(service, door) -> None:
    answer = await push(service, body((A, B, BRANCH)), **{"Content-Encoding": "gzip"})
    assert answer.status_code == 400


@pytest.mark.parametrize("more", [gzip.compress(b"", mtime=0), b"\0" * 200_000], ids=["another member", "zeros"])
async def test_nothing_may_follow_what_is_deflated_where_it_would_only_be_kept(service, door, more: bytes) -> None:
    answer = await push(service, gzip.compress(body((A, B, BRANCH))) + more, **{"Content-Encoding": "gzip"})
    assert answer.status_code == 400
    assert "follows the end" in answer.text
    assert not door.calls


async def test_a_full_disk_is_told_as_what_passes(service, door, monkeypatch) -> None:
    def full(_self: Any, _pieces: Any, _limit: int, **_others: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(HeldPack, "take", full)
    answer = await push(service, body((A, B, BRANCH)))
    assert (answer.status_code, answer.text.startswith("unavailable: the service has no room")) == (503, True)


async def test_a_push_above_the_limit_is_refused_while_it_comes(service, door, monkeypatch) -> None:
    monkeypatch.setattr("app.service.git_routes.MIB", 1)
    large = b"PACK" + bytes(2000)
    answer = await push(service, body((A, B, BRANCH), pack=large))
    assert answer.status_code == 413
    assert "at most" in answer.text
    assert not door.calls


async def test_a_large_pack_goes_to_the_disk_for_who_may_push_and_nobody_else(service, door, monkeypatch) -> None:
    written: list[int] = []
    keep = SpooledTemporaryFile.rollover
    monkeypatch.setattr(SpooledTemporaryFile, "rollover", lambda self: (written.append(1), keep(self)))
    header = b"PACK" + (2).to_bytes(4, "big") + (0).to_bytes(4, "big") + bytes(2 * IN_MEMORY)
    large = header + hashlib.sha1(header, usedforsecurity=False).digest()
    assert report(await push(service, body((A, B, BRANCH), pack=large))) == ["unpack ok", f"ok {BRANCH}"]
    assert [call[0] for call in door.calls] == ["access", "push"]
    assert written == [1]
    door.problem = Refused(Blocked(Code.STALE_GENERATION, "this lease has ended", "stop"))
    answer = await push(service, body((A, B, BRANCH), pack=large))
    assert (answer.status_code, answer.text) == (403, "stale_generation: this lease has ended\nnext: stop\n")
    assert written == [1]


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (Refused(Blocked(Code.HELD, "a person has put the ticket on hold", "wait")), "held: a person has put"),
        (Unanswered("cut", status=502), "unavailable: GitHub gives no usable answer now"),
    ],
)
async def test_whoever_may_not_push_any_more_is_told_at_every_ref(service, door, problem, words: str) -> None:
    door.problem = problem
    lines = report(await push(service, body((A, B, BRANCH), (ZERO, B, "refs/tags/v1"))))
    assert lines[0] == "unpack ok"
    assert [line.split()[:2] for line in lines[1:]] == [["ng", BRANCH], ["ng", "refs/tags/v1"]]
    assert all(words in line for line in lines[1:])


async def test_githubs_limit_is_passed_on_with_its_time(service, door) -> None:
    now = service.parts.github.clock.now()
    door.problem = RateLimited("slow down", wait_s=17, now=now, secondary=False, stated=True)
    answer = await service.http.get(f"{URL}/info/refs?service=git-upload-pack", auth=("x", service.lease_token()))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "17")
