"""Bare git repositories: refs move only through ``git update-ref --stdin`` transactions, pygit2 reads.

A transaction locks every ref it names before it moves one, so API writes and pushes exclude each other and
nobody ever half wins. pygit2 never writes a ref here.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pygit2

from app.emulator.ref_transactions import RefTransactions, Refused

ZERO = "0" * 40
_OID = re.compile(r"[0-9a-f]{40}\Z")
_UNWANTED = re.compile(r"refs/(?:heads|tags)/(?:refs/|[0-9a-fA-F]{40}\Z)")


def git_env() -> dict[str, str]:
    """An environment in which git reads no configuration of this machine."""
    config = {
        "receive.autogc": "false",
        # What github/spokes-receive-pack advertises beside git's own; options are taken and ignored there too.
        "receive.advertisePushOptions": "true",
        "gc.auto": "0",
        "core.filesRefLockTimeout": "2000",
        "core.hooksPath": "/dev/null",
        "uploadpack.allowAnySHA1InWant": "true",
        "uploadpack.allowFilter": "true",
        "safe.directory": "*",
    }
    env = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_COUNT": str(len(config)),
    }
    for index, (key, value) in enumerate(config.items()):
        env[f"GIT_CONFIG_KEY_{index}"] = key
        env[f"GIT_CONFIG_VALUE_{index}"] = value
    return env


@dataclass(frozen=True)
class RefChange:
    """One ref to move: ``old`` None means unchecked, zero means "must not exist"; ``new`` zero deletes."""

    name: str
    old: str | None
    new: str


@dataclass(frozen=True)
class TreeEntry:
    """What to put at ``path``; ``oid`` None removes the path."""

    path: str
    oid: str | None
    mode: int = pygit2.enums.FileMode.BLOB


class RefsRefused(Exception):
    """The transaction was refused as a whole; nothing moved."""


def is_oid(text: Any) -> bool:
    """Is this a full, lower-case object name?"""
    return isinstance(text, str) and bool(_OID.match(text))


def is_ref_name(name: str) -> bool:
    """A full ref name that git accepts, with at least two slashes (``refs/heads/x``).

    GitHub takes no branch or tag that begins with ``refs/`` (its changelog of 2023-03-23) or that looks like an object
    (GH002, astral-sh/uv#10779).
    """
    return (
        name.startswith("refs/")
        and name.count("/") >= 2
        and not _UNWANTED.match(name)
        and pygit2.reference_is_valid_name(name)
    )


def _unwatched(changes: Sequence[RefChange]) -> AbstractContextManager[None]:
    return nullcontext()


class GitRepo:
    """One bare repository."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pg = pygit2.Repository(str(path))
        self._transactions = RefTransactions(path, git_env())
        self._logs: dict[tuple[Any, ...], list[str]] = {}
        # Entered around every move of refs, here and by a push, by whoever must know before they move.
        self.moving: Callable[[Sequence[RefChange]], AbstractContextManager[None]] = _unwatched

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"])  # type: ignore[misc]

    @classmethod
    def create(cls, path: Path, default_branch: str) -> GitRepo:
        """A new empty bare repository whose HEAD names ``default_branch``."""
        # What `git init --bare` makes, without its samples; libgit2 needs fifteen times as long for the same.
        for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
            (path / folder).mkdir(parents=True)
        (path / "HEAD").write_text(f"ref: refs/heads/{default_branch}\n")
        (path / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n")
        return cls(path)

    def set_head(self, branch: str) -> None:
        """Point HEAD at a branch."""
        self._git(["symbolic-ref", "HEAD", f"refs/heads/{branch}"])

    # Refs

    def ref(self, name: str) -> str | None:
        """The object a full ref name points at, or None."""
        try:
            return str(self.pg.references[name].target)
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def refs(self, prefix: str = "refs/") -> list[tuple[str, str]]:
        """All refs whose full name begins with ``prefix`` (a string prefix), by name."""
        found = [(r.name, str(r.target)) for r in self.pg.references.iterator() if r.name.startswith(prefix)]
        return sorted(found)

    def branch(self, name: str) -> str | None:
        """The head of a branch, or None."""
        return self.ref(f"refs/heads/{name}")

    def update(self, changes: Sequence[RefChange]) -> None:
        """Move all refs or none. Raises :class:`RefsRefused` when any is refused."""
        lines = []
        for change in changes:
            if not pygit2.reference_is_valid_name(change.name):
                raise RefsRefused(f"invalid ref name {change.name!r}")
            if change.new == ZERO:
                lines.append(f"delete {change.name}" + (f" {change.old}" if change.old else ""))
            else:
                lines.append(f"update {change.name} {change.new}" + (f" {change.old}" if change.old else ""))
        with self.moving(changes):
            try:
                self._transactions.commit(lines)
            except Refused as refused:
                raise RefsRefused(str(refused)) from refused

    def fetch(self, source: GitRepo, *wanted: str) -> None:
        """Copy objects from another repository: commits by name, or refs by refspec."""
        self._git(["fetch", "-q", "--no-tags", "--no-write-fetch-head", str(source.path.resolve()), *wanted])

    # Objects

    def kind(self, oid: str) -> str | None:
        """``commit``, ``tree``, ``blob`` or ``tag``; None when there is no such object."""
        if not is_oid(oid) or oid not in self.pg:
            return None
        return str(self.pg[oid].type_str)

    def commit(self, oid: str) -> Any:
        """The pygit2 commit, tags peeled; None when the object is missing or no commit."""
        if not is_oid(oid) or oid not in self.pg:
            return None
        try:
            return self.pg[oid].peel(pygit2.Commit)
        except (pygit2.InvalidSpecError, pygit2.GitError, ValueError):
            return None

    def object(self, oid: str) -> Any:
        """The pygit2 object or None."""
        return self.pg[oid] if is_oid(oid) and oid in self.pg else None

    def resolve(self, expression: str) -> Any:
        """The object a revision names (``main``, ``HEAD:path``, a SHA …), or None."""
        if not expression or expression.startswith("-"):
            return None
        try:
            return self.pg.revparse_single(expression)
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def resolve_commit(self, name: str) -> str | None:
        """The commit a branch, tag, ref (``refs/heads/x`` or ``heads/x``) or SHA names, or None."""
        full = name if name.startswith("refs/") else f"refs/{name}" if name.startswith(("heads/", "tags/")) else ""
        for ref in (f"refs/heads/{name}", f"refs/tags/{name}", full):
            target = self.ref(ref) if ref else None
            if target is not None:
                commit = self.commit(target)
                return str(commit.id) if commit is not None else None
        if name == "HEAD" or re.fullmatch(r"[0-9a-f]{4,40}", name):
            found = self.resolve(name)
            commit = self.commit(str(found.id)) if found is not None else None
            return str(commit.id) if commit is not None else None
        return None

    def is_empty(self) -> bool:
        """No branch at all: the object endpoints refuse to work."""
        # Asked with every write of a ref, and nearly always answered by the branch that HEAD names.
        return self.pg.head_is_unborn and not self.refs("refs/heads/")

    def write_blob(self, data: bytes) -> str:
        """Store a blob."""
        return str(self.pg.create_blob(data))

    def write_tree(self, base: str | None, entries: Iterable[TreeEntry]) -> str:
        """A tree made of ``base`` with entries put in or removed. Raises ``KeyError`` for a missing path."""
        index = pygit2.Index()
        if base is not None:
            index.read_tree(self.pg[base].peel(pygit2.Tree))
        for entry in entries:
            if entry.oid is None:
                if entry.path in index:
                    index.remove(entry.path)
                    continue
                below = [e.path for e in index if e.path.startswith(entry.path + "/")]
                if not below:
                    raise KeyError(entry.path)
                for path in below:
                    index.remove(path)
            elif entry.mode == pygit2.enums.FileMode.TREE:
                for path in [e.path for e in index if e.path.startswith(entry.path + "/")]:
                    index.remove(path)
                for path, blob, mode in self.walk_tree(entry.oid):
                    index.add(pygit2.IndexEntry(f"{entry.path}/{path}", blob, mode))
            else:
                mode = pygit2.enums.FileMode(entry.mode)
                index.add(pygit2.IndexEntry(entry.path, pygit2.Oid(hex=entry.oid), mode))
        return str(index.write_tree(self.pg))

    def walk_tree(self, oid: str) -> list[tuple[str, Any, Any]]:
        """All blobs below a tree as (path, oid, mode)."""
        found: list[tuple[str, Any, Any]] = []
        for entry in self.pg[oid].peel(pygit2.Tree):
            if entry.type_str == "tree":
                found += [(f"{entry.name}/{p}", o, m) for p, o, m in self.walk_tree(str(entry.id))]
            else:
                found.append((str(entry.name), entry.id, entry.filemode))
        return found

    def write_commit(
        self, tree: str, parents: list[str], message: str, author: pygit2.Signature, committer: pygit2.Signature
    ) -> str:
        """Store a commit without moving any ref."""
        return str(self.pg.create_commit(None, author, committer, message, tree, parents))

    # History

    def is_ancestor(self, old: str, new: str) -> bool:
        """Is ``old`` reachable from ``new`` (or equal)? A tag stands for its commit. False when either is no commit."""
        if old == new:
            return True
        older, newer = self.commit(old), self.commit(new)
        if older is None or newer is None:
            return False
        return older.id == newer.id or bool(self.pg.descendant_of(newer.id, older.id))

    def goes_on(self, old: str, new: str) -> bool:
        """May a ref move from one to the other without force? Blobs and trees have no history to lose."""
        return self.is_ancestor(old, new) or {self.kind(old), self.kind(new)} <= {"blob", "tree"}

    def ahead_behind(self, head: str, base: str) -> tuple[int, int]:
        """Commits only in head, commits only in base."""
        ahead, behind = self.pg.ahead_behind(head, base)
        return int(ahead), int(behind)

    def merge_base(self, a: str, b: str) -> str | None:
        """The best common ancestor, or None."""
        found = self.pg.merge_base(a, b)
        return str(found) if found is not None else None

    def merges_cleanly(self, base: str, head: str) -> bool:
        """Would a merge of the two commits be free of conflicts?"""
        index = self.pg.merge_commits(base, head)
        return index.conflicts is None

    def log(
        self,
        *revisions: str,
        path: str | None = None,
        since: str | None = None,
        until: str | None = None,
        author: str | None = None,
    ) -> list[str]:
        """Commit names as ``git log`` lists them (default history simplification), newest first."""
        key = (revisions, path, since, until, author)
        if any("\0" in part for part in (path, since, until, author) if part):
            return []
        if path is not None and (path.startswith("/") or ".." in path.split("/")):
            return []
        if key not in self._logs and (path, since, until, author) == (None, None, None, None):
            self._logs[key] = self._walked(revisions)
        if key not in self._logs:
            args = ["log", "--format=%H"]
            args += [f"--since={since}"] if since else []
            args += [f"--until={until}"] if until else []
            args += [f"--author={author}", "--fixed-strings"] if author else []
            args += [*revisions, "--"]
            args += [f":(literal){path}"] if path else []
            self._logs[key] = self._git(args).split()
        return self._logs[key]

    def _walked(self, revisions: Sequence[str]) -> list[str]:
        """What ``git log`` lists without any filter; the walker has git's own order."""
        walker = self.pg.walk(None, pygit2.enums.SortMode.NONE)
        for revision in revisions:
            name = revision.removeprefix("^")
            commit = self.pg.revparse_single(name).peel(pygit2.Commit)
            walker.hide(commit.id) if revision.startswith("^") else walker.push(commit.id)
        return [str(commit.id) for commit in walker]

    def diff(self, base: str, head: str) -> Any:
        """The pygit2 diff between two commits' trees, renames found."""
        diff = self.pg.diff(self.commit(base), self.commit(head))
        diff.find_similar()
        return diff

    def changes(self, base: str, head: str, *, by_commit: bool) -> bytes:
        """The diff between two commits, or the mailbox of the commits from one to the other."""
        args = ["format-patch", "--stdout", f"{base}..{head}"] if by_commit else ["diff", base, head]
        return self._git(args).encode()

    def _git(self, args: list[str]) -> str:
        done = subprocess.run(["git", *args], cwd=self.path, env=git_env(), capture_output=True, check=True)
        return done.stdout.decode()
