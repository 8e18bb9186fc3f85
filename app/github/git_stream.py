"""An answer of git's smart HTTP that is passed on as it comes, however long it is."""

from collections.abc import AsyncIterator

import httpx

from app.github.errors import Unanswered

_LONGEST_TEXT = 4096


class GitStream:
    """An open answer. `pieces` may be read once; who does not read to the end must `aclose`."""

    def __init__(self, response: httpx.Response, route: str) -> None:
        self._response = response
        self._route = route

    @property
    def content_type(self) -> str:
        return str(self._response.headers.get("content-type", ""))

    async def pieces(self) -> AsyncIterator[bytes]:
        """The answer's bytes. Raises Unanswered where the connection breaks in the middle."""
        broken = False
        try:
            async for piece in self._response.aiter_raw():
                yield piece
        except httpx.HTTPError:
            broken = True
        finally:
            await self._response.aclose()
        # Raised out here, so that the request with its Authorization header is not the error's context.
        if broken:
            raise Unanswered("the connection broke in the middle of an answer", route=self._route)

    async def whole(self, limit: int) -> bytes:
        """All of it. Raises Unanswered as above, and where it is longer than `limit`."""
        found = bytearray()
        async for piece in self.pieces():
            found += piece
            if len(found) > limit:
                await self.aclose()
                raise Unanswered("the answer is longer than it can be", route=self._route)
        return bytes(found)

    async def aclose(self) -> None:
        """Give the connection back."""
        await self._response.aclose()


async def refusal_text(response: httpx.Response) -> str:
    """What the git server says beside an error status: its first line, as far as it is text."""
    found = b""
    try:
        async for piece in response.aiter_raw():
            found += piece
            if len(found) > _LONGEST_TEXT:
                break
    except httpx.HTTPError:
        return ""
    finally:
        await response.aclose()
    if not response.headers.get("content-type", "").startswith("text/plain"):
        return ""
    return found[:_LONGEST_TEXT].decode("utf-8", "replace").strip().partition("\n")[0]
