"""What GitHub refuses of pull requests, by REST and by GraphQL."""

from __future__ import annotations

from typing import Any

from emulated import REPO, ZERO, World, rest

BASE = f"/repos/{REPO}"
CREATE = "mutation($i:CreatePullRequestInput!){createPullRequest(input:$i){pullRequest{number isDraft}}}"
ON_PULL = "mutation($id:ID!){%s(input:{pullRequestId:$id}){pullRequest{isDraft state}}}"


def create(world: World, head: str, base: str, **more: Any) -> Any:
    return world.bot.post(f"{BASE}/pulls", json={"title": "t", "head": head, "base": base} | more)


def errors(answer: Any) -> list[dict[str, Any]]:
    assert (answer.status_code, answer.json()["message"]) == (422, "Validation Failed"), answer.text
    return list(answer.json()["errors"])


def by_graphql(world: World, head: str, base: str, **more: Any) -> str:
    given = {"repositoryId": world.repo["node_id"], "title": "t", "headRefName": head, "baseRefName": base} | more
    (error,) = world.graphql(CREATE, i=given)["errors"]
    assert error["type"] == "UNPROCESSABLE"
    return str(error["message"])


def test_missing_branches(world: World) -> None:
    assert errors(create(world, "no", "main")) == [{"resource": "PullRequest", "field": "head", "code": "invalid"}]
    assert errors(create(world, "42-x", "no")) == [{"resource": "PullRequest", "field": "base", "code": "invalid"}]
    assert errors(create(world, "nobody:42-x", "main"))[0]["field"] == "head"
    blank = "Head sha can't be blank, Base sha can't be blank, "
    assert by_graphql(world, "no", "main") == blank + "No commits between main and no, Head ref must be a branch"
    assert by_graphql(world, "42-x", "no") == blank + "No commits between no and 42-x, Base ref must be a branch"


def test_nothing_to_propose(world: World) -> None:
    custom = {"resource": "PullRequest", "code": "custom"}
    words = {"message": "No commits between main and main"}
    assert errors(create(world, "main", "main")) == [custom | words]
    words = {"message": "No commits between 42-x and main"}
    assert errors(create(world, "main", "42-x")) == [custom | words]
    assert by_graphql(world, "main", "42-x") == "No commits between 42-x and main"


def test_histories_that_never_met(world: World) -> None:
    tree = world.bot.get(f"{BASE}/git/commits/{world.head('main')}").json()["tree"]["sha"]
    root = world.bot.post(f"{BASE}/git/commits", json={"tree": tree, "parents": [], "message": "root"}).json()["sha"]
    world.update_refs({"name": "refs/heads/island", "afterOid": root})
    words = "The island branch has no history in common with main"
    assert errors(create(world, "island", "main"))[0]["message"] == words
    assert by_graphql(world, "island", "main") == words


def test_a_second_pull_request_of_the_same_branches(world: World) -> None:
    world.open_pull()
    words = "A pull request already exists for octo:42-x."
    assert errors(create(world, "42-x", "release-1"))[0]["message"] == words
    assert by_graphql(world, "42-x", "release-1") == words


def test_empty_and_missing_members(world: World) -> None:
    assert errors(create(world, "42-x", "main", title=" "))[0] == {
        "resource": "PullRequest",
        "field": "title",
        "code": "missing_field",
    }
    for name in ("head", "base", "title"):
        given = {"title": "t", "head": "42-x", "base": "main"}
        del given[name]
        answer = world.bot.post(f"{BASE}/pulls", json=given)
        assert (answer.status_code, answer.json()["message"]) == (
            422,
            f'Invalid request.\n\n"{name}" wasn\'t supplied.',
        )


def test_an_issue_that_becomes_a_pull_request(world: World) -> None:
    issue = world.emulator.issue(REPO, "Do it", body="Please", author="dev", labels=["bug"])
    world.emulator.comment(REPO, issue["number"], "dev", "soon")
    given = {"issue": issue["number"], "head": "42-x", "base": "main"}
    made = world.bot.post(f"{BASE}/pulls", json=given)
    assert made.status_code == 201, made.text
    shown = made.json()
    assert (shown["number"], shown["title"], shown["body"]) == (issue["number"], "Do it", "Please")
    assert (shown["user"]["login"], shown["comments"], shown["labels"][0]["name"]) == ("dev", 1, "bug")
    assert world.bot.get(f"{BASE}/issues/{issue['number']}").json()["pull_request"]["url"] == shown["url"]
    for number, words in ((issue["number"], "is already attached to a pull request."), (99, "does not exist.")):
        refused = world.bot.post(f"{BASE}/pulls", json=given | {"issue": number})
        assert (refused.status_code, refused.json()["message"]) == (422, f"The specified issue {words}")
        assert refused.json()["errors"][0] == {
            "value": number,
            "resource": "PullRequest",
            "field": "issue",
            "code": "invalid",
        }


