"""A ticket that was claimed and has work but no PR: what else speaks for where its work is is held against its record.
Where they contradict each other no PR is opened, and one comment names the two and what settles it.
"""

import pytest
from enrolled_world import Enrolled
from loop_world import LoopWorld

from app.domain.branch_clues import Recorded, TicketBranch
from app.domain.missing_pull import held_against_record
from app.domain.pull_evidence import Gap, Uncertain
from tests.delivery.test_missing_pull import (
    HAS_WORK,
    LINKED,
    NAMED,
    ONE,
    OTHER,
    R1,
    R2,
    STACKED,
    WAITS,
    WORK,
    ahead,
    clues,
)

POLICY = "version: 1\nmode: repair\ntrunks: [release-*]\n"
RECORD = Recorded(NAMED.name, "release-1")
ELSEWHERE = TicketBranch("apples", OTHER, linked=True)
BESIDE = {**HAS_WORK, (ONE, OTHER): ahead()}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (clues(recorded=RECORD), None),
        (clues(recorded=RECORD, branches=(NAMED, TicketBranch("ticket/42-old", OTHER)), compared=BESIDE), None),
        # The same commit, or one that the holder took in, is no other work.
        (clues(recorded=RECORD, branches=(NAMED, LINKED)), None),
        (
            clues(recorded=RECORD, branches=(NAMED, ELSEWHERE), compared={**BESIDE, (WORK, OTHER): ahead(by=0)}),
            None,
        ),
        (
            clues(
                recorded=RECORD,
                branches=(NAMED, ELSEWHERE),
                compared={**BESIDE, (ONE, OTHER): ahead(by=0), (WORK, OTHER): ahead()},
            ),
            None,
        ),
        (
            clues(recorded=RECORD, branches=(NAMED, ELSEWHERE), compared={**BESIDE, (WORK, OTHER): ahead()}),
            ("the record", NAMED.name, "the linked branch", "'apples'"),
        ),
        (clues(recorded=RECORD, compared={(ONE, WORK): ahead(13)}), ("the record", "the commit trailers", "#13")),
        (clues(recorded=RECORD, compared={(ONE, WORK): ahead(42)}), None),
        (
            clues(recorded=RECORD, waits_for=WAITS, compared=STACKED),
            ("no other ticket", "the dependencies", "#40"),
        ),
        (clues(recorded=Recorded(NAMED.name, "release-1", 40), waits_for=WAITS, compared=STACKED), None),
        (
            clues(recorded=Recorded(NAMED.name, "release-1", 39), waits_for=WAITS, compared=STACKED),
            ("builds on #39", "#40"),
        ),
        # What is only missing was decided by the claim.
        (clues(recorded=Recorded(NAMED.name, "release-9")), None),
        (clues(recorded=RECORD, trunks=(R1, R2)), None),
        (clues(recorded=RECORD, elsewhere=("acme/other:x",)), None),
    ],
)
def test_what_contradicts_a_record(given: object, words: tuple[str, ...] | None) -> None:
    found = held_against_record(given)  # type: ignore[arg-type]
    if words is None:
        assert found is None, found
        return
    assert isinstance(found, Uncertain), found
    assert found.gap is Gap.CONTRADICTION
    assert all(word in found.reason for word in words), found.reason
    assert found.remedy


async def test_a_linked_branch_with_other_work_stops_the_pr_until_a_person_settles_it(world: LoopWorld) -> None:
    people = Enrolled(world, POLICY)
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    people.link(world.ticket, "apples", str(world.head("release-1")))
    people.commit("apples")
    agent.push("one")
    ended = await people.settle(controller, world.ticket)
    assert "'apples'" in ended.reason
    assert ended.again_at is not None
    assert world.get("pulls?state=all") == []
    (told,) = world.comments(world.ticket, "agent-recovery:report")
    assert "No pull request is opened" in told["body"]
    assert "the linked branch" in told["body"]
    since = world.requested()
    await people.settle(world.controller(), world.ticket)
    assert world.writes(since) == []
    people.send("DELETE", "git/refs/heads/apples")
    await people.settle(controller, world.ticket)
    (pull,) = world.get("pulls?state=open")
    assert pull["head"]["ref"] == agent.grant.branch


async def test_commits_that_are_anothers_by_their_trailers_stop_the_pr(world: LoopWorld) -> None:
    people = Enrolled(world, POLICY)
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    agent.work("one")
    world.git(agent.folder, "commit", "-q", "--amend", "-m", "Ripen", "-m", "Ticket: #13")
    agent.push_commit(world.git(agent.folder, "rev-parse", "HEAD"), "one")
    ended = await people.settle(controller, world.ticket)
    assert "#13" in ended.reason
    assert world.get("pulls?state=all") == []
