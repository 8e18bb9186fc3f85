"""What GitHub's git refuses, as its user reads it."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
from outsiders import REPO, Outside, commit, git


@pytest.fixture
def clone(outside: Outside, tmp_path: Path) -> Path:
    path = outside.clone(tmp_path / "c")
    commit(path, "new")
    return path


def refused(clone: Path, *refspecs: str, to: str = "origin") -> str:
    """What git says about a push that must fail."""
    done = git(clone, "push", to, *refspecs, check=False)
    assert done.returncode != 0, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("refs/pull/1/head", "! [remote rejected] HEAD -> refs/pull/1/head (deny updating a hidden ref)"),
        ("refs/pull/1/mine", "(deny updating a hidden ref)"),
        ("refs/admin", "! [remote rejected] HEAD -> refs/admin (funny refname)"),
        ("refs/heads/refs/x", "! [remote rejected] HEAD -> refs/x"),
        ("refs/heads/main/below", "! [remote rejected] HEAD -> main/below"),
        (":refs/heads/main", "refusing to delete the current branch: refs/heads/main"),
        (":refs/pull/1/head", "remote rejected"),
        ("main:refs/heads/ends.lock", "invalid refspec"),
    ],
)
def test_names_that_are_refused(outside: Outside, clone: Path, target: str, words: str) -> None:
    outside.rest("dev", "POST", f"/repos/{REPO}/pulls", title="t", head="42-x", base="main")
    before = outside.refs()
    assert words in refused(clone, target if ":" in target else f"HEAD:{target}")
    assert outside.refs() == before


def test_a_name_above_another_is_refused(outside: Outside, clone: Path) -> None:
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/deep/er", "HEAD:refs/agent-recovery/a/b")
    assert "! [remote rejected] HEAD -> deep" in refused(clone, "HEAD:refs/heads/deep")
    assert "! [remote rejected] HEAD -> refs/agent-recovery/a" in refused(clone, "HEAD:refs/agent-recovery/a")


def test_a_branch_takes_commits_only(outside: Outside, clone: Path) -> None:
    blob = git(clone, "rev-parse", "HEAD:new").stdout.strip()
    said = refused(clone, f"{blob}:refs/heads/blob")
    assert "refs/heads/blob" not in outside.refs()
    assert "rejected" in said
    git(clone, "push", "-q", "origin", f"{blob}:refs/agent-recovery/blob")
    assert outside.refs("agent-recovery/") == {"refs/agent-recovery/blob": blob}


WRONG = "Invalid username or token. Password authentication is not supported for Git operations."


def test_wrong_expired_and_revoked_tokens_are_all_the_same_to_git(
    outside: Outside, clone: Path, tmp_path: Path
) -> None:
    made_up = outside.remote("dev").replace(outside.tokens["dev"], "ghp_" + "x" * 36)
    assert WRONG in refused(clone, "HEAD:refs/heads/n", to=made_up)
    git(clone, "push", "-q", outside.remote("bot"), "HEAD:refs/heads/n")
    outside.emulator.advance(3601)
    said = refused(clone, "HEAD:refs/heads/n2", to=outside.remote("bot"))
    assert f"remote: {WRONG}" in said
    assert "fatal: Authentication failed for" in said
    assert outside.tokens["bot"] not in said
    outside.tokens["bot"] = outside.emulator.installation_token(outside.app, outside.installation["id"])
    git(clone, "push", "-q", outside.remote("bot"), "HEAD:refs/heads/n3")
    outside.rest("bot", "DELETE", "/installation/token")
    assert WRONG in refused(clone, "HEAD:refs/heads/n4", to=outside.remote("bot"))
    assert set(outside.refs("heads/n")) == {"refs/heads/n", "refs/heads/n3"}


def test_a_wrong_token_is_noticed_where_it_is_shown(outside: Outside, tmp_path: Path) -> None:
    """git shows what an address carries only when it is asked; a header, as Actions sets it, always."""
    made_up = "ghp_" + "x" * 36
    git(tmp_path, "clone", "-q", outside.remote("dev").replace(outside.tokens["dev"], made_up), "public")
    outside.emulator.repo("octo", "secret", private=True)
    secret = outside.remote("dev", "octo/secret").replace(outside.tokens["dev"], made_up)
    assert WRONG in git(tmp_path, "clone", secret, "secret", check=False).stderr
    header = f"http.extraHeader=AUTHORIZATION: basic {b64encode(f'x-access-token:{made_up}'.encode()).decode()}"
    shown = git(tmp_path, "-c", header, "clone", f"{outside.url}/{REPO}", "shown", check=False)
    assert shown.returncode == 128
    assert "could not read Username" in shown.stderr, "after a 401 git asks for a name, and there is nobody to ask"


@pytest.mark.parametrize("who", ["reader", "stranger"])
def test_who_may_only_read_is_named(outside: Outside, clone: Path, who: str) -> None:
    said = refused(clone, "HEAD:refs/heads/n", to=outside.remote(who))
    assert f"remote: Permission to {REPO}.git denied to {who}." in said
    assert "The requested URL returned error: 403" in said


def test_a_token_narrowed_to_reading_cannot_push(outside: Outside, clone: Path) -> None:
    narrow = outside.emulator.installation_token(
        outside.app, outside.installation["id"], permissions={"contents": "read"}
    )
    outside.tokens["narrow"] = narrow
    git(clone, "fetch", "-q", outside.remote("narrow"))
    assert f"remote: Permission to {REPO}.git denied to keeper[bot]." in refused(
        clone, "HEAD:refs/heads/n", to=outside.remote("narrow")
    )


def test_a_suspended_installation_neither_reads_nor_writes(outside: Outside, clone: Path) -> None:
    outside.emulator.change_repo(REPO, private=True)
    git(clone, "fetch", "-q", outside.remote("bot"))
    outside.emulator.change_installation(outside.installation["id"], suspended=True)
    assert "403" in git(clone, "fetch", outside.remote("bot"), check=False).stderr
    assert "403" in refused(clone, "HEAD:refs/heads/n", to=outside.remote("bot"))


def test_nobody_in_particular_reads_what_is_public_alone(outside: Outside, clone: Path, tmp_path: Path) -> None:
    outside.emulator.repo("octo", "secret", private=True, collaborators={"dev": "read"})
    open_url, secret = f"{outside.url}/{REPO}", f"{outside.url}/octo/secret.git"
    git(tmp_path, "clone", "-q", open_url, "open")
    assert "could not read Username" in git(tmp_path, "clone", secret, "no", check=False).stderr
    assert "could not read Username" in refused(clone, "HEAD:refs/heads/n", to=open_url)
    hidden = git(tmp_path, "clone", outside.remote("stranger", "octo/secret"), "no", check=False)
    assert "remote: Repository not found." in hidden.stderr
    absent = git(tmp_path, "clone", outside.remote("stranger", "octo/absent"), "no", check=False)
    assert hidden.stderr.replace("secret", "absent") == absent.stderr


def test_an_archived_repository_is_read_only(outside: Outside, clone: Path) -> None:
    outside.emulator.change_repo(REPO, archived=True)
    git(clone, "fetch", "-q", "origin")
    said = refused(clone, "HEAD:refs/heads/n")
    assert "remote: This repository was archived so it is read-only." in said
    assert "The requested URL returned error: 403" in said


def test_workflow_files_ask_for_a_permission_of_their_own(outside: Outside, clone: Path) -> None:
    few = {"contents": "write"}
    outside.tokens["few"] = outside.emulator.installation_token(
        outside.app, outside.installation["id"], permissions=few
    )
    commit(clone, ".github/workflows/ci.yml", "on: push\n")
    said = refused(clone, "HEAD:refs/heads/ci", to=outside.remote("few"))
    assert (
        "! [remote rejected] HEAD -> ci (refusing to allow a GitHub App to create or update workflow "
        "`.github/workflows/ci.yml` without `workflows` permission)" in said
    )
    outside.tokens["repo"] = outside.emulator.classic_token("dev", ["repo"])
    said = refused(clone, "HEAD:refs/heads/ci", to=outside.remote("repo"))
    assert (
        "! [remote rejected] HEAD -> ci (refusing to allow a Personal Access Token to create or update workflow "
        "`.github/workflows/ci.yml` without `workflow` scope)" in said
    )
    git(clone, "push", "-q", outside.remote("bot"), "HEAD:refs/heads/ci")


def test_a_renamed_repository_is_found_and_says_so(outside: Outside, clone: Path) -> None:
    outside.rest("dev", "PATCH", f"/repos/{REPO}", name="renamed")
    git(clone, "fetch", "-q", "origin")
    done = git(clone, "push", "origin", "HEAD:refs/heads/n")
    assert "remote: This repository moved. Please use the new location:" in done.stderr
    assert "octo/renamed.git" in done.stderr


def test_a_guarded_branch_refuses_a_direct_push(outside: Outside, clone: Path) -> None:
    rule = {
        "type": "pull_request",
        "parameters": {
            "required_approving_review_count": 1,
            "dismiss_stale_reviews_on_push": False,
            "require_code_owner_review": False,
            "require_last_push_approval": False,
            "required_review_thread_resolution": False,
        },
    }
    outside.rest(
        "dev",
        "POST",
        f"/repos/{REPO}/rulesets",
        name="guard",
        target="branch",
        enforcement="active",
        conditions={"ref_name": {"include": ["refs/heads/main"], "exclude": []}},
        rules=[rule],
    )
    said = refused(clone, "HEAD:refs/heads/main")
    assert "remote: error: GH013: Repository rule violations found for refs/heads/main." in said
    assert "! [remote rejected] HEAD -> main (push declined due to repository rule violations)" in said
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/free")
