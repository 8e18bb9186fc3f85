"""A pack that an agent sends, kept on disk until its push is decided.

A push is sent again where another write of the ticket came first or where the server was not heard, and an agent's git
sends its pack once. Small packs never reach the disk; of a large one no more than a piece is in memory.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import IO

from app.github.pack import BadPack, PassedPack

IN_MEMORY = 1024 * 1024
_PIECE = 256 * 1024


class TooLarge(Exception):
    """The pack is larger than the operator allows; the message says how large it may be."""


class HeldPack:
    """One pack. A context manager: leaving it removes the file."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        self.size = 0

    def __enter__(self) -> "HeldPack":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    async def take(
        self, pieces: AsyncIterator[bytes], limit: int, before_disk: Callable[[], Awaitable[object]] | None = None
    ) -> None:
        """Keep a whole pack. `before_disk` is called once, before any of it goes to the disk, and may raise. Raises
        BadPack on what is none or was cut off, TooLarge above `limit` bytes, OSError where the disk has no room.
        """
        checked = PassedPack()
        is_small = True
        waiting = bytearray()
        async for piece in pieces:
            self.size += len(piece)
            if self.size > limit:
                raise TooLarge(f"a push may have at most {limit // 1024**2} MiB")
            if is_small and self.size > IN_MEMORY - _PIECE:
                is_small = False
                if before_disk is not None:
                    await before_disk()
            waiting += checked.pass_on(piece)
            if len(waiting) >= _PIECE:
                await asyncio.to_thread(self._file.write, bytes(waiting))
                waiting.clear()
        if not self.size:
            raise BadPack("no pack was sent")
        await asyncio.to_thread(self._file.write, bytes(waiting) + checked.end())

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.pieces()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The pack from its beginning."""
        await asyncio.to_thread(self._file.seek, 0)
        while piece := await asyncio.to_thread(self._file.read, _PIECE):
            yield piece
