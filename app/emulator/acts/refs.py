"""Refs that moved, by API or by push: their webhooks, and the pull requests and check suites that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pygit2

from app.emulator.acts import after_push, checks, following
from app.emulator.acts.closing import close_by_commits
from app.emulator.acts.events import announce
from app.emulator.acts.ref_rules import ref_violations
from app.emulator.acts.rule_sentences import Violations
from app.emulator.clock import to_stamp
from app.emulator.guard_state import Activity
from app.emulator.people import account_of
from app.emulator.repos import ZERO, GitRepo, RefChange, RefsRefused, TreeEntry, is_ref_name
from app.emulator.state import Actor, Repository
from app.emulator.world import World

# docs.github.com, "Webhook events and payloads": how many commits the event of a push lists; with more tags than these
# at once they raise no events (push, create, delete), with more branches no event of a push.
_MAX_COMMITS = 2048
_MAX_TAGS = 3
_MAX_BRANCHES = 5000


class RefRefusal(Exception):
    """A ref that may not be written this way; the message is for logs, GitHub's words are the caller's."""


class RuleRefusal(RefRefusal):
    """A ref that rulesets or classic protection guard; ``violations`` has GitHub's words."""

    def __init__(self, violations: Violations) -> None:
        super().__init__(violations.message)
        self.violations = violations


def check_writable(world: World, repo: Repository, name: str) -> None:
    """Raise :class:`RefRefusal` for names nobody may write."""
    if not is_ref_name(name):
        raise RefRefusal(f"{name} is no ref name")
    if name.startswith("refs/pull/"):
        raise RefRefusal("hidden ref")
    if not name.startswith(("refs/heads/", "refs/tags/")) and world.switches.refused(repo.id, "custom_refs"):
        raise RefRefusal("custom refs are switched off")


def move(world: World, repo: Repository, changes: Sequence[RefChange], actor: Actor, *, force: Sequence[bool]) -> None:
    """Move all refs or none, with everything that follows. Raises :class:`RefRefusal`, for what guards a branch the
    :class:`RuleRefusal` among them.

    A change without ``old`` is bound to the value read here, so a push in between refuses the whole.
    """
    git = repo.git
    if len({c.name for c in changes}) != len(changes):
        raise RefRefusal("a ref is named twice")
    bound = []
    for change, forced in zip(changes, force, strict=True):
        check_writable(world, repo, change.name)
        present = git.ref(change.name) or ZERO
        old = change.old if change.old is not None else present
        if old != present:
            raise RefRefusal(f"{change.name} is at {present}, not at {old}")
        if change.new == ZERO and old == ZERO:
            raise RefRefusal(f"{change.name} does not exist")
        if change.new != ZERO:
            _check_target(git, change.name, old, change.new, forced)
        if change.new == ZERO and change.name == f"refs/heads/{repo.default_branch}":
            raise RefRefusal("the default branch cannot be deleted")
        bound.append(RefChange(change.name, old, change.new))
    for change in bound:
        violations = ref_violations(world, repo, change, actor)
        if violations is not None:
            raise RuleRefusal(violations)
    try:
        git.update(bound)
    except RefsRefused as refused:
        raise RefRefusal(str(refused)) from refused
    moved(world, repo, bound, actor)


def _check_target(git: GitRepo, name: str, old: str, new: str, forced: bool) -> None:
    kind = git.kind(new)
    if kind is None:
        raise RefRefusal(f"there is no object {new}")
    if name.startswith("refs/heads/") and kind != "commit":
        raise RefRefusal("a branch must point at a commit")
    if old != ZERO and not forced and not git.goes_on(old, new):
        raise RefRefusal("not a fast forward")


def moved(world: World, repo: Repository, changes: Sequence[RefChange], actor: Actor, *, by: str | None = None) -> None:
    """Tell the world about refs that have moved already. Deletions come last, so that a pull request whose
    commits reach the base together with the deletion of its branch counts as merged. ``by``: what moved them, where it
    was no push."""
    changes = [c for c in changes if c.old != c.new]
    repo.pushed_at = world.clock.stamp()
    quiet = "refs/tags/" if sum(c.name.startswith("refs/tags/") for c in changes) > _MAX_TAGS else None
    crowded = sum(c.name.startswith("refs/heads/") for c in changes) > _MAX_BRANCHES
    for change in sorted(changes, key=lambda c: c.new == ZERO):
        old = change.old or ZERO
        if not change.name.startswith(("refs/heads/", "refs/tags/")):
            continue
        if quiet is None or not change.name.startswith(quiet):
            if not crowded:
                _announce_push(world, repo, change.name, old, change.new, actor)
            _announce_ref(world, repo, change.name, old, change.new, actor)
        if change.name.startswith("refs/heads/"):
            branch = change.name.removeprefix("refs/heads/")
            _note_activity(world, repo, change.name, old, change.new, actor, by)
            if change.new != ZERO:
                repo.guard.pushers[branch, change.new] = actor.account
                checks.request_suites(world, repo, branch, change.new, actor)
            following.base_moved(world, repo, branch, old, change.new, actor)
            following.head_moved(world, repo, branch, old, change.new, actor)
            after_push.head_pushed(world, repo, branch, actor)
            if branch == repo.default_branch and ZERO not in (old, change.new):
                close_by_commits(world, repo, repo.git.log(change.new, f"^{old}"), actor)


