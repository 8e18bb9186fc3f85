"""The folder `.agent-recovery/` at the top of the agent's workspace: what the command line remembers between calls.

Wanted properties: a file is there whole or not at all (written beside, then renamed, after fsync); only its owner
reads it; git never sees it (`.git/info/exclude`); a repository cannot put its own files in its place.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from app.agent.environment import usage

FOLDER = ".agent-recovery"
LEASE_FILE = "lease.json"
_MAX_FILE = 1024 * 1024

Model = TypeVar("Model", bound=BaseModel)


class Home:
    """The `.agent-recovery/` folder of one workspace. `root` is the workspace itself."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / FOLDER

    @classmethod
    def at(cls, start: Path) -> "Home":
        """The one that stands in `start`, or would stand there. Raises Refused where somebody else may have put it."""
        home = cls(start.resolve())
        if os.path.lexists(home.folder) and not _is_only_ours(home.folder):
            raise usage(
                f"{home.folder} is not yours alone: it is no folder, or another user owns it or may write to it",
                "work in a folder of your own, or make it yours alone: it says where your tokens are sent",
            )
        return home

    @classmethod
    def find(cls, start: Path) -> "Home":
        """The nearest one at or above `start`, within its clone; where there is none, the one that would stand in
        `start`. One above that is not ours alone is passed over; raises Refused for one in `start`.
        """
        home = cls.at(start)
        if home.folder.exists():
            return home
        place = home.root
        while place != place.parent and not (place / ".git").exists():
            place = place.parent
            if _is_only_ours(place / FOLDER):
                return cls(place)
        return home

    def path(self, name: str) -> Path:
        return self.folder / name

    def read(self, name: str) -> str | None:
        """A file's text, or None where it does not stand. Raises Refused on what cannot be text of ours."""
        return read_text(self.path(name), f"{FOLDER}/{name}")

    def load(self, name: str, model: type[Model]) -> Model | None:
        """A file's content as `model`, or None where it does not stand. Raises Refused when it is damaged."""
        text = self.read(name)
        if text is None:
            return None
        try:
            return model.model_validate_json(text)
        except ValidationError:
            # pydantic's own text would quote the input, and the input may hold a token.
            raise usage(
                f"{FOLDER}/{name} is damaged", f"remove {FOLDER}/{name} and run `agent-recovery recover` again"
            ) from None

    def write(self, name: str, text: str) -> None:
        """Puts a file in place, durable, mode 0600. Raises Refused when the folder is not ours to write to."""
        self._make_folder()
        beside = self.path(f".{name}.{os.getpid()}.new")
        beside.unlink(missing_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path(name))

    def save(self, name: str, value: BaseModel) -> None:
        self.write(name, value.model_dump_json(indent=2) + "\n")

    def remove(self, name: str) -> None:
        self.path(name).unlink(missing_ok=True)

    @contextmanager
    def locked(self, name: str = "lock") -> Iterator[None]:
        """Only one process of this workspace at a time: reads and writes its counters, or does what `name` says."""
        try:
            import fcntl
        except ImportError:  # no such lock on this platform; commands there must not run side by side
            yield
            return
        self._make_folder()
        with self.path(name).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @contextmanager
    def turn(self, name: str) -> Iterator[bool]:
        """Whether this process is the one that does what `name` says; False while another one is at it."""
        try:
            import fcntl
        except ImportError:  # no such lock on this platform; commands there must not run side by side
            yield True
            return
        self._make_folder()
        with self.path(name).open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def ignore(self, git_exclude: Path) -> None:
        """Adds the folder, wherever in the clone it stands, to git's own ignore file (`.git/info/exclude`), once."""
        line = f"{FOLDER}/"
        text = git_exclude.read_text(encoding="utf-8", errors="surrogateescape") if git_exclude.exists() else ""
        if line in text.splitlines():
            return
        git_exclude.parent.mkdir(parents=True, exist_ok=True)
        gap = "" if not text or text.endswith("\n") else "\n"
        with git_exclude.open("a", encoding="utf-8") as file:
            file.write(f"{gap}{line}\n")

    def _make_folder(self) -> None:
        if self.folder.is_symlink() or (self.folder.exists() and not self.folder.is_dir()):
            raise usage(f"{FOLDER} is not a folder of its own", f"remove {FOLDER} and run the command again")
        self.folder.mkdir(mode=0o700, exist_ok=True)


def read_text(path: Path, name: str) -> str | None:
    """A small UTF-8 file's text, or None where it does not stand. `name` is what messages call it. Raises Refused."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE + 1)
    except FileNotFoundError:
        return None
    if len(data) > _MAX_FILE:
        raise usage(f"{name} is larger than 1 MiB", "make it smaller")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise usage(f"{name} is not UTF-8 text", "write it again as UTF-8") from None


def _is_only_ours(folder: Path) -> bool:
    # Another user's folder is a trap: it would name where our tokens are sent. So is a link to any folder.
    try:
        status = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    if not hasattr(os, "geteuid"):  # this platform has no such owners and modes
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
