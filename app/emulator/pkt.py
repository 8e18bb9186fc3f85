"""pkt-lines, the framing of the git protocol."""

from __future__ import annotations

FLUSH = b"0000"
_MAX_DATA = 65_515


def pkt_lines(data: bytes) -> list[bytes]:
    """The pkt-lines before the first flush."""
    return _split(data)[0]


def after_flush(data: bytes) -> bytes:
    """What follows the first flush."""
    return _split(data)[1]


def pkt(line: bytes) -> bytes:
    """One pkt-line."""
    return b"%04x" % (len(line) + 4) + line


def banded(band: bytes, data: bytes) -> bytes:
    """Data on a side band, cut to the size a pkt-line may have."""
    return b"".join(pkt(band + data[at : at + _MAX_DATA]) for at in range(0, len(data), _MAX_DATA))


def _split(data: bytes) -> tuple[list[bytes], bytes]:
    lines: list[bytes] = []
    at = 0
    while at + 4 <= len(data):
        try:
            size = int(data[at : at + 4], 16)
        except ValueError:
            break
        if size == 0:
            return lines, data[at + 4 :]
        lines.append(data[at + 4 : at + max(size, 4)])
        at += max(size, 4)
    return lines, b""
