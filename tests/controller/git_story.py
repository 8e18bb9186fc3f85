"""Plain git pushes through the service, whatever happens to the push or to any write that follows it."""

from typing import TYPE_CHECKING

from loop_world import Agent
from plain_push import branch_ref, pushed

from app.controller.controller import Controller
from app.domain.model import ZERO_SHA
from app.domain.outcome import Blocked, Code, Refused
from app.domain.push_rules import Command

if TYPE_CHECKING:
    from crash_harness import Play


async def plain_first_push(play: "Play") -> None:
    """The first commits come by plain git: PR, comment and check-run appear."""
    agent = await play.claim("claim-first")
    play.begin()
    await _push(play, agent, "one")


async def plain_second_push(play: "Play") -> None:
    """The branch moves on by plain git."""
    agent = await play.claim("claim-first")
    await _push(play, agent, "one")
    await play.settle()
    play.begin()
    await _push(play, agent, "two")


async def _push(play: "Play", agent: Agent, step: str) -> None:
    sha = agent.work(step)

    async def deed(controller: Controller) -> None:
        # As git does: it asks first where the branch stands, and sends nothing where nothing is left to send.
        stands = play.world.head(agent.grant.branch)
        if stands == sha:
            return
        having = [stands] if stands else []
        report = await pushed(controller, agent, Command(branch_ref(agent), stands or ZERO_SHA, sha), having=having)
        if not report.moved:
            raise Refused(Blocked(Code.LOST_RACE, "; ".join(report.reasons), "push again", retryable=True))

    await play.call(deed)
