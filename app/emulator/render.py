"""How REST answers and webhook payloads show the things of :mod:`app.emulator.state`: all subjects in one renderer."""

from __future__ import annotations

from typing import Any

from app.emulator.render_actions import ActionsRender
from app.emulator.render_checks import CheckRender
from app.emulator.render_issues import IssueRender
from app.emulator.render_people import PeopleRender
from app.emulator.render_pulls import PullRender
from app.emulator.render_repositories import RepositoryRender
from app.emulator.render_shipping import ShippingRender
from app.emulator.render_stacks import StackRender
from app.emulator.state import CommitStatus
from app.emulator.world import World

Json = dict[str, Any]


class Render(
    ActionsRender, CheckRender, ShippingRender, StackRender, PullRender, IssueRender, RepositoryRender, PeopleRender
):
    """Renders for one base URL, the root of the REST API as the client knows it."""

    def __init__(self, world: World, api: str | None = None) -> None:
        self.world = world
        self.html = world.url
        self.api = api or world.url

    def status(self, status: CommitStatus) -> Json:
        """A commit status."""
        return {
            "url": f"{self.api}/repos/{status.repo.full_name}/statuses/{status.sha}",
            "avatar_url": f"{self.html}/avatars/{status.creator.id}",
            "id": status.id,
            "node_id": status.node_id,
            "state": status.state,
            "description": status.description,
            "target_url": status.target_url,
            "context": status.context,
            "created_at": status.created_at,
            "updated_at": status.created_at,
            "creator": self.account(status.creator),
        }
