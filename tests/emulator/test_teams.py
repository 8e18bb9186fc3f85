"""Who is in a team, and who may ask (docs.github.com, "Get team membership for a user")."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from emulated import World, rest

TEAM = "/orgs/octo/teams/releasers/memberships"


@pytest.fixture
def member(world: World) -> httpx.Client:
    """An installation that may read members."""
    app = world.emulator.app("clerk", permissions={"members": "read"})
    number = world.emulator.installation("clerk", "octo")["id"]
    return rest(world.emulator, world.emulator.installation_token(app, number))


def shown(client: httpx.Client, login: str) -> tuple[int, Any, Any]:
    answer = client.get(f"{TEAM}/{login}")
    body = answer.json()
    return answer.status_code, body.get("role"), body.get("state")


def test_members_maintainers_and_those_who_have_not_accepted(world: World, member: httpx.Client) -> None:
    assert shown(member, "dev")[0] == 404, "there is no such team"
    world.emulator.team("octo", "releasers", members=["dev"], maintainers=["reader"], invited=["stranger"])
    assert shown(member, "DEV") == (200, "member", "active")
    assert shown(member, "reader") == (200, "maintainer", "active")
    assert shown(member, "stranger") == (200, "member", "pending")
    assert shown(member, "nobody")[0] == 404
    world.emulator.team("octo", "releasers", members=["stranger"])
    assert [shown(member, login)[0] for login in ("dev", "reader", "stranger")] == [404, 404, 200]


def test_who_may_ask(world: World, member: httpx.Client) -> None:
    world.emulator.team("octo", "releasers", members=["dev"])
    answer = world.bot.get(f"{TEAM}/dev")
    assert (answer.status_code, answer.json()["message"]) == (403, "Resource not accessible by integration")
    assert answer.headers["x-accepted-github-permissions"] == "members=read"
    assert world.reader.get(f"{TEAM}/dev").status_code == 200, "people of the organization"
    stranger = rest(world.emulator, world.tokens["stranger"])
    assert stranger.get(f"{TEAM}/dev").status_code == 404
    assert httpx.get(f"{world.emulator.url}{TEAM}/dev").status_code == 401
    world.emulator.org("elsewhere")
    world.emulator.team("elsewhere", "releasers", members=["dev"])
    assert member.get("/orgs/elsewhere/teams/releasers/memberships/dev").status_code == 404


def test_a_team_follows_renames_and_forgets_who_left(world: World, member: httpx.Client) -> None:
    world.emulator.team("octo", "releasers", members=["dev", "stranger"])
    world.emulator.rename_account("dev", "devon")
    assert (shown(member, "devon")[0], shown(member, "dev")[0]) == (200, 404)
    world.emulator.delete_user("stranger")
    assert shown(member, "stranger")[0] == 404
