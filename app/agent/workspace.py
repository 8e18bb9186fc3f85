"""The workspace: a clone of the repository at the exact commit the grant names.

Wanted properties: nobody's files are overwritten (an occupied folder is refused, unpublished work too); a crash at any
point leaves something the same command finishes; the commit and the clean state are verified, not assumed; no token
enters git's configuration, only the name of the helper that hands it out.
"""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.agent.environment import usage
from app.agent.git_faults import refused_by_git
from app.agent.held import HeldLease
from app.agent.home import FOLDER, Home
from app.domain.outcome import Blocked, Code, Refused
from app.ledger.git_program import DIRECT, QUIET, Fault, directly, fault_of, git_environment, git_words

_SHOWN = 5
_MOST_COMPARED = 1000
"""Files that git shows as changed and that are compared with what a checkout makes of them."""


@dataclass(frozen=True)
class Empty:
    """Nothing here but, perhaps, our own folder."""


@dataclass(frozen=True)
class OurClone:
    """A clone this tool made or uses."""


@dataclass(frozen=True)
class Occupied:
    """Something else is here: `names` are some of it."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class State:
    """Where the workspace stands: HEAD (None before the first commit) and what differs from it.

    `normalised`: files that git shows as changed though they are what its own checkout makes of the commit, such as a
    file with CRLF that the attributes want with LF. `staged`: whether the index, or more than a file's content, differs
    from HEAD.
    """

    head: str | None
    changed: tuple[str, ...]
    untracked: tuple[str, ...]
    normalised: tuple[str, ...] = ()
    staged: bool = False

    @property
    def clean(self) -> bool:
        return not self.changed and not self.untracked


class GitFailed(Refused):
    """A git command ended with an error. `said` is git's own words, `fault` what they mean."""

    def __init__(self, command: str, said: str, fault: Fault = Fault.OTHER) -> None:
        self.said = said
        self.fault = fault
        super().__init__(Blocked(Code.USAGE, f"git {command} failed: {said}", "mend that and run the command again"))


class UnfitRepository(Refused):
    """No workspace can be made of this commit, on this machine or another."""


