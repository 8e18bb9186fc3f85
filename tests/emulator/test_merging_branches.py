"""Branches merged by API: update-branch, "merge a branch", asynchronous merges, mergeability and its refs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emulated import REPO, World, git, rest

BASE = f"/repos/{REPO}"
UPDATE = "mutation($i:UpdatePullRequestBranchInput!){updatePullRequestBranch(input:$i){pullRequest{headRefOid}}}"


def behind(world: World) -> dict[str, Any]:
    """A pull request whose base has moved on without conflicts."""
    pull = world.open_pull()
    world.emulator.commit(REPO, {"z.txt": "z\n"}, branch="release-1")
    return pull


def update(world: World, number: int, **body: Any) -> Any:
    return world.bot.put(f"{BASE}/pulls/{number}/update-branch", json=body)


def refused(answer: Any, status: int, message: str) -> None:
    assert (answer.status_code, answer.json()["message"]) == (status, message)


# Mergeability


def test_mergeability_comes_with_reads_and_goes_with_moves_and_time(world: World) -> None:
    number = world.open_pull()["number"]

    def state() -> tuple[Any, Any, Any]:
        shown = world.dev.get(f"{BASE}/pulls/{number}").json()
        return shown["mergeable"], shown["rebaseable"], shown["mergeable_state"]

    def listed() -> tuple[Any, ...]:
        (shown,) = world.bot.get(f"{BASE}/pulls").json()
        return shown.get("mergeable"), shown["merge_commit_sha"]

    assert listed() == (None, None)
    assert state() == (None, None, "unknown")
    assert listed() == (None, None)
    assert state() == (True, True, "clean")
    trial = world.pull(number)["merge_commit_sha"]
    assert [p["sha"] for p in world.bot.get(f"{BASE}/git/commits/{trial}").json()["parents"]] == [
        world.head("release-1"),
        world.head("42-x"),
    ]
    world.emulator.commit(REPO, {"z.txt": "z\n"}, branch="release-1")
    assert state() == (None, None, "unknown")
    assert world.pull(number)["mergeable"] is True
    world.update_refs({"name": "refs/heads/42-x", "afterOid": world.commit(world.head("42-x"), "more")})
    assert state()[0] is None
    assert state()[0] is True
    world.emulator.advance(3601)
    assert state()[0] is None
    assert state()[0] is True
    world.emulator.commit(REPO, {"a.txt": "other\n"}, branch="release-1")
    assert state()[0] is None
    assert state() == (False, False, "dirty")


def test_graphql_and_rest_agree_and_both_start_the_computation(world: World) -> None:
    pull = world.open_pull(draft=True)
    query = "query($id:ID!){node(id:$id){... on PullRequest{mergeable mergeStateStatus canBeRebased}}}"

    def seen() -> dict[str, Any]:
        return dict(world.graphql(query, id=pull["node_id"])["data"]["node"])

    assert seen() == {"mergeable": "UNKNOWN", "mergeStateStatus": "UNKNOWN", "canBeRebased": False}
    shown = world.pull(pull["number"])
    assert (shown["mergeable"], shown["mergeable_state"]) == (True, "draft")
    assert seen() == {"mergeable": "MERGEABLE", "mergeStateStatus": "DRAFT", "canBeRebased": True}


def test_the_test_merge_is_a_ref_that_grows_old(world: World, tmp_path: Path) -> None:
    pull = world.open_pull()
    number = pull["number"]
    assert set(world.refs("pull/")) == {f"refs/pull/{number}/head"}
    world.pull(number), world.pull(number)
    before = world.refs("pull/")[f"refs/pull/{number}/merge"]
    ahead = world.commit(pull["head"]["sha"], "more")
    world.update_refs({"name": "refs/heads/42-x", "afterOid": ahead})
    assert world.refs("pull/") == {f"refs/pull/{number}/head": ahead, f"refs/pull/{number}/merge": before}
    clone = world.clone(tmp_path / "c", "dev")
    git(clone, "fetch", "-q", "origin", f"refs/pull/{number}/merge:merge", f"refs/pull/{number}/head:head")
    assert git(clone, "rev-parse", "merge", "head").stdout.split() == [before, ahead]
    denied = git(clone, "push", "origin", f"HEAD:refs/pull/{number}/head", check=False)
    assert "deny updating a hidden ref" in denied.stderr
    world.bot.patch(f"{BASE}/pulls/{number}", json={"state": "closed"})
    assert set(world.refs("pull/")) == {f"refs/pull/{number}/head"}


# Update a pull request branch


def test_update_branch_answers_at_once_and_merges_later(world: World) -> None:
    pull = behind(world)
    answer = update(world, pull["number"], expected_head_sha=pull["head"]["sha"])
    refused(answer, 202, "Updating pull request branch.")
    assert world.pull(pull["number"])["head"]["sha"] == pull["head"]["sha"]
    tip = world.pull(pull["number"])["head"]["sha"]
    made = world.bot.get(f"{BASE}/git/commits/{tip}").json()
    assert [p["sha"] for p in made["parents"]] == [pull["head"]["sha"], world.head("release-1")]
    assert made["message"] == "Merge branch 'release-1' into 42-x"


def test_update_branch_is_dropped_when_the_head_moves_first(world: World) -> None:
    pull = behind(world)
    ahead = world.commit(pull["head"]["sha"], "more")
    update(world, pull["number"])
    world.update_refs({"name": "refs/heads/42-x", "afterOid": ahead})
    world.emulator.flush()
    assert world.head("42-x") == ahead


def test_update_branch_refusals(world: World) -> None:
    pull = world.open_pull()
    number = pull["number"]
    refused(update(world, number), 422, "There are no new commits on the base branch.")
    world.emulator.commit(REPO, {"a.txt": "other\n"}, branch="release-1")
    stale = update(world, number, expected_head_sha="a" * 40)
    refused(stale, 422, "expected head sha didn\N{RIGHT SINGLE QUOTATION MARK}t match current head ref.")
    refused(update(world, number), 422, "merge conflict between base and head")
    mine = world.reader.put(f"{BASE}/pulls/{number}/update-branch", json={})
    refused(mine, 403, "user doesn't have permission to update head repository")


def test_update_branch_by_graphql_merges_or_rebases(world: World) -> None:
    pull = behind(world)
    given = {"pullRequestId": pull["node_id"], "expectedHeadOid": pull["head"]["sha"], "updateMethod": "REBASE"}
    tip = world.graphql(UPDATE, i=given)["data"]["updatePullRequestBranch"]["pullRequest"]["headRefOid"]
    made = world.bot.get(f"{BASE}/git/commits/{tip}").json()
    assert [p["sha"] for p in made["parents"]] == [world.head("release-1")]
    assert world.timeline(pull["number"]) == ["head_ref_force_pushed"]
    (error,) = world.graphql(UPDATE, i=given)["errors"]
    assert error["message"] == "expected head sha didn\N{RIGHT SINGLE QUOTATION MARK}t match current head ref."


# Merge a branch


def test_merging_branches(world: World) -> None:
    def merge(base: str, head: str, **more: Any) -> Any:
        return world.bot.post(f"{BASE}/merges", json={"base": base, "head": head} | more)

    refused(merge("nothing", "42-x"), 404, "Base does not exist")
    refused(merge("main", "nothing"), 404, "Head does not exist")
    before = [world.head("main"), world.head("42-x")]
    made = merge("main", "42-x", commit_message="Bring it")
    assert made.status_code == 201
    assert made.json()["commit"]["message"] == "Bring it"
    assert [p["sha"] for p in made.json()["parents"]] == before
    assert world.head("main") == made.json()["sha"]
    again = merge("main", before[1])
    assert (again.status_code, again.content) == (204, b"")
    world.emulator.commit(REPO, {"a.txt": "other\n"}, branch="release-1")
    refused(merge("release-1", "42-x"), 409, "Merge conflict")
    assert world.reader.post(f"{BASE}/merges", json={"base": "main", "head": "42-x"}).status_code == 403


def test_merging_branches_by_graphql(world: World) -> None:
    query = "mutation($i:MergeBranchInput!){mergeBranch(input:$i){mergeCommit{oid message}}}"
    given = {"repositoryId": world.repo["node_id"], "base": "main", "head": "42-x"}
    made = world.graphql(query, i=given)["data"]["mergeBranch"]["mergeCommit"]
    assert made == {"oid": world.head("main"), "message": "Merge 42-x into main"}
    assert "Already merged" in world.graphql(query, i=given)["errors"][0]["message"]


# Asynchronous merges


def ask(world: World, number: int, **body: Any) -> Any:
    return world.bot.put(f"{BASE}/pulls/{number}/merge-async", json=body)


def result(world: World, number: int, uuid: str) -> Any:
    return world.bot.get(f"{BASE}/pulls/{number}/merge-async/{uuid}")


def test_an_asynchronous_merge_is_accepted_then_done_and_told_for_a_day(world: World) -> None:
    pull = world.open_pull()
    number = pull["number"]
    accepted = ask(world, number, merge_method="squash")
    assert accepted.status_code == 202
    details = accepted.json()["details"]
    uuid = details.pop("uuid")
    assert (accepted.json()["status"], details) == (
        "pending",
        {
            "message": "Merge request enqueued.",
            "merge_method": "squash",
            "merge_action": "default",
            "expected_head_sha": pull["head"]["sha"],
        },
    )
    assert result(world, number, uuid).json()["details"]["message"] == "Merge request is in progress."
    done = result(world, number, uuid).json()
    sha = world.head("release-1")
    assert done == {"status": "merged", "details": {"message": "Pull request was merged.", "sha": sha}}
    again = ask(world, number)
    assert again.status_code == 200
    assert again.json()["details"] == {"message": "Pull request is already merged.", "sha": sha}
    assert result(world, number, "0" * 8).status_code == 404
    world.emulator.advance(86_401)
    token = world.emulator.installation_token(world.app, world.installation["id"])
    with rest(world.emulator, token) as later:
        assert later.get(f"{BASE}/pulls/{number}/merge-async/{uuid}").status_code == 404


def test_a_second_request_gets_the_first_ones_uuid(world: World) -> None:
    number = world.open_pull()["number"]
    first = ask(world, number, merge_method="rebase").json()["details"]
    second = ask(world, number, merge_method="merge")
    assert second.status_code == 409
    assert second.json()["details"] == first | {"message": "A merge request already exists for this pull request."}


def test_a_push_in_between_cancels_an_asynchronous_merge(world: World) -> None:
    pull = world.open_pull()
    uuid = ask(world, pull["number"], sha="a" * 40).json()["details"]["uuid"]
    result(world, pull["number"], uuid)
    failed = result(world, pull["number"], uuid).json()
    assert failed["status"] == "failed"
    assert failed["details"] == {"message": "Head branch was modified. Review and try the merge again."}
    assert world.pull(pull["number"])["merged"] is False


def test_asynchronous_merges_look_at_the_state_at_once_and_at_the_rest_later(world: World) -> None:
    draft = world.open_pull(draft=True)["number"]
    assert (ask(world, draft).status_code, ask(world, draft).json()["status"]) == (400, "failed")
    world.bot.patch(f"{BASE}/pulls/{draft}", json={"state": "closed"})
    assert ask(world, draft).json() == {"status": "failed", "details": {"message": "Pull request is closed."}}
    world.emulator.change_repo(REPO, allow_merge_commit=False)
    number = world.open_pull(base="main")["number"]
    uuid = ask(world, number).json()["details"]["uuid"]
    result(world, number, uuid)
    failed = result(world, number, uuid).json()
    assert failed["details"]["message"] == "Merge commits are not allowed on this repository."
    assert ask(world, number, merge_action="later").status_code == 422


def test_nobody_need_ask_for_an_asynchronous_merge_to_happen(world: World) -> None:
    number = world.open_pull()["number"]
    ask(world, number)
    world.emulator.flush()
    assert world.pull(number)["merged"] is True
