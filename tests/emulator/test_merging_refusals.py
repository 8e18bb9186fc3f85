"""What GitHub refuses to merge, and in which words."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from emulated import ALL, REPO, World, rest

BASE = f"/repos/{REPO}"
MERGE = "mutation($i:MergePullRequestInput!){mergePullRequest(input:$i){pullRequest{merged}}}"


def merge(world: World, number: int, client: httpx.Client | None = None, **body: Any) -> Any:
    return (client or world.bot).put(f"{BASE}/pulls/{number}/merge", json=body)


def refused(answer: Any, status: int, message: str) -> None:
    assert (answer.status_code, answer.json()["message"]) == (status, message)


def by_graphql(world: World, pull: dict[str, Any], client: httpx.Client | None = None, **more: Any) -> dict[str, Any]:
    (error,) = world.graphql(MERGE, client, i={"pullRequestId": pull["node_id"]} | more)["errors"]
    return dict(error)


def test_a_draft_is_not_merged(world: World) -> None:
    pull = world.open_pull(draft=True)
    refused(merge(world, pull["number"]), 405, "Pull Request is still a draft")
    refused(merge(world, pull["number"], sha=world.head("main")), 405, "Pull Request is still a draft")
    error = by_graphql(world, pull)
    assert (error["type"], error["message"]) == ("UNPROCESSABLE", "Pull Request is still a draft")
    assert world.pull(pull["number"])["merged"] is False


def test_a_stale_sha_is_a_conflict(world: World) -> None:
    pull = world.open_pull()
    ahead = world.commit(pull["head"]["sha"], "more")
    world.update_refs({"name": "refs/heads/42-x", "afterOid": ahead})
    words = "Head branch was modified. Review and try the merge again."
    refused(merge(world, pull["number"], sha=pull["head"]["sha"]), 409, words)
    assert by_graphql(world, pull, expectedHeadOid=pull["head"]["sha"])["message"] == words
    whole = "The sha parameter must be exactly 40 characters and contain only [0-9a-f]."
    for sha in (ahead[:12], ahead.upper(), "42-x"):
        refused(merge(world, pull["number"], sha=sha), 422, whole)
    assert merge(world, pull["number"], sha=ahead).status_code == 200


def test_conflicts_closed_and_merged_are_not_mergeable(world: World) -> None:
    pull = world.open_pull()
    world.emulator.commit(REPO, {"a.txt": "other\n"}, branch="release-1")
    refused(merge(world, pull["number"]), 405, "Pull Request is not mergeable")
    world.bot.patch(f"{BASE}/pulls/{pull['number']}", json={"state": "closed"})
    refused(merge(world, pull["number"]), 405, "Pull Request is not mergeable")
    other = world.open_pull(base="main")["number"]
    assert merge(world, other).status_code == 200
    refused(merge(world, other), 405, "Pull Request is not mergeable")


def test_a_base_that_moved_under_the_test_merge_is_refused_once(world: World) -> None:
    number = world.open_pull()["number"]
    world.pull(number), world.pull(number)
    world.emulator.commit(REPO, {"z.txt": "z\n"}, branch="release-1")
    refused(merge(world, number), 405, "Base branch was modified. Review and try the merge again.")
    assert world.pull(number)["merged"] is False
    assert merge(world, number).status_code == 200


def test_a_read_after_the_base_moved_is_enough(world: World) -> None:
    number = world.open_pull()["number"]
    world.pull(number), world.pull(number)
    world.emulator.commit(REPO, {"z.txt": "z\n"}, branch="release-1")
    world.pull(number)
    assert merge(world, number).status_code == 200


@pytest.mark.parametrize(
    ("method", "setting", "words"),
    [
        ("merge", "allow_merge_commit", "Merge commits are not allowed on this repository."),
        ("squash", "allow_squash_merge", "Squash merges are not allowed on this repository."),
        ("rebase", "allow_rebase_merge", "Rebase merges are not allowed on this repository."),
    ],
)
def test_methods_the_repository_switched_off(world: World, method: str, setting: str, words: str) -> None:
    world.emulator.change_repo(REPO, **{setting: False})
    pull = world.open_pull()
    refused(merge(world, pull["number"], merge_method=method), 405, words)
    assert by_graphql(world, pull, mergeMethod=method.upper())["message"] == words


def test_a_branch_with_merge_commits_or_conflicts_on_the_way_cannot_be_rebased(world: World) -> None:
    world.emulator.commit(REPO, {"z.txt": "z\n"}, branch="release-1")
    merged = world.bot.post(f"{BASE}/merges", json={"base": "42-x", "head": "release-1"})
    assert merged.status_code == 201
    pull = world.open_pull()
    refused(merge(world, pull["number"], merge_method="rebase"), 405, "This branch can't be rebased")
    shown = (world.pull(pull["number"]), world.pull(pull["number"]))[1]
    assert (shown["mergeable"], shown["rebaseable"]) == (True, False)
    assert merge(world, pull["number"], merge_method="squash").status_code == 200


def test_bad_requests(world: World) -> None:
    number = world.open_pull()["number"]
    answer = merge(world, number, merge_method="fast-forward")
    refused(answer, 422, 'Invalid request.\n\nfast-forward is not a member of ["merge", "squash", "rebase"].')
    assert merge(world, number, sha=5).status_code == 422
    refused(merge(world, 999), 404, "Not Found")


def test_who_may_merge(world: World) -> None:
    pull = world.open_pull()
    assert merge(world, pull["number"], world.reader).status_code == 403
    error = by_graphql(world, pull, world.reader)
    assert error["type"] == "FORBIDDEN"
    assert error["message"] == "reader does not have the correct permissions to execute `MergePullRequest`"
    narrowed = world.emulator.installation_token(
        world.app, world.installation["id"], permissions={"pull_requests": "write", "contents": "read"}
    )
    with rest(world.emulator, narrowed) as weak:
        refused(merge(world, pull["number"], weak), 403, "Resource not accessible by integration")
        assert by_graphql(world, pull, weak)["message"] == "Resource not accessible by integration"
        told = merge(world, pull["number"], weak).headers["x-accepted-github-permissions"]
        assert told == "contents=write"
    assert merge(world, pull["number"], world.dev).status_code == 200


def test_workflow_files_need_their_permission_in_a_merge_too(world: World) -> None:
    world.emulator.commit(REPO, {".github/workflows/ci.yml": "on: push\n"}, branch="42-x")
    number = world.open_pull()["number"]
    words = "refusing to allow %s to create or update workflow `.github/workflows/ci.yml` without %s"
    refused(merge(world, number), 403, words % ("a GitHub App", "`workflows` permission"))
    with rest(world.emulator, world.emulator.classic_token("dev", scopes=["repo"])) as weak:
        refused(merge(world, number, weak), 403, words % ("a Personal Access Token", "`workflow` scope"))
    world.emulator.change_installation(world.installation["id"], permissions=ALL | {"workflows": "write"})
    token = world.emulator.installation_token(world.app, world.installation["id"])
    with rest(world.emulator, token) as strong:
        assert merge(world, number, strong).status_code == 200


def test_settings_of_a_repository(world: World) -> None:
    world.emulator.change_repo(REPO, collaborators={"dev": "admin"})
    change = world.dev.patch(BASE, json={"allow_squash_merge": False, "delete_branch_on_merge": True})
    assert change.status_code == 200
    shown = world.dev.get(BASE).json()
    assert (shown["allow_squash_merge"], shown["delete_branch_on_merge"]) == (False, True)
    none = world.dev.patch(BASE, json={"allow_merge_commit": False, "allow_rebase_merge": False})
    assert none.status_code == 422
    assert none.json()["errors"] == [
        {
            "resource": "Repository",
            "field": "merge_commit_allowed",
            "code": "invalid",
            "message": "Sorry, you need to allow at least one merge strategy. (no_merge_method)",
        }
    ]
    assert world.dev.patch(BASE, json={"squash_merge_commit_title": "X"}).status_code == 422
    assert world.dev.patch(BASE, json={"merge_commit_title": "PR_TITLE"}).status_code == 422
    assert world.dev.patch(BASE, json={"allow_merge_commit": "yes"}).status_code == 422
    assert world.dev.get(BASE).json()["allow_merge_commit"] is True
    seen = world.graphql('{repository(owner:"octo",name:"demo"){squashMergeAllowed deleteBranchOnMerge}}')
    assert seen["data"]["repository"] == {"squashMergeAllowed": False, "deleteBranchOnMerge": True}


def guard(world: World, branch: str, *rules: dict[str, Any]) -> None:
    world.emulator.change_repo(REPO, collaborators={"dev": "admin"})
    made = world.dev.post(
        f"{BASE}/rulesets",
        json={
            "name": f"guard {branch}",
            "target": "branch",
            "enforcement": "active",
            "conditions": {"ref_name": {"include": [f"refs/heads/{branch}"], "exclude": []}},
            "rules": list(rules),
        },
    )
    assert made.status_code == 201, made.text


def test_rules_refuse_a_method_and_show_the_state_as_blocked(world: World) -> None:
    required = {"required_status_checks": [{"context": "ci"}], "strict_required_status_checks_policy": False}
    guard(world, "release-1", {"type": "required_status_checks", "parameters": required})
    pull = world.open_pull()
    shown = (world.pull(pull["number"]), world.pull(pull["number"]))[1]
    assert (shown["mergeable"], shown["mergeable_state"]) == (True, "blocked")
    answer = merge(world, pull["number"])
    assert answer.status_code == 405
    assert 'Required status check "ci" is expected' in answer.json()["message"]
    assert by_graphql(world, pull)["message"] == answer.json()["message"]
    world.bot.post(f"{BASE}/statuses/{pull['head']['sha']}", json={"state": "success", "context": "ci"})
    assert merge(world, pull["number"]).status_code == 200


def test_rules_reach_branch_merges_too(world: World) -> None:
    review = {
        "required_approving_review_count": 0,
        "dismiss_stale_reviews_on_push": False,
        "require_code_owner_review": False,
        "require_last_push_approval": False,
        "required_review_thread_resolution": False,
    }
    guard(world, "release-1", {"type": "pull_request", "parameters": review})
    answer = world.bot.post(f"{BASE}/merges", json={"base": "release-1", "head": "42-x"})
    assert answer.status_code == 409
    assert "Changes must be made through a pull request." in answer.json()["message"]


def test_a_guarded_head_outlives_its_merge(world: World) -> None:
    guard(world, "42-x", {"type": "deletion"})
    world.emulator.change_repo(REPO, delete_branch_on_merge=True)
    assert merge(world, world.open_pull()["number"]).status_code == 200
    assert set(world.refs("heads/42-x")) == {"refs/heads/42-x"}
