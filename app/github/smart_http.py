"""Git over smart HTTP in the App's name: fetches passed through, pushes of others relayed with objects of ours.

What reaches GitHub here was asked for by an agent that holds a lease and no GitHub credential. Nothing of an exchange
is held in memory beyond a piece of it and the report at its end.
"""

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from typing import Literal

from app.domain.push_rules import Command
from app.github.access import RepositoryAccess
from app.github.errors import Moved, ServerError, Unanswered
from app.github.git_stream import GitStream
from app.github.pack import NewObject, PassedPack
from app.github.pkt import BrokenStream
from app.github.relayed_push import PushReport, PushRequest, narrowed_offer, read_report

GitService = Literal["git-upload-pack", "git-receive-pack"]

_LONGEST_REPORT = 4 * 1024 * 1024
_RECEIVE_PACK = "/{owner}/{repo}.git/git-receive-pack"


class SmartHttp(RepositoryAccess):
    """The repository as a git server."""

    async def git_refs(self, service: GitService, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        """The server's refs and what it offers; for a push only what passes through us. Raises GitHubError, before
        the first piece where the server refuses.
        """
        url = f"{self.clone_url}/info/refs?service={service}"
        answer = await self._open("GET", url, "/{owner}/{repo}.git/info/refs", headers, None)
        return answer.pieces() if service == "git-upload-pack" else _offered(answer)

    async def git_fetch(self, body: AsyncIterable[bytes], headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        """The server's answer to one request of a fetch. Raises as `git_refs`."""
        url, kind = f"{self.clone_url}/git-upload-pack", "application/x-git-upload-pack"
        sent = {**headers, "Content-Type": f"{kind}-request", "Accept": f"{kind}-result"}
        return (await self._open("POST", url, "/{owner}/{repo}.git/git-upload-pack", sent, body)).pieces()

    async def git_push(
        self,
        request: PushRequest,
        pack: AsyncIterable[bytes],
        *,
        more: Sequence[Command] = (),
        objects: Sequence[NewObject] = (),
    ) -> PushReport:
        """Push in one atomic update what `request` and its `pack` say, together with `more` commands and the objects
        they need. Sent once; again where the App's token was refused and the pack can be read anew.

        Raises Unanswered where it is not known whether it was carried out, and GitHub's refusals (Forbidden, NotFound,
        RateLimited …) where nothing was tried. Done but not heard: the refs show it, and the same push sent again is
        refused by the old values of its commands. Two of us: one wins, the other's old values are wrong. Lease gone:
        the ledger's ref, part of the same update, has moved.
        """
        sent = {
            "Content-Type": "application/x-git-receive-pack-request",
            "Accept": "application/x-git-receive-pack-result",
        }
        body: AsyncIterable[bytes] = _Body(request.forwarded(more), pack, objects)
        if isinstance(pack, AsyncIterator):
            body = aiter(body)
        answer = await self._open("POST", f"{self.clone_url}/git-receive-pack", _RECEIVE_PACK, sent, body)
        raw = await answer.whole(_LONGEST_REPORT)
        refs = [command.ref for command in (*request.commands, *more)]
        try:
            return read_report(raw, refs, is_banded=request.is_banded)
        except BrokenStream as broken:
            raise Unanswered(str(broken), route=_RECEIVE_PACK) from broken

    async def _open(
        self, method: str, url: str, route: str, headers: Mapping[str, str], content: AsyncIterable[bytes] | None
    ) -> GitStream:
        try:
            return await self.session.git_open(method, url, route=route, headers=headers, content=content)
        except Moved:
            # The next look at the repository learns its present name.
            self._forget()
            raise


async def _offered(answer: GitStream) -> AsyncIterator[bytes]:
    try:
        async for piece in narrowed_offer(answer.pieces()):
            yield piece
    except BrokenStream as broken:
        raise ServerError(str(broken), route=_RECEIVE_PACK) from broken


class _Body:
    """What is sent, as often as its pack can be read."""

    def __init__(self, head: bytes, pack: AsyncIterable[bytes], objects: Sequence[NewObject]) -> None:
        self._head, self._pack, self._objects = head, pack, objects

    async def __aiter__(self) -> AsyncIterator[bytes]:
        passed = PassedPack(self._objects)
        yield self._head
        async for piece in self._pack:
            if ready := passed.pass_on(piece):
                yield ready
        yield passed.end()
