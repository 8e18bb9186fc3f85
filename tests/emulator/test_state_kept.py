"""State in a folder: what was answered is there after any end, refs agree with it, other folders are refused."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from emulated import ALL, EVENTS, SECRET, ZERO, Inbox, git, new_commit, rest

from app.emulator.acts.refs import move
from app.emulator.client import Emulator
from app.emulator.keeping import Keeper
from app.emulator.kept_values import NotKeepable
from app.emulator.repos import RefChange
from app.emulator.server import Server
from app.emulator.state import Actor
from app.emulator.state_folder import FILE, StateRefused

pytestmark = pytest.mark.drill

ROOT = Path(__file__).parents[2]
REPO = "/repos/octo/demo"


DIRECTLY = ("app.emulator",)
BY_THE_COMMAND = ("app.cli", "emulator")


def command(folder: Path, module: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", *module, "--state", str(folder)]


def start(folder: Path) -> Emulator:
    process = subprocess.Popen(command(folder, DIRECTLY), stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    found = re.search(r"http://127\S+", process.stdout.readline())
    assert found is not None
    return Emulator(found[0], process)


@dataclass
class Kept:
    """An emulator on a folder, to be ended and started again."""

    folder: Path
    emulator: Emulator

    def kill_and_start(self) -> None:
        assert self.emulator.process is not None
        os.kill(self.emulator.process.pid, signal.SIGKILL)
        self.emulator.stop()
        self.emulator = start(self.folder)

    def stop_and_start(self) -> None:
        self.emulator.stop()
        self.emulator = start(self.folder)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    running = Kept(tmp_path / "state", start(tmp_path / "state"))
    yield running
    running.emulator.stop()


def furnish(emulator: Emulator, tmp_path: Path) -> dict[str, str]:
    """octo/demo with something of nearly everything; tokens by name."""
    tokens = {"dev": emulator.user("dev")["token"]}
    emulator.org("octo")
    app = emulator.app("keeper", permissions=ALL, events=EVENTS, webhook_secret=SECRET)
    emulator.repo("octo", "demo", branches={"work": {"a": "b"}}, collaborators={"dev": "write"})
    installation = emulator.installation("keeper", "octo", ["demo"])
    tokens["bot"] = emulator.installation_token(app, installation["id"])
    emulator.switches("octo/demo", update_refs="refused")
    emulator.advance(86_400 * 3)
    tokens["bot"] = emulator.installation_token(app, installation["id"])
    with rest(emulator, tokens["dev"]) as dev, rest(emulator, tokens["bot"]) as bot:
        issue = bot.post(f"{REPO}/issues", json={"title": "One", "labels": ["bug", "new"], "assignees": ["dev"]})
        number = issue.json()["number"]
        comment = bot.post(f"{REPO}/issues/{number}/comments", json={"body": "ünï & <b>"}).json()
        dev.patch(f"{REPO}/issues/comments/{comment['id']}", json={"body": "edited"})
        dev.put(f"{REPO}/issues/{number}/lock", json={"lock_reason": "spam"})
        head = bot.get(f"{REPO}/git/ref/heads/work").json()["object"]["sha"]
        bot.post(f"{REPO}/check-runs", json={"name": "ci", "head_sha": head, "status": "in_progress"})
        bot.post(f"{REPO}/statuses/{head}", json={"state": "pending", "context": "build"})
        assert bot.post(f"{REPO}/pulls", json={"title": "A change", "head": "work", "base": "main"}).is_success
        bot.post(f"{REPO}/git/refs", json={"ref": "refs/ledger/1", "sha": head})
    clone = tmp_path / "clone"
    remote = emulator.url.replace("http://", f"http://x:{tokens['dev']}@") + "/octo/demo.git"
    git(tmp_path, "clone", "-q", remote, "clone")
    git(clone, "config", "user.name", "Dev")
    git(clone, "config", "user.email", "dev@example.com")
    git(clone, "checkout", "-q", "work")
    new_commit(clone, "pushed")
    git(clone, "push", "-q", "origin", "work", "HEAD:refs/heads/other")
    return tokens


LOOKED_AT = (
    "/repos/octo/demo",
    f"{REPO}/issues?state=all",
    f"{REPO}/issues/1/comments",
    f"{REPO}/issues/1/timeline",
    f"{REPO}/issues/2/timeline",
    f"{REPO}/pulls/2/commits",
    f"{REPO}/branches",
    f"{REPO}/git/matching-refs/",
    f"{REPO}/commits/work/check-runs",
    f"{REPO}/commits/work/status",
    f"{REPO}/labels",
    "/installation/repositories",
)


def view(emulator: Emulator, token: str) -> dict[str, Any]:
    """All answers, without the address, which differs between starts."""
    address = emulator.url.removeprefix("http://")
    with rest(emulator, token) as client:
        answers = {path: client.get(path) for path in LOOKED_AT}
    assert {path: a.status_code for path, a in answers.items() if not a.is_success} == {}
    return {path: json.loads(a.text.replace(address, "")) for path, a in answers.items()}


def every(client: httpx.Client, path: str) -> list[dict[str, Any]]:
    """All items of a list, page by page."""
    found: list[dict[str, Any]] = []
    page: str | None = f"{path}?per_page=100"
    while page is not None:
        listed = client.get(page)
        found += listed.json()
        page = listed.links.get("next", {}).get("url")
    return found


@pytest.mark.parametrize("again", [Kept.kill_and_start, Kept.stop_and_start])
def test_everything_is_there_after_a_restart(kept: Kept, tmp_path: Path, again: Callable[[Kept], None]) -> None:
    tokens = furnish(kept.emulator, tmp_path)
    before, clock = view(kept.emulator, tokens["bot"]), kept.emulator.now()
    again(kept)
    after = view(kept.emulator, tokens["bot"])
    assert [path for path in before if after[path] != before[path]] == []
    assert 0 <= kept.emulator.now() - clock < 60
    with rest(kept.emulator, tokens["dev"]) as dev:
        made = dev.post(f"{REPO}/issues", json={"title": "Next"}).json()
        assert made["number"] == 3
        ids = [i["id"] for i in dev.get(f"{REPO}/issues?state=all").json()]
        assert len(set(ids)) == len(ids) == 3
        pull = dev.get(f"{REPO}/pulls/2").json()
        assert pull["head"]["sha"] == dev.get(f"{REPO}/git/ref/heads/work").json()["object"]["sha"]
    query = '{repository(owner:"octo",name:"demo"){pullRequest(number:2){title commits(first:9){totalCount}}}}'
    with rest(kept.emulator, tokens["bot"]) as bot:
        shown = bot.post("/graphql", json={"query": query}).json()["data"]["repository"]["pullRequest"]
    assert shown == {"title": "A change", "commits": {"totalCount": 2}}


def test_the_end_may_come_at_any_moment(kept: Kept, tmp_path: Path) -> None:
    """Three clients write without a pause, the process is killed in between; what was answered is there."""
    tokens = furnish(kept.emulator, tmp_path)
    clone = tmp_path / "clone"
    answered: dict[str, set[str]] = {"comments": set(), "refs": set(), "pushed": set()}
    for turn in range(3):
        remote = kept.emulator.url.replace("http://", f"http://x:{tokens['dev']}@") + "/octo/demo.git"
        ended = threading.Event()
        main = view(kept.emulator, tokens["bot"])[f"{REPO}/branches"][0]["commit"]["sha"]

        def comment(turn: int = turn, ended: threading.Event = ended) -> None:
            with rest(kept.emulator, tokens["bot"]) as client:
                for n in range(1000):
                    body = f"{turn}.{n}"
                    if client.post(f"{REPO}/issues/2/comments", json={"body": body}).status_code == 201:
                        answered["comments"].add(body)
                    if ended.is_set():
                        return

        def create(turn: int = turn, ended: threading.Event = ended, main: str = main) -> None:
            with rest(kept.emulator, tokens["bot"]) as client:
                for n in range(1000):
                    ref = f"refs/heads/b{turn}.{n}"
                    if client.post(f"{REPO}/git/refs", json={"ref": ref, "sha": main}).status_code == 201:
                        answered["refs"].add(ref)
                    if ended.is_set():
                        return

        def push(remote: str = remote, ended: threading.Event = ended) -> None:
            while not ended.is_set():
                sha = new_commit(clone, "pushed", f"{os.urandom(4).hex()}")
                if git(clone, "push", "-q", remote, "work", check=False).returncode == 0:
                    answered["pushed"] = {sha}

        def until_the_end(work: Callable[[], None]) -> None:
            try:
                work()
            except httpx.TransportError:
                return

        threads = [threading.Thread(target=until_the_end, args=(w,)) for w in (comment, create, push)]
        for thread in threads:
            thread.start()
        threading.Event().wait(0.7 + turn * 0.13)
        assert kept.emulator.process is not None
        os.kill(kept.emulator.process.pid, signal.SIGKILL)
        ended.set()
        for thread in threads:
            thread.join(30)
        kept.emulator.stop()
        kept.emulator = start(kept.folder)
        with rest(kept.emulator, tokens["bot"]) as client:
            found = every(client, f"{REPO}/issues/2/comments")
            refs = {r["ref"]: r["object"]["sha"] for r in every(client, f"{REPO}/git/matching-refs/")}
            pull = client.get(f"{REPO}/pulls/2").json()
        assert answered["comments"] <= {c["body"] for c in found}
        assert answered["refs"] <= set(refs)
        # State and git tell of the same head; a push that was not answered may have landed, or not at all.
        assert refs["refs/heads/work"] == pull["head"]["sha"]
        if answered["pushed"]:
            (sha,) = answered["pushed"]
            known = git(clone, "rev-list", "work").stdout.split()
            assert known.index(refs["refs/heads/work"]) <= known.index(sha)
        git(clone, "fetch", "-q", kept.emulator.url + "/octo/demo.git", "work")
    assert all(answered.values())


async def test_refs_that_moved_without_an_answer_are_put_back(tmp_path: Path) -> None:
    server = Server.kept_in(tmp_path / "s")
    world = server.world
    owner = world.add_account("dev", "User")
    repo = world.add_repo(owner, "demo", private=False, default_branch="main")
    oid = repo.git.write_commit(repo.git.write_tree(None, []), [], "One", *[signature()] * 2)
    more = repo.git.write_commit(repo.git.write_tree(None, []), [oid], "Two", *[signature()] * 2)
    actor = Actor(owner)

    def moved(name: str, old: str, new: str) -> None:
        move(world, repo, [RefChange(name, old, new)], actor, force=[True])

    for name in ("main", "moved", "deleted", "untouched"):
        moved(f"refs/heads/{name}", ZERO, oid)
    assert server.keeper is not None
    server.keeper.write()
    before = repo.git.refs()
    # The process ends after git moved and before the state was written.
    moved("refs/heads/moved", oid, more)
    moved("refs/heads/moved", more, ZERO)
    moved("refs/heads/deleted", oid, ZERO)
    moved("refs/ledger/1", ZERO, more)
    (repo.git.path / "refs" / "heads" / "main.lock").touch()
    orphan = world.add_repo(owner, "orphan", private=False, default_branch="main").git.path
    die(server.keeper)

    again = Server.kept_in(tmp_path / "s")
    revived = again.world.repo("dev", "demo")
    assert revived is not None
    assert revived.git.refs() == before
    assert again.world.repo("dev", "orphan") is None
    assert not orphan.exists()
    revived.git.update([RefChange("refs/heads/main", oid, more)])
    assert again.keeper is not None
    again.keeper.close()


def signature() -> Any:
    import pygit2

    return pygit2.Signature("Dev", "dev@example.com", 1_700_000_000, 0)


def die(keeper: Keeper) -> None:
    """Let go of the folder as the end of a process does: without writing."""
    keeper._database.close()
    os.close(keeper._lock)


def test_webhooks_that_were_not_sent_are_sent_after_the_restart(kept: Kept, inbox: Inbox) -> None:
    kept.emulator.user("dev")
    kept.emulator.repo("dev", "demo")
    app = kept.emulator.app("keeper", permissions=ALL, events=EVENTS, webhook_secret=SECRET, webhook_url=inbox.url)
    kept.emulator.installation("keeper", "dev")
    assert kept.emulator.flush() == 0
    kept.emulator.delivery_mode("hold")
    kept.emulator.issue("dev/demo", "Held")
    held = [d["guid"] for d in kept.emulator.deliveries()][-1]
    kept.kill_and_start()
    assert held not in [h["x-github-delivery"] for h, _ in inbox.received]
    kept.emulator.delivery_mode("normal")
    assert kept.emulator.flush() == 0
    assert [h["x-github-delivery"] for h, _ in inbox.received][-1] == held
    headers = {"authorization": f"Bearer {kept.emulator.app_jwt(app)}"}
    listed = httpx.get(f"{kept.emulator.url}/app/hook/deliveries", headers=headers, trust_env=False).json()
    assert [d["status"] for d in listed] == ["OK", "OK", "OK"]


def test_a_reset_empties_the_folder_too(kept: Kept, tmp_path: Path) -> None:
    furnish(kept.emulator, tmp_path)
    kept.emulator.reset()
    kept.kill_and_start()
    assert kept.emulator.user("dev")["login"] == "dev"
    assert list((kept.folder / "repos").glob("*.git")) == []


def refusal(folder: Path, module: tuple[str, ...] = DIRECTLY) -> str:
    done = subprocess.run(command(folder, module), cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert "holds something else (thesis.txt)" in refusal(tmp_path, BY_THE_COMMAND)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]
    assert "is no folder" in refusal(tmp_path / "thesis.txt")
    other = tmp_path / "other"
    other.mkdir()
    (other / FILE).write_bytes(b"no database at all, but long enough to look at" * 100)
    assert "cannot be read" in refusal(other)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    with sqlite3.connect(foreign / FILE) as database:
        database.execute("CREATE TABLE mine (x)")
    assert "a database of something else" in refusal(foreign)


def test_one_process_at_a_time(kept: Kept) -> None:
    assert "another emulator runs on" in refusal(kept.folder)


async def test_what_another_version_wrote_is_refused(tmp_path: Path) -> None:
    def folder(name: str, statement: str) -> Path:
        keeper = Keeper(tmp_path / name)
        world = keeper.load()
        world.add_account("dev", "User")
        keeper.close()
        with sqlite3.connect(tmp_path / name / FILE) as database:
            assert database.execute(statement).rowcount != 0
        database.close()
        return tmp_path / name

    older = folder("format", "UPDATE about SET format = 0")
    with pytest.raises(StateRefused, match="format 0, and this emulator reads format 1 only\nnext: "):
        Keeper(older)
    changes = {
        "a field went": """UPDATE kind SET members = '["id: int", "gone: str"]' WHERE name = 'state:Account'""",
        "a class went": "UPDATE kind SET name = 'state:Nothing' WHERE name = 'state:Account'",
        "a plain class": """UPDATE kind SET members = '["gone"]' WHERE name = 'world:World'""",
    }
    for name, statement in changes.items():
        keeper = Keeper(folder(name, statement))
        with pytest.raises(StateRefused, match="was written by another version of the emulator"):
            keeper.load()
        keeper.close()


async def test_a_stored_name_leads_to_no_code(tmp_path: Path) -> None:
    for kind in ("subprocess:Popen", "state:dataclass", "..ledger.api:Ledger"):
        keeper = Keeper(tmp_path / kind)
        keeper.load()
        keeper.close()
        with sqlite3.connect(tmp_path / kind / FILE) as database:
            database.execute("UPDATE thing SET kind = ?", (kind,))
        database.close()
        keeper = Keeper(tmp_path / kind)
        with pytest.raises(StateRefused, match="damaged"):
            keeper.load()
        keeper.close()


async def test_what_cannot_be_kept_is_named(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "s")
    world = keeper.load()
    world.add_account("dev", "User").name = open  # type: ignore[assignment]
    with pytest.raises(NotKeepable, match=r"state:Account\.name: a builtins\.builtin_function_or_method"):
        keeper.write()
    die(keeper)


def test_without_a_state_folder_nothing_is_written_beside_the_repositories(tmp_path: Path) -> None:
    with Emulator.start(tmp_path / "data") as emulator:
        emulator.user("dev")
        emulator.repo("dev", "demo")
        assert [p.name for p in (tmp_path / "data").iterdir() if p.is_file()] == []
