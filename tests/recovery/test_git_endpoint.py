"""Plain git through the service: who passes, what moves, and what is left after anything that can happen in between."""

import re
import secrets
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.github.pack import empty_pack

sys.path.insert(0, str(Path(__file__).parent))  # for the world of this folder's git tests

from git_world import REPO, GitWorld, PlainGit, until

RECEIVE_PACK = {"path_regex": "git-receive-pack$", "identity": "app:agent-recovery"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitWorld]:
    world = GitWorld(tmp_path_factory.mktemp("git"))
    yield world
    world.end()


@pytest.fixture
def world(shared: GitWorld) -> Iterator[GitWorld]:
    yield shared
    shared.emulator.clear_faults()


@pytest.fixture
def agent(world: GitWorld) -> PlainGit:
    return world.agent(world.claim(world.issue()))


def ledger_of(agent: PlainGit) -> str | None:
    return agent.world.ref(agent.grant["ledger_ref"])


def branch_of(agent: PlainGit) -> str | None:
    return agent.world.ref(f"refs/heads/{agent.branch}")


def is_published(agent: PlainGit, sha: str) -> bool:
    """Whether branch and ledger agree that the holder published this."""
    published = agent.world.record(agent.grant["ticket"])["published"]
    mine = {"sha": sha, "generation": agent.grant["generation"], "nonce": agent.grant["nonce"]}
    return branch_of(agent) == sha and published == mine


def test_clone_push_and_fetch_need_a_lease_token_and_nothing_else(world: GitWorld, agent: PlainGit) -> None:
    sha = agent.commit("one.txt")
    done = agent.push()
    assert done.returncode == 0, done.stderr
    assert "unknown ref" not in done.stderr  # what was added to the push is not told to its git
    assert is_published(agent, sha)
    ticket = agent.grant["ticket"]
    assert f"{ticket} · pushed {sha[:12]} through the service" in world.story(ticket)
    record = world.record(ticket)
    assert (record["status"], record["checkpoint"]["checkpoint_sha_or_snapshot"]) == ("working", sha)
    # The loop follows at once: the PR stands, and a second clone of the same holder sees all of it.
    until(lambda: world.github.get(f"/repos/{REPO}/pulls?head=acme:{agent.branch}").json(), "the PR stands")
    other = world.agent(agent.grant)
    assert other.git("rev-parse", f"refs/remotes/origin/{agent.branch}") == sha
    second = agent.commit("two.txt")
    assert agent.push().returncode == 0
    other.git("fetch", "-q", "origin")
    assert other.git("rev-parse", f"refs/remotes/origin/{agent.branch}") == second
    assert is_published(agent, second)
    answer = world.write(ticket, "checkpoint", agent.token, status="ready", checkpoint={"next_steps": []})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("refspec", "words"),
    [
        ("HEAD:refs/heads/release-1", "refs/heads/release-1 is the trunk"),
        ("HEAD:refs/heads/main", "refs/heads/main is not this ticket's branch"),
        ("HEAD:refs/heads/ticket/999", "refs/heads/ticket/999 is not this ticket's branch"),
        ("HEAD:refs/tags/v1", "refs/tags/v1 is a tag"),
        ("HEAD:refs/agent-recovery/active/999", "is a ledger, and not the one this lease writes"),
        ("HEAD:refs/agent-recovery/results/999.a.g1", "is the result of a child"),
        ("HEAD:refs/notes/x", "refs/notes/x is no branch"),
        (":refs/heads/main", "a lease deletes nothing"),
        (":{branch}", "a lease deletes nothing"),
        (":{ledger}", "a lease deletes nothing"),
    ],
)
def test_everything_else_is_refused_by_name(world: GitWorld, refused: PlainGit, refspec: str, words: str) -> None:
    names = {"branch": f"refs/heads/{refused.branch}", "ledger": refused.grant["ledger_ref"]}
    before = (branch_of(refused), ledger_of(refused), world.ref("refs/heads/main"))
    # What is pushed beside it does not pass either: all or nothing.
    done = refused.push(refspec.format(**names), f"+HEAD:refs/heads/{refused.branch}-new")
    assert done.returncode == 1
    assert words in done.stderr
    assert (branch_of(refused), ledger_of(refused), world.ref("refs/heads/main")) == before


