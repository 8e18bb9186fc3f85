"""git pushes: leases, sizes, tags, and what each leaves behind."""

from __future__ import annotations

import os
from pathlib import Path

from outsiders import REPO, ZERO, Outside, commit, git

LEDGER = "refs/agent-recovery/active/42"


def posts(outside: Outside) -> int:
    """How often something was posted to receive-pack."""
    return sum(r["path"].endswith("/git-receive-pack") for r in outside.emulator.requests())


class Handover:
    """A clone that pushes a record onto the ledger and a commit onto 42-x together, as a holder does."""

    def __init__(self, outside: Outside, path: Path) -> None:
        self.path = outside.clone(path)
        git(self.path, "checkout", "-q", "42-x")
        self.branch = commit(self.path, f"{path.name}.txt")
        git(self.path, "checkout", "-q", "--detach", "HEAD~1")
        self.record = commit(self.path, "record.json", path.name)

    def push(self, record_lease: str, branch_lease: str) -> str | None:
        """Push both or none; None when it was done, else what git said."""
        done = git(
            self.path,
            "push",
            "--atomic",
            f"--force-with-lease={LEDGER}:{record_lease}",
            f"--force-with-lease=refs/heads/42-x:{branch_lease}",
            "origin",
            f"{self.record}:{LEDGER}",
            f"{self.branch}:refs/heads/42-x",
            check=False,
        )
        return None if done.returncode == 0 else done.stderr


def test_an_atomic_push_with_both_leases_wins(outside: Outside, tmp_path: Path) -> None:
    one = Handover(outside, tmp_path / "one")
    assert one.push("", outside.head("42-x")) is None
    assert outside.refs("agent-recovery/") == {LEDGER: one.record}
    assert outside.head("42-x") == one.branch


def test_an_atomic_push_with_a_stale_lease_moves_nothing(outside: Outside, tmp_path: Path) -> None:
    start = outside.head("42-x")
    one, two = Handover(outside, tmp_path / "one"), Handover(outside, tmp_path / "two")
    assert one.push("", start) is None
    said = two.push("", start)
    assert said is not None
    assert "(stale info)" in said
    assert (outside.refs("agent-recovery/"), outside.head("42-x")) == ({LEDGER: one.record}, one.branch)


def test_one_stale_lease_of_two_refuses_the_other_ref_too(outside: Outside, tmp_path: Path) -> None:
    one = Handover(outside, tmp_path / "one")
    start = outside.head("42-x")
    moved = outside.emulator.commit(REPO, {"between": "x"}, branch="42-x", author="mate")
    said = one.push("", start)
    assert said is not None
    assert "(stale info)" in said
    assert "(atomic push failed)" in said
    assert (outside.refs("agent-recovery/"), outside.head("42-x")) == ({}, moved)


def test_a_ref_that_moves_after_the_advertisement_is_refused_by_the_server(outside: Outside, tmp_path: Path) -> None:
    """The client's own look is not what guards: a hook moves the branch between its look and its push."""
    one = Handover(outside, tmp_path / "one")
    start = outside.head("42-x")
    other = outside.clone(tmp_path / "other")
    git(other, "checkout", "-q", "42-x")
    theirs = commit(other, "theirs")
    hook = one.path / ".git" / "hooks" / "pre-push"
    hook.write_text(f"#!/bin/sh\nunset GIT_DIR\ngit -C {other} push -q origin 42-x\n")
    hook.chmod(0o755)
    said = one.push("", start)
    assert said is not None
    assert f"cannot lock ref 'refs/heads/42-x': is at {theirs} but expected {start}" in said
    assert (outside.refs("agent-recovery/"), outside.head("42-x")) == ({}, theirs)


def test_a_big_push_is_probed_and_sent_in_chunks(outside: Outside, tmp_path: Path) -> None:
    clone = outside.clone(tmp_path / "c")
    sha = commit(clone, "big.bin", os.urandom(20_000_000))
    before = posts(outside)
    done = git(
        clone,
        "-c",
        "http.postBuffer=65536",
        "push",
        "origin",
        "HEAD:refs/heads/big",
        GIT_CURL_VERBOSE="1",
        GIT_TRACE_CURL_NO_DATA="1",
    )
    assert "transfer-encoding: chunked" in done.stderr.lower()
    assert posts(outside) - before == 2, "the probe of four bytes, then the push"
    assert outside.head("big") == sha
    again = git(clone, "fetch", "-q", "--no-tags", "origin", "big", check=False)
    assert again.returncode == 0


def test_a_small_push_goes_in_one_piece(outside: Outside, tmp_path: Path) -> None:
    clone = outside.clone(tmp_path / "c")
    sha = commit(clone, "small")
    before = posts(outside)
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/small")
    assert posts(outside) - before == 1
    assert outside.head("small") == sha


def test_tags_of_both_kinds_are_pushed_with_their_events(outside: Outside, tmp_path: Path) -> None:
    clone = outside.clone(tmp_path / "c")
    git(clone, "tag", "light")
    git(clone, "tag", "-a", "-m", "the first", "v1")
    git(clone, "push", "-q", "origin", "--tags")
    tag = outside.rest("dev", "GET", f"/repos/{REPO}/git/ref/tags/v1")["object"]
    assert tag["type"] == "tag"
    shown = outside.rest("dev", "GET", f"/repos/{REPO}/git/tags/{tag['sha']}")
    assert (shown["message"], shown["object"]["sha"]) == ("the first\n", outside.head("main"))
    assert outside.refs("tags/light") == {"refs/tags/light": outside.head("main")}
    outside.emulator.flush()
    payloads = [(d["event"], d["payload"]) for d in outside.emulator.deliveries()]
    seen = [(event, p["ref"], p.get("ref_type")) for event, p in payloads if event in ("create", "push")]
    assert sorted(seen[-4:], key=str) == [
        ("create", "light", "tag"),
        ("create", "v1", "tag"),
        ("push", "refs/tags/light", None),
        ("push", "refs/tags/v1", None),
    ]
    fresh = outside.clone(tmp_path / "d", "reader")
    assert git(fresh, "describe", "--exact-match").stdout.strip() == "v1"


