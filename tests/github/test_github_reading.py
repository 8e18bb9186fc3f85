"""What GitHub shows, in the domain's words: one look at a ticket, the ledger's commits, comments and check-runs."""

import json
from typing import Any

import httpx
import pytest
import respx

from app.domain.observation import Branch
from app.github.checks import CheckRunWrite
from app.github.errors import GraphQLFailed, NotFound, ServerError
from app.github.queries import NOT_TEXT
from app.github.repository import Repository

A, B, C = "a" * 40, "b" * 40, "c" * 40
DATE = {"date": "Mon, 30 Nov 2026 12:00:00 GMT"}


def comment(id: int, *, ours: bool = True, edited: bool = False, editor: str | None = "app", body: str = "x") -> Any:
    return {
        "fullDatabaseId": str(id),
        "body": body,
        "createdAt": f"2026-11-30T12:00:{id % 60:02}Z",
        "url": f"https://github.com/octo-org/demo/issues/42#issuecomment-{id}",
        "viewerDidAuthor": ours,
        "lastEditedAt": "2026-11-30T13:00:00Z" if edited else None,
        "author": {"login": "app"} if ours else None,
        "editor": {"login": editor} if editor and edited else None,
    }


def run(id: int, **more: Any) -> dict[str, Any]:
    return {
        "databaseId": id,
        "name": "Agent Recovery",
        "status": "COMPLETED",
        "conclusion": "ACTION_REQUIRED",
        "externalId": "42:1:2:abc",
        "startedAt": "2026-11-30T12:00:00Z",
        **more,
    }


def seen(**more: Any) -> dict[str, Any]:
    subject = {
        "__typename": "Issue",
        "number": 42,
        "title": "Fix it",
        "body": "text",
        "state": "OPEN",
        "url": "u",
        "author": None,
        "assignees": {"nodes": [{"login": "dev-a"}]},
        "labels": None,
        "comments": {"nodes": [comment(9), comment(3), comment(4, ours=False)]},
    }
    return {
        "databaseId": 3_000_000_001,
        "isPrivate": True,
        "defaultBranchRef": {"name": "trunk"},
        "policy": None,
        "subject": subject,
        "named": {"nodes": []},
        **more,
    }


async def look(repository: Repository, wire: respx.MockRouter, body: dict[str, Any], branch: str | None = None) -> Any:
    wire.post("/graphql").respond(json={"data": {"repository": body}}, headers=DATE)
    return await repository.observe(42, branch, None)


async def test_an_issue_nobody_has_touched(repository: Repository, wire: respx.MockRouter) -> None:
    found = await look(repository, wire, seen())
    assert found.now.isoformat() == "2026-11-30T12:00:00+00:00"
    assert (found.repository_id, found.default_branch, repository.default_branch) == (3_000_000_001, "trunk", "trunk")
    assert found.policy_text is None
    assert (found.issue.author, found.issue.assignees, found.issue.labels) == (None, ("dev-a",), ())
    assert [c.id for c in found.issue_comments] == [3, 9]
    assert (found.branches, found.trunk, found.pulls, found.check_runs) == ((), None, (), ())
    assert not found.is_pull_request


async def test_the_recorded_branch_and_all_that_stands_on_it(repository: Repository, wire: respx.MockRouter) -> None:
    suites = {
        "nodes": [
            {
                "app": {"databaseId": 111},
                "checkRuns": {"nodes": [run(8_000_000_002), run(8_000_000_001, status="QUEUED", conclusion=None)]},
            },
            {"app": {"databaseId": 222}, "checkRuns": {"nodes": [run(5)]}},
            {"app": None, "checkRuns": {"nodes": [run(6)]}},
            {"app": {"databaseId": 111}, "checkRuns": {"nodes": [run(7, name="Agent Recovery / release")]}},
        ]
    }
    pull = {
        "number": 57,
        "id": "PR_57",
        "state": "MERGED",
        "isDraft": False,
        "title": "t",
        "body": "b",
        "url": "u",
        "headRefName": "ticket/42",
        "headRefOid": A,
        "baseRefName": "release-1",
        "headRepository": None,
        "assignees": {"nodes": []},
        "labels": {"nodes": [{"name": "agent"}]},
        "comments": {"nodes": [comment(2, edited=True, editor="mallory"), comment(1, edited=True)]},
    }
    body = seen(
        named={"nodes": [{"name": "42-other", "target": {"oid": B}}, {"name": "gone", "target": None}]},
        branch={"name": "ticket/42", "target": {"oid": A, "checkSuites": suites}},
        pulls={"nodes": [pull]},
    )
    found = await look(repository, wire, body, "ticket/42")
    assert found.branches == (Branch("42-other", B), Branch("ticket/42", A))
    assert [(r.id, r.sha, r.status, r.conclusion) for r in found.check_runs] == [
        (8_000_000_001, A, "queued", None),
        (8_000_000_002, A, "completed", "action_required"),
    ]
    (shown,) = found.pulls
    assert (shown.state, shown.head_repository, shown.labels) == ("MERGED", None, ("agent",))
    assert [(c.id, c.edited_by_other) for c in shown.comments] == [(1, False), (2, True)]


