"""`recover`: an exact workspace, resumable at every point, and nobody's files overwritten."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import BRANCH, TICKET, World, refusal
from tests.agent.in_process import swift


@pytest.fixture
def world(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    """The shared world, with commands called in this process."""
    return swift(world, monkeypatch, capsys)


def notes(folder: Path) -> dict[str, Any]:
    value = json.loads((folder / ".agent-recovery" / "next.json").read_text())
    assert isinstance(value, dict)
    return value


def test_an_empty_folder_becomes_the_exact_workspace(world: World) -> None:
    world.service.verify = [["python3", "check.py"]]
    here = world.folder("agent")
    done = world.run(here, "recover", str(TICKET), "--json")
    assert done.code == 0, done.err
    answer = done.json
    assert answer["grant"]["generation"] == 1
    assert "lease_token" not in answer["grant"]
    assert answer["workspace"]["head_sha"] == world.service.head_sha == world.git(here, "rev-parse", "HEAD")
    assert answer["workspace"]["clean"] is True
    assert world.git(here, "symbolic-ref", "--short", "HEAD") == BRANCH
    assert world.git(here, "status", "--porcelain") == ""
    assert "branch." not in world.git(here, "config", "--local", "--list")
    evidence = world.service.of("evidence")[0].body
    assert (evidence["head_sha"], evidence["clean"]) == (world.service.head_sha, True)
    # The repository's own commands see no token of ours.
    assert evidence["verify"] == [
        {"command": ["python3", "check.py"], "exit_code": 0, "output": "checked []\n", "reused": False}
    ]
    assert notes(here)["next_steps"] == [{"id": "1", "text": "First"}, {"id": "2", "text": "Then"}]
    assert notes(here)["objective"] == "Add prices"


def test_people_get_the_brief_as_text_without_terminal_escapes(world: World) -> None:
    done = world.run(world.folder("agent"), "recover", str(TICKET))
    assert done.code == 0, done.err
    assert "Add prices" in done.out
    assert "\x1b" not in done.out


def test_the_lease_file_is_private_and_ignored(world: World) -> None:
    here = world.folder("agent")
    world.run(here, "recover", str(TICKET))
    lease = here / ".agent-recovery" / "lease.json"
    assert stat.S_IMODE(lease.stat().st_mode) == 0o600
    assert world.service.lease_token in lease.read_text()
    assert ".agent-recovery/" in (here / ".git" / "info" / "exclude").read_text().splitlines()
    world.git(here, "add", "-A")
    assert world.git(here, "diff", "--cached", "--name-only") == ""


def test_a_folder_with_other_things_in_it_is_refused_before_anything_is_claimed(world: World) -> None:
    here = world.folder("agent")
    (here / "thesis.txt").write_text("years of work")
    done = world.run(here, "recover", str(TICKET), "--json")
    assert done.code == 2
    assert "thesis.txt" in done.json["error"]["message"]
    assert world.service.calls == []
    assert (here / "thesis.txt").read_text() == "years of work"
    assert not (here / ".git").exists()


def test_a_lost_claim_answer_costs_nothing(world: World) -> None:
    world.service.faults = [("claim", "lost")]
    done = world.run(world.folder("agent"), "recover", str(TICKET), "--json")
    assert done.code == 0, done.err
    claims = world.service.of("claim")
    assert len(claims) == 2
    assert claims[0].body == claims[1].body
    assert world.service.generation == 1


def test_a_crash_after_the_claim_is_mended_by_the_same_command(world: World) -> None:
    here = world.folder("agent")
    world.run(here, "claim", str(TICKET))
    (here / ".agent-recovery" / "lease.json").unlink()  # as if it died between the answer and the file
    done = world.run(here, "recover", str(TICKET), "--json")
    assert done.code == 0, done.err
    assert done.json["grant"]["generation"] == 1
    assert len({call.body["claim_id"] for call in world.service.of("claim")}) == 1


def test_a_crash_in_the_middle_of_the_checkout_is_mended(world: World) -> None:
    here = world.folder("agent")
    world.run(here, "claim", str(TICKET))
    lease = json.loads((here / ".agent-recovery" / "lease.json").read_text())
    begun = {"generation": 1, "nonce": lease["nonce"], "stage": "building"}
    (here / ".agent-recovery" / "recovery.json").write_text(json.dumps(begun))
    world.git(here, "init", "-q")
    (here / ".git" / "index.lock").touch()
    (here / "check.py").write_text("half a fi")
    done = world.run(here, "recover", str(TICKET), "--json")
    assert done.code == 0, done.err
    assert done.json["workspace"]["clean"] is True


def test_lost_evidence_is_sent_again_with_the_same_key(world: World) -> None:
    world.service.faults = [("evidence", "lost")]
    done = world.run(world.folder("agent"), "recover", str(TICKET), "--json")
    assert done.code == 0, done.err
    first, second = world.service.of("evidence")
    assert first.body == second.body
    assert world.service.sequence == 1
    assert done.json["evidence"]["repeated"] is True


def test_run_again_it_changes_nothing(world: World) -> None:
    here = world.holder()
    (here / ".agent-recovery" / "next.json").write_text('{"objective": "mine"}')
    sha = world.commit(here, "work.txt")
    done = world.run(here, "recover", str(TICKET), "--json")
    assert done.code == 0, done.err
    assert done.json["workspace"]["head_sha"] == sha
    assert done.json["evidence"] is None
    assert notes(here) == {"objective": "mine"}
    assert world.service.generation == 1
    assert len(world.service.of("evidence")) == 1


def test_a_later_generation_in_the_same_clone_starts_from_the_published_commit(world: World) -> None:
    here = world.folder("agent")
    world.run(here, "recover", str(TICKET))
    world.run(here, "handoff")
    elsewhere = world.folder("elsewhere")
    world.run(elsewhere, "recover", str(TICKET))
    sha = world.commit(elsewhere, "more.txt")
    world.git(elsewhere, "push", "-q", "origin", BRANCH)
    world.run(elsewhere, "handoff")
    world.service.head_sha = world.service.published_sha = sha
    world.service.checkpoint = {"objective": "From the ledger", "completed_steps": [{"id": "1", "text": "First"}]}
    done = world.run(here, "recover", str(TICKET), "--json")
    assert done.code == 0, done.err
    assert done.json["grant"]["generation"] == 3
    assert world.git(here, "rev-parse", "HEAD") == sha
    assert notes(here)["objective"] == "From the ledger"
    assert notes(here)["completed_steps"] == [{"id": "1", "text": "First"}]


@pytest.mark.parametrize("kind", ["commit", "file", "other branch", "no branch"])
def test_work_that_is_only_here_stops_a_new_claim(world: World, kind: str) -> None:
    here = world.folder("agent")
    world.run(here, "recover", str(TICKET))
    if kind == "file":
        (here / "only-here.txt").write_text("precious")
    else:
        sha = world.commit(here, "only-here.txt")
        if kind == "other branch":
            world.git(here, "checkout", "-q", "-b", "aside", "HEAD~1")
        if kind == "no branch":
            world.git(here, "checkout", "-q", "--orphan", "fresh")
            world.git(here, "rm", "-rfq", ".")
    world.service.dead, world.service.holder_claim = True, None
    done = world.run(here, "recover", str(TICKET), "--json")
    assert done.code == 2
    assert "work of an earlier lease" in done.json["error"]["message"]
    assert world.service.generation == 1
    if kind == "file":
        assert (here / "only-here.txt").read_text() == "precious"
    else:
        assert world.git(here, "rev-parse", BRANCH) == sha


def test_a_failing_verify_command_is_evidence_not_an_end(world: World) -> None:
    world.service.verify = [["false"], ["no-such-program-here"]]
    done = world.run(world.folder("agent"), "recover", str(TICKET), "--json")
    assert done.code == 0, done.err
    assert [run["exit_code"] for run in world.service.of("evidence")[0].body["verify"]] == [1, 127]
    assert "verify command ended with 1: false" in done.err


def test_a_repository_with_files_of_its_own_under_our_folder_is_refused(world: World) -> None:
    seed = world.folder("seed")
    (seed / ".Agent-Recovery").mkdir()
    world.service.head_sha = world.commit(seed, ".Agent-Recovery/lease.json", "{}")
    world.git(seed, "push", "-q", str(world.service.bare), "main:main")
    done = world.run(world.folder("agent"), "recover", str(TICKET), "--json")
    assert done.code == 2
    assert "files of its own" in done.json["error"]["message"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"clone_url": "ext::sh -c touch% pwned"}, "clone URL"),
        ({"clone_url": "--upload-pack=touch pwned"}, "clone URL"),
        ({"clone_url": "/etc"}, "clone URL"),
        ({"clone_url": "http://github.example/acme/shop.git"}, "clone URL"),
        ({"clone_url": "https://user:secret@github.example/acme/shop.git"}, "clone URL"),
        ({"clone_url": "https://github.example/a\nb"}, "clone URL"),
        ({"branch": "--force"}, "branch"),
        ({"branch": "main"}, "branch"),
        ({"branch": "ticket/43-other"}, "branch"),
        ({"branch": "ticket/42-a..b"}, "branch"),
        ({"ledger_ref": "refs/heads/main"}, "ledger ref"),
        ({"namespace": "refs/heads"}, "namespace"),
        ({"lease_token": "ghs_" + "x" * 30}, "lease token"),
        ({"public_keys": {"s1": "AAAA"}}, "public key"),
        ({"verify": [[]]}, "verify"),
        ({"ticket": 43}, "another ticket"),
    ],
)
def test_a_hostile_grant_is_refused_and_nothing_is_run(world: World, change: dict[str, Any], words: str) -> None:
    if "clone_url" in change:
        change = {"repository": {"id": 7001, "owner": "acme", "name": "shop", **change}}
    world.service.grant_changes = change
    here = world.folder("agent")
    done = world.run(here, "recover", str(TICKET), "--json")
    assert done.code == 7
    assert words in done.json["error"]["message"]
    assert sorted(os.listdir(here)) == [".agent-recovery"]
    assert not (here / ".agent-recovery" / "lease.json").exists()


def test_a_live_lease_is_a_conflict_that_names_the_holder(world: World) -> None:
    world.run(world.folder("first"), "recover", str(TICKET))
    here = world.folder("second")
    done = world.run(here, "recover", str(TICKET))
    assert done.code == 5
    assert "refused (lease_live)" in done.err
    assert "holder: first agent (generation 1)" in done.err
    assert "next: do the right thing" in done.err
    assert not (here / ".agent-recovery" / "claim.json").exists()  # a definite refusal: the id is thrown away


def test_a_claim_id_is_kept_while_the_outcome_is_open(world: World) -> None:
    here = world.folder("agent")
    world.service.refusals["claim"] = refusal(500, "nonsense")
    done = world.run(here, "claim", str(TICKET), "--json")
    assert done.code == 7
    assert (here / ".agent-recovery" / "claim.json").exists()
    del world.service.refusals["claim"]
    assert world.run(here, "claim", str(TICKET)).code == 0
    assert len({call.body["claim_id"] for call in world.service.of("claim")}) == 1


def test_dry_run_claims_nothing_and_writes_nothing(world: World) -> None:
    here = world.folder("agent")
    for command in ("claim", "recover"):
        done = world.run(here, command, str(TICKET), "--dry-run", "--json")
        assert done.code == 0, done.err
        assert done.json["dry_run"]["claimable"] is True
    assert world.service.of("claim") == []
    assert list(here.iterdir()) == []


def test_claim_in_an_existing_clone_adds_the_ignore_line(world: World) -> None:
    here = world.folder("own")
    world.git(here, "clone", "-q", str(world.service.bare), ".")
    assert world.run(here, "claim", str(TICKET)).code == 0
    assert ".agent-recovery/" in (here / ".git" / "info" / "exclude").read_text().splitlines()
    assert world.git(here, "status", "--porcelain") == ""


def test_a_folder_with_another_tickets_lease_is_refused(world: World) -> None:
    here = world.folder("agent")
    world.run(here, "recover", str(TICKET))
    done = world.run(here, "recover", "43", "--json")
    assert done.code == 2
    assert "acme/shop#42" in done.json["error"]["message"]
