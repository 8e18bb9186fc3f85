"""What accounts may do and which teams they are in, as the emulated GitHub answers it now."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import respx
from delivery_world import NAME, PERMISSIONS, DeliveryWorld

from app.domain.permission import Membership, NoSuchAccount, NotInTeam, NotTold, RoleHeld, TeamMember
from app.github.repository import Repository

ROUTE = "/repos/octo-org/demo/collaborators/wanda/permission"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[DeliveryWorld]:
    async with DeliveryWorld(tmp_path, PERMISSIONS | {"members": "read"}) as made:
        yield made


async def test_the_role_is_the_present_one_and_no_folded_one(world: DeliveryWorld) -> None:
    control = world.emulated.control
    for role in ("admin", "maintain", "write", "triage", "read"):
        await control("PATCH", f"/repos/{NAME}", collaborators={"wanda": role})
        held = await world.repository.role_of("wanda")
        assert isinstance(held, RoleHeld)
        assert (held.login, held.level, held.role) == ("wanda", role, role)
        assert held.is_at_least("maintain") is (role in ("admin", "maintain"))


async def test_an_account_without_a_role_and_one_that_is_not_there(world: DeliveryWorld) -> None:
    made = await world.emulated.control("POST", "/users", login="stranger")
    assert await world.repository.role_of("stranger") == RoleHeld("stranger", made["id"], "read", "read")
    await world.emulated.control("PATCH", f"/repos/{NAME}", private=True)
    assert await world.repository.role_of("stranger") == RoleHeld("stranger", made["id"], "none", "none")
    assert await world.repository.role_of("nobody") == NoSuchAccount("nobody")


async def test_a_login_cannot_become_another_path(world: DeliveryWorld) -> None:
    assert await world.repository.role_of("boss/permission?x=") == NoSuchAccount("boss/permission?x=")


def custom(role: str, **permissions: bool) -> dict[str, Any]:
    return {"permission": "write", "role_name": role, "user": {"permissions": permissions}}


@pytest.mark.parametrize(
    ("answer", "level", "role"),
    [
        (custom("releaser", maintain=True, push=True, pull=True), "maintain", "releaser"),
        (custom("writer+", push=True, pull=True), "write", "writer+"),
        ({"permission": "write", "role_name": "older", "user": {}}, "write", "older"),
        ({"permission": "read", "user": {}}, "read", "read"),
        ({"permission": "owner of all", "role_name": "superuser", "user": {}}, "none", "superuser"),
    ],
)
async def test_roles_that_an_organization_made(
    repository: Repository, wire: respx.MockRouter, answer: dict[str, Any], level: str, role: str
) -> None:
    answer["user"] |= {"login": "wanda", "id": 5}
    wire.get(ROUTE).respond(json=answer)
    held = await repository.role_of("wanda")
    assert isinstance(held, RoleHeld)
    assert (held.level, held.role) == (level, role)


async def test_what_github_keeps_to_itself_is_no_permission(repository: Repository, wire: respx.MockRouter) -> None:
    wire.get(ROUTE).respond(403, json={"message": "Resource not accessible by integration"})
    assert isinstance(await repository.role_of("wanda"), NotTold)
    wire.get(ROUTE).respond(json={"permission": "admin", "role_name": "admin", "user": None})
    assert await repository.role_of("wanda") == NoSuchAccount("wanda")


async def test_teams_know_members_and_those_who_have_not_accepted(world: DeliveryWorld) -> None:
    control, ask = world.emulated.control, world.repository.membership
    await control("PUT", "/orgs/acme/teams/releasers", members=["wanda"], maintainers=["boss"])
    assert await ask("@acme/releasers", "wanda") == TeamMember("acme/releasers", "wanda", maintains=False)
    assert await ask("acme/releasers", "boss") == TeamMember("acme/releasers", "boss", maintains=True)
    await control("PUT", "/orgs/acme/teams/releasers", invited=["wanda"])
    assert await ask("@acme/releasers", "wanda") == NotInTeam("acme/releasers", "wanda", invited=True)
    assert await ask("@acme/releasers", "boss") == NotInTeam("acme/releasers", "boss")
    assert await ask("@acme/nowhere", "boss") == NotInTeam("acme/nowhere", "boss")
    assert await ask("@acme/releasers", "nobody") == NotInTeam("acme/releasers", "nobody")


async def test_teams_elsewhere_are_never_asked_for(world: DeliveryWorld) -> None:
    before = world.sent()
    answers: list[Membership] = [await world.repository.membership(team, "wanda") for team in ("@other/x", "acme", "")]
    assert all(isinstance(answer, NotTold) for answer in answers)
    assert world.sent() == before


async def test_without_the_permission_nothing_is_known_of_teams(tmp_path: Path) -> None:
    async with DeliveryWorld(tmp_path) as world:
        await world.emulated.control("PUT", "/orgs/acme/teams/releasers", members=["wanda"])
        answer = await world.repository.membership("@acme/releasers", "wanda")
    assert isinstance(answer, NotTold)
    assert "members: read" in answer.reason
