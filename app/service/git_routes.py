"""The git endpoint: `https://<service>/git/<owner>/<repo>.git`, for plain git that has a lease token and nothing else.

The token is the password of HTTP basic authentication; the user name is not looked at. Clone and fetch are passed
through in the App's name, a push is read, judged and sent on as one update together with the ledger. Nothing of an
agent's credentials goes to GitHub, and nothing of the App's comes back.
"""

import re
import zlib
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Annotated, Protocol

import structlog
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

from app.domain.keys import is_repository_name
from app.domain.outcome import Blocked, Code, Refused, http_status
from app.domain.token import Claims
from app.github.errors import GitHubError
from app.github.held_pack import HeldPack, TooLarge
from app.github.pack import BadPack
from app.github.pkt import BrokenStream, Incoming
from app.github.relayed_push import PushReport, PushRequest, read_request
from app.github.repository import Repository
from app.service.git_callers import git_holder
from app.service.github_refusals import refusal_of, retry_after
from app.service.running import Running

GIT = "/git"
MIB = 1024 * 1024

_log = structlog.get_logger(__name__)
_VERSION = re.compile(r"version=[012]")
_UNCACHED = {"Cache-Control": "no-cache, max-age=0, must-revalidate"}
_SERVICES = ("git-upload-pack", "git-receive-pack")


class GitDoor(Protocol):
    """What the endpoint needs of the loop; `controller.controller.Controller` does it. All calls raise Refused."""

    async def git_access(self, owner: str, name: str, claims: Claims, *, to_push: bool) -> Repository: ...
    async def git_push(
        self, owner: str, name: str, claims: Claims, request: PushRequest, pack: HeldPack
    ) -> PushReport: ...


def _door(request: Request) -> GitDoor:
    door: GitDoor = request.app.state.tickets
    return door


Door = Annotated[GitDoor, Depends(_door)]

router = APIRouter(prefix=GIT + "/{owner}/{repo}", include_in_schema=False)


@router.get("/info/refs")
async def refs(owner: str, repo: str, request: Request, door: Door) -> Response:
    """The repository's refs, for a fetch or a push of the present holder."""
    service = request.query_params.get("service", "")
    if service not in _SERVICES:
        return _refusal(Blocked(Code.FORBIDDEN, "only git's smart protocol is served here", "use a newer git"))
    try:
        repository = await _access(owner, repo, request, door, to_push=service == "git-receive-pack")
        if service == "git-receive-pack":
            pieces = await repository.git_refs("git-receive-pack", {})
        else:
            pieces = await repository.git_refs("git-upload-pack", _protocol(request))
        return await _streamed(pieces, f"application/x-{service}-advertisement")
    except (Refused, GitHubError) as problem:
        return _problem(request, problem)


@router.post("/git-upload-pack")
async def fetch(owner: str, repo: str, request: Request, door: Door) -> Response:
    """One request of a fetch, passed through in both directions."""
    try:
        repository = await _access(owner, repo, request, door, to_push=False)
        headers = dict(_protocol(request))
        if request.headers.get("content-encoding") == "gzip":
            headers["Content-Encoding"] = "gzip"
        pieces = await repository.git_fetch(request.stream(), headers)
        return await _streamed(pieces, "application/x-git-upload-pack-result")
    except (Refused, GitHubError) as problem:
        return _problem(request, problem)


@router.post("/git-receive-pack")
async def push(owner: str, repo: str, request: Request, door: Door) -> Response:
    """A push: read whole, then decided. What is refused is refused ref by ref, in words that git shows."""
    try:
        name, claims = _named(owner, repo), _holder(request)
        incoming = Incoming(_plain(request))
        wanted = await read_request(incoming)
        if wanted is None:
            # git asks in this way whether it may push at all, before it sends much.
            await door.git_access(owner, name, claims, to_push=True)
            return _result(b"")
        with HeldPack() as pack:
            if wanted.has_pack:
                most = _running(request).parts.settings.largest_push_mb * MIB
                # Whoever lost the lease has its token for ever, and must not fill the disk with it.
                may = partial(door.git_access, owner, name, claims, to_push=True)
                await pack.take(incoming.rest(), most, before_disk=may)
            report = await _decided(owner, name, request, door, claims, wanted, pack)
    except (Refused, GitHubError) as problem:
        return _problem(request, problem)
    except (BrokenStream, BadPack, zlib.error) as broken:
        return _refusal(Blocked(Code.USAGE, f"what was sent is no push: {broken}", "push again"), 400)
    except TooLarge as large:
        return _refusal(Blocked(Code.USAGE, str(large), "push in several steps, or leave large files out"), 413)
    except OSError as full:
        _log.error("push not kept", path=request.url.path, problem=type(full).__name__, said=str(full))
        reason, remedy = "the service has no room to keep the push", "push again in a while; tell the operator"
        return _refusal(Blocked(Code.UNAVAILABLE, reason, remedy, retryable=True))
    except ClientDisconnect:
        return Response(status_code=400)  # nobody is there to read it, and nothing was forwarded
    return _result(report.written(is_banded=wanted.is_banded))


