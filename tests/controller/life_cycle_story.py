"""A ticket ends with its Issue, comes back, or is pruned, whatever happens to any write of it."""

from typing import TYPE_CHECKING

from loop_world import REPO

if TYPE_CHECKING:
    from crash_harness import Play

RETAINED_S = 91 * 86400


async def cancelled_with_its_issue(play: "Play") -> None:
    """A person closes the Issue while the holder is at work."""
    await _published(play)
    play.begin()
    _issue(play, "closed")


async def comes_back(play: "Play") -> None:
    """The Issue is open again, and somebody claims."""
    await _ended(play)
    _issue(play, "open")
    play.begin()
    await play.claim("claim-second", 1)


async def pruned(play: "Play") -> None:
    """The time of an ended ticket is up."""
    await _ended(play)
    play.world.emulator.advance(RETAINED_S)
    play.begin()


async def _published(play: "Play") -> None:
    agent = await play.claim("claim-first")
    agent.push("one")
    await play.settle()


async def _ended(play: "Play") -> None:
    await _published(play)
    _issue(play, "closed")
    await play.settle()


def _issue(play: "Play", state: str) -> None:
    body = {"state": state, **({"state_reason": "not_planned"} if state == "closed" else {})}
    play.world.http.patch(f"/repos/{REPO}/issues/{play.world.ticket}", json=body).raise_for_status()
