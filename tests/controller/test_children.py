"""Children: born and listed in one update, worked on like tickets, sealed in their parent, judged by their snapshot."""

import secrets
from typing import Any

import pytest
from loop_world import REPO, Agent, LoopWorld, claims_of

from app.controller.controller import Controller
from app.domain.agent_api import CheckpointRequest, ClaimRequest, EvidenceRequest, Grant, HandoffRequest
from app.domain.child_api import NamedChildRequest, RespawnRequest, ResultRequest, SpawnRequest, Task
from app.domain.keys import TicketKey
from app.domain.outcome import Code, Refused
from app.domain.shown_child import ShownChild
from app.domain.ticket_id import Child

S1, S2 = "1" * 40, "2" * 40


def _next_of(agent: Agent) -> dict[str, Any]:
    agent._seq += 1
    return {"key": secrets.token_hex(8), "seq": agent._seq}


class Parent:
    """The holder of the world's ticket, with its service."""

    def __init__(self, world: LoopWorld, controller: Controller, agent: Agent) -> None:
        self.world, self.controller, self.agent = world, controller, agent

    @classmethod
    async def working(cls, world: LoopWorld) -> "Parent":
        controller = world.controller()
        agent = world.agent(await world.claim(controller))
        agent.push("one")
        return cls(world, controller, agent)

    @property
    def claims(self) -> Any:
        return claims_of(self.agent.grant)

    def _next(self) -> dict[str, Any]:
        return _next_of(self.agent)

    async def spawn(self, name: str, **task: Any) -> SpawnRequest:
        wanted = Task.model_validate({"objective": f"Write {name}", "acceptance": ["it is written"], **task})
        request = SpawnRequest(**self._next(), name=name, task=wanted)
        await self.controller.spawn("acme", "shop", self.world.ticket, self.claims, request)
        return request

    async def respawn(self, name: str) -> None:
        request = RespawnRequest(**self._next(), name=name)
        await self.controller.respawn("acme", "shop", self.world.ticket, self.claims, request)

    async def adopt(self, name: str) -> None:
        request = NamedChildRequest(**self._next(), name=name)
        await self.controller.adopt("acme", "shop", self.world.ticket, self.claims, request)

    async def cancel(self, name: str) -> None:
        request = NamedChildRequest(**self._next(), name=name)
        await self.controller.cancel_child("acme", "shop", self.world.ticket, self.claims, request)

    async def restack(self, predecessor_sha: str) -> None:
        body = {"predecessor_issue_or_pr": 7, "predecessor_sha": predecessor_sha}
        request = CheckpointRequest(**self._next(), checkpoint=body)
        await self.controller.checkpoint("acme", "shop", self.world.ticket, self.claims, request)

    async def children(self) -> dict[str, ShownChild]:
        listed = await self.controller.children("acme", "shop", self.world.ticket, self.claims)
        return {child.name: child for child in listed.children}

    def refs(self) -> dict[str, str]:
        """All refs of ours by their short names."""
        found = self.world.get("git/matching-refs/agent-recovery/")
        return {r["ref"].removeprefix("refs/agent-recovery/"): r["object"]["sha"] for r in found}


class Worker:
    """The holder of a child."""

    def __init__(self, parent: Parent, child: Child, grant: Grant) -> None:
        self.parent, self.child, self.grant = parent, child, grant
        self.agent = parent.world.agent(grant)

    @classmethod
    async def on(cls, parent: Parent, name: str, generation: int = 0) -> "Worker":
        child = Child(parent.world.ticket, name)
        request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=generation, holder=f"on {name}")
        grant = await parent.controller.claim("acme", "shop", child, request, "wanda")
        worker = cls(parent, child, grant)
        evidence = EvidenceRequest(**worker.next(), head_sha=grant.head_sha, clean=True)
        await parent.controller.evidence("acme", "shop", child, claims_of(grant), evidence)
        return worker

    def next(self) -> dict[str, Any]:
        return _next_of(self.agent)

    async def give(self, outcome: str = "completed", request: ResultRequest | None = None) -> ResultRequest:
        told = request or ResultRequest.model_validate({**self.next(), "outcome": outcome, "summary": "It is written."})
        await self.parent.controller.result("acme", "shop", self.child, claims_of(self.grant), told)
        return told

    async def settle(self, turns: int = 6) -> None:
        for _ in range(turns):
            ended = await self.parent.controller.round(TicketKey(REPO, self.child))
            if ended.again_at is None:
                return


