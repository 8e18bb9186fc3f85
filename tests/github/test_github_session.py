"""Reads are repeated, writes are not; limits are obeyed; one writer at a time."""

import asyncio
from typing import Any

import httpx
import pytest
import respx

from app.github.budget import Meter
from app.github.errors import Forbidden, GraphQLFailed, Moved, RateLimited, ServerError, Unanswered
from app.github.repository import Repository

REFS = "/repos/octo-org/demo/git/matching-refs/heads/x"
COMMENTS = "/repos/octo-org/demo/issues/5/comments"
EMPTY = httpx.Response(200, json=[])
DONE = httpx.Response(201, json={"id": 9, "body": "x", "created_at": "2026-11-30T12:00:00Z"})
SECONDARY = {"message": "You have exceeded a secondary rate limit"}

LOST = [
    httpx.ConnectError("refused"),
    httpx.ReadTimeout("late"),
    httpx.RemoteProtocolError("server disconnected"),
    httpx.Response(502, text="<html>Unicorn!</html>"),
    httpx.Response(503, json={"message": "busy"}),
    httpx.Response(504),
]


@pytest.mark.parametrize("failure", LOST)
async def test_a_read_is_repeated(repository: Repository, wire: respx.MockRouter, time_: Any, failure: Any) -> None:
    refs = wire.get(REFS).mock(side_effect=[failure, failure, EMPTY])
    assert await repository.matching_refs("heads/x") == []
    assert refs.call_count == 3
    assert len(time_.slept) == 2


@pytest.mark.parametrize("failure", LOST)
async def test_a_read_gives_up_after_four_times(repository: Repository, wire: respx.MockRouter, failure: Any) -> None:
    refs = wire.get(REFS).mock(side_effect=[failure] * 9)
    with pytest.raises((ServerError, Unanswered)):
        await repository.matching_refs("heads/x")
    assert refs.call_count == 4


@pytest.mark.parametrize("failure", [*LOST, httpx.Response(500)])
async def test_a_write_is_sent_once_and_its_fate_is_unknown(
    repository: Repository, wire: respx.MockRouter, failure: Any
) -> None:
    comments = wire.post(COMMENTS).mock(side_effect=[failure, DONE])
    with pytest.raises(Unanswered) as caught:
        await repository.create_comment(5, "x")
    assert comments.call_count == 1
    assert caught.value.status == (failure.status_code if isinstance(failure, httpx.Response) else None)


@pytest.mark.parametrize("answer", [httpx.Response(201, text="<html>"), httpx.Response(201, json={"id": "nine"})])
async def test_a_write_answered_with_nonsense_may_have_happened(
    repository: Repository, wire: respx.MockRouter, answer: httpx.Response
) -> None:
    wire.post(COMMENTS).mock(return_value=answer)
    with pytest.raises(Unanswered):
        await repository.create_comment(5, "x")


async def test_a_read_answered_with_nonsense_is_not_empty(repository: Repository, wire: respx.MockRouter) -> None:
    for answer in (httpx.Response(200, text="<html>"), httpx.Response(200, json={"message": "oops"})):
        wire.get(REFS).mock(return_value=answer)
        with pytest.raises(ServerError):
            await repository.matching_refs("heads/x")


async def test_a_short_limit_is_waited_out(repository: Repository, wire: respx.MockRouter, time_: Any) -> None:
    limit = httpx.Response(429, json={"message": "Too many requests"}, headers={"retry-after": "5"})
    wire.get(REFS).mock(side_effect=[limit, EMPTY])
    assert await repository.matching_refs("heads/x") == []
    assert time_.slept == [5.0]


async def test_while_a_limit_is_in_force_nothing_is_sent(
    repository: Repository, wire: respx.MockRouter, time_: Any
) -> None:
    limit = httpx.Response(403, json=SECONDARY, headers={"retry-after": "60", "x-ratelimit-remaining": "4771"})
    refs = wire.get(REFS).mock(side_effect=[limit, EMPTY])
    comments = wire.post(COMMENTS).mock(return_value=DONE)
    with pytest.raises(RateLimited) as caught:
        await repository.matching_refs("heads/x")
    assert caught.value.secondary
    time_.seconds += 30
    with pytest.raises(RateLimited) as again:
        await repository.create_comment(5, "x")
    assert again.value.wait_s == 30
    assert (refs.call_count, comments.call_count) == (1, 0)
    time_.seconds += 30
    assert await repository.matching_refs("heads/x") == []


