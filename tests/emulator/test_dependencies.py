"""Dependencies between Issues by REST and GraphQL: links, summary, refusals, events."""

from __future__ import annotations

from typing import Any

import pytest
from emulated import REPO, World
from issue_world import listener

FAILED = "An error occurred while adding the blocking issue to the issue. Validation failed: "


class Links:
    def __init__(self, world: World) -> None:
        self.app = listener(world)
        self.issues = {name: world.emulator.issue(REPO, name) for name in "ABC"}

    def url(self, name: str, tail: str) -> str:
        return f"/repos/{REPO}/issues/{self.issues[name]['number']}/dependencies/{tail}"

    def block(self, name: str, blocker: str) -> Any:
        return self.app.client.post(self.url(name, "blocked_by"), json={"issue_id": self.issues[blocker]["id"]})

    def listed(self, name: str, side: str = "blocked_by") -> list[str]:
        return [i["title"] for i in self.app.client.get(self.url(name, side)).json()]

    def issue(self, name: str) -> dict[str, Any]:
        return dict(self.app.client.get(f"/repos/{REPO}/issues/{self.issues[name]['number']}").json())


@pytest.fixture
def links(world: World) -> Links:
    return Links(world)


def test_both_sides_are_listed_and_counted_and_closed_blockers_no_longer_block(links: Links) -> None:
    made = links.block("A", "B")
    assert (made.status_code, made.json()["title"]) == (201, "A")
    links.block("A", "C")
    assert (links.listed("A"), links.listed("B", "blocking")) == (["B", "C"], ["A"])
    links.app.client.patch(f"/repos/{REPO}/issues/{links.issues['B']['number']}", json={"state": "closed"})
    assert links.issue("A")["issue_dependencies_summary"] == {
        "blocked_by": 1,
        "blocking": 0,
        "total_blocked_by": 2,
        "total_blocking": 0,
    }
    assert links.issue("C")["issue_dependencies_summary"]["blocking"] == 1


def test_a_self_edge_a_repetition_and_a_direct_circle_are_refused(links: Links) -> None:
    links.block("A", "B")
    for name, blocker, message in [
        ("A", "A", "Target issue cannot be the same as the source issue"),
        ("A", "B", "Target issue has already been taken"),
        ("B", "A", "this dependency would create a cycle where the target is already blocked by the source"),
    ]:
        refused = links.block(name, blocker)
        assert (refused.status_code, refused.json()["message"]) == (422, FAILED + message)


def test_a_longer_circle_is_accepted(links: Links) -> None:
    assert [links.block(*edge).status_code for edge in ("AB", "BC", "CA")] == [201, 201, 201]


def test_a_pull_request_is_no_blocker_and_numbers_are_no_ids(world: World, links: Links) -> None:
    pull = world.open_pull()
    as_issue = world.bot.get(f"/repos/{REPO}/issues/{pull['number']}").json()
    refused = links.app.client.post(links.url("A", "blocked_by"), json={"issue_id": as_issue["id"]})
    assert refused.json()["message"] == FAILED + "Target issue may only be an issue"
    unknown = links.app.client.post(links.url("A", "blocked_by"), json={"issue_id": links.issues["B"]["number"]})
    assert unknown.status_code == 404


def test_removal_succeeds_twice_and_moves_no_time(world: World, links: Links) -> None:
    before = links.issue("A")["updated_at"]
    world.emulator.advance(60)
    links.block("A", "B")
    url = links.url("A", f"blocked_by/{links.issues['B']['id']}")
    assert [links.app.client.delete(url).status_code for _ in range(2)] == [200, 200]
    assert links.listed("A") == []
    assert links.issue("A")["updated_at"] == before


def test_both_ends_hear_of_it(links: Links) -> None:
    links.block("A", "B")
    links.app.client.delete(links.url("A", f"blocked_by/{links.issues['B']['id']}"))
    told = links.app.heard("issue_dependencies")
    assert [p["action"] for p in told] == [
        "blocked_by_added",
        "blocking_added",
        "blocked_by_removed",
        "blocking_removed",
    ]
    assert (told[0]["blocked_issue"]["title"], told[0]["blocking_issue_id"]) == ("A", links.issues["B"]["id"])
    assert told[0]["blocking_issue_repo"]["full_name"] == told[1]["blocked_issue_repo"]["full_name"] == REPO


def test_graphql_links_with_the_same_refusals(links: Links) -> None:
    edge = """mutation($i:ID!,$b:ID!){%s(input:{issueId:$i,blockingIssueId:$b}){issue{
      blockedBy(first:5){nodes{title}}} blockingIssue{blocking(first:5){totalCount}}}}"""
    args = {"i": links.issues["A"]["node_id"], "b": links.issues["B"]["node_id"]}
    added = links.app.graphql(edge % "addBlockedBy", **args)["data"]["addBlockedBy"]
    assert added == {
        "issue": {"blockedBy": {"nodes": [{"title": "B"}]}},
        "blockingIssue": {"blocking": {"totalCount": 1}},
    }
    again = links.app.graphql(edge % "addBlockedBy", **args)["errors"][0]
    assert (again["type"], again["message"]) == ("VALIDATION", FAILED + "Target issue has already been taken")
    removed = links.app.graphql(edge % "removeBlockedBy", **args)["data"]["removeBlockedBy"]
    assert removed["issue"]["blockedBy"]["nodes"] == []


def test_fifty_are_the_most(world: World, links: Links) -> None:
    made = [world.emulator.issue(REPO, str(n))["node_id"] for n in range(51)]
    issue = links.issues["A"]["node_id"]
    calls = " ".join(
        f's{n}:addBlockedBy(input:{{issueId:"{issue}",blockingIssueId:"{node}"}}){{clientMutationId}}'
        for n, node in enumerate(made)
    )
    answer = world.graphql(f"mutation{{{calls}}}")
    assert [e["path"] for e in answer["errors"]] == [["s50"]]
