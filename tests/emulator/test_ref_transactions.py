"""git's processes for ref transactions end with the emulator."""

import os
import subprocess
from pathlib import Path

import pytest

from app.emulator.client import Emulator


def git_children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [int(row[0]) for row in rows if row[1] == str(pid) and "update-ref" in row[2]]


def test_none_is_left_behind_when_the_emulator_is_told_to_stop(tmp_path: Path) -> None:
    """Not even one that has ended and waits to be collected by whoever inherits it."""
    with Emulator.start(tmp_path) as emulator:
        emulator.user("dev")
        emulator.repo("dev", "demo", branches={"x": None})
        assert emulator.process is not None
        running = git_children(emulator.process.pid)
        assert running
    for pid in running:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
