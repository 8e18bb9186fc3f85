"""What guards branches, what people said in reviews and what waits in a queue outlives the emulator's end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from emulated import ALL, rest
from guarded import BASE, checks_rule, pull_request_rule
from test_rules import QUEUE
from test_state_kept import Kept, start

TIMEOUT_MIN = 10
_OFF = dict.fromkeys(("required_status_checks", "required_pull_request_reviews", "restrictions"))


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    running = Kept(tmp_path / "state", start(tmp_path / "state"))
    yield running
    running.emulator.stop()


def branch_rules(name: str, *rules: dict[str, Any]) -> dict[str, Any]:
    conditions = {"ref_name": {"include": [f"refs/heads/{name}"], "exclude": []}}
    return {"name": name, "enforcement": "active", "conditions": conditions, "rules": list(rules)}


def test_guards_reviews_and_a_queue_survive(kept: Kept) -> None:
    emulator = kept.emulator
    boss_token, mara_token = (emulator.user(name)["token"] for name in ("boss", "mara"))
    emulator.org("octo")
    app = emulator.app("keeper", permissions=ALL)
    emulator.repo(
        "octo",
        "demo",
        branches={"release-1": None, "42-x": {"a.txt": "1\n"}, "43-y": {"b.txt": "2\n"}},
        collaborators={"boss": "admin", "mara": "write"},
    )
    bot_token = emulator.installation_token(app, emulator.installation("keeper", "octo")["id"])
    with rest(emulator, boss_token) as boss, rest(emulator, bot_token) as bot, rest(emulator, mara_token) as mara:
        queue = {"type": "merge_queue", "parameters": QUEUE | {"check_response_timeout_minutes": TIMEOUT_MIN}}
        for rules in (branch_rules("release-1", queue, checks_rule("ci")), branch_rules("main", pull_request_rule(1))):
            assert boss.post(f"{BASE}/rulesets", json=rules).status_code == 201
        assert boss.put(f"{BASE}/branches/43-y/protection", json=_OFF | {"enforce_admins": True}).is_success
        queued, reviewed = (
            bot.post(f"{BASE}/pulls", json={"title": "t", "head": head, "base": base}).json()
            for head, base in (("42-x", "release-1"), ("43-y", "main"))
        )
        mara.post(f"{BASE}/pulls/{reviewed['number']}/reviews", json={"event": "APPROVE"})
        line = {"body": "?", "path": "b.txt", "line": 1, "commit_id": reviewed["head"]["sha"]}
        assert mara.post(f"{BASE}/pulls/{reviewed['number']}/comments", json=line).status_code == 201
        bot.post(f"{BASE}/statuses/{queued['head']['sha']}", json={"state": "success", "context": "ci"})
        enqueue = "mutation($i:EnqueuePullRequestInput!){enqueuePullRequest(input:$i){mergeQueueEntry{id}}}"
        answer = bot.post("/graphql", json={"query": enqueue, "variables": {"i": {"pullRequestId": queued["node_id"]}}})
        assert "errors" not in answer.json()
        group = group_of(boss)
        # An answer to a write is what says that everything before it is stored.
        assert boss.post(f"{BASE}/issues/1/comments", json={"body": "c"}).status_code == 201
    kept.kill_and_start()
    with rest(kept.emulator, boss_token) as boss, rest(kept.emulator, bot_token) as bot:
        assert group_of(boss) == group
        assert [r["type"] for r in boss.get(f"{BASE}/rules/branches/main").json()] == ["pull_request"]
        assert boss.get(f"{BASE}/branches/43-y/protection").json()["enforce_admins"]["enabled"] is True
        assert [r["state"] for r in boss.get(f"{BASE}/pulls/{reviewed['number']}/reviews").json()] == [
            "APPROVED",
            "COMMENTED",
        ]
        assert bot.put(f"{BASE}/pulls/{reviewed['number']}/merge", json={}).status_code == 200
        kept.emulator.advance(TIMEOUT_MIN * 60 - 1)
        bot.post(f"{BASE}/statuses/{group}", json={"state": "pending", "context": "ci"})
        kept.stop_and_start()
    with rest(kept.emulator, boss_token) as boss:
        kept.emulator.advance(2)  # no event comes any more, only time
        deadline = time.monotonic() + 5
        while boss.get(f"{BASE}/git/matching-refs/heads/gh-readonly-queue/").json():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        timeline = boss.get(f"{BASE}/issues/{queued['number']}/timeline").json()
        assert "removed_from_merge_queue" in [e["event"] for e in timeline]


def group_of(client: Any) -> str:
    """The commit of the one merge group."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        found = client.get(f"{BASE}/git/matching-refs/heads/gh-readonly-queue/").json()
        if found:
            return str(found[0]["object"]["sha"])
        time.sleep(0.02)
    raise AssertionError("nothing was built")