async def test_a_child_is_born_together_with_its_place_on_the_list(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    request = await parent.spawn("docs-1", role="writer", budget={"minutes": 30})
    born = parent.refs()
    assert born[f"active/{world.ticket}.docs-1"] == born[f"done/{world.ticket}.docs-1"]
    shown = (await parent.children())["docs-1"]
    assert (shown.state, shown.role, shown.objective) == ("waiting", "writer", "Write docs-1")
    assert shown.base_sha == world.head(parent.agent.grant.branch)
    # The same key again: the same answer, and no second child.
    again = await parent.controller.spawn("acme", "shop", world.ticket, parent.claims, request)
    assert again.repeated
    assert parent.refs() == born
    with pytest.raises(Refused, match="there is a child docs-1 already"):
        await parent.spawn("docs-1")


async def test_a_child_is_claimed_and_pushes_and_its_pull_request_goes_into_its_parents(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    await parent.spawn("docs-1")
    worker = await Worker.on(parent, "docs-1")
    assert worker.grant.branch == f"ticket/{world.ticket}.docs-1"
    assert worker.grant.head_sha == world.head(parent.agent.grant.branch)
    brief = worker.grant.brief
    assert brief.contract is not None
    assert [c.argv for c in brief.commands if c.when == "finish"] == [("agent-recovery", "complete")]
    assert (brief.objective, [s.text for s in brief.next_steps]) == ("Write docs-1", ["it is written"])
    pushed = worker.agent.push("chapter")
    await worker.settle()
    [pull] = [p for p in world.get("pulls") if p["head"]["ref"] == worker.grant.branch]
    assert pull["base"]["ref"] == parent.agent.grant.branch
    assert pull["body"].splitlines()[0] == f"Ticket: #{world.ticket}"
    assert pull["draft"]
    assert world.comments(pull["number"], f"handoff:{world.ticket}.docs-1 ")
    [run] = world.check_runs(pushed.code_sha)
    assert run["external_id"].startswith(f"{world.ticket}.docs-1:1:")
    assert run["conclusion"] == "success"
    shown = (await parent.children())["docs-1"]
    assert (shown.state, shown.head_sha, shown.pr_number) == ("running", pushed.code_sha, pull["number"])
    await worker.settle()
    mark = world.requested()
    await worker.settle()
    assert world.writes(mark) == []


async def test_a_result_ends_the_child_and_is_sealed_in_its_parent(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    await parent.spawn("docs-1")
    worker = await Worker.on(parent, "docs-1")
    pushed = worker.agent.push("chapter")
    told = await worker.give()
    refs = parent.refs()
    slot = f"results/{world.ticket}.docs-1.g1"
    assert refs[slot] == refs[f"active/{world.ticket}.docs-1"]
    shown = (await parent.children())["docs-1"]
    assert (shown.state, shown.integrable, shown.result_commit) == ("completed", True, refs[slot])
    # A lost answer: the same key finds it. Another word of the same holder comes too late.
    await worker.give(request=told)
    assert parent.refs()[slot] == refs[slot]
    with pytest.raises(Refused) as late:
        await worker.give("failed")
    assert late.value.blocked.code is Code.ENDED
    with pytest.raises(Refused) as claim:
        await Worker.on(parent, "docs-1", generation=1)
    assert claim.value.blocked.code is Code.ENDED
    await world.settle(parent.controller)
    brief = await parent.controller.brief("acme", "shop", world.ticket)
    assert brief.findings[8].state == "pending"
    assert brief.criteria[9].met is True
    await worker.settle()
    [pull] = [p for p in world.get("pulls") if p["head"]["ref"] == worker.grant.branch]
    assert not pull["draft"]
    assert world.check_runs(pushed.code_sha)[0]["conclusion"] == "success"
    # The loop wrote above it; the result is where it was.
    assert parent.refs()[slot] != parent.refs()[f"active/{world.ticket}.docs-1"]
    assert (await parent.children())["docs-1"].integrable
    # Sealed: a ref that is deleted now is no loss, and a result that is exchanged is noticed.
    world.git(parent.agent.folder, "push", "-q", "origin", f":refs/agent-recovery/{slot}")
    assert (await parent.children())["docs-1"].integrable
    world.git(parent.agent.folder, "push", "-qf", "origin", f"HEAD:refs/agent-recovery/{slot}")
    assert (await parent.children())["docs-1"].state == "stale"


async def test_a_child_spawned_under_another_predecessor_is_stale_and_asked_for_anew(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    await parent.restack(S1)
    await parent.spawn("old")
    await parent.restack(S2)
    await parent.spawn("new")
    old, new = await Worker.on(parent, "old"), await Worker.on(parent, "new")
    assert "so its result will be stale" in (await parent.children())["old"].because
    first = old.agent.push("chapter")
    new.agent.push("appendix")
    await old.give()
    await new.give()
    shown = await parent.children()
    assert (shown["old"].state, shown["old"].integrable) == ("stale", False)
    assert S1 in shown["old"].because
    # What is stale stands in nobody's way.
    assert (shown["new"].state, shown["new"].integrable) == ("completed", True)
    await old.settle()
    await parent.respawn("old")
    refs = parent.refs()
    assert world.head(old.grant.branch) is None
    assert refs[f"recovered/{world.ticket}/{first.code_sha}"] == first.code_sha
    shown = await parent.children()
    assert list(shown) == ["new", "old"]
    assert (shown["old"].state, shown["old"].predecessor_sha) == ("waiting", S2)
    again = await Worker.on(parent, "old", generation=1)
    assert again.grant.generation == 2
    assert again.grant.published_sha is None
    second = again.agent.push("chapter")
    await again.give()
    refs = parent.refs()
    assert {f"results/{world.ticket}.old.g{n}" for n in (1, 2)} <= refs.keys()
    shown = await parent.children()
    assert (shown["old"].state, shown["old"].head_sha) == ("completed", second.code_sha)
    assert "new is integrated before it" in shown["old"].because
    await again.settle()
    pulls = [p for p in world.get("pulls?state=all") if p["head"]["ref"] == old.grant.branch]
    assert sorted(p["state"] for p in pulls) == ["closed", "open"]


async def test_a_failed_child_goes_on_from_what_it_published(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    await parent.spawn("docs-1")
    worker = await Worker.on(parent, "docs-1")
    pushed = worker.agent.push("half")
    await worker.give("failed")
    assert (await parent.children())["docs-1"].state == "failed"
    await parent.respawn("docs-1")
    again = await Worker.on(parent, "docs-1", generation=1)
    assert again.grant.published_sha == pushed.code_sha


async def test_the_death_of_a_parent_ends_no_child_and_the_next_one_finds_them(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    await parent.spawn("docs-1")
    await parent.spawn("docs-2")
    worker = await Worker.on(parent, "docs-1")
    worker.agent.push("chapter")
    handoff = HandoffRequest(**parent._next())
    await parent.controller.handoff("acme", "shop", world.ticket, parent.claims, handoff)
    await worker.give()
    grant = await world.claim(world.controller(), generation=1)
    # A service of its own, which never saw a child.
    successor = Parent(world, world.controller(), world.agent(grant))
    shown = await successor.children()
    assert {name: child.state for name, child in shown.items()} == {"docs-1": "completed", "docs-2": "waiting"}
    assert shown["docs-1"].integrable
    commands = [" ".join(c.argv) for c in grant.brief.commands if c.when == "children"]
    assert commands == [
        "agent-recovery child integrate docs-1",
        f"agent-recovery recover {world.ticket}.docs-2 --repo {REPO}",
    ]
    with pytest.raises(Refused) as stale:
        await parent.spawn("docs-3")
    assert stale.value.blocked.code is Code.STALE_GENERATION


async def test_a_cancelled_child_is_fenced_out_and_stands_in_nobodys_way(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    await parent.spawn("docs-1")
    await parent.spawn("docs-2")
    worker = await Worker.on(parent, "docs-1")
    other = await Worker.on(parent, "docs-2")
    other.agent.push("appendix")
    await other.give()
    assert not (await parent.children())["docs-2"].integrable
    with pytest.raises(Refused, match="is being worked on"):
        await parent.respawn("docs-1")
    await parent.cancel("docs-1")
    refs = parent.refs()
    assert f"done/{world.ticket}.docs-1" in refs
    assert f"active/{world.ticket}.docs-1" not in refs
    shown = await parent.children()
    assert (shown["docs-1"].state, shown["docs-2"].integrable) == ("cancelled", True)
    with pytest.raises(Refused) as ended:
        await worker.give()
    assert ended.value.blocked.code is Code.ENDED


async def test_an_orphan_is_never_integrated_before_it_is_adopted(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    await parent.spawn("docs-1")
    worker = await Worker.on(parent, "docs-1")
    worker.agent.push("chapter")
    await worker.give()
    view = await parent.controller._views.look("acme", "shop", world.ticket)
    assert view.standing is not None
    unlisted = view.standing.record.model_copy(update={"children": ()})
    await parent.controller._holding._journal.write(view, view.standing, unlisted, "list lost", when=view.now)
    orphan = (await parent.children())["docs-1"]
    assert (orphan.state, orphan.integrable) == ("orphaned", False)
    with pytest.raises(Refused, match="an orphan named docs-1 stands"):
        await parent.spawn("docs-1")
    await parent.adopt("docs-1")
    adopted = (await parent.children())["docs-1"]
    assert (adopted.state, adopted.integrable) == ("completed", True)


async def test_a_zombie_in_the_slot_of_a_result_is_put_aside(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    await parent.spawn("docs-1")
    worker = await Worker.on(parent, "docs-1")
    worker.agent.push("chapter")
    slot = f"results/{world.ticket}.docs-1.g1"
    forged = worker.agent.work("forged")
    world.git(worker.agent.folder, "push", "-q", "origin", f"{forged}:refs/agent-recovery/{slot}")
    await worker.give()
    refs = parent.refs()
    assert refs[slot] == refs[f"active/{world.ticket}.docs-1"]
    assert refs[f"recovered/{world.ticket}/{forged}"] == forged
    assert (await parent.children())["docs-1"].integrable


async def test_a_forged_ledger_of_a_child_is_shown_as_lost(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    await parent.spawn("docs-1")
    ref = f"refs/agent-recovery/active/{world.ticket}.docs-1"
    world.git(parent.agent.folder, "push", "-qf", "origin", f"HEAD:{ref}")
    shown = (await parent.children())["docs-1"]
    assert shown.state == "lost"
    assert "cannot be trusted" in shown.because
    brief = await parent.controller.brief("acme", "shop", world.ticket)
    assert (brief.findings[8].state, brief.criteria[9].met) == ("blocked", False)
    with pytest.raises(Refused) as refused:
        await parent.respawn("docs-1")
    assert refused.value.blocked.code is Code.FROZEN


async def test_who_claims_a_child_that_nobody_spawned_is_told_so(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    with pytest.raises(Refused) as missing:
        await Worker.on(parent, "docs-9")
    assert missing.value.blocked.code is Code.NOT_FOUND
    assert "child spawn docs-9" in missing.value.blocked.remedy


async def test_children_end_with_their_ticket_and_come_back_only_by_its_next_holder(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    await parent.spawn("docs-1")
    await parent.spawn("docs-2")
    worker = await Worker.on(parent, "docs-1")
    url = f"/repos/{REPO}/issues/{world.ticket}"
    world.http.patch(url, json={"state": "closed"}).raise_for_status()
    await world.settle(parent.controller)
    refs = parent.refs()
    names = {f"{place}/{world.ticket}{child}" for place in ("active", "done") for child in ("", ".docs-1", ".docs-2")}
    assert names & refs.keys() == {f"done/{world.ticket}{child}" for child in ("", ".docs-1", ".docs-2")}
    with pytest.raises(Refused) as fenced:
        await worker.give()
    assert fenced.value.blocked.code is Code.ENDED
    world.http.patch(url, json={"state": "open"}).raise_for_status()
    with pytest.raises(Refused) as alone:
        await Worker.on(parent, "docs-1", generation=1)
    assert alone.value.blocked.code is Code.ENDED
    await world.recalled(parent.controller)
    successor = Parent(world, parent.controller, world.agent(await world.claim(parent.controller, generation=1)))
    assert {name: c.state for name, c in (await successor.children()).items()} == {
        "docs-1": "cancelled",
        "docs-2": "cancelled",
    }
    await successor.respawn("docs-1")
    again = await Worker.on(successor, "docs-1", generation=1)
    assert again.grant.generation == 2
    assert f"active/{world.ticket}.docs-1" in successor.refs()


async def test_a_childs_branch_is_put_back_and_its_pull_request_reopened(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    await parent.spawn("docs-1")
    worker = await Worker.on(parent, "docs-1")
    pushed = worker.agent.push("chapter")
    await worker.settle()
    world.git(worker.agent.folder, "push", "-q", "origin", f":refs/heads/{worker.grant.branch}")
    await worker.settle()
    assert world.head(worker.grant.branch) == pushed.code_sha
    [pull] = [p for p in world.get("pulls?state=all") if p["head"]["ref"] == worker.grant.branch]
    assert pull["state"] == "open"


async def test_the_handoff_comment_names_the_children(world: LoopWorld) -> None:
    parent = await Parent.working(world)
    # The PR is there before a predecessor is named that nobody can find.
    await world.settle(parent.controller)
    await parent.restack(S1)
    await parent.spawn("docs-1")
    await parent.restack(S2)
    await parent.spawn("docs-2")
    await world.settle(parent.controller)
    [comment] = world.comments(world.get("pulls")[0]["number"], f"handoff:{world.ticket} ")
    assert "- docs-1: stale, it was spawned while the predecessor was at 1111" in comment["body"]
    assert "- docs-2: given out" in comment["body"]
