"""The bytes of git's receive-pack, as far as the service speaks it: commands with old values, an empty pack, a report.

Format: git's own documentation, gitprotocol-pack and gitprotocol-http.
"""

from collections.abc import Sequence

from app.domain.model import ZERO_SHA
from app.github.pack import empty_pack
from app.github.pkt import FLUSH, packet, packets

_CAPABILITIES = b"report-status atomic agent=agent-recovery"


def request_body(commands: Sequence[tuple[str, str, str]]) -> bytes:
    """The body of an atomic push of (ref, old, new) without objects. No pack follows where all are deletes."""
    lines = []
    for index, (ref, old, new) in enumerate(commands):
        line = f"{old} {new} {ref}".encode()
        lines.append(packet(line + (b"\x00 " + _CAPABILITIES if index == 0 else b"")))
    deletes_only = all(new == ZERO_SHA for _, _, new in commands)
    return b"".join(lines) + FLUSH + (b"" if deletes_only else empty_pack())


def advertised_capabilities(advertisement: bytes) -> frozenset[str]:
    """What the server offers. Empty for anything that is no advertisement."""
    for line in packets(advertisement):
        _, separator, capabilities = line.partition(b"\x00")
        if separator:
            return frozenset(capabilities.decode("utf-8", "replace").split())
    return frozenset()


def report_of(body: bytes, refs: Sequence[str]) -> dict[str, str | None]:
    """ref → None where it moved, else git's words. Raises ValueError where the report leaves a ref out."""
    unpacked = False
    result: dict[str, str | None] = {}
    for line in packets(body):
        text = line.decode("utf-8", "replace").rstrip("\n")
        verb, _, rest = text.partition(" ")
        if verb == "unpack":
            unpacked = rest == "ok"
            if not unpacked:
                return dict.fromkeys(refs, f"unpack: {rest[:200]}")
        elif verb == "ok":
            result[rest] = None
        elif verb == "ng":
            ref, _, reason = rest.partition(" ")
            result[ref] = reason[:200] or "refused without a reason"
    if not unpacked or set(result) != set(refs):
        raise ValueError("the push was answered without a complete report")
    return result
