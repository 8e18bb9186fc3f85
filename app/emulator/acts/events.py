"""Timeline entries and webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.emulator.event_permissions import may_hear, subscribed
from app.emulator.render import Render
from app.emulator.state import Account, Actor, App, Installation, Issue, Repository, TimelineEvent
from app.emulator.webhooks import new_guid
from app.emulator.world import World


def announce(
    world: World,
    repo: Repository,
    event: str,
    payload: dict[str, Any],
    actor: Actor,
    *,
    only_app: App | None = None,
) -> None:
    """Deliver an event of a repository to every subscribed App installed there, the acting App included.

    Whatever happened may be what an auto-merge or a merge queue waits for, so it orders a look at them.
    """
    render, guid = Render(world), new_guid()
    for installation in world.installations_on(repo):
        app = installation.app
        if only_app is not None and app is not only_app:
            continue
        if only_app is None and not subscribed(app, installation.permissions, event):
            continue
        if not may_hear(installation.permissions, event):
            continue
        body = payload | {
            "repository": render.minimal_repository(repo),
            "sender": render.account(actor.account),
            "installation": render.short_installation(installation),
        }
        if repo.owner.type == "Organization":
            body["organization"] = render.organization(repo.owner)
        world.deliveries.record(app, event, body, installation, repo, guid)
    if repo.guard.waits:
        # What waits for conditions acts by events itself: imported when first needed.
        from app.emulator.acts.readiness import look_soon

        look_soon(world, repo)


def announce_to_owner(world: World, owner: Account, event: str, payload: dict[str, Any], actor: Actor) -> None:
    """Deliver an event of an organization, as of its projects, to every subscribed App installed on it."""
    if owner.type != "Organization":
        return
    render, guid = Render(world), new_guid()
    for installation in world.installations.values():
        heard = event in installation.app.events and may_hear(installation.permissions, event)
        if installation.account is not owner or installation.suspended_at is not None or not heard:
            continue
        body = payload | {
            "organization": render.organization(owner),
            "sender": render.account(actor.account),
            "installation": render.short_installation(installation),
        }
        world.deliveries.record(installation.app, event, body, installation, guid=guid)


def announce_installation(
    world: World, installation: Installation, event: str, action: str, actor: Actor, **extra: Any
) -> None:
    """Deliver an event about the installation itself, to its App."""
    render = Render(world)
    # A renamed account is told with the installation's identity alone.
    shown = render.short_installation if event == "installation_target" else render.installation
    payload = {
        "action": action,
        "installation": shown(installation),
        "sender": render.account(actor.account),
    } | extra
    world.deliveries.record(installation.app, event, payload, installation)


def announce_reach(
    world: World, installation: Installation, action: str, repos: Sequence[Repository], actor: Actor
) -> None:
    """Tell the App that its installation reaches more repositories ("added") or fewer ("removed")."""
    lists: dict[str, list[dict[str, Any]]] = {"repositories_added": [], "repositories_removed": []}
    lists[f"repositories_{action}"] = [listed(repo) for repo in repos]
    announce_installation(
        world,
        installation,
        "installation_repositories",
        action,
        actor,
        **lists,
        repository_selection="all" if installation.repositories is None else "selected",
        requester=None,
    )


def listed(repo: Repository) -> dict[str, Any]:
    """A repository as the events of an installation list it."""
    return {
        "id": repo.id,
        "node_id": repo.node_id,
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
    }


def record(world: World, issue: Issue, event: str, actor: Actor | None, **data: Any) -> TimelineEvent:
    """Add an entry to an Issue's timeline."""
    entry = TimelineEvent(world.ids.next("event"), event, actor.account if actor else None, world.clock.stamp(), data)
    issue.timeline.append(entry)
    return entry
