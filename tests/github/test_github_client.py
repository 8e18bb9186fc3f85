"""Finding repositories, and knowing who calls and what they may do."""

import asyncio
from typing import Any

import httpx
import pytest
import respx

from app.domain.outcome import Code, Refused
from app.github.client import GitHub
from app.github.errors import Moved, NotFound, ServerError
from app.github.repository import Repository

REPOSITORY = {"id": 12, "node_id": "R_2", "name": "other", "owner": {"login": "octo-org"}, "private": False}
USER_TOKEN = "ghp_" + "a" * 36


async def test_a_repository_costs_two_requests_once(
    github: GitHub, repository: Repository, wire: respx.MockRouter, time_: Any
) -> None:
    assert (repository.id, repository.node_id, repository.default_branch) == (3_000_000_001, "R_1", "main")
    sent = len(wire.calls)
    assert await github.repository("Octo-Org", "DEMO") is repository
    assert len(wire.calls) == sent
    time_.seconds += 601
    assert await github.repository("octo-org", "demo") is repository
    assert len(wire.calls) == sent + 1


async def test_concurrent_first_looks_are_one(github: GitHub, wire: respx.MockRouter, tokens: respx.Route) -> None:
    where = wire.get("/repos/octo-org/other/installation").respond(json={"id": 7})
    what = wire.get("/repos/octo-org/other").respond(json=REPOSITORY)
    found = await asyncio.gather(*(github.repository("octo-org", "other") for _ in range(5)))
    assert len({id(repository) for repository in found}) == 1
    assert (where.call_count, what.call_count) == (1, 1)


async def test_listing_an_installation_saves_the_looks(
    github: GitHub, wire: respx.MockRouter, tokens: respx.Route
) -> None:
    wire.get("/installation/repositories").respond(json={"total_count": 1, "repositories": [REPOSITORY]})
    (listed,) = await github.installation_repositories(7)
    assert (listed.owner, listed.name, listed.id) == ("octo-org", "other", 12)
    sent = len(wire.calls)
    assert (await github.repository("octo-org", "other")).node_id == "R_2"
    assert len(wire.calls) == sent


async def test_not_installed_and_renamed_are_told_apart(github: GitHub, wire: respx.MockRouter) -> None:
    wire.get("/repos/octo-org/none/installation").respond(404, json={"message": "Not Found"})
    wire.get("/repos/octo-org/old/installation").respond(301, json={"message": "Moved Permanently"})
    with pytest.raises(NotFound):
        await github.repository("octo-org", "none")
    with pytest.raises(Moved):
        await github.repository("octo-org", "old")


async def test_a_name_taken_over_by_another_repository_is_noticed(
    github: GitHub, repository: Repository, wire: respx.MockRouter
) -> None:
    wire.post("/graphql").respond(json={"data": {"repository": {"databaseId": 999, "object": None}}})
    with pytest.raises(Moved):
        await repository.ledger_history("a" * 40)
    wire.get("/repos/octo-org/demo").respond(json={**REPOSITORY, "id": 999, "name": "demo"})
    assert (await github.repository("octo-org", "demo")).id == 999


@pytest.mark.parametrize("name", ["..", ".", "", "a/../b"])
async def test_a_name_that_climbs_is_never_sent(github: GitHub, wire: respx.MockRouter, name: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in a path"):
        await github.repository("octo-org", name)
    assert len(wire.calls) == 0


async def test_installations_with_the_suspended_ones(github: GitHub, wire: respx.MockRouter) -> None:
    body = [
        {"id": 1, "account": {"login": "octo-org"}, "suspended_at": None},
        {"id": 2, "account": {"login": "gone"}, "suspended_at": "2026-11-30T12:00:00Z"},
    ]
    wire.get("/app/installations").respond(json=body)
    assert [(i.account, i.suspended) for i in await github.installations()] == [("octo-org", False), ("gone", True)]


async def test_a_caller_is_the_account_of_the_token(github: GitHub, wire: respx.MockRouter) -> None:
    asked = wire.get("/user").respond(json={"login": "dev-a", "id": 5, "type": "User"})
    caller = await github.caller(USER_TOKEN)
    assert (caller.login, caller.id, caller.type) == ("dev-a", 5, "User")
    assert asked.calls.last.request.headers["authorization"] == f"Bearer {USER_TOKEN}"


@pytest.mark.parametrize(
    "token", ["", "short", "ghs_" + "a.b_c" * 30, "a" * 2000, "ghp_" + "a" * 30 + "\r\nX-Evil: 1", "ghp_é" + "a" * 30]
)
async def test_what_is_no_user_token_is_refused_unsent(github: GitHub, wire: respx.MockRouter, token: str) -> None:
    with pytest.raises(Refused) as caught:
        await github.caller(token)
    assert caught.value.blocked.code is Code.UNAUTHENTICATED
    assert len(wire.calls) == 0
    assert not token or token not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (httpx.Response(401, json={"message": "Bad credentials"}), Code.UNAUTHENTICATED),
        (httpx.Response(403, json={"message": "Resource not accessible"}), Code.UNAUTHENTICATED),
        (httpx.Response(200, json={"login": "x[bot]", "id": 6, "type": "Bot"}), Code.FORBIDDEN),
    ],
)
async def test_a_token_of_nobody_who_may_hold_is_refused(
    github: GitHub, wire: respx.MockRouter, answer: httpx.Response, code: Code
) -> None:
    wire.get("/user").mock(return_value=answer)
    with pytest.raises(Refused) as caught:
        await github.caller(USER_TOKEN)
    assert caught.value.blocked.code is code
    assert USER_TOKEN not in f"{caught.value} {caught.value.blocked}"


async def test_no_answer_about_a_caller_is_no_refusal(github: GitHub, wire: respx.MockRouter) -> None:
    wire.get("/user").respond(502)
    with pytest.raises(ServerError):
        await github.caller(USER_TOKEN)


@pytest.mark.parametrize(
    ("body", "level"),
    [
        ({"permission": "admin", "role_name": "admin"}, "admin"),
        ({"permission": "write", "role_name": "maintain"}, "maintain"),
        ({"permission": "read", "role_name": "triage"}, "triage"),
        ({"permission": "write", "role_name": "release-captain"}, "write"),
        ({"permission": "none", "role_name": ""}, "none"),
        ({"permission": "emperor"}, "none"),
    ],
)
async def test_permissions_as_github_names_them(
    github: GitHub, repository: Repository, wire: respx.MockRouter, body: dict[str, str], level: str
) -> None:
    wire.get("/repos/octo-org/demo/collaborators/dev-a/permission").respond(json=body)
    assert await github.permission(repository, "dev-a") == level


async def test_a_stranger_may_nothing(github: GitHub, repository: Repository, wire: respx.MockRouter) -> None:
    wire.get("/repos/octo-org/demo/collaborators/no%2Fbody/permission").respond(404, json={"message": "Not Found"})
    assert await github.permission(repository, "no/body") == "none"
