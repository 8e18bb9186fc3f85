"""Pages of lists and their Link header."""

from __future__ import annotations

import re

import httpx
import pytest
from emulated import REPO, World

BASE = f"/repos/{REPO}"


@pytest.fixture
def issues(world: World) -> World:
    for n in range(1, 12):
        world.emulator.issue(REPO, f"Issue {n}")
    return world


def relations(answer: httpx.Response) -> dict[str, str]:
    """The pages a Link header names, in its order."""
    found = re.findall(r'[?&]page=(\d+)[^>]*>; rel="(\w+)"', answer.headers.get("link", ""))
    return {name: page for page, name in found}


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("", {"next": "2", "last": "3"}),
        ("1", {"next": "2", "last": "3"}),
        ("2", {"prev": "1", "next": "3", "last": "3", "first": "1"}),
        ("3", {"prev": "2", "first": "1"}),
        ("9", {"prev": "3", "first": "1"}),
    ],
)
def test_links(issues: World, page: str, expected: dict[str, str]) -> None:
    query = {"per_page": "5", "state": "all"} | ({"page": page} if page else {})
    answer = issues.bot.get(f"{BASE}/issues", params=query)
    assert list(relations(answer).items()) == list(expected.items())
    assert "state=all" in answer.headers["link"]
    assert "per_page=5" in answer.headers["link"]


def test_a_page_beyond_the_end_is_empty(issues: World) -> None:
    answer = issues.bot.get(f"{BASE}/issues?per_page=5&page=9")
    assert (answer.status_code, answer.json()) == (200, [])


def test_one_page_has_no_links(issues: World) -> None:
    assert "link" not in issues.bot.get(f"{BASE}/issues").headers
    assert "link" not in issues.bot.get(f"{BASE}/issues?per_page=11").headers


def test_page_sizes(world: World) -> None:
    for n in range(101):
        world.emulator.issue(REPO, f"Issue {n}")
    given = {"101": 100, "1000": 100, "0": 30, "-1": 30, "x": 30, "7": 7}
    assert {n: len(world.bot.get(f"{BASE}/issues?per_page={n}").json()) for n in given} == given


@pytest.mark.parametrize("page", ["0", "-3", "x"])
def test_a_senseless_page_is_the_first(issues: World, page: str) -> None:
    first = issues.bot.get(f"{BASE}/issues?per_page=2").json()
    assert issues.bot.get(f"{BASE}/issues?per_page=2&page={page}").json() == first


def test_wrapped_lists_say_how_many_there_are(world: World) -> None:
    sha = world.head("main")
    for n in range(3):
        world.bot.post(f"{BASE}/check-runs", json={"name": f"run {n}", "head_sha": sha})
    answer = world.bot.get(f"{BASE}/commits/{sha}/check-runs?per_page=2")
    assert (answer.json()["total_count"], len(answer.json()["check_runs"])) == (3, 2)
    assert list(relations(answer)) == ["next", "last"]


def test_walking_by_links_sees_everything_once(issues: World) -> None:
    seen: list[int] = []
    url: str | None = f"{issues.emulator.url}{BASE}/issues?per_page=4"
    while url is not None:
        answer = issues.bot.get(url)
        seen += [i["number"] for i in answer.json()]
        url = answer.links.get("next", {}).get("url")
    assert sorted(seen) == list(range(1, 12))
