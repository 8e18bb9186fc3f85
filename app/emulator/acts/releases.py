"""Releases: made with their tag where it does not stand yet, published, changed, removed.

docs.github.com, "REST API endpoints for releases" and the event "release"; the refusals' words are those of
googleapis/release-please#945 and yegor256/rultor#856.
"""

from __future__ import annotations

from app.emulator.acts.events import announce
from app.emulator.acts.refs import RefRefusal, RuleRefusal, move
from app.emulator.errors import ApiError, invalid
from app.emulator.render import Render
from app.emulator.repos import ZERO, RefChange, is_ref_name
from app.emulator.routing import Body
from app.emulator.shipping_state import Release
from app.emulator.state import Actor, Repository
from app.emulator.world import World


def create_release(world: World, repo: Repository, actor: Actor, body: Body) -> Release:
    """A new release, and its tag where it is published and none stands. Raises 422."""
    tag = body.need("tag_name", str)
    now = world.clock.stamp()
    release = Release(
        id=world.ids.next("release"),
        repo=repo,
        tag=tag,
        target=body.get("target_commitish", str, repo.default_branch),
        author=actor.account,
        created_at=now,
        updated_at=now,
        name=body.maybe("name", str),
        body=body.maybe("body", str),
        draft=body.get("draft", bool, False),
        prerelease=body.get("prerelease", bool, False),
    )
    if not release.draft:
        _publish(world, release, actor)
    repo.releases.append(release)
    _announce(world, release, "created", actor)
    if not release.draft:
        _announce_published(world, release, actor)
    return release


def update_release(world: World, release: Release, actor: Actor, body: Body) -> None:
    """Change a release; a draft that is one no longer is published. Raises 422."""
    was_draft = release.draft
    changed = Release(**vars(release))
    changed.tag = body.get("tag_name", str, release.tag)
    changed.target = body.get("target_commitish", str, release.target)
    changed.draft = body.get("draft", bool, release.draft)
    if not changed.draft and (was_draft or changed.tag != release.tag):
        _publish(world, changed, actor)
    release.tag, release.target, release.draft = changed.tag, changed.target, changed.draft
    release.published_at = changed.published_at if not changed.draft else None
    release.name = body.get("name", str, release.name or "") or release.name
    release.body = body.get("body", str, release.body or "") or release.body
    release.prerelease = body.get("prerelease", bool, release.prerelease)
    release.updated_at = world.clock.stamp()
    if was_draft and not release.draft:
        _announce_published(world, release, actor)
    elif not was_draft and release.draft:
        _announce(world, release, "unpublished", actor)
    else:
        announced = {"changes": {}, "release": Render(world).release(release)}
        announce(world, release.repo, "release", {"action": "edited", **announced}, actor)


def delete_release(world: World, release: Release, actor: Actor) -> None:
    """Remove a release; its tag stays."""
    release.repo.releases.remove(release)
    _announce(world, release, "deleted", actor)


def _publish(world: World, release: Release, actor: Actor) -> None:
    """Give a release its tag and its date, before anybody sees it."""
    repo, name = release.repo, f"refs/tags/{release.tag}"
    if not release.tag or not is_ref_name(name):
        raise ApiError(
            422,
            "Validation Failed",
            [
                {
                    "resource": "Release",
                    "code": "custom",
                    "field": "tag_name",
                    "message": "tag_name is not a valid tag",
                },
                {"resource": "Release", "code": "custom", "message": "Published releases must have a valid tag"},
            ],
        )
    if any(r.tag == release.tag and not r.draft and r.id != release.id for r in repo.releases):
        raise invalid("Release", "tag_name", "already_exists")
    if repo.git.ref(name) is None:
        sha = repo.git.resolve_commit(release.target)
        if sha is None:
            raise invalid("Release", "target_commitish")
        try:
            move(world, repo, [RefChange(name, ZERO, sha)], actor, force=[False])
        except RuleRefusal as refusal:
            raise invalid("Release", "tag_name", "custom", refusal.violations.message) from refusal
        except RefRefusal as refusal:
            raise invalid("Release", "tag_name", "custom", "tag_name is not a valid tag") from refusal
    release.published_at = world.clock.stamp()


def _announce_published(world: World, release: Release, actor: Actor) -> None:
    _announce(world, release, "published", actor)
    _announce(world, release, "prereleased" if release.prerelease else "released", actor)


def _announce(world: World, release: Release, action: str, actor: Actor) -> None:
    announce(world, release.repo, "release", {"action": action, "release": Render(world).release(release)}, actor)
