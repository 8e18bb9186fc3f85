"""PyGithub in the hands of a bot that prepares releases, and of the App beside it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from github import (
    Auth,
    BadCredentialsException,
    Github,
    GithubException,
    GithubIntegration,
    InputGitTreeElement,
    UnknownObjectException,
)
from outsiders import REPO, Outside

Connect = Callable[[str], Github]


@pytest.fixture
def connect(outside: Outside) -> Connect:
    """PyGithub for somebody; it would wait between its calls of itself."""

    def make(who: str) -> Github:
        return Github(
            auth=Auth.Token(outside.tokens[who]),
            base_url=outside.url,
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
        )

    return make


def test_issues_from_opening_to_closing(connect: Connect) -> None:
    repo = connect("dev").get_repo(REPO)
    assert (repo.default_branch, repo.private, repo.owner.login) == ("main", False, "octo")
    repo.create_label("release", "00ff00", "about a release")
    milestone = repo.create_milestone("1.0", description="The first", due_on=datetime(2027, 1, 1, tzinfo=UTC).date())
    issue = repo.create_issue("Release 1.0", "Everything", assignee="mate", milestone=milestone, labels=["release"])
    comment = issue.create_comment("Started")
    comment.edit("Started it")
    comment.create_reaction("rocket")
    assert [(c.user.login, c.body) for c in issue.get_comments()] == [("dev", "Started it")]
    assert [r.content for r in comment.get_reactions()] == ["rocket"]
    issue.add_to_labels("bug")
    issue.remove_from_labels("bug")
    issue.add_to_assignees("dev")
    issue.remove_from_assignees("mate")
    issue.lock("resolved")
    issue.unlock()
    issue.edit(title="Release 1.0.0", state="closed", state_reason="not_planned")
    fresh = repo.get_issue(issue.number)
    assert (fresh.title, fresh.state, fresh.state_reason) == ("Release 1.0.0", "closed", "not_planned")
    assert ([a.login for a in fresh.assignees], [x.name for x in fresh.labels]) == (["dev"], ["release"])
    assert fresh.milestone is not None
    assert fresh.milestone.title == "1.0"
    assert [i.number for i in repo.get_issues(state="closed", labels=["release"])] == [issue.number]
    kinds = [e.event for e in issue.get_timeline()]
    assert {"labeled", "milestoned", "assigned", "commented", "locked", "renamed", "closed"} <= set(kinds)
    found = connect("dev").search_issues("release in:title is:issue", repo=REPO)
    assert (found.totalCount, found[0].number) == (1, issue.number)


def test_a_release_branch_from_git_objects(connect: Connect, outside: Outside) -> None:
    repo = connect("dev").get_repo(REPO)
    base = repo.get_branch("main").commit
    blob = repo.create_git_blob("1.0.0\n", "utf-8")
    tree = repo.create_git_tree(
        [
            InputGitTreeElement("VERSION", "100644", "blob", sha=blob.sha),
            InputGitTreeElement("docs/news.md", "100644", "blob", content="News\n"),
        ],
        repo.get_git_tree(base.sha),
    )
    made = repo.create_git_commit("Prepare 1.0.0", tree, [repo.get_git_commit(base.sha)])
    ref = repo.create_git_ref("refs/heads/release/1.0", made.sha)
    with pytest.raises(GithubException) as exists:
        repo.create_git_ref("refs/heads/release/1.0", made.sha)
    assert (exists.value.status, exists.value.data["message"]) == (422, "Reference already exists")
    again = repo.create_git_commit("Aside", tree, [repo.get_git_commit(base.sha)])
    with pytest.raises(GithubException) as aside:
        ref.edit(again.sha)
    assert (aside.value.status, aside.value.data["message"]) == (422, "Update is not a fast forward")
    ref.edit(again.sha, force=True)
    assert repo.get_git_ref("heads/release/1.0").object.sha == again.sha
    tag = repo.create_git_tag("v1.0.0", "The first", again.sha, "commit")
    repo.create_git_ref("refs/tags/v1.0.0", tag.sha)
    assert repo.get_git_tag(tag.sha).object.sha == again.sha
    assert [t.ref for t in repo.get_git_matching_refs("tags/v1")] == ["refs/tags/v1.0.0"]
    assert repo.get_contents("VERSION", ref="release/1.0").decoded_content == b"1.0.0\n"  # type: ignore[union-attr]
    compared = repo.compare("main", "release/1.0")
    assert (compared.status, compared.ahead_by, [f.filename for f in compared.files]) == (
        "ahead",
        1,
        ["VERSION", "docs/news.md"],
    )
    written = repo.create_file("CHANGES.md", "Add changes", "- one\n", branch="release/1.0")
    changed = repo.update_file("CHANGES.md", "More", "- two\n", written["content"].sha, branch="release/1.0")
    with pytest.raises(GithubException) as stale:
        repo.update_file("CHANGES.md", "Late", "- three\n", written["content"].sha, branch="release/1.0")
    assert stale.value.status == 409
    repo.delete_file("CHANGES.md", "Never mind", changed["content"].sha, branch="release/1.0")
    assert [c.commit.message for c in repo.get_commits("release/1.0")][:3] == ["Never mind", "More", "Add changes"]
    ref.delete()
    with pytest.raises(UnknownObjectException):
        repo.get_git_ref("heads/release/1.0")


def test_refs_of_every_kind_and_their_refusals(connect: Connect) -> None:
    """The dialogue that xmo-odoo/dummy_central holds with GitHub itself and with its own stand-in."""
    repo = connect("dev").get_repo(REPO)
    blob = repo.create_git_blob("test", "utf-8").sha

    def refused(name: str, sha: str) -> str:
        with pytest.raises(GithubException) as refusal:
            repo.create_git_ref(name, sha)
        assert refusal.value.status == 422
        return str(refusal.value.data["message"])

    assert refused("refs/heads/missing", "e" * 40) == "Object does not exist"
    assert refused("refs/heads/blob", blob) == "Reference update failed"
    assert refused("refs/blob", blob) == "Reference name must contain at least three slash-separated components."
    assert refused("others/blob", blob) == "Reference name must start with 'refs/'."
    ref = repo.create_git_ref("refs/others/blob", blob)
    assert (ref.object.type, ref.object.sha) == ("blob", blob)
    assert refused("refs/others/blob", blob) == "Reference already exists"
    other = repo.create_git_blob("test2", "utf-8").sha
    ref.edit(other)
    assert repo.get_git_ref("others/blob").object.sha == other
    assert "refs/others/blob" in [r.ref for r in repo.get_git_matching_refs("")]
    ref.delete()
    with pytest.raises(GithubException) as gone:
        ref.delete()
    assert (gone.value.status, gone.value.data["message"]) == (422, "Reference does not exist")
    empty = connect("dev").get_user().create_repo("empty")  # type: ignore[union-attr]
    with pytest.raises(GithubException) as bare:
        empty.create_git_ref("refs/heads/missing", "e" * 40)
    assert (bare.value.status, bare.value.data["message"]) == (409, "Git Repository is empty.")


def test_a_pull_request_with_reviews_statuses_and_a_merge(connect: Connect) -> None:
    repo = connect("dev").get_repo(REPO)
    pull = repo.create_pull("main", "42-x", title="Add a", body="Please", draft=True)
    with pytest.raises(GithubException) as twice:
        repo.create_pull("main", "42-x", title="Again")
    assert twice.value.status == 422
    assert "A pull request already exists" in str(twice.value.data)
    pull.mark_ready_for_review()
    pull.convert_to_draft()
    pull.mark_ready_for_review()
    pull.edit(title="Add a file", body="Pretty please")
    pull.create_review_request(reviewers=["mate"])
    assert [u.login for u in pull.get_review_requests()[0]] == ["mate"]
    theirs = connect("mate").get_repo(REPO).get_pull(pull.number)
    theirs.create_review(body="No", event="REQUEST_CHANGES")
    review = theirs.create_review(
        body="Yes", event="APPROVE", comments=[{"path": "a.txt", "position": 1, "body": "Nice line"}]
    )
    assert [r.state for r in pull.get_reviews()] == ["CHANGES_REQUESTED", "APPROVED"]
    assert [c.body for c in pull.get_review_comments()] == ["Nice line"]
    assert review.user.login == "mate"
    pull.create_issue_comment("Landing")
    commit = repo.get_commit(pull.head.sha)
    commit.create_status("pending", "https://ci.example/1", "running", "ci/build")
    commit.create_status("success", "https://ci.example/1", "done", "ci/build")
    assert (commit.get_combined_status().state, commit.get_statuses().totalCount) == ("success", 2)
    assert [f.filename for f in pull.get_files()] == ["a.txt"]
    assert [c.sha for c in pull.get_commits()] == [pull.head.sha]
    with pytest.raises(GithubException) as moved:
        pull.merge(sha="0" * 40)
    assert moved.value.status == 409
    assert repo.get_pull(pull.number).mergeable in (None, True)
    done = pull.merge(merge_method="squash", commit_title="Add a file (#1)", sha=pull.head.sha)
    assert done.merged
    assert repo.get_pull(pull.number).merged
    assert repo.get_branch("main").commit.sha == done.sha
    assert [p.number for p in repo.get_pulls(state="closed", base="main", head="octo:42-x")] == [pull.number]
    repo.get_git_ref("heads/42-x").delete()


def test_branch_protection(connect: Connect) -> None:
    branch = connect("dev").get_repo(REPO).get_branch("main")
    assert not branch.protected
    branch.edit_protection(strict=True, contexts=["ci/build"], enforce_admins=True, required_approving_review_count=1)
    held = branch.get_protection()
    assert held.enforce_admins
    assert (held.required_status_checks.strict, held.required_status_checks.contexts) == (True, ["ci/build"])
    assert held.required_pull_request_reviews.required_approving_review_count == 1
    repo = connect("dev").get_repo(REPO)
    pull = repo.create_pull("main", "42-x", title="Add a")
    with pytest.raises(GithubException) as refused:
        pull.merge()
    assert refused.value.status == 405
    branch.remove_protection()
    assert pull.merge().merged


def test_an_app_writes_checks_with_a_token_of_its_own(outside: Outside, connect: Connect) -> None:
    auth = Auth.AppAuth(outside.app["id"], outside.app["pem"])
    integration = GithubIntegration(
        auth=auth, base_url=outside.url, seconds_between_requests=None, seconds_between_writes=None
    )
    assert integration.get_app().slug == "keeper"
    installation = integration.get_repo_installation("octo", "demo")
    assert [i.id for i in integration.get_installations()] == [installation.id] == [outside.installation["id"]]
    assert [r.full_name for r in installation.get_repos()] == [REPO]
    app = integration.get_github_for_installation(installation.id, {"checks": "write", "contents": "read"})
    repo = app.get_repo(REPO)
    head = outside.head("42-x")
    run = repo.create_check_run("gate", head, status="in_progress", output={"title": "Gate", "summary": "Looking"})
    run.edit(
        status="completed",
        conclusion="failure",
        output={
            "title": "Gate",
            "summary": "Found something",
            "annotations": [
                {"path": "a.txt", "start_line": 1, "end_line": 1, "annotation_level": "warning", "message": "Hm"}
            ],
        },
    )
    shown = repo.get_commit(head).get_check_runs(check_name="gate")
    assert [(r.name, r.status, r.conclusion, r.app.slug) for r in shown] == [("gate", "completed", "failure", "keeper")]
    assert [a.message for a in run.get_annotations()] == ["Hm"]
    assert [s.app.slug for s in repo.get_commit(head).get_check_suites()] == ["keeper"]
    with pytest.raises(GithubException) as narrowed:
        repo.create_issue("Not mine to open")
    assert (narrowed.value.status, narrowed.value.data["message"]) == (403, "Resource not accessible by integration")
    with pytest.raises(GithubException) as person:
        connect("dev").get_repo(REPO).create_check_run("gate", head)
    assert person.value.status == 403


def test_lists_go_on_page_by_page(outside: Outside, connect: Connect) -> None:
    for n in range(7):
        outside.emulator.issue(REPO, f"Issue {n + 1}")
    github = connect("dev")
    github.per_page = 3
    listed = github.get_repo(REPO).get_issues(sort="created", direction="asc")
    assert [i.number for i in listed] == [1, 2, 3, 4, 5, 6, 7]
    assert listed.totalCount == 7
    assert [i.number for i in listed.get_page(1)] == [4, 5, 6]
    assert [i.number for i in listed.reversed][:2] == [7, 6]


def test_rates_and_refusals(outside: Outside, connect: Connect) -> None:
    github = connect("dev")
    before = github.get_rate_limit().resources.core
    assert before.limit == 5000
    github.get_user()
    login = github.get_user().login
    assert login == "dev"
    after = github.get_rate_limit().resources.core
    assert after.remaining == before.remaining - 1
    assert github.rate_limiting[1] == 5000
    with pytest.raises(UnknownObjectException):
        github.get_repo("octo/absent")
    outside.tokens["made up"] = "ghp_" + "x" * 36
    with pytest.raises(BadCredentialsException):
        connect("made up").get_user().login  # noqa: B018 - reading it asks GitHub
    with pytest.raises(GithubException) as reader:
        connect("reader").get_repo(REPO).create_git_ref("refs/heads/x", outside.head("main"))
    assert reader.value.status in (403, 404)
