"""Sub-issues by REST and GraphQL: links, order, limits, refusals, events."""

from __future__ import annotations

from typing import Any

import pytest
from emulated import REPO, World
from issue_world import Listener, listener

FAILED = "An error occurred while adding the sub-issue to the parent issue. "
ADD = """mutation($p:ID!,$c:ID,$u:String,$r:Boolean){addSubIssue(input:{issueId:$p,subIssueId:$c,subIssueUrl:$u,
  replaceParent:$r}){issue{number subIssuesSummary{total completed percentCompleted}} subIssue{parent{number}}}}"""


class Tree:
    def __init__(self, world: World, names: str) -> None:
        self.world = world
        self.app: Listener = listener(world)
        self.issues = {name: world.emulator.issue(REPO, name) for name in names}

    def url(self, name: str, tail: str = "sub_issues") -> str:
        return f"/repos/{REPO}/issues/{self.issues[name]['number']}/{tail}"

    def add(self, parent: str, child: str, **more: Any) -> Any:
        return self.app.client.post(self.url(parent), json={"sub_issue_id": self.issues[child]["id"]} | more)

    def children(self, parent: str) -> list[str]:
        return [i["title"] for i in self.app.client.get(self.url(parent)).json()]


@pytest.fixture
def tree(world: World) -> Tree:
    return Tree(world, "PABCQ")


def test_children_are_listed_in_order_with_a_summary(tree: Tree) -> None:
    for child in "ABC":
        made = tree.add("P", child)
        assert (made.status_code, made.json()["title"]) == (201, "P")
    assert tree.children("P") == ["A", "B", "C"]
    tree.app.client.patch(tree.url("A", ""), json={"state": "closed"})
    tree.app.client.patch(f"/repos/{REPO}/issues/{tree.issues['A']['number']}", json={"state": "closed"})
    parent = tree.app.client.get(f"/repos/{REPO}/issues/{tree.issues['P']['number']}").json()
    assert parent["sub_issues_summary"] == {"total": 3, "completed": 1, "percent_completed": 33}
    above = tree.app.client.get(tree.url("B", "parent")).json()
    assert above["title"] == "P"
    assert above["repository"]["full_name"] == REPO
    child = tree.app.client.get(f"/repos/{REPO}/issues/{tree.issues['B']['number']}").json()
    assert child["parent_issue_url"].endswith(f"/issues/{parent['number']}")
    assert tree.app.client.get(tree.url("P", "parent")).status_code == 404


def test_numbers_are_not_ids(tree: Tree) -> None:
    refused = tree.app.client.post(tree.url("P"), json={"sub_issue_id": tree.issues["A"]["number"]})
    assert (refused.status_code, refused.json()["message"]) == (404, "The provided sub-issue does not exist")
    text = tree.app.client.post(tree.url("P"), json={"sub_issue_id": str(tree.issues["A"]["id"])})
    assert text.status_code == 422


def test_a_second_parent_a_repetition_a_self_and_a_circle_are_refused(tree: Tree) -> None:
    tree.add("P", "A")
    tree.add("A", "B")

    def message(parent: str, child: str) -> str:
        refused = tree.add(parent, child)
        assert refused.status_code == 422
        return str(refused.json()["message"]).removeprefix(FAILED)

    assert message("P", "A") == "Issue may not contain duplicate sub-issues and Sub issue may only have one parent"
    assert message("Q", "A") == "Sub issue may only have one parent"
    assert message("P", "P") == "Sub issue cannot be the same as the parent issue"
    assert message("B", "P") == "An Issue cannot stand below itself"
    assert tree.children("Q") == []


def test_a_parent_is_replaced_on_request(tree: Tree) -> None:
    tree.add("P", "A")
    assert tree.add("Q", "A", replace_parent=True).status_code == 201
    assert (tree.children("P"), tree.children("Q")) == ([], ["A"])


def test_a_hundred_are_the_most_closed_ones_included(world: World, tree: Tree) -> None:
    world.emulator.rate("app:planner", 10_000)
    parent = tree.issues["P"]["node_id"]
    for start in range(0, 100, 20):
        made = [world.emulator.issue(REPO, f"{start + n}") for n in range(20)]
        calls = " ".join(
            f's{n}:addSubIssue(input:{{issueId:"{parent}",subIssueId:"{i["node_id"]}"}}){{clientMutationId}}'
            for n, i in enumerate(made)
        )
        assert "errors" not in world.graphql(f"mutation{{{calls}}}")
        last = made[-1]
    world.bot.patch(f"/repos/{REPO}/issues/{last['number']}", json={"state": "closed"})
    refused = tree.add("P", "A")
    assert refused.status_code == 422
    assert refused.json()["message"] == FAILED + "Parent cannot have more than 100 sub-issues"


