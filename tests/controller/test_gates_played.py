"""The gates as callers meet them: attempts run out, age, the operator's switch, mode observe, what is no ticket."""

import secrets

import pytest
from loop_world import POLICY, REPO, LoopWorld, claims_of

from app.controller.controller import Controller
from app.domain.agent_api import CheckpointRequest, ClaimRequest, EvidenceRequest, Grant, HandoffRequest
from app.domain.outcome import Blocked, Code, Exit, Refused, exit_code
from app.github.errors import GitHubError
from app.service.github_refusals import refusal_of

POLICY_FILE = ".github/agent-recovery.yml"
REPORT = "agent-recovery:report"


async def _claim(
    world: LoopWorld, controller: Controller, generation: int, *, ticket: int | None = None, repo: str = "shop"
) -> Grant | Blocked:
    """One call of `agent-recovery claim`, as the service answers it."""
    request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=generation, holder="loop")
    try:
        return await controller.claim("acme", repo, ticket or world.ticket, request, "wanda")
    except Refused as refused:
        return refused.blocked
    except GitHubError as error:
        return refusal_of(error)


async def _crash(world: LoopWorld, controller: Controller, times: int, generation: int) -> list[Grant | Blocked]:
    """A supervisor's loop around an agent that claims and dies, every sixteen minutes."""
    outcomes: list[Grant | Blocked] = []
    for _ in range(times):
        outcomes.append(await _claim(world, controller, generation))
        if isinstance(outcomes[-1], Grant):
            generation = outcomes[-1].generation
        world.emulator.advance(16 * 60)
    return outcomes


def _codes(outcomes: list[Grant | Blocked]) -> list[str]:
    return ["granted" if isinstance(o, Grant) else o.code.value for o in outcomes]


@pytest.mark.parametrize("begin", ["never claimed", "work published"])
async def test_ten_crashing_claims_get_three_attempts_and_then_a_person_is_told_once(
    world: LoopWorld, begin: str
) -> None:
    controller, generation = world.controller(), 0
    if begin == "work published":
        controller, _, sha = await world.published()
        generation = 1
        world.emulator.advance(17 * 60)
    outcomes = await _crash(world, controller, 10, generation)
    assert _codes(outcomes) == ["granted"] * 3 + ["attempts_exhausted"] * 7
    refused = outcomes[-1]
    assert isinstance(refused, Blocked)
    assert exit_code(refused.code) == Exit.GATE_CLOSED
    assert "3 claims in a row completed no step" in refused.reason
    assert "`/recovery recover`" in refused.remedy
    assert not (await controller.brief("acme", "shop", world.ticket)).claimable

    assert await world.poked() == [f"{REPO}#{world.ticket}"]
    await world.lives(controller)
    ledger = world.ledger()
    mark = world.requested()
    await _claim(world, controller, generation + 3)
    await world.settle(controller)
    await world.settle(world.controller())
    assert world.writes(mark) == []
    assert world.ledger() == ledger

    pulls = world.get("pulls?state=all")
    place = pulls[0]["number"] if pulls else world.ticket
    (report,) = world.comments(place, REPORT)
    assert report["body"].splitlines()[1].startswith(f"@wanda **Ticket #{world.ticket} waits for a person**")
    if begin == "work published":
        newest = world.check_runs(sha)[-1]
        assert (newest["external_id"].split(":")[1], newest["conclusion"]) == ("4", "action_required")
        assert newest["output"]["title"].startswith("Needs a person")
        (handoff,) = world.comments(place, "agent-recovery:handoff")
        assert "**Needs a person** · generation 4" in handoff["body"]

    # The way back that the refusal names, and nothing of the report's stays in the images.
    world.emulator.commit(REPO, branch="main", files={POLICY_FILE: f"{POLICY}resume: {{max_attempts: 5}}\n"})
    grant = await world.claim(controller, generation + 3)
    await world.settle(controller)
    assert grant.generation == generation + 4
    assert len(world.comments(place, REPORT)) == 1
    if begin == "work published":
        assert world.check_runs(sha)[-1]["conclusion"] == "success"
        assert "Needs a person" not in world.comments(place, "agent-recovery:handoff")[0]["body"]


