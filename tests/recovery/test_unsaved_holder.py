"""A live holder that saves nothing for longer than `checkpoint.max_gap`: shown, told once, and over with its next save.

What is lost with a machine is bounded by that time (the RPO): these are the moments at which it is exceeded for real.
"""

import secrets
from typing import TYPE_CHECKING, Any

from app.controller.controller import Controller
from app.domain.agent_api import CheckpointRequest, Grant, HeartbeatRequest
from app.domain.token import Claims, read

if TYPE_CHECKING:
    from loop_world import LoopWorld

REPORT = "gap-g1"
SHOWN = "Not saved for too long"


def claims(grant: Grant) -> Claims:
    found = read(grant.lease_token)
    assert isinstance(found, Claims)
    return found


async def lives(world: "LoopWorld", controller: Controller, grant: Grant, minutes: int) -> None:
    """The holder works on and shows itself, and the loop looks as the sweep would make it."""
    step = min(minutes, 7)
    for _ in range(minutes // step):
        world.emulator.advance(step * 60)
        await controller.heartbeat("acme", "shop", world.ticket, claims(grant), HeartbeatRequest())
        await world.settle(controller)


def reports(world: "LoopWorld", number: int) -> list[dict[str, Any]]:
    return world.comments(number, REPORT)


def handoff(world: "LoopWorld", number: int) -> str:
    (comment,) = world.comments(number, "agent-recovery:handoff")
    return str(comment["body"])


async def step_six(world: "LoopWorld", controller: Controller) -> tuple[str, str]:
    brief = await controller.brief("acme", "shop", world.ticket)
    return brief.findings[5].state, brief.findings[5].finding


async def test_it_is_shown_and_told_once_and_a_push_ends_it(world: "LoopWorld") -> None:
    controller, agent, _ = await world.published()
    (pull,) = world.get("pulls?state=all")
    await lives(world, controller, agent.grant, 28)
    assert reports(world, pull["number"]) == []
    assert SHOWN not in handoff(world, pull["number"])
    await lives(world, controller, agent.grant, 7)
    (told,) = reports(world, pull["number"])
    assert "@wanda" in told["body"]
    assert "checkpoint.max_gap is 30m" in told["body"]
    assert SHOWN in handoff(world, pull["number"])
    assert (await step_six(world, controller))[0] == "pending"
    quiet = world.requested()
    await world.settle(controller)
    assert world.writes(quiet) == []

    # The service is restarted and its database is gone: the report is found again, not made again.
    await world.close_replicas()
    controller = world.controller()
    await lives(world, controller, agent.grant, 2)
    assert len(reports(world, pull["number"])) == 1

    agent.push("two")
    await world.settle(controller)
    assert SHOWN not in handoff(world, pull["number"])
    assert (await step_six(world, controller))[0] == "done"
    await lives(world, controller, agent.grant, 35)
    assert SHOWN in handoff(world, pull["number"])
    assert len(reports(world, pull["number"])) == 1  # once a generation


async def test_a_push_that_brought_no_new_commit_counts_before_anybody_is_told(world: "LoopWorld") -> None:
    controller, agent, sha = await world.published()
    (pull,) = world.get("pulls?state=all")
    await lives(world, controller, agent.grant, 21)
    agent.push_commit(sha, "one")  # the same commit: no check-run to make, so the loop has nothing else to write
    await lives(world, controller, agent.grant, 14)
    assert reports(world, pull["number"]) == []
    assert SHOWN not in handoff(world, pull["number"])


async def test_who_never_saved_is_told_on_the_issue_and_unpublished_commits_do_not_count(world: "LoopWorld") -> None:
    controller = world.controller()
    grant = await world.claim(controller)

    async def saves(seq: int, stands_at: str) -> bool:
        content = {"objective": "Ripen", "next_steps": ["more"], "checkpoint_sha_or_snapshot": stands_at}
        request = CheckpointRequest(key=secrets.token_hex(8), seq=seq, checkpoint=content)
        return (await controller.checkpoint("acme", "shop", world.ticket, claims(grant), request)).hard

    await lives(world, controller, grant, 21)
    assert not await saves(2, "c" * 40)
    await lives(world, controller, grant, 14)
    assert len(reports(world, world.ticket)) == 1
    assert "saved nothing since it took the ticket" in (await step_six(world, controller))[1]
    await saves(3, grant.base_sha)
    assert (await step_six(world, controller))[0] == "done"


async def test_a_hard_checkpoint_leaves_nothing_committed_behind(world: "LoopWorld") -> None:
    controller, agent, sha = await world.published()
    answers = []
    for seq, stands_at in ((200, sha), (201, agent.work("two"))):
        content = {"next_steps": ["more"], "checkpoint_sha_or_snapshot": stands_at}
        request = CheckpointRequest(key=secrets.token_hex(8), seq=seq, checkpoint=content, at="milestone")
        answers.append(await controller.checkpoint("acme", "shop", world.ticket, claims(agent.grant), request))
    assert [answer.hard for answer in answers] == [True, False]
    assert answers[1].soft_because == ("code_on_remote",)
    state, finding = await step_six(world, controller)
    assert state == "done"
    assert "made at" not in finding  # a milestone leaves nothing half done
