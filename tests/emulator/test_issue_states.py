"""Issues: opening, editing, closing with reasons, what they are closed by, and what their timelines tell."""

from __future__ import annotations

from typing import Any

import pytest
from emulated import REPO, World
from issue_world import Listener, listener

BASE = f"/repos/{REPO}"
CLOSED = """query($i:ID!){node(id:$i){... on Issue{state stateReason
  closedByPullRequestsReferences(first:5,includeClosedPrs:true){nodes{number}}
  timelineItems(first:20,itemTypes:[CLOSED_EVENT,CROSS_REFERENCED_EVENT,CONNECTED_EVENT]){nodes{__typename
    ... on ClosedEvent{stateReason closer{... on PullRequest{number} ... on Commit{oid}}}
    ... on CrossReferencedEvent{willCloseTarget source{... on PullRequest{number}}}
    ... on ConnectedEvent{subject{... on PullRequest{number}} source{... on Issue{number}}}}}}}}"""
LINKED = """query($i:ID!){node(id:$i){... on PullRequest{closingIssuesReferences(first:5){nodes{number}}}}}"""


@pytest.fixture
def app(world: World) -> Listener:
    return listener(world)


def state_of(world: World, number: int) -> tuple[str, str | None]:
    shown = world.bot.get(f"{BASE}/issues/{number}").json()
    return shown["state"], shown["state_reason"]


def linked(world: World, pull: dict[str, Any]) -> list[int]:
    nodes = world.graphql(LINKED, i=pull["node_id"])["data"]["node"]["closingIssuesReferences"]["nodes"]
    return [n["number"] for n in nodes]


@pytest.mark.parametrize("reason", ["completed", "not_planned", "duplicate"])
def test_a_reason_is_kept_and_ignored_unless_the_state_changes(world: World, app: Listener, reason: str) -> None:
    number = world.emulator.issue(REPO, "One")["number"]
    url = f"{BASE}/issues/{number}"
    app.client.patch(url, json={"state": "closed", "state_reason": reason})
    assert state_of(world, number) == ("closed", reason)
    app.client.patch(url, json={"state": "closed", "state_reason": "completed"})
    assert state_of(world, number) == ("closed", reason)
    app.client.patch(url, json={"state": "open"})
    assert state_of(world, number) == ("open", "reopened")
    assert [p["action"] for p in app.heard("issues")] == ["opened", "closed", "reopened"]


@pytest.mark.parametrize("body", [{"state": "done"}, {"state": "closed", "state_reason": "bored"}, {"title": " "}])
def test_an_unfit_change_is_refused(world: World, body: dict[str, Any]) -> None:
    number = world.emulator.issue(REPO, "One")["number"]
    assert world.bot.patch(f"{BASE}/issues/{number}", json=body).status_code == 422
    assert state_of(world, number)[0] == "open"


def test_titles_have_a_limit(world: World) -> None:
    assert world.bot.post(f"{BASE}/issues", json={"title": "x" * 256}).status_code == 201
    refused = world.bot.post(f"{BASE}/issues", json={"title": "x" * 257})
    assert refused.json()["errors"][0]["message"] == "title is too long (maximum is 256 characters)"


def test_graphql_opens_changes_and_closes(world: World, app: Listener) -> None:
    label = world.bot.get(f"{BASE}/labels/bug").json()["node_id"]
    dev = world.bot.get("/users/dev").json()["node_id"]
    parent = world.emulator.issue(REPO, "Parent")
    made = app.graphql(
        """mutation($i:CreateIssueInput!){createIssue(input:$i){issue{id number title parent{number} author{login}
          labels(first:3){nodes{name}} assignees(first:3){nodes{login}}}}}""",
        i={
            "repositoryId": world.repo["node_id"],
            "title": "One",
            "body": "b",
            "labelIds": [label],
            "assigneeIds": [dev],
            "parentIssueId": parent["node_id"],
        },
    )["data"]["createIssue"]["issue"]
    assert (made["author"]["login"], made["parent"]["number"]) == ("planner", parent["number"])
    assert (made["labels"]["nodes"], made["assignees"]["nodes"]) == ([{"name": "bug"}], [{"login": "dev"}])
    changed = app.graphql(
        """mutation($i:UpdateIssueInput!){updateIssue(input:$i){issue{title body state labels(first:3){totalCount}
          userContentEdits(first:5){nodes{diff}}}}}""",
        i={"id": made["id"], "title": "Two", "body": "c", "labelIds": [], "state": "CLOSED"},
    )["data"]["updateIssue"]["issue"]
    assert (changed["title"], changed["body"], changed["state"]) == ("Two", "c", "CLOSED")
    assert changed["labels"] == {"totalCount": 0}
    assert [e["diff"] for e in changed["userContentEdits"]["nodes"]] == ["c", "b"]
    edited = app.heard("issues", "edited")[0]["changes"]
    assert edited == {"title": {"from": "One"}, "body": {"from": "b"}}
    empty = app.graphql(
        "mutation($i:CreateIssueInput!){createIssue(input:$i){issue{id}}}",
        i={"repositoryId": world.repo["node_id"], "title": ""},
    )
    assert empty["errors"][0]["type"] == "UNPROCESSABLE"


