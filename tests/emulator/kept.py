"""An emulator that keeps its state, and its sudden end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from app.emulator.client import Emulator

ROOT = Path(__file__).resolve().parents[2]


def start(folder: Path) -> Emulator:
    """Start one on a folder, new or used."""
    process = subprocess.Popen(
        [sys.executable, "-m", "app.emulator", "--state", str(folder), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    found = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
    assert found is not None
    return Emulator(found[0], process)


def kill(emulator: Emulator) -> None:
    """End it without a word of warning."""
    assert emulator.process is not None
    os.kill(emulator.process.pid, signal.SIGKILL)
    emulator.process.wait()
    emulator.stop()
