"""Soft checkpoints: the whole work tree and the checkpoint's text as local, immutable git refs.

They cost no network and survive a crash of the agent, its terminal and its session, but not the loss of this machine:
`push` promotes them. Each is a commit of its own under `refs/agent-recovery-local/<ticket>/g<generation>/<number>`,
made once and never moved; its tree holds what was committed, changed and untracked (ignored files excepted), its
message the checkpoint. None of them is ever pushed as it is: untracked files may hold what is nobody's business.

Accepted loss: one debounce (2 s) of changes, and everything with the machine.
"""

import json
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.agent.held import Identity
from app.agent.home import Home
from app.agent.workspace import GitFailed, Workspace
from app.domain.model import ZERO_SHA, instant_text

DEBOUNCE_S = 2.0
KEPT = 20
"""Soft checkpoints of one ticket that are kept in a clone; of older ones the refs go."""
MOST_UNTRACKED = 5_000
MOST_UNTRACKED_BYTES = 100 * 1024 * 1024
"""Untracked files beyond either are left out: somebody forgot to ignore a build or a cache."""

ROOT = "refs/agent-recovery-local"
_INDEX = "soft.index"
_LAST = "soft.at"
_WAITING = "soft.waiting"
_LOCK = "soft.lock"
_SUBJECT = "Soft checkpoint"
_WHO = ("Agent Recovery", "agent-recovery@users.noreply.github.com")


@dataclass(frozen=True)
class Soft:
    """One soft checkpoint. `head` is the commit the work stood on, `tree` the whole work tree."""

    ref: str
    sha: str
    tree: str
    head: str | None
    made_at: str
    trigger: str | None
    checkpoint: dict[str, Any]

    def restore(self) -> tuple[str, ...]:
        """The command that puts its files back into the work tree; files made later stay."""
        return ("git", "restore", f"--source={self.sha}", "--worktree", "--", ".")


@dataclass(frozen=True)
class Saved:
    """`is_new` False: nothing had changed since the last one, which stands for this one too."""

    soft: Soft
    is_new: bool
    without_untracked: bool = False


@dataclass(frozen=True)
class Coalesced:
    """Another process is about to make one, and it will hold all that stands now."""


@dataclass(frozen=True)
class Place:
    """Where a ticket's soft checkpoints lie: its ledger's name and the generation that makes them."""

    ledger: str
    generation: int

    @classmethod
    def of(cls, who: Identity) -> "Place":
        return cls(str(who.ticket), who.claims.generation)

    @property
    def all(self) -> str:
        return f"{ROOT}/{self.ledger}"

    @property
    def own(self) -> str:
        return f"{self.all}/g{self.generation}"


def save(
    home: Home, place: Place, checkpoint: dict[str, Any], trigger: str | None, *, debounce_s: float = DEBOUNCE_S
) -> Saved | Coalesced:
    """Makes a soft checkpoint, at the earliest `debounce_s` seconds after the last one: a burst of calls makes one.

    Raises Refused where git cannot.
    """
    with home.turn(_WAITING) as mine:
        if not mine:
            return Coalesced()
        time.sleep(_rest(home.path(_LAST), debounce_s))
        home.path(_LAST).touch()
    # Who comes from here on waits for the next one: what it changed may not be in this one.
    with home.locked(_LOCK):
        return _save(home, place, checkpoint, trigger)


def newest(home: Home, place: Place) -> Soft | None:
    """The latest soft checkpoint of this ticket in this clone, of whatever generation."""
    found = saved(home, place)
    return found[0] if found else None


def saved(home: Home, place: Place) -> tuple[Soft, ...]:
    """All soft checkpoints of this ticket in this clone, newest first."""
    shape = "%(objectname)%00%(tree)%00%(parent)%00%(refname)%00%(contents)%00%01"
    try:
        listed = Workspace(home).git("for-each-ref", "--sort=-refname", f"--format={shape}", f"{place.all}/")
    except GitFailed:
        return ()
    read = (_read(text.lstrip("\n").split("\0")) for text in listed.split("\x01"))
    found = [soft for soft in read if soft is not None]
    return tuple(sorted(found, key=lambda soft: _order(soft.ref), reverse=True))


