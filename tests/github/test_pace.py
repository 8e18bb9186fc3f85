"""New content keeps below GitHub's limits; everything else does not wait for it."""

from typing import Any

import httpx
import pytest
import respx

from app.github.errors import RateLimited
from app.github.pace import CONTENT
from app.github.repository import Repository

COMMENTS = "/repos/octo-org/demo/issues/5/comments"
DONE = httpx.Response(201, json={"id": 9, "body": "x", "created_at": "2026-11-30T12:00:00Z"})
(MINUTE, A_MINUTE), (HOUR, AN_HOUR) = CONTENT


async def test_no_more_than_so_much_in_a_minute(repository: Repository, wire: respx.MockRouter, time_: Any) -> None:
    comments = wire.post(COMMENTS).mock(return_value=DONE)
    wire.patch("/repos/octo-org/demo/issues/comments/9").mock(return_value=DONE)
    for _ in range(A_MINUTE):
        await repository.create_comment(5, "x")
    with pytest.raises(RateLimited) as caught:
        await repository.create_comment(5, "x")
    assert comments.call_count == A_MINUTE
    assert 0 < caught.value.wait_s <= MINUTE
    # An edit tells nobody anything new.
    await repository.edit_comment(9, "y")
    time_.seconds += caught.value.wait_s - 3
    await repository.create_comment(5, "x")
    assert time_.slept[-1] == pytest.approx(3)


async def test_no_more_than_so_much_in_an_hour(repository: Repository, wire: respx.MockRouter, time_: Any) -> None:
    wire.post(COMMENTS).mock(return_value=DONE)
    for _ in range(AN_HOUR):
        await repository.create_comment(5, "x")
        time_.seconds += 2
    assert await repository.session.content_wait_s() == pytest.approx(HOUR - 2 * AN_HOUR)
    with pytest.raises(RateLimited):
        await repository.create_comment(5, "x")
    time_.seconds += HOUR - 2 * AN_HOUR
    assert await repository.session.content_wait_s() == 0
    await repository.create_comment(5, "x")
