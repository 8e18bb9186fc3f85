"""The App "GitHub Actions": its check-runs, its installation on a repository, the token of a run."""

from __future__ import annotations

from app.emulator.actions_names import ACTIONS_APP, ACTIONS_APP_ID, ACTIONS_BOT_ID
from app.emulator.actions_state import WorkflowRun
from app.emulator.state import Actor, App, Installation, Repository, Token
from app.emulator.world import World

# A token lives as long as its job, at most a day.
_TOKEN_LIFETIME_S = 86_400


def actions_app(world: World) -> App:
    """The App that runs of workflows act as, made when it is first needed."""
    app = world.apps.get(ACTIONS_APP)
    if app is None:
        owner = world.account("github") or world.add_account("github", "Organization")
        app = world.add_app(ACTIONS_APP, owner, {"actions": "write", "checks": "write"}, [], None, None)
        app.id, app.name, app.bot.id = ACTIONS_APP_ID, "GitHub Actions", ACTIONS_BOT_ID
    return app


def actions_bot(world: World) -> Actor:
    """Who the checks of runs come from."""
    app = actions_app(world)
    return Actor(app.bot, app)


def run_token(world: World, run: WorkflowRun) -> Token:
    """A ``GITHUB_TOKEN``: the Actions App's, for this repository, with what the workflow file asks for."""
    permissions = {name: level for name, level in run.permissions.items() if name != "id_token"}
    installation = _installation(world, run.repo)
    return world.add_installation_token(installation, {run.repo.id}, permissions, lifetime_s=_TOKEN_LIFETIME_S)


def _installation(world: World, repo: Repository) -> Installation:
    app = actions_app(world)
    for installation in world.installations.values():
        if installation.app is app and installation.repositories == {repo.id}:
            return installation
    made = Installation(
        id=world.ids.next("installation"),
        app=app,
        account=repo.owner,
        repositories={repo.id},
        permissions={"actions": "write", "checks": "write", "contents": "write", "metadata": "read"},
        events=[],
        created_at=world.clock.stamp(),
    )
    world.installations[made.id] = made
    return made
