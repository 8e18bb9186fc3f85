"""A local git clone as the ledger uses it: exact refs in, objects read and written, one atomic push out.

Everything that comes from the remote is hostile: names are checked and given in full, SHAs are checked, nothing ever
stands where git could take it for an option, and nothing goes through a shell.
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType

from app.domain.record import MAX_BYTES
from app.domain.refs import names_above
from app.ledger.codec import AUTHOR_EMAIL, AUTHOR_NAME, RECORD_FILE, Entry
from app.ledger.git_program import DIRECT, QUIET, Fault, directly, fault_of, git_environment, git_words, plain_line

NETWORK_TIMEOUT_S = 120
LOCAL_TIMEOUT_S = 60
MAX_COMMIT_BYTES = 64 * 1024
MAX_LISTED = 50

_SHA = re.compile(r"^[0-9a-f]{40}$")


@dataclass(frozen=True)
class Unreachable:
    """The remote did not answer, or refused us; `reason` is git's, on one line and without credentials."""

    reason: str
    fault: Fault = Fault.UNHEARD


@dataclass(frozen=True)
class PushedRefs:
    """The remote took all refs."""


@dataclass(frozen=True)
class PushFailed:
    """git says that nothing moved, or says nothing; `reason` is its own. Unheard: it may have happened."""

    reason: str
    fault: Fault = Fault.OTHER


@dataclass(frozen=True)
class RefPush:
    """One command of an atomic push: `ref` becomes `new`, only from `lease` (None: only if it does not exist)."""

    ref: str
    new: str
    lease: str | None


