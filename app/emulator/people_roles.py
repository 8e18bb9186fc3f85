"""What people may do in an organization, as far as the emulator knows its members."""

from __future__ import annotations

from app.emulator.state import ROLES, Account
from app.emulator.world import World


def best_role(world: World, owner: Account, person: Account | None) -> str:
    """The highest role somebody was given in any of the owner's repositories; there are no teams here."""
    if person is None:
        return "none"
    if person is owner:
        return "admin"
    own = [r for r in world.repos.values() if r.owner is owner]
    given = [r.base_role(r.collaborators.get(person.login.lower(), "none")) for r in own]
    return max(given, key=ROLES.index, default="none")
