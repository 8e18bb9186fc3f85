"""The life cycle table, played: people act on Issue, PR and branch; the loop ends tickets, claims bring them back."""

import secrets
from typing import Any

import pytest
from loop_world import REPO, Agent, LoopWorld, claims_of

from app.controller.controller import Controller
from app.domain.agent_api import CheckpointRequest
from app.domain.outcome import Code, Refused
from app.github.repository import Repository
from app.ledger.git_outcomes import FencedOut, Pushed


class Killed(BaseException):
    """The process ends here."""


def act(world: LoopWorld, method: str, path: str, **body: Any) -> Any:
    """What a person does."""
    return world.http.request(method, f"/repos/{REPO}/{path}", json=body).raise_for_status().json()


def issue(world: LoopWorld, state: str, reason: str | None = None) -> None:
    act(world, "PATCH", f"issues/{world.ticket}", state=state, **({"state_reason": reason} if reason else {}))


def pull(world: LoopWorld) -> dict[str, Any]:
    """The newest PR."""
    found: dict[str, Any] = world.get("pulls?state=all")[0]
    return found


def merge(world: LoopWorld, number: int) -> None:
    act(world, "PATCH", f"pulls/{number}", state="open")
    query = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
    node = act(world, "GET", f"pulls/{number}")["node_id"]
    world.http.post("/graphql", json={"query": query, "variables": {"id": node}}).raise_for_status()
    act(world, "PUT", f"pulls/{number}/merge", merge_method="merge")


async def quiet(world: LoopWorld, controller: Controller) -> str:
    """Runs the loop until it rests, then checks that another look writes nothing; why it rests."""
    reasons = [ended.reason for ended in await world.settle(controller)]
    since = world.requested()
    again = [ended.reason for ended in await world.settle(world.controller())]
    assert world.writes(since) == []
    assert again[-1] == reasons[-1]
    return reasons[-1]


async def refused(world: LoopWorld, controller: Controller, agent: Agent) -> Code:
    request = CheckpointRequest(key=secrets.token_hex(8), seq=900, checkpoint={"next_steps": ["more"]})
    with pytest.raises(Refused) as stopped:
        await controller.checkpoint("acme", "shop", world.ticket, claims_of(agent.grant), request)
    return stopped.value.blocked.code


def shown(world: LoopWorld, number: int) -> str:
    (comment,) = world.comments(number, "agent-recovery:handoff")
    return str(comment["body"])


@pytest.mark.parametrize("reason", ["not_planned", "completed"])
async def test_closing_the_issue_ends_the_ticket_and_a_persons_word_brings_it_back(
    world: LoopWorld, reason: str
) -> None:
    controller, agent, code = await world.published()
    issue(world, "closed", reason)
    assert await quiet(world, controller) == "the ticket is cancelled"
    assert (world.ledger(), bool(world.ledger("done"))) == (None, True)
    number = pull(world)["number"]
    # Branch and PR are the person's; what the App shows is calm, and is no pass.
    assert (pull(world)["state"], world.head(agent.grant.branch)) == ("open", code)
    assert "**Cancelled**" in shown(world, number)
    assert f"a person reopens #{world.ticket} and says so in a comment: `/recovery recover`" in shown(world, number)
    assert [run["conclusion"] for run in world.check_runs(code)] == ["action_required"]
    assert await refused(world, controller, agent) == Code.ENDED
    with pytest.raises(Refused) as closed:
        await world.claim(controller, 1)
    assert closed.value.blocked.code == Code.ISSUE_CLOSED
    brief = await controller.brief("acme", "shop", world.ticket)
    assert (brief.status, brief.commands) == ("cancelled", ())
    late = agent.push("late")
    assert isinstance(late, FencedOut), late
    assert "ended" in late.reason
    issue(world, "open")
    assert await quiet(world, controller) == "the ticket is cancelled"
    # Opening the Issue again is not that word.
    assert (await controller.brief("acme", "shop", world.ticket)).commands == ()
    with pytest.raises(Refused) as unsaid:
        await world.claim(controller, 1)
    assert unsaid.value.blocked.code == Code.ENDED
    await world.recalled(controller)
    brief = await controller.brief("acme", "shop", world.ticket)
    assert [command.argv[:2] for command in brief.commands] == [("agent-recovery", "recover")]
    grant = await world.claim(controller, 1)
    assert (grant.generation, grant.published_sha, world.ledger("done")) == (2, code, None)
    assert [step.id for step in grant.brief.completed_steps] == ["one"]
    pushed = world.agent(grant).push("two")
    assert isinstance(pushed, Pushed)
    assert await quiet(world, controller) == "as it should be"
    assert pull(world)["number"] == number
    assert "**Being worked on**" in shown(world, number)
    assert [run["conclusion"] for run in world.check_runs(pushed.code_sha)] == ["success"]
    assert await refused(world, controller, agent) == Code.STALE_GENERATION


