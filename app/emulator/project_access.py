"""Who sees and changes a project.

An App reaches the projects of organizations it is installed on, with the permission ``organization_projects``; a
person's projects look to it as if there were none (docs.github.com "REST API endpoints for Projects").
"""

from __future__ import annotations

from app.emulator.auth import Identity, at_least, holds
from app.emulator.errors import ApiError, forbidden_to_app
from app.emulator.people_roles import best_role
from app.emulator.state import Account
from app.emulator.state_projects import Project, ProjectItem
from app.emulator.world import World

PERMISSION = "organization_projects"


def reaches(identity: Identity, owner: Account, level: str) -> bool:
    """Does the credential itself reach the projects of this owner, whatever its bearer may do?"""
    token = identity.token
    if identity.installation is not None:
        inside = owner.type == "Organization" and identity.installation.account is owner
        return inside and token is not None and holds(token.permissions, PERMISSION, level)
    if token is None or token.kind == "classic":
        return True
    if owner.type != "Organization":
        return False
    if token.kind == "fine_grained":
        return token.resource_owner is owner and holds(token.permissions, PERMISSION, level)
    return any(i.account is owner and holds(i.permissions, PERMISSION, level) for i in identity.reach)


def may_read(world: World, identity: Identity, project: Project) -> bool:
    """May this identity see the project?"""
    if not reaches(identity, project.owner, "read"):
        return False
    if identity.installation is not None or project.public or project.owner is identity.user:
        return True
    return best_role(world, project.owner, identity.user) != "none"


def may_write(world: World, identity: Identity, project: Project) -> bool:
    """May this identity change the project's items?"""
    if not reaches(identity, project.owner, "write"):
        return False
    if identity.installation is not None or project.owner is identity.user:
        return True
    return at_least(best_role(world, project.owner, identity.user), "write")


def need_write(world: World, identity: Identity, project: Project) -> None:
    """Refuse who may not change the project, worded for who asks."""
    if may_write(world, identity, project):
        return
    if identity.installation is not None:
        raise forbidden_to_app()
    raise ApiError(403, "Must have write access to the project.")


def sees_content(identity: Identity, item: ProjectItem) -> bool:
    """May this identity read what the item is about? Else it is shown as redacted."""
    content = item.content
    if content is None:
        return True
    permission = "pull_requests" if content.is_pull else "issues"
    return identity.sees(content.repo) and identity.allows(content.repo, permission, "read")