def test_seven_layers_are_the_most(world: World) -> None:
    tree = Tree(world, "12345678X")
    for above, below in zip("1234567", "2345678", strict=True):
        assert tree.add(above, below).status_code == 201, (above, below)
    refused = tree.add("8", "X")
    assert refused.status_code == 422
    assert "Sub-issues stand at most 7 layers deep" in refused.json()["message"]
    assert tree.add("7", "X").status_code == 201


def test_another_repository_of_the_owner_will_do_another_owner_not(world: World, tree: Tree) -> None:
    world.emulator.repo("octo", "second")
    near = world.emulator.issue("octo/second", "Near")
    world.emulator.repo("dev", "far")
    far = world.emulator.issue("dev/far", "Far")
    assert tree.app.client.post(tree.url("P"), json={"sub_issue_id": near["id"]}).status_code == 201
    refused = world.dev.post(tree.url("P"), json={"sub_issue_id": far["id"]})
    assert refused.status_code == 422
    assert refused.json()["message"] == FAILED + "A sub-issue belongs to the owner of its parent"


def test_a_pull_request_is_no_part_of_an_issue(world: World, tree: Tree) -> None:
    pull = world.open_pull()
    as_issue = world.bot.get(f"/repos/{REPO}/issues/{pull['number']}").json()["id"]
    refused = tree.app.client.post(tree.url("P"), json={"sub_issue_id": as_issue})
    assert (refused.status_code, refused.json()["message"]) == (404, "The provided sub-issue does not exist")
    answer = tree.app.graphql(ADD, p=tree.issues["P"]["node_id"], c=pull["node_id"])
    assert answer["errors"][0]["type"] == "NOT_FOUND"
    assert tree.children("P") == []


LINKS = """query($i:ID!){node(id:$i){... on Issue{parent{title} subIssues(first:3){totalCount nodes{title}}
  blockedBy(first:3){totalCount nodes{title}} blocking(first:3){totalCount}
  timelineItems(first:9){totalCount nodes{__typename}}}}}"""


def test_what_is_hidden_is_named_to_nobody_who_may_not_see_it(world: World, tree: Tree) -> None:
    world.emulator.repo("octo", "secret", private=True)
    hidden = [world.emulator.issue("octo/secret", f"H{n}", body=f"see {REPO}#1") for n in range(4)]
    one = f"/repos/{REPO}/issues/{tree.issues['P']['number']}"
    inside = "/repos/octo/secret/issues"
    for url, body in (
        (f"{one}/sub_issues", {"sub_issue_id": hidden[0]["id"]}),
        (f"{inside}/2/sub_issues", {"sub_issue_id": tree.issues["P"]["id"]}),
        (f"{one}/dependencies/blocked_by", {"issue_id": hidden[2]["id"]}),
        (f"{inside}/4/dependencies/blocked_by", {"issue_id": tree.issues["P"]["id"]}),
    ):
        assert tree.app.client.post(url, json=body).status_code == 201
    node = tree.issues["P"]["node_id"]
    known = tree.app.graphql(LINKS, i=node)["data"]["node"]
    assert (known["parent"], known["subIssues"]["nodes"]) == ({"title": "H1"}, [{"title": "H0"}])
    # Four references and four links; GraphQL's schema here has no entries for the links between blockers.
    assert (known["timelineItems"]["totalCount"], len(tree.app.client.get(f"{one}/timeline").json())) == (6, 8)
    nothing = {"totalCount": 0, "nodes": []}
    seen = world.graphql(LINKS, world.dev, i=node)["data"]["node"]
    assert seen == {
        "parent": None,
        "subIssues": nothing,
        "blockedBy": nothing,
        "blocking": {"totalCount": 0},
        "timelineItems": nothing,
    }
    for path in ("timeline", "events", "sub_issues", "dependencies/blocked_by", "dependencies/blocking"):
        assert world.dev.get(f"{one}/{path}").json() == []
    assert world.dev.get(f"{one}/parent").status_code == 404
    assert world.dev.get(f"/repos/{REPO}/issues/events").json() == []