async def test_failed_attempts_keep_no_ticket_fresh_and_past_four_hours_it_is_too_old(world: LoopWorld) -> None:
    controller, _, sha = await world.published()
    world.emulator.advance(110 * 60)
    assert _codes(await _crash(world, controller, 1, 1)) == ["granted"]
    world.emulator.advance(90 * 60)
    # Three hours and 36 minutes after the last proof of life; the next comes more than four hours after it.
    assert _codes(await _crash(world, controller, 1, 2)) == ["granted"]
    world.emulator.advance(20 * 60)
    refused = await _claim(world, controller, 3)
    assert isinstance(refused, Blocked)
    assert (refused.code, exit_code(refused.code)) == (Code.TOO_OLD, Exit.GATE_CLOSED)
    assert "`/recovery recover`" in refused.remedy
    await world.lives(controller)
    mark = world.requested()
    await world.settle(controller)
    assert world.writes(mark) == []
    (pull,) = world.get("pulls?state=all")
    (report,) = world.comments(pull["number"], REPORT)
    assert "within 4h (resume.max_age)" in report["body"]
    assert world.check_runs(sha)[-1]["conclusion"] == "action_required"


async def test_ready_work_that_nobody_fetched_yet_asks_for_no_person(world: LoopWorld) -> None:
    controller, agent, sha = await world.published()
    request = CheckpointRequest(key="checkpoint-1", seq=900, checkpoint={"objective": "done"}, status="ready")
    await controller.checkpoint("acme", "shop", world.ticket, claims_of(agent.grant), request)
    await world.settle(controller)
    world.emulator.advance(10 * 60)
    await world.settle(controller)
    world.emulator.advance(5 * 3600)
    mark = world.requested()
    await world.settle(controller)
    assert world.writes(mark) == []
    assert world.check_runs(sha)[-1]["conclusion"] == "success"


async def test_with_resuming_off_an_interrupted_ticket_is_found_and_shown_and_not_run(world: LoopWorld) -> None:
    _, agent, _ = await world.published()
    world.emulator.advance(17 * 60)
    controller = world.controller(resume=False)
    await controller.start_up()
    assert await world.poked() == [f"{REPO}#{world.ticket}"]
    brief = await controller.brief("acme", "shop", world.ticket)
    assert (brief.generation, brief.work.published_sha is not None, brief.claimable) == (1, True, False)
    assert "switched resuming off" in brief.claimable_because
    before, mark = world.ledger(), world.requested()
    refused = await _claim(world, controller, 1)
    assert isinstance(refused, Blocked)
    assert (refused.code, exit_code(refused.code)) == (Code.RESUME_DISABLED, Exit.GATE_CLOSED)
    assert "AGENT_RECOVERY_RESUME" in refused.remedy
    assert (world.ledger(), world.writes(mark)) == (before, [])
    # Nothing was interrupted where the holder gave the ticket back, or where nobody ever had it.
    request = HandoffRequest(key="handoff-1", seq=900)
    await controller.handoff("acme", "shop", world.ticket, claims_of(agent.grant), request)
    assert _codes([await _claim(world, controller, 1)]) == ["granted"]
    fresh = world.emulator.issue(REPO, "Pick the pears", author="wanda")["number"]
    assert _codes([await _claim(world, controller, 0, ticket=fresh)]) == ["granted"]


