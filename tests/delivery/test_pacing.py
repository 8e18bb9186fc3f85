"""What is written keeps below GitHub's limits on new content, and nothing that had to wait is lost."""

import re
from datetime import datetime
from pathlib import Path

import pytest
from crowd import POLICY, REPO, Crowd
from sqlalchemy import select

from app.controller import content_windows
from app.controller.sweep import APART, AT_ONCE, THEN
from app.controller.tables import pokes
from app.emulator.repos import ZERO, RefChange
from app.github import pace

REPOSITORIES = 200
_CREATES = re.compile(r"/repos/acme/shop/(?:pulls|issues/\d+/comments)")


WINDOWS = ((60.0, 4), (3600.0, 9))


@pytest.mark.parametrize("replicas", [1, 3])
async def test_a_backlog_of_new_content_is_written_in_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replicas: int
) -> None:
    for module in (pace, content_windows):
        monkeypatch.setattr(module, "CONTENT", WINDOWS)
    async with Crowd(tmp_path, real=6, others=0, replicas=replicas) as crowd:
        entries = crowd.emulated.server.traffic.entries
        created = [e for e in entries if e.method == "POST" and _CREATES.fullmatch(e.path)]
        # Whichever replica wrote: together they never made more than GitHub takes.
        at = [datetime.fromisoformat(entry.time).timestamp() for entry in created]
        assert all(sum(t <= u < t + seconds for u in at) <= most for seconds, most in WINDOWS for t in at)
        pulls = crowd.emulated.repository(REPO).pulls()
        assert {pull.head_ref for pull in pulls} == {f"ticket/{number}" for number in crowd.real}
        assert all(len(pull.comments) == 1 for pull in pulls)
        assert [entry.status for entry in created] == [201] * 12


@pytest.mark.drill
async def test_repositories_started_together_spread_their_requests(tmp_path: Path) -> None:
    async with Crowd(tmp_path, real=0, others=0) as crowd:
        world, files = crowd.emulated, {".github/agent-recovery.yml": POLICY}
        for n in range(REPOSITORIES):
            await world.control("POST", "/repos", owner="acme", name=f"r{n}", files=files)
            git = world.git(f"acme/r{n}")
            head = git.branch("main")
            assert head is not None
            git.update([RefChange(f"refs/agent-recovery/active/{ticket}", ZERO, head) for ticket in range(1, 5)])
        before, counted = crowd.requests(), crowd.github.meter.snapshot()
        assert await crowd.controller._loop._sweeper.start_up() == 4 * REPOSITORIES
        # Each repository costs its refs, its pull requests, what is of nobody (twice, for the first look does not know
        # the policy) and what was said there, and for the first of them the refs of their rounds; nothing but what was
        # said is asked of REST.
        assert crowd.requests() - before <= 6 + (REPOSITORIES + 1) * 5 + AT_ONCE // 4
        assert crowd.github.meter.since(counted).of(kind="rest") <= 6 + (REPOSITORIES + 1)
        with crowd.database._engine.connect() as connection:
            rows = connection.execute(select(pokes.c.key, pokes.c.due_at)).all()
        due = sorted(at for key, at in rows if "#" in key)
        assert len(due) == 4 * REPOSITORIES
        # Whenever one looks: never more at once than a start may have, and then ever so many in so much time.
        assert max(sum(t <= u < t + APART for u in due) for t in due) <= AT_ONCE + THEN
        later = [at for at in due if at > crowd.github.clock.now()]
        assert max(sum(t <= u < t + APART for u in later) for t in later) <= 2 * THEN
        assert due[-1] - due[0] >= APART * ((len(due) - AT_ONCE) // THEN)
