"""A part of a ticket is given out, and another one's result comes in, whatever happens to any write of the two."""

import secrets
from typing import TYPE_CHECKING

from loop_world import Agent, claims_of

from app.domain.agent_api import ClaimRequest, EvidenceRequest
from app.domain.child_api import ResultRequest, SpawnRequest, Task
from app.domain.ticket_id import Child

if TYPE_CHECKING:
    from crash_harness import Play


async def children(play: "Play") -> None:
    """One child is spawned while another gives its result."""
    parent = await play.claim("claim-first")
    parent.push("one")
    await play.settle()
    await _spawn(play, parent, "docs", 500)
    worker = await _on(play, "docs")
    worker.push("chapter")
    play.begin()
    await _spawn(play, parent, "code", 501)
    told = ResultRequest(key="completion-1", seq=600, outcome="completed", summary="It is written.")
    child = Child(play.world.ticket, "docs")
    await play.call(lambda c: c.result("acme", "shop", child, claims_of(worker.grant), told))


async def _spawn(play: "Play", parent: Agent, name: str, seq: int) -> None:
    request = SpawnRequest(key=f"spawn-{name}-1", seq=seq, name=name, task=Task(objective=f"Write {name}"))
    claims = claims_of(parent.grant)
    await play.call(lambda c: c.spawn("acme", "shop", play.world.ticket, claims, request))


async def _on(play: "Play", name: str) -> Agent:
    child = Child(play.world.ticket, name)
    request = ClaimRequest(claim_id=f"claim-{name}-1", observed_generation=0, holder="worker")
    grant = await play.call(lambda c: c.claim("acme", "shop", child, request, "wanda"))
    evidence = EvidenceRequest(key=secrets.token_hex(8), seq=1, head_sha=grant.head_sha, clean=True)
    await play.call(lambda c: c.evidence("acme", "shop", child, claims_of(grant), evidence))
    return play.world.agent(grant)
