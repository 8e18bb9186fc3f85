"""What one recovery costs GitHub, by step and route: the same for a short ledger, a long one, and a long tail.

Usage: python benchmarks/recovery.py

A real service and an emulated GitHub. The agent's work is claimed and pushed with the command line; then the service
and its database are lost, and the ledger is made as long as asked. A second agent claims and sends its evidence, and
GitHub's own request log tells what that took. It fails where two ledgers cost differently or one costs more than 17.
"""

import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.agent.api import Service
from app.domain.agent_api import ClaimRequest, EvidenceRequest
from app.domain.record import Record
from app.domain.refs import LedgerRefs
from app.domain.token import Claims, lease_secret
from app.drill import world as names
from app.drill.door import Passage
from app.drill.long_ledgers import Ledger, lengthen
from app.drill.proof import Attempt
from app.drill.story import APART
from app.drill.world import World
from app.ledger.seals import LeaseSealer, ServiceSealer
from app.service.keys import parse_lease_keys, parse_seal_keys

MOST = 17
"""REST and GraphQL requests that a recovery may take."""
TOKEN_LIFE_S = 3600


@dataclass(frozen=True)
class Shape:
    """A ledger: how many commits it is made longer by, and how many of them the holder alone sealed, at its top."""

    checkpoints: int
    tail: int = 0

    def __str__(self) -> str:
        return f"{self.checkpoints} checkpoints" + (f", the last {self.tail} by the holder alone" if self.tail else "")


@dataclass(frozen=True)
class Cost:
    """Requests by (step, route), and those that are counted apart."""

    by_route: Mapping[tuple[str, str], int]
    apart: Mapping[str, int]

    @property
    def recovery_requests(self) -> int:
        return sum(self.by_route.values())


def measure(folder: Path, shape: Shape) -> Cost:
    """Plays one recovery in an empty folder and counts it. The service is cold: no token, caller or ledger is known."""
    world = World(folder)
    try:
        _begin(world)
        world.lose_service()
        world.start_service()
        world.wait_until_idle()
        _let_lease_end(world)
        # The start-up look at the ticket is over; what follows the service has never seen.
        _lengthen(world, shape)
        world.emulator.advance(TOKEN_LIFE_S)
        claim, evidence = _recover(world)
        return sort(world.emulator.requests(since=claim.before), claim, evidence)
    finally:
        world.stop()


def _begin(world: World) -> None:
    """A first agent claims the ticket and publishes a commit."""
    world.start_service()
    world.install()
    workspace = world.folder / "first"
    workspace.mkdir()
    agent = world.first
    required(world.command(agent, workspace, "recover", str(names.TICKET), "--json"))
    (workspace / "work.txt").write_text("one row of trees\n", encoding="utf-8")
    required(world.git(agent, workspace, "add", "work.txt"))
    required(world.git(agent, workspace, "commit", "--quiet", "-m", "Water one row"))
    required(world.command(agent, workspace, "push", "--json"))
    world.wait_until_idle()


def _let_lease_end(world: World) -> None:
    """The lease ends, and the service has done what it does about that, so that nothing of it falls into the count."""
    world.pass_lease()
    with Service(world.service_url, names.REPOSITORY, names.TICKET) as service:
        # The service learns the time from GitHub's answers.
        service.brief(world.observer_person.token)
    world.wait_until_idle()


def _recover(world: World) -> tuple[Passage, Passage]:
    """A second agent claims and sends its evidence, whose projection is there when it is answered."""
    assert world.door is not None
    token = world.second.token
    with Service(world.door.url, names.REPOSITORY, names.TICKET) as service:
        request = ClaimRequest(claim_id=uuid.uuid4().hex, observed_generation=1, holder="second")
        grant = service.claim(token, request)
        found = EvidenceRequest(key=uuid.uuid4().hex, seq=1, head_sha=grant.head_sha, clean=True)
        answer = service.write(grant.lease_token, "evidence", found)
    if (grant.generation, answer.status) != (2, "working"):
        raise AssertionError(f"no recovery: generation {grant.generation}, {answer.status}")
    _require_projected(world, grant.head_sha)
    claim, evidence = world.door.last("/claim"), world.door.last("/evidence")
    assert claim is not None
    assert evidence is not None
    return claim, evidence


