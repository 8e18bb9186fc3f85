"""Which error an answer is. The answers are those public reports name, and GitHub's own documentation."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.github import errors
from app.github.clock import GitHubClock
from app.github.errors import (
    Forbidden,
    GitHubError,
    GraphQLFailed,
    RateLimited,
    ServerError,
    Suspended,
    Unanswered,
    Validation,
    error_of,
    graphql_error,
)
from app.github.pace import Pace

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
CASES = json.loads((Path(__file__).parent.parent / "fixtures" / "rate_limit_answers.json").read_text())
ANSWERS = {case["name"]: case["response"] for case in CASES["input"]["cases"]}
EXPECTED = CASES["expected"]["cases"]


def judged(name: str) -> GitHubError | None:
    answer = ANSWERS[name]
    body: Any = answer["body"]
    if answer["status"] == 200:
        return graphql_error(body, answer["headers"], status=200, route="Q", now=NOW)
    return error_of(
        answer["status"], answer["headers"], body if isinstance(body, dict) else None, route="GET /x", now=NOW
    )


@pytest.mark.parametrize("name", ["retry_after", "no_retry_after", "reset_in_the_past", "too_many"])
def test_limits_are_waited_for_and_never_zero_seconds(name: str) -> None:
    error = judged(name)
    assert isinstance(error, RateLimited)
    assert error.wait_s >= EXPECTED[name]["wait_s_min"]
    assert error.retry_at == NOW + timedelta(seconds=error.wait_s)


def test_a_limit_that_names_no_time_is_waited_for_twice_as_long_each_time() -> None:
    pace, waits = Pace(GitHubClock(), asyncio.sleep), []
    for _ in range(3):
        error = judged("no_retry_after")
        assert isinstance(error, RateLimited)
        pace.limited("core", error)
        waits.append(error.wait_s)
    factor = {"double": 2}[EXPECTED["no_retry_after"]["backoff"]]
    assert waits == [waits[0], waits[0] * factor, waits[0] * factor**2]


def test_a_limit_on_behaviour_is_secondary_and_a_spent_budget_is_not() -> None:
    behaviour, budget = judged("no_retry_after"), judged("reset_in_the_past")
    assert isinstance(behaviour, RateLimited)
    assert behaviour.secondary
    assert not behaviour.stated
    assert isinstance(budget, RateLimited)
    assert not budget.secondary


def test_the_hour_ends_when_the_header_says() -> None:
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW.timestamp()) + 600)}
    error = error_of(403, headers, {"message": "API rate limit exceeded"}, route="GET /x", now=NOW)
    assert isinstance(error, RateLimited)
    assert error.stated
    assert 600 <= error.wait_s <= 602


def test_a_missing_permission_is_final_and_no_limit() -> None:
    assert type(judged("permission_403")) is Forbidden
    assert isinstance(judged("permission_403"), RateLimited) is EXPECTED["permission_403"]["retry"]


def test_a_missing_permission_with_the_budget_just_spent_is_still_no_limit() -> None:
    body = {"message": "Resource not accessible by integration"}
    assert type(error_of(403, {"x-ratelimit-remaining": "0"}, body, route="GET /x", now=NOW)) is Forbidden


@pytest.mark.parametrize("name", ["graphql_rate_limited", "graphql_rate_limit_other_word"])
def test_a_limit_inside_http_200_is_a_limit_and_no_missing_repository(name: str) -> None:
    error = judged(name)
    assert isinstance(error, RateLimited)
    assert error.wait_s >= 1


def test_the_last_good_call_of_the_hour_is_good() -> None:
    assert judged("graphql_last_good_call") is None


@pytest.mark.parametrize("name", ["graphql_partial", "graphql_forbidden_node"])
def test_partial_data_is_no_answer(name: str) -> None:
    error = judged(name)
    assert isinstance(error, GraphQLFailed)
    assert error.partial == ANSWERS[name]["body"]["data"]


def test_a_page_instead_of_json_breaks_nothing() -> None:
    error = judged("html_502")
    assert isinstance(error, ServerError)
    assert error.status == 502


@pytest.mark.parametrize("body", [None, [], {}, {"data": None}, {"data": []}, "text"])
def test_graphql_without_data_is_a_failure(body: Any) -> None:
    assert isinstance(graphql_error(body, {}, status=200, route="Q", now=NOW), GraphQLFailed)


@pytest.mark.parametrize("entries", [["x"], [None], [{"type": 5, "path": "no", "message": []}], {"a": 1}, "boom"])
def test_errors_of_odd_form_are_failures_all_the_same(entries: Any) -> None:
    error = graphql_error({"data": {}, "errors": entries}, {}, status=200, route="Q", now=NOW)
    assert isinstance(error, GraphQLFailed)
    assert str(error)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "Bad credentials", errors.Unauthorized),
        (403, "This installation has been suspended", Suspended),
        (404, "Not Found", errors.NotFound),
        (405, "Base branch was modified. Review and try the merge again.", errors.MethodNotAllowed),
        (409, "Git Repository is empty.", errors.Conflict),
        (410, "This issue was deleted", errors.NotFound),
        (301, "Moved Permanently", errors.Moved),
        (418, "I'm a teapot", GitHubError),
        (500, "", ServerError),
    ],
)
def test_each_status_has_its_type(status: int, message: str, kind: type[GitHubError]) -> None:
    error = error_of(status, {"x-github-request-id": "AB:12"}, {"message": message}, route="GET /x", now=NOW)
    assert type(error) is kind
    assert error.status == status
    assert "AB:12" in str(error)


@pytest.mark.parametrize("retry_after", ["", "soon", "-5", "99999999", "Mon, 30 Nov 2026 12:00:00 GMT", "٣"])
def test_a_retry_after_we_cannot_read_means_a_minute(retry_after: str) -> None:
    error = error_of(429, {"retry-after": retry_after}, {"message": "slow down"}, route="GET /x", now=NOW)
    assert isinstance(error, RateLimited)
    assert error.wait_s == 60


def test_a_422_names_its_fields() -> None:
    entries = [{"resource": "PullRequest", "field": "head", "code": "invalid"}, "a plain sentence", 7]
    error = error_of(422, {}, {"message": "Validation Failed", "errors": entries}, route="POST /x", now=NOW)
    assert isinstance(error, Validation)
    assert [e.field for e in error.errors] == ["head", "", ""]
    assert "a plain sentence" in str(error)


@pytest.mark.parametrize(
    "secret",
    ["ghs_" + "a1B2.-_" * 20, "github_pat_" + "x" * 40, "arl_k1.abcdef.ghijkl", "Bearer " + "z" * 30],
)
def test_no_error_repeats_a_credential(secret: str) -> None:
    body = {"message": f"cannot use {secret}\nhere", "errors": [{"message": secret}]}
    for error in (
        error_of(422, {"x-github-request-id": secret}, body, route="POST /x", now=NOW),
        graphql_error({"errors": [{"type": "X", "message": secret}]}, {}, status=200, route="Q", now=NOW),
        Unanswered(f"lost {secret}"),
    ):
        assert secret not in f"{error} {error!r} {vars(error)}"
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"status": "failed", "details": {"message": "Pull request is a draft."}}, "Pull request is a draft."),
        ({"message": "Bad", "details": {"message": "worse"}}, "Bad"),
        ({"details": "text"}, "GitHub answered 400"),
        ({"details": {"message": {"x": 1}}}, "GitHub answered 400"),
    ],
)
def test_a_sentence_one_level_down_is_heard(body: dict[str, Any], words: str) -> None:
    assert error_of(400, {}, body, route="PUT /x", now=NOW).message == words
