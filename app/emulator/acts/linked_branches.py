"""Branches made for Issues; the pull requests that come from them: :mod:`app.emulator.acts.closing`."""

from __future__ import annotations

from app.emulator.acts.refs import RefRefusal, move
from app.emulator.repos import ZERO, RefChange
from app.emulator.state import Actor, Issue, LinkedBranch, Repository
from app.emulator.world import World


def create_linked_branch(
    world: World, issue: Issue, repo: Repository, name: str | None, oid: str, actor: Actor
) -> LinkedBranch | None:
    """Make a branch at a commit for an Issue, named after it unless told otherwise.

    None when the name is taken or the commit unknown: GitHub answers such a call with a null branch.
    """
    branch = (name or _default_name(issue)).removeprefix("refs/heads/")
    try:
        move(world, repo, [RefChange(f"refs/heads/{branch}", ZERO, oid)], actor, force=[False])
    except RefRefusal:
        return None
    linked = LinkedBranch(world.ids.next("linked_branch"), repo, branch)
    issue.linked_branches.append(linked)
    return linked


def _default_name(issue: Issue) -> str:
    words = "".join(c.lower() if c.isalnum() else " " for c in issue.title).split()
    return "-".join([str(issue.number), *words])
