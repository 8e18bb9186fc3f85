"""The fenced push, between real clones and a real bare repository."""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.domain.checkpoint import Checkpoint
from app.domain.record import Answered, Fence, Held, Published, Rebuilt, Record
from app.ledger.clone import Clone, PushedRefs, PushFailed, Unreachable
from app.ledger.codec import Draft, Entry, blob_bytes, commit_bytes, draft, tree_bytes
from app.ledger.git import GitLedger
from app.ledger.git_outcomes import (
    Distrusted,
    FencedOut,
    Foreign,
    Gone,
    KeyUsed,
    LostRace,
    OnHold,
    Outnumbered,
    Pushed,
    Refused,
    Seen,
    Withdrawn,
)

BRANCH = "ticket/42-sort"
LEDGER = "refs/agent-recovery/active/42"
DONE = "refs/agent-recovery/done/42"
IDENTITY = {
    **os.environ,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


def git(path: Path, *arguments: str, stdin: bytes = b"") -> str:
    done = subprocess.run(["git", "-C", str(path), *arguments], input=stdin, capture_output=True, env=IDENTITY)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@dataclass
class Remote:
    """A bare repository, and a service that writes ledgers straight into it."""

    path: Path
    writers: Any
    root: str

    def refs(self) -> dict[str, str]:
        lines = git(self.path, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)

    def entry(self, sha: str) -> Entry:
        with Clone(self.path).objects() as objects:
            entry = objects.entry(sha)
        assert entry is not None
        return entry

    @property
    def head(self) -> Entry:
        return self.entry(self.refs()[LEDGER])

    @property
    def record(self) -> Record:
        record = self.head.record
        assert isinstance(record, Record)
        return record

    def make(self, made: Draft) -> str:
        for kind, content in (
            ("blob", blob_bytes(made.record_text)),
            ("tree", tree_bytes(made.record_text)),
            ("commit", commit_bytes(made)),
        ):
            sha = git(self.path, "hash-object", "-w", "--stdin", "-t", kind, stdin=content)
        return sha

    def write(self, record: Record, ref: str = LEDGER, parent: str | None = None) -> str:
        """A service commit on the ledger, moved by compare-and-set."""
        below = parent or self.refs().get(LEDGER)
        if below is None:  # only a rebuilt ledger begins with a holder
            at = self.writers.lease().granted_at
            record = record.model_copy(update={"rebuilt": Rebuilt(by="dev-a", at=at, sequence=record.sequence)})
        made = draft(
            ref=ref,
            parent=below,
            code_parent=None,
            record=record,
            event="changed",
            repository_id=self.writers.repository_id,
            sealer=self.writers.sealer,
            request=None,
            when=self.writers.lease().granted_at,
        )
        sha = self.make(made)
        git(self.path, "update-ref", ref, sha)
        return sha

    def change(self, **changes: Any) -> str:
        """The service puts a changed record on top."""
        record = self.record
        return self.write(record.model_copy(update={"sequence": record.sequence + 1, **changes}))

    def take_over(self, generation: int = 2, nonce: str = "n2") -> str:
        lease = self.writers.lease(generation, nonce, holder="successor")
        return self.change(generation=generation, lease=lease, status="recovering")


@dataclass
class Agent:
    """A clone with a lease token."""

    path: Path
    ledger: GitLedger
    token: str

    def commit(self, name: str = "work.txt", text: str = "1") -> str:
        (self.path / name).write_text(text)
        git(self.path, "add", name)
        git(self.path, "commit", "-q", "-m", f"work on {name}")
        return git(self.path, "rev-parse", "HEAD")

    def push(self, sha: str, **options: Any) -> Any:
        given = {"checkpoint": Checkpoint(objective="sort"), "status": "working", "request": None, **options}
        return self.ledger.fenced_push(self.token, BRANCH, sha, **given)


@pytest.fixture
def remote(tmp_path: Path, writers: Any) -> Remote:
    path = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(path))
    seed = tmp_path / "seed"
    git(tmp_path, "clone", "-q", str(path), str(seed))
    (seed / "README").write_text("hello")
    git(seed, "add", ".")
    git(seed, "commit", "-q", "-m", "start")
    git(seed, "push", "-q", "origin", "HEAD:refs/heads/main")
    made = Remote(path, writers, git(seed, "rev-parse", "HEAD"))
    made.write(writers.held(status="recovering"))
    return made


