"""GitHub's refusals about pull requests, in its own words, as values."""

import json
from typing import Any

import httpx
import pytest
import respx

from app.domain.observation import Pull
from app.github.errors import GraphQLFailed
from app.github.pulls import PullRefusal, PullRefused
from app.github.repository import Repository

PULLS = "/repos/octo-org/demo/pulls"


def entry(head: str = "ticket/42", base: str = "release-1", repo: str | None = "octo-org/demo", **more: Any) -> Any:
    return {
        "number": 57,
        "node_id": "PR_57",
        "state": "open",
        "title": "t",
        "body": None,
        "head": {"ref": head, "sha": "a" * 40, "repo": {"full_name": repo} if repo else None},
        "base": {"ref": base, "sha": "b" * 40, "repo": {"full_name": "octo-org/demo"}},
        **more,
    }


def invalid(*errors: Any, message: str = "Validation Failed") -> httpx.Response:
    return httpx.Response(422, json={"message": message, "errors": list(errors)})


def custom(message: str) -> dict[str, str]:
    return {"resource": "PullRequest", "code": "custom", "message": message}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (invalid(custom("No commits between release-1 and ticket/42")), PullRefusal.NO_COMMITS),
        (invalid(custom("A pull request already exists for octo-org:ticket/42.")), PullRefusal.ALREADY_EXISTS),
        (invalid(message="Draft pull requests are not supported in this repository."), PullRefusal.DRAFT_UNSUPPORTED),
        (invalid({"resource": "PullRequest", "field": "head", "code": "invalid"}), PullRefusal.HEAD_MISSING),
        (invalid({"resource": "PullRequest", "field": "base", "code": "invalid"}), PullRefusal.BASE_MISSING),
        (invalid(custom("something new")), PullRefusal.OTHER),
    ],
)
async def test_a_pull_request_that_is_refused(
    repository: Repository, wire: respx.MockRouter, answer: httpx.Response, kind: PullRefusal
) -> None:
    wire.post(PULLS).mock(return_value=answer)
    refused = await repository.create_pull("ticket/42", "release-1", "t", "b", True)
    assert isinstance(refused, PullRefused)
    assert refused.kind is kind
    assert refused.message


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("state cannot be changed. The ticket/42 branch has been deleted.", PullRefusal.HEAD_MISSING),
        ("state cannot be changed. The ticket/42 branch was force-pushed or recreated.", PullRefusal.HEAD_REWRITTEN),
        ("state cannot be changed. There is already an open pull request", PullRefusal.ALREADY_EXISTS),
        ("state cannot be changed.", PullRefusal.OTHER),
    ],
)
async def test_a_pull_request_that_stays_closed(
    repository: Repository, wire: respx.MockRouter, message: str, kind: PullRefusal
) -> None:
    wire.patch(f"{PULLS}/57").mock(return_value=invalid(custom(message)))
    refused = await repository.reopen_pull(57)
    assert isinstance(refused, PullRefused)
    assert refused.kind is kind


async def test_the_probe_asks_for_exactly_this_head_and_believes_nothing_else(
    repository: Repository, wire: respx.MockRouter
) -> None:
    head = "feature/ui#123"
    answers = [
        entry(head, merged_at="2026-11-30T12:00:00Z", state="closed", draft=True),
        entry("feature/ui"),
        entry(head, base="main"),
        entry(head, repo="stranger/demo"),
        entry(head, repo=None),
    ]
    route = wire.get(PULLS).respond(json=answers)
    (found,) = await repository.find_pulls(head, "release-1")
    assert isinstance(found, Pull)
    assert (found.state, found.is_draft, found.body) == ("MERGED", True, "")
    assert b"head=octo-org%3Afeature%2Fui%23123" in route.calls.last.request.url.query


async def test_a_draft_that_is_one_already_is_what_was_wanted(repository: Repository, wire: respx.MockRouter) -> None:
    said = {"data": {"x": None}, "errors": [{"type": "UNPROCESSABLE", "message": "Pull request is already a draft"}]}
    route = wire.post("/graphql").respond(json=said)
    await repository.set_draft("PR_57", True)
    assert "convertPullRequestToDraft" in json.loads(route.calls.last.request.content)["query"]


async def test_a_draft_that_is_forbidden_is_an_error(repository: Repository, wire: respx.MockRouter) -> None:
    said = {"data": None, "errors": [{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}]}
    route = wire.post("/graphql").respond(json=said)
    with pytest.raises(GraphQLFailed):
        await repository.set_draft("PR_57", False)
    assert "markPullRequestReadyForReview" in json.loads(route.calls.last.request.content)["query"]
