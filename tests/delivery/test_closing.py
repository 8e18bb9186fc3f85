"""Closing: the ticket's own Issue alone, as completed, once, after the trunk has the work. No words close anything."""

import re
from dataclasses import replace

import pytest
from landing_world import Landing, policy
from loop_world import REPO, LoopWorld

from app.domain.checkpoint import Checkpoint
from app.domain.landing import Land, action_of, decide_landing
from app.domain.landing_actions import CloseIssue, Merge
from app.domain.landing_tail import tail
from app.domain.merge_seen import AfterMerge
from app.domain.record import Landing as Landed
from app.domain.record import Merged
from tests.delivery.landing_scene import HEAD, situation
from tests.domain.recovery_scene import NOW, OTHER, WORLD

WORDS = (
    "does not fix #13",
    "fixes #13",
    "Closes: #13, resolves #13",
    "fix GH-13",
    "closes octo/demo#13",
    "FIXED https://github.com/octo/demo/issues/13",
)
MERGED = Merged(pr=57, head_sha=HEAD, base="release-1", merge_sha=OTHER, at=NOW)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_no_words_reach_what_the_app_writes_into_a_merge(words: str, method: str) -> None:
    said = Checkpoint(objective=words, blockers=(words,), decision_refs=(words,))
    s = situation(
        pull={"title": words, "body": f"Ticket: #42\n\n{words}", "labels": (words,)},
        record={"checkpoint": said},
        landing={"method": method},
    )
    decided = decide_landing(s)
    assert isinstance(decided, Land), decided
    merge = action_of(decided)
    assert isinstance(merge, Merge)
    assert "13" not in merge.title + merge.message
    assert words not in merge.title + merge.message


@pytest.mark.parametrize("words", WORDS)
def test_what_is_closed_is_named_by_the_record_alone(words: str) -> None:
    issue = WORLD.issue
    assert issue is not None
    pull = {"state": "MERGED", "title": words, "body": words, "head_sha": HEAD}
    for on_trunk, expected in ((False, []), (True, [CloseIssue(42, "the trunk contains the work")])):
        steps = tail(replace(situation(pull=pull), after_merge=AfterMerge(MERGED, on_trunk)))
        assert isinstance(steps, tuple)
        assert [step for step in steps if isinstance(step, CloseIssue)] == expected


def test_it_is_closed_once_whatever_a_person_does_then() -> None:
    after = AfterMerge(MERGED, True, closed_since=True)
    known = situation(pull={"state": "MERGED"}, record={"landing": Landed(merged=MERGED, issue_closed=True)})
    steps = tail(replace(known, after_merge=after))
    assert not isinstance(steps, tuple) or not any(isinstance(step, CloseIssue) for step in steps)
    steps = tail(replace(situation(pull={"state": "MERGED"}), after_merge=after))
    assert isinstance(steps, tuple), "a person closed it after the merge and opened it again"
    assert not any(isinstance(step, CloseIssue) for step in steps)


@pytest.mark.parametrize("method", ["merge", "squash"])
async def test_nothing_else_is_closed_and_nothing_before_the_trunk_has_it(world: LoopWorld, method: str) -> None:
    title = "This does not fix #13, it fixes #13"
    while (last := world.emulator.issue(REPO, title, body="closes #13", author="wanda")["number"]) < 14:
        pass
    world.ticket = last
    ticket = await Landing.begun(world, policy(method=method))
    assert "13" in ticket.branch
    ticket.patch(
        f"pulls/{ticket.pull()['number']}", title="fixes #13", body=f"Ticket: #{last}\n\nfixes #13, closes #13"
    )
    ticket.agent.work("two")
    world.git(ticket.agent.folder, "commit", "-q", "--amend", "-m", "fixes #13")
    ticket.agent.push_commit(world.git(ticket.agent.folder, "rev-parse", "HEAD"), "two")
    await ticket.say("ready")
    since = world.requested()
    await ticket.settle()
    assert ticket.pull()["merged"]
    assert (ticket.issue(), ticket.closings()) == (("closed", "completed"), 1)
    others = [i for i in world.get("issues?state=all") if "pull_request" not in i and i["number"] != last]
    assert {i["state"] for i in others} == {"open"}
    # A commit named there may have these two digits in a row.
    assert not re.search(r"\b13\b", ticket.trunk_messages()[0])
    writes = world.writes(since)
    merged = next(n for n, w in enumerate(writes) if w.endswith("/merge"))
    closed = [n for n, w in enumerate(writes) if w.startswith("PATCH") and w.endswith(f"/issues/{last}")]
    assert len(closed) == 1
    assert merged < closed[0]
