"""The gate of the git endpoint on a real loop and an emulated GitHub: who passes, what it costs, what silence means."""

import pytest
from forging import commit, fetched, following
from loop_world import REPO, Agent, LoopWorld, claims_of
from plain_push import branch_ref, pushed

from app.controller.controller import Controller
from app.domain.model import ZERO_SHA
from app.domain.outcome import Code, Refused
from app.domain.push_rules import Command
from app.ledger.api import Won
from app.ledger.reading import Standing


async def refusal(controller: Controller, agent: Agent, *commands: Command) -> Code:
    with pytest.raises(Refused) as raised:
        await pushed(controller, agent, *commands)
    return raised.value.blocked.code


async def test_a_push_costs_the_same_however_long_the_ledger_is(world: LoopWorld) -> None:
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    await controller.git_access("acme", "shop", claims_of(agent.grant), to_push=True)  # git's first question
    costs, old = [], ZERO_SHA
    for name in ("one", "two", "three"):
        sha = agent.work(name)
        await controller.brief("acme", "shop", world.ticket)  # what is immutable is known before we count
        before = world.requested()
        report = await pushed(
            controller, agent, Command(branch_ref(agent), old, sha), having=[] if old == ZERO_SHA else [old]
        )
        assert report.moved, report
        ours = [r for r in world.emulator.requests(before) if str(r["identity"]).startswith("app:")]
        costs.append([r["kind"] for r in ours])
        old = sha
        for number in range(5):
            assert agent.push_commit(sha, f"{name}-{number}").ledger_commit
        await world.settle(controller)
    # The ledger in its two places, one query, one push.
    assert costs == [["rest", "rest", "graphql", "git"]] * 3


async def test_while_the_policy_only_observes_nothing_is_pushed(world: LoopWorld) -> None:
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    sha = agent.work("one")
    world.emulator.commit(REPO, {".github/agent-recovery.yml": "version: 1\nmode: observe\ntrunks: [release-*]\n"})
    before = world.requested()
    assert await refusal(controller, agent, Command(branch_ref(agent), ZERO_SHA, sha)) is Code.MODE_OBSERVE
    assert world.writes(before) == []


async def test_on_hold_a_holder_may_read_and_not_push(world: LoopWorld) -> None:
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    sha = agent.work("one")
    repo, ledger = await controller._views.ledger("acme", "shop")
    base = await ledger.read(world.ticket)
    assert isinstance(base, Standing)
    held = base.record.model_copy(update={"status": "held", "sequence": base.record.sequence + 1})
    written = await ledger.write(world.ticket, base=base, record=held, event="held", when=controller._views.now())
    assert isinstance(written, Won)
    claims = claims_of(agent.grant)
    assert (await controller.git_access("acme", "shop", claims, to_push=False)).id == repo.id
    with pytest.raises(Refused) as raised:
        await controller.git_access("acme", "shop", claims, to_push=True)
    assert raised.value.blocked.code is Code.HELD
    assert await refusal(controller, agent, Command(branch_ref(agent), ZERO_SHA, sha)) is Code.HELD
    assert world.head(agent.grant.branch) is None


async def test_a_lease_reaches_no_further_than_the_account_that_claimed(world: LoopWorld) -> None:
    agent = world.agent(await world.claim(world.controller()))
    sha = agent.work("one")
    world.emulator.change_repo(REPO, collaborators={"wanda": "read"})
    controller = world.controller()  # what was asked before is forgotten, as it is after a minute
    for to_push in (False, True):
        with pytest.raises(Refused, match="wanda, who claimed the ticket, has read permission") as raised:
            await controller.git_access("acme", "shop", claims_of(agent.grant), to_push=to_push)
        assert raised.value.blocked.code is Code.FORBIDDEN
    assert await refusal(controller, agent, Command(branch_ref(agent), ZERO_SHA, sha)) is Code.FORBIDDEN
    assert world.head(agent.grant.branch) is None


async def test_a_ledger_commit_that_its_holder_may_not_write_freezes_the_ticket(world: LoopWorld) -> None:
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    head, record = fetched(agent)
    forged = commit(agent, head, following(record) | {"attempts": {"count": 0}}, sealed=True)
    report = await pushed(controller, agent, Command(agent.grant.ledger_ref, head, forged), having=[head])
    assert report.moved
    sha = agent.work("one")
    assert await refusal(controller, agent, Command(branch_ref(agent), ZERO_SHA, sha)) is Code.FROZEN
    with pytest.raises(Refused) as raised:
        await controller.git_access("acme", "shop", claims_of(agent.grant), to_push=False)
    assert raised.value.blocked.code is Code.FROZEN


async def test_a_github_that_never_answers_leaves_the_outcome_open(world: LoopWorld, monkeypatch) -> None:
    monkeypatch.setattr("app.controller.git_gate.LONGEST_PAUSE_S", 0.01)
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    sha = agent.work("one")
    world.emulator.fault("drop_before", match={"path_regex": "git-receive-pack$"}, times=None)
    before = world.requested()
    assert await refusal(controller, agent, Command(branch_ref(agent), ZERO_SHA, sha)) is Code.UNKNOWN_OUTCOME
    assert len(world.writes(before)) == 10
    world.emulator.clear_faults()
    report = await pushed(controller, agent, Command(branch_ref(agent), ZERO_SHA, sha))
    assert (report.moved, world.head(agent.grant.branch)) == (True, sha)
