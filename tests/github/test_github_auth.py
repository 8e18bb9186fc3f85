"""Tokens: bought once, renewed early, dropped when refused, never shown."""

import asyncio
import logging
import traceback
from typing import Any

import httpx
import jwt
import pytest
import respx

from app.github.client import GitHub
from app.github.clock import GitHubClock
from app.github.errors import GitHubError, NotFound, ServerError, Suspended, Unanswered, Unauthorized
from app.github.repository import Repository

REFS = "/repos/octo-org/demo/git/matching-refs/heads/x"
COMMENTS = "/repos/octo-org/demo/issues/5/comments"
BAD = httpx.Response(401, json={"message": "Bad credentials"})


def authorizations(route: respx.Route) -> list[str]:
    return [call.request.headers["authorization"] for call in route.calls]


def claims(route: respx.Route, index: int = -1) -> dict[str, Any]:
    bearer = authorizations(route)[index].removeprefix("Bearer ")
    return jwt.decode(bearer, options={"verify_signature": False})


async def test_ten_first_calls_buy_one_token(github: GitHub, wire: respx.MockRouter, tokens: respx.Route) -> None:
    listed = wire.get("/installation/repositories").respond(json={"total_count": 0, "repositories": []})
    await asyncio.gather(*(github.installation_repositories(7) for _ in range(10)))
    assert listed.call_count == 10
    assert tokens.call_count == 1


async def test_a_caller_that_gives_up_does_not_take_the_token_from_the_others(
    github: GitHub, wire: respx.MockRouter, tokens: respx.Route
) -> None:
    first = asyncio.create_task(github._tokens.get(7))
    second = asyncio.create_task(github._tokens.get(7))
    await asyncio.sleep(0)
    first.cancel()
    token = await second
    assert first.cancelled()
    assert token.value.startswith("ghs_1")
    assert tokens.call_count == 1


@pytest.mark.parametrize(("age_s", "mints"), [(1200, 1), (3250, 1), (3350, 2), (7200, 2)])
async def test_a_token_is_renewed_in_its_last_five_minutes(
    github: GitHub, tokens: respx.Route, time_: Any, age_s: int, mints: int
) -> None:
    await github._tokens.get(7)
    time_.seconds += age_s
    await github._tokens.get(7)
    assert tokens.call_count == mints


async def test_the_apps_token_lives_by_githubs_clock(
    github: GitHub, wire: respx.MockRouter, clock: GitHubClock
) -> None:
    lookup = wire.get("/app/installations").respond(json=[], headers={"date": "Mon, 30 Nov 2026 12:00:00 GMT"})
    await github.installations()
    await github.installations()
    learned = claims(lookup)
    noon = 1_796_040_000
    assert learned["iss"] == "111"
    assert noon - 60 <= learned["iat"] <= noon - 58
    assert 0 < learned["exp"] - noon <= 9 * 60


async def test_a_clock_that_was_wrong_is_corrected_by_the_refusal(github: GitHub, wire: respx.MockRouter) -> None:
    refused = httpx.Response(401, json={"message": "iat"}, headers={"date": "Mon, 30 Nov 2026 12:00:00 GMT"})
    lookup = wire.get("/app/installations").mock(side_effect=[refused, httpx.Response(200, json=[])])
    assert await github.installations() == []
    assert abs(claims(lookup)["iat"] - 1_796_039_940) <= 2


async def test_one_key_refused_with_a_right_clock_is_not_tried_again(github: GitHub, wire: respx.MockRouter) -> None:
    lookup = wire.get("/app/installations").mock(return_value=BAD)
    with pytest.raises(Unauthorized):
        await github.installations()
    assert lookup.call_count == 1


async def test_of_two_live_keys_the_one_that_works_is_kept(
    wire: respx.MockRouter, clock: GitHubClock, app_key: str, second_key: str
) -> None:
    answers = [BAD, httpx.Response(200, json=[]), httpx.Response(200, json=[])]
    lookup = wire.get("/app/installations").mock(side_effect=answers)
    async with GitHub(
        111, [app_key, second_key], "https://api.github.com", clock, transport=httpx.MockTransport(wire.async_handler)
    ) as github:
        await github.installations()
        await github.installations()
    key = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256).prepare_key(second_key).public_key()  # type: ignore[union-attr]
    for bearer in authorizations(lookup)[1:]:
        jwt.decode(
            bearer.removeprefix("Bearer "),
            key,
            algorithms=["RS256"],
            options={"verify_exp": False, "verify_iat": False},
        )


