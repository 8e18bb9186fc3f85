"""Git over HTTP with a real git on the other end."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from emulated import REPO, ZERO, World, git, new_commit

LEDGER = "refs/agent-recovery/active/42"


def test_clones_neither_list_nor_fetch_custom_refs(world: World, tmp_path: Path) -> None:
    world.update_refs({"name": LEDGER, "afterOid": world.commit(world.head("main"))})
    clone = world.clone(tmp_path / "c", "reader")
    assert LEDGER not in git(clone, "for-each-ref").stdout
    assert LEDGER in git(clone, "ls-remote", "origin").stdout
    git(clone, "fetch", "-q", "origin", f"{LEDGER}:{LEDGER}")
    assert LEDGER in git(clone, "for-each-ref").stdout


def test_atomic_push_with_leases_has_a_winner_and_a_loser(world: World, tmp_path: Path) -> None:
    record = world.commit(world.head("main"), "record")
    world.update_refs({"name": LEDGER, "beforeOid": ZERO, "afterOid": record})
    branch = world.head("42-x")
    pushed = []
    for name in ("one", "two"):
        clone = world.clone(tmp_path / name, "dev")
        git(clone, "fetch", "-q", "origin", LEDGER)
        git(clone, "checkout", "-q", "--detach", "FETCH_HEAD")
        mine = new_commit(clone, "record.json", name)
        git(clone, "checkout", "-q", "42-x")
        new_commit(clone, f"{name}.txt")
        pushed.append(
            git(
                clone,
                "push",
                "--atomic",
                f"--force-with-lease={LEDGER}:{record}",
                f"--force-with-lease=42-x:{branch}",
                "origin",
                f"{mine}:{LEDGER}",
                "42-x:42-x",
                check=False,
            )
        )
    assert [p.returncode for p in pushed] == [0, 1]
    assert "stale info" in pushed[1].stderr
    assert world.head("42-x") == git(tmp_path / "one", "rev-parse", "42-x").stdout.strip()
    assert world.refs("agent-recovery/")[LEDGER] != record


def test_pushes_and_api_writes_exclude_each_other(world: World, tmp_path: Path) -> None:
    start = world.commit(world.head("main"), "start")
    world.update_refs({"name": LEDGER, "beforeOid": ZERO, "afterOid": start})
    clones = []
    for n in range(3):
        clone = world.clone(tmp_path / f"c{n}", "dev")
        git(clone, "fetch", "-q", "origin", LEDGER)
        git(clone, "checkout", "-q", "--detach", "FETCH_HEAD")
        clones.append((clone, new_commit(clone, f"f{n}")))
    candidates = [world.commit(start, f"api {n}") for n in range(3)]

    def push(clone: Path, sha: str) -> str | None:
        done = git(clone, "push", f"--force-with-lease={LEDGER}:{start}", "origin", f"{sha}:{LEDGER}", check=False)
        return sha if done.returncode == 0 else None

    def update(sha: str) -> str | None:
        answer = world.update_refs({"name": LEDGER, "beforeOid": start, "afterOid": sha})
        return sha if "errors" not in answer else None

    with ThreadPoolExecutor(6) as pool:
        races = [pool.submit(push, *c) for c in clones] + [pool.submit(update, s) for s in candidates]
        winners = [r.result() for r in races if r.result() is not None]
    assert len(winners) == 1
    assert world.refs("agent-recovery/") == {LEDGER: winners[0]}


def test_hidden_and_short_refs_are_refused_by_git(world: World, tmp_path: Path) -> None:
    clone = world.clone(tmp_path / "c", "dev")
    new_commit(clone, "x")
    hidden = git(clone, "push", "origin", "HEAD:refs/pull/1/head", check=False)
    assert "(deny updating a hidden ref)" in hidden.stderr
    assert "funny refname" in git(clone, "push", "origin", "HEAD:refs/admin", check=False).stderr
    world.emulator.switches(REPO, custom_refs="refused")
    custom = git(clone, "push", "origin", f"HEAD:{LEDGER}", check=False)
    assert "[remote rejected]" in custom.stderr
    assert "(deny updating a hidden ref)" in custom.stderr
    assert git(clone, "push", "origin", "HEAD:refs/heads/agent-recovery/1").returncode == 0
    assert "refusing to delete the current branch" in git(clone, "push", "origin", ":main", check=False).stderr


@pytest.mark.parametrize(
    ("who", "write", "words"),
    [
        ("reader", False, None),
        ("reader", True, f"Permission to {REPO}.git denied to reader"),
        ("stranger", True, f"Permission to {REPO}.git denied to stranger"),
        ("dev", True, None),
        ("bot", True, None),
    ],
)
def test_who_may_read_and_write(world: World, tmp_path: Path, who: str, write: bool, words: str | None) -> None:
    clone = world.clone(tmp_path / "c", who)
    if not write:
        return
    new_commit(clone, "x")
    done = git(clone, "push", "origin", "HEAD:refs/heads/new", check=False)
    assert (done.returncode == 0) == (words is None)
    assert words is None or words in done.stderr or "403" in done.stderr


def test_private_repositories_are_hidden(world: World, tmp_path: Path) -> None:
    world.emulator.repo("octo", "secret", private=True, collaborators={"dev": "read"})
    assert git(tmp_path, "ls-remote", world.remote("dev", "octo/secret")).returncode == 0
    hidden = git(tmp_path, "ls-remote", world.remote("stranger", "octo/secret"), check=False)
    assert "not found" in hidden.stderr
    bare = httpx.get(f"{world.emulator.url}/octo/secret.git/info/refs?service=git-upload-pack", trust_env=False)
    assert (bare.status_code, bare.headers["www-authenticate"]) == (401, 'Basic realm="GitHub"')


def test_workflow_files_need_a_permission_of_their_own(world: World, tmp_path: Path) -> None:
    clone = world.clone(tmp_path / "c", "bot")
    (clone / ".github" / "workflows").mkdir()
    new_commit(clone, ".github/workflows/ci.yml")
    done = git(clone, "push", "origin", "HEAD:refs/heads/ci", check=False)
    assert done.returncode != 0
    assert "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml`" in done.stderr
    body = {"message": "m", "content": "", "branch": "42-x"}
    assert world.bot.put(f"/repos/{REPO}/contents/.github/workflows/ci.yml", json=body).status_code == 403
    git(clone, "push", "-q", world.remote("dev"), "HEAD:refs/heads/ci")
    more = new_commit(clone, "other")
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/ci")
    assert world.head("ci") == more


def test_a_revoked_token_cannot_push(world: World, tmp_path: Path) -> None:
    clone = world.clone(tmp_path / "c", "bot")
    new_commit(clone, "x")
    assert world.bot.delete("/installation/token").status_code == 204
    done = git(clone, "push", "origin", "HEAD:refs/heads/late", check=False)
    assert done.returncode != 0


def test_receive_pack_without_objects_moves_refs(world: World) -> None:
    """Objects made by REST, then a bare command list with an empty pack."""
    sha = world.commit(world.head("main"), "record")
    command = f"{ZERO} {sha} {LEDGER}\0report-status atomic agent=test".encode()
    empty = subprocess.run(["git", "pack-objects", "--stdout"], input=b"", capture_output=True, check=True).stdout
    body = b"%04x" % (len(command) + 4) + command + b"0000" + empty
    answer = httpx.post(
        f"{world.emulator.url}/{REPO}.git/git-receive-pack",
        content=body,
        auth=("x-access-token", world.tokens["bot"]),
        headers={"content-type": "application/x-git-receive-pack-request"},
        trust_env=False,
    )
    assert f"ok {LEDGER}".encode() in answer.content
    assert world.refs("agent-recovery/") == {LEDGER: sha}


def test_names_that_look_like_objects_are_declined(world: World, tmp_path: Path) -> None:
    clone = world.clone(tmp_path / "c", "dev")
    head = git(clone, "rev-parse", "HEAD").stdout.strip()
    for kind in ("heads", "tags"):
        pushed = git(clone, "push", "origin", f"HEAD:refs/{kind}/{head}", "HEAD:refs/heads/beside", check=False)
        assert "GH002: Sorry, branch or tag names consisting of 40 hex characters are not allowed." in pushed.stderr
        assert f'Invalid branch or tag name "{head}"' in pushed.stderr
        assert pushed.stderr.count("(pre-receive hook declined)") == 2
    assert world.refs("heads/beside") == {}
    tagged = git(clone, "push", "origin", "HEAD:refs/tags/refs/x", check=False)
    assert "deny updating a hidden ref" in tagged.stderr


def test_big_pushes_and_shallow_clones(world: World, tmp_path: Path) -> None:
    clone = world.clone(tmp_path / "c", "dev")
    (clone / "big.bin").write_bytes(bytes(range(256)) * 16_384)
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "big")
    git(clone, "-c", "http.postBuffer=65536", "push", "-q", "origin", "HEAD:refs/heads/big")
    git(tmp_path, "clone", "-q", "--depth", "1", "--branch", "big", world.remote("dev"), "shallow")
    assert (tmp_path / "shallow" / "big.bin").stat().st_size == 4_194_304
