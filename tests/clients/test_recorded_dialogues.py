"""What xmo-odoo/dummy_central has recorded of GitHub, whose tests are run against GitHub and its own stand-in alike:
the same questions, by the same client, and the answers it had."""

from __future__ import annotations

from typing import Any

import pytest
from github import Auth, Github, GithubException, InputGitTreeElement, Repository
from outsiders import REPO, Outside


@pytest.fixture
def repo(outside: Outside) -> Repository.Repository:
    return Github(
        auth=Auth.Token(outside.tokens["dev"]),
        base_url=outside.url,
        retry=None,
        seconds_between_requests=None,
        seconds_between_writes=None,
    ).get_repo(REPO)


def refusal(status: int, call: Any, *args: Any, **named: Any) -> dict[str, Any]:
    """The body of a refusal, without the parts that every refusal has."""
    with pytest.raises(GithubException) as refused:
        call(*args, **named)
    assert refused.value.status == status
    return {k: v for k, v in refused.value.data.items() if k not in ("status", "documentation_url")}


def about_pull(field: str, code: str = "invalid", **more: Any) -> dict[str, Any]:
    return {"resource": "PullRequest", "field": field, "code": code} | more


def changes(outside: Outside) -> list[tuple[str, Any]]:
    """Action and changes of every pull_request event so far."""
    outside.emulator.flush()
    payloads = [d["payload"] for d in outside.emulator.deliveries() if d["event"] == "pull_request"]
    return [(p["action"], p.get("changes")) for p in payloads]


def test_pull_requests_that_cannot_be(repo: Repository.Repository) -> None:
    def said(base: str, head: str) -> dict[str, Any]:
        return refusal(422, repo.create_pull, base, head, title="test", body="")

    assert said("main", "no-69") == {"message": "Validation Failed", "errors": [about_pull("head")]}
    assert said("no-68", "42-x") == {"message": "Validation Failed", "errors": [about_pull("base")]}
    both = [about_pull("base"), about_pull("head")]
    assert said("no-68", "no-69") == {"message": "Validation Failed", "errors": both}
    assert said("main", "mate:42-x") == {"message": "Validation Failed", "errors": [about_pull("head")]}


def test_a_pull_request_edited_in_every_way(outside: Outside, repo: Repository.Repository) -> None:
    main = repo.get_git_ref("heads/main").object.sha
    repo.create_git_ref("refs/heads/main2", main)
    pull = repo.create_pull("main", "octo:42-x", title="test", body="")
    assert (pull.body, pull.head.label) == (None, "octo:42-x")
    assert refusal(422, pull.edit, title="") == {
        "message": "Validation Failed",
        "errors": [about_pull("title", "missing_field")],
    }
    pull.edit(title="test2")
    pull.edit(title="test2")
    pull.edit(body="test")
    pull.edit(body="test")
    pull.edit(body="")
    assert pull.body is None
    pull.edit(state="closed")
    pull.edit(state="open")
    pull.edit(base="main2")
    assert refusal(422, pull.edit, base="yeepieyay") == {
        "message": "Validation Failed",
        "errors": [about_pull("base", message="Proposed base branch 'yeepieyay' was not found")],
    }
    assert changes(outside) == [
        ("opened", None),
        ("edited", {"title": {"from": "test"}}),
        ("edited", {}),
        ("edited", {"body": {"from": "test"}}),
        ("closed", None),
        ("reopened", None),
        ("edited", {"base": {"ref": {"from": "main"}, "sha": {"from": main}}}),
    ]


def test_a_pull_request_out_of_an_issue(repo: Repository.Repository) -> None:
    issue = repo.create_issue("an issue")
    assert refusal(404, repo.get_pull, issue.number) == {"message": "Not Found"}
    pull = repo.create_pull("main", "42-x", issue=issue)
    assert (pull.number, pull.title, pull.body) == (issue.number, "an issue", None)


def test_refs_moved_to_what_they_cannot_be(repo: Repository.Repository) -> None:
    start = repo.get_git_commit(repo.get_git_ref("heads/main").object.sha)
    tree = repo.create_git_tree([InputGitTreeElement("foo", "100644", "blob", "ok")])
    ref = repo.create_git_ref("refs/heads/other", repo.create_git_commit("msg", tree, [start]).sha)
    ref.edit(ref.object.sha)
    assert refusal(422, ref.edit, tree.sha) == {"message": "Object is not a commit"}
    ref.edit(repo.create_git_commit("descendant", tree, [repo.get_git_commit(ref.object.sha)]).sha)
    sibling = repo.create_git_commit("sibling", tree, [start]).sha
    assert refusal(422, ref.edit, sibling) == {"message": "Update is not a fast forward"}
    ref.edit(sibling, force=True)
    merged = repo.merge("main", "other")
    assert repo.get_git_ref("heads/main").object.sha == merged.sha  # type: ignore[union-attr]


def test_a_merge_by_api_is_committed_by_github(repo: Repository.Repository) -> None:
    repo.create_file("more", "more", "more", branch="main")
    merged = repo.merge("main", "42-x")
    assert merged is not None
    assert merged.commit.message == "Merge 42-x into main"
    assert merged.commit.author.name == "dev"
    assert (merged.commit.committer.name, merged.commit.committer.email) == ("GitHub", "noreply@github.com")
    assert (merged.author.login, merged.committer.login) == ("dev", "web-flow")


def test_trees_that_cannot_be(repo: Repository.Repository) -> None:
    good = InputGitTreeElement("foo", "100644", "blob", "whatever")
    tree = repo.create_git_tree([good])
    assert [e.path for e in tree.tree] == ["foo"]
    for wrong in ("0" * 40, tree.tree[0].sha, "kljfdhsfahl"):
        base = repo.get_git_tree(tree.sha)
        base._sha._value = wrong  # type: ignore[attr-defined]
        said = refusal(422, repo.create_git_tree, [good], base)
        assert said == {"message": "base_tree is not a valid tree oid"}
    slash = InputGitTreeElement("/foo", "100644", "blob", "")
    assert refusal(422, repo.create_git_tree, [slash]) == {"message": "tree.path cannot start with a slash"}
