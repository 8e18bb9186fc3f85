"""git clones and fetches, as agents and people do."""

from __future__ import annotations

from pathlib import Path

import pytest
from outsiders import REPO, Outside, commit, git

LEDGER = "refs/agent-recovery/active/42"


def listed(trace: str) -> set[str]:
    """The refs a server's answer named, by a packet trace."""
    answers = [line for line in trace.splitlines() if "< " in line and "ref-prefix" not in line]
    return {word for line in answers for word in line.split() if word.startswith("refs/")}


@pytest.fixture
def ledger(outside: Outside) -> str:
    sha = outside.head("42-x")
    outside.rest("dev", "POST", f"/repos/{REPO}/git/refs", ref=LEDGER, sha=sha)
    return sha


def test_a_clone_by_protocol_2_neither_lists_nor_fetches_custom_refs(
    outside: Outside, ledger: str, tmp_path: Path
) -> None:
    done = git(tmp_path, "clone", outside.remote("reader"), "c", GIT_TRACE_PACKET="1")
    assert "version 2" in done.stderr
    assert "ref-prefix refs/heads/" in done.stderr
    assert listed(done.stderr) == {"refs/heads/main", "refs/heads/42-x"}
    assert "agent-recovery" not in git(tmp_path / "c", "for-each-ref").stdout
    assert git(tmp_path / "c", "symbolic-ref", "HEAD").stdout.strip() == "refs/heads/main"


def test_protocol_0_lists_custom_refs_and_fetches_none(outside: Outside, ledger: str, tmp_path: Path) -> None:
    done = git(tmp_path, "-c", "protocol.version=0", "clone", outside.remote("reader"), "c", GIT_TRACE_PACKET="1")
    assert "version 2" not in done.stderr
    assert {LEDGER, "refs/heads/main"} <= listed(done.stderr)
    assert "agent-recovery" not in git(tmp_path / "c", "for-each-ref").stdout


@pytest.mark.parametrize("version", ["0", "2"])
def test_a_plain_ls_remote_lists_custom_refs(outside: Outside, ledger: str, tmp_path: Path, version: str) -> None:
    done = git(tmp_path, "-c", f"protocol.version={version}", "ls-remote", "--symref", outside.remote("reader"))
    assert f"{ledger}\t{LEDGER}" in done.stdout
    assert "ref: refs/heads/main\tHEAD" in done.stdout
    narrow = git(tmp_path, "ls-remote", outside.remote("reader"), "refs/agent-recovery/*")
    assert narrow.stdout.split() == [ledger, LEDGER]


def test_custom_refs_and_pull_requests_are_fetched_by_name(outside: Outside, ledger: str, tmp_path: Path) -> None:
    pull = outside.rest("dev", "POST", f"/repos/{REPO}/pulls", title="t", head="42-x", base="main")
    clone = outside.clone(tmp_path / "c", "reader", "--single-branch")
    git(clone, "fetch", "-q", "origin", f"+{LEDGER}:{LEDGER}", f"refs/pull/{pull['number']}/head:pr")
    assert git(clone, "rev-parse", LEDGER).stdout == git(clone, "rev-parse", "pr").stdout == ledger + "\n"
    missing = git(clone, "fetch", "origin", "refs/agent-recovery/active/43", check=False)
    assert "couldn't find remote ref" in missing.stderr


@pytest.mark.parametrize("version", ["0", "2"])
def test_a_commit_is_fetched_by_its_sha(outside: Outside, tmp_path: Path, version: str) -> None:
    git(tmp_path, "init", "-q", "c")
    sha = outside.head("42-x")
    git(tmp_path / "c", "-c", f"protocol.version={version}", "fetch", "-q", outside.remote("reader"), sha)
    assert git(tmp_path / "c", "rev-parse", "FETCH_HEAD").stdout.strip() == sha


def test_shallow_clones_deepen_and_are_pushed_from(outside: Outside, tmp_path: Path) -> None:
    for n in range(4):
        outside.emulator.commit(REPO, {f"f{n}": "x"}, branch="main", author="dev")
    clone = outside.clone(tmp_path / "c", "dev", "--depth", "1")
    assert git(clone, "rev-list", "--count", "HEAD").stdout.strip() == "1"
    sha = commit(clone, "new.txt")
    git(clone, "push", "-q", "origin", "HEAD:main")
    assert outside.head("main") == sha
    git(clone, "fetch", "-q", "--deepen", "2")
    assert git(clone, "rev-list", "--count", "HEAD").stdout.strip() == "4"
    git(clone, "fetch", "-q", "--unshallow")
    assert git(clone, "rev-list", "--count", "HEAD").stdout.strip() == "6"
    assert git(clone, "rev-parse", "--is-shallow-repository").stdout.strip() == "false"


def test_a_partial_clone_brings_what_is_missing_later(outside: Outside, tmp_path: Path) -> None:
    outside.emulator.commit(REPO, {"big.txt": "big\n" * 1000}, branch="main", author="dev")
    clone = outside.clone(tmp_path / "c", "reader", "--no-checkout", "--filter=blob:none")
    missing = git(clone, "rev-list", "--objects", "--missing=print", "HEAD").stdout
    assert sum(line.startswith("?") for line in missing.splitlines()) == 2
    git(clone, "checkout", "-q", "main", "--", "README.md")
    git(clone, "sparse-checkout", "set", "--no-cone", "README.md")
    git(clone, "checkout", "-q", "main")
    assert not (clone / "big.txt").exists()
    assert git(clone, "show", "main:big.txt").stdout == "big\n" * 1000
    treeless = outside.clone(tmp_path / "t", "reader", "--bare", "--filter=tree:0")
    assert "?" in git(treeless, "rev-list", "--objects", "--missing=print", "HEAD").stdout


def test_a_fetch_with_much_to_tell_is_zipped(outside: Outside, tmp_path: Path) -> None:
    clone = outside.clone(tmp_path / "c", "dev")
    for n in range(40):  # newer than all that both have, so that git tells of each
        git(clone, "commit", "-q", "--allow-empty", "-m", f"local {n}", GIT_COMMITTER_DATE="@2000000000 +0000")
    outside.emulator.commit(REPO, {"theirs": "x"}, branch="main", author="mate")
    done = git(clone, "fetch", "origin", GIT_CURL_VERBOSE="1", GIT_TRACE_CURL_NO_DATA="1")
    assert "content-encoding: gzip" in done.stderr.lower()
    assert git(clone, "rev-parse", "origin/main").stdout.strip() == outside.head("main")


def test_thousands_of_refs_are_listed_and_pushed_at_once(outside: Outside, tmp_path: Path) -> None:
    clone = outside.clone(tmp_path / "c")
    names = [f"refs/agent-recovery/active/{n}" for n in range(1000)]
    git(clone, "update-ref", "--stdin", stdin="".join(f"create {name} HEAD\n" for name in names))
    git(clone, "push", "-q", "origin", "refs/agent-recovery/*:refs/agent-recovery/*")
    found = git(clone, "ls-remote", "origin", "refs/agent-recovery/*").stdout.splitlines()
    assert len(found) == 1000
    assert len(git(clone, "-c", "protocol.version=0", "ls-remote", "origin").stdout.splitlines()) == 1003
    fresh = git(tmp_path, "clone", outside.remote("reader"), "d", GIT_TRACE_PACKET="1")
    assert "agent-recovery" not in fresh.stderr
