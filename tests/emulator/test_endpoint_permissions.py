"""What each endpoint asks of an installation, as GitHub's documentation lists it.

Source: github/docs, src/github-apps/data/fpt-2022-11-28/server-to-server-permissions.json ("Permissions required for
GitHub Apps"). An installation that holds nothing but metadata is refused by each of them with 403, and the answer
names what would be enough.
"""

from __future__ import annotations

import httpx
import pytest
from emulated import REPO, World, rest

ISSUES_OR_PULLS = "issues={level}; pull_requests={level}"
READ, WRITE = ISSUES_OR_PULLS.format(level="read"), ISSUES_OR_PULLS.format(level="write")
ZERO = "0" * 40

# {i} is an Issue, {p} a pull request, {c} a comment on the Issue, {k} a check-run, {s} its suite, {b} the commit.
TABLE = [
    ("GET", "actions/workflows", "actions=read"),
    ("GET", "actions/runs", "actions=read"),
    ("POST", "actions/workflows/x.yml/dispatches", "actions=write"),
    ("POST", "actions/runs/1/cancel", "actions=write"),
    ("POST", "actions/runs/1/rerun", "actions=write"),
    ("PUT", "actions/workflows/x.yml/disable", "actions=write"),
    ("PATCH", "", "administration=write"),
    ("POST", "transfer", "administration=write"),
    ("PUT", "collaborators/dev", "administration=write"),
    ("DELETE", "collaborators/dev", "administration=write"),
    ("GET", "branches/main/protection", "administration=read"),
    ("PUT", "branches/main/protection", "administration=write"),
    ("POST", "rulesets", "administration=write"),
    ("POST", "check-runs", "checks=write"),
    ("GET", "check-runs/{k}", "checks=read"),
    ("PATCH", "check-runs/{k}", "checks=write"),
    ("GET", "check-runs/{k}/annotations", "checks=read"),
    ("POST", "check-runs/{k}/rerequest", "checks=write"),
    ("POST", "check-suites", "checks=write"),
    ("PATCH", "check-suites/preferences", "checks=write"),
    ("GET", "check-suites/{s}", "checks=read"),
    ("GET", "check-suites/{s}/check-runs", "checks=read"),
    ("POST", "check-suites/{s}/rerequest", "checks=write"),
    ("GET", "commits/main/check-runs", "checks=read"),
    ("GET", "commits/main/check-suites", "checks=read"),
    ("GET", "commits/main/status", "statuses=read"),
    ("GET", "commits/main/statuses", "statuses=read"),
    ("POST", "statuses/{b}", "statuses=write"),
    ("GET", "branches", "contents=read"),
    ("GET", "branches/main", "contents=read"),
    ("GET", "commits", "contents=read"),
    ("GET", "commits/main", "contents=read"),
    ("GET", "compare/main...42-x", "contents=read"),
    ("GET", "contents/README.md", "contents=read"),
    ("PUT", "contents/new.txt", "contents=write"),
    ("DELETE", "contents/README.md", "contents=write"),
    ("POST", "dispatches", "contents=write"),
    ("POST", "git/blobs", "contents=write"),
    ("GET", "git/blobs/{b}", "contents=read"),
    ("POST", "git/commits", "contents=write"),
    ("GET", "git/commits/{b}", "contents=read"),
    ("GET", "git/matching-refs/heads/", "contents=read"),
    ("GET", "git/ref/heads/main", "contents=read"),
    ("POST", "git/refs", "contents=write"),
    ("PATCH", "git/refs/heads/main", "contents=write"),
    ("DELETE", "git/refs/heads/42-x", "contents=write"),
    ("POST", "git/tags", "contents=write"),
    ("GET", "git/trees/main", "contents=read"),
    ("GET", "releases", "contents=read"),
    ("POST", "releases", "contents=write"),
    ("GET", "releases/latest", "contents=read"),
    ("GET", "releases/tags/v1", "contents=read"),
    ("GET", "releases/1", "contents=read"),
    ("PATCH", "releases/1", "contents=write"),
    ("DELETE", "releases/1", "contents=write"),
    ("GET", "deployments", "deployments=read"),
    ("POST", "deployments", "deployments=write"),
    ("GET", "deployments/1", "deployments=read"),
    ("DELETE", "deployments/1", "deployments=write"),
    ("GET", "deployments/1/statuses", "deployments=read"),
    ("POST", "deployments/1/statuses", "deployments=write"),
    ("GET", "deployments/1/statuses/1", "deployments=read"),
    ("POST", "git/trees", "contents=write"),
    ("POST", "merges", "contents=write"),
    ("POST", "merge-upstream", "contents=write"),
    ("PUT", "pulls/{p}/merge", "contents=write"),
    ("GET", "assignees", READ),
    ("GET", "assignees/dev", READ),
    ("GET", "issues", "issues=read"),
    ("POST", "issues", "issues=write"),
    ("GET", "issues/comments", READ),
    ("GET", "issues/events", "issues=read"),
    ("GET", "issues/{i}", "issues=read"),
    ("GET", "issues/{p}", "issues=read"),
    ("PATCH", "issues/{p}", WRITE),
    ("POST", "issues/{p}/assignees", WRITE),
    ("DELETE", "issues/{p}/assignees", WRITE),
    ("GET", "issues/{p}/comments", READ),
    ("POST", "issues/{p}/comments", WRITE),
    ("GET", "issues/{p}/events", READ),
    ("GET", "issues/{p}/labels", READ),
    ("POST", "issues/{p}/labels", WRITE),
    ("PUT", "issues/{p}/labels", WRITE),
    ("DELETE", "issues/{p}/labels", WRITE),
    ("PUT", "issues/{p}/lock", WRITE),
    ("GET", "issues/{p}/timeline", READ),
    ("GET", "issues/{i}/sub_issues", "issues=read"),
    ("POST", "issues/{i}/sub_issues", "issues=write"),
    ("GET", "labels", READ),
    ("POST", "labels", WRITE),
    ("GET", "labels/bug", READ),
    ("DELETE", "labels/bug", WRITE),
    ("GET", "milestones", READ),
    ("POST", "milestones", WRITE),
    ("GET", "commits/{b}/pulls", "pull_requests=read"),
    ("GET", "pulls", "pull_requests=read"),
    ("POST", "pulls", "pull_requests=write"),
    ("GET", "pulls/{p}", "contents=read; pull_requests=read"),
    ("PATCH", "pulls/{p}", "pull_requests=write"),
    ("GET", "pulls/{p}/comments", "pull_requests=read"),
    ("POST", "pulls/{p}/comments", "pull_requests=write"),
    ("GET", "pulls/{p}/commits", "pull_requests=read"),
    ("GET", "pulls/{p}/files", "pull_requests=read"),
    ("GET", "pulls/{p}/merge", "pull_requests=read"),
    ("GET", "pulls/{p}/requested_reviewers", "pull_requests=read"),
    ("POST", "pulls/{p}/requested_reviewers", "pull_requests=write"),
    ("GET", "pulls/{p}/reviews", "pull_requests=read"),
    ("POST", "pulls/{p}/reviews", "pull_requests=write"),
    ("PUT", "pulls/{p}/update-branch", "pull_requests=write"),
]
WITH_METADATA = ("", "collaborators", "collaborators/dev/permission", "rulesets", "rules/branches/main")


