"""Renamed branches: what pointed to the old name follows, save for pull requests that came from it, which close.

Sources: docs.github.com "Renaming a branch" (bases of open pull requests, draft releases and protection follow); that
pull requests whose head is renamed close was observed (Samvera Branch Renaming Working Group, "Effectiveness of Tool").
"""

from __future__ import annotations

from app.emulator.acts.pulls import retarget
from app.emulator.acts.ref_rules import ref_violations
from app.emulator.acts.refs import RuleRefusal, move
from app.emulator.repos import ZERO, RefChange
from app.emulator.state import Actor, Repository
from app.emulator.world import World


def rename_branch(world: World, repo: Repository, old: str, new: str, actor: Actor) -> None:
    """Give a branch another name. Raises RefRefusal where a ref may not be written."""
    oid = repo.git.branch(old)
    assert oid is not None
    before, after = f"refs/heads/{old}", f"refs/heads/{new}"
    own = repo.guard.protections.pop(old, None)
    try:
        guarded = ref_violations(world, repo, RefChange(before, oid, ZERO), actor)
        if guarded is not None:
            raise RuleRefusal(guarded)
        move(world, repo, [RefChange(after, ZERO, oid)], actor, force=[False])
    except BaseException:
        if own is not None:
            repo.guard.protections[old] = own
        raise
    if own is not None:
        repo.guard.protections[new] = own
    if repo.default_branch == old:
        repo.default_branch = new
        # `HEAD:path` is read on the default branch, whatever it is called by now.
        repo.git.set_head(new)
    for pull in [p for p in repo.pulls() if p.state == "open" and p.base_ref == old]:
        retarget(world, pull, new, actor)
    for release in repo.releases:
        if release.draft and release.target == old:
            release.target = new
    move(world, repo, [RefChange(before, oid, ZERO)], actor, force=[False])
