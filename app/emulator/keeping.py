"""State that survives: after each request the objects that it changed are written, before its answer leaves.

What changed is found by comparing each object with a copy of its members, so no class and no handler knows of this.
Each write is one transaction. It survives the end of the process at any moment, also by SIGKILL; nothing is promised
for a machine that loses power.

Refs lie in git and move before the state does. So a move is noted first, and the note goes in the transaction that
knows of the move. A note that is still there at a start belongs to a request that was never answered: its ref is put
back, and the request is one that never arrived.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.emulator import state_folder
from app.emulator.kept_values import (
    Reader,
    UnknownKind,
    Writer,
    give_state,
    kind_name,
    kind_of,
    members_of,
    snapshot,
    state_of,
    things_in,
)
from app.emulator.repos import ZERO, GitRepo, RefChange, RefsRefused
from app.emulator.state_folder import StateRefused
from app.emulator.world import World

_ROOT = 1
# What no answer tells of (how a webhook fared, what a read spent) is written this much later.
_SOON_S = 0.5


@dataclass(eq=False)
class _Known:
    """An object and what was last written of it. Being held here, it keeps the address it is found by."""

    thing: Any
    number: int
    written: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        # Most objects are their members, and looking at them over and over is what keeping costs.
        state = state_of(self.thing)
        self._live = state if state is getattr(self.thing, "__dict__", None) else None

    def changed(self) -> bool:
        """Is it another than was written?"""
        return self.written != (self._live if self._live is not None else state_of(self.thing))


class Keeper:
    """The state of one world in one folder, which no other process may use meanwhile."""

    def __init__(self, folder: Path) -> None:
        """Claim the folder. Raises :class:`StateRefused`."""
        self.folder = folder
        self._lock = state_folder.claim(folder)
        try:
            self._database = state_folder.open_database(folder)
        except StateRefused:
            os.close(self._lock)
            raise
        self._known: dict[int, _Known] = {}
        self._next = _ROOT
        self._unwritten: list[_Known] = []
        self._described: dict[str, str] = {}
        self._settled: list[int] = []
        self._timer: asyncio.TimerHandle | None = None

    def load(self) -> World:
        """The world as it was last answered for, or an empty one in a new folder. Raises :class:`StateRefused`."""
        rows = {n: (kind, state) for n, kind, state in self._database.execute("SELECT number, kind, state FROM thing")}
        if not rows:
            world = World(self.folder)
            self.keep(world)
            return world
        self._described = dict(self._database.execute("SELECT name, members FROM kind"))
        self._check_versions()
        world = self._revive(rows)
        repos = [known.thing for known in self._known.values() if isinstance(known.thing, GitRepo)]
        state_folder.tidy(self.folder, [git.path for git in repos])
        self._put_back({git.path.name: git for git in repos})
        for repo in world.repos.values():
            repo.git.set_head(repo.default_branch)
        self.write()
        return world

    def keep(self, world: World) -> None:
        """From now on this world is the state; what was stored of another one goes."""
        self.forget()
        self._number(world)
        self.write()

    def forget(self) -> None:
        """Empty the state, before the repositories of a world that is replaced are removed."""
        with self._transaction():
            self._database.execute("DELETE FROM thing")
            self._database.execute("DELETE FROM move")
        self._known, self._unwritten, self._settled, self._next = {}, [], [], _ROOT

    def write(self) -> None:
        """Write what changed since the last time, in one transaction. Raises :class:`NotKeepable`."""
        changed = [k for k in self._known.values() if k.written is not None and k.changed()]
        self._unwritten += changed
        writer = Writer(self._number, self.folder)
        rows: list[tuple[int, str, str]] = []
        seen: list[tuple[_Known, dict[str, Any]]] = []
        # Writing one object finds the new ones that it refers to; they join the list.
        for known in self._unwritten:
            state = state_of(known.thing)
            rows.append((known.number, kind_name(type(known.thing)), writer.write(known.thing)))
            seen.append((known, snapshot(state)))
        if not rows and not self._settled:
            return
        kinds = {kind_name(kind): json.dumps(members) for kind, members in writer.kinds.items()}
        fresh = [(name, members) for name, members in kinds.items() if self._described.get(name) != members]
        with self._transaction():
            self._database.executemany("INSERT OR REPLACE INTO kind VALUES (?, ?)", fresh)
            self._database.executemany("INSERT OR REPLACE INTO thing VALUES (?, ?, ?)", rows)
            self._database.executemany("DELETE FROM move WHERE number = ?", [(n,) for n in self._settled])
        self._described |= kinds
        self._unwritten, self._settled = [], []
        for known, state in seen:
            known.written = state

    def soon(self) -> None:
        """Write within half a second."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SOON_S, self._now)

    def close(self) -> None:
        """Write the last changes and let the folder go."""
        if self._timer is not None:
            self._timer.cancel()
        self.write()
        self._database.close()
        os.close(self._lock)

    def _now(self) -> None:
        self._timer = None
        self.write()

    # Refs that move

    @contextlib.contextmanager
    def _moving(self, git: GitRepo, changes: Sequence[RefChange]) -> Iterator[None]:
        numbers = []
        for change in changes:
            row = (git.path.name, change.name, git.ref(change.name) or ZERO, change.new)
            done = self._database.execute("INSERT INTO move (repo, ref, old, new) VALUES (?, ?, ?, ?)", row)
            numbers.append(int(done.lastrowid or 0))
        try:
            yield
        finally:
            self._settled += numbers

    def _put_back(self, repos: dict[str, GitRepo]) -> None:
        moves = self._database.execute("SELECT number, repo, ref, old, new FROM move ORDER BY number DESC").fetchall()
        for number, name, ref, old, new in moves:
            git = repos.get(name)
            # A ref that is elsewhere was never moved by this request, or has been moved on by one that was answered.
            if git is not None and old != new and (git.ref(ref) or ZERO) == new:
                with contextlib.suppress(RefsRefused):
                    git.update([RefChange(ref, new, old)])
            self._settled.append(number)

    # Objects

    def _number(self, thing: Any) -> int:
        known = self._known.get(id(thing))
        if known is None:
            known = self._known[id(thing)] = _Known(thing, self._next)
            self._next += 1
            self._unwritten.append(known)
            self._watch(thing)
        return known.number

    def _watch(self, thing: Any) -> None:
        if isinstance(thing, GitRepo):
            thing.moving = lambda changes: self._moving(thing, changes)

    def _revive(self, rows: dict[int, tuple[str, str]]) -> World:
        things: dict[int, Any] = {}
        waiting: list[int] = []

        def thing(number: int) -> Any:
            if number not in things:
                kind = kind_of(rows[number][0])
                things[number] = object.__new__(kind)
                waiting.append(number)
            return things[number]

        try:
            reader = Reader(thing, self.folder)
            root = thing(_ROOT)
            # All get their members before any is woken: waking may look at what they refer to.
            states = {}
            while waiting:
                number = waiting.pop()
                states[number] = reader.read(rows[number][1])
            for number in sorted(states, reverse=True):
                give_state(things[number], states[number])
        except (KeyError, ValueError) as error:
            raise StateRefused(f"{self.folder} is damaged: {error}\nnext: start with an empty folder") from None
        if not isinstance(root, World):
            raise StateRefused(f"{self.folder} holds no world\nnext: start with an empty folder")
        for number, revived in things.items():
            self._known[id(revived)] = _Known(revived, number, snapshot(state_of(revived)))
            self._watch(revived)
        self._next = max(rows) + 1
        with self._transaction():
            gone = [(number,) for number in rows if number not in things]
            self._database.executemany("DELETE FROM thing WHERE number = ?", gone)
        return root

    # Versions

    def _check_versions(self) -> None:
        """Refuse what classes of another shape wrote. Raises :class:`StateRefused`."""
        with tempfile.TemporaryDirectory() as folder:
            present = {kind_name(type(thing)): members_of(thing) for thing in things_in(World(Path(folder)))}
        for name, written in self._described.items():
            try:
                kind = kind_of(name)
            except UnknownKind:
                members: Any = None
            else:
                members = members_of(kind) if dataclasses.is_dataclass(kind) else present.get(name, json.loads(written))
            if members != json.loads(written):
                raise StateRefused(
                    f"{self.folder} was written by another version of the emulator: {name} is not what it was\n"
                    "next: start with an empty folder, or run the version that wrote it"
                )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")