@pytest.fixture
def ids(world: World) -> dict[str, object]:
    issue = world.emulator.issue(REPO, "One")["number"]
    head = world.head("42-x")
    run = world.bot.post(f"/repos/{REPO}/check-runs", json={"name": "n", "head_sha": head}).json()
    pull = world.open_pull()["number"]
    comment = world.emulator.comment(REPO, issue, "dev", "x")["id"]
    return {"i": issue, "p": pull, "c": comment, "k": run["id"], "s": run["check_suite"]["id"], "b": head}


@pytest.fixture
def nothing(world: World) -> httpx.Client:
    """An installation on the repository that holds metadata alone."""
    app = world.emulator.app("idle", permissions={})
    number = world.emulator.installation("idle", "octo")["id"]
    return rest(world.emulator, world.emulator.installation_token(app, number))


def test_each_endpoint_names_what_it_asks_and_refuses_without_it(
    world: World, ids: dict[str, object], nothing: httpx.Client
) -> None:
    wrong = []
    for method, path, asked in TABLE:
        url = f"/repos/{REPO}/{path}".rstrip("/") if not path.endswith("/") else f"/repos/{REPO}/{path}"
        answer = nothing.request(method, url.format(**ids), json={} if method not in ("GET", "DELETE") else None)
        named = "; ".join(sorted(answer.headers.get("x-accepted-github-permissions", "").split("; ")))
        if (answer.status_code, named) != (403, asked):
            wrong.append(f"{method} {path}: {answer.status_code} {named!r}, not 403 {asked!r}")
        elif answer.json()["message"] != "Resource not accessible by integration":
            wrong.append(f"{method} {path}: {answer.json()['message']}")
    assert not wrong, "\n".join(wrong)


def test_one_of_the_named_permissions_is_enough(world: World, ids: dict[str, object]) -> None:
    names = ("actions", "administration", "checks", "contents", "deployments", "issues", "pull_requests", "statuses")
    everything = dict.fromkeys(names, "write")
    app = world.emulator.app("able", permissions=everything)
    number = world.emulator.installation("able", "octo")["id"]
    clients: dict[str, httpx.Client] = {}
    refused = []
    # Backwards, so that what moves the repository away comes last; nothing is asked of the bodies.
    for method, path, asked in reversed(TABLE):
        for grant in asked.split("; "):
            name, _, level = grant.partition("=")
            if grant not in clients:
                token = world.emulator.installation_token(app, number, permissions={name: level})
                clients[grant] = rest(world.emulator, token)
            url = f"/repos/{REPO}/{path.format(**ids)}"
            answer = clients[grant].request(method, url.removesuffix("/") if not path else url, json={})
            if answer.status_code == 403 and "not accessible by integration" in answer.text:
                refused.append(f"{method} {path} with {grant}")
    assert not refused, "\n".join(refused)


@pytest.mark.parametrize("path", WITH_METADATA)
def test_metadata_is_enough(world: World, nothing: httpx.Client, path: str) -> None:
    answer = nothing.get(f"/repos/{REPO}/{path}".rstrip("/"))
    assert (answer.status_code, answer.headers["x-accepted-github-permissions"]) == (200, "metadata=read")
