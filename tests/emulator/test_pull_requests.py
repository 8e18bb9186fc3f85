"""The life of pull requests while their branches move, vanish and come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emulated import REPO, ZERO, World, git, new_commit

BASE = f"/repos/{REPO}"


def complaint(answer: Any) -> str:
    """The one error of a 422."""
    assert answer.status_code == 422, answer.text
    assert answer.json()["message"] == "Validation Failed"
    return str(answer.json()["errors"][0].get("message", answer.json()["errors"][0]))


def create(world: World, head: str, base: str, **more: Any) -> Any:
    return world.bot.post(f"{BASE}/pulls", json={"title": "t", "head": head, "base": base} | more)


def reopen(world: World, number: int) -> Any:
    return world.bot.patch(f"{BASE}/pulls/{number}", json={"state": "open"})


def move(world: World, branch: str, after: str, *, force: bool = False) -> None:
    answer = world.update_refs({"name": f"refs/heads/{branch}", "afterOid": after, "force": force})
    assert "errors" not in answer


def test_refusals_at_creation(world: World) -> None:
    assert complaint(create(world, "release-1", "main")) == "No commits between main and release-1"
    assert "'head'" in complaint(create(world, "nothing", "main"))
    assert "'base'" in complaint(create(world, "42-x", "nothing"))
    world.open_pull()
    assert complaint(create(world, "42-x", "release-1")) == "A pull request already exists for octo:42-x."
    assert create(world, "octo:42-x", "main").status_code == 201


def test_drafts_need_a_plan_on_private_repositories(world: World) -> None:
    world.emulator.change_repo(REPO, private=True, plan_allows_drafts=False)
    answer = create(world, "42-x", "release-1", draft=True)
    assert answer.json()["message"] == "Draft pull requests are not supported in this repository."
    assert create(world, "42-x", "release-1").status_code == 201


def test_issues_and_pull_requests_share_numbers(world: World) -> None:
    first = world.emulator.issue(REPO, "one")["number"]
    second = world.open_pull()["number"]
    assert world.emulator.issue(REPO, "three")["number"] == second + 1 == first + 2
    assert "pull_request" in world.bot.get(f"{BASE}/issues/{second}").json()
    assert world.bot.get(f"{BASE}/pulls/{first}").status_code == 404


def test_a_deleted_head_closes_and_its_return_reopens(world: World) -> None:
    pull = world.open_pull()
    number, head = pull["number"], pull["head"]["sha"]
    move(world, "42-x", ZERO)
    assert world.pull(number)["state"] == "closed"
    assert complaint(reopen(world, number)) == "state cannot be changed. The 42-x branch has been deleted."
    move(world, "42-x", world.head("main"))
    words = "state cannot be changed. The 42-x branch was force-pushed or recreated."
    assert complaint(reopen(world, number)) == words
    move(world, "42-x", ZERO)
    move(world, "42-x", head)
    assert reopen(world, number).json()["state"] == "open"
    assert world.timeline(number) == [
        "head_ref_deleted",
        "closed",
        "head_ref_restored",
        "reopened",
    ]


def test_a_closed_pull_request_keeps_its_head(world: World) -> None:
    pull = world.open_pull()
    world.bot.patch(f"{BASE}/pulls/{pull['number']}", json={"state": "closed"})
    ahead = world.commit(pull["head"]["sha"], "more")
    move(world, "42-x", ahead)
    assert world.pull(pull["number"])["head"]["sha"] == pull["head"]["sha"]
    assert reopen(world, pull["number"]).json()["head"]["sha"] == ahead


def test_a_deleted_base_closes_and_forbids_retargeting(world: World) -> None:
    pull = world.open_pull()
    base = pull["base"]["sha"]
    move(world, "release-1", ZERO)
    assert world.pull(pull["number"])["state"] == "closed"
    retarget = world.bot.patch(f"{BASE}/pulls/{pull['number']}", json={"base": "main"})
    assert complaint(retarget) == "Cannot change the base branch of a closed pull request."
    assert "has been deleted" in complaint(reopen(world, pull["number"]))
    move(world, "release-1", base)
    assert reopen(world, pull["number"]).status_code == 200
    assert world.bot.patch(f"{BASE}/pulls/{pull['number']}", json={"base": "main"}).json()["base"]["ref"] == "main"
    assert "base_ref_changed" in world.timeline(pull["number"])


def test_retargeting_is_refused_where_there_is_nothing_to_merge(world: World) -> None:
    pull = world.open_pull()
    world.update_refs({"name": "refs/heads/ahead", "afterOid": world.commit(pull["head"]["sha"])})
    answer = world.bot.patch(f"{BASE}/pulls/{pull['number']}", json={"base": "ahead"})
    assert complaint(answer).startswith("There are no new commits between")
    assert "was not found" in complaint(world.bot.patch(f"{BASE}/pulls/{pull['number']}", json={"base": "no"}))


def test_a_reset_head_closes_for_good(world: World) -> None:
    pull = world.open_pull()
    move(world, "42-x", world.head("release-1"), force=True)
    shown = world.pull(pull["number"])
    assert (shown["state"], shown["merged"]) == ("closed", False)
    move(world, "42-x", pull["head"]["sha"], force=True)
    assert "There are no new commits" in complaint(reopen(world, pull["number"]))


def test_commits_pushed_to_the_base_mean_merged(world: World, tmp_path: Path) -> None:
    pull = world.open_pull()
    clone = world.clone(tmp_path / "c", "dev")
    git(clone, "checkout", "-q", "release-1")
    git(clone, "merge", "-q", "--no-ff", "-m", "Merge", "origin/42-x")
    merge = git(clone, "rev-parse", "HEAD").stdout.strip()
    new_commit(clone, "after")
    git(clone, "push", "-q", "--atomic", "origin", "release-1", ":42-x")
    shown = world.pull(pull["number"])
    assert (shown["state"], shown["merged"], shown["merge_commit_sha"]) == ("closed", True, merge)
    assert shown["merged_by"]["login"] == "dev"
    assert "cannot be reopened" in complaint(reopen(world, pull["number"]))
    assert world.timeline(pull["number"])[:2] == ["merged", "closed"]


def test_pushes_synchronize_and_the_head_is_kept_as_a_ref(world: World) -> None:
    pull = world.open_pull()
    before = pull["head"]["sha"]
    ahead = world.commit(before, "more")
    move(world, "42-x", ahead)
    assert world.pull(pull["number"])["head"]["sha"] == ahead
    assert world.refs("pull/") == {f"refs/pull/{pull['number']}/head": ahead}
    move(world, "42-x", world.commit(world.head("main"), "rewritten"), force=True)
    assert world.timeline(pull["number"]) == ["head_ref_force_pushed"]
    sent = [d["payload"] for d in world.emulator.deliveries() if d["action"] == "synchronize"]
    assert sent == []  # no webhook URL: nothing is recorded


def test_mergeability_is_computed_on_read(world: World) -> None:
    pull = world.open_pull()
    first, second = world.pull(pull["number"]), world.pull(pull["number"])
    assert (first["mergeable"], first["mergeable_state"]) == (None, "unknown")
    assert (second["mergeable"], second["mergeable_state"]) == (True, "clean")
    world.emulator.commit(REPO, {"a.txt": "other\n"}, branch="release-1")
    assert world.pull(pull["number"])["mergeable"] is None
    assert world.pull(pull["number"])["mergeable_state"] == "dirty"


def test_lists_filter_by_head_base_and_state(world: World) -> None:
    number = world.open_pull()["number"]

    def listed(**query: str) -> list[int]:
        return [p["number"] for p in world.bot.get(f"{BASE}/pulls", params=query).json()]

    assert listed(head="octo:42-x") == listed(base="release-1") == [number]
    assert listed(head="octo:other") == listed(base="main") == listed(state="closed") == []
    assert listed(head="no-owner-means-no-filter") == [number]


def test_references_leave_a_trace_on_the_issue(world: World) -> None:
    issue = world.emulator.issue(REPO, "Work")["number"]
    number = world.open_pull(body=f"Ticket: #{issue}\n\n`#{issue}` and octo/demo#{issue}")["number"]
    world.bot.post(f"{BASE}/issues/{number}/comments", json={"body": f"again #{issue}"})
    (event,) = world.bot.get(f"{BASE}/issues/{issue}/timeline").json()
    assert event["event"] == "cross-referenced"
    assert event["source"]["issue"]["number"] == number
