"""The folder of a kept state: ``emulator.sqlite3``, ``repos/`` and a lock; claimed, checked, tidied after a crash."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path

FILE = "emulator.sqlite3"
REPOS = "repos"
_LOCK = "lock"
_FORMAT = 1
_APPLICATION = 0x41524547
_TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE about (format INTEGER NOT NULL);
CREATE TABLE kind (name TEXT PRIMARY KEY, members TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE thing (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL);
CREATE TABLE move (number INTEGER PRIMARY KEY, repo TEXT NOT NULL, ref TEXT NOT NULL, old TEXT NOT NULL,
                   new TEXT NOT NULL);
"""


class StateRefused(Exception):
    """The folder cannot be used; the message says why and what to do next."""


def claim(folder: Path) -> int:
    """Take the folder for this process; closing the descriptor, or the end of the process, lets it go.

    Raises :class:`StateRefused` for a folder of something else, and while another process holds it.
    """
    if folder.exists() and not folder.is_dir():
        raise StateRefused(f"{folder} is no folder\nnext: name an empty or a new one")
    if folder.is_dir() and not (folder / FILE).is_file():
        others = sorted(p.name for p in folder.iterdir() if p.name != _LOCK)
        if others:
            shown = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
            raise StateRefused(f"{folder} holds something else ({shown})\nnext: name an empty or a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise StateRefused(f"another emulator runs on {folder}\nnext: stop it, or name another folder") from None
    return descriptor


def open_database(folder: Path) -> sqlite3.Connection:
    """The database, made if it is not there. Raises :class:`StateRefused` for another format or another file."""
    path = folder / FILE
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        application = database.execute("PRAGMA application_id").fetchone()[0]
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application == 0 and tables == 0:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(_TABLES)
            database.execute("INSERT INTO about VALUES (?)", (_FORMAT,))
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute("COMMIT")
        elif application != _APPLICATION:
            raise StateRefused(f"{path} is a database of something else\nnext: name an empty or a new folder")
        written = database.execute("SELECT format FROM about").fetchone()[0]
        if written != _FORMAT:
            raise StateRefused(
                f"{path} has format {written}, and this emulator reads format {_FORMAT} only\n"
                "next: start with an empty folder, or run the version that wrote it"
            )
        # A commit then survives the end of this process at any moment, though not a loss of power.
        database.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.DatabaseError as error:
        database.close()
        raise StateRefused(f"{path} cannot be read: {error}\nnext: name an empty or a new folder") from None
    except StateRefused:
        database.close()
        raise
    return database


def tidy(folder: Path, known: Iterable[Path]) -> None:
    """Remove repositories that no state knows of, and what a git process that was killed left in the others."""
    kept = {path.name for path in known}
    for path in (folder / REPOS).glob("*.git"):
        if path.name not in kept:
            shutil.rmtree(path)
            continue
        for lock in [*path.glob("*.lock"), *(path / "refs").rglob("*.lock")]:
            lock.unlink()
        for quarantine in (path / "objects").glob("tmp_objdir-*"):
            shutil.rmtree(quarantine)