class Clone:
    """A clone on this machine and its remote: the one at `address`, or whatever git makes of `origin` there."""

    def __init__(self, path: Path, address: str | None = None) -> None:
        self.path = path
        self.remote = "origin" if address is None else DIRECT
        self._reach = () if address is None else directly(address)
        # Replaced objects would show another history than the remote's.
        self._environment = git_environment(GIT_NO_REPLACE_OBJECTS="1")

    def is_ref_name(self, ref: str) -> bool:
        """Whether git takes this full name: then it holds no character that means something in a refspec."""
        return ref.startswith("refs/") and self._run("check-ref-format", ref).returncode == 0

    def fetch(self, wanted: Mapping[str, str]) -> dict[str, str] | Unreachable:
        """Brings remote refs (full name → local ref that holds it) and returns name → SHA of those that stand.

        One fetch where all of them stand; where one is missing, git fetches none, so it is asked which do.
        """
        if self._fetch(wanted).returncode == 0:
            return self._held(wanted)
        found = self.remote_refs(tuple(wanted))
        if isinstance(found, Unreachable):
            return found
        standing = {name: local for name, local in wanted.items() if name in found}
        if standing and (fetched := self._fetch(standing)).returncode != 0:
            return _unreachable(fetched)
        return self._held(standing)

    def remote_refs(self, names: Sequence[str]) -> dict[str, str] | Unreachable:
        """What exactly these full names point to on the remote, those that stand."""
        listed = self._run("ls-remote", "--end-of-options", self.remote, *names, timeout=NETWORK_TIMEOUT_S)
        if listed.returncode != 0:
            return _unreachable(listed)
        lines = [line.partition("\t") for line in listed.stdout.decode("utf-8", "replace").splitlines()]
        return {name: sha for sha, _, name in lines if name in names and _SHA.fullmatch(sha)}

    def in_the_way(self, ref: str) -> str | None:
        """A ref of the remote that leaves no room for this full name: a part of it, or one below it."""
        above = names_above(ref)
        listed = self._run("ls-remote", "--end-of-options", self.remote, *above, f"{ref}/*", timeout=NETWORK_TIMEOUT_S)
        names = [line.partition("\t")[2] for line in listed.stdout.decode("utf-8", "replace").splitlines()]
        return next((plain_line(name) for name in names if name in above or name.startswith(f"{ref}/")), None)

    def _fetch(self, wanted: Mapping[str, str]) -> "subprocess.CompletedProcess[bytes]":
        refspecs = [f"+{name}:{local}" for name, local in wanted.items()]
        options = ("--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance")
        arguments = ("--quiet", "--refmap=", *options, "--end-of-options", self.remote, *refspecs)
        return self._run("fetch", *arguments, timeout=NETWORK_TIMEOUT_S)

    def _held(self, wanted: Mapping[str, str]) -> dict[str, str]:
        shas = {name: self.resolve(local) for name, local in wanted.items()}
        return {name: sha for name, sha in shas.items() if sha is not None}

    def resolve(self, ref: str) -> str | None:
        """The SHA a full local ref points to, None where it does not exist."""
        result = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", ref)
        sha = result.stdout.decode("ascii", "replace").strip()
        return sha if result.returncode == 0 and _SHA.fullmatch(sha) else None

    def has_commit(self, sha: str) -> bool:
        """Whether this clone has this commit."""
        return _SHA.fullmatch(sha) is not None and self._run("cat-file", "-e", f"{sha}^{{commit}}").returncode == 0

    def contains(self, sha: str, ancestor: str) -> bool:
        """Whether `ancestor` is `sha` or in its history; False where this clone lacks one of them."""
        return self._run("merge-base", "--is-ancestor", ancestor, sha).returncode == 0

    def first_parents(self, head: str, limit: int) -> tuple[str, ...]:
        """The SHAs of `head` and its first parents, newest first."""
        result = self._run("rev-list", "--first-parent", f"--max-count={limit}", head)
        return tuple(result.stdout.decode("ascii", "replace").split()) if result.returncode == 0 else ()

    def commits_beside(self, head: str, known: Sequence[str]) -> tuple[tuple[str, str, str], ...]:
        """(SHA, subject, author) of the commits of `head` that none of `known` has, newest first, at most fifty.
        Subject and author are strangers' text, without control characters.
        """
        arguments = [head, *(f"^{sha}" for sha in known)]
        shape = "--format=tformat:%H%x00%s%x00%an%x00"
        result = self._run("log", "--no-show-signature", "--no-color", f"--max-count={MAX_LISTED}", shape, *arguments)
        fields = [plain_line(field) for field in result.stdout.decode("utf-8", "replace").split("\0")]
        return tuple(zip(fields[0::3], fields[1::3], fields[2::3], strict=False))

    def merge_unchanged(self, sha: str, other: str, text: str, when: datetime) -> str:
        """Stores a merge of two commits that has the files of the first; nothing points to it yet. Raises OSError where
        git cannot.
        """
        tree = self.resolve(f"{sha}^{{tree}}")
        if tree is None:
            raise OSError(f"git does not find the files of {sha}")
        person = f"{AUTHOR_NAME} <{AUTHOR_EMAIL}> {int(when.timestamp())} +0000"
        lines = [
            f"tree {tree}",
            f"parent {sha}",
            f"parent {other}",
            f"author {person}",
            f"committer {person}",
            "",
            text,
        ]
        return self.write_object("commit", ("\n".join(lines) + "\n").encode())

    def write_object(self, kind: str, content: bytes) -> str:
        """Stores a git object and returns its SHA. Raises OSError where git cannot."""
        result = self._run("hash-object", "-w", "--stdin", "-t", kind, stdin=content)
        if result.returncode != 0:
            raise OSError(f"git could not store a {kind}: {_reason(result)}")
        return result.stdout.decode("ascii").strip()

    def push(self, pushes: Sequence[RefPush], *, create: Mapping[str, str]) -> PushedRefs | PushFailed:
        """All refs or none, each only from its lease. `create`: further refs (name → SHA) set in the same push."""
        leases = [f"--force-with-lease={push.ref}:{push.lease or ''}" for push in pushes]
        refspecs = [f"{push.new}:{push.ref}" for push in pushes] + [f"+{sha}:{ref}" for ref, sha in create.items()]
        options = ("--atomic", "--porcelain", "--no-follow-tags", "--recurse-submodules=no")
        try:
            result = self._run(
                "push", *options, *leases, "--end-of-options", self.remote, *refspecs, timeout=NETWORK_TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            return PushFailed("the remote did not answer in time", Fault.UNHEARD)
        return PushedRefs() if result.returncode == 0 else _push_failed(result)

    def objects(self) -> "Objects":
        """A reader of commits; to be used in a `with` block."""
        return Objects(self._command("cat-file", "--batch"), self._environment)

    def _command(self, *arguments: str) -> list[str]:
        return ["git", *QUIET, *self._reach, "-C", str(self.path), *arguments]

    def _run(
        self, *arguments: str, stdin: bytes = b"", timeout: int = LOCAL_TIMEOUT_S
    ) -> "subprocess.CompletedProcess[bytes]":
        command = self._command(*arguments)
        try:
            return subprocess.run(
                command, input=stdin, capture_output=True, env=self._environment, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            if arguments[0] == "push":
                raise
            return subprocess.CompletedProcess(command, 124, b"", b"the remote did not answer in time")


class Objects:
    """Reads ledger commits out of one git process."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Objects":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def entry(self, sha: str) -> Entry | None:
        """The ledger commit with this SHA, unverified; None where there is no such commit, or one no ledger has."""
        raw = self._content(sha, "commit", MAX_COMMIT_BYTES)
        if raw is None:
            return None
        head, _, message = raw.partition(b"\n\n")
        fields = [line.partition(" ") for line in head.decode("ascii", "replace").split("\n")]
        parents = [value for name, _, value in fields if name == "parent"]
        tree = next((value for name, _, value in fields if name == "tree"), "")
        record = self._content(f"{sha}:{RECORD_FILE}", "blob", MAX_BYTES)
        try:
            text = None if record is None else record.decode("utf-8")
        except UnicodeDecodeError:
            text = None
        return Entry.read(sha, parents, tree, message.decode("utf-8", "replace"), text)

    def _content(self, name: str, kind: str, limit: int) -> bytes | None:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(name.encode() + b"\n")
        process.stdin.flush()
        header = process.stdout.readline().decode("utf-8", "replace").split()
        if len(header) != 3 or not header[2].isdigit():
            return None
        size = int(header[2])
        if header[1] != kind or size > limit:
            # What follows is the content nobody wants to hold in memory.
            self._stop()
            return None
        content = process.stdout.read(size)
        process.stdout.read(1)
        return content if len(content) == size else None

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(self._environment),
            )
        return self._process

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _reason(result: "subprocess.CompletedProcess[bytes]") -> str:
    return git_words(_lines(result.stderr)) or f"git ended with {result.returncode}"


def _unreachable(result: "subprocess.CompletedProcess[bytes]") -> Unreachable:
    fault = fault_of(result.stderr.decode("utf-8", "replace"))
    return Unreachable(_reason(result), Fault.UNHEARD if fault is Fault.OTHER else fault)


def _push_failed(result: "subprocess.CompletedProcess[bytes]") -> PushFailed:
    """Why the remote, or git itself, refused: what is said about a ref, save "the others were refused" where there is
    more to say, and the remote's own words.
    """
    lines = [line for line in _lines(result.stdout) if line.startswith("!")]
    own = [line for line in lines if "atomic push failed" not in line and "atomic transaction failed" not in line]
    about_refs = [line.split("\t")[-1] for line in own or lines]
    said = _lines(result.stderr)
    remote = [line for line in said if line.startswith("remote:")]
    fault = fault_of("\n".join((*about_refs, *said)))
    heard = about_refs and not re.search(r"failed to report status|\((?:unavailable|unknown_outcome): ", about_refs[0])
    if heard and fault is Fault.UNHEARD:
        fault = Fault.OTHER  # the remote did answer, whatever its words remind of
    return PushFailed(git_words([f"! {line}" for line in about_refs] + (remote or said)).replace("! ", ""), fault)


def _lines(raw: bytes) -> list[str]:
    return raw.decode("utf-8", "replace").splitlines()
