"""A recovery costs GitHub the same few requests, however long the ledger is."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.drill.door import Passage
from benchmarks.recovery import MOST, Cost, Shape, differences, measure, sort

pytestmark = pytest.mark.drill


def test_a_recovery_costs_the_same_for_a_short_and_a_long_ledger(tmp_path: Path) -> None:
    shapes = (Shape(10), Shape(200, tail=64))
    folders = [tmp_path / str(shape.checkpoints) for shape in shapes]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor() as pool:
        costs = dict(zip(shapes, pool.map(measure, folders, shapes), strict=True))
    assert differences(costs) == []
    for cost in costs.values():
        assert 0 < cost.recovery_requests <= MOST
        assert cost.by_route["claim", "LedgerHistory"] == 1
        assert cost.apart == {"token mint": 1, "permission look-up": 2, "git": 0}


def test_a_dearer_ledger_is_told() -> None:
    cheap, dear = Cost({("claim", "Observe"): 1}, {}), Cost({("claim", "Observe"): MOST + 1}, {})
    assert differences({Shape(10): cheap, Shape(20): cheap}) == []
    assert len(differences({Shape(10): cheap, Shape(20): dear})) == 2


def test_only_what_lies_between_claim_and_evidence_is_counted() -> None:
    def request(number: int, path: str = "/graphql", kind: str = "graphql") -> dict[str, object]:
        return {"n": number, "path": path, "kind": kind, "operation": "Observe", "route": "POST /graphql"}

    served = [request(n) for n in range(1, 9)] + [
        request(4, "/repos/a/b/collaborators/c/permission", "rest"),
        request(4, "/app/installations/1/access_tokens", "token"),
        request(4, "/a/b.git/git-upload-pack", "git"),
    ]
    cost = sort(served, Passage("POST", "/claim", 200, 2, 4), Passage("POST", "/evidence", 200, 5, 7))
    assert cost.by_route == {("claim", "Observe"): 2, ("between", "Observe"): 1, ("evidence", "Observe"): 2}
    assert cost.apart == {"token mint": 1, "permission look-up": 1, "git": 1}