@pytest.fixture(scope="module")
def refused(shared: GitWorld) -> PlainGit:
    agent = shared.agent(shared.claim(shared.issue()))
    agent.commit("one.txt")
    assert agent.push().returncode == 0
    ticket = agent.grant["ticket"]
    until(lambda: shared.record(ticket)["projections"]["check_run"], "the loop is done with the push")
    agent.commit("two.txt")
    return agent


def test_a_push_that_does_not_say_where_the_branch_stands_is_refused(world: GitWorld, refused: PlainGit) -> None:
    zero, new = "0" * 40, refused.git("rev-parse", "HEAD")
    line = f"{zero} {new} refs/heads/{refused.branch}\0 report-status".encode()
    body = f"{len(line) + 4:04x}".encode() + line + b"0000" + empty_pack()
    url = f"{world.url}/git/{REPO}.git/git-receive-pack"
    answer = httpx.post(url, content=body, auth=("agent", refused.token))
    assert (answer.status_code, "does not say where" in answer.text) == (200, True)
    assert branch_of(refused) != new


def test_foreign_commits_are_named_and_not_pushed_over(world: GitWorld, agent: PlainGit) -> None:
    agent.commit("one.txt")
    assert agent.push().returncode == 0
    world.emulator.commit(REPO, {"by-hand.txt": "x\n"}, branch=agent.branch)
    foreign = branch_of(agent)
    assert foreign is not None
    agent.git("fetch", "-q", "origin")
    agent.commit("two.txt")
    done = agent.push(f"+HEAD:refs/heads/{agent.branch}")
    assert done.returncode == 1
    assert "foreign_commits" in done.stderr
    assert f"agent-recovery adopt {foreign}" in done.stderr
    assert branch_of(agent) == foreign


def test_a_holder_may_rewrite_its_branch_and_nothing_that_was_published_is_lost(
    world: GitWorld, agent: PlainGit
) -> None:
    before = agent.commit("one.txt")
    assert agent.push().returncode == 0
    agent.git("commit", "-q", "--amend", "-m", "Say it better")
    after = agent.git("rev-parse", "HEAD")
    assert agent.push().returncode == 1  # git itself asks for the force
    done = agent.push(f"+HEAD:refs/heads/{agent.branch}")
    assert done.returncode == 0, done.stderr
    assert is_published(agent, after)
    agent.git("clone", "-q", "--bare", "--no-tags", world.address(agent.token), "fresh.git", cwd=agent.home)
    agent.git("fetch", "-q", "origin", agent.grant["ledger_ref"], cwd=agent.home / "fresh.git")
    assert agent.git("cat-file", "-t", before, cwd=agent.home / "fresh.git") == "commit"


def test_only_the_present_lease_passes(world: GitWorld) -> None:
    ticket = world.issue()
    old = world.agent(world.claim(ticket))
    old.commit("zombie.txt")
    new = world.agent(world.take_over(ticket))
    before = ledger_of(new)
    for call in (("fetch", "origin"), ("push", "origin", f"HEAD:refs/heads/{old.branch}")):
        done = old.run(*call)
        assert done.returncode == 128, call
        assert "stale_generation: this lease (generation 1) has ended: generation 2 is held by agent" in done.stderr
    assert (branch_of(new), ledger_of(new)) == (None, before)
    sha = new.commit("fresh.txt")
    assert new.push().returncode == 0
    assert is_published(new, sha)


@pytest.mark.parametrize("secret", ["tampered", "other key", "none", "user token", "garbage"])
def test_what_is_no_genuine_token_opens_nothing(world: GitWorld, refused: PlainGit, secret: str) -> None:
    token = {
        "tampered": refused.token[:-1] + ("A" if refused.token[-1] != "A" else "B"),
        "other key": refused.token.replace("arl_", "arl_x", 1),
        "none": "",
        "user token": world.user,
        "garbage": "arl_..",
    }[secret]
    for path in ("info/refs?service=git-upload-pack", "info/refs?service=git-receive-pack"):
        answer = httpx.get(f"{world.url}/git/{REPO}.git/{path}", auth=("x", token))
        assert (answer.status_code, answer.headers["www-authenticate"][:5]) == (401, "Basic")
        assert not token or token not in answer.text
    for path in ("git-upload-pack", "git-receive-pack"):
        assert httpx.post(f"{world.url}/git/{REPO}.git/{path}", content=b"0000", auth=("x", token)).status_code == 401


