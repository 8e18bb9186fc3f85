"""A folder `.agent-recovery` counts only where nobody else can have put it: it says where the tokens are sent."""

import os
import subprocess
from pathlib import Path

import pytest

from app.agent.home import FOLDER, Home
from app.domain.outcome import Refused
from tests.agent.conftest import TICKET, World


@pytest.mark.parametrize(("mode", "taken"), [(0o700, True), (0o755, True), (0o775, False), (0o777, False)])
def test_a_writable_folder_above_is_not_ours(tmp_path: Path, mode: int, taken: bool) -> None:
    above = tmp_path / FOLDER
    above.mkdir()
    above.chmod(mode)
    inside = tmp_path / "work"
    inside.mkdir()
    assert Home.find(inside).root == (tmp_path if taken else inside).resolve()


def test_another_users_folder_above_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FOLDER).mkdir(mode=0o700)
    inside = tmp_path / "work"
    inside.mkdir()
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert Home.find(inside).root == inside.resolve()


def test_a_link_above_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / FOLDER).symlink_to(tmp_path / "elsewhere")
    inside = tmp_path / "work"
    inside.mkdir()
    assert Home.find(inside).root == inside.resolve()


@pytest.mark.parametrize("kind", ["writable", "link", "dangling link", "file"])
def test_one_in_the_folder_itself_that_is_not_ours_alone_is_refused(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / FOLDER
    if kind == "writable":
        folder.mkdir()
        folder.chmod(0o777)
    elif kind == "file":
        folder.touch()
    else:
        folder.symlink_to(tmp_path / "elsewhere")
        if kind == "link":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
    for look in (Home.at, Home.find):
        with pytest.raises(Refused) as refused:
            look(tmp_path)
        assert "not yours alone" in refused.value.blocked.reason


def test_it_is_not_looked_for_above_the_clone(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(mode=0o700)
    inside = tmp_path / "clone"
    (inside / ".git").mkdir(parents=True)
    (inside / "src").mkdir()
    assert Home.find(inside / "src").root == (inside / "src").resolve()
    (inside / FOLDER).mkdir(mode=0o700)
    assert Home.find(inside / "src").root == inside.resolve()


@pytest.mark.parametrize("command", ["claim", "recover"])
def test_a_new_workspace_learns_no_address_from_above(world: World, command: str) -> None:
    above = world.holder("above")
    sent = len(world.service.calls)
    inside = above / "inside"
    (above / ".git").rename(above / "moved")
    inside.mkdir()
    done = world.run(inside, command, str(TICKET), "--json", AGENT_RECOVERY_URL="")
    assert done.code == 2
    assert "AGENT_RECOVERY_URL" in done.out
    assert len(world.service.calls) == sent


@pytest.mark.parametrize("command", [["claim", str(TICKET)], ["recover", str(TICKET)], ["brief", str(TICKET)]])
def test_a_trap_in_the_folder_itself_gets_no_token(world: World, command: list[str]) -> None:
    here = world.holder()
    sent = len(world.service.calls)
    (here / FOLDER).chmod(0o777)
    done = world.run(here, *command, "--json", AGENT_RECOVERY_URL="")
    assert done.code == 2
    assert "not yours alone" in done.json["error"]["message"]
    assert len(world.service.calls) == sent


def test_a_lease_folder_below_the_top_of_a_clone_is_never_staged(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    below = tmp_path / "docs"
    below.mkdir()
    home = Home.at(below)
    home.write("lease.json", "{}")
    home.ignore(tmp_path / ".git" / "info" / "exclude")
    (below / "page.md").write_text("x")
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    staged = subprocess.run(["git", "diff", "--cached", "--name-only"], cwd=tmp_path, check=True, capture_output=True)
    assert staged.stdout.decode().split() == ["docs/page.md"]
