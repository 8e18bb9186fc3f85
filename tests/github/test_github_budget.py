"""Counting what is sent."""

from app.github.budget import Meter, counting


def test_requests_are_counted_by_kind_route_and_step() -> None:
    meter = Meter()
    meter.count("rest", "GET /a")
    before = meter.snapshot()
    with counting("claim.read"):
        meter.count("rest", "GET /a")
        with counting("claim.write"):
            meter.count("graphql", "UpdateRefs")
        meter.count("rest", "GET /b")
    meter.count("token", "POST /t")
    spent = meter.since(before)
    assert spent.total == 4
    assert spent.of(step="claim.read") == 2
    assert spent.of(kind="graphql", step="claim.write") == 1
    assert spent.of(kind="token", step="") == 1
    assert before.total == 1


def test_the_last_limits_are_kept_and_malformed_ones_ignored() -> None:
    meter = Meter()
    good = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4000", "x-ratelimit-reset": "1800000000"}
    meter.note_limits("installation:7", good)
    meter.note_limits("installation:7", {**good, "x-ratelimit-remaining": "3999"})
    meter.note_limits("installation:7", {**good, "x-ratelimit-remaining": "lots"})
    meter.note_limits("installation:7", {})
    meter.note_limits("installation:7", {**good, "x-ratelimit-resource": "graphql", "x-ratelimit-reset": "9" * 30})
    assert {key: limit.remaining for key, limit in meter.limits().items()} == {("installation:7", "core"): 3999}