def test_a_lease_opens_its_own_repository_and_no_other(world: GitWorld, refused: PlainGit) -> None:
    for repo in ("acme/other", "acme/none", "..%2F..%2Facme/shop", "acme/.git"):
        url = f"{world.url}/git/{repo}.git/info/refs?service=git-upload-pack"
        assert httpx.get(url, auth=("x", refused.token)).status_code == 404, repo


def test_a_lease_past_its_time_that_nobody_took_passes_and_is_renewed(world: GitWorld, agent: PlainGit) -> None:
    ticket = agent.grant["ticket"]
    world.emulator.advance(4000)
    before = world.record(ticket)["lease"]["expires_at"]
    sha = agent.commit("late.txt")
    assert agent.push().returncode == 0
    assert is_published(agent, sha)
    lease = world.record(ticket)["lease"]
    assert lease["expires_at"] > before
    assert lease["renewed_at"] > before


def test_a_takeover_while_a_push_is_under_way_refuses_all_of_it(world: GitWorld, agent: PlainGit) -> None:
    ticket = agent.grant["ticket"]
    agent.commit("late.txt")
    world.emulator.fault("pause", match=RECEIVE_PACK)
    pushing = agent.begin_push()
    until(world.emulator.paused, "the push stands at GitHub's door")
    new = world.take_over(ticket)
    assert new["generation"] == 2
    world.emulator.release()
    _, said = pushing.communicate(timeout=30)
    assert pushing.returncode == 1
    assert "stale_generation" in said
    assert branch_of(agent) is None
    assert not any("pushed" in line for line in world.story(ticket))


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("drop_before", {}),
        ("drop_after", {}),
        ("status", {"code": 502}),
        ("status_after", {"code": 502}),
        ("late", {"after": 2}),
        ("revoke_token", {}),
    ],
)
def test_what_github_does_not_say_is_found_out(
    world: GitWorld, agent: PlainGit, kind: str, more: dict[str, int]
) -> None:
    ticket = agent.grant["ticket"]
    sha = agent.commit("one.txt")
    world.emulator.fault(kind, match=RECEIVE_PACK, **more)
    done = agent.push()
    assert done.returncode == 0, done.stderr
    assert is_published(agent, sha)
    assert len([line for line in world.story(ticket) if f"pushed {sha[:12]}" in line]) == 1


def test_a_push_that_lost_to_another_write_of_the_same_lease_is_made_again(world: GitWorld, agent: PlainGit) -> None:
    ticket = agent.grant["ticket"]
    sha = agent.commit("one.txt")
    world.emulator.fault("pause", match=RECEIVE_PACK)
    pushing = agent.begin_push()
    until(world.emulator.paused, "the push stands at GitHub's door")
    answer = world.write(ticket, "checkpoint", agent.token, checkpoint={"objective": "written meanwhile"})
    assert answer.status_code == 200, answer.text
    world.emulator.release()
    _, said = pushing.communicate(timeout=30)
    assert pushing.returncode == 0, said
    assert is_published(agent, sha)
    assert world.record(ticket)["checkpoint"]["objective"] == "written meanwhile"
    assert [line.partition(" · ")[2][:10] for line in world.story(ticket)[2:4]] == ["checkpoint", "pushed " + sha[:3]]


def test_of_two_clones_that_push_at_once_one_wins(world: GitWorld, agent: PlainGit) -> None:
    other = world.agent(agent.grant)
    shas = [agent.commit("one.txt"), other.commit("two.txt")]
    pushes = [agent.begin_push(), other.begin_push()]
    said = [push.communicate(timeout=30)[1] for push in pushes]
    won = [push.returncode for push in pushes].index(0)
    assert pushes[1 - won].returncode == 1
    assert re.search(r"lost_race|does not say where|foreign|expected", said[1 - won])
    assert is_published(agent, shas[won])


