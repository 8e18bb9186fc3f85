"""Reviews, requested reviewers, conversations, and what they do to merging."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from emulated import ALL, EVENTS, REPO, World
from guarded import BASE, admin, merge, pull_request_rule, refusal, reviewer, ruleset

ONE = "At least 1 approving review is required by reviewers with write access."
TALK = "A conversation must be resolved before this pull request can be merged."


def review(client: httpx.Client, number: int, event: str = "APPROVE", body: str = "", **more: Any) -> Any:
    return client.post(f"{BASE}/pulls/{number}/reviews", json={"event": event, "body": body} | more)


def complaint(answer: Any) -> str:
    assert answer.status_code == 422, answer.text
    assert answer.json()["message"] == "Unprocessable Entity"
    return str(answer.json()["errors"][0])


def decision(world: World, number: int) -> str | None:
    query = 'query($n:Int!){repository(owner:"octo",name:"demo"){pullRequest(number:$n){reviewDecision}}}'
    return world.graphql(query, n=number)["data"]["repository"]["pullRequest"]["reviewDecision"]  # type: ignore[no-any-return]


def test_what_nobody_may_say(world: World) -> None:
    number = world.open_pull()["number"]
    assert complaint(review(world.bot, number)) == "Can not approve your own pull request"
    own = review(world.bot, number, "REQUEST_CHANGES", "no")
    assert complaint(own) == "Can not request changes on your own pull request"
    assert review(world.bot, number, "COMMENT", "well").status_code == 200
    assert complaint(review(world.dev, number, "REQUEST_CHANGES")) == "Body can't be blank"
    assert review(world.dev, number, "PRAISE").status_code == 422
    assert world.dev.post(f"{BASE}/pulls/{number}/reviews", json={}).json()["state"] == "PENDING"
    second = world.dev.post(f"{BASE}/pulls/{number}/reviews", json={})
    assert complaint(second) == "User can only have one pending review per pull request"
    foreign = review(world.reader, number, commit_id=world.commit(world.head("main"), "else"))
    assert complaint(foreign) == "The commit is not part of the pull request"


def test_a_pending_review_is_its_authors_alone(world: World) -> None:
    number = world.open_pull()["number"]
    url = f"{BASE}/pulls/{number}/reviews"
    made = world.dev.post(url, json={"body": "draft"}).json()
    assert "submitted_at" not in made
    assert world.reader.get(url).json() == []
    assert world.reader.get(f"{url}/{made['id']}").status_code == 404
    assert world.dev.put(f"{url}/{made['id']}", json={"body": "better"}).json()["body"] == "better"
    sent = world.dev.post(f"{url}/{made['id']}/events", json={"event": "APPROVE"}).json()
    assert (sent["state"], sent["body"]) == ("APPROVED", "better")
    assert complaint(world.dev.delete(f"{url}/{made['id']}")) == "Can not delete a non-pending pull request review"
    other = world.dev.post(url, json={}).json()
    assert world.dev.delete(f"{url}/{other['id']}").status_code == 200
    assert [r["id"] for r in world.dev.get(url).json()] == [made["id"]]


def test_required_approvals(world: World) -> None:
    ruleset(admin(world), pull_request_rule(2))
    number = world.open_pull()["number"]
    two = ONE.replace("1 approving review is", "2 approving reviews are")
    assert refusal(merge(world.bot, number)) == two
    assert review(world.reader, number).status_code == 200  # counts for nothing: no write access
    assert review(world.dev, number).status_code == 200
    assert decision(world, number) == "REVIEW_REQUIRED"
    mara = reviewer(world, "mara")
    review(mara, number, "REQUEST_CHANGES", "no")
    assert refusal(merge(world.bot, number)) == "1 review requesting changes by reviewers with write access."
    assert decision(world, number) == "CHANGES_REQUESTED"
    review(mara, number, "COMMENT", "still thinking")
    assert decision(world, number) == "CHANGES_REQUESTED"
    review(mara, number)
    assert decision(world, number) == "APPROVED"
    assert merge(world.bot, number).status_code == 200


def test_dismissal(world: World) -> None:
    ruleset(admin(world), pull_request_rule(1))
    number = world.open_pull()["number"]
    url = f"{BASE}/pulls/{number}/reviews"
    first = review(world.dev, number).json()
    said = review(world.dev, number, "COMMENT", "hm").json()
    assert complaint(world.dev.put(f"{url}/{said['id']}/dismissals", json={"message": "m"})) == (
        "Can not dismiss a commented pull request review"
    )
    assert world.reader.put(f"{url}/{first['id']}/dismissals", json={"message": "m"}).status_code == 403
    assert world.dev.put(f"{url}/{first['id']}/dismissals", json={"message": "m"}).json()["state"] == "DISMISSED"
    assert refusal(merge(world.bot, number)) == ONE
    (entry,) = [e for e in world.bot.get(f"{BASE}/issues/{number}/timeline").json() if e["event"] == "review_dismissed"]
    assert entry["dismissed_review"] == {"state": "approved", "review_id": first["id"], "dismissal_message": "m"}


@pytest.mark.parametrize("stale", [True, False])
def test_a_push_makes_approvals_stale_where_the_branch_says_so(world: World, stale: bool) -> None:
    ruleset(admin(world), pull_request_rule(1, dismiss_stale_reviews_on_push=stale))
    number = world.open_pull()["number"]
    review(world.dev, number)
    world.bot.patch(f"{BASE}/git/refs/heads/42-x", json={"sha": world.commit(world.head("42-x"), "more")})
    assert decision(world, number) == ("REVIEW_REQUIRED" if stale else "APPROVED")


def test_the_last_pusher_does_not_count(world: World) -> None:
    ruleset(admin(world), pull_request_rule(1, require_last_push_approval=True))
    number = world.open_pull()["number"]
    world.dev.patch(f"{BASE}/git/refs/heads/42-x", json={"sha": world.commit(world.head("42-x"), "more")})
    review(world.dev, number)
    words = "New changes require approval from someone other than the last pusher."
    assert refusal(merge(world.bot, number)) == words
    review(reviewer(world, "mara"), number)
    assert merge(world.bot, number).status_code == 200


def test_a_merge_of_the_base_leaves_approvals_alone(world: World) -> None:
    rule = pull_request_rule(1, dismiss_stale_reviews_on_push=True, require_last_push_approval=True)
    ruleset(admin(world), rule)
    number = world.open_pull()["number"]
    world.emulator.commit(REPO, {"other.txt": "x\n"}, branch="release-1")
    review(world.dev, number)
    head = world.head("42-x")
    merged = world.dev.post(f"{BASE}/merges", json={"base": "42-x", "head": "release-1"})
    assert merged.status_code == 201
    assert world.pull(number)["head"]["sha"] != head
    assert decision(world, number) == "APPROVED"
    world.bot.patch(f"{BASE}/git/refs/heads/42-x", json={"sha": world.commit(world.head("42-x"), "more")})
    assert decision(world, number) == "REVIEW_REQUIRED"


def test_code_owners(world: World) -> None:
    mara = reviewer(world, "mara")
    owners = "*.md @nobody\na.txt @mara @dev\n"
    world.emulator.commit(REPO, {".github/CODEOWNERS": owners}, branch="release-1")
    ruleset(admin(world), pull_request_rule(0, require_code_owner_review=True))
    pull = world.open_pull(draft=True)
    number = pull["number"]
    assert pull["requested_reviewers"] == []
    ready = (
        "mutation($i:MarkPullRequestReadyForReviewInput!){markPullRequestReadyForReview(input:$i){clientMutationId}}"
    )
    world.graphql(ready, i={"pullRequestId": pull["node_id"]})
    assert [u["login"] for u in world.pull(number)["requested_reviewers"]] == ["mara", "dev"]
    assert refusal(merge(world.bot, number)) == "Waiting on code owner review from mara and/or dev."
    review(reviewer(world, "else"), number)
    assert decision(world, number) == "REVIEW_REQUIRED"
    review(mara, number)
    assert merge(world.bot, number).status_code == 200


def line_comment(world: World, client: httpx.Client, number: int, **more: Any) -> Any:
    body = {"body": "why?", "path": "a.txt", "line": 1, "commit_id": world.head("42-x")}
    return client.post(f"{BASE}/pulls/{number}/comments", json=body | more)


THREADS = """query($n:Int!){repository(owner:"octo",name:"demo"){pullRequest(number:$n){reviewThreads(first:10){nodes{
  id path line isResolved isOutdated resolvedBy{login} comments(first:10){nodes{body author{login} replyTo{id}}}}}}}}"""


def threads(world: World, number: int) -> list[dict[str, Any]]:
    found = world.graphql(THREADS, n=number)["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"]
    return list(found)


def test_conversations_must_be_resolved(world: World) -> None:
    ruleset(admin(world), pull_request_rule(0, required_review_thread_resolution=True))
    number = world.open_pull()["number"]
    first = line_comment(world, world.reader, number)
    assert first.status_code == 201, first.text
    reply = world.bot.post(f"{BASE}/pulls/{number}/comments/{first.json()['id']}/replies", json={"body": "because"})
    assert reply.json()["in_reply_to_id"] == first.json()["id"]
    assert refusal(merge(world.bot, number)) == TALK
    (thread,) = threads(world, number)
    assert [c["body"] for c in thread["comments"]["nodes"]] == ["why?", "because"]
    mutation = "mutation($i:%sInput!){%s(input:$i){thread{isResolved resolvedBy{login}}}}"
    resolved = world.graphql(
        mutation % ("ResolveReviewThread", "resolveReviewThread"), world.dev, i={"threadId": thread["id"]}
    )
    assert resolved["data"]["resolveReviewThread"]["thread"] == {"isResolved": True, "resolvedBy": {"login": "dev"}}
    assert merge(world.bot, number).status_code == 200


def test_comments_on_lines(world: World) -> None:
    number = world.open_pull()["number"]
    beside = line_comment(world, world.dev, number, line=99)
    assert beside.status_code == 422
    assert beside.json()["errors"][0]["message"] == "pull_request_review_thread.line must be part of the diff"
    made = line_comment(world, world.dev, number).json()
    assert made["diff_hunk"].startswith("@@ -0,0 +1")
    url = f"{BASE}/pulls/comments/{made['id']}"
    assert world.dev.patch(url, json={"body": "edited"}).json()["body"] == "edited"
    assert world.reader.patch(url, json={"body": "no"}).status_code == 403
    assert len(world.bot.get(f"{BASE}/pulls/{number}/comments").json()) == 1
    assert world.dev.delete(url).status_code == 204
    assert threads(world, number) == []


def test_who_is_asked(world: World) -> None:
    number = world.open_pull()["number"]
    url = f"{BASE}/pulls/{number}/requested_reviewers"
    answer = world.bot.post(url, json={"reviewers": ["stranger"]})
    assert answer.status_code == 422
    assert answer.json()["message"] == (
        "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a "
        "collaborator of the octo/demo repository."
    )
    own = world.dev.post(f"{BASE}/pulls", json={"title": "t", "head": "42-x", "base": "main"}).json()["number"]
    author = world.bot.post(f"{BASE}/pulls/{own}/requested_reviewers", json={"reviewers": ["dev"]})
    assert author.json()["message"] == "Review cannot be requested from pull request author."
    asked = world.bot.post(url, json={"reviewers": ["dev", "reader"]})
    assert (asked.status_code, len(asked.json()["requested_reviewers"])) == (201, 2)
    world.bot.request("DELETE", url, json={"reviewers": ["reader"]})
    assert [u["login"] for u in world.bot.get(url).json()["users"]] == ["dev"]
    review(world.dev, number, "COMMENT", "seen")
    assert world.bot.get(url).json()["users"] == []
    kinds = world.timeline(number)
    assert kinds == ["review_requested", "review_requested", "review_request_removed", "reviewed"]


def test_graphql_reviews_and_their_timeline(world: World) -> None:
    pull = world.open_pull()
    add = """mutation($i:AddPullRequestReviewInput!){addPullRequestReview(input:$i){pullRequestReview{
      id state author{login} authorCanPushToRepository commit{oid}}}}"""
    made = world.graphql(add, world.dev, i={"pullRequestId": pull["node_id"], "event": "APPROVE"})
    shown = made["data"]["addPullRequestReview"]["pullRequestReview"]
    assert (shown["state"], shown["commit"]["oid"]) == ("APPROVED", pull["head"]["sha"])
    dismiss = (
        "mutation($i:DismissPullRequestReviewInput!){dismissPullRequestReview(input:$i){pullRequestReview{state}}}"
    )
    world.graphql(dismiss, world.dev, i={"pullRequestReviewId": shown["id"], "message": "old"})
    query = """query($n:Int!){repository(owner:"octo",name:"demo"){pullRequest(number:$n){reviewDecision
      reviews(first:5){totalCount} latestReviews(first:5){nodes{state}} latestOpinionatedReviews(first:5){nodes{state}}
      timelineItems(first:10){nodes{__typename ... on PullRequestReview{state}
        ... on ReviewDismissedEvent{previousReviewState dismissalMessage review{id}}}}}}}"""
    found = world.graphql(query, n=pull["number"])["data"]["repository"]["pullRequest"]
    assert (found["reviewDecision"], found["reviews"]["totalCount"]) == (None, 1)
    assert [n["__typename"] for n in found["timelineItems"]["nodes"]] == ["PullRequestReview", "ReviewDismissedEvent"]
    assert found["timelineItems"]["nodes"][1]["previousReviewState"] == "APPROVED"
    own = world.graphql(add, i={"pullRequestId": pull["node_id"], "event": "APPROVE"})
    assert own["errors"][0]["type"] == "UNPROCESSABLE"


def test_reviews_are_announced(world: World) -> None:
    kinds = ["pull_request_review", "pull_request_review_comment", "pull_request_review_thread"]
    world.emulator.app("watcher", permissions=ALL, events=[*EVENTS, *kinds], webhook_url="http://127.0.0.1:9/hook")
    world.emulator.installation("watcher", "octo")
    number = world.open_pull()["number"]
    made = review(world.dev, number).json()
    world.dev.put(f"{BASE}/pulls/{number}/reviews/{made['id']}/dismissals", json={"message": "m"})
    line_comment(world, world.dev, number)
    (thread,) = threads(world, number)
    mutation = "mutation($i:ResolveReviewThreadInput!){resolveReviewThread(input:$i){thread{id}}}"
    world.graphql(mutation, i={"threadId": thread["id"]})
    sent = [(d["event"], d["action"]) for d in world.emulator.deliveries() if d["event"] in kinds]
    assert sent == [
        ("pull_request_review", "submitted"),
        ("pull_request_review", "dismissed"),
        ("pull_request_review", "submitted"),
        ("pull_request_review_comment", "created"),
        ("pull_request_review_thread", "resolved"),
    ]