@pytest.fixture
def agents(tmp_path: Path, remote: Remote, writers: Any) -> Callable[..., Agent]:
    def make(name: str = "one", generation: int = 1, nonce: str = "n1") -> Agent:
        path = tmp_path / name
        git(tmp_path, "clone", "-q", str(remote.path), str(path))
        ledger = GitLedger(
            clone=path,
            ledger_ref=LEDGER,
            repository_id=writers.repository_id,
            ticket=42,
            namespace="refs/agent-recovery",
            public_keys={"k1": writers.sealer.public_key},
            sleep=lambda seconds: None,
        )
        return Agent(path, ledger, writers.token(generation, nonce))

    return make


@pytest.fixture
def agent(agents: Callable[..., Agent]) -> Agent:
    return agents()


def before_push(monkeypatch: pytest.MonkeyPatch, *acts: Callable[[], object]) -> None:
    """Runs one act right before each push, after everything was read."""
    waiting = iter(acts)
    push = Clone.push

    def acting(self: Clone, *arguments: Any, **named: Any) -> PushedRefs | PushFailed:
        for act in waiting:
            act()
            break
        return push(self, *arguments, **named)

    monkeypatch.setattr(Clone, "push", acting)


def test_the_first_push_makes_the_branch_and_says_so_in_the_ledger(remote: Remote, agent: Agent) -> None:
    before = remote.head
    sha = agent.commit()
    done = agent.push(sha, request=("request-1", 1))
    assert done == Pushed(remote.head.sha, sha)
    assert remote.refs()[f"refs/heads/{BRANCH}"] == sha
    head, record = remote.head, remote.record
    assert (head.parent, head.code_parent) == (before.sha, sha)
    assert record.published is not None
    assert (record.published.sha, record.status, record.renewals) == (sha, "working", 1)
    assert record.checkpoint.objective == "sort"
    assert record.answered("request-1") is not None
    assert git(remote.path, "fsck", "--strict") == ""


def test_every_push_advances_the_ledger_even_without_new_work(remote: Remote, agent: Agent) -> None:
    sha = agent.commit()
    first = agent.push(sha)
    second = agent.push(sha, status="waiting")
    assert isinstance(second, Pushed)
    assert remote.head.parent == first.ledger_commit
    seen = agent.ledger.look(BRANCH)
    assert isinstance(seen, Seen)
    assert (len(seen.entries), seen.branch) == (3, sha)
    assert agent.ledger.fetch() == seen.entries[0]


def test_a_known_request_gets_its_answer_and_nothing_is_pushed(remote: Remote, agent: Agent) -> None:
    first = agent.push(agent.commit(), request=("request-1", 1))
    remote.take_over()
    refs = remote.refs()
    assert agent.push(agent.commit("b"), request=("request-1", 1)).code_sha == first.code_sha
    assert remote.refs() == refs


def test_the_answer_to_a_known_request_is_its_own_push_not_what_followed(
    remote: Remote, agent: Agent, agents: Callable[..., Agent]
) -> None:
    first = agent.push(agent.commit(), request=("request-1", 1))
    remote.change()
    second = agent.push(agent.commit("b"), request=("request-2", 2))
    assert agent.push(first.code_sha, request=("request-1", 1)) == first
    remote.take_over()
    successor = agents("two", 2, "n2")
    git(successor.path, "checkout", "-q", "-b", "work", f"origin/{BRANCH}")
    assert isinstance(successor.push(successor.commit("c")), Pushed)
    refs = remote.refs()
    assert agent.push(first.code_sha, request=("request-1", 1)) == first
    assert agent.push(second.code_sha, request=("request-2", 2)) == second
    assert remote.refs() == refs


def test_an_answer_that_no_push_carries_is_not_believed(remote: Remote, agent: Agent) -> None:
    sha = agent.commit()
    claimed = Answered(key="request-1", seq=1, generation=1, answer={"status": "working"})
    remote.change(requests=(claimed,))
    refs = remote.refs()
    assert isinstance(agent.push(sha, request=("request-1", 1)), Distrusted)
    assert remote.refs() == refs