def test_a_duplicate_is_closed_with_its_original(world: World, app: Listener) -> None:
    first, second = (world.emulator.issue(REPO, t) for t in ("One", "Two"))
    answer = app.graphql(
        """mutation($i:ID!,$d:ID!){closeIssue(input:{issueId:$i,stateReason:DUPLICATE,duplicateIssueId:$d}){
          issue{stateReason timelineItems(first:5,itemTypes:[MARKED_AS_DUPLICATE_EVENT]){nodes{
            ... on MarkedAsDuplicateEvent{canonical{... on Issue{number}}}}}}}}""",
        i=second["node_id"],
        d=first["node_id"],
    )["data"]["closeIssue"]["issue"]
    assert answer["stateReason"] == "DUPLICATE"
    assert answer["timelineItems"]["nodes"] == [{"canonical": {"number": first["number"]}}]


def test_a_pull_request_is_no_issue_to_graphql(world: World, app: Listener) -> None:
    pull = world.open_pull()
    refused = app.graphql("mutation($i:ID!){closeIssue(input:{issueId:$i}){issue{id}}}", i=pull["node_id"])
    assert refused["errors"][0]["type"] == "NOT_FOUND"


# Closing words


@pytest.mark.parametrize("word", ["Closes", "fixed", "RESOLVES:"])
def test_a_merge_into_the_default_branch_closes_what_the_body_names(world: World, app: Listener, word: str) -> None:
    issue = world.emulator.issue(REPO, "One")
    pull = world.open_pull(base="main", body=f"{word} #{issue['number']}, not `fixes #99`")
    assert linked(world, pull) == [issue["number"]]
    assert app.client.put(f"{BASE}/pulls/{pull['number']}/merge").status_code == 200
    assert state_of(world, issue["number"]) == ("closed", "completed")
    shown = world.graphql(CLOSED, i=issue["node_id"])["data"]["node"]
    assert shown["closedByPullRequestsReferences"]["nodes"] == [{"number": pull["number"]}]
    kinds = {n["__typename"]: n for n in shown["timelineItems"]["nodes"]}
    assert kinds["ClosedEvent"]["closer"] == {"number": pull["number"]}
    assert kinds["CrossReferencedEvent"]["willCloseTarget"] is True
    assert [p["sender"]["login"] for p in app.heard("issues", "closed")] == ["planner[bot]"]


def test_off_the_default_branch_closing_words_are_ignored(world: World, app: Listener) -> None:
    issue = world.emulator.issue(REPO, "One")
    pull = world.open_pull(base="release-1", body=f"Closes #{issue['number']}")
    assert linked(world, pull) == []
    assert app.client.put(f"{BASE}/pulls/{pull['number']}/merge").status_code == 200
    assert state_of(world, issue["number"])[0] == "open"
    shown = world.graphql(CLOSED, i=issue["node_id"])["data"]["node"]
    assert shown["closedByPullRequestsReferences"]["nodes"] == []
    assert [n["willCloseTarget"] for n in shown["timelineItems"]["nodes"]] == [False]


