"""What must never be twice, counted over everything that GitHub shows of a ticket."""

import re
from collections import Counter
from dataclasses import dataclass

from app.drill.observer import CHECK_NAME, Observer
from app.drill.proofs_of_work import Place

_MARKER = re.compile(r"<!--\s*(agent-recovery[^>]*?)\s*-->")


@dataclass(frozen=True)
class Duplicate:
    kind: str
    what: str
    count: int


def find_duplicates(observer: Observer, place: Place, ledger_head: str) -> list[Duplicate]:
    """Pull requests of one head, comments of one marker, check-runs of one (SHA, generation), nonces of one
    generation, commits of one completed step. `ledger_head` is where the ledger is read from: its ref may have been
    moved by then.
    """
    observer.git.fetch()
    pulls = observer.pulls(place.branch)
    found = [Duplicate("pull requests of one head", place.branch, len(pulls))]
    for number in {place.ticket, *(p.number for p in pulls)}:
        markers = Counter(
            f"#{number} {marker}" for c in observer.comments(number, place.app) for marker in _MARKER.findall(c.body)
        )
        found += [Duplicate("comments of one marker", marker, n) for marker, n in markers.items()]
    ledger = observer.git.ledger(ledger_head)
    heads = {e.published["sha"] for e in ledger if e.published} | set(observer.kept(place.ticket).values())
    runs = Counter(
        (sha, run.external_id.split(":")[1] if run.external_id and ":" in run.external_id else "")
        for sha in heads
        for run in observer.check_runs(sha, place.app)
    )
    found += [
        Duplicate(f"{CHECK_NAME} check-runs of one (SHA, generation)", f"{sha} {generation}", n)
        for (sha, generation), n in runs.items()
    ]
    nonces: dict[int, set[str]] = {}
    for entry in ledger:
        if entry.nonce:
            nonces.setdefault(entry.generation, set()).add(entry.nonce)
    found += [Duplicate("nonces of one generation", str(g), len(of)) for g, of in nonces.items()]
    published = next((e.published["sha"] for e in ledger if e.counts), None)
    if published:
        trunk = observer.branch(place.trunk)
        steps = Counter(s for c in observer.git.commits(f"{trunk}..{published}") for s in c.steps)
        found += [Duplicate("commits of one completed step", step, n) for step, n in steps.items()]
    return [d for d in found if d.count > 1]
