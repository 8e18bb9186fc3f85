"""Control calls about teams: what the owners of an organization do on its pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from app.emulator.control import router
from app.emulator.errors import ApiError
from app.emulator.identity_controls import account_of
from app.emulator.routing import Request
from app.emulator.state_teams import Team

if TYPE_CHECKING:
    from app.emulator.server import Server

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,98}[a-z0-9])?\Z")


@router.add("PUT", "/orgs/{org}/teams/{slug}")
def set_team(server: Server, request: Request, org: str, slug: str) -> Any:
    """A team of exactly these `members`, of whom some are `maintainers`, and of the `invited` who may still accept."""
    world, body = server.world, request.body
    organization = account_of(world, org)
    if organization.type != "Organization" or not _SLUG.match(slug):
        raise ApiError(422, f"{org}/{slug} can be no team")
    team = world.team(organization, slug) or Team(world.ids.next("team"), organization, slug)
    team.maintainers = [account_of(world, login) for login in body.get("maintainers", list, [])]
    named = [account_of(world, login) for login in body.get("members", list, [])]
    team.members = [*named, *(person for person in team.maintainers if person not in named)]
    team.invited = [account_of(world, login) for login in body.get("invited", list, [])]
    world.teams[team.id] = team
    return {"id": team.id, "slug": team.slug, "members": [person.login for person in team.members]}


@router.add("DELETE", "/orgs/{org}/teams/{slug}")
def delete_team(server: Server, request: Request, org: str, slug: str) -> Any:
    team = server.world.team(account_of(server.world, org), slug)
    if team is None:
        raise ApiError(404, "There is no such team")
    del server.world.teams[team.id]
    return {"slug": team.slug}