@pytest.mark.parametrize(
    "body", ["Ticket: #{n}", "See #{n}", "<!-- closes #{n} -->", "`closes #{n}`", "discloses #{n}"]
)
def test_other_words_link_nothing(world: World, body: str) -> None:
    issue = world.emulator.issue(REPO, "One")
    pull = world.open_pull(base="main", body=body.format(n=issue["number"]))
    assert linked(world, pull) == []


def test_a_commit_that_reaches_the_default_branch_closes_too(world: World, app: Listener) -> None:
    issue = world.emulator.issue(REPO, "One")
    message = f"Mend it\n\nFixes #{issue['number']}"
    world.emulator.commit(REPO, {"x": "1"}, branch="release-1", message=message)
    assert state_of(world, issue["number"])[0] == "open"
    sha = world.emulator.commit(REPO, {"x": "1"}, branch="main", message=message, author="dev")
    assert state_of(world, issue["number"]) == ("closed", "completed")
    closed = [e for e in world.bot.get(f"{BASE}/issues/{issue['number']}/timeline").json() if e["event"] == "closed"]
    assert (closed[0]["commit_id"], closed[0]["actor"]["login"]) == (sha, "dev")


# Linked branches


def test_a_linked_branch_connects_the_pull_request_that_comes_from_it(world: World, app: Listener) -> None:
    issue = world.emulator.issue(REPO, "Mend the door")
    link = """mutation($i:ID!,$o:GitObjectID!,$n:String){createLinkedBranch(input:{issueId:$i,oid:$o,name:$n}){
      linkedBranch{id ref{name}} issue{linkedBranches(first:5){nodes{ref{name}}}}}}"""
    made = app.graphql(link, i=issue["node_id"], o=world.head("42-x"))["data"]["createLinkedBranch"]
    name = f"{issue['number']}-mend-the-door"
    assert made["linkedBranch"]["ref"] == {"name": name}
    assert made["issue"]["linkedBranches"]["nodes"] == [{"ref": {"name": name}}]
    taken = app.graphql(link, i=issue["node_id"], o=world.head("42-x"), n=name)
    assert taken["data"]["createLinkedBranch"]["linkedBranch"] is None
    pull = world.open_pull(head=name, base="main")
    assert linked(world, pull) == [issue["number"]]
    nodes = world.graphql(CLOSED, i=issue["node_id"])["data"]["node"]["timelineItems"]["nodes"]
    assert {
        "__typename": "ConnectedEvent",
        "subject": {"number": pull["number"]},
        "source": {"number": issue["number"]},
    } in nodes
    unlink = (
        "mutation($b:ID!){deleteLinkedBranch(input:{linkedBranchId:$b}){issue{linkedBranches(first:5){totalCount}}}}"
    )
    gone = app.graphql(unlink, b=made["linkedBranch"]["id"])["data"]["deleteLinkedBranch"]["issue"]
    assert gone["linkedBranches"] == {"totalCount": 0}
    assert world.head(name)


# Timelines


def test_a_timeline_tells_what_happened_in_order(world: World) -> None:
    issue = world.emulator.issue(REPO, "One")
    url = f"{BASE}/issues/{issue['number']}"
    world.bot.patch(url, json={"title": "Two", "labels": ["bug"], "assignees": ["dev"]})
    world.bot.post(f"{url}/comments", json={"body": "c"})
    world.emulator.issue(REPO, "Other", body=f"like #{issue['number']}")
    world.bot.patch(url, json={"state": "closed", "state_reason": "not_planned"})
    entries = world.bot.get(f"{url}/timeline").json()
    assert [e["event"] for e in entries] == [
        "renamed",
        "labeled",
        "assigned",
        "commented",
        "cross-referenced",
        "closed",
    ]
    assert entries[0]["rename"] == {"from": "One", "to": "Two"}
    assert entries[4]["source"]["issue"]["title"] == "Other"
    assert entries[5]["state_reason"] == "not_planned"
    events = [e["event"] for e in world.bot.get(f"{url}/events").json()]
    assert events == ["renamed", "labeled", "assigned", "closed"]
    listed = world.bot.get(f"{BASE}/issues/events").json()
    assert [(e["event"], e["issue"]["number"]) for e in listed[:2]] == [("closed", 1), ("assigned", 1)]
    assert world.bot.get(listed[0]["url"]).json() == listed[0]
    assert world.bot.get(f"{BASE}/issues/events/1").status_code == 404
