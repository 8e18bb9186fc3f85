"""A ledger that is gone, damaged or rolled back is begun anew from sealed texts by a person's word, and the ticket
goes on.
"""

import asyncio
import json
import os
import secrets
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from forging import commit, fetched, following, point
from loop_world import REPO, Agent, LoopWorld, claims_of

from app.controller.controller import Controller
from app.controller.person_commands import Word
from app.domain import person_verbs
from app.domain.agent_api import CheckpointRequest, ClaimRequest
from app.domain.keys import TicketKey
from app.domain.outcome import Code, Refused


async def rebuild(world: LoopWorld, controller: Controller, *, accept_loss: bool = False) -> str:
    """What was lost, in words."""
    made = await controller.rebuild("acme", "shop", world.ticket, by="wanda", accept_loss=accept_loss)
    return made.lost


async def settled(world: LoopWorld, controller: Controller) -> str:
    return (await world.settle(controller))[-1].reason


async def goes_on(world: LoopWorld, controller: Controller, before: Agent, code: str) -> None:
    """A fresh agent claims, finds the work, publishes more; the old one is refused; PR, comment and checks follow."""
    observed = (await controller.brief("acme", "shop", world.ticket)).generation
    grant = await world.claim(controller, observed)
    assert (grant.generation, grant.published_sha, grant.branch) == (observed + 1, code, before.grant.branch)
    assert [step.id for step in grant.brief.completed_steps] == ["one"]
    agent = world.agent(grant)
    pushed = agent.push("two")
    await world.settle(controller)
    request = CheckpointRequest(key=secrets.token_hex(8), seq=900, checkpoint={"next_steps": ["stale"]})
    with pytest.raises(Refused) as refused:
        await controller.checkpoint("acme", "shop", world.ticket, claims_of(before.grant), request)
    assert refused.value.blocked.code == Code.STALE_GENERATION
    (pull,) = world.get("pulls?state=all")
    assert (pull["state"], pull["head"]["sha"]) == ("open", pushed.code_sha)
    assert len(world.comments(pull["number"], "agent-recovery:handoff")) == 1
    assert [run["conclusion"] for run in world.check_runs(pushed.code_sha)] == ["success"]


def lose_refs(world: LoopWorld, agent: Agent) -> None:
    world.git(agent.folder, "push", "-q", "origin", f":{agent.grant.ledger_ref}")


def forge(world: LoopWorld, agent: Agent) -> None:
    head, record = fetched(agent)
    point(agent, commit(agent, head, following(record) | {"generation": 9}, sealed=False))


def roll_back(world: LoopWorld, agent: Agent) -> None:
    head, _ = fetched(agent)
    point(agent, world.git(agent.folder, "rev-parse", f"{head}~2"))


def put_in_both_places(world: LoopWorld, agent: Agent) -> None:
    head, _ = fetched(agent)
    done = agent.grant.ledger_ref.replace("/active/", "/done/")
    world.git(agent.folder, "push", "-q", "origin", f"{head}:{done}")


