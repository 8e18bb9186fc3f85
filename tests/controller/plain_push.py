"""What plain git sends when it pushes, sent to the controller as the git endpoint hands it on."""

import subprocess
from collections.abc import AsyncIterator, Sequence

from loop_world import Agent, claims_of

from app.controller.controller import Controller
from app.domain.push_rules import Command
from app.github.held_pack import HeldPack
from app.github.relayed_push import PushReport, PushRequest


def branch_ref(agent: Agent) -> str:
    return f"refs/heads/{agent.grant.branch}"


async def pushed(controller: Controller, agent: Agent, *commands: Command, having: Sequence[str] = ()) -> PushReport:
    """Push with the agent's lease. `having`: commits that the remote is known to have beside the ticket's base."""
    raw = _packed(agent, [c.new for c in commands], [agent.grant.base_sha, *having])

    async def pieces() -> AsyncIterator[bytes]:
        yield raw[:100]
        yield raw[100:]

    request = PushRequest(commands, frozenset({"report-status", "side-band-64k"}))
    with HeldPack() as pack:
        await pack.take(pieces(), 10**7)
        return await controller.git_push("acme", "shop", claims_of(agent.grant), request, pack)


def _packed(agent: Agent, wanted: Sequence[str], having: Sequence[str]) -> bytes:
    revisions = "\n".join([*wanted, *(f"^{sha}" for sha in having)])
    packing = ["git", "pack-objects", "--revs", "--stdout", "--thin", "-q"]
    return subprocess.run(packing, cwd=agent.folder, input=revisions.encode(), capture_output=True, check=True).stdout