@pytest.mark.parametrize("moment", ["pause", "pause_after"])
def test_a_service_that_dies_in_a_push_leaves_all_of_it_or_nothing(
    world: GitWorld, agent: PlainGit, moment: str
) -> None:
    sha = agent.commit("one.txt")
    world.emulator.fault(moment, match=RECEIVE_PACK)
    pushing = agent.begin_push()
    until(world.emulator.paused, "the push stands at GitHub's door")
    world.end_service(signal.SIGKILL)
    world.emulator.release()
    pushing.communicate(timeout=30)
    assert pushing.returncode != 0
    world.start()
    agent.git("remote", "set-url", "origin", world.address(agent.token))
    again = agent.push()
    assert again.returncode == 0, again.stderr
    assert is_published(agent, sha)
    assert len([line for line in world.story(agent.grant["ticket"]) if "pushed" in line]) == 1


def test_a_child_pushes_its_own_branch_and_not_its_parents(world: GitWorld, agent: PlainGit) -> None:
    sha = agent.commit("one.txt")
    assert agent.push().returncode == 0
    task = {"objective": "Write the docs", "acceptance": ["they are read"]}
    ticket = agent.grant["ticket"]
    spawned = world.write(ticket, "children/spawn", agent.token, name="docs-1", task=task)
    assert spawned.status_code == 200, spawned.text
    child = world.agent(world.claim(f"{ticket}.docs-1"))
    assert (child.grant["head_sha"], child.branch) == (sha, f"ticket/{ticket}.docs-1")
    own = child.commit("docs.txt")
    done = child.push()
    assert done.returncode == 0, done.stderr
    assert is_published(child, own)
    parents = child.push(f"HEAD:refs/heads/{agent.branch}")
    assert f"refs/heads/{agent.branch} is the parent's branch" in parents.stderr
    childs = agent.push(f"+HEAD:refs/heads/{child.branch}")
    assert f"refs/heads/{child.branch} is not this ticket's branch" in childs.stderr
    assert (branch_of(agent), branch_of(child)) == (sha, own)


def test_a_rule_of_the_repository_is_told_in_githubs_words(world: GitWorld, agent: PlainGit) -> None:
    agent.commit("one.txt")
    assert agent.push().returncode == 0
    before = branch_of(agent)
    body = {
        "name": "frozen",
        "target": "branch",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": [f"refs/heads/{agent.branch}"], "exclude": []}},
        "rules": [{"type": "update"}],
    }
    made = world.admin.post(f"/repos/{REPO}/rulesets", json=body)
    assert made.status_code == 201, made.text
    try:
        agent.commit("two.txt")
        done = agent.push()
    finally:
        world.admin.delete(f"/repos/{REPO}/rulesets/{made.json()['id']}")
    assert done.returncode == 1
    assert "GH013" in done.stderr
    assert "! [remote rejected]" in done.stderr
    assert branch_of(agent) == before


def test_githubs_rule_for_workflow_files_holds_for_the_app(world: GitWorld, agent: PlainGit) -> None:
    (agent.folder / ".github" / "workflows").mkdir(parents=True)
    agent.commit(".github/workflows/ci.yml", b"on: push\n")
    done = agent.push()
    assert done.returncode == 1
    assert "refusing to allow a GitHub App to create or update workflow" in done.stderr
    assert branch_of(agent) is None


def test_twenty_megabytes_pass_in_constant_memory(world: GitWorld, agent: PlainGit) -> None:
    agent.commit("small.bin", secrets.token_bytes(1024))
    assert agent.push().returncode == 0
    before = peak_kib(world)
    sha = agent.commit("large.bin", secrets.token_bytes(20 * 1024 * 1024))
    started = time.monotonic()
    done = agent.push()
    assert done.returncode == 0, done.stderr
    assert is_published(agent, sha)
    grown = peak_kib(world) - before
    print(f"20 MB pushed in {time.monotonic() - started:.1f} s; the service's peak grew by {grown} KiB")
    assert grown < 8 * 1024
    agent.git("clone", "-q", "--bare", world.address(agent.token), "fetched", cwd=agent.home)
    assert peak_kib(world) - before < 8 * 1024


def peak_kib(world: GitWorld) -> int:
    status = Path(f"/proc/{world.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1])  # type: ignore[index]


def test_no_token_is_written_anywhere(world: GitWorld, refused: PlainGit) -> None:
    log = world.log.read_text()
    assert "arl_" not in log
    assert "ghs_" not in log
    assert refused.token not in str(world.emulator.requests())
