"""updateRefs: compare-and-set of several refs, all or none, and an error that tells nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from emulated import REPO, ZERO, World

LEDGER = "refs/agent-recovery/active/7"


def refused(answer: dict[str, Any]) -> bool:
    """Is this the generic error and nothing else?"""
    assert answer["data"] is None
    (error,) = answer["errors"]
    assert set(error) == {"message"}
    assert error["message"].startswith("Something went wrong while executing your query. Please include `")
    assert error["message"].endswith("` when reporting this issue.")
    return True


def test_one_of_twenty_racers_wins(world: World) -> None:
    start = world.commit(world.head("main"), "start")
    world.update_refs({"name": LEDGER, "beforeOid": ZERO, "afterOid": start})
    candidates = [world.commit(start, f"claim {n}") for n in range(20)]

    def claim(candidate: str) -> bool:
        return "errors" not in world.update_refs({"name": LEDGER, "beforeOid": start, "afterOid": candidate})

    with ThreadPoolExecutor(20) as pool:
        won = list(pool.map(claim, candidates))
    assert won.count(True) == 1
    assert world.refs("agent-recovery/active/7") == {LEDGER: candidates[won.index(True)]}


def test_all_or_nothing(world: World) -> None:
    main = world.head("main")
    record = world.commit(main, "record")
    before = world.refs("")
    answer = world.update_refs(
        {"name": LEDGER, "beforeOid": ZERO, "afterOid": record},
        {"name": "refs/heads/release-1", "beforeOid": record, "afterOid": record, "force": True},
    )
    assert refused(answer)
    assert world.refs("") == before


def test_moving_a_ledger_is_one_update(world: World) -> None:
    record = world.commit(world.head("main"), "record")
    done = LEDGER.replace("active", "done")
    world.update_refs({"name": LEDGER, "beforeOid": ZERO, "afterOid": record})
    end = world.commit(record, "done")
    answer = world.update_refs(
        {"name": LEDGER, "beforeOid": record, "afterOid": ZERO},
        {"name": done, "beforeOid": ZERO, "afterOid": end},
    )
    assert "errors" not in answer
    assert world.refs("agent-recovery/") == {done: end}


def test_zero_means_must_not_exist_and_omitted_means_unchecked(world: World) -> None:
    record = world.commit(world.head("main"), "record")
    following = world.commit(record, "next")
    assert "errors" not in world.update_refs({"name": LEDGER, "afterOid": record})
    assert refused(world.update_refs({"name": LEDGER, "beforeOid": ZERO, "afterOid": following}))
    assert "errors" not in world.update_refs({"name": LEDGER, "afterOid": following})
    assert refused(world.update_refs({"name": LEDGER, "beforeOid": record, "afterOid": ZERO}))
    assert "errors" not in world.update_refs({"name": LEDGER, "beforeOid": following, "afterOid": ZERO})
    assert refused(world.update_refs({"name": LEDGER, "beforeOid": ZERO, "afterOid": ZERO}))
    assert world.refs("agent-recovery/") == {}


def test_only_fast_forward_without_force(world: World) -> None:
    start = world.commit(world.head("main"), "start")
    other = world.commit(world.head("main"), "sibling")
    world.update_refs({"name": LEDGER, "beforeOid": ZERO, "afterOid": start})
    assert refused(world.update_refs({"name": LEDGER, "beforeOid": start, "afterOid": other}))
    forced = {"name": LEDGER, "beforeOid": start, "afterOid": other, "force": True}
    assert "errors" not in world.update_refs(forced)


@pytest.mark.parametrize(
    "name",
    ["refs/pull/1/head", "refs/admin", "heads/x", "refs/heads/a..b", "refs/heads/refs/heads/x", "refs/x/y.lock"],
)
def test_names_nobody_may_write(world: World, name: str) -> None:
    assert refused(world.update_refs({"name": name, "afterOid": world.head("main")}))


def test_a_directory_cannot_be_a_ref(world: World) -> None:
    main = world.head("main")
    world.update_refs({"name": "refs/heads/releases/a", "beforeOid": ZERO, "afterOid": main})
    assert refused(world.update_refs({"name": "refs/heads/releases", "beforeOid": ZERO, "afterOid": main}))
    assert refused(world.update_refs({"name": "refs/heads/releases/a/b", "beforeOid": ZERO, "afterOid": main}))


def test_unknown_objects_and_blobs_on_branches_are_refused(world: World) -> None:
    blob = world.bot.post(f"/repos/{REPO}/git/blobs", json={"content": "x"}).json()["sha"]
    assert refused(world.update_refs({"name": LEDGER, "beforeOid": ZERO, "afterOid": "a" * 40}))
    assert refused(world.update_refs({"name": "refs/heads/b", "beforeOid": ZERO, "afterOid": blob}))


def test_contents_write_is_needed(world: World) -> None:
    number = world.installation["id"]
    token = world.emulator.installation_token(world.app, number, permissions={"contents": "read"})
    narrow = {"authorization": f"Bearer {token}"}
    change = {"name": LEDGER, "afterOid": world.head("main")}
    body = {
        "query": "mutation($i:UpdateRefsInput!){updateRefs(input:$i){clientMutationId}}",
        "variables": {"i": {"repositoryId": world.repo["node_id"], "refUpdates": [change]}},
    }
    (error,) = world.bot.post("/graphql", json=body, headers=narrow).json()["errors"]
    assert (error["type"], error["message"]) == ("FORBIDDEN", "Resource not accessible by integration")
    assert error["path"] == ["updateRefs"]


def test_update_refs_can_be_switched_off(world: World) -> None:
    world.emulator.switches(REPO, update_refs="refused")
    change = {"name": LEDGER, "beforeOid": ZERO, "afterOid": world.head("main")}
    assert refused(world.update_refs(change))
    made = world.bot.post(f"/repos/{REPO}/git/refs", json={"ref": LEDGER, "sha": world.head("main")})
    assert made.status_code == 201
    world.emulator.switches(REPO, update_refs="ok")
    assert "errors" not in world.update_refs({"name": LEDGER, "afterOid": world.commit(world.head("main"))})
