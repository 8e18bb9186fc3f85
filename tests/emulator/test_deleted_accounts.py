"""People who deleted their accounts: what they wrote stays, and nobody wrote it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from emulated import REPO, World

BASE = f"/repos/{REPO}"
AUTHORS = """
query($n: Int!) {
  repository(owner: "octo", name: "demo") {
    issue(number: $n) { author { login } comments(first: 9) { nodes { body author { login } } } }
  }
}
"""


@pytest.fixture
def left(world: World) -> Any:
    """An Issue, a comment, a review and an assignment of somebody who left; their token."""
    gone = world.emulator.user("gone")
    world.emulator.change_repo(REPO, collaborators={"gone": "write"})
    issue = world.emulator.issue(REPO, "Theirs", author="gone", assignees=["gone", "dev"])["number"]
    world.emulator.comment(REPO, issue, "gone", "words")
    pull = world.open_pull()["number"]
    with httpx.Client(
        base_url=world.emulator.url, headers={"authorization": f"Bearer {gone['token']}"}, trust_env=False
    ) as own:
        sent = own.post(f"{BASE}/pulls/{pull}/reviews", json={"event": "APPROVE"})
        assert sent.status_code == 200
        world.emulator.delete_user("gone")
        refused = own.get(BASE)
    return issue, pull, refused


def test_what_they_wrote_is_a_ghosts_and_their_reviews_are_nobodys(world: World, left: Any) -> None:
    issue, pull, _ = left
    shown = world.dev.get(f"{BASE}/issues/{issue}").json()
    assert (shown["user"]["login"], shown["user"]["id"]) == ("ghost", 10137)
    assert [a["login"] for a in shown["assignees"]] == ["dev"]
    (comment,) = world.dev.get(f"{BASE}/issues/{issue}/comments").json()
    assert (comment["user"]["login"], comment["body"]) == ("ghost", "words")
    (review,) = world.dev.get(f"{BASE}/pulls/{pull}/reviews").json()
    assert (review["user"], review["state"]) == (None, "APPROVED")


def test_graphql_names_no_author(world: World, left: Any) -> None:
    found = world.graphql(AUTHORS, n=left[0])["data"]["repository"]["issue"]
    assert found["author"] is None
    assert found["comments"]["nodes"] == [{"body": "words", "author": None}]


def test_they_may_nothing_any_more_and_the_name_is_free(world: World, left: Any) -> None:
    assert left[2].status_code == 401
    assert world.dev.get("/users/gone").status_code == 404
    role = world.dev.get(f"{BASE}/collaborators/gone/permission")
    assert role.status_code == 404
    world.emulator.user("gone")
    assert world.dev.get(f"{BASE}/issues/{left[0]}").json()["user"]["login"] == "ghost"


def test_who_owns_repositories_stays(world: World) -> None:
    world.emulator.user("owner")
    world.emulator.repo("owner", "own")
    for login, status in (("owner", 422), ("octo", 422), ("nobody", 404)):
        url = f"{world.emulator.url}/_emulator/users/{login}"
        assert httpx.delete(url).status_code == status