async def test_a_ghost_may_have_rewritten_our_words(repository: Repository, wire: respx.MockRouter) -> None:
    subject = {**seen()["subject"], "comments": {"nodes": [comment(1, edited=True, editor=None)]}}
    found = await look(repository, wire, seen(subject=subject))
    assert found.issue_comments[0].edited_by_other


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (None, None),
        ({"__typename": "Blob", "text": "version: 1\n", "isTruncated": False}, "version: 1\n"),
        ({"__typename": "Blob", "text": None, "isTruncated": False}, NOT_TEXT),
        ({"__typename": "Blob", "text": "version", "isTruncated": True}, NOT_TEXT),
        ({"__typename": "Tree"}, NOT_TEXT),
    ],
)
async def test_a_policy_is_absent_text_or_unusable(
    repository: Repository, wire: respx.MockRouter, policy: Any, text: str | None
) -> None:
    assert (await look(repository, wire, seen(policy=policy))).policy_text == text


async def test_the_number_of_a_pull_request(repository: Repository, wire: respx.MockRouter) -> None:
    found = await look(repository, wire, seen(subject={"__typename": "PullRequest"}))
    assert found.is_pull_request
    assert found.issue is None


async def test_a_number_that_does_not_exist_shows_no_issue(repository: Repository, wire: respx.MockRouter) -> None:
    problem = {"type": "NOT_FOUND", "path": ["repository", "subject"], "message": "Could not resolve to an issue"}
    said = {"data": {"repository": seen(subject=None)}, "errors": [problem]}
    wire.post("/graphql").respond(json=said)
    found = await repository.observe(42, None, None)
    assert (found.issue, found.is_pull_request) == (None, False)
    other = {**problem, "path": ["repository", "branch"]}
    wire.post("/graphql").respond(json={**said, "errors": [problem, other]})
    with pytest.raises(GraphQLFailed):
        await repository.observe(42, None, None)


@pytest.mark.parametrize("broken", [{"named": None}, {"subject": {"__typename": "Issue"}}, {"isPrivate": None}])
async def test_an_answer_of_another_form_is_no_observation(
    repository: Repository, wire: respx.MockRouter, broken: dict[str, Any]
) -> None:
    with pytest.raises(ServerError):
        await look(repository, wire, seen(**broken))


def commit(oid: str, parents: tuple[str, ...] = (), text: str | None = "{}", **blob: Any) -> dict[str, Any]:
    file = {"object": {"text": text, "isTruncated": False, **blob}}
    return {
        "oid": oid,
        "message": "m",
        "parents": {"nodes": [{"oid": p} for p in parents]},
        "tree": {"oid": C},
        "file": file,
    }


def history(nodes: list[Any], start: dict[str, Any], more: bool = False) -> dict[str, Any]:
    page = {"pageInfo": {"hasNextPage": more, "endCursor": "cur" if more else None}, "nodes": nodes}
    return {
        "data": {
            "repository": {"databaseId": 3_000_000_001, "object": {"__typename": "Commit", **start, "history": page}}
        }
    }


async def test_the_first_page_holds_the_start_once_and_the_next_one_not(
    repository: Repository, wire: respx.MockRouter
) -> None:
    first = history([commit(B, (C,))], commit(A, (B, C), text="head"), more=True)
    both = history([commit(A, (B,)), commit(B)], commit(A, (B,)))
    route = wire.post("/graphql").mock(side_effect=[httpx.Response(200, json=b) for b in (first, both, first)])
    page = await repository.ledger_history(A)
    assert [(c.oid, c.parents) for c in page.commits] == [(A, (B, C)), (B, (C,))]
    assert page.commits[0].files == {"record.json": "head"}
    assert (page.has_next, page.cursor) == (True, "cur")
    assert [c.oid for c in (await repository.ledger_history(A)).commits] == [A, B]
    later = await repository.ledger_history(A, after="cur")
    assert [c.oid for c in later.commits] == [B]
    assert json.loads(route.calls.last.request.content)["variables"]["start"] is False


