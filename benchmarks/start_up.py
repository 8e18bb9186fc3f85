"""What a service that starts with an empty database asks of GitHub: it follows active tickets, never finished ones.

Usage: python benchmarks/start_up.py

One repository on an emulated GitHub with 50 tickets in progress and 0, 200 or 2,000 finished ones, each with a sealed
ledger. A real service starts, finds the tickets and looks at each. It fails where any of that depends on the finished
ones: GitHub lists refs by prefix, so that the place of ticket 1 is listed with the finished tickets 1000 to 1999.
"""

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.domain.record import Record, Status
from app.domain.refs import LedgerRefs, Place
from app.drill import world as names
from app.drill.long_ledgers import write
from app.drill.processes import StoryStopped
from app.drill.world import World
from app.ledger.codec import Draft, commit_sha, draft
from app.ledger.seals import ServiceSealer
from app.service.keys import parse_seal_keys

ACTIVE = 50
FINISHED = (0, 200, 2000)
FIRST_FINISHED = 1000
"""Numbers of finished tickets start here: the dear case, in which old tickets are the ones in progress."""
LISTINGS = ("/git/matching-refs/agent-recovery/active/", "/git/matching-refs/heads/agent-recovery/active/")
"""What the discovery reads of each repository, one for each namespace."""


@dataclass(frozen=True)
class Cost:
    """Requests by route: those that find the tickets, and those that look at each one found."""

    discovery: Mapping[str, int]
    rounds: Mapping[str, int]
    pages: int
    """Answers with refs of single tickets: two for each ticket."""
    tickets_looked_at: int


def measure(folder: Path, active: int, finished: int) -> Cost:
    """Starts a service once in an empty folder, and counts until it has nothing left to do."""
    world = World(folder)
    try:
        for number in range(names.TICKET + 1, active + 1):
            world.emulator.issue(names.REPOSITORY, f"Tree {number} looks thirsty", author=world.author.login)
        _write_ledgers(world, active, finished)
        # Requests are counted here, not paced.
        world.emulator.limits(secondary=False)
        world.install()
        mark = world.requests_served()
        world.start_service()
        _wait_for_listings(world, mark)
        world.wait_until_idle()
        return _sort(world, mark)
    finally:
        world.stop()


def _write_ledgers(world: World, active: int, finished: int) -> None:
    bare = next((world.folder / "github" / "repos").glob("*.git"))
    kid, key = next(iter(parse_seal_keys(world.keys.seal_keys).items()))
    sealer, when = ServiceSealer(kid, key), datetime.fromtimestamp(int(world.emulator.now()), UTC)

    def ledger(ticket: int, place: Place, status: Status, event: str) -> list[Draft]:
        made: list[Draft] = []
        states: tuple[tuple[Status, str], ...] = (("unclaimed", "born"), (status, event))
        for sequence, (state, story) in enumerate(states, start=1):
            record = Record(ticket=ticket, sequence=sequence, generation=sequence - 1, status=state)
            made.append(
                draft(
                    ref=LedgerRefs().at(place, ticket),
                    parent=commit_sha(made[0]) if made else None,
                    code_parent=None,
                    record=record,
                    event=story,
                    repository_id=int(bare.stem),
                    sealer=sealer,
                    request=None,
                    when=when,
                )
            )
        return made

    active_ones = (ledger(n, "active", "unclaimed", "handed off") for n in range(1, active + 1))
    finished_ones = (ledger(FIRST_FINISHED + n, "done", "landed", "landed") for n in range(finished))
    write(bare, [made for drafts in (*active_ones, *finished_ones) for made in drafts])


def _wait_for_listings(world: World, mark: int, within: float = 20.0) -> None:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        asked = [r["path"] for r in world.app_requests(mark)]
        if all(any(path.endswith(listing) for path in asked) for listing in LISTINGS):
            return
        time.sleep(0.05)
    raise StoryStopped(f"the service did not list the tickets in progress within {within:.0f} s")


def _sort(world: World, mark: int) -> Cost:
    discovery: Counter[str] = Counter()
    rounds: Counter[str] = Counter()
    places: list[str] = []
    for request in world.app_requests(mark):
        path, route = str(request["path"]), str(request["operation"] or request["route"])
        if request["kind"] == "graphql":
            rounds[route] += 1
        elif "/matching-refs/" in path and not path.endswith(LISTINGS):
            places.append(path)
        else:
            discovery[route] += 1
    return Cost(dict(discovery), dict(rounds), len(places), len({p for p in places if "/active/" in p}))


def main() -> int:
    """Measure, print, compare."""
    costs: dict[int, Cost] = {}
    for finished in FINISHED:
        with tempfile.TemporaryDirectory(prefix="start-up-") as folder:
            began = time.perf_counter()
            cost = costs[finished] = measure(Path(folder), ACTIVE, finished)
        print(
            f"{ACTIVE} active and {finished} finished tickets: discovery {sum(cost.discovery.values())} requests, "
            f"then {sum(cost.rounds.values())} and {cost.pages} pages of refs "
            f"to look at {cost.tickets_looked_at} tickets [{time.perf_counter() - began:.0f} s]",
            flush=True,
        )
    first = costs[FINISHED[0]]
    for what, routes in (("discovery", first.discovery), ("rounds", first.rounds)):
        print(f"  {what}")
        for route, n in routes.items():
            print(f"    {n} x {route}")
    if any(cost != first for cost in costs.values()) or first.tickets_looked_at != ACTIVE:
        print("FAILED: the requests depend on finished tickets, or a ticket in progress was not looked at")
        return 1
    print("the same requests, however many tickets are finished")
    return 0


if __name__ == "__main__":
    sys.exit(main())
