"""The gates as they are met from outside: enabled, fresh, attempts, in that order; and what a refusal makes visible."""

import asyncio
import subprocess
from typing import Any

import pytest
from loop_world import REPO, claims_of
from resume_world import AT, DISPATCHING, HEARTBEAT_S, LEASE_OVER_S, ResumeWorld, drain
from serving import claims_and_dies, served
from spoken_world import Replica

from app.domain.agent_api import CheckpointRequest, Grant
from app.domain.outcome import Blocked, Code, Exit, exit_code

ASKS = "resume: {dispatch: none}\n"
DAYS_90_S = 90 * 86400


def events(world: ResumeWorld, place: str) -> list[str]:
    """The first lines of the ticket's ledger, as `git log` tells them, oldest first."""
    folder = world.folder / "ledger"
    if not folder.exists():
        world.git(world.folder, "init", "-q", "--bare", str(folder))
    url = world.emulator.url.replace("://", f"://x-access-token:{world.token}@")
    world.git(folder, "fetch", "-q", f"{url}/{REPO}.git", f"+refs/agent-recovery/{place}/{world.ticket}:refs/seen")
    log = subprocess.run(
        ["git", "log", "--first-parent", "--reverse", "--format=%s", "refs/seen"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return log.stdout.splitlines()


def shown(world: ResumeWorld) -> dict[str, Any]:
    """The newest check-run of the App's on the ticket's branch."""
    (pull,) = world.get("pulls?state=all")
    return world.check_runs(pull["head"]["sha"])[-1]


def only_report(world: ResumeWorld, person: str) -> str:
    """The one comment that tells somebody why the ticket stopped; it mentions that person and names one way on."""
    (report,) = world.reports()
    body = str(report["body"])
    assert f"@{person} " in body
    assert [who for who in ("wanda", "tom", "rita") if f"@{who}" in body] == [person]
    assert body.count("`/recovery recover`") == 1
    return body


async def never_again(world: ResumeWorld, service: Replica) -> None:
    """Neither another round, nor a restart, nor a lost database, nor two replicas at once tell it a second time."""
    mark, told = world.mark(), world.reports()
    await world.pass_time(10 * 60, service)
    restarted, forgetful = world.replica(service.file), world.replica()
    for other in (restarted, forgetful):
        await other.controller.start_up()
        await world.pass_time(6 * HEARTBEAT_S, other)
    for _ in range(2):
        for other in (service, restarted, forgetful):
            await other.controller._pokes.poke(f"{REPO}#{world.ticket}")
        await asyncio.gather(*(drain(other) for other in (service, restarted, forgetful)))
        world.emulator.advance(HEARTBEAT_S)
    assert world.reports() == told
    assert [w for w in world.writes(mark) if "updateRefs" in w or "UpdateRefs" in w or "/comments" in w] == []


@pytest.mark.drill
async def test_ten_crashing_claims_from_a_shell_get_three_attempts_and_then_exit_four(world: ResumeWorld) -> None:
    world.says(more=ASKS)
    service = world.replica()
    await world.begun(service)
    world.ask("wanda", "POST", f"issues/{world.ticket}/assignees", assignees=["tom"])
    await world.silence(service)
    codes = []
    async with served(world, service) as url:
        for _ in range(10):
            code, said = await claims_and_dies(world, url)
            codes.append(code)
            world.emulator.advance(LEASE_OVER_S)
            await service.later(0)
    assert codes == [Exit.OK] * 3 + [Exit.GATE_CLOSED] * 7
    assert "attempts_exhausted" in said
    assert "`/recovery recover`" in said
    record = await world.record(service)
    assert (record.generation, record.attempts.count) == (4, 3)


async def test_attempts_that_are_used_up_are_told_once_to_who_has_the_ticket(world: ResumeWorld) -> None:
    world.says(more=ASKS)
    service = world.replica()
    await world.begun(service)
    world.ask("wanda", "POST", f"issues/{world.ticket}/assignees", assignees=["tom"])
    await world.silence(service)
    for generation in range(1, 4):
        assert isinstance(await world.crashing(service, generation), Grant)
    await world.pass_time(5 * HEARTBEAT_S, service)
    record = await world.record(service)
    assert (record.status, record.stopped and record.stopped.because) == ("exhausted", "attempts")
    assert world.places() == {"active"}
    only_report(world, "tom")
    assert any("exhausted" in line for line in events(world, "active"))
    assert shown(world)["conclusion"] == "action_required"
    await never_again(world, service)

    # A person's word is a new intent: age and attempts count from it.
    await world.say(service, world.ticket, "/recovery recover")
    record = await world.record(service)
    assert (record.attempts.count, record.stopped, record.intent and record.intent.by) == (0, None, "wanda")
    assert isinstance(await world.crashing(service, 4), Grant)


async def test_a_late_holder_that_made_progress_brings_an_exhausted_ticket_back(world: ResumeWorld) -> None:
    world.says(more="resume: {dispatch: none, max_attempts: 1}\n")
    service = world.replica()
    await world.begun(service)
    await world.silence(service)
    grant = await world.crashing(service, 1)
    assert isinstance(grant, Grant)
    await world.pass_time(5 * HEARTBEAT_S, service)
    assert (await world.record(service)).status == "exhausted"

    async def saves(*steps: str) -> str:
        content = {"completed_steps": [{"id": step, "text": step} for step in steps], "next_steps": ["more"]}
        saved = CheckpointRequest(key=f"late-save-{len(steps)}", seq=900 + len(steps), checkpoint=content)
        await service.controller.checkpoint(*AT, world.ticket, claims_of(grant), saved)
        await drain(service)
        return (await world.record(service)).status

    assert await saves("one") == "exhausted"
    assert await saves("one", "two") == "working"
    record = await world.record(service)
    assert (record.stopped, record.attempts.count, record.identity) == (None, 0, (grant.generation, grant.nonce))
    assert len(world.reports()) == 1


@pytest.mark.parametrize("policy", [ASKS, DISPATCHING], ids=["asks a person", "starts agents"])
async def test_a_checkpoint_of_three_months_ago_is_abandoned_and_nothing_runs(world: ResumeWorld, policy: str) -> None:
    world.says(more=policy)
    await world.begun(world.replica())
    world.emulator.advance(DAYS_90_S)

    # The service comes back, and at the same time cron claims.
    service = world.replica()
    await service.controller.start_up()
    async with served(world, service) as url:
        code, said = await claims_and_dies(world, url)
        assert (code, "too_old" in said) == (Exit.GATE_CLOSED, True)
        await world.pass_time(10 * 60, service)
        code, _ = await claims_and_dies(world, url)
        assert code == Exit.GATE_CLOSED
    record = await world.record(service)
    assert (record.status, record.stopped and record.stopped.because) == ("abandoned", "too_old")
    assert (record.generation, record.lease, world.places()) == (1, None, {"done"})
    assert (world.runs(), world.dispatches()) == ([], 0)
    only_report(world, "wanda")
    assert any("abandoned: " in line for line in events(world, "done"))
    assert shown(world)["conclusion"] != "success"
    await never_again(world, service)


async def test_recover_brings_an_abandoned_ticket_back_and_an_agent_is_started(world: ResumeWorld) -> None:
    await world.begun(world.replica())
    world.emulator.advance(DAYS_90_S)
    service = world.replica()
    await service.controller.start_up()
    await world.pass_time(10 * 60, service)
    assert world.places() == {"done"}
    await world.say(service, world.ticket, "/recovery recover")
    await world.pass_time(6 * HEARTBEAT_S, service)
    (run,) = world.runs()
    grant = await world.works(service, run)
    assert isinstance(grant, Grant), grant
    record = await world.record(service)
    assert (record.stopped, world.places()) == (None, {"active"})
    assert record.generation > 1
    assert len(world.reports()) == 1


async def test_the_gates_refuse_in_order(world: ResumeWorld) -> None:
    service = world.replica()
    world.says(more="resume: {max_attempts: 1, max_age: 1h}\n")
    await world.begun(service)
    world.emulator.advance(LEASE_OVER_S)
    assert isinstance(await world.claimed(service, 1, evidence=False), Grant)
    world.emulator.advance(7200)
    refused = []
    for said in (
        "{enabled: false, max_attempts: 1, max_age: 1h}",
        "{max_attempts: 1, max_age: 1h}",
        "{max_attempts: 1, max_age: 7d}",
        "{max_attempts: 2, max_age: 7d}",
    ):
        world.says(more=f"resume: {said}\n")
        outcome = await world.claimed(service, 2)
        refused.append(outcome.code if isinstance(outcome, Blocked) else None)
        if isinstance(outcome, Blocked):
            assert exit_code(outcome.code) == Exit.GATE_CLOSED
    assert refused == [Code.RESUME_DISABLED, Code.TOO_OLD, Code.ATTEMPTS_EXHAUSTED, None]


@pytest.mark.parametrize("off", ["the operator's switch", "the policy"])
async def test_off_finds_and_shows_and_runs_nothing_and_keeps_the_marker(world: ResumeWorld, off: str) -> None:
    await world.begun(world.replica())
    if off == "the policy":
        world.says(more="resume: {enabled: false, dispatch: workflow_dispatch}\n")
    service = world.replica(resume=off == "the policy")
    await world.silence(service)
    await world.pass_time(600, service)
    assert (world.dispatches(), world.reports(), world.places()) == (0, [], {"active"})
    record = await world.record(service)
    assert (record.status, record.generation, record.stopped) == ("working", 1, None)
    refused = await world.claimed(service, 1)
    assert isinstance(refused, Blocked)
    assert (refused.code, exit_code(refused.code)) == (Code.RESUME_DISABLED, Exit.GATE_CLOSED)
    (pull,) = world.get("pulls")
    (handoff,) = world.comments(pull["number"], "agent-recovery:handoff")
    words = "switched resuming off" if off != "the policy" else "resume.enabled: false"
    assert words in handoff["body"]
    assert words in shown(world)["output"]["summary"]
    # Too old by now: nothing is decided about it either.
    world.emulator.advance(5 * 3600)
    await world.pass_time(600, service)
    assert (world.places(), world.reports()) == ({"active"}, [])

    # On again: found from the marker, and decided as any other.
    if off == "the policy":
        world.says()
    again = world.replica()
    await again.controller.start_up()
    await world.pass_time(600, again)
    assert world.places() == {"done"}
    assert len(world.reports()) == 1


async def test_on_again_in_time_starts_an_agent(world: ResumeWorld) -> None:
    await world.begun(world.replica())
    off = world.replica(resume=False)
    await world.silence(off)
    assert world.dispatches() == 0
    again = world.replica()
    await again.controller.start_up()
    await world.pass_time(600, again)
    assert world.dispatches() == 1


async def test_a_held_ticket_waits_for_whoever_holds_it_and_goes_on_when_it_is_off_hold(world: ResumeWorld) -> None:
    service = world.replica()
    await world.begun(service)
    await world.say(service, world.ticket, "/recovery hold wait for QA")
    await world.silence(service)
    world.emulator.advance(5 * 3600)
    await world.pass_time(600, service)
    assert (world.dispatches(), world.reports(), world.places()) == (0, [], {"active"})
    refused = await world.claimed(service, 1)
    assert isinstance(refused, Blocked)
    assert (refused.code, exit_code(refused.code)) == (Code.HELD, Exit.GATE_CLOSED)
    # Off hold its holder has a term of a lease anew, and is not heard of.
    await world.say(service, world.ticket, "/recovery unhold")
    await world.silence(service)
    assert world.dispatches() == 1
