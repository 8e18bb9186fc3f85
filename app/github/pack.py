"""A pack that is passed on with objects of ours at its end: nothing of it is unpacked, and nothing of it is kept.

A pack is a header with the number of its objects, the objects, and a SHA-1 over all of that. So objects are added by
raising the number, writing them behind the others, and computing the SHA-1 anew while the bytes go by.
Format: git's own documentation, gitformat-pack.
"""

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

_HEADER = 12
_TRAILER = 20
_KINDS = {"commit": 1, "tree": 2, "blob": 3}
_MOST_OBJECTS = 2**32 - 1


class BadPack(Exception):
    """The bytes are no whole pack; the message says why."""


@dataclass(frozen=True)
class NewObject:
    """A git object as it is to stand in a pack. `kind`: commit, tree or blob."""

    kind: str
    content: bytes


class PassedPack:
    """One pack on its way through: `pass_on` each piece, then `end`. Without objects it only checks what goes by.

    Holds the last twenty bytes and nothing else, however long the pack is.
    """

    def __init__(self, objects: Sequence[NewObject] = ()) -> None:
        self._objects = tuple(objects)
        self._before = hashlib.sha1(usedforsecurity=False)
        self._after = hashlib.sha1(usedforsecurity=False)
        self._begun = False
        self._held = b""

    def pass_on(self, piece: bytes) -> bytes:
        """What is to be sent for a piece that came. Raises BadPack on what does not begin as a pack."""
        self._held += piece
        head = b""
        if not self._begun:
            if len(self._held) < _HEADER:
                return b""
            head = self._header(self._held[:_HEADER])
            self._held = self._held[_HEADER:]
            self._begun = True
        ready = len(self._held) - _TRAILER
        if ready <= 0:
            return head
        body, self._held = self._held[:ready], self._held[ready:]
        self._before.update(body)
        self._after.update(body)
        return head + body

    def end(self) -> bytes:
        """What is to be sent last. Raises BadPack where the pack was cut off or damaged on its way here."""
        if not self._begun or len(self._held) < _TRAILER:
            raise BadPack("the pack was cut off")
        if self._held != self._before.digest():
            raise BadPack("the pack's checksum is wrong")
        own = b"".join(_entry(made) for made in self._objects)
        self._after.update(own)
        return own + self._after.digest()

    def _header(self, header: bytes) -> bytes:
        version, count = int.from_bytes(header[4:8], "big"), int.from_bytes(header[8:12], "big")
        if header[:4] != b"PACK" or version not in (2, 3):
            raise BadPack("what was sent is no pack")
        if count + len(self._objects) > _MOST_OBJECTS:
            raise BadPack("the pack has no room for another object")
        raised = header[:8] + (count + len(self._objects)).to_bytes(4, "big")
        self._before.update(header)
        self._after.update(raised)
        return raised


def empty_pack() -> bytes:
    """A pack of no objects: header and checksum, 32 bytes."""
    header = b"PACK" + (2).to_bytes(4, "big") + (0).to_bytes(4, "big")
    return header + hashlib.sha1(header, usedforsecurity=False).digest()


def _entry(made: NewObject) -> bytes:
    """An object as it stands in a pack: its kind and size in groups of bits, then the content, deflated."""
    size = len(made.content)
    first, rest = _KINDS[made.kind] << 4 | size & 0x0F, size >> 4
    head = bytearray()
    while rest:
        head.append(first | 0x80)
        first, rest = rest & 0x7F, rest >> 7
    head.append(first)
    return bytes(head) + zlib.compress(made.content)