def _note_activity(world: World, repo: Repository, name: str, old: str, new: str, actor: Actor, by: str | None) -> None:
    kind = "branch_creation" if old == ZERO else "branch_deletion" if new == ZERO else by
    if kind is None:
        kind = "push" if repo.git.is_ancestor(old, new) else "force_push"
    number = world.ids.next("activity")
    noted = Activity(number, name, old, new, kind, actor.account, world.clock.stamp())
    repo.guard.activities.append(noted)


def _announce_push(world: World, repo: Repository, name: str, old: str, new: str, actor: Actor) -> None:
    git = repo.git
    created, deleted = old == ZERO, new == ZERO
    shas: list[str] = []
    if not deleted and git.commit(new) is not None:
        shas = _new_commits(repo, name, old, new)[:_MAX_COMMITS]
    payload: dict[str, Any] = {
        "ref": name,
        "before": old,
        "after": new,
        "created": created,
        "deleted": deleted,
        "forced": not created and not deleted and not git.is_ancestor(old, new),
        "base_ref": None,
        "compare": f"{world.url}/{repo.full_name}/compare/{old[:12]}...{new[:12]}",
        "commits": [_push_commit(world, repo, sha) for sha in reversed(shas)],
        "head_commit": None if deleted or git.commit(new) is None else _push_commit(world, repo, new),
        "pusher": {"name": actor.account.login, "email": actor.account.email},
    }
    announce(world, repo, "push", payload, actor)


def _new_commits(repo: Repository, name: str, old: str, new: str) -> list[str]:
    """What a push tells of: of a new ref what no other branch has, of any other what it goes on by."""
    git = repo.git
    if old != ZERO:
        return git.log(new, f"^{old}") if git.commit(old) is not None else git.log(new)
    if name == f"refs/heads/{repo.default_branch}":
        return git.log(new)
    # Most branches begin where the default branch is or was: that is seen without looking at all the others.
    trunk = git.branch(repo.default_branch)
    if trunk is not None and git.is_ancestor(new, trunk):
        return []
    return git.log(new, *dict.fromkeys(f"^{oid}" for ref, oid in git.refs("refs/heads/") if ref != name))


def _announce_ref(world: World, repo: Repository, name: str, old: str, new: str, actor: Actor) -> None:
    kind, _, short = name.removeprefix("refs/").partition("/")
    created, deleted = old == ZERO, new == ZERO
    if created or deleted:
        shown = {
            "ref": short,
            "ref_type": "branch" if kind == "heads" else "tag",
            "pusher_type": "user",
        }
        if created:
            shown |= {"master_branch": repo.default_branch, "description": repo.description or ""}
        announce(world, repo, "create" if created else "delete", shown, actor)


def _push_commit(world: World, repo: Repository, sha: str) -> dict[str, Any]:
    commit = repo.git.commit(sha)

    def person(signed: Any) -> dict[str, Any]:
        account = account_of(world, signed.email)
        return {"name": signed.name, "email": signed.email} | ({"username": account.login} if account else {})

    added, removed, modified = changed_paths(repo.git, sha)
    return {
        "id": str(commit.id),
        "tree_id": str(commit.tree_id),
        "distinct": True,
        "message": commit.message,
        "timestamp": to_stamp(commit.commit_time),
        "url": f"{world.url}/{repo.full_name}/commit/{sha}",
        "author": person(commit.author),
        "committer": person(commit.committer),
        "added": added,
        "removed": removed,
        "modified": modified,
    }


def changed_paths(git: GitRepo, sha: str) -> tuple[list[str], list[str], list[str]]:
    """Paths a commit added, removed and modified against its first parent."""
    commit = git.commit(sha)
    if commit.parents:
        diff = git.pg.diff(commit.parents[0].tree, commit.tree)
    else:
        diff = commit.tree.diff_to_tree(swap=True)
    added, removed, modified = [], [], []
    for delta in diff.deltas:
        if delta.status_char() == "A":
            added.append(delta.new_file.path)
        elif delta.status_char() == "D":
            removed.append(delta.old_file.path)
        else:
            modified.append(delta.new_file.path)
    return added, removed, modified


def commit_files(
    world: World, repo: Repository, branch: str, files: Mapping[str, str | None], actor: Actor, message: str = ""
) -> str:
    """Commit files onto a branch; None removes a path. A missing branch begins where the default branch is."""
    git = repo.git
    head = git.branch(branch)
    start = head or git.branch(repo.default_branch)
    entries = [
        TreeEntry(path, git.write_blob(text.encode()) if text is not None else None) for path, text in files.items()
    ]
    signed = pygit2.Signature(actor.account.login, actor.account.email, int(world.clock.now()), 0)
    tree = git.write_tree(start, entries)
    text = message or ("Update files" if start else "Initial commit")
    sha = git.write_commit(tree, [start] if start else [], text, signed, signed)
    change = RefChange(f"refs/heads/{branch}", head or ZERO, sha)
    git.update([change])
    moved(world, repo, [change], actor)
    return sha