async def test_a_refused_token_is_replaced_once(
    repository: Repository, wire: respx.MockRouter, tokens: respx.Route
) -> None:
    refs = wire.get(REFS).mock(side_effect=[BAD, httpx.Response(200, json=[])])
    assert await repository.matching_refs("heads/x") == []
    first, second = authorizations(refs)
    assert first.startswith("token ghs_1")
    assert second.startswith("token ghs_2")
    assert tokens.call_count == 2


async def test_a_refused_write_was_not_done_and_is_sent_with_the_new_token(
    repository: Repository, wire: respx.MockRouter
) -> None:
    done = httpx.Response(201, json={"id": 9, "body": "x", "created_at": "2026-11-30T12:00:00Z"})
    comments = wire.post(COMMENTS).mock(side_effect=[BAD, done])
    assert (await repository.create_comment(5, "x")).id == 9
    assert comments.call_count == 2


async def test_refused_twice_is_an_error(repository: Repository, wire: respx.MockRouter, tokens: respx.Route) -> None:
    refs = wire.get(REFS).mock(return_value=BAD)
    with pytest.raises(Unauthorized):
        await repository.matching_refs("heads/x")
    assert refs.call_count == 2
    assert tokens.call_count == 2


async def test_a_suspended_installation_is_told_apart_and_others_go_on(github: GitHub, wire: respx.MockRouter) -> None:
    message = {"message": "This installation has been suspended"}
    mint = wire.post("/app/installations/1/access_tokens").respond(403, json=message)
    expires = {"token": "ghs_2" + "x" * 30, "expires_at": "2040-01-01T00:00:00Z"}
    wire.post("/app/installations/2/access_tokens").respond(201, json=expires)
    wire.get("/installation/repositories").respond(json={"total_count": 0, "repositories": []})
    with pytest.raises(Suspended):
        await github.installation_repositories(1)
    assert await github.installation_repositories(2) == []
    assert mint.call_count == 1


async def test_an_uninstalled_app_is_looked_up_afresh(
    github: GitHub, repository: Repository, wire: respx.MockRouter, tokens: respx.Route, time_: Any
) -> None:
    time_.seconds += 4000
    tokens.mock(return_value=httpx.Response(404, json={"message": "Not Found"}))
    with pytest.raises(NotFound):
        await repository.matching_refs("heads/x")
    wire.get("/repos/octo-org/demo/installation").respond(404, json={"message": "Not Found"})
    with pytest.raises(NotFound):
        await github.repository("octo-org", "demo")


@pytest.mark.parametrize(
    "failure", [httpx.ConnectError("x"), httpx.ReadTimeout("x"), httpx.Response(502, text="<html>")]
)
async def test_a_write_without_a_token_was_never_sent(
    github: GitHub, repository: Repository, wire: respx.MockRouter, tokens: respx.Route, time_: Any, failure: Any
) -> None:
    time_.seconds += 4000
    comments = wire.post(COMMENTS)
    tokens.mock(side_effect=[failure] * 4)
    with pytest.raises(ServerError) as caught:
        await repository.create_comment(5, "x")
    assert not isinstance(caught.value, Unanswered)
    assert comments.call_count == 0
    assert tokens.call_count == 5


async def test_no_error_and_no_log_shows_a_secret(
    github: GitHub,
    repository: Repository,
    wire: respx.MockRouter,
    app_key: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    token = await github._tokens.get(7)
    said = repr(token)
    answers = [
        httpx.ReadError("boom " + token.value),
        httpx.Response(500),
        httpx.Response(422, json={"message": token.value}),
    ]
    wire.post(COMMENTS).mock(side_effect=answers)
    wire.get(REFS).mock(side_effect=httpx.ReadTimeout("late"))
    for attempt in ("post", "post", "post", "get"):
        with pytest.raises(GitHubError) as caught:
            await (repository.create_comment(5, "x") if attempt == "post" else repository.matching_refs("heads/x"))
        error: BaseException | None = caught.value
        said += "".join(traceback.format_exception(caught.value))
        while error is not None:
            said += f"{error!r} {vars(error)}"
            assert "authorization" not in str(getattr(error, "request", "")).lower()
            error = error.__cause__ or error.__context__
    said += caplog.text
    assert token.value not in said
    assert "PRIVATE KEY" not in said
    assert "eyJ" not in said
