"""pkt-lines, the framing of git's protocol: written, split, and read from a stream that arrives in pieces.

Format: git's own documentation, gitprotocol-common.
"""

from collections.abc import AsyncIterator, Iterator

FLUSH = b"0000"
LONGEST = 65_516
"""Bytes of content one line may have."""


class BrokenStream(Exception):
    """The bytes are no git protocol, or end in the middle of it; the message says what is wrong."""


def packet(content: bytes) -> bytes:
    """One line."""
    return f"{len(content) + 4:04x}".encode() + content


def packets(data: bytes) -> Iterator[bytes]:
    """The lines of a whole answer, flushes left out; ends quietly at the first broken length."""
    position = 0
    while position + 4 <= len(data):
        length = _length(data[position : position + 4])
        if length is None:
            return
        if length < 4:
            position += 4
            continue
        if position + length > len(data):
            return
        yield data[position + 4 : position + length]
        position += length


def banded(band: int, content: bytes) -> bytes:
    """Content on a side band, in as many lines as it needs."""
    most = LONGEST - 1
    return b"".join(packet(bytes([band]) + content[at : at + most]) for at in range(0, len(content), most))


class Incoming:
    """A stream read line by line as far as it is lines, then as it comes. Holds one piece of it at a time."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""

    async def line(self) -> bytes | None:
        """The next line; None for a flush. Raises BrokenStream."""
        length = _length(await self._exactly(4))
        if length is None or 0 < length < 4:
            raise BrokenStream("a line's length is none of git's")
        return None if length == 0 else await self._exactly(length - 4)

    async def rest(self) -> AsyncIterator[bytes]:
        """What follows, in pieces of whatever size."""
        if self._held:
            held, self._held = self._held, b""
            yield held
        async for piece in self._pieces:
            if piece:
                yield piece

    async def ends_here(self) -> bool:
        """Whether nothing follows."""
        return not await self._more(1)

    async def _exactly(self, count: int) -> bytes:
        if not await self._more(count):
            raise BrokenStream("it ends in the middle")
        taken, self._held = self._held[:count], self._held[count:]
        return taken

    async def _more(self, count: int) -> bool:
        while len(self._held) < count:
            try:
                self._held += await anext(self._pieces)
            except StopAsyncIteration:
                return False
        return True


def _length(digits: bytes) -> int | None:
    """What a line says of its own length; None where that is no number. `int` alone would take `+1_2` too."""
    if len(digits) != 4 or not all(digit in b"0123456789abcdefABCDEF" for digit in digits):
        return None
    return int(digits, 16)
