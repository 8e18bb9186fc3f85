"""Everything that the emulators of a test run say is judged, test by test, as pytest's plug-in.

Every emulator that a test starts inherits the variable which makes it keep what it says; after each test the new lines
are judged, and a fault fails the test that brought it about. A fault is told once in a worker, not by every test that
meets it again.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.emulator.recording import VARIABLE
from tests.contract.judging import Fault, judge
from tests.npm import packages


class Watch:
    """One worker's folder of kept lines and how far they have been judged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self._judged: set[int] = set()
        self._told: set[Fault] = set()

    def faults(self) -> list[Fault]:
        """What is wrong with the lines that have come since the last call, without what has been told before."""
        found: list[Fault] = []
        for path in sorted(self._folder.iterdir()):
            for line in self._fresh(path):
                # The same answer to the same question is judged once.
                if (seen := hash(line)) not in self._judged:
                    self._judged.add(seen)
                    found += judge(line)
        fresh = [fault for fault in dict.fromkeys(found) if fault not in self._told]
        self._told.update(fresh)
        return fresh

    def _fresh(self, path: Path) -> list[bytes]:
        done = self._read.get(path, 0)
        if path.stat().st_size == done:
            return []
        with path.open("rb") as file:
            file.seek(done)
            whole, _, _ = file.read().rpartition(b"\n")
        self._read[path] = done + len(whole) + 1 if whole else done
        return whole.splitlines()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        """Judge after a test's fixtures have ended, with the last test of a worker also what the others left."""
        yield
        if faults := self.faults():
            told = "\n".join(f"  {fault}" for fault in faults)
            pytest.fail(f"The emulator said what GitHub does not (tests/contract):\n{told}", pytrace=False)


def pytest_configure(config: pytest.Config) -> None:
    """Watch when GitHub's description is installed."""
    # The controller of parallel workers runs no test itself.
    parallel = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if packages.missing() is not None or parallel or VARIABLE in os.environ:
        return
    folder = tempfile.TemporaryDirectory(prefix="said-by-emulators-")
    config.add_cleanup(folder.cleanup)
    os.environ[VARIABLE] = folder.name
    config.pluginmanager.register(Watch(Path(folder.name)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Why nothing was judged, when it was not; a header would not be seen in a quiet run."""
    if reason := packages.missing():
        terminalreporter.write_line(f"What the emulator said was not judged by GitHub's description: {reason}")
