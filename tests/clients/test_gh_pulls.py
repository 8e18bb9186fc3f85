"""gh about pull requests, from the first draft to the merge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gh import Gh, every_gh
from outsiders import REPO, Outside, commit

FIELDS = (
    "number,title,body,state,isDraft,mergeable,mergeStateStatus,reviewDecision,statusCheckRollup,headRefName,"
    "headRefOid,baseRefName,commits,files,reviews,latestReviews,reviewRequests,mergeCommit,mergedBy,mergedAt,"
    "maintainerCanModify,headRepository,headRepositoryOwner,isCrossRepository,potentialMergeCommit,comments,labels,"
    "assignees,milestone,additions,deletions,changedFiles,author,closed,url,id,createdAt,updatedAt,closedAt"
)


@pytest.fixture
def gh(outside: Outside, version: tuple[int, int], tmp_path: Path) -> Gh:
    desk = Gh.at_desk(outside, version, tmp_path)
    desk.git("checkout", "-q", "42-x")
    return desk


def pull(gh: Gh, number: int) -> dict[str, Any]:
    return dict(gh.outside.rest("dev", "GET", f"/repos/{REPO}/pulls/{number}"))


def opened(gh: Gh, *options: str) -> str:
    """Open a pull request from the branch of the clone; its number."""
    return gh("pr", "create", "-t", "Add a", "-b", "Fine", "-B", "main", *options).rpartition("/")[2]


@every_gh
def test_a_draft_becomes_ready_and_a_draft_again(gh: Gh) -> None:
    number = opened(gh, "--draft", "--label", "bug", "--assignee", "@me", "--reviewer", "mate")
    shown = pull(gh, 1)
    assert (shown["draft"], shown["head"]["ref"], shown["base"]["ref"]) == (True, "42-x", "main")
    assert [x["name"] for x in shown["labels"]] == ["bug"]
    assert [a["login"] for a in shown["requested_reviewers"]] == ["mate"]
    assert "already exists" in gh.refused("pr", "create", "-t", "Again", "-b", "", "-B", "main")
    gh("pr", "ready", number)
    assert pull(gh, 1)["draft"] is False
    assert "already" in gh.try_("pr", "ready", number).stderr
    gh("pr", "ready", number, "--undo")
    assert pull(gh, 1)["draft"] is True
    assert "still a draft" in gh.refused("pr", "merge", number, "--merge")


@every_gh
def test_everything_about_a_pull_request_in_json(gh: Gh) -> None:
    number = opened(gh)
    gh("pr", "comment", number, "-b", "A remark")
    gh("pr", "review", number, "--approve", "-b", "Good", who="mate")
    shown = gh.json("pr", "view", number, "--json", FIELDS)
    assert (shown["state"], shown["isDraft"], shown["headRefName"]) == ("OPEN", False, "42-x")
    assert shown["headRefOid"] == gh.outside.head("42-x")
    assert [f["path"] for f in shown["files"]] == ["a.txt"]
    assert [c["oid"] for c in shown["commits"]] == [gh.outside.head("42-x")]
    assert [(r["author"]["login"], r["state"], r["body"]) for r in shown["reviews"]] == [("mate", "APPROVED", "Good")]
    assert [c["body"] for c in shown["comments"]] == ["A remark"]
    assert (shown["additions"], shown["deletions"], shown["changedFiles"]) == (1, 0, 1)
    shown = gh.json("pr", "view", number, "--json", "mergeable,mergeStateStatus")
    assert shown == {"mergeable": "MERGEABLE", "mergeStateStatus": "CLEAN"}
    assert "+1" in gh("pr", "diff", number)
    if gh.version >= (2, 80):
        said = gh("pr", "view", number, "--comments")
        assert "A remark" in said
        assert "title:\tAdd a" in gh("pr", "view")
    else:
        assert "(repository.pullRequests.nodes.0.projectCards)" in gh.refused("pr", "view")


@every_gh
def test_pull_requests_are_listed_by_what_they_are(gh: Gh) -> None:
    opened(gh, "--label", "bug")
    outside = gh.outside
    outside.rest("dev", "POST", f"/repos/{REPO}/git/refs", ref="refs/heads/rel", sha=outside.head("main"))
    outside.rest("mate", "POST", f"/repos/{REPO}/pulls", title="To rel", head="42-x", base="rel", draft=True)

    def numbers(*options: str) -> list[int]:
        return [p["number"] for p in gh.json("pr", "list", "--json", "number", *options)]

    assert numbers() == [2, 1]
    assert numbers("--base", "rel") == [2]
    assert numbers("--head", "42-x") == [2, 1]
    assert numbers("--author", "mate") == [2]
    assert numbers("--label", "bug") == [1]
    assert numbers("--search", "is:open draft:false") == [1]
    assert numbers("--state", "merged") == []
    said = gh("pr", "status")
    assert "#1" in said
    shown = gh.json("pr", "status", "--json", "number,title")
    assert [p["number"] for p in shown["createdBy"]] == [1]


@every_gh
def test_a_pull_request_is_edited_reviewed_closed_and_reopened(gh: Gh) -> None:
    number = opened(gh)
    if gh.version >= (2, 80):
        gh("pr", "edit", number, "-t", "Better", "-b", "Finer", "--add-label", "bug", "--add-reviewer", "mate")
        shown = pull(gh, 1)
        assert (shown["title"], shown["body"]) == ("Better", "Finer")
        assert [a["login"] for a in shown["requested_reviewers"]] == ["mate"]
        gh("pr", "edit", number, "--remove-reviewer", "mate", "--remove-label", "bug")
        assert pull(gh, 1)["requested_reviewers"] == pull(gh, 1)["labels"] == []
    else:
        assert "projectCards" in gh.refused("pr", "edit", number, "-t", "Better")
    gh("pr", "review", number, "--request-changes", "-b", "No", who="mate")
    gh("pr", "review", number, "--comment", "-b", "Why?")
    assert "own pull request" in gh.refused("pr", "review", number, "--approve")
    reviews = gh.outside.rest("dev", "GET", f"/repos/{REPO}/pulls/1/reviews")
    assert [r["state"] for r in reviews] == ["CHANGES_REQUESTED", "COMMENTED"]
    gh("pr", "close", number, "-c", "Not now")
    assert pull(gh, 1)["state"] == "closed"
    gh("pr", "reopen", number)
    assert pull(gh, 1)["state"] == "open"


@every_gh
@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_pull_request_is_merged(gh: Gh, method: str) -> None:
    number = opened(gh)
    base, head = gh.outside.head("main"), gh.outside.head("42-x")
    texts = [] if method == "rebase" else ["--subject", "Land it", "--body", "At last"]
    assert "Head branch was modified" in gh.refused(
        "pr", "merge", number, f"--{method}", "--match-head-commit", base, *texts
    )
    gh("pr", "merge", number, f"--{method}", "--delete-branch", "--match-head-commit", head, *texts)
    shown = pull(gh, 1)
    assert (shown["merged"], shown["merged_by"]["login"]) == (True, "dev")
    assert set(gh.outside.refs("heads/")) == {"refs/heads/main"}
    assert gh.git("branch", "--show-current") == "main"
    landed = gh.outside.rest("dev", "GET", f"/repos/{REPO}/commits/main")
    assert len(landed["parents"]) == (2 if method == "merge" else 1)
    if texts:
        assert landed["commit"]["message"] == "Land it\n\nAt last"
    assert shown["merge_commit_sha"] == landed["sha"]
    assert "already merged" in gh.try_("pr", "merge", number, f"--{method}").stderr


@every_gh
def test_a_merge_waits_for_its_checks(gh: Gh) -> None:
    outside = gh.outside
    outside.rest("dev", "PATCH", f"/repos/{REPO}", allow_auto_merge=True)
    outside.rest(
        "dev",
        "PUT",
        f"/repos/{REPO}/branches/main/protection",
        required_status_checks={"strict": False, "contexts": ["build"]},
        enforce_admins=True,
        required_pull_request_reviews=None,
        restrictions=None,
    )
    number = opened(gh)
    head = outside.head("42-x")
    run = outside.rest("bot", "POST", f"/repos/{REPO}/check-runs", name="build", head_sha=head, status="in_progress")
    assert "build" in gh.try_("pr", "checks", number).stdout
    assert gh.try_("pr", "checks", number).returncode != 0
    # Asking made GitHub look whether it can be merged; gh knows the answer the next time it asks.
    assert 'Required status check "build" is in progress.' in gh.refused("pr", "merge", number, "--squash")
    assert "the base branch policy prohibits the merge" in gh.refused("pr", "merge", number, "--squash")
    gh("pr", "merge", number, "--squash", "--auto")
    assert pull(gh, 1)["auto_merge"]["merge_method"] == "squash"
    gh("pr", "merge", number, "--disable-auto")
    assert pull(gh, 1)["auto_merge"] is None
    gh("pr", "merge", number, "--squash", "--auto")
    outside.rest("bot", "PATCH", f"/repos/{REPO}/check-runs/{run['id']}", status="completed", conclusion="success")
    outside.emulator.flush()
    assert pull(gh, 1)["merged"] is True
    assert "pass" in gh("pr", "checks", number)


@every_gh
def test_checks_and_statuses_are_told(gh: Gh) -> None:
    number = opened(gh)
    head = gh.outside.head("42-x")
    assert "no checks reported" in gh.refused("pr", "checks", number)
    gh.outside.rest("bot", "POST", f"/repos/{REPO}/check-runs", name="build", head_sha=head, conclusion="failure")
    gh.outside.rest("dev", "POST", f"/repos/{REPO}/statuses/{head}", state="success", context="lint")
    done = gh.try_("pr", "checks", number)
    assert done.returncode == 1
    told = dict(line.split("\t")[:2] for line in done.stdout.splitlines())
    assert told == {"build": "fail", "lint": "pass"}
    rollup = gh.json("pr", "view", number, "--json", "statusCheckRollup")["statusCheckRollup"]
    assert {c.get("name") or c["context"]: c.get("conclusion") or c["state"] for c in rollup} == {
        "build": "FAILURE",
        "lint": "SUCCESS",
    }


@every_gh
def test_somebody_elses_pull_request_is_checked_out_and_pushed_to(gh: Gh, tmp_path: Path) -> None:
    number = opened(gh)
    gh.git("checkout", "-q", "main")
    gh.git("branch", "-q", "-D", "42-x")
    moved = gh.outside.emulator.commit(REPO, {"b.txt": "2\n"}, branch="42-x", author="mate")
    gh("pr", "checkout", number)
    assert gh.git("rev-parse", "HEAD") == moved
    assert gh.git("branch", "--show-current") == "42-x"
    sha = commit(gh.folder, "c.txt")
    gh.git("push", "-q")
    assert pull(gh, 1)["head"]["sha"] == sha


@every_gh
def test_who_may_not_merge_is_told(gh: Gh) -> None:
    number = opened(gh)
    assert "reader does not have the correct permissions to execute `MergePullRequest`" in gh.refused(
        "pr", "merge", number, "--merge", "-R", REPO, who="reader"
    )
    gh.outside.rest("dev", "PATCH", f"/repos/{REPO}", allow_rebase_merge=False)
    assert "Rebase merges are not allowed on this repository" in gh.refused("pr", "merge", number, "--rebase")


@every_gh
def test_rules_are_listed_and_checked(gh: Gh) -> None:
    if gh.version < (2, 31):
        assert "unknown command" in gh.refused("ruleset", "list")
        return
    gh.outside.rest(
        "dev",
        "POST",
        f"/repos/{REPO}/rulesets",
        name="guard",
        target="branch",
        enforcement="active",
        conditions={"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        rules=[{"type": "deletion"}, {"type": "non_fast_forward"}],
    )
    listed = gh("ruleset", "list").splitlines()
    assert len(listed) == 1
    number, name, *_ = listed[0].split("\t")
    assert name == "guard"
    said = gh("ruleset", "check", "main")
    assert "deletion" in said
    assert "2 rules apply to branch main" in said
    assert "0 rules apply to branch 42-x" in gh("ruleset", "check", "42-x")
    assert "non_fast_forward" in gh("ruleset", "view", number)