async def test_a_limit_that_names_no_time_doubles(repository: Repository, wire: respx.MockRouter, time_: Any) -> None:
    wire.post(COMMENTS).mock(
        side_effect=[httpx.Response(403, json=SECONDARY)] * 3 + [DONE] + [httpx.Response(403, json=SECONDARY)]
    )
    waits = []
    for _ in range(3):
        with pytest.raises(RateLimited) as caught:
            await repository.create_comment(5, "x")
        waits.append(caught.value.wait_s)
        time_.seconds += caught.value.wait_s
    assert waits == [60, 120, 240]
    await repository.create_comment(5, "x")
    with pytest.raises(RateLimited) as caught:
        await repository.create_comment(5, "x")
    assert caught.value.wait_s == 60


async def test_a_spent_graphql_budget_does_not_close_rest(
    repository: Repository, wire: respx.MockRouter, time_: Any
) -> None:
    body = {"data": None, "errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}
    query = wire.post("/graphql").respond(json=body, headers={"x-ratelimit-remaining": "0"})
    wire.get(REFS).mock(return_value=EMPTY)
    for _ in range(2):
        with pytest.raises(RateLimited):
            await repository.ledger_history("a" * 40)
    assert query.call_count == 1
    assert await repository.matching_refs("heads/x") == []


async def test_a_permission_error_is_not_repeated(repository: Repository, wire: respx.MockRouter) -> None:
    refs = wire.get(REFS).respond(403, json={"message": "Resource not accessible by integration"})
    with pytest.raises(Forbidden):
        await repository.matching_refs("heads/x")
    assert refs.call_count == 1


async def test_a_redirect_is_not_followed(repository: Repository, wire: respx.MockRouter) -> None:
    wire.post(COMMENTS).respond(307, headers={"location": "https://elsewhere.example/"})
    with pytest.raises(Moved):
        await repository.create_comment(5, "x")


async def test_one_writer_at_a_time_and_a_second_apart_only_under_pressure(
    repository: Repository, wire: respx.MockRouter, time_: Any
) -> None:
    running, most = 0, 0

    async def serve(request: httpx.Request) -> httpx.Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1
        return DONE

    comments = wire.post(COMMENTS).mock(side_effect=serve)
    await asyncio.gather(*(repository.create_comment(5, "x") for _ in range(5)))
    assert most == 1
    assert time_.slept == []

    limit = httpx.Response(403, json=SECONDARY, headers={"retry-after": "60"})
    comments.mock(side_effect=[limit, DONE, DONE])
    with pytest.raises(RateLimited):
        await repository.create_comment(5, "x")
    time_.seconds += 60
    await repository.create_comment(5, "x")
    await repository.create_comment(5, "x")
    assert time_.slept == [1.0]


async def test_every_request_is_counted_answered_or_not(
    repository: Repository, wire: respx.MockRouter, meter: Meter
) -> None:
    before = meter.snapshot()
    headers = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4321", "x-ratelimit-reset": "1900000000"}
    wire.get(REFS).mock(side_effect=[httpx.ReadTimeout("x"), httpx.Response(200, json=[], headers=headers)])
    await repository.matching_refs("heads/x")
    spent = meter.since(before)
    assert {(c.kind, c.route): n for c, n in spent.counts.items()} == {
        ("rest", "GET /repos/{owner}/{repo}/git/matching-refs/{+ref}"): 2
    }
    assert meter.limits()["installation:7", "core"].remaining == 4321


async def test_all_pages_are_read_and_their_links_never_followed(
    repository: Repository, wire: respx.MockRouter
) -> None:
    def item(name: str) -> dict[str, Any]:
        return {"ref": f"refs/heads/x{name}", "object": {"sha": "a" * 40}}

    link = {"link": '<https://evil.example/steal?page=2>; rel="next", <https://evil.example/>; rel="last"'}
    answers = [httpx.Response(200, json=[item("1")], headers=link), httpx.Response(200, json=[item("2")])]
    refs = wire.get(REFS).mock(side_effect=answers)
    assert [ref.name for ref in await repository.matching_refs("heads/x")] == ["refs/heads/x1", "refs/heads/x2"]
    assert [dict(call.request.url.params) for call in refs.calls] == [
        {"per_page": "100"},
        {"per_page": "100", "page": "2"},
    ]


async def test_an_error_inside_a_page_is_an_error(repository: Repository, wire: respx.MockRouter) -> None:
    wire.get(REFS).respond(json=[{"message": "Server Error"}])
    with pytest.raises(ServerError):
        await repository.matching_refs("heads/x")


async def test_partial_graphql_data_is_never_an_observation(repository: Repository, wire: respx.MockRouter) -> None:
    body = {
        "data": {"repository": {"databaseId": 3_000_000_001, "subject": None}},
        "errors": [{"type": "FORBIDDEN", "path": ["repository", "subject"], "message": "no"}],
    }
    query = wire.post("/graphql").respond(json=body)
    with pytest.raises(GraphQLFailed) as caught:
        await repository.observe(42, None, None)
    assert caught.value.types == {"FORBIDDEN"}
    assert query.call_count == 1