def promote(home: Home, place: Place, pushed: str) -> tuple[str, ...]:
    """Removes the soft checkpoints that the pushed commit made hard: those whose whole tree stands in its history.
    Returns their refs. Those with work that was not committed stay.
    """
    workspace = Workspace(home)
    softs = saved(home, place)
    if not softs:
        return ()
    # One debounced soft checkpoint or many: a commit's tree is what it holds, wherever its parent was.
    trees = set(workspace.git("log", "--format=%T", f"--max-count={KEPT * 10}", pushed).split())
    gone = [soft for soft in softs if soft.tree in trees]
    for soft in gone:
        workspace.git("update-ref", "-d", soft.ref, soft.sha)
    return tuple(soft.ref for soft in gone)


def _rest(last: Path, debounce_s: float) -> float:
    try:
        age = time.time() - last.stat().st_mtime
    except FileNotFoundError:
        return 0.0
    # A clock that was set back must not make anybody wait for it.
    return min(max(debounce_s - age, 0.0), debounce_s)


def _save(home: Home, place: Place, checkpoint: dict[str, Any], trigger: str | None) -> Saved:
    workspace = Workspace(home)
    softs = saved(home, place)
    head = workspace.head()
    tree, without = _tree(home, workspace)
    last = softs[0] if softs else None
    if last is not None and (last.tree, last.head, last.checkpoint, last.trigger) == (tree, head, checkpoint, trigger):
        return Saved(last, is_new=False, without_untracked=without)
    number = _order(last.ref)[1] + 1 if last is not None else 1
    made_at = instant_text(datetime.now(UTC))
    about = {"made_at": made_at, "trigger": trigger, "checkpoint": checkpoint}
    message = f"{_SUBJECT} {number}\n\n{json.dumps(about, ensure_ascii=True)}\n"
    parents = ("-p", head) if head else ()
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in zip(("NAME", "EMAIL"), _WHO, strict=True)
    }
    sha = workspace.git("commit-tree", tree, *parents, "-m", message, **who)
    ref = f"{place.own}/{number:06d}"
    workspace.git("update-ref", ref, sha, ZERO_SHA)
    for old in softs[KEPT - 1 :]:
        workspace.git("update-ref", "-d", old.ref, old.sha)
    return Saved(Soft(ref, sha, tree, head, made_at, trigger, checkpoint), is_new=True, without_untracked=without)


def _tree(home: Home, workspace: Workspace) -> tuple[str, bool]:
    """The tree of everything in the folder, made in an index of our own: the agent's index stays as it is."""
    index = home.path(_INDEX)
    theirs = home.root / workspace.git("rev-parse", "--git-path", "index")
    # Only one of us is here at a time: a lock of git's that stands was left by one that was killed.
    home.path(f"{_INDEX}.lock").unlink(missing_ok=True)
    if not index.exists() and theirs.is_file():
        shutil.copyfile(theirs, index)
    without = _too_much(home, workspace)
    workspace.git("add", "--update" if without else "--all", "--", ":/", GIT_INDEX_FILE=str(index))
    return workspace.git("write-tree", GIT_INDEX_FILE=str(index)), without


def _too_much(home: Home, workspace: Workspace) -> bool:
    names = [name for name in workspace.git("ls-files", "--others", "--exclude-standard", "-z").split("\0") if name]
    if len(names) > MOST_UNTRACKED:
        return True
    sizes = (path.lstat().st_size for name in names if (path := home.root / name).is_file())
    return sum(sizes) > MOST_UNTRACKED_BYTES


def _read(fields: list[str]) -> Soft | None:
    if len(fields) < 5:
        return None
    sha, tree, parents, ref, message = fields[:5]
    try:
        about = json.loads(message.partition("\n\n")[2])
        checkpoint, trigger, made_at = about["checkpoint"], about["trigger"], about["made_at"]
    except (ValueError, KeyError, TypeError):
        return None  # somebody else's ref
    if not isinstance(checkpoint, dict) or _order(ref) == (0, 0):
        return None
    return Soft(ref, sha, tree, parents.split(" ")[0] or None, str(made_at), trigger, checkpoint)


def _order(ref: str) -> tuple[int, int]:
    """(generation, number) of a ref of ours; (0, 0) of any other."""
    generation, _, number = ref.rpartition("/")
    generation = generation.rpartition("/g")[2]
    if not (generation.isdecimal() and number.isdecimal()):
        return 0, 0
    return int(generation), int(number)
