"""A push of somebody else's git on its way through us: what it asks, what we ask in its place, what it is told.

Wanted properties: the commands are known before anything is forwarded; what is forwarded is atomic, whatever was
asked; a command that we add is answered to us and never shown to the pusher, whose git knows nothing of it.
Format: git's own documentation, gitprotocol-pack and gitprotocol-capabilities.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain.model import ZERO_SHA
from app.domain.push_rules import Command
from app.github.pkt import FLUSH, BrokenStream, Incoming, banded, packet, packets

MOST_LINES = 5000
"""Before the pack: commands, and the edges of a shallow clone."""
_LONGEST_COMMAND = 2048
_SIDE_BAND = "side-band-64k"
_NEEDED = frozenset({"atomic", "report-status"})
_OFFERED = frozenset({*_NEEDED, _SIDE_BAND, "ofs-delta", "delete-refs", "quiet"})
"""What a pusher is offered, where the server offers it: what we can answer for. No push options, no certificates."""
_COMMAND = re.compile(r"(?P<old>[0-9a-f]{40}) (?P<new>[0-9a-f]{40}) (?P<ref>[^\x00-\x20\x7f]+)")
_SHALLOW = re.compile(r"shallow [0-9a-f]{40}")
_LONGEST_REASON = 300


@dataclass(frozen=True)
class PushRequest:
    """The part of a push that stands before its pack."""

    commands: tuple[Command, ...]
    capabilities: frozenset[str] = frozenset()
    shallow: tuple[str, ...] = ()

    @property
    def is_banded(self) -> bool:
        """Whether the pusher's git reads the answer on side bands, where people are told more than a line."""
        return _SIDE_BAND in self.capabilities

    @property
    def has_pack(self) -> bool:
        """Whether a pack follows: none does where all that is asked is to delete."""
        return any(command.new != ZERO_SHA for command in self.commands)

    def forwarded(self, more: Sequence[Command] = ()) -> bytes:
        """The same request with `more` commands, all or nothing."""
        wanted = sorted(_NEEDED | (self.capabilities & {_SIDE_BAND, "quiet"}))
        capabilities = " ".join([*wanted, "object-format=sha1", "agent=agent-recovery"])
        lines = [packet(line.encode()) for line in self.shallow]
        for number, command in enumerate((*self.commands, *more)):
            line = f"{command.old} {command.new} {command.ref}".encode()
            lines.append(packet(line if number else line + b"\0 " + capabilities.encode()))
        return b"".join(lines) + FLUSH


async def read_request(incoming: Incoming) -> PushRequest | None:
    """The request at the beginning of a push; None for the empty one by which git asks whether it may push at all.
    Raises BrokenStream on anything that git, with what we offer, does not send.
    """
    commands: list[Command] = []
    shallow: list[str] = []
    capabilities: frozenset[str] = frozenset()
    while (line := await incoming.line()) is not None:
        if len(commands) + len(shallow) == MOST_LINES or len(line) > _LONGEST_COMMAND:
            raise BrokenStream("the list of what to push is too long")
        text, _, asked = line.partition(b"\0")
        words = text.decode("utf-8", "replace").rstrip("\n")
        if not commands and _SHALLOW.fullmatch(words):
            shallow.append(words)
            continue
        found = _COMMAND.fullmatch(words)
        if found is None or "\ufffd" in words:
            raise BrokenStream("a command is none that a plain push has")
        if not commands:
            capabilities = frozenset(asked.decode("utf-8", "replace").split())
        commands.append(Command(**found.groupdict()))
    if not commands:
        return None
    if len({command.ref for command in commands}) != len(commands):
        raise BrokenStream("a ref is named twice")
    if surplus := capabilities & {"push-options"} | {c for c in capabilities if c.startswith("push-cert")}:
        raise BrokenStream(f"{min(surplus).partition('=')[0]} was not offered")
    return PushRequest(tuple(commands), capabilities, tuple(shallow))


async def narrowed_offer(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The server's advertisement of refs for a push, offering only what passes through here. Raises BrokenStream where
    the server has no atomic pushes, because nothing is fenced without them.
    """
    incoming = Incoming(pieces)
    while True:
        line = await incoming.line()
        if line is None:
            yield FLUSH
            continue
        name, separator, offered = line.partition(b"\0")
        if separator:
            capabilities = offered.decode("utf-8", "replace").split()
            if _NEEDED - set(capabilities):
                raise BrokenStream("the git server offers no atomic pushes")
            kept = [c for c in capabilities if c in _OFFERED or c.startswith("object-format=")]
            yield packet(name + b"\0" + " ".join([*kept, "agent=agent-recovery"]).encode() + b"\n")
            break
        yield packet(line)
    async for piece in incoming.rest():
        yield piece


@dataclass(frozen=True)
class PushReport:
    """What a push came to: each ref with None where it moved, else with the reason. `unpacked`: None, or why the pack
    was not taken. `said`: what people are told beside it, as the server wrote it.
    """

    refs: Mapping[str, str | None]
    unpacked: str | None = None
    said: bytes = b""

    @property
    def moved(self) -> bool:
        """Whether all of it happened."""
        return self.unpacked is None and not any(self.refs.values())

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why not, in the server's words, each once."""
        found = [self.unpacked, *self.refs.values()]
        return tuple(dict.fromkeys(reason for reason in found if reason))

    def about(self, commands: Sequence[Command]) -> "PushReport":
        """The same as far as it is about these commands. Where one only fell with another that is left out, the reason
        of that one is told.
        """
        named = {command.ref for command in commands}
        others = [f"{ref}: {reason}" for ref, reason in self.refs.items() if reason and ref not in named]
        shown = {command.ref: self.refs.get(command.ref) for command in commands}
        if others:
            shown = {
                ref: f"{reason}; {others[0]}" if reason and "atomic" in reason else reason
                for ref, reason in shown.items()
            }
        return replace(self, refs=shown)

    def written(self, *, is_banded: bool) -> bytes:
        """As a pusher's git reads it."""
        lines = [packet(f"unpack {self.unpacked or 'ok'}\n".encode())]
        for ref, reason in self.refs.items():
            text = f"ok {ref}\n" if reason is None else f"ng {ref} {' '.join(reason.split())[:_LONGEST_REASON]}\n"
            lines.append(packet(text.encode()))
        report = b"".join(lines) + FLUSH
        return banded(2, self.said) + banded(1, report) + FLUSH if is_banded else report


def read_report(body: bytes, refs: Sequence[str], *, is_banded: bool) -> PushReport:
    """The server's answer to a push of these refs. Raises BrokenStream where it leaves one out."""
    said = b""
    if is_banded:
        lines = [(line[:1], line[1:]) for line in packets(body)]
        said = b"".join(content for band, content in lines if band == b"\x02")
        body = b"".join(content for band, content in lines if band == b"\x01")
    unpack: str | None = None
    found: dict[str, str | None] = {}
    for line in packets(body):
        verb, _, rest = line.decode("utf-8", "replace").rstrip("\n").partition(" ")
        if verb == "unpack":
            unpack = rest[:_LONGEST_REASON]
        elif verb == "ok":
            found[rest] = None
        elif verb == "ng":
            ref, _, reason = rest.partition(" ")
            found[ref] = reason[:_LONGEST_REASON] or "no reason was given"
    if unpack not in (None, "ok"):
        return PushReport(dict.fromkeys(refs, "the pack was not taken"), unpack, said)
    if unpack is None or set(found) != set(refs):
        raise BrokenStream("the push was answered without a complete report")
    return PushReport(found, None, said)
