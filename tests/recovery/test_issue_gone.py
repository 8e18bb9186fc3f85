"""An Issue that is deleted or transferred ends its ticket, and a ticket branch that is renamed comes back."""

from dataclasses import replace
from typing import Any

import pytest
from loop_world import REPO, LoopWorld
from test_life_cycle import act, pull, quiet, refused, shown

from app.controller.view import Gone
from app.domain.keys import TicketKey
from app.domain.observation import Observation
from app.domain.outcome import Code, Refused
from app.github.repository import Repository
from app.ledger.git_outcomes import Pushed

DELETE = "mutation($id: ID!) { deleteIssue(input: {issueId: $id}) { clientMutationId } }"
TRANSFER = (
    "mutation($id: ID!, $to: ID!) { transferIssue(input: {issueId: $id, repositoryId: $to}) { issue { number } } }"
)


def leave(world: LoopWorld, how: str) -> None:
    """Somebody who may do everything deletes the ticket's Issue, or transfers it where the App may or may not look."""
    token = world.emulator.user("olga")["token"]
    world.emulator.change_repo(REPO, collaborators={"olga": "admin"})
    variables = {"id": act(world, "GET", f"issues/{world.ticket}")["node_id"]}
    if how != "deleted":
        target = world.emulator.repo("acme", "garden", private=how == "hidden", collaborators={"olga": "write"})
        variables["to"] = target["node_id"]
    if how == "hidden":
        world.emulator.change_installation(world.installation, repositories=[REPO])
    body = {"query": DELETE if how == "deleted" else TRANSFER, "variables": variables}
    answer = world.http.post("/graphql", json=body, headers={"Authorization": f"Bearer {token}"}).json()
    assert "errors" not in answer, answer


@pytest.mark.parametrize("how", ["deleted", "transferred", "hidden"])
async def test_an_issue_that_went_away_ends_its_ticket(world: LoopWorld, how: str) -> None:
    controller, agent, code = await world.published()
    leave(world, how)
    assert await quiet(world, controller) == "the ticket is cancelled"
    assert (world.ledger(), bool(world.ledger("done"))) == (None, True)
    assert "deleted or transferred" in shown(world, pull(world)["number"])
    assert [run["conclusion"] for run in world.check_runs(code)] == ["action_required"]
    assert await refused(world, controller, agent) == Code.ENDED
    with pytest.raises(Refused) as gone:
        await world.claim(controller, 1)
    assert gone.value.blocked.code == Code.NOT_FOUND


async def test_an_answer_without_the_issue_alone_ends_nothing(
    world: LoopWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One place of GitHub's may lag behind another: what cannot be caused from outside is put in the way here."""
    controller, agent, _ = await world.published()
    observe = Repository.observe

    async def lagging(repo: Repository, *asked: Any) -> Observation:
        return replace(await observe(repo, *asked), issue=None)

    monkeypatch.setattr(Repository, "observe", lagging)
    before = world.ledger()
    ended = await controller.round(TicketKey(REPO, world.ticket))
    assert (ended.reason, world.ledger()) == ("the Issue is closed or gone", before)
    assert isinstance(agent.push("two"), Pushed)


async def test_a_number_that_never_was_is_no_ticket(world: LoopWorld) -> None:
    controller = world.controller()
    with pytest.raises(Gone):
        await controller.round(TicketKey(REPO, 999))


async def test_a_renamed_branch_is_put_back_and_its_pr_opened_again(world: LoopWorld) -> None:
    """GitHub closes the PR of a head branch that is renamed, as if it had been deleted."""
    controller, agent, code = await world.published()
    branch = agent.grant.branch
    act(world, "POST", f"branches/{branch}/rename", new_name="a-better-name")
    assert (world.head(branch), pull(world)["state"]) == (None, "closed")
    assert await quiet(world, controller) == "as it should be"
    assert (world.head(branch), world.head("a-better-name")) == (code, code)
    assert [(p["state"], p["head"]["ref"]) for p in world.get("pulls?state=all")] == [("open", branch)]
    assert isinstance(agent.push("two"), Pushed)
