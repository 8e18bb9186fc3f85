"""Files in git-lfs are uploaded by a hook, which our push does not run: whoever pushes is told."""

import subprocess
from pathlib import Path

import pytest

from app.agent.home import Home
from app.agent.workspace import Workspace


def _git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (".gitattributes", "*.png filter=lfs diff=lfs merge=lfs -text\n", True),
        ("art/.gitattributes", "*.png filter=lfs\n", True),
        (".gitattributes", "*.sh text eol=lf\n", False),
        ("notes.txt", "about filter=lfs\n", False),
    ],
)
def test_a_commit_that_uses_lfs_is_noticed(tmp_path: Path, path: str, text: str, expected: bool) -> None:
    _git(tmp_path, "init", "-q")
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(text)
    _git(tmp_path, "add", "-A")
    _git(tmp_path, "commit", "-qm", "x")
    assert Workspace(Home.at(tmp_path)).uses_lfs(_git(tmp_path, "rev-parse", "HEAD")) is expected
