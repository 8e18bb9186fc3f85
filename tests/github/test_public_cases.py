"""Published faults about missing people and dying tokens, tried on the App's client and its routing of deliveries."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jwt
import pytest
import respx

from app.domain.linked_issue import linked_issue_of
from app.domain.reach import Left, Reach
from app.github.client import GitHub
from app.github.errors import Forbidden, ServerError, Suspended, Uninstalled, error_of
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
    given, expected = case(PEOPLE, name)
    # Deliveries execute nothing; the ticket is looked at. An empty `pull_request`, as the report has it, names none.
    routing = route("issue_comment", {"issue": given["issue"], "comment": given["comment"]})
    assert routing == Poked(("octo-org/demo#7",), "a comment")
    assert expected["execute"] == []
    # Routing asks GitHub nothing and ends in no exception, whoever is missing.
    assert {"api_calls": 0, "crash": False, "execute": []} | expected == {"api_calls": 0, "crash": False, "execute": []}


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
    author = CommentNode.model_validate({**fields, **given["node"]}).author
    assert author is None
    # GitHub's web page calls nobody `ghost`; no text of ours takes that for a login, and nobody is no bot.
    assert (author or "ghost", author == "Bot") == (expected["login"], expected["matches_bot_pattern"])


def test_a_text_that_is_null_links_nothing() -> None:
    given, expected = case(PEOPLE, "null_pr_body")
    pull = {"number": 7, "head": {"ref": "x"}, **given["pull_request"]}
    routing = route("pull_request", {"action": "opened", "pull_request": pull})
    assert isinstance(routing, Poked)
    # It is of no ticket: only its own check is answered.
    assert routing.keys == ("octo-org/demo#7",)
    assert [issue for issue in [linked_issue_of("")] if issue is not None] == expected["closing_refs"]
    assert expected["crash"] is False


def test_a_commit_without_an_account_is_heard_of_like_any_other() -> None:
    given, expected = case(PEOPLE, "commit_author_null")
    push = {
        "ref": "refs/heads/ticket/7",
        "after": "b" * 40,
        "head_commit": given["commit"],
        "commits": [given["commit"]],
    }
    assert isinstance(route("push", push), Poked)
    assert expected["crash"] is False


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
    handled, skipped = [], []
    mint = "/app/installations/{}/access_tokens"
    refused = wire.post(mint.format(first["id"])).respond(first["mint"], json={"message": first["message"]})
    good = {"token": "ghs_" + "x" * 40, "expires_at": "2026-11-30T13:00:00Z"}
    wire.post(mint.format(second["id"])).respond(second["mint"], json=good)
    for id in (first["id"], second["id"]):
        try:
            handled += [id] if (await github._tokens.get(id)).value == good["token"] else []
        except Suspended as suspended:
            skipped += [id]
            reach = suspended.reach
    assert reach == "suspended"
    assert (skipped, handled) == (expected["skipped"], expected["handled"])
    assert refused.call_count == 1 + expected["retries_for_1"]
    wire.post(mint.format(9)).respond(case(TOKENS, "deleted")[0]["mint"], json={"message": "Not Found"})
    with pytest.raises(Uninstalled) as gone:
        await github._tokens.get(9)
    assert gone.value.reach == case(TOKENS, "deleted")[1]["state"]


def test_an_installation_that_comes_back_is_looked_at_whole() -> None:
    given, expected = case(TOKENS, "unsuspended")
    routing = route(given["event"], {"action": given["action"], "installation": {"id": 1}})
    assert isinstance(routing, Poked)
    # The key of an installation stands for all of its repositories.
    assert {("installation:1",): "full"}[routing.keys] == expected["reconcile"]


@pytest.mark.parametrize(
    ("event", "payload", "left"),
    [
        ("installation", {"action": "deleted"}, {"state": "uninstalled"}),
        ("installation", {"action": "suspend"}, {"state": "suspended"}),
        (
            "installation_repositories",
            {"action": "removed", "repositories_removed": [{"id": 1}, {"id": 5}, {"id": "7"}, {"id": True}, {}, 3]},
            {"state": "installed", "paused_repo_ids": [1, 5]},
        ),
        ("installation_repositories", {"action": "removed"}, {"state": "installed", "paused_repo_ids": []}),
        ("installation", {"action": "new_permissions_declined"}, None),
    ],
)
def test_what_an_account_takes_from_the_app_has_a_name(
    event: str, payload: dict[str, Any], left: dict[str, Any] | None
) -> None:
    routing = route(event, {"installation": {"id": 1}, **payload})
    assert isinstance(routing, Ignored)
    assert (routing.left is None) == (left is None)
    if routing.left is not None and left is not None:
        assert routing.left.state == left["state"]
        assert list(routing.left.paused_repo_ids) == left.get("paused_repo_ids", [])
        assert routing.reason == routing.left.reason


def test_the_published_names_of_what_is_taken() -> None:
    given, expected = case(TOKENS, "repo_removed")
    routing = route(given["event"], {k: v for k, v in given.items() if k != "name"})
    assert isinstance(routing, Ignored)
    assert routing.left is not None
    assert list(routing.left.paused_repo_ids) == expected["paused_repo_ids"]
    assert "1" in routing.reason
    routing = route("installation", {"action": "deleted", "installation": {"id": 1}})
    assert isinstance(routing, Ignored)
    assert routing.left == Left(Reach(case(TOKENS, "deleted")[1]["state"]))
    assert routing.reason == "the App is uninstalled in this account"


def test_a_permission_that_is_not_accepted_yet_is_final() -> None:
    given, expected = case(TOKENS, "new_permissions_pending")
    response = given["response"]
    error = error_of(response["status"], {}, {"message": response["message"]}, route="r", now=datetime.now(UTC))
    assert type(error) is {"permission": Forbidden}[expected["class"]]
    # Final: the client repeats only reads that got no usable answer.
    assert isinstance(error, ServerError) is expected["retry"]


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