def test_order_is_changed_by_a_neighbour(tree: Tree) -> None:
    for child in "ABC":
        tree.add("P", child)
    ids = {name: issue["id"] for name, issue in tree.issues.items()}
    url = tree.url("P", "sub_issues/priority")
    assert tree.app.client.patch(url, json={"sub_issue_id": ids["C"], "before_id": ids["A"]}).status_code == 200
    assert tree.children("P") == ["C", "A", "B"]
    tree.app.client.patch(url, json={"sub_issue_id": ids["C"], "after_id": ids["A"]})
    assert tree.children("P") == ["A", "C", "B"]
    assert tree.app.client.patch(url, json={"sub_issue_id": ids["C"]}).status_code == 422
    assert tree.app.client.patch(url, json={"sub_issue_id": ids["C"], "after_id": ids["Q"]}).status_code == 422
    assert tree.app.client.patch(url, json={"sub_issue_id": ids["Q"], "after_id": ids["A"]}).status_code == 404


def test_removal_has_its_own_path(tree: Tree) -> None:
    tree.add("P", "A")
    body = {"sub_issue_id": tree.issues["A"]["id"]}
    plural = tree.app.client.request("DELETE", tree.url("P"), json=body)
    assert plural.status_code == 501
    assert tree.app.client.request("DELETE", tree.url("P", "sub_issue"), json=body).status_code == 200
    assert tree.children("P") == []
    assert tree.app.client.request("DELETE", tree.url("P", "sub_issue"), json=body).status_code == 404


def test_both_ends_hear_of_it_and_remember_it(world: World, tree: Tree) -> None:
    tree.add("P", "A")
    tree.app.client.request("DELETE", tree.url("P", "sub_issue"), json={"sub_issue_id": tree.issues["A"]["id"]})
    told = tree.app.heard("sub_issues")
    assert [p["action"] for p in told] == [
        "sub_issue_added",
        "parent_issue_added",
        "sub_issue_removed",
        "parent_issue_removed",
    ]
    assert told[0]["sub_issue_id"] == tree.issues["A"]["id"]
    assert told[0]["parent_issue"]["title"] == "P"
    assert told[0]["sub_issue_repo"]["full_name"] == told[1]["parent_issue_repo"]["full_name"] == REPO
    assert world.timeline(tree.issues["P"]["number"]) == ["sub_issue_added", "sub_issue_removed"]
    assert world.timeline(tree.issues["A"]["number"]) == ["parent_issue_added", "parent_issue_removed"]


def test_graphql_does_the_same_with_its_own_refusals(world: World, tree: Tree) -> None:
    ids = {name: issue["node_id"] for name, issue in tree.issues.items()}
    added = tree.app.graphql(ADD, p=ids["P"], c=ids["A"])["data"]["addSubIssue"]
    assert added["issue"]["subIssuesSummary"] == {"total": 1, "completed": 0, "percentCompleted": 0}
    assert added["subIssue"]["parent"] == {"number": tree.issues["P"]["number"]}
    by_url = f"{world.emulator.url}/{REPO}/issues/{tree.issues['B']['number']}"
    assert "errors" not in tree.app.graphql(ADD, p=ids["P"], u=by_url)
    again = tree.app.graphql(ADD, p=ids["Q"], c=ids["A"])["errors"][0]
    assert (again["type"], again["message"]) == ("VALIDATION", FAILED + "Sub issue may only have one parent")
    assert "errors" not in tree.app.graphql(ADD, p=ids["Q"], c=ids["A"], r=True)
    move = "mutation($p:ID!,$c:ID!%s){%s(input:{issueId:$p,subIssueId:$c%s}){issue{subIssues(first:5){nodes{title}}}}}"
    tree.app.graphql(ADD, p=ids["P"], c=ids["C"])
    moved = tree.app.graphql(
        move % (",$b:ID", "reprioritizeSubIssue", ",beforeId:$b"), p=ids["P"], c=ids["C"], b=ids["B"]
    )
    assert [n["title"] for n in moved["data"]["reprioritizeSubIssue"]["issue"]["subIssues"]["nodes"]] == ["C", "B"]
    gone = tree.app.graphql(move % ("", "removeSubIssue", ""), p=ids["P"], c=ids["C"])
    assert [n["title"] for n in gone["data"]["removeSubIssue"]["issue"]["subIssues"]["nodes"]] == ["B"]


def test_reading_issues_is_not_linking_them(world: World, tree: Tree) -> None:
    reading = listener(world, "reading", {"issues": "read"})
    refused = reading.client.post(tree.url("P"), json={"sub_issue_id": tree.issues["A"]["id"]})
    assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")
    assert world.reader.post(tree.url("P"), json={"sub_issue_id": tree.issues["A"]["id"]}).status_code == 403
    assert reading.client.get(tree.url("P")).json() == []