async def test_mode_observe_writes_nothing_whatever_comes(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    fresh = world.emulator.issue(REPO, "Pick the pears", author="wanda")["number"]
    world.emulator.commit(REPO, branch="main", files={POLICY_FILE: "version: 1\nmode: observe\n"})
    replica = world.controller()
    mark = world.requested()
    # Drift of every kind that is repaired otherwise, attempts to claim, everything that a holder sends.
    (agent.folder / "by-hand").write_text("x")
    agent.work("by-hand")
    world.git(agent.folder, "push", "-q", "--force", "origin", f"HEAD:refs/heads/{agent.grant.branch}")
    for deed in ("foreign", "deleted", "closed", "lease over", "ledger gone"):
        match deed:
            case "deleted":
                world.git(agent.folder, "push", "-q", "origin", f":refs/heads/{agent.grant.branch}")
            case "closed":
                world.http.patch(f"/repos/{REPO}/issues/{world.ticket}", json={"state": "closed"}).raise_for_status()
                world.http.patch(f"/repos/{REPO}/issues/{world.ticket}", json={"state": "open"}).raise_for_status()
            case "lease over":
                world.emulator.advance(5 * 3600)
            case "ledger gone":
                world.git(agent.folder, "push", "-q", "origin", f":{agent.grant.ledger_ref}")
        for one in (controller, replica):
            for ticket, generation in ((world.ticket, 0), (world.ticket, 1), (fresh, 0)):
                refused = await _claim(world, one, generation, ticket=ticket)
                assert isinstance(refused, Blocked)
                expected = Code.FROZEN if (deed, ticket) == ("ledger gone", world.ticket) else Code.MODE_OBSERVE
                assert (deed, refused.code) == (deed, expected)
                assert exit_code(refused.code) == Exit.GATE_CLOSED
            await _everything_held(world, one, agent.grant)
            await one.start_up()
            for key in (REPO, f"{REPO}#{world.ticket}", f"{REPO}#{fresh}", f"{REPO}@release-1"):
                await one._pokes.poke(key)
            await _drain(one)
    assert world.writes(mark) == []


async def _everything_held(world: LoopWorld, controller: Controller, grant: Grant) -> None:
    at, claims, key = ("acme", "shop", world.ticket), claims_of(grant), secrets.token_hex(6)
    evidence = EvidenceRequest(key=f"{key}-e", seq=900, head_sha=grant.head_sha, clean=True)
    for call in (
        controller.evidence(*at, claims, evidence),
        controller.checkpoint(*at, claims, CheckpointRequest(key=f"{key}-c", seq=901, checkpoint={"objective": "x"})),
        controller.handoff(*at, claims, HandoffRequest(key=f"{key}-h", seq=902)),
    ):
        with pytest.raises(Refused) as refused:
            await call
        assert refused.value.blocked.code in (Code.MODE_OBSERVE, Code.FROZEN)


async def _drain(controller: Controller) -> None:
    """Everything that is due, by the loop's own hand."""
    while (poke := await controller._pokes.take("test")) is not None:
        await controller._loop._run(poke)
        await controller._pokes.settle(poke, None)


@pytest.mark.parametrize(
    ("case", "code", "exit", "words", "remedy"),
    [
        ("a closed Issue", Code.ISSUE_CLOSED, Exit.GATE_CLOSED, "is closed", "reopen the Issue"),
        ("a PR's number", Code.NOT_A_TICKET, Exit.USAGE, "is a pull request", "number of the Issue"),
        ("a missing ticket", Code.NOT_FOUND, Exit.USAGE, "there is no Issue #999", "check the repository"),
        ("a missing repository", Code.NOT_FOUND, Exit.USAGE, "no such repository", "that the App is installed"),
        ("a suspended installation", Code.SUSPENDED, Exit.GATE_CLOSED, "is suspended", "ask an owner"),
        ("no policy", Code.NO_POLICY, Exit.GATE_CLOSED, "no policy file", POLICY_FILE),
    ],
)
async def test_a_claim_on_what_is_no_ticket_is_refused_with_a_next_action(
    world: LoopWorld, case: str, code: Code, exit: int, words: str, remedy: str
) -> None:
    controller, ticket, repo = world.controller(), world.ticket, "shop"
    match case:
        case "a closed Issue":
            world.http.patch(f"/repos/{REPO}/issues/{ticket}", json={"state": "closed"}).raise_for_status()
        case "a PR's number":
            world.emulator.commit(REPO, branch="topic", files={"x": "x"})
            body = {"title": "mine", "head": "topic", "base": "main"}
            ticket = world.http.post(f"/repos/{REPO}/pulls", json=body).raise_for_status().json()["number"]
        case "a missing ticket":
            ticket = 999
        case "a missing repository":
            repo = "shed"
        case "a suspended installation":
            world.emulator.change_installation(world.installation, suspended=True)
        case "no policy":
            world.emulator.commit(REPO, branch="main", files={POLICY_FILE: None})
    mark = world.requested()
    refused = await _claim(world, controller, 0, ticket=ticket, repo=repo)
    assert isinstance(refused, Blocked)
    assert (refused.code, exit_code(refused.code), refused.retryable) == (code, exit, False)
    assert words in refused.reason
    assert remedy in refused.remedy
    assert world.writes(mark) == []
