"""An App that hears of everything about Issues and projects, and what it heard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
from emulated import World, rest

NOWHERE = "http://127.0.0.1:9/"  # deliveries are recorded before they are sent, so nobody needs to listen
EVERYTHING = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "organization_projects": "write",
}
HEARD = [
    "issues",
    "issue_comment",
    "sub_issues",
    "issue_dependencies",
    "label",
    "milestone",
    "pull_request",
    "projects_v2",
    "projects_v2_item",
]


@dataclass
class Listener:
    """An App installed on octo for all repositories."""

    world: World
    app: dict[str, Any]
    installation: dict[str, Any]
    client: httpx.Client

    def heard(self, event: str, action: str | None = None) -> list[dict[str, Any]]:
        """The payloads of an event, oldest first."""
        found = [d for d in self.world.emulator.deliveries() if d["app"] == self.app["slug"] and d["event"] == event]
        return [d["payload"] for d in found if action in (None, d["action"])]

    def graphql(self, query: str, **variables: Any) -> Any:
        return self.world.graphql(query, self.client, **variables)


def listener(world: World, slug: str = "planner", permissions: dict[str, str] | None = None) -> Listener:
    """An App with these permissions, or all that Issues and projects need."""
    emulator = world.emulator
    app = emulator.app(slug, permissions=permissions or EVERYTHING, events=HEARD, webhook_url=NOWHERE)
    installation = emulator.installation(slug, "octo")
    return Listener(world, app, installation, rest(emulator, emulator.installation_token(app, installation["id"])))
