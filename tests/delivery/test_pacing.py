"""What is written keeps below GitHub's limits on new content, and nothing that had to wait is lost."""

import re
from pathlib import Path

import pytest
from crowd import POLICY, REPO, Crowd

from app.controller.sweep import APART, AT_ONCE, THEN
from app.emulator.repos import ZERO, RefChange
from app.github import pace

_CREATES = re.compile(r"/repos/acme/shop/(?:pulls|issues/\d+/comments)")


async def test_a_backlog_of_new_content_is_written_in_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "CONTENT", ((60.0, 4), (3600.0, 9)))
    async with Crowd(tmp_path, real=6, others=0) as crowd:
        entries = crowd.emulated.server.traffic.entries
        created = [e for e in entries if e.method == "POST" and _CREATES.fullmatch(e.path)]
        pulls = crowd.emulated.repository(REPO).pulls()
        assert {pull.head_ref for pull in pulls} == {f"ticket/{number}" for number in crowd.real}
        assert all(len(pull.comments) == 1 for pull in pulls)
        assert [entry.status for entry in created] == [201] * 12


async def test_repositories_started_together_spread_their_requests(tmp_path: Path) -> None:
    async with Crowd(tmp_path, real=0, others=0) as crowd:
        world, files = crowd.emulated, {".github/agent-recovery.yml": POLICY}
        for n in range(60):
            await world.control("POST", "/repos", owner="acme", name=f"r{n}", files=files)
            git = world.git(f"acme/r{n}")
            head = git.branch("main")
            assert head is not None
            git.update([RefChange(f"refs/agent-recovery/active/{ticket}", ZERO, head) for ticket in range(1, 5)])
        before, counted = crowd.requests(), crowd.github.meter.snapshot()
        assert await crowd.controller._loop._sweeper.start_up() == 240
        # Each repository costs its refs, its pull requests, what is of nobody (twice, for the first look does not know
        # the policy), and for the first of them the refs of their rounds; nothing of it is asked of REST.
        assert crowd.requests() - before <= 5 + 61 * 5
        assert crowd.github.meter.since(counted).of(kind="rest") <= 5
        spread = [len(await crowd.due())]
        while await crowd.pokes.next_due() is not None:
            await crowd.later(APART.total_seconds())
            spread.append(len(await crowd.due()))
        assert sum(spread) == 240
        assert spread[0] <= AT_ONCE
        assert max(spread[1:]) <= 2 * THEN