@pytest.mark.parametrize("to", ["checkpoint", "handoff", "evidence"])
def test_the_key_of_another_call_answers_no_push(remote: Remote, agent: Agent, to: str) -> None:
    first = agent.push(agent.commit(), request=("request-1", 1))
    assert (remote.record.requests[0].to, remote.record.requests[0].seq) == ("push", 1)
    other = Answered(key="request-2", seq=2, generation=1, answer={"status": "working"}, to=to)
    remote.change(requests=(*remote.record.requests, other))
    refs = remote.refs()
    told = agent.push(agent.commit("b"), request=("request-2", 2))
    assert isinstance(told, KeyUsed)
    assert to in told.reason
    assert remote.refs() == refs
    assert agent.push(first.code_sha, request=("request-1", 1)) == first


@pytest.mark.parametrize("seq", [2**31, 10**20, 0, -5])
def test_no_number_is_sealed_that_the_agent_api_does_not_take(remote: Remote, agent: Agent, seq: int) -> None:
    refs = remote.refs()
    assert isinstance(agent.push(agent.commit(), request=("request-1", seq)), Refused)
    assert remote.refs() == refs
    assert isinstance(agent.push(agent.commit("b"), request=("request-1", 2**31 - 1)), Pushed)


def test_a_holder_is_fenced_out_by_a_takeover(remote: Remote, agent: Agent) -> None:
    agent.push(agent.commit())
    remote.take_over()
    refs = remote.refs()
    out = agent.push(agent.commit("b"))
    assert out == FencedOut(out.reason, "successor", 2)
    assert remote.refs() == refs