@pytest.mark.parametrize(
    ("harm", "database"),
    [
        (lose_refs, "kept"),
        (lose_refs, "lost"),
        (forge, "lost"),
        (roll_back, "kept"),
        (roll_back, "lost"),
        (put_in_both_places, "kept"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
async def test_the_ticket_goes_on_after_its_ledger_was_rebuilt(world: LoopWorld, harm, database: str) -> None:  # type: ignore[no-untyped-def]
    controller, agent, code = await world.published()
    harm(world, agent)
    controller = controller if database == "kept" else world.controller()
    assert (await settled(world, controller)).startswith("frozen")
    with pytest.raises(Refused) as refused:
        await world.claim(controller, 1)
    assert refused.value.blocked.code == Code.FROZEN
    assert await rebuild(world, controller) == ""
    with pytest.raises(Refused) as sound:
        await rebuild(world, controller)
    assert sound.value.blocked.code == Code.USAGE
    assert world.ledger("done") is None
    assert "frozen" not in await settled(world, controller)
    await goes_on(world, controller, agent, code)
    # Another replica, and one that lost its table, see the rebuilt ledger as sound.
    assert (await world.controller().brief("acme", "shop", world.ticket)).status == "working"


async def test_a_persons_word_is_not_carried_out_again_after_the_ledger_was_rebuilt(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    rule = partial(person_verbs.hold, by="wanda", reason="wait")
    word = Word(id="comment-1", verb="hold", by="wanda", rule=rule)
    off = Word(id="comment-2", verb="unhold", by="wanda", rule=partial(person_verbs.unhold, by="wanda"))
    said = await controller.hear("acme", "shop", world.ticket, word)
    await controller.hear("acme", "shop", world.ticket, off)
    await world.settle(controller)
    lose_refs(world, agent)
    fresh = world.controller()
    assert (await settled(world, fresh)).startswith("frozen")
    await rebuild(world, fresh)
    # The delivery comes again, or the sweep finds the comment: it is answered again, and nothing is held.
    again = await fresh.hear("acme", "shop", world.ticket, word)
    assert (again.changed, again.answer, again.record.status) == (False, said.answer, "unclaimed")


async def test_what_no_sealed_text_holds_is_given_up_only_by_a_persons_word(world: LoopWorld) -> None:
    controller, agent, code = await world.published()
    agent.push_commit(code, "more")  # a newer checkpoint, seen by the service and not projected yet
    await controller.brief("acme", "shop", world.ticket)
    lose_refs(world, agent)
    with pytest.raises(Refused) as refused:
        await rebuild(world, controller)
    assert "--accept-loss" in refused.value.blocked.remedy
    assert world.ledger() is None
    assert "is in no sealed text" in await rebuild(world, controller, accept_loss=True)
    await world.settle(controller)
    await goes_on(world, controller, agent, code)


async def test_a_text_that_somebody_wrote_or_rolled_back_rebuilds_nothing(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    (pull,) = world.get("pulls")
    (comment,) = world.comments(pull["number"], "agent-recovery:handoff")
    older = comment["body"]
    agent.push("two")
    await world.settle(controller)
    forged = comment["body"].replace('"sequence":', '"sequence":9')
    for body in (forged, older):
        world.http.patch(f"/repos/{REPO}/issues/comments/{comment['id']}", json={"body": body}).raise_for_status()
        lose_refs(world, agent) if world.ledger() else None
        made = await controller.rebuild("acme", "shop", world.ticket, by="wanda", dry_run=True)
        # The check-run holds the same text, where only the App can write.
        assert made.source.startswith("check-run")
        assert len(made.record.checkpoint.completed_steps) == 1
        assert made.record.checkpoint.completed_steps[0].id == "two"
    assert world.ledger() is None


async def test_of_two_who_rebuild_one_wins(world: LoopWorld) -> None:
    controller, agent, code = await world.published()
    lose_refs(world, agent)
    other = world.controller()
    outcomes = await asyncio.gather(rebuild(world, controller), rebuild(world, other), return_exceptions=True)
    assert outcomes.count("") == 1
    (refused,) = [o for o in outcomes if isinstance(o, Refused)]
    assert refused.blocked.code in (Code.LOST_RACE, Code.USAGE)
    await world.settle(controller)
    await goes_on(world, controller, agent, code)


async def test_a_lost_answer_of_the_rebuild_is_read_from_the_refs(world: LoopWorld) -> None:
    controller, agent, code = await world.published()
    lose_refs(world, agent)
    world.emulator.fault(match={"operation": "updateRefs"}, kind="drop_after")
    assert await rebuild(world, controller) == ""
    await controller.round(TicketKey(REPO, world.ticket))
    await goes_on(world, controller, agent, code)


async def test_a_newer_versions_ledger_is_left_alone(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    head, record = fetched(agent)
    newer = commit(agent, head, following(record) | {"schema": 99}, sealed=True)
    point(agent, newer)
    with pytest.raises(Refused) as refused:
        await rebuild(world, controller)
    assert "update the service" in refused.value.blocked.remedy
    assert world.ledger() == newer


async def test_a_sound_ledger_and_an_unknown_ticket_are_not_rebuilt(world: LoopWorld) -> None:
    controller, _, _ = await world.published()
    before = world.ledger()
    with pytest.raises(Refused):
        await rebuild(world, controller)
    number = world.emulator.issue(REPO, "Another", author="wanda")["number"]
    with pytest.raises(Refused):
        await controller.rebuild("acme", "shop", number, by="wanda")
    assert world.ledger() == before
    request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=0, holder="agent")
    assert (await controller.claim("acme", "shop", number, request, "wanda")).generation == 1


async def test_the_operators_command_rebuilds_and_says_what_it_did(world: LoopWorld) -> None:
    controller, agent, code = await world.published()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AGENT_RECOVERY_")},
        **world.key_settings,
        "AGENT_RECOVERY_APP_ID": str(world.app["id"]),
        "AGENT_RECOVERY_APP_PRIVATE_KEY": world.app["pem"],
        "AGENT_RECOVERY_GITHUB_URL": world.emulator.url,
        "AGENT_RECOVERY_DATABASE_URL": f"sqlite:///{world.folder}/operator.db",
    }

    def run(*more: str) -> tuple[int, dict[str, Any]]:
        program = str(Path(sys.executable).parent / "agent-recovery")
        command = [program, "rebuild", REPO, "--ticket", str(world.ticket), "--by", "wanda", "--json", *more]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        return done.returncode, json.loads(done.stdout)

    status, refused = await asyncio.to_thread(run)
    assert (status, refused["error"]["code"]) == (2, "usage")
    assert "claim the ticket as usual" in refused["error"]["next_action"]
    lose_refs(world, agent)
    status, told = await asyncio.to_thread(run, "--dry-run")
    assert (status, told["written"], world.ledger()) == (0, False, None)
    status, told = await asyncio.to_thread(run)
    assert (status, told["written"], told["generation"], told["lost"]) == (0, True, 2, "")
    await world.settle(controller)
    await goes_on(world, controller, agent, code)
    status, refused = await asyncio.to_thread(run, "--ticket", "forty-two")
    assert (status, refused["error"]["code"]) == (2, "usage")
