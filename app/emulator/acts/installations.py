"""Installations that end."""

from __future__ import annotations

from app.emulator.acts.events import announce_installation, listed
from app.emulator.state import Actor, Installation
from app.emulator.world import World


def uninstall(world: World, installation: Installation) -> None:
    """Take an App off an account, as the account or the App itself does; its App hears which repositories it loses."""
    covered = [listed(r) for r in world.repos.values() if installation.covers(r)]
    del world.installations[installation.id]
    actor = Actor(installation.account)
    announce_installation(world, installation, "installation", "deleted", actor, repositories=covered)