def test_a_takeover_between_read_and_push_refuses_both_refs(
    remote: Remote, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = agent.commit()
    agent.push(first)
    before_push(monkeypatch, remote.take_over)
    out = agent.push(agent.commit("b"))
    assert isinstance(out, FencedOut)
    assert remote.refs()[f"refs/heads/{BRANCH}"] == first
    assert remote.record.generation == 2


def test_a_ticket_that_is_exhausted_takes_no_pushes(remote: Remote, agent: Agent) -> None:
    remote.change(status="exhausted")
    assert isinstance(agent.push(agent.commit()), FencedOut)


def test_a_handed_off_ticket_is_nobodys(remote: Remote, agent: Agent) -> None:
    remote.change(status="unclaimed", lease=None)
    out = agent.push(agent.commit())
    assert isinstance(out, FencedOut)
    assert out.holder is None


def test_an_ended_ticket_takes_no_push(remote: Remote, agent: Agent) -> None:
    ended = remote.record.model_copy(update={"sequence": 3, "status": "cancelled"})
    sha = remote.write(ended, ref=DONE)
    git(remote.path, "update-ref", "-d", LEDGER)
    assert isinstance(agent.push(agent.commit()), FencedOut)
    assert agent.ledger.fetch() == Gone("the ticket has ended", sha)


def test_a_lost_race_is_run_again_while_the_generation_is_ours(
    remote: Remote, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_push(monkeypatch, remote.change, remote.change)
    sha = agent.commit()
    assert agent.push(sha) == Pushed(remote.head.sha, sha)
    assert remote.record.sequence == 5


def test_a_race_lost_ten_times_is_given_up(remote: Remote, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    before_push(monkeypatch, *[remote.change] * 20)
    assert isinstance(agent.push(agent.commit()), LostRace)
    assert f"refs/heads/{BRANCH}" not in remote.refs()


def test_a_push_that_was_done_unheard_is_found(remote: Remote, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    push = Clone.push

    def deaf(self: Clone, *arguments: Any, **named: Any) -> PushFailed:
        assert isinstance(push(self, *arguments, **named), PushedRefs)
        remote.change()
        return PushFailed("the remote end hung up unexpectedly")

    monkeypatch.setattr(Clone, "push", deaf)
    sha = agent.commit()
    done = agent.push(sha)
    assert done == Pushed(remote.head.parent, sha)
    assert remote.record.sequence == 4


def test_a_push_done_unheard_is_found_after_the_ticket_ended(
    remote: Remote, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    push = Clone.push

    def deaf(self: Clone, *arguments: Any, **named: Any) -> PushFailed:
        push(self, *arguments, **named)
        remote.write(remote.record.model_copy(update={"sequence": 4, "status": "cancelled"}), ref=DONE)
        git(remote.path, "update-ref", "-d", LEDGER)
        return PushFailed("the remote end hung up unexpectedly")

    monkeypatch.setattr(Clone, "push", deaf)
    assert isinstance(agent.push(agent.commit()), Pushed)


def test_a_refusal_of_the_remote_is_told_in_its_words(remote: Remote, agent: Agent) -> None:
    hook = remote.path / "hooks" / "update"
    hook.write_text("#!/bin/sh\necho 'the branch is protected' >&2\nexit 1\n")
    hook.chmod(0o755)
    refs = remote.refs()
    out = agent.push(agent.commit())
    assert isinstance(out, Refused)
    assert "hook declined" in out.reason
    assert remote.refs() == refs


def test_an_unreachable_remote_is_told(remote: Remote, agent: Agent) -> None:
    sha = agent.commit()
    remote.path.rename(remote.path.with_name("gone.git"))
    out = agent.push(sha)
    assert isinstance(out, Refused)
    assert isinstance(agent.ledger.fetch(), Unreachable)


# -- foreign heads ---------------------------------------------------------------------------------------------------


@pytest.fixture
def foreign(remote: Remote, agent: Agent, agents: Callable[..., Agent]) -> Iterator[str]:
    """The agent has published; somebody else pushed plainly on top of it."""
    published = agent.commit()
    agent.push(published)
    other = agents("other")
    git(other.path, "fetch", "-q", "origin", f"refs/heads/{BRANCH}")
    git(other.path, "checkout", "-q", "--detach", "FETCH_HEAD")
    sha = other.commit("zombie.txt")
    git(other.path, "push", "-q", "origin", f"HEAD:refs/heads/{BRANCH}")
    return sha


def test_a_foreign_head_is_named_and_nothing_moves(remote: Remote, agent: Agent, foreign: str) -> None:
    refs = remote.refs()
    out = agent.push(agent.commit("b"))
    assert out == Foreign(foreign, ((foreign, "work on zombie.txt", "a"),))
    assert remote.refs() == refs


def test_rewind_puts_the_branch_back_and_keeps_the_foreign_head(remote: Remote, agent: Agent, foreign: str) -> None:
    sha = agent.commit("b")
    assert isinstance(agent.push(sha, rewind=True), Pushed)
    refs = remote.refs()
    assert refs[f"refs/heads/{BRANCH}"] == sha
    assert refs[f"refs/agent-recovery/recovered/42/{foreign}"] == foreign
    assert foreign[:12] in remote.head.event


def test_work_that_lost_what_is_published_is_refused_unless_it_is_said_to_replace_it(
    remote: Remote, agent: Agent
) -> None:
    old = agent.commit("a")
    agent.push(old)
    git(agent.path, "commit", "-q", "--amend", "-m", "made anew")
    sha = git(agent.path, "rev-parse", "HEAD")
    refused = agent.push(sha)
    assert isinstance(refused, Refused)
    assert "--rebased" in refused.reason
    assert isinstance(agent.push(sha, rewind=True), Refused)
    assert isinstance(agent.push(sha, rebased=True), Pushed)
    refs = remote.refs()
    assert (refs[f"refs/heads/{BRANCH}"], refs[f"refs/agent-recovery/recovered/42/{old}"]) == (sha, old)
    assert remote.record.published is not None
    assert remote.record.published.sha == sha
    assert isinstance(agent.push(agent.commit("b"), rebased=True), Pushed), "nothing was replaced: as any push"


def test_rebased_work_does_not_go_over_foreign_commits(remote: Remote, agent: Agent) -> None:
    old = agent.commit("a")
    agent.push(old)
    other = git(remote.path, "commit-tree", f"{old}^{{tree}}", "-p", old, "-m", "foreign")
    git(remote.path, "update-ref", f"refs/heads/{BRANCH}", other)
    git(agent.path, "commit", "-q", "--amend", "-m", "made anew")
    refs = remote.refs()
    assert isinstance(agent.push(git(agent.path, "rev-parse", "HEAD"), rebased=True), Refused)
    assert remote.refs() == refs


@pytest.mark.parametrize("stray", ["recovered", "recovered/42"])
def test_rewind_passes_though_a_stray_ref_leaves_no_room_to_keep_the_foreign_head(
    remote: Remote, agent: Agent, foreign: str, stray: str
) -> None:
    git(remote.path, "update-ref", f"refs/agent-recovery/{stray}", foreign)
    sha = agent.commit("b")
    assert isinstance(agent.push(sha, rewind=True), Pushed)
    assert remote.refs()[f"refs/heads/{BRANCH}"] == sha


def test_rewind_twice_with_the_same_foreign_head(remote: Remote, agent: Agent, foreign: str) -> None:
    assert isinstance(agent.push(agent.commit("b"), rewind=True), Pushed)
    git(remote.path, "update-ref", f"refs/heads/{BRANCH}", foreign)
    sha = agent.commit("c")
    assert isinstance(agent.push(sha, rewind=True), Pushed)
    assert remote.refs()[f"refs/heads/{BRANCH}"] == sha


def test_adopting_needs_exactly_the_head_and_work_that_contains_it(remote: Remote, agent: Agent, foreign: str) -> None:
    apart = agent.commit("b")
    assert isinstance(agent.push(apart, adopt=remote.root), Foreign)
    assert isinstance(agent.push(apart, adopt=foreign), Refused)
    git(agent.path, "merge", "-q", "--no-edit", foreign)
    merged = git(agent.path, "rev-parse", "HEAD")
    assert isinstance(agent.push(merged), Foreign)
    assert isinstance(agent.push(merged, adopt=foreign), Pushed)
    assert remote.record.published is not None
    assert remote.record.published.sha == merged


def test_a_branch_put_back_to_an_older_commit_is_foreign_too(remote: Remote, agent: Agent) -> None:
    agent.push(agent.commit())
    git(remote.path, "update-ref", f"refs/heads/{BRANCH}", remote.root)
    sha = agent.commit("b")
    assert agent.push(sha) == Foreign(remote.root, ())
    assert isinstance(agent.push(sha, rewind=True), Pushed)


def test_a_branch_somebody_made_before_us_is_foreign(remote: Remote, agent: Agent) -> None:
    git(remote.path, "update-ref", f"refs/heads/{BRANCH}", remote.root)
    assert agent.push(agent.commit()) == Foreign(remote.root, ())


def test_a_deleted_branch_comes_back(remote: Remote, agent: Agent) -> None:
    agent.push(agent.commit())
    git(remote.path, "update-ref", "-d", f"refs/heads/{BRANCH}")
    sha = agent.commit("b")
    assert isinstance(agent.push(sha), Pushed)
    assert remote.refs()[f"refs/heads/{BRANCH}"] == sha


def test_work_that_lost_what_is_published_is_not_pushed(remote: Remote, agent: Agent) -> None:
    agent.push(agent.commit())
    git(agent.path, "reset", "-q", "--hard", remote.root)
    out = agent.push(agent.commit("other"))
    assert isinstance(out, Refused)
    assert "does not contain" in out.reason


def test_a_branch_moved_between_read_and_push_is_not_overwritten(
    remote: Remote, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.push(agent.commit())
    before_push(monkeypatch, lambda: git(remote.path, "update-ref", f"refs/heads/{BRANCH}", remote.root))
    assert isinstance(agent.push(agent.commit("b")), Foreign)
    assert remote.refs()[f"refs/heads/{BRANCH}"] == remote.root


def test_a_burned_commit_is_never_published(remote: Remote, agent: Agent) -> None:
    sha = agent.commit()
    remote.change(burned_shas=(sha,))
    assert isinstance(agent.push(sha), Refused)


# -- hostile content -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("branch", ["-d", "a b", "a:b", "+a", "a*", "..", "a\nb", "", "x.lock", "@{-1}"])
def test_no_branch_name_becomes_an_option_or_a_pattern(remote: Remote, agent: Agent, branch: str) -> None:
    sha = agent.commit()
    refs = remote.refs()
    out = agent.ledger.fenced_push(agent.token, branch, sha, checkpoint=None, status="working", request=None)
    if branch in ("-d", "+a"):
        # Odd, but a name like any other when it is given in full.
        assert isinstance(out, Pushed)
        assert remote.refs()[f"refs/heads/{branch}"] == sha
    else:
        assert isinstance(out, Refused)
        assert remote.refs() == refs


@pytest.mark.parametrize("sha", ["HEAD", "--all", "a" * 40, "", "refs/heads/main", "a" * 39 + "\n"])
def test_only_a_commit_of_this_clone_is_published(agent: Agent, sha: str) -> None:
    assert isinstance(agent.push(sha), Refused)


def test_a_token_for_another_ticket_or_no_token_is_refused(agent: Agent, writers: Any) -> None:
    sha = agent.commit()
    for token in ("", "arl_x", writers.token().replace("arl_", "")):
        agent.token = token
        assert isinstance(agent.push(sha), Refused)


def test_a_token_with_a_wrong_secret_cannot_build_on_a_tail_it_cannot_check(
    remote: Remote, agent: Agent, writers: Any
) -> None:
    agent.push(agent.commit())
    kid, payload, _ = writers.token().split(".")
    agent.token = f"{kid}.{payload}." + "A" * 43
    assert isinstance(agent.push(agent.commit("b")), Refused)


@pytest.mark.parametrize("text", ['{"schema":1}', "{", "", '{"schema":99}', "\ud800".encode("utf-8", "surrogatepass")])
def test_a_ledger_that_cannot_be_believed_takes_no_push(remote: Remote, agent: Agent, text: Any) -> None:
    content = text if isinstance(text, bytes) else text.encode()
    blob = git(remote.path, "hash-object", "-w", "--stdin", stdin=content)
    tree = git(remote.path, "mktree", stdin=f"100644 blob {blob}\trecord.json\n".encode())
    commit = git(remote.path, "commit-tree", tree, "-p", remote.head.sha, "-m", "42 · forged")
    git(remote.path, "update-ref", LEDGER, commit)
    out = agent.push(agent.commit())
    assert isinstance(out, Refused)
    assert "cannot be trusted" in out.reason


def test_a_huge_record_is_not_read_into_memory(remote: Remote, agent: Agent) -> None:
    blob = git(remote.path, "hash-object", "-w", "--stdin", stdin=b" " * 3_000_000)
    tree = git(remote.path, "mktree", stdin=f"100644 blob {blob}\trecord.json\n".encode())
    commit = git(remote.path, "commit-tree", tree, "-p", remote.head.sha, "-m", "42 · forged")
    git(remote.path, "update-ref", LEDGER, commit)
    entry = agent.ledger.fetch()
    assert isinstance(entry, Entry)
    assert entry.record_text is None
    assert isinstance(agent.push(agent.commit()), Refused)


def test_a_ref_that_is_no_commit_takes_no_push(remote: Remote, agent: Agent) -> None:
    blob = git(remote.path, "hash-object", "-w", "--stdin", stdin=b"x")
    git(remote.path, "update-ref", LEDGER, blob)
    assert isinstance(agent.push(agent.commit()), FencedOut | Refused)


def test_strangers_words_are_one_plain_line(remote: Remote, agent: Agent) -> None:
    tree = git(remote.path, "rev-parse", f"{remote.root}^{{tree}}")
    subject = "\x1b[31mred\x07 `$(id)`\u202e end"
    commit = git(remote.path, "commit-tree", tree, "-p", remote.root, stdin=subject.encode())
    git(remote.path, "update-ref", f"refs/heads/{BRANCH}", commit)
    out = agent.push(agent.commit())
    assert isinstance(out, Foreign)
    assert out.commits == ((commit, "[31mred `$(id)` end", "a"),)


def test_reasons_hold_no_credentials(agent: Agent) -> None:
    git(agent.path, "remote", "set-url", "origin", "http://user:secret-word@127.0.0.1:1/x.git")
    out = agent.push(agent.commit())
    assert isinstance(out, Refused)
    assert "secret-word" not in out.reason


# -- races -----------------------------------------------------------------------------------------------------------


def test_of_eight_pushers_from_one_base_exactly_one_wins_each_round(
    remote: Remote, agents: Callable[..., Agent]
) -> None:
    pushers = [agents(f"p{number}") for number in range(8)]
    for round_ in range(3):
        before = remote.record
        shas = []
        for pusher in pushers:
            git(pusher.path, "fetch", "-q", "origin")
            start = before.published.sha if before.published else remote.root
            git(pusher.path, "checkout", "-q", "--detach", start)
            shas.append(pusher.commit(f"{pusher.path.name}.txt", str(round_)))
        gate = threading.Barrier(8)

        def run(number: int, gate: threading.Barrier = gate, shas: list[str] = shas) -> Any:
            gate.wait()
            return pushers[number].push(shas[number])

        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(run, range(8)))
        won = [outcome for outcome in outcomes if isinstance(outcome, Pushed)]
        # All hold the same token, so the losers look again and find work that does not contain the winner's.
        assert len(won) == 1, outcomes
        assert all(isinstance(outcome, Pushed | Refused | Foreign) for outcome in outcomes)
        assert remote.refs()[f"refs/heads/{BRANCH}"] == won[0].code_sha
        assert remote.head.sha == won[0].ledger_commit
        assert remote.record.sequence == before.sequence + 1


def test_the_chain_of_many_pushes_is_believed(remote: Remote, agent: Agent, writers: Any) -> None:
    for number in range(5):
        assert isinstance(agent.push(agent.commit("work.txt", str(number))), Pushed)
    seen = agent.ledger.look(None)
    assert isinstance(seen, Seen)
    judged = writers.verify(*seen.entries)
    assert judged.tail == 5
    assert json.loads(seen.entries[0].record_text or "")["renewals"] == 5


def test_a_new_request_with_an_old_number_pushes_nothing(agent: Agent, remote: Remote) -> None:
    sha = agent.commit()
    assert isinstance(agent.push(sha, request=("key-one-1", 7)), Pushed)
    before = remote.refs()
    late = agent.push(agent.commit("more.txt"), request=("key-two-2", 7))
    assert isinstance(late, Outnumbered)
    assert late.highest == 7
    assert remote.refs() == before
    known = agent.push(sha, request=("key-one-1", 1))
    assert isinstance(known, Pushed)
    assert known.code_sha == sha


def _fence_off(remote: Remote, on: str) -> str:
    """The service's fence commit above the published head, in the branch and in the record."""
    tree = git(remote.path, "rev-parse", f"{on}^{{tree}}")
    fence = git(remote.path, "commit-tree", tree, "-p", on, "-m", "Withdraw")
    git(remote.path, "update-ref", f"refs/heads/{BRANCH}", fence, on)
    published = Published(sha=fence, generation=1, nonce="n1")
    remote.change(published=published, burned_shas=(on,), fence=Fence(sha=fence, on=on, because="on hold"))
    return fence


@pytest.mark.parametrize("goes_on", [False, True])
def test_work_without_the_fence_commit_is_withdrawn_until_it_has_it(
    remote: Remote, agent: Agent, goes_on: bool
) -> None:
    on = agent.commit()
    agent.push(on)
    fence = _fence_off(remote, on)
    work = agent.commit("more.txt") if goes_on else on
    before = remote.refs()
    answer = agent.push(work)
    assert answer == Withdrawn(fence, on)
    assert remote.refs() == before
    after = agent.ledger.past_fence(work, answer)
    assert (after == fence) is not goes_on
    assert git(agent.path, "diff", "--stat", work, after) == ""
    assert agent.push(after) == Pushed(remote.head.sha, after)
    assert remote.refs()[f"refs/heads/{BRANCH}"] == after
    assert remote.record.published == Published(sha=after, generation=1, nonce="n1")
    assert remote.record.burned_shas == (on,)


def test_work_that_lacks_what_was_withdrawn_is_no_matter_of_the_fence(remote: Remote, agent: Agent) -> None:
    on = agent.commit()
    agent.push(on)
    _fence_off(remote, on)
    git(agent.path, "reset", "-q", "--hard", remote.root)
    answer = agent.push(agent.commit("other.txt"))
    assert isinstance(answer, Refused)
    assert "does not contain what is published" in answer.reason


def test_a_hold_is_told_as_one_and_ends_no_lease(remote: Remote, agent: Agent, writers: Any) -> None:
    sha = agent.commit()
    held = Held(by="wanda", at=writers.lease().granted_at, before="recovering", reason="wait for QA")
    remote.change(status="held", held=held)
    answer = agent.push(sha)
    assert isinstance(answer, OnHold)
    assert "wanda put the ticket on hold" in answer.reason
    assert "wait for QA" in answer.reason
    remote.change(status="working", held=None)
    assert agent.push(sha) == Pushed(remote.head.sha, sha)