def test_its_diff_and_its_patches(world: World) -> None:
    number = world.open_pull()["number"]
    for form, start in (("diff", "diff --git a/a.txt b/a.txt"), ("patch", "From ")):
        answer = world.bot.get(f"{BASE}/pulls/{number}", headers={"accept": f"application/vnd.github.v3.{form}"})
        assert answer.text.startswith(start)
        assert answer.headers["content-type"] == f"application/vnd.github.{form}; charset=utf-8"


def test_who_may_open(world: World) -> None:
    assert world.reader.post(f"{BASE}/pulls", json={"title": "t", "head": "42-x", "base": "main"}).status_code == 403
    given = {"repositoryId": world.repo["node_id"], "title": "t", "headRefName": "42-x", "baseRefName": "main"}
    (error,) = world.graphql(CREATE, world.reader, i=given)["errors"]
    assert error["message"] == "reader does not have the correct permissions to execute `CreatePullRequest`"
    token = world.emulator.installation_token(
        world.app, world.installation["id"], permissions={"contents": "write", "pull_requests": "read"}
    )
    with rest(world.emulator, token) as weak:
        answer = weak.post(f"{BASE}/pulls", json={"title": "t", "head": "42-x", "base": "main"})
        assert (answer.status_code, answer.json()["message"]) == (403, "Resource not accessible by integration")


def test_editing_the_base(world: World) -> None:
    pull = world.open_pull()
    path = f"{BASE}/pulls/{pull['number']}"
    assert errors(world.bot.patch(path, json={"base": "no"})) == [
        {
            "resource": "PullRequest",
            "field": "base",
            "code": "invalid",
            "message": "Proposed base branch 'no' was not found",
        }
    ]
    world.open_pull(base="main")
    words = "A pull request already exists for base branch 'main' and head branch '42-x'"
    assert errors(world.bot.patch(path, json={"base": "main"}))[0]["message"] == words
    world.bot.patch(path, json={"state": "closed"})
    words = "Cannot change the base branch of a closed pull request."
    assert errors(world.bot.patch(path, json={"base": "main"}))[0]["message"] == words
    assert errors(world.bot.patch(path, json={"base": "main", "state": "open"}))[0]["message"] == words
    assert world.pull(pull["number"])["state"] == "closed"
    update = "mutation($i:UpdatePullRequestInput!){updatePullRequest(input:$i){pullRequest{number}}}"
    (error,) = world.graphql(update, i={"pullRequestId": pull["node_id"], "baseRefName": "main"})["errors"]
    assert error["message"] == words


def test_what_is_refused_in_part_is_refused_as_a_whole(world: World) -> None:
    pull = world.open_pull()
    path = f"{BASE}/pulls/{pull['number']}"
    update = "mutation($i:UpdatePullRequestInput!){updatePullRequest(input:$i){pullRequest{number}}}"
    for text in ({"title": " "}, {"title": "t" * 257}, {"body": "b" * 65_537}):
        assert world.bot.patch(path, json={"base": "main"} | text).status_code == 422
        assert "errors" in world.graphql(update, i={"pullRequestId": pull["node_id"], "baseRefName": "main"} | text)
    assert world.bot.patch(path, json={"base": "main", "title": 5}).status_code == 422
    shown = world.pull(pull["number"])
    assert (shown["base"]["ref"], shown["title"], shown["body"]) == ("release-1", pull["title"], pull["body"])
    assert world.timeline(pull["number"]) == []


def test_a_retargeted_pull_request_says_so(world: World) -> None:
    pull = world.open_pull()
    update = (
        "mutation($i:UpdatePullRequestInput!){updatePullRequest(input:$i){actor{login}"
        " pullRequest{baseRefName title labels(first:3){nodes{name}}}}}"
    )
    label = world.bot.get(f"{BASE}/labels/bug").json()["node_id"]
    given = {"pullRequestId": pull["node_id"], "baseRefName": "main", "title": "New", "labelIds": [label]}
    shown = world.graphql(update, i=given)["data"]["updatePullRequest"]["pullRequest"]
    assert shown == {"baseRefName": "main", "title": "New", "labels": {"nodes": [{"name": "bug"}]}}
    assert world.timeline(pull["number"])[0] == "base_ref_changed"