class Workspace:
    """The clone in `home.root`, reached through the git program."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.root = home.root

    def look(self, addresses: Sequence[str]) -> Empty | OurClone | Occupied:
        """What stands in the folder. `addresses`: those of the lease found in it, if there is one."""
        names = sorted(entry.name for entry in self.root.iterdir() if entry.name != FOLDER)
        if not names:
            return Empty()
        if addresses and (self.root / ".git").is_dir() and self._remote_is(addresses):
            return OurClone()
        return Occupied(tuple(names))

    def state(self) -> State:
        """HEAD and what differs from it; our own folder never counts."""
        head = self.head()
        listed = self._git("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal")
        entries = [line for line in listed.split("\0") if len(line) > 3 and not line[3:].startswith(f"{FOLDER}/")]
        tracked = [line for line in entries if not line.startswith("??")]
        touched = [line[3:] for line in tracked if line.startswith(" M")]
        normalised = self._as_checked_out(touched) if touched else frozenset()
        return State(
            head=head,
            changed=tuple(line[3:] for line in tracked if line[3:] not in normalised),
            untracked=tuple(line[3:] for line in entries if line.startswith("??")),
            normalised=tuple(sorted(normalised)),
            staged=len(tracked) != len(touched),
        )

    def _as_checked_out(self, names: list[str]) -> frozenset[str]:
        """Which of these files are, byte for byte, what a checkout makes of the index: nobody worked on them."""
        found: set[str] = set()
        fields = self._git("diff-files", "--raw", "--no-abbrev", "--no-renames", "-z").split("\0")
        wanted = set(names)
        for about, name in zip(fields[0::2], fields[1::2], strict=False):
            before, after, blob = about.lstrip(":").split(" ")[:3]
            if name not in wanted or before != after or not before.startswith("1006") or len(found) >= _MOST_COMPARED:
                continue
            path = self.root / name
            if path.is_symlink() or not path.is_file():
                continue
            if self._bytes("cat-file", "--filters", f"--path={name}", blob) == path.read_bytes():
                found.add(name)
        return frozenset(found)

    def head(self) -> str | None:
        """The commit that is checked out, None before the first one."""
        return self._try("rev-parse", "--verify", "--quiet", "HEAD^{commit}") or None

    def branch_head(self, branch: str) -> str | None:
        """The local head of the ticket branch."""
        return self._try("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}") or None

    def current_branch(self) -> str | None:
        """The short name of the branch that is checked out, or None on a detached HEAD."""
        return self._try("symbolic-ref", "--quiet", "--short", "HEAD") or None

    def is_ancestor(self, ancestor: str, of: str) -> bool:
        return self._try("merge-base", "--is-ancestor", ancestor, of) is not None

    def has(self, sha: str) -> bool:
        return self._try("cat-file", "-e", f"{sha}^{{commit}}") is not None

    def fast_forward(self, branch: str, sha: str) -> None:
        """Moves the checked-out ticket branch forward to `sha`. Raises Refused when local changes are in the way."""
        try:
            self._git("merge", "--ff-only", "--quiet", sha)
        except GitFailed as failure:
            raise usage(
                f"{branch} cannot be moved to {sha}: {failure.said}",
                "commit or set aside local changes, then adopt again",
            ) from None

    def follow(self, branch: str, before: str, after: str) -> None:
        """Lets the local branch go from `before` to `after`, which has the same files, where it stands at `before`; the
        work tree and the index stay as they are. Raises Refused where git cannot.
        """
        if self.branch_head(branch) == before:
            self._git("update-ref", "-m", "agent-recovery: follow", f"refs/heads/{branch}", after, before)

    def unpublished(self) -> tuple[str, ...]:
        """Commits of HEAD and of every local branch that no fetched branch of the remote holds, newest first. Raises
        Refused where git cannot tell: then nothing may be taken for published.
        """
        head = ["HEAD"] if self.head() else []
        listed = self._git("rev-list", "--max-count=20", *head, "--branches", "--not", "--remotes=origin")
        return tuple(listed.split())

    def refuse_losing_work(self) -> None:
        """Raises Refused when moving this clone to another commit would lose sight of work that is only here."""
        state = self.state()
        work = [*state.changed, *state.untracked]
        commits = self.unpublished()
        if not work and not commits:
            return
        found = []
        if commits:
            found.append(f"{len(commits)} commits that were never published, newest {commits[0]}")
        if work:
            found.append(f"{len(work)} changed files: {_some(work)}")
        raise usage(
            f"this clone holds work of an earlier lease: {'; '.join(found)}",
            "recover in a new empty folder; this one is left as it is",
        )

    def begin(self, lease: HeldLease) -> None:
        """Makes this folder a clone, or makes sure it is one, and fetches the remote's branches. Raises Refused."""
        self._git("init", "--quiet", "--object-format=sha1")
        self.prepare(lease)
        self._fetch(lease)

    def check_out(self, lease: HeldLease) -> None:
        """Puts the tree at `lease.head_sha` on the ticket branch. Only where nobody's work can be lost: what differs
        is overwritten, and what a checkout that was cut off left behind is removed.
        """
        git = self.root / ".git"
        for stale in (*git.glob("*.lock"), *(git / "refs").rglob("*.lock")):
            stale.unlink(missing_ok=True)
        self._git("checkout", "--quiet", "--force", "--no-track", "-B", lease.branch, lease.head_sha, "--")
        self._git("clean", "--quiet", "-ffd", "-e", f"/{FOLDER}/")

    def prepare(self, lease: HeldLease) -> None:
        """Remote, credential helper and ignore line; no network, and the same however often it runs."""
        self._git("config", "--replace-all", "remote.origin.url", lease.git_url)
        self._git("config", "--replace-all", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
        for address in lease.addresses:
            section = f"credential.{address}"
            # The empty value first: helpers configured elsewhere on this machine are not asked and never get the token.
            self._git("config", "--replace-all", f"{section}.helper", "")
            self._git("config", "--add", f"{section}.helper", credential_helper())
            self._git("config", f"{section}.useHttpPath", "true")
        self.ignore_home()

    def ignore_home(self) -> None:
        """Keeps git from ever seeing our folder, where this is a clone."""
        exclude = self._try("rev-parse", "--git-path", "info/exclude")
        if exclude:
            self.home.ignore(self.root / exclude)

    def verify_exact(self, lease: HeldLease) -> State:
        """The state right after `check_out`, proved to be `lease.head_sha` on the ticket branch. Raises Refused.

        HEAD and the index must equal the commit and nothing may lie beside it. A file whose content differs all the
        same was written by git's checkout just now (attributes, filters, names that differ only by case on a disk that
        does not tell them apart): that is the exact workspace on this machine, and is reported as normalised.
        """
        state = self.state()
        if state.head != lease.head_sha or self.current_branch() != lease.branch:
            raise usage(
                f"the workspace stands at {state.head}, not at {lease.head_sha} on {lease.branch}",
                "recover in a new empty folder; this one is left as it is",
            )
        if state.staged or state.untracked:
            raise usage(
                f"the workspace differs from {lease.head_sha}: {_some([*state.changed, *state.untracked])}",
                "run the same command again; if it stays so, recover in a new empty folder",
            )
        return replace(state, changed=(), normalised=(*state.normalised, *state.changed))

    def missing_of(self, trunk: str) -> int | None:
        """How many commits of the trunk, as it was last fetched, HEAD does not contain; None where it is not known."""
        counted = self._try("rev-list", "--count", f"HEAD..refs/remotes/origin/{trunk}", "--")
        return int(counted) if counted is not None and counted.isdecimal() else None

    def fetch_branches(self, lease: HeldLease) -> None:
        """Brings the branches of the lease's repository here. Raises Refused (`unavailable`)."""
        options = ("--quiet", "--no-tags", "--prune", "--no-auto-maintenance")
        try:
            self._git(*directly(lease.git_url), "fetch", *options, DIRECT, "+refs/heads/*:refs/remotes/origin/*")
        except GitFailed as failure:
            raise _unreachable(failure) from None

    def _fetch(self, lease: HeldLease) -> None:
        self.fetch_branches(lease)
        if not self.has(lease.head_sha):
            try:
                self._git(*directly(lease.git_url), "fetch", "--quiet", "--no-tags", DIRECT, lease.head_sha)
            except GitFailed as failure:
                raise _unreachable(failure) from None
        tracked = self._git("ls-tree", "--name-only", "-z", lease.head_sha).split("\0")
        if any(name.lower() == FOLDER for name in tracked):
            raise UnfitRepository(
                Blocked(
                    Code.USAGE,
                    f"the repository has files of its own under {FOLDER}/, where this program keeps its own",
                    f"a person must remove {FOLDER}/ from the repository first",
                )
            )

    def _remote_is(self, addresses: Sequence[str]) -> bool:
        # A build that was cut off before its first setting is ours too: the lease in the folder says so.
        return self._try("config", "--local", "--get", "remote.origin.url") in (*addresses, None)

    def uses_lfs(self, sha: str) -> bool:
        """Whether a commit's attributes hand files to git-lfs."""
        return self._try("grep", "-q", "filter=lfs", sha, "--", ":(glob)**/.gitattributes") is not None

    def refuse_unusable(self) -> None:
        """Raises Refused where git cannot work in this folder at all: its configuration, its owner."""
        self._try("rev-parse", "--git-dir")

    def git(self, *arguments: str, **environment: str) -> str:
        """What git answers to a command of ours in this clone. Raises GitFailed."""
        return self._bytes(*arguments, **environment).decode(errors="surrogateescape").strip()

    def _git(self, *arguments: str) -> str:
        return self._bytes(*arguments).decode(errors="surrogateescape")

    def _bytes(self, *arguments: str, **environment: str) -> bytes:
        done = subprocess.run(
            ["git", *QUIET, *arguments],
            cwd=self.root,
            env=git_environment(GIT_ALLOW_PROTOCOL=_PROTOCOLS, **environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            text = done.stderr.decode(errors="replace")
            said = git_words(text.splitlines()) or f"it ended with {done.returncode}"
            raise GitFailed(_command(arguments), said, fault_of(text))
        return done.stdout

    def _try(self, *arguments: str) -> str | None:
        """What git answers, or None where it says no. Raises Refused where git cannot work here at all: its words are
        the answer then, and not "there is no such branch".
        """
        try:
            return self._git(*arguments).strip()
        except GitFailed as failure:
            if failure.fault is Fault.LOCAL and "not a git repository" not in failure.said:
                raise refused_by_git("git cannot work here", failure.said, Fault.LOCAL) from None
            return None


def _command(arguments: tuple[str, ...]) -> str:
    """The command's name, behind the settings that stand before it."""
    place = 0
    while arguments[place] == "-c":
        place += 2
    return arguments[place]


_PROTOCOLS = "http:https:ssh"
"""What our git speaks to remotes, whatever a repository says. A clone URL is http(s); ssh is where a person's own
`url.*.insteadOf` leads."""


def credential_helper() -> str:
    """git's setting for our helper. Only `get` starts it: git offers to store or erase after every answer, and for that
    no program need run. `-P` keeps python from importing what a repository put in the folder.
    """
    program = "agent-recovery" if shutil.which("agent-recovery") else f"{shlex.quote(sys.executable)} -P -m app.cli"
    return f'!f() {{ test "$1" != get || {program} git-credential get; }}; f'


def _unreachable(failure: GitFailed) -> Refused:
    fault = failure.fault if failure.fault.is_final else Fault.UNHEARD
    return refused_by_git("the repository could not be fetched", failure.said, fault)


def refuse_occupied(found: Occupied) -> Refused:
    return usage(
        f"this folder is not empty: {_some(found.names)}",
        "run `agent-recovery recover` in a new empty folder",
    )


def _some(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