def _require_projected(world: World, head: str) -> None:
    ledger = world.observer.ledger(names.TICKET)
    evidence = next(c for c in ledger if c.record["status"] == "working" and c.generation == 2)
    shown = [r.external_id for r in world.observer.check_runs(head, world.app)]
    wanted = f"{names.TICKET}:2:{evidence.sequence}:"
    if not any((external or "").startswith(wanted) for external in shown):
        raise AssertionError(f"the evidence {wanted} is not projected: {shown}")


def _lengthen(world: World, shape: Shape) -> None:
    bare = next((world.folder / "github" / "repos").glob("*.git"))
    ref = LedgerRefs().active(names.TICKET)
    ledger = Ledger(bare, ref, int(bare.stem))
    record = ledger.head().record
    assert isinstance(record, Record)
    assert record.lease is not None
    claims = Claims(ledger.repository_id, record.ticket, record.lease.generation, record.lease.nonce)
    lease_kid, lease_key = next(iter(parse_lease_keys(world.keys.lease_keys).items()))
    kid, seal_key = next(iter(parse_seal_keys(world.keys.seal_keys).items()))
    lengthen(
        ledger,
        by=shape.checkpoints,
        tail=shape.tail,
        service=ServiceSealer(kid, seal_key),
        holder=LeaseSealer(lease_kid, *claims.identity, lease_secret(lease_key, claims)),
        when=datetime.fromtimestamp(int(world.emulator.now()), UTC),
    )


def sort(served: list[dict[str, Any]], claim: Passage, evidence: Passage) -> Cost:
    """What the service asked GitHub between the claim's arrival and the answer to the evidence, by step and route."""
    by_route: Counter[tuple[str, str]] = Counter()
    apart: Counter[str] = Counter(dict.fromkeys(APART, 0))
    for request in served:
        number, path, kind = request["n"], request["path"], request["kind"]
        if not claim.before < number <= evidence.after:
            continue
        if path.endswith("/access_tokens"):
            apart["token mint"] += 1
        elif path.endswith(("/permission", "/user")):
            apart["permission look-up"] += 1
        elif kind == "git":
            apart["git"] += 1
        else:
            step = "claim" if number <= claim.after else "between" if number <= evidence.before else "evidence"
            by_route[step, str(request["operation"] or request["route"])] += 1
    return Cost(dict(by_route), dict(apart))


def required(attempt: Attempt) -> None:
    """Raises AssertionError with what was said where a command failed."""
    if attempt.exit_code != 0:
        raise AssertionError(f"{attempt.command}: {attempt.said}")


def differences(costs: Mapping[Shape, Cost]) -> list[str]:
    """What is not as promised: ledgers that cost differently, and recoveries that cost too much."""
    found: list[str] = []
    first = next(iter(costs.values()))
    for shape, cost in costs.items():
        if (cost.by_route, cost.apart) != (first.by_route, first.apart):
            found.append(f"a ledger of {shape} costs something else than the first one")
        if cost.recovery_requests > MOST:
            found.append(f"a ledger of {shape} costs {cost.recovery_requests} requests, more than {MOST}")
    return found


def main() -> int:
    """Measure, print, compare."""
    costs: dict[Shape, Cost] = {}
    for shape in (Shape(10), Shape(1000), Shape(1000, tail=64)):
        with tempfile.TemporaryDirectory(prefix="recovery-") as folder:
            began = time.perf_counter()
            costs[shape] = measure(Path(folder), shape)
        apart = ", ".join(f"{name} {n}" for name, n in costs[shape].apart.items())
        print(
            f"ledger of {shape}: recovery_requests {costs[shape].recovery_requests} (at most {MOST}); apart: {apart} "
            f"[{time.perf_counter() - began:.0f} s]",
            flush=True,
        )
    first = next(iter(costs.values()))
    for step in ("claim", "between", "evidence"):
        routes = {route: n for (at, route), n in first.by_route.items() if at == step}
        print(f"  {step}: {sum(routes.values())}")
        for route, n in routes.items():
            print(f"    {n} x {route}")
    found = differences(costs)
    for line in found:
        print(f"FAILED: {line}")
    if not found:
        print("the same requests for every ledger")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
