"""Published faults about missing people and dying tokens, tried on the App's client and its routing of deliveries."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jwt
import pytest
import respx

from app.domain.linked_issue import linked_issue_of
from app.github.client import GitHub
from app.github.errors import Forbidden, NotFound, Suspended, error_of
from app.github.graphql_shapes import CommentNode, CommentPage
from app.github.repository import Repository
from app.service.events import Ignored, Poked, keys_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
PEOPLE = json.loads((FIXTURES / "missing_people.json").read_text())
TOKENS = json.loads((FIXTURES / "tokens_and_installations.json").read_text())
REPO = {"id": 1, "full_name": "octo-org/demo", "default_branch": "main"}


def case(of: dict[str, Any], name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return next(c for c in of["input"]["cases"] if c["name"] == name), of["expected"]["cases"][name]


def route(event: str, payload: dict[str, Any]) -> Poked | Ignored:
    return keys_of(event, {"repository": REPO, **payload}, own_app_id=111)


@pytest.mark.parametrize("name", ["null_comment_user", "plain_issue"])
def test_a_comment_of_nobody_or_on_a_plain_issue_is_routed_quietly(name: str) -> None:
    given, _ = case(PEOPLE, name)
    # Deliveries execute nothing; the ticket is looked at. An empty `pull_request`, as the report has it, names none.
    routing = route("issue_comment", {"issue": given["issue"], "comment": given["comment"]})
    assert routing == Poked(("octo-org/demo#7",), "a comment")


def test_a_marker_without_an_author_is_not_ours() -> None:
    given, expected = case(PEOPLE, "ghost_with_our_marker")
    comment = given["comments"][0]
    node = CommentNode.model_validate(
        {
            "fullDatabaseId": str(comment["id"]),
            "body": comment["body"],
            "createdAt": "2026-11-30T12:00:00Z",
            "viewerDidAuthor": False,
            "author": None,
        }
    )
    assert CommentPage(nodes=(node,)).ours() == ()
    assert expected["ours"] is None


def test_an_author_that_is_gone_is_nobody() -> None:
    given, expected = case(PEOPLE, "graphql_author_null")
    fields = {"fullDatabaseId": "1", "createdAt": "2026-11-30T12:00:00Z", "viewerDidAuthor": False}
    assert CommentNode.model_validate({**fields, **given["node"]}).author is None
    assert expected["matches_bot_pattern"] is False


def test_a_text_that_is_null_links_nothing() -> None:
    given, expected = case(PEOPLE, "null_pr_body")
    pull = {"number": 7, "head": {"ref": "x"}, **given["pull_request"]}
    routing = route("pull_request", {"action": "opened", "pull_request": pull})
    assert isinstance(routing, Poked)
    # It is of no ticket: only its own check is answered.
    assert routing.keys == ("octo-org/demo#7",)
    assert expected["closing_refs"] == []
    assert linked_issue_of("") is None


@pytest.mark.parametrize("name", ["fresh", "near_end"])
async def test_a_token_is_minted_when_it_nears_its_end(
    github: GitHub, tokens: respx.Route, time_: Any, name: str
) -> None:
    given, expected = case(TOKENS, name)
    await github._tokens.get(7)
    time_.seconds += given["age_s"]
    await github._tokens.get(7)
    assert (tokens.call_count == 2) == expected["mint"]


async def test_a_suspended_installation_is_passed_over_and_an_uninstalled_one_is_gone(
    github: GitHub, wire: respx.MockRouter
) -> None:
    given, expected = case(TOKENS, "suspended")
    first, second = given["installations"]
    mint = "/app/installations/{}/access_tokens"
    refused = wire.post(mint.format(first["id"])).respond(first["mint"], json={"message": first["message"]})
    good = {"token": "ghs_" + "x" * 40, "expires_at": "2026-11-30T13:00:00Z"}
    wire.post(mint.format(second["id"])).respond(second["mint"], json=good)
    with pytest.raises(Suspended):
        await github._tokens.get(first["id"])
    assert (await github._tokens.get(second["id"])).value == good["token"]
    assert refused.call_count == 1 + expected["retries_for_1"]
    wire.post(mint.format(9)).respond(case(TOKENS, "deleted")[0]["mint"], json={"message": "Not Found"})
    with pytest.raises(NotFound):
        await github._tokens.get(9)


def test_an_installation_that_comes_back_is_looked_at_whole_and_one_that_goes_is_left() -> None:
    given, expected = case(TOKENS, "unsuspended")
    routing = route(given["event"], {"action": given["action"], "installation": {"id": 1}})
    assert isinstance(routing, Poked)
    assert routing.keys == ("installation:1",)
    assert expected["reconcile"] == "full"
    gone, _ = case(TOKENS, "repo_removed")
    assert isinstance(route(gone["event"], {k: v for k, v in gone.items() if k != "name"}), Ignored)


def test_a_permission_that_is_not_accepted_yet_is_final() -> None:
    given, expected = case(TOKENS, "new_permissions_pending")
    response = given["response"]
    error = error_of(response["status"], {}, {"message": response["message"]}, route="r", now=datetime.now(UTC))
    assert type(error) is Forbidden
    assert expected["retry"] is False


async def test_the_apps_token_is_dated_back(
    repository: Repository, wire: respx.MockRouter, tokens: respx.Route
) -> None:
    _, expected = case(TOKENS, "jwt_clock_ahead")
    wire.get("/repos/octo-org/demo/git/matching-refs/heads/x").respond(json=[])
    await repository.matching_refs("refs/heads/x")
    bearer = tokens.calls[-1].request.headers["authorization"].removeprefix("Bearer ")
    claims = jwt.decode(bearer, options={"verify_signature": False})
    issued = datetime.fromtimestamp(claims["iat"], UTC)
    assert round((issued - repository.session.wire.clock.now()).total_seconds()) == expected["iat_offset_s"]