async def test_a_ticket_whose_pr_a_person_merged_has_landed(world: LoopWorld) -> None:
    controller, _, code = await world.published()
    number = pull(world)["number"]
    merge(world, number)
    assert await quiet(world, controller) == "the ticket is landed"
    assert "**Landed**" in shown(world, number)
    assert [run["conclusion"] for run in world.check_runs(code)] == ["success"]
    # Reopened by a person: it stays where it is until the next claim, which begins from the delivered work.
    issue(world, "open")
    assert await quiet(world, controller) == "the ticket is landed"
    grant = await world.claim(controller, 1)
    trunk = world.head("release-1")
    assert (grant.generation, grant.base_sha, grant.head_sha) == (2, trunk, trunk)
    assert await quiet(world, controller)
    assert len(world.get("pulls?state=all")) == 1  # nothing new to open a PR for
    assert isinstance(world.agent(grant).push("two"), Pushed)
    assert await quiet(world, controller) == "as it should be"
    assert (pull(world)["state"], len(world.get("pulls?state=all"))) == ("open", 2)
    assert world.comments(pull(world)["number"], "agent-recovery:handoff")


async def test_a_landed_ticket_whose_branch_is_gone_begins_again_from_the_trunk(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    merge(world, pull(world)["number"])
    issue(world, "closed", "completed")
    world.git(agent.folder, "push", "-q", "origin", f":refs/heads/{agent.grant.branch}")
    assert await quiet(world, controller) == "the ticket is landed"
    assert world.head(agent.grant.branch) is None
    issue(world, "open")
    grant = await world.claim(controller, 1)
    assert (grant.published_sha, grant.base_sha) == (None, world.head("release-1"))
    assert isinstance(world.agent(grant).push("two"), Pushed)
    assert await quiet(world, controller) == "as it should be"
    assert (pull(world)["state"], len(world.get("pulls?state=all"))) == ("open", 2)


async def test_a_merge_after_the_cancel_is_recorded_as_landed(world: LoopWorld) -> None:
    controller, _, _ = await world.published()
    issue(world, "closed", "not_planned")
    assert await quiet(world, controller) == "the ticket is cancelled"
    merge(world, pull(world)["number"])
    assert await quiet(world, controller) == "the ticket is landed"


async def test_a_ticket_that_was_only_born_ends_with_its_issue(
    world: LoopWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    update, sent = Repository.update_refs, 0

    async def dies_before_the_second(repo: Repository, updates: Any) -> None:
        nonlocal sent
        sent += 1
        if sent == 2:
            raise Killed
        await update(repo, updates)

    monkeypatch.setattr(Repository, "update_refs", dies_before_the_second)
    with pytest.raises(Killed):
        await world.claim(world.controller())
    controller = world.controller()
    assert world.ledger() == world.ledger("done")
    issue(world, "closed", "not_planned")
    assert await quiet(world, controller) == "the ticket is cancelled"
    assert world.ledger() is None
    issue(world, "open")
    await world.recalled(controller)
    assert (await world.claim(controller)).generation == 1


async def test_a_person_who_closes_the_pr_while_its_branch_stands_ends_the_ticket(world: LoopWorld) -> None:
    controller, agent, code = await world.published()
    number = pull(world)["number"]
    act(world, "PATCH", f"pulls/{number}", state="closed")
    assert await quiet(world, controller) == "the ticket is cancelled"
    assert (world.ledger(), world.head(agent.grant.branch), pull(world)["state"]) == (None, code, "closed")
    assert "closed its PR" in shown(world, number)
    assert isinstance(agent.push("two"), FencedOut)
    # Opening it again is no word that the ticket goes on.
    act(world, "PATCH", f"pulls/{number}", state="open")
    assert await quiet(world, controller) == "the ticket is cancelled"
    with pytest.raises(Refused) as unsaid:
        await world.claim(controller, 1)
    assert unsaid.value.blocked.code == Code.ENDED
    await world.recalled(controller)
    assert (await world.claim(controller, 1)).generation == 2
    assert await quiet(world, controller)
    assert [p["state"] for p in world.get("pulls?state=all")] == ["open"]


async def test_a_pr_that_was_closed_while_other_commits_stood_on_its_branch_is_left_alone(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    number = pull(world)["number"]
    head = world.head(agent.grant.branch)
    tree = act(world, "GET", f"git/commits/{head}")["tree"]["sha"]
    foreign = act(world, "POST", "git/commits", message="theirs", tree=tree, parents=[head])
    act(world, "PATCH", f"git/refs/heads/{agent.grant.branch}", sha=foreign["sha"])
    act(world, "PATCH", f"pulls/{number}", state="closed")
    assert "closed by a person" in await quiet(world, controller)
    act(world, "PATCH", f"pulls/{number}", state="open")
    await world.settle(controller)
    assert world.ledger() is not None
    assert len(world.get("pulls?state=all")) == 1


async def test_a_returned_ticket_whose_pr_was_closed_gets_a_new_one(world: LoopWorld) -> None:
    controller, agent, code = await world.published()
    first = pull(world)["number"]
    act(world, "PATCH", f"pulls/{first}", state="closed")
    issue(world, "closed", "not_planned")
    world.git(agent.folder, "push", "-q", "origin", f":refs/heads/{agent.grant.branch}")
    assert await quiet(world, controller) == "the ticket is cancelled"
    assert world.head(agent.grant.branch) is None
    issue(world, "open")
    await world.recalled(controller)
    await world.claim(controller, 1)
    await world.settle(controller)
    assert world.head(agent.grant.branch) == code
    assert (pull(world)["state"], pull(world)["number"] > first) == ("open", True)


async def test_draft_and_ready_are_a_persons_to_choose(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    node = pull(world)["node_id"]
    for mutation, draft in [("markPullRequestReadyForReview", False), ("convertPullRequestToDraft", True)]:
        query = f"mutation($id: ID!) {{ {mutation}(input: {{pullRequestId: $id}}) {{ clientMutationId }} }}"
        world.http.post("/graphql", json={"query": query, "variables": {"id": node}}).raise_for_status()
        assert await quiet(world, controller) == "as it should be"
        agent.push(f"after-{mutation}")
        assert await quiet(world, controller) == "as it should be"
        assert pull(world)["draft"] is draft


@pytest.mark.parametrize("harm", ["deleted", "rolled back"])
async def test_an_ended_ticket_whose_ledger_was_lost_is_rebuilt_as_ended_and_comes_back(
    world: LoopWorld, harm: str
) -> None:
    controller, agent, code = await world.published()
    issue(world, "closed", "not_planned")
    assert await quiet(world, controller) == "the ticket is cancelled"
    place = f"refs/agent-recovery/{'done' if harm == 'deleted' else 'active'}/{world.ticket}"
    if harm == "deleted":
        world.git(agent.folder, "push", "-q", "origin", f":{place}")
    else:
        done = place.replace("/active/", "/done/")
        world.git(agent.folder, "fetch", "-q", "origin", done)
        world.git(agent.folder, "push", "-q", "--atomic", "origin", f"FETCH_HEAD^:{place}", f":{done}")
    controller = world.controller()
    assert (await world.settle(controller))[-1].reason.startswith("frozen")
    made = await controller.rebuild("acme", "shop", world.ticket, by="wanda")
    assert (made.record.status, made.lost) == ("cancelled", "")
    assert await quiet(world, controller) == "the ticket is cancelled"
    issue(world, "open")
    await world.recalled(controller)
    grant = await world.claim(controller, 2)
    assert (grant.generation, grant.published_sha) == (3, code)
