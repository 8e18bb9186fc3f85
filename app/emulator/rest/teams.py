"""Who is in a team (docs.github.com, REST API endpoints for team members)."""

from __future__ import annotations

from app.emulator.auth import Identity, holds
from app.emulator.errors import ApiError, forbidden_to_app, not_found
from app.emulator.people_roles import best_role
from app.emulator.rest.table import accepted, find_account, routes
from app.emulator.routing import Request, Response
from app.emulator.state import Account


@routes.add("GET", "/orgs/{org}/teams/{team_slug}/memberships/{username}")
def membership(request: Request, org: str, team_slug: str, username: str) -> Response:
    """One account's membership, `pending` until an invitation is accepted; 404 where there is none, or no such team."""
    request.accepted = accepted("read", ("members",))
    organization = find_account(request, org)
    _check_reach(request, organization)
    team = request.world.team(organization, team_slug)
    account = find_account(request, username)
    if team is None or account not in (*team.members, *team.invited):
        raise not_found()
    return Response.json(
        {
            "url": f"{request.base_url}/organizations/{organization.id}/team/{team.id}/memberships/{account.login}",
            "role": "maintainer" if account in team.maintainers else "member",
            "state": "active" if account in team.members else "pending",
        }
    )


def _check_reach(request: Request, organization: Account) -> None:
    """Refuse who may not know the organization's teams: an App without the permission, people from outside."""
    identity: Identity = request.identity
    if organization.type != "Organization":
        raise not_found()
    if identity.installation is not None:
        if identity.installation.account is not organization:
            raise not_found()
        if identity.token is None or not holds(identity.token.permissions, "members", "read"):
            raise forbidden_to_app()
    elif identity.user is None:
        raise ApiError(401, "Requires authentication")
    elif best_role(request.world, organization, identity.user) == "none":
        raise not_found()
