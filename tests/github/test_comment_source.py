"""Comments read again: what stands, who wrote it, through which App, and what was changed since."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from delivery_world import NAME, DeliveryWorld

from app.domain.source_comment import CommentGone, SourceComment

COMMENTS = f"/repos/{NAME}/issues/comments"
LAND = "/recovery land"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[DeliveryWorld]:
    async with DeliveryWorld(tmp_path) as made:
        await made.emulated.control("POST", "/issues", repo=NAME, title="T")
        yield made


async def say(client: Any, body: str = LAND, number: int = 1) -> dict[str, Any]:
    answer = await client.post(f"/repos/{NAME}/issues/{number}/comments", json={"body": body})
    found: dict[str, Any] = answer.raise_for_status().json()
    return found


async def test_a_persons_own_comment(world: DeliveryWorld) -> None:
    made = await say(world.wanda)
    seen = await world.repository.source_comment(made["id"])
    assert isinstance(seen, SourceComment)
    assert (seen.number, seen.body, seen.edited, seen.via_app) == (1, LAND, False, None)
    assert (seen.node_id, seen.url) == (made["node_id"], made["html_url"])
    assert seen.author is not None
    assert (seen.author.login, seen.author.id, seen.author.kind) == ("wanda", made["user"]["id"], "User")
    assert seen.is_a_persons_own()


async def test_an_edit_shows_whoever_made_it_also_one_that_was_taken_back(world: DeliveryWorld) -> None:
    made = await say(world.wanda, "hello")
    await world.boss.patch(f"{COMMENTS}/{made['id']}", json={"body": LAND})
    seen = await world.repository.source_comment(made["id"])
    assert isinstance(seen, SourceComment)
    assert seen.author is not None
    assert (seen.author.login, seen.body, seen.edited) == ("wanda", LAND, True)
    await world.wanda.patch(f"{COMMENTS}/{made['id']}", json={"body": "hello"})
    again = await world.repository.source_comment(made["id"])
    assert isinstance(again, SourceComment)
    assert (again.body, again.edited, again.is_a_persons_own()) == ("hello", True, False)


async def test_a_comment_through_an_app_names_the_app(world: DeliveryWorld) -> None:
    await world.emulated.control("POST", "/apps", slug="helper", permissions={"issues": "write"}, events=[])
    await world.emulated.control("POST", "/installations", app="helper", account="acme", repositories="all")
    token = await world.emulated.control("POST", "/tokens", user="boss", kind="user_to_server", app="helper")
    async with world.emulated.client(token["token"]) as helper:
        made = await say(helper)
    seen = await world.repository.source_comment(made["id"])
    assert isinstance(seen, SourceComment)
    assert seen.author is not None
    assert (seen.author.login, seen.author.kind) == ("boss", "User")
    assert seen.via_app == made["performed_via_github_app"]["id"]
    assert not seen.is_a_persons_own()
    ours = await world.repository.source_comment((await world.repository.create_comment(1, "heard")).id)
    assert isinstance(ours, SourceComment)
    assert ours.author is not None
    assert (ours.author.kind, ours.via_app) == ("Bot", world.app["id"])


async def test_what_is_gone_is_gone(world: DeliveryWorld) -> None:
    first, second, third = [(await say(world.wanda))["id"] for _ in range(3)]
    await world.wanda.delete(f"{COMMENTS}/{second}")
    assert await world.repository.source_comment(second) == CommentGone(second)
    before = world.sent()
    found = await world.repository.source_comments([first, second, third, first])
    assert [type(found[id]) for id in (first, second, third)] == [SourceComment, CommentGone, SourceComment]
    assert world.sent() - before == 4


async def test_a_comment_that_goes_between_the_two_looks_is_gone(world: DeliveryWorld) -> None:
    kept, lost = [await say(world.wanda) for _ in range(2)]
    shapes = [(await world.wanda.get(f"{COMMENTS}/{one['id']}")).json() for one in (kept, lost)]
    await world.wanda.delete(f"{COMMENTS}/{lost['id']}")
    edits = await world.repository._edits([shape["node_id"] for shape in shapes])
    assert edits.keys() == {kept["node_id"]}


async def test_the_sweep_reads_every_page_and_asks_for_edits_only_where_something_was_said(
    world: DeliveryWorld,
) -> None:
    control = world.emulated.control
    await control("POST", "/comments", repo=NAME, number=1, author="wanda", body="/recovery hold long ago")
    await control("POST", "/clock", advance_s=100 * 3600)
    await world.repository.whereabouts(1)  # from whose answer the App knows what GitHub's clock says
    start = world.github.clock.now()
    for number in range(205):
        body = f"/recovery status {number}" if number % 4 == 0 else "fine"
        await control("POST", "/comments", repo=NAME, number=1, author="wanda", body=body)
    changed = await say(world.wanda, "fine")
    await world.wanda.patch(f"{COMMENTS}/{changed['id']}", json={"body": "/recovery land"})
    before = world.sent()
    found = await world.repository.comments_since(start - timedelta(hours=72), lambda text: "/recovery" in text)
    assert [comment.body for comment in found[:-1]] == [f"/recovery status {n}" for n in range(0, 205, 4)]
    assert (found[-1].id, found[-1].edited) == (changed["id"], True)
    assert not any(comment.edited for comment in found[:-1])
    assert world.sent() - before == 3 + 1
    everything = await world.repository.comments_since(start - timedelta(hours=200), lambda text: True)
    assert len(everything) == 207