async def _decided(
    owner: str, name: str, request: Request, door: GitDoor, claims: Claims, wanted: PushRequest, pack: HeldPack
) -> PushReport:
    try:
        return await door.git_push(owner, name, claims, wanted, pack)
    except Refused as refused:
        blocked = refused.blocked
    except GitHubError as error:
        _log.warning("github", path=request.url.path, problem=type(error).__name__, said=str(error))
        blocked = refusal_of(error)
    _log.info("refused", path=request.url.path, code=blocked.code, reason=blocked.reason)
    reason = f"{blocked.code}: {blocked.reason}"
    said = f"next: {blocked.remedy}\n".encode()
    return PushReport(dict.fromkeys((command.ref for command in wanted.commands), reason), said=said)


async def _access(owner: str, repo: str, request: Request, door: GitDoor, *, to_push: bool) -> Repository:
    return await door.git_access(owner, _named(owner, repo), _holder(request), to_push=to_push)


def _holder(request: Request) -> Claims:
    return git_holder(request.headers.get("authorization"), _running(request).parts.keyring.lease_keys)


def _running(request: Request) -> Running:
    running: Running = request.app.state.running
    return running


def _named(owner: str, repo: str) -> str:
    """The repository's name; git may ask for it with or without `.git`."""
    name = repo.removesuffix(".git")
    if not is_repository_name(f"{owner}/{name}"):
        raise Refused(Blocked(Code.NOT_FOUND, "there is no such repository", "check the address"))
    return name


def _protocol(request: Request) -> Mapping[str, str]:
    asked = request.headers.get("git-protocol", "")
    return {"Git-Protocol": asked} if _VERSION.fullmatch(asked) else {}


async def _plain(request: Request) -> AsyncIterator[bytes]:
    """The request's body, inflated where it was sent deflated: never more than a bounded piece at a time. Raises
    BrokenStream on what no git sends.
    """
    if request.headers.get("content-encoding") != "gzip":
        async for piece in request.stream():
            yield piece
        return
    inflate = zlib.decompressobj(wbits=31)
    async for piece in request.stream():
        while piece:
            # What follows the end would be kept by zlib, however much it is.
            if inflate.eof:
                raise BrokenStream("something follows the end of what is deflated")
            yield inflate.decompress(piece, 64 * 1024)
            piece = inflate.unconsumed_tail or inflate.unused_data


async def _streamed(pieces: AsyncIterator[bytes], kind: str) -> Response:
    """The answer, begun only when its first piece is there: what GitHub refuses can still be told."""
    first = await anext(pieces, b"")

    async def all_of_it() -> AsyncIterator[bytes]:
        yield first
        async for piece in pieces:
            yield piece

    return StreamingResponse(all_of_it(), headers={"Content-Type": kind, **_UNCACHED})


def _result(body: bytes) -> Response:
    return Response(body, headers={"Content-Type": "application/x-git-receive-pack-result", **_UNCACHED})


def _problem(request: Request, problem: Refused | GitHubError) -> Response:
    if isinstance(problem, GitHubError):
        _log.warning("github", path=request.url.path, problem=type(problem).__name__, said=str(problem))
        return _refusal(refusal_of(problem), headers=retry_after(problem))
    if "authorization" in request.headers:  # git's first request of every call has none, and is no event
        _log.info("refused", path=request.url.path, code=problem.blocked.code, reason=problem.blocked.reason)
    return _refusal(problem.blocked)


def _refusal(blocked: Blocked, status: int | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """Plain text, which git shows as it is. A refusal of the ticket's state is git's "may not": 403."""
    told = status or http_status(blocked.code)
    sent = dict(headers or {})
    if told == 401:
        sent["WWW-Authenticate"] = 'Basic realm="Agent Recovery", charset="UTF-8"'
    text = f"{blocked.code}: {blocked.reason}\nnext: {blocked.remedy}\n"
    return Response(text, 403 if told == 409 else told, sent, media_type="text/plain")
