"""A merge at GitHub's door, and somebody's word that comes at the same time: the answer to that word is the truth, in
whatever order GitHub carries them out, whoever dies and whatever answer is lost in between.
"""

import pytest
from door_world import MOMENTS, WORDS, Door, Killed, Say, at_the_door
from landing_world import Landing
from loop_world import LoopWorld

from app.domain.record import Record

LEASE_OVER_S = 17 * 60
NOBODY_KNOWS = ("landing_unresolved", "unknown_outcome", "unavailable")
AFTERWARDS = {
    "hold": ("held", "active", "release-1"),
    "cancel": ("cancelled", "done", "release-1"),
    "takeover": ("unclaimed", "active", "release-1"),
    "retarget": ("landed", "done", "release-2"),
    "claim": ("recovering", "active", "release-1"),
}
"""Status, place and the PR's base once a word was carried out, and the loop went on."""


async def _ready_for(word: str, world: LoopWorld) -> tuple[Landing, Door, str]:
    ticket, door, sha = await at_the_door(world)
    if word == "claim":
        world.emulator.advance(LEASE_OVER_S)
    return ticket, door, sha


async def _is_the_truth(ticket: Landing, door: Door, sha: str, word: str, answer: str) -> Record:
    """Everything that waits comes now, and the loop goes on: then what was answered must be what is."""
    await door.go_through()
    await ticket.settle(ticket.world.controller())
    pull, record = ticket.pull(), await ticket.record()
    assert record.open == ()
    if answer == "landed":
        assert (pull["merged"], pull["base"]["ref"]) == (True, "release-1")
        assert (record.status, ticket.place(), ticket.issue()) == ("landed", "done", ("closed", "completed"))
        return record
    assert answer == "done"
    assert door.status in (None, 409)
    assert sha in record.burned_shas
    assert record.published is not None
    assert record.published.sha not in record.burned_shas
    assert (record.status, ticket.place(), pull["base"]["ref"]) == AFTERWARDS[word]
    assert pull["merged"] is (word == "retarget")
    return record


async def _answered(ticket: Landing, say: Say) -> str:
    """The answer to a word that is said again while nobody can say yet."""
    answer = "unavailable"
    for _ in range(4):
        answer = await say(ticket.controller)
        if answer not in NOBODY_KNOWS:
            break
    return answer


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("word", WORDS)
async def test_a_merge_at_the_door_and_a_word(world: LoopWorld, word: str, moment: str) -> None:
    """Trace: PUT merge at the door, takeover, hold, cancel, retarget or claim acknowledged, then the merge arrives."""
    ticket, door, sha = await _ready_for(word, world)
    door.moment = moment
    if moment == "before":
        await door.go_through()
    answer = await WORDS[word]()(ticket.controller)
    assert answer == ("landed" if moment in ("before", "at the update") else "done")
    await _is_the_truth(ticket, door, sha, word, answer)


@pytest.mark.parametrize(
    ("word", "befalls", "moment"),
    [
        ("hold", "killed after", "at the update"),
        ("hold", "cut after", "after the update"),
        ("cancel", "killed before", "at the update"),
        ("cancel", "killed after", "after the update"),
        ("claim", "killed after", "at the update"),
        ("claim", "cut after", "after the update"),
        ("retarget", "killed after", "at the update"),
        ("takeover", "killed after", "after the update"),
    ],
)
async def test_a_merge_at_the_door_and_a_word_whose_answer_is_lost(
    world: LoopWorld, word: str, befalls: str, moment: str
) -> None:
    """The same where the process dies right before or after the update, or GitHub's answer to it is lost: the word is
    said again, and answered with the truth.
    """
    ticket, door, sha = await _ready_for(word, world)
    door.moment, door.on_update = moment, befalls
    say = WORDS[word]()
    try:
        answer = await _answered(ticket, say)
        assert befalls == "cut after"
    except Killed:
        ticket.controller = world.controller(transport=door)
        answer = await _answered(ticket, say)
    await _is_the_truth(ticket, door, sha, word, answer)
