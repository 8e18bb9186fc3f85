"""gh about Issues, labels, repositories and the API, in the hands of a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from gh import Gh, every_gh
from outsiders import REPO, Outside

CLASSIC_ENDED = (
    "Projects (classic) is being deprecated in favor of the new Projects experience, see: "
    "https://github.blog/changelog/2024-05-23-sunset-notice-projects-classic/."
)
FIELDS = "number,title,body,state,stateReason,labels,assignees,comments,author,closedAt,url,milestone,reactionGroups"


@pytest.fixture
def gh(outside: Outside, version: tuple[int, int], tmp_path: Path) -> Gh:
    return Gh.at_desk(outside, version, tmp_path)


def last(url: str) -> str:
    return url.rstrip().rpartition("/")[2]


@every_gh
def test_an_issue_is_created_read_changed_and_closed(gh: Gh) -> None:
    number = last(gh("issue", "create", "-t", "It breaks", "-b", "Always", "-l", "bug", "-a", "@me"))
    shown = gh.json("issue", "view", number, "--json", FIELDS.replace("stateReason,", ""))
    assert (shown["title"], shown["body"], shown["state"]) == ("It breaks", "Always", "OPEN")
    assert [x["name"] for x in shown["labels"]] == ["bug"]
    assert [a["login"] for a in shown["assignees"]] == ["dev"]
    gh("issue", "edit", number, "-t", "It broke", "-b", "Once", "--remove-label", "bug", "--add-label", "question")
    gh("issue", "edit", number, "--remove-assignee", "@me", "--add-assignee", "mate")
    shown = gh.json("issue", "view", number, "--json", "title,body,labels,assignees")
    assert (shown["title"], shown["body"]) == ("It broke", "Once")
    assert [x["name"] for x in shown["labels"]] == ["question"]
    assert [a["login"] for a in shown["assignees"]] == ["mate"]
    gh("issue", "close", number, "-r", "not planned", "-c", "Not today")
    shown = gh.outside.rest("dev", "GET", f"/repos/{REPO}/issues/{number}")
    assert (shown["state"], shown["state_reason"], shown["comments"]) == ("closed", "not_planned", 1)
    assert "already closed" in gh.try_("issue", "close", number).stderr
    gh("issue", "reopen", number)
    shown = gh.outside.rest("dev", "GET", f"/repos/{REPO}/issues/{number}")
    assert (shown["state"], shown["state_reason"]) == ("open", "reopened")


@every_gh
def test_issues_are_listed_by_what_they_are(gh: Gh) -> None:
    emulator = gh.outside.emulator
    emulator.issue(REPO, "A bug", labels=["bug"], assignees=["dev"], author="mate")
    emulator.issue(REPO, "A question", body="@dev, why?", labels=["question"], author="reader")
    emulator.issue(REPO, "Old", author="dev")
    gh("issue", "close", "3")
    gh("pr", "create", "-t", "No issue", "-b", "", "-B", "main", "-H", "42-x")

    def titles(*options: str) -> list[str]:
        return [i["title"] for i in gh.json("issue", "list", "--json", "title", *options)]

    assert titles() == ["A question", "A bug"]
    assert titles("--state", "closed") == ["Old"]
    assert titles("--state", "all", "--limit", "2") == ["Old", "A question"]
    assert titles("--label", "bug") == ["A bug"]
    assert titles("--author", "reader") == ["A question"]
    assert titles("--assignee", "@me") == ["A bug"]
    assert titles("--mention", "dev") == ["A question"]
    assert titles("--search", "bug in:title sort:created-asc") == ["A bug"]
    assert titles("--search", "no:assignee -label:bug") == ["A question"]
    assert gh("issue", "list").splitlines()[0].split("\t")[:3] == ["2", "OPEN", "A question"]
    assert "A bug" in gh("issue", "status")
    assert [i["title"] for i in gh.json("search", "issues", "--repo", REPO, "bug", "--json", "title")] == ["A bug"]


@every_gh
def test_comments_are_written_edited_and_read(gh: Gh) -> None:
    number = str(gh.outside.emulator.issue(REPO, "Talk", author="mate")["number"])
    url = gh("issue", "comment", number, "-b", "First")
    assert "#issuecomment-" in url
    assert gh("issue", "comment", number, "-b", "Second thought", "--edit-last") == url
    gh("issue", "comment", number, "-b", "Mine", who="mate")
    comments = gh.json("issue", "view", number, "--json", "comments")["comments"]
    assert [(c["author"]["login"], c["body"]) for c in comments] == [("dev", "Second thought"), ("mate", "Mine")]
    if gh.version >= (2, 80):
        said = gh("issue", "view", number, "--comments")
        assert "Second thought" in said
        assert "edited:\ttrue" in said


@every_gh
def test_a_branch_is_made_for_an_issue(gh: Gh) -> None:
    number = str(gh.outside.emulator.issue(REPO, "Develop me")["number"])
    said = gh("issue", "develop", number, "--name", "1-dev", "--base", "main", "--checkout")
    assert "1-dev" in said
    assert gh.git("branch", "--show-current") == "1-dev"
    assert gh.outside.head("1-dev") == gh.outside.head("main")
    assert "1-dev" in gh("issue", "develop", "--list", number)


@every_gh
def test_issues_are_locked_and_labels_kept(gh: Gh) -> None:
    number = str(gh.outside.emulator.issue(REPO, "Hot")["number"])
    gh("issue", "lock", number, "-r", "too_heated")
    shown = gh.outside.rest("dev", "GET", f"/repos/{REPO}/issues/{number}")
    assert (shown["locked"], shown["active_lock_reason"]) == (True, "too heated")
    gh("issue", "unlock", number)
    gh("label", "create", "prio", "-c", "ff0000", "-d", "first things first")
    assert "already exists" in gh.refused("label", "create", "prio", "-c", "ff0000")
    gh("label", "edit", "prio", "-n", "urgent")
    assert "urgent" in gh("label", "list")
    gh("label", "delete", "urgent", "--confirm" if gh.version < (2, 27) else "--yes")
    assert "urgent" not in gh("label", "list")


@every_gh
def test_older_versions_ask_for_classic_projects_and_are_refused_as_on_github(gh: Gh) -> None:
    number = str(gh.outside.emulator.issue(REPO, "Plain", body="text")["number"])
    if gh.version < (2, 80):
        # cli/cli#12640: no plain `issue view` since GitHub ended them; --json does not ask for them.
        assert gh.refused("issue", "view", number) == f"GraphQL: {CLASSIC_ENDED} (repository.issue.projectCards)"
    else:
        assert "title:\tPlain" in gh("issue", "view", number)
    assert gh.json("issue", "view", number, "--json", "body") == {"body": "text"}


@every_gh
def test_what_is_missing_or_forbidden_is_said(gh: Gh) -> None:
    gh.outside.emulator.issue(REPO, "Only one")
    assert "Could not resolve to an issue or pull request with the number of 77." in gh.refused("issue", "view", "77")
    assert "Could not resolve to a Repository" in gh.refused("issue", "list", "-R", "octo/none")
    assert "'nolabel' not found" in gh.refused("issue", "create", "-t", "t", "-b", "b", "-l", "nolabel")
    said = gh.refused("issue", "close", "1", who="stranger")
    assert "stranger does not have the correct permissions to execute `CloseIssue`" in said


@every_gh
def test_the_repository_is_shown(gh: Gh) -> None:
    gh.outside.rest("dev", "PATCH", f"/repos/{REPO}", description="A demo")
    said = gh("repo", "view", REPO)
    assert "description:\tA demo" in said
    assert "hello" in said
    fields = "nameWithOwner,defaultBranchRef,isPrivate,isArchived,viewerPermission,owner,mergeCommitAllowed"
    shown = gh.json("repo", "view", "--json", fields)
    assert shown["nameWithOwner"] == REPO
    assert shown["defaultBranchRef"]["name"] == "main"
    assert (shown["isPrivate"], shown["isArchived"], shown["viewerPermission"]) == (False, False, "ADMIN")
    assert REPO in gh("repo", "list", "octo")


@every_gh
def test_a_token_is_looked_at(gh: Gh) -> None:
    done = gh.try_("auth", "status")
    assert done.returncode == 0
    assert "Logged in to github.com" in done.stdout + done.stderr
    gh.outside.tokens["made up"] = "ghp_" + "x" * 36
    refused = gh.try_("auth", "status", who="made up")
    assert refused.returncode == 1
    assert "HTTP 401" in gh.refused("api", "user", who="made up")


@every_gh
def test_the_api_page_by_page(gh: Gh) -> None:
    for n in range(5):
        gh.outside.emulator.issue(REPO, f"Issue {n}")
    path = f"repos/{REPO}/issues?per_page=2"
    assert gh("api", path, "--paginate", "-q", ".[].number").split() == ["5", "4", "3", "2", "1"]
    if gh.version >= (2, 48):
        assert [len(page) for page in gh.json("api", path, "--paginate", "--slurp")] == [2, 2, 1]
    query = """query($endCursor: String) { repository(owner: "octo", name: "demo") {
      issues(first: 2, after: $endCursor) { nodes { number } pageInfo { hasNextPage endCursor } } } }"""
    found = gh("api", "graphql", "--paginate", "-f", f"query={query}", "-q", ".data.repository.issues.nodes[].number")
    assert found.split() == ["1", "2", "3", "4", "5"]
    assert "HTTP/" in gh("api", "-i", "rate_limit").splitlines()[0]
    assert gh("api", "-X", "PATCH", f"repos/{REPO}/issues/1", "-f", "state=closed", "-q", ".state") == "closed"
    assert "HTTP 404" in gh.refused("api", f"repos/{REPO}/issues/99")
    assert "HTTP 422" in gh.refused("api", f"repos/{REPO}/git/refs", "-f", "ref=refs/heads/main", "-f", "sha=0")
    assert "doesn't exist on type 'Query'" in gh.refused("api", "graphql", "-f", "query={nonsense}")
    assert {r["by"] for r in gh.json("api", "graphql", "-f", "query={viewer{by:login}}")["data"].values()} == {"dev"}