def test_reopening_without_branches_or_twice(world: World) -> None:
    pull = world.open_pull()
    path = f"{BASE}/pulls/{pull['number']}"

    def said() -> str:
        (error,) = errors(world.bot.patch(path, json={"state": "open"}))
        assert (error["resource"], error["field"], error["code"]) == ("PullRequest", "state", "invalid")
        (told,) = world.graphql(ON_PULL % "reopenPullRequest", id=pull["node_id"])["errors"]
        assert told["message"] == "Could not open the pull request."
        return str(error["message"])

    world.bot.patch(path, json={"state": "closed"})
    world.open_pull()
    words = "There is already an open pull request from 42-x to release-1."
    assert said() == f"state cannot be changed. {words}"
    world.update_refs({"name": "refs/heads/42-x", "afterOid": ZERO})
    assert said() == "state cannot be changed. The 42-x branch has been deleted."
    world.update_refs({"name": "refs/heads/42-x", "afterOid": world.commit(world.head("main"), "other")})
    assert said() == "state cannot be changed. The 42-x branch was force-pushed or recreated."
    world.update_refs({"name": "refs/heads/42-x", "afterOid": pull["head"]["sha"], "force": True})
    world.update_refs({"name": "refs/heads/release-1", "afterOid": ZERO})
    assert said() == "state cannot be changed. The release-1 branch has been deleted."


def test_a_merged_one_stays_closed(world: World) -> None:
    number = world.open_pull()["number"]
    world.bot.put(f"{BASE}/pulls/{number}/merge", json={})
    (error,) = errors(world.bot.patch(f"{BASE}/pulls/{number}", json={"state": "open"}))
    assert error["message"] == "state cannot be changed. The pull request cannot be reopened."


def test_drafts_are_toggled_by_graphql_alone_and_need_contents_too(world: World) -> None:
    pull = world.open_pull()
    world.bot.patch(f"{BASE}/pulls/{pull['number']}", json={"draft": True})
    assert world.pull(pull["number"])["draft"] is False
    token = world.emulator.installation_token(
        world.app, world.installation["id"], permissions={"pull_requests": "write", "contents": "read"}
    )
    with rest(world.emulator, token) as weak:
        (error,) = world.graphql(ON_PULL % "convertPullRequestToDraft", weak, id=pull["node_id"])["errors"]
        assert (error["type"], error["message"]) == ("FORBIDDEN", "Resource not accessible by integration")
    for mutation, draft in (("convertPullRequestToDraft", True), ("markPullRequestReadyForReview", False)):
        shown = world.graphql(ON_PULL % mutation, id=pull["node_id"])["data"][mutation]["pullRequest"]
        assert shown["isDraft"] is draft
    assert world.timeline(pull["number"]) == ["convert_to_draft", "ready_for_review"]


def test_a_plan_without_drafts(world: World) -> None:
    pull = world.open_pull()
    world.emulator.change_repo(REPO, private=True, plan_allows_drafts=False)
    words = "Draft pull requests are not supported in this repository."
    answer = create(world, "42-x", "main", draft=True)
    assert (answer.status_code, answer.json()["message"]) == (422, words)
    assert by_graphql(world, "42-x", "main", draft=True) == words
    (error,) = world.graphql(ON_PULL % "convertPullRequestToDraft", id=pull["node_id"])["errors"]
    assert error["message"] == words


def test_its_author_closes_it_without_write_access(world: World) -> None:
    number = world.dev.post(f"{BASE}/pulls", json={"title": "t", "head": "42-x", "base": "main"}).json()["number"]
    node = world.pull(number)["node_id"]
    (error,) = world.graphql(ON_PULL % "closePullRequest", world.reader, id=node)["errors"]
    assert error["message"] == "reader does not have the correct permissions to execute `ClosePullRequest`"
    world.emulator.change_repo(REPO, collaborators={"dev": "read"})
    shown = world.graphql(ON_PULL % "closePullRequest", world.dev, id=node)["data"]["closePullRequest"]
    assert shown["pullRequest"]["state"] == "CLOSED"
    assert world.dev.patch(f"{BASE}/pulls/{number}", json={"state": "open"}).status_code == 200


def test_reasons_that_rest_gives_as_plain_text_are_graphql_s_message(world: World) -> None:
    number = world.dev.post(f"{BASE}/pulls", json={"title": "t", "head": "42-x", "base": "main"}).json()["number"]
    words = "Can not approve your own pull request"
    answer = world.dev.post(f"{BASE}/pulls/{number}/reviews", json={"event": "APPROVE"})
    assert (answer.status_code, answer.json()["errors"]) == (422, [words])
    review = "mutation($i:AddPullRequestReviewInput!){addPullRequestReview(input:$i){clientMutationId}}"
    given = {"pullRequestId": world.pull(number)["node_id"], "event": "APPROVE"}
    (error,) = world.graphql(review, world.dev, i=given)["errors"]
    assert error["message"] == words