def test_more_than_three_tags_at_once_raise_no_events(outside: Outside, tmp_path: Path) -> None:
    clone = outside.clone(tmp_path / "c")
    for n in range(4):
        git(clone, "tag", f"t{n}")
    before = len(outside.events())
    git(clone, "push", "-q", "origin", "--tags")
    assert len(outside.refs("tags/")) == 4
    git(clone, "push", "-q", "origin", "--delete", *(f"t{n}" for n in range(4)))
    assert outside.refs("tags/") == {}
    assert len(outside.events()) == before
    git(clone, "push", "-q", "origin", "t0", "t1", "t2")
    assert len(outside.events()) == before + 6


def test_a_branch_is_deleted_and_its_pull_request_closed(outside: Outside, tmp_path: Path) -> None:
    clone = outside.clone(tmp_path / "c")
    pull = outside.rest("dev", "POST", f"/repos/{REPO}/pulls", title="t", head="42-x", base="main")
    git(clone, "push", "-q", "origin", "--delete", "42-x")
    assert set(outside.refs("heads/")) == {"refs/heads/main"}
    assert outside.rest("dev", "GET", f"/repos/{REPO}/pulls/{pull['number']}")["state"] == "closed"
    assert {("delete", None), ("push", None), ("pull_request", "closed")} <= set(outside.events())
    gone = git(clone, "push", "origin", "--delete", "42-x", check=False)
    assert "remote ref does not exist" in gone.stderr


def test_a_rewritten_branch_needs_force(outside: Outside, tmp_path: Path) -> None:
    clone = outside.clone(tmp_path / "c")
    pull = outside.rest("dev", "POST", f"/repos/{REPO}/pulls", title="t", head="42-x", base="main")
    old = outside.head("42-x")
    git(clone, "checkout", "-q", "42-x")
    git(clone, "commit", "-q", "--amend", "-m", "rewritten")
    refused = git(clone, "push", "origin", "42-x", check=False)
    assert "(non-fast-forward)" in refused.stderr
    git(clone, "push", "-q", "--force", "origin", "42-x")
    new = git(clone, "rev-parse", "HEAD").stdout.strip()
    assert outside.rest("dev", "GET", f"/repos/{REPO}/pulls/{pull['number']}")["head"]["sha"] == new
    outside.emulator.flush()
    push = [d["payload"] for d in outside.emulator.deliveries() if d["event"] == "push"][-1]
    assert (push["forced"], push["before"], push["after"]) == (True, old, new)
    timeline = outside.rest("dev", "GET", f"/repos/{REPO}/issues/{pull['number']}/timeline")
    assert "head_ref_force_pushed" in [e["event"] for e in timeline]


def test_push_options_are_taken(outside: Outside, tmp_path: Path) -> None:
    clone = outside.clone(tmp_path / "c")
    git(clone, "push", "-q", "-o", "note", "origin", "HEAD:refs/heads/optional")
    assert outside.head("optional") == outside.head("main")


def test_an_empty_repository_gets_its_first_branch(outside: Outside, tmp_path: Path) -> None:
    outside.rest("dev", "POST", "/user/repos", name="fresh")
    clone = tmp_path / "c"
    done = git(tmp_path, "clone", outside.remote("dev", "dev/fresh"), "c")
    assert "empty repository" in done.stderr
    sha = commit(clone, "first")
    git(clone, "push", "-q", "-u", "origin", "HEAD:main")
    ref = outside.rest("dev", "GET", "/repos/dev/fresh/git/ref/heads/main")
    assert ref["object"]["sha"] == sha


def test_a_push_that_is_rejected_in_part_moves_the_rest(outside: Outside, tmp_path: Path) -> None:
    clone = outside.clone(tmp_path / "c")
    sha = commit(clone, "x")
    done = git(clone, "push", "origin", "HEAD:refs/heads/good", "HEAD:refs/pull/7/head", check=False)
    assert done.returncode == 1
    assert outside.head("good") == sha


def test_a_mirror_fails_on_the_hidden_refs_alone(outside: Outside, tmp_path: Path) -> None:
    outside.rest("dev", "POST", f"/repos/{REPO}/pulls", title="t", head="42-x", base="main")
    outside.rest("dev", "POST", f"/repos/{REPO}/git/refs", ref=LEDGER, sha=outside.head("main"))
    outside.rest("dev", "POST", "/user/repos", name="copy")
    mirror = outside.clone(tmp_path / "m.git", "dev", "--mirror")
    assert {LEDGER, "refs/pull/1/head"} <= set(git(mirror, "for-each-ref", "--format=%(refname)").stdout.split())
    done = git(mirror, "push", "--mirror", outside.remote("dev", "dev/copy"), check=False)
    assert "refs/pull/1/head (deny updating a hidden ref)" in done.stderr
    copied = outside.rest("dev", "GET", "/repos/dev/copy/git/matching-refs/")
    assert [r["ref"] for r in copied] == [LEDGER, "refs/heads/42-x", "refs/heads/main"]
    assert ZERO not in [r["object"]["sha"] for r in copied]