@pytest.mark.parametrize(
    "file", [None, {"object": None}, {"object": {}}, {"object": {"text": "{", "isTruncated": True}}]
)
async def test_a_record_that_cannot_be_read_whole_is_none(
    repository: Repository, wire: respx.MockRouter, file: Any
) -> None:
    start = {**commit(A), "file": file}
    wire.post("/graphql").respond(json=history([start], start))
    (only,) = (await repository.ledger_history(A)).commits
    assert only.files == {"record.json": None}


@pytest.mark.parametrize("thing", [None, {"__typename": "Tree"}])
async def test_a_history_of_no_commit_is_not_found(repository: Repository, wire: respx.MockRouter, thing: Any) -> None:
    wire.post("/graphql").respond(json={"data": {"repository": {"databaseId": 3_000_000_001, "object": thing}}})
    with pytest.raises(NotFound):
        await repository.ledger_history(A)


async def test_comments_are_searched_on_all_pages(repository: Repository, wire: respx.MockRouter) -> None:
    def page(nodes: list[Any], cursor: str | None) -> httpx.Response:
        info = {"hasNextPage": cursor is not None, "endCursor": cursor}
        subject = {"comments": {"pageInfo": info, "nodes": nodes}}
        return httpx.Response(200, json={"data": {"repository": {"databaseId": 3_000_000_001, "subject": subject}}})

    one = page([comment(8, body="<!--m-->"), comment(7, ours=False, body="<!--m-->")], "next")
    two = page([comment(5_000_000_001, body="a <!--m--> b"), comment(6, body="other")], None)
    route = wire.post("/graphql").mock(side_effect=[one, two])
    found = await repository.find_comments(42, "<!--m-->")
    assert sorted(c.id for c in found) == [8, 5_000_000_001]
    assert found == sorted(found, key=lambda c: c.created_at)
    assert json.loads(route.calls.last.request.content)["variables"]["after"] == "next"


async def test_a_comment_that_is_gone_is_said_or_what_was_wanted(
    repository: Repository, wire: respx.MockRouter
) -> None:
    gone = httpx.Response(404, json={"message": "Not Found"})
    wire.patch("/repos/octo-org/demo/issues/comments/9").mock(return_value=gone)
    wire.delete("/repos/octo-org/demo/issues/comments/9").mock(return_value=gone)
    with pytest.raises(NotFound):
        await repository.edit_comment(9, "x")
    await repository.delete_comment(9)


async def test_only_our_apps_check_runs_are_found(repository: Repository, wire: respx.MockRouter) -> None:
    def shape(id: int, app: int | None, name: str = "Agent Recovery") -> dict[str, Any]:
        base = {"id": id, "name": name, "head_sha": A, "status": "completed", "conclusion": "failure"}
        return {**base, "output": {"title": None}, "app": {"id": app} if app else None}

    runs = [shape(9, 111), shape(8, 111), shape(7, 222), shape(6, None), shape(5, 111, "Agent Recovery / release")]
    route = wire.get(f"/repos/octo-org/demo/commits/{A}/check-runs").respond(json={"check_runs": runs})
    assert [r.id for r in await repository.find_check_runs(A)] == [8, 9]
    query = dict(route.calls.last.request.url.params)
    assert query == {"check_name": "Agent Recovery", "app_id": "111", "filter": "all", "per_page": "100"}


def test_a_check_run_names_its_head_only_when_created() -> None:
    run = CheckRunWrite(A, "in_progress", "42:1:0:abc", "t", "s")
    assert run.body(creating=True)["head_sha"] == A
    assert "head_sha" not in run.body(creating=False)
    assert "conclusion" not in run.body(creating=True)


async def test_what_a_stranger_pushed_is_named(repository: Repository, wire: respx.MockRouter) -> None:
    commits = [
        {"sha": A, "commit": {"message": "one\n\nmore", "author": {"name": "N"}}, "author": {"login": "dev-a"}},
        {"sha": B, "commit": {"message": "", "author": None}, "author": None},
        {"sha": C, "commit": {"message": "x", "author": {"name": "N"}}, "author": {}},
    ]
    body = {"status": "diverged", "ahead_by": 3, "behind_by": 1, "commits": commits}
    route = wire.get(url__startswith="https://api.github.com/repos/octo-org/demo/compare/").respond(json=body)
    found = await repository.compare("release/1", "ticket/42#x")
    assert (
        route.calls.last.request.url.raw_path == b"/repos/octo-org/demo/compare/release/1...ticket/42%23x?per_page=100"
    )
    assert (found.status, found.ahead_by, found.behind_by) == ("diverged", 3, 1)
    assert [(c.subject, c.author) for c in found.commits] == [("one", "dev-a"), ("", ""), ("x", "N")]
