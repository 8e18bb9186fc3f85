"""Comments: limits, who may write and change them, revisions, hiding, locked conversations, reactions, events."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from emulated import REPO, World, rest
from issue_world import Listener, listener

BASE = f"/repos/{REPO}/issues"
EDITS = """query($i:ID!){node(id:$i){... on IssueComment{body author{login} editor{login} lastEditedAt
  includesCreatedEdit isMinimized minimizedReason
  userContentEdits(first:5){totalCount nodes{editor{login} diff deletedAt}}}}}"""


@pytest.fixture
def app(world: World) -> Listener:
    return listener(world)


def new_issue(world: World, **more: Any) -> str:
    return f"{BASE}/{world.emulator.issue(REPO, 'One', **more)['number']}"


# Limits


def test_the_limit_is_65536_characters_whatever_their_size(world: World) -> None:
    url = new_issue(world) + "/comments"
    assert world.bot.post(url, json={"body": "修" * 65_536}).status_code == 201
    refused = world.bot.post(url, json={"body": "x" * 65_537})
    assert refused.status_code == 422
    assert refused.json()["errors"] == [
        {
            "resource": "IssueComment",
            "code": "unprocessable",
            "field": "data",
            "message": "Body is too long (maximum is 65536 characters)",
        }
    ]


def test_an_edit_is_refused_in_lower_case_and_stores_nothing(world: World) -> None:
    comment = world.bot.post(new_issue(world) + "/comments", json={"body": "short"}).json()
    refused = world.bot.patch(f"{BASE}/comments/{comment['id']}", json={"body": "x" * 65_537})
    assert refused.json()["errors"][0]["message"] == "body is too long (maximum is 65536 characters)"
    assert world.bot.get(f"{BASE}/comments/{comment['id']}").json()["body"] == "short"


@pytest.mark.parametrize(("body", "status"), [("x" * 262_144, 201), ("x" * 262_145, 422), ("修" * 87_382, 422)])
def test_where_bytes_are_counted_the_limit_is_262144_of_them(world: World, body: str, status: int) -> None:
    world.emulator.switches(text_limit="bytes")
    assert world.bot.post(new_issue(world) + "/comments", json={"body": body}).status_code == status


def test_where_bytes_are_counted_an_issues_overlong_body_is_dropped_without_a_word(world: World) -> None:
    world.emulator.switches(text_limit="bytes")
    url = new_issue(world, body="before")
    answer = world.bot.patch(url, json={"body": "x" * 262_145, "title": "Renamed"})
    assert (answer.status_code, answer.json()["title"], answer.json()["body"]) == (200, "Renamed", "before")
    created = world.bot.post(BASE, json={"title": "t", "body": "x" * 262_145})
    assert created.status_code == 422


@pytest.mark.parametrize("limit", ["characters", "bytes"])
def test_pull_requests_and_reviews_have_limits_of_their_own(world: World, limit: str) -> None:
    """A pull request's text is an Issue's to GitHub and keeps to the characters everywhere."""
    world.emulator.switches(text_limit=limit)
    opened = {"title": "t", "head": "42-x", "base": "release-1"}
    entry = {"resource": "Issue", "code": "custom", "field": "body"}
    entry["message"] = "body is too long (maximum is 65536 characters)"
    refused = world.bot.post(f"/repos/{REPO}/pulls", json=opened | {"body": "x" * 65_537})
    assert (refused.status_code, refused.json()["errors"]) == (422, [entry])
    url = f"/repos/{REPO}/pulls/{world.open_pull(body='修' * 65_536)['number']}"
    refused = world.bot.patch(url, json={"body": "x" * 65_537})
    assert (refused.status_code, refused.json()["errors"]) == (422, [entry])
    line = {"path": "a.txt", "line": 1, "commit_id": world.head("42-x")}
    assert world.dev.post(f"{url}/comments", json=line | {"body": "x" * 262_145}).status_code == 422
    review = world.dev.post(f"{url}/reviews", json={"event": "COMMENT", "body": "short"}).json()
    long = "x" * (65_537 if limit == "characters" else 262_145)
    for answer in (
        world.dev.post(f"{url}/reviews", json={"event": "COMMENT", "body": long}),
        world.dev.put(f"{url}/reviews/{review['id']}", json={"body": long}),
    ):
        assert answer.status_code == 422
        assert answer.json()["errors"] == ["Body is too long (maximum is 65536 characters)"]
    assert [r["body"] for r in world.bot.get(f"{url}/reviews").json()] == ["short"]


def test_who_asks_is_asked_for_before_what_he_says(world: World) -> None:
    url = new_issue(world)
    with httpx.Client(base_url=world.emulator.url, trust_env=False) as nobody:
        for path in (f"{url}/comments", f"{url}/reactions", "/user/repos"):
            answer = nobody.post(path, json={})
            assert (answer.status_code, answer.json()["message"]) == (401, "Requires authentication")


@pytest.mark.parametrize("body", ["", "  \n"])
def test_an_empty_comment_is_refused(world: World, body: str) -> None:
    assert world.bot.post(new_issue(world) + "/comments", json={"body": body}).status_code == 422


# Who changed what


def test_an_edit_by_somebody_else_shows_its_editor_and_leaves_the_author(world: World, app: Listener) -> None:
    comment = app.client.post(new_issue(world) + "/comments", json={"body": "state: free"}).json()
    world.dev.patch(f"{BASE}/comments/{comment['id']}", json={"body": "state: taken"})
    shown = world.bot.get(f"{BASE}/comments/{comment['id']}").json()
    assert (shown["user"]["login"], shown["performed_via_github_app"]["slug"]) == ("planner[bot]", "planner")
    node = world.graphql(EDITS, i=comment["node_id"])["data"]["node"]
    assert (node["author"]["login"], node["editor"]["login"]) == ("planner", "dev")
    assert node["includesCreatedEdit"] is True
    revisions = [(e["editor"]["login"], e["diff"]) for e in node["userContentEdits"]["nodes"]]
    assert revisions == [("dev", "state: taken"), ("planner", "state: free")]
    told = app.heard("issue_comment", "edited")[0]
    assert told["changes"] == {"body": {"from": "state: free"}}
    assert told["sender"]["login"] == "dev"


def test_what_an_app_wrote_for_a_person_names_both_whoever_edits_it(world: World, app: Listener) -> None:
    behalf = rest(world.emulator, world.emulator.token_on_behalf("planner", "dev"))
    comment = behalf.post(new_issue(world) + "/comments", json={"body": "for dev"}).json()
    world.dev.patch(f"{BASE}/comments/{comment['id']}", json={"body": "by dev"})
    told = [e["comment"] for action in ("created", "edited") for e in app.heard("issue_comment", action)]
    for shown in (*told, world.bot.get(f"{BASE}/comments/{comment['id']}").json()):
        assert (shown["user"]["login"], shown["performed_via_github_app"]["slug"]) == ("dev", "planner")
    own = world.dev.post(new_issue(world) + "/comments", json={"body": "dev alone"}).json()
    assert own["performed_via_github_app"] is None


def test_an_unchanged_comment_is_no_edit(world: World, app: Listener) -> None:
    comment = app.client.post(new_issue(world) + "/comments", json={"body": "same"}).json()
    app.client.patch(f"{BASE}/comments/{comment['id']}", json={"body": "same"})
    node = world.graphql(EDITS, i=comment["node_id"])["data"]["node"]
    assert (node["editor"], node["lastEditedAt"], node["userContentEdits"]["totalCount"]) == (None, None, 0)
    assert app.heard("issue_comment", "edited") == []


def test_readers_change_their_own_comments_only(world: World) -> None:
    url = new_issue(world) + "/comments"
    own = world.reader.post(url, json={"body": "mine"}).json()
    other = world.dev.post(url, json={"body": "yours"}).json()
    assert world.reader.patch(f"{BASE}/comments/{own['id']}", json={"body": "still mine"}).status_code == 200
    refused = world.reader.patch(f"{BASE}/comments/{other['id']}", json={"body": "now mine"})
    assert (refused.status_code, refused.json()["message"]) == (403, "Must have admin rights to Repository.")
    assert world.reader.delete(f"{BASE}/comments/{other['id']}").status_code == 403
    assert world.dev.delete(f"{BASE}/comments/{own['id']}").status_code == 204


def test_a_deleted_comment_is_gone_everywhere_and_its_deletion_is_told(world: World, app: Listener) -> None:
    url = new_issue(world)
    comment = app.client.post(f"{url}/comments", json={"body": "gone soon"}).json()
    world.dev.delete(f"{BASE}/comments/{comment['id']}")
    assert world.bot.get(f"{BASE}/comments/{comment['id']}").status_code == 404
    assert world.bot.get(f"{url}/comments").json() == []
    assert world.graphql(EDITS, i=comment["node_id"])["errors"][0]["type"] == "NOT_FOUND"
    assert app.heard("issue_comment", "deleted")[0]["comment"]["body"] == "gone soon"
    assert [e["event"] for e in world.bot.get(f"{url}/timeline").json()] == ["comment_deleted"]


def test_an_archived_repository_takes_no_comments(world: World) -> None:
    url = new_issue(world) + "/comments"
    world.emulator.change_repo(REPO, archived=True)
    for client in (world.bot, world.dev, world.reader):
        refused = client.post(url, json={"body": "late"})
        assert (refused.status_code, refused.json()["message"]) == (403, "Repository was archived so is read-only.")


# Hidden comments


def test_a_hidden_comment_is_still_returned(world: World) -> None:
    comment = world.bot.post(new_issue(world) + "/comments", json={"body": "old"}).json()
    hide = """mutation($i:ID!){minimizeComment(input:{subjectId:$i,classifier:OUTDATED}){
      minimizedComment{isMinimized minimizedReason}}}"""
    shown = world.graphql(hide, world.dev, i=comment["node_id"])["data"]["minimizeComment"]["minimizedComment"]
    assert shown == {"isMinimized": True, "minimizedReason": "outdated"}
    by_rest = world.bot.get(f"{BASE}/comments/{comment['id']}").json()
    assert (by_rest["body"], by_rest["minimized"]) == ("old", {"reason": "outdated"})
    show = "mutation($i:ID!){unminimizeComment(input:{subjectId:$i}){unminimizedComment{isMinimized minimizedReason}}}"
    shown = world.graphql(show, world.dev, i=comment["node_id"])["data"]["unminimizeComment"]["unminimizedComment"]
    assert shown == {"isMinimized": False, "minimizedReason": None}
    own = world.reader.post(new_issue(world) + "/comments", json={"body": "mine"}).json()
    for node in (comment["node_id"], own["node_id"]):
        assert world.graphql(hide, world.reader, i=node)["errors"][0]["type"] == "FORBIDDEN"


# Locked conversations


def test_only_people_with_write_access_comment_on_a_locked_issue(world: World, app: Listener) -> None:
    url = new_issue(world)
    kept = app.client.post(f"{url}/comments", json={"body": "before"}).json()
    assert world.dev.put(f"{url}/lock", json={"lock_reason": "too heated"}).status_code == 204
    shown = world.bot.get(url).json()
    assert (shown["locked"], shown["active_lock_reason"]) == (True, "too heated")
    for client in (app.client, world.reader):
        refused = client.post(f"{url}/comments", json={"body": "after"})
        assert refused.status_code == 403
        assert refused.json()["message"] == "Unable to create comment because issue is locked."
        assert refused.json()["documentation_url"].endswith("/articles/locking-conversations/")
    refused = app.client.patch(f"{BASE}/comments/{kept['id']}", json={"body": "after"})
    assert (refused.status_code, refused.json()["message"]) == (
        403,
        "Unable to update comment because issue is locked.",
    )
    assert world.dev.post(f"{url}/comments", json={"body": "after"}).status_code == 201
    assert world.dev.delete(f"{url}/lock").status_code == 204
    assert app.client.post(f"{url}/comments", json={"body": "after"}).status_code == 201
    assert [len(app.heard("issues", action)) for action in ("locked", "unlocked")] == [1, 1]
    assert [e for e in world.timeline(shown["number"]) if "lock" in e] == ["locked", "unlocked"]


def test_a_lock_prevents_reviews_and_reactions(world: World, app: Listener) -> None:
    number = world.open_pull()["number"]
    url, line = f"/repos/{REPO}/pulls/{number}", {"path": "a.txt", "line": 1, "commit_id": world.head("42-x")}
    kept = world.dev.post(f"{BASE}/{number}/comments", json={"body": "c"}).json()
    world.dev.put(f"{BASE}/{number}/lock")
    for client in (app.client, world.reader):
        refused = client.post(f"{url}/reviews", json={"event": "COMMENT", "body": "x"})
        assert (refused.status_code, refused.json()["errors"]) == (422, ["lock prevents review"])
        refused = client.post(f"{url}/comments", json=line | {"body": "x"})
        said = "Unable to create comment because issue is locked."
        assert (refused.status_code, refused.json()["message"]) == (403, said)
    assert world.dev.post(f"{url}/reviews", json={"event": "COMMENT", "body": "x"}).status_code == 200
    for client in (app.client, world.reader, world.dev):
        for target in (f"{BASE}/{number}", f"{BASE}/comments/{kept['id']}"):
            assert client.post(f"{target}/reactions", json={"content": "eyes"}).status_code == 403
    act = "mutation($i:ID!){addReaction(input:{subjectId:$i,content:EYES}){clientMutationId}}"
    refused = world.graphql(act, world.dev, i=kept["node_id"])["errors"][0]
    said = "dev does not have the correct permissions to execute `AddReaction`"
    assert (refused["type"], refused["message"]) == ("FORBIDDEN", said)
    world.dev.delete(f"{BASE}/{number}/lock")
    assert app.client.post(f"{url}/reviews", json={"event": "COMMENT", "body": "x"}).status_code == 200
    world.emulator.change_repo(REPO, archived=True)
    refused = world.reader.post(f"{url}/reviews", json={"event": "COMMENT", "body": "x"})
    assert (refused.status_code, refused.json()["errors"]) == (422, ["lock prevents review"])


def test_locking_needs_push_access_and_a_known_reason(world: World) -> None:
    url = new_issue(world)
    world.emulator.change_repo(REPO, collaborators={"reader": "triage"})
    assert world.reader.put(f"{url}/lock").status_code == 403
    assert world.dev.put(f"{url}/lock", json={"lock_reason": "boring"}).status_code == 422
    assert world.bot.get(url).json()["locked"] is False


def test_graphql_locks_with_its_own_words(world: World, app: Listener) -> None:
    issue = world.emulator.issue(REPO, "One")
    lock = """mutation($i:ID!){lockLockable(input:{lockableId:$i,lockReason:OFF_TOPIC}){
      lockedRecord{locked activeLockReason}}}"""
    shown = world.graphql(lock, i=issue["node_id"])["data"]["lockLockable"]["lockedRecord"]
    assert shown == {"locked": True, "activeLockReason": "OFF_TOPIC"}
    comment = 'mutation($i:ID!){addComment(input:{subjectId:$i,body:"x"}){commentEdge{node{id}}}}'
    refused = app.graphql(comment, i=issue["node_id"])["errors"][0]
    assert refused["message"] == "Unable to create comment because issue is locked."
    unlock = "mutation($i:ID!){unlockLockable(input:{lockableId:$i}){unlockedRecord{locked}}}"
    world.graphql(unlock, i=issue["node_id"])
    assert "errors" not in app.graphql(comment, i=issue["node_id"])


# Reactions


def test_a_reaction_is_given_once_and_counted(world: World) -> None:
    url = new_issue(world)
    comment = world.bot.post(f"{url}/comments", json={"body": "c"}).json()
    for target in (url, f"{BASE}/comments/{comment['id']}"):
        made = [world.dev.post(f"{target}/reactions", json={"content": "eyes"}) for _ in range(2)]
        assert [r.status_code for r in made] == [201, 200]
        assert world.bot.get(target).json()["reactions"]["eyes"] == 1
        assert world.bot.post(f"{target}/reactions", json={"content": "shrug"}).status_code == 422
        mine = made[0].json()["id"]
        assert world.bot.delete(f"{target}/reactions/{mine}").status_code == 404  # somebody else's
        assert world.dev.delete(f"{target}/reactions/{mine}").status_code == 204
        assert world.bot.get(f"{target}/reactions").json() == []


def test_reactions_by_graphql(world: World) -> None:
    issue = world.emulator.issue(REPO, "One")
    act = """mutation($i:ID!){%s(input:{subjectId:$i,content:ROCKET}){reaction{content}
      subject{reactionGroups{content viewerHasReacted reactors(first:3){totalCount}}}}}"""
    added = world.graphql(act % "addReaction", world.dev, i=issue["node_id"])["data"]["addReaction"]
    groups = {g["content"]: g for g in added["subject"]["reactionGroups"]}
    assert added["reaction"] == {"content": "ROCKET"}
    assert groups["ROCKET"] == {"content": "ROCKET", "viewerHasReacted": True, "reactors": {"totalCount": 1}}
    removed = world.graphql(act % "removeReaction", world.dev, i=issue["node_id"])["data"]["removeReaction"]
    assert removed["reaction"] == {"content": "ROCKET"}
    assert world.bot.get(f"{BASE}/{issue['number']}").json()["reactions"]["total_count"] == 0
