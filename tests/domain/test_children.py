"""When a child's result may be integrated, in what order, and what a holder may do about each (one table a rule)."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.domain.child_api import ResultRequest, Task
from app.domain.child_changes import adopted, cancelled, finished, respawned, spawned, with_results
from app.domain.child_contract import MAX_CHILDREN, ListedChild, ResultContract, SealedResult, SpawnContract
from app.domain.child_states import shown
from app.domain.children import (
    Seen,
    Unseen,
    active_names,
    first_in_the_way,
    integrable,
    integrated_texts,
    is_settled,
    listed,
    unfinished,
)
from app.domain.effect import Effect
from app.domain.fencing import AtPublished, Foreign, NothingPublished, Tampered
from app.domain.gates import may_claim
from app.domain.lease import Dead, Live, Nobody
from app.domain.outcome import Blocked, Code
from app.domain.policy import Mode, Policy
from app.domain.record import Lease, Published, Record, Work
from app.domain.sealed_body import payload_of

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
BASE, HEAD, WORK, MERGE, R, S1, S2 = (c * 40 for c in "abcdef1")
GONE = Nobody("nobody holds it")


def lease(generation: int = 1) -> Lease:
    return Lease(
        generation=generation,
        nonce=f"n{generation}",
        holder="h",
        login="l",
        claim_id_hash="0" * 64,
        granted_at=NOW,
        expires_at=NOW + timedelta(minutes=15),
    )


PARENT = Record(
    ticket=42,
    sequence=5,
    status="working",
    lease=lease(3),
    generation=3,
    work=Work(branch="ticket/42", trunk="release-1", base_sha=BASE),
    published=Published(sha=HEAD, generation=3, nonce="n3"),
)


def stacked(sha: str | None, parent: Record = PARENT) -> Record:
    return parent.model_copy(update={"checkpoint": parent.checkpoint.model_copy(update={"predecessor_sha": sha})})


def born(parent: Record = PARENT, name: str = "docs", objective: str = "Write", **task: Any) -> tuple[Record, Record]:
    both = spawned(parent, name, Task(objective=objective, **task), {}, now=NOW)
    assert not isinstance(both, Blocked), both
    return both.parent, both.child


def ended(child: Record, outcome: str = "completed", generation: int = 1, **fields: Any) -> Seen:
    """A child that gave a result in its generation."""
    assert child.spawn is not None
    result = ResultContract.model_validate(
        {
            "outcome": outcome,
            "summary": "done",
            "head_sha": WORK,
            "base_sha": child.spawn.base_sha,
            "predecessor_sha": child.spawn.predecessor_sha,
            "generation": generation,
            "at": NOW,
            **fields,
        }
    )
    record = child.model_copy(update={"status": outcome, "generation": generation, "result": result, "lease": None})
    return Seen(record, GONE, R)


PARENT_1, CHILD_1 = born()
ENTRY = listed(PARENT_1)[0]
DONE = ended(CHILD_1)


def moved_on(seen: Seen, **fields: Any) -> Seen:
    return replace(seen, record=seen.record.model_copy(update=fields))


def moved(**fields: Any) -> Record:
    return PARENT_1.model_copy(update=fields)


def relisted(**fields: Any) -> ListedChild:
    return ENTRY.model_copy(update=fields)


SEALED = SealedResult(generation=1, commit=R, head_sha=WORK, outcome="completed")


@pytest.mark.parametrize(
    ("why", "entry", "seen", "parent", "base_holds", "code"),
    [
        ("it holds", ENTRY, DONE, PARENT_1, True, None),
        ("nobody looked at the base", ENTRY, DONE, PARENT_1, None, None),
        (
            "the parent's generation is no condition",
            ENTRY,
            DONE,
            PARENT_1.model_copy(update={"generation": 9}),
            True,
            None,
        ),
        ("sealed in the parent, as it is", ENTRY.model_copy(update={"result": SEALED}), DONE, PARENT_1, True, None),
        ("not ended", ENTRY, moved_on(DONE, status="working"), PARENT_1, True, Code.CHILD_UNFINISHED),
        ("no result", ENTRY, moved_on(DONE, result=None), PARENT_1, True, Code.CHILD_UNFINISHED),
        ("it failed", ENTRY, ended(CHILD_1, "failed"), PARENT_1, True, Code.CHILD_FAILED),
        ("its ledger is gone", ENTRY, Unseen("gone"), PARENT_1, True, Code.FROZEN),
        ("cancelled", ENTRY.model_copy(update={"cancelled": True}), DONE, PARENT_1, True, Code.CHILD_UNFINISHED),
        ("of an older generation", ENTRY, moved_on(DONE, generation=2), PARENT_1, True, Code.CHILD_STALE),
        (
            "of an earlier contract",
            ENTRY.model_copy(update={"after_generation": 1}),
            DONE,
            PARENT_1,
            True,
            Code.CHILD_STALE,
        ),
        ("for another snapshot", ENTRY, ended(CHILD_1, base_sha=BASE), PARENT_1, True, Code.CHILD_STALE),
        ("for another predecessor", ENTRY, ended(CHILD_1, predecessor_sha=S1), PARENT_1, True, Code.CHILD_STALE),
        ("the predecessor moved", ENTRY, DONE, stacked(S2, PARENT_1), True, Code.CHILD_STALE),
        ("the base is not in the branch", ENTRY, DONE, PARENT_1, False, Code.CHILD_STALE),
        (
            "the base was withdrawn",
            ENTRY,
            DONE,
            PARENT_1.model_copy(update={"burned_shas": (HEAD,)}),
            True,
            Code.CHILD_STALE,
        ),
        ("its ref is gone", ENTRY, replace(DONE, result=None), PARENT_1, True, Code.CHILD_STALE),
        ("its ref was moved", ENTRY, replace(DONE, result=Unseen("moved")), PARENT_1, True, Code.CHILD_STALE),
        (
            "another one is sealed in the parent",
            ENTRY.model_copy(update={"result": SEALED.model_copy(update={"commit": S1})}),
            DONE,
            PARENT_1,
            True,
            Code.CHILD_STALE,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_may_be_integrated(
    why: str, entry: ListedChild, seen: Seen | Unseen, parent: Record, base_holds: bool | None, code: Code | None
) -> None:
    answer = integrable(entry, seen, parent, base_holds)
    if code is None:
        assert isinstance(answer, SealedResult)
        assert (answer.commit, answer.head_sha, answer.merged) == (R, WORK, None)
    else:
        assert isinstance(answer, Blocked)
        assert answer.code is code


def test_children_are_integrated_in_the_order_in_which_they_were_spawned() -> None:
    parent, first = born()
    parent, second = born(parent, "tests")
    entries = listed(parent)
    seen = {"docs": Seen(first, GONE), "tests": ended(second)}

    def unsettled(entry: ListedChild) -> bool:
        return not is_settled(entry, seen[entry.name], parent, True)

    assert first_in_the_way("tests", entries, unsettled) == "docs"
    assert [c.integrable for c in shown(parent, seen, {HEAD: True})] == [False, False]
    for settled in (ended(first, "failed"), Unseen("gone"), ended(first, base_sha=BASE)):
        seen["docs"] = settled
        assert first_in_the_way("tests", entries, unsettled) is None
    seen["docs"] = ended(first)
    assert [c.integrable for c in shown(parent, seen, {HEAD: True})] == [True, False]


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (Seen(CHILD_1, GONE), "waiting"),
        (Seen(CHILD_1.model_copy(update={"lease": lease()}), Live(NOW)), "running"),
        (Seen(CHILD_1.model_copy(update={"lease": lease()}), Dead("expired", NOW)), "interrupted"),
        (DONE, "completed"),
        (ended(CHILD_1, "failed"), "failed"),
        (replace(DONE, result=None), "stale"),
        (Unseen("gone"), "lost"),
    ],
)
def test_the_states_of_a_listed_child(seen: Seen | Unseen, state: str) -> None:
    assert [c.state for c in shown(PARENT_1, {"docs": seen}, {})] == [state]


def test_who_works_for_nothing_is_told_so_while_it_runs() -> None:
    running = Seen(CHILD_1.model_copy(update={"lease": lease()}), Live(NOW))
    [child] = shown(stacked(S1, PARENT_1), {"docs": running}, {})
    assert (child.state, "so its result will be stale" in child.because) == ("running", True)


def test_an_unlisted_child_is_an_orphan() -> None:
    [child] = shown(PARENT, {"docs": DONE}, {})
    assert (child.state, child.integrable) == ("orphaned", False)
    parent = adopted(PARENT, "docs", {"docs": DONE})
    assert isinstance(parent, Record)
    assert [c.integrable for c in shown(parent, {"docs": DONE}, {HEAD: True})] == [True]


def test_a_child_begins_with_its_task_as_its_first_checkpoint() -> None:
    parent, child = born(stacked(S1), acceptance=("a", "b"))
    assert child.spawn is not None
    assert (child.spawn.base_sha, child.spawn.predecessor_sha, child.spawn.parent_generation) == (HEAD, S1, 3)
    assert child.work == Work(branch="ticket/42.docs", trunk="ticket/42", base_sha=HEAD)
    assert child.checkpoint.objective == "Write"
    assert [step.text for step in child.checkpoint.next_steps] == ["a", "b"]
    assert (child.status, child.generation, child.lease) == ("unclaimed", 0, None)
    assert parent.checkpoint.active_children == ("docs",)


def test_what_is_spawned_before_anything_was_published_starts_at_the_base() -> None:
    _, child = born(PARENT.model_copy(update={"published": None}))
    assert child.base_sha == BASE


@pytest.mark.parametrize(
    ("parent", "name", "seen", "words"),
    [
        (PARENT_1, "docs", {}, "there is a child docs already"),
        (PARENT, "docs", {"docs": DONE}, "an orphan named docs stands"),
        (CHILD_1, "more", {}, "no children of its own"),
        (PARENT.model_copy(update={"work": None, "published": None}), "docs", {}, "no base yet"),
    ],
)
def test_what_is_not_spawned(parent: Record, name: str, seen: dict[str, Seen], words: str) -> None:
    refused = spawned(parent, name, Task(objective="o"), seen, now=NOW)
    assert isinstance(refused, Blocked)
    assert words in refused.reason


def test_a_ticket_has_so_many_children_and_no_more() -> None:
    parent = PARENT
    for number in range(MAX_CHILDREN):
        parent, _ = born(parent, f"c{number}", objective="x" * 2000)
    assert isinstance(spawned(parent, "more", Task(objective="o"), {}, now=NOW), Blocked)


def test_asked_anew_at_the_same_snapshot_a_child_goes_on_from_what_it_published() -> None:
    failed = ended(CHILD_1, "failed")
    published = moved_on(failed, published=Published(sha=WORK, generation=1, nonce="n1"))
    both = respawned(PARENT_1, "docs", None, {"docs": published}, now=NOW)
    assert not isinstance(both, Blocked)
    assert (both.starts_over, both.child.published, both.child.result) == (False, published.record.published, None)
    assert (both.child.status, both.child.generation) == ("unclaimed", 1)
    [entry] = listed(both.parent)
    assert entry.after_generation == 1


def test_asked_anew_at_another_snapshot_a_child_starts_over_and_comes_last() -> None:
    parent, _ = born(PARENT_1, "tests")
    parent = stacked(S1, parent)
    both = respawned(parent, "docs", Task(objective="Write it again"), {"docs": DONE}, now=NOW)
    assert not isinstance(both, Blocked)
    assert (both.starts_over, both.child.published, both.child.projections.pr_number) == (True, None, None)
    assert [entry.name for entry in listed(both.parent)] == ["tests", "docs"]
    assert both.child.spawn is not None
    assert (both.child.spawn.objective, both.child.spawn.predecessor_sha) == ("Write it again", S1)
    # What its earlier generation gave counts for nothing now.
    answer = integrable(listed(both.parent)[1], Seen(DONE.record, GONE, R), both.parent, True)
    assert isinstance(answer, Blocked)


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        (Seen(CHILD_1.model_copy(update={"lease": lease()}), Live(NOW)), Code.LEASE_LIVE),
        (Unseen("gone"), Code.FROZEN),
    ],
)
def test_who_is_not_asked_anew(seen: Seen | Unseen, code: Code) -> None:
    refused = respawned(PARENT_1, "docs", None, {"docs": seen}, now=NOW)
    assert isinstance(refused, Blocked)
    assert refused.code is code


def test_a_cancelled_child_has_no_holder_and_nothing_to_come() -> None:
    held = Seen(CHILD_1.model_copy(update={"lease": lease(), "status": "working"}), Live(NOW))
    both = cancelled(PARENT_1, "docs", {"docs": held}, now=NOW)
    assert not isinstance(both, Blocked)
    assert (both.child.status, both.child.lease) == ("cancelled", None)
    assert active_names(both.parent) == ()
    assert isinstance(cancelled(both.parent, "docs", {"docs": held}, now=NOW), Blocked)
    assert isinstance(respawned(both.parent, "docs", None, {"docs": held}, now=NOW), Blocked)


@pytest.mark.parametrize(
    ("head", "outcome", "code", "sha"),
    [
        (AtPublished(WORK, fenced=True), "completed", None, WORK),
        (AtPublished(WORK, fenced=True), "failed", None, WORK),
        (AtPublished(WORK, fenced=False), "completed", Code.NOT_PUBLISHED, None),
        (AtPublished(WORK, fenced=False), "failed", None, None),
        (NothingPublished(None), "completed", None, None),
        (NothingPublished(WORK), "completed", Code.NOT_PUBLISHED, None),
        (Foreign(WORK, S1), "completed", Code.FOREIGN_COMMITS, None),
        (Foreign(WORK, S1), "failed", None, None),
        (Tampered(WORK, None), "completed", Code.NOT_PUBLISHED, None),
    ],
)
def test_what_a_child_may_give(head: Any, outcome: Any, code: Code | None, sha: str | None) -> None:
    working = CHILD_1.model_copy(update={"lease": lease(), "generation": 1, "status": "working"})
    request = ResultRequest(key="k" * 8, seq=1, outcome=outcome, summary="done")
    after = finished(working, lease(), head, request, now=NOW)
    if code is not None:
        assert isinstance(after, Blocked)
        assert after.code is code
        return
    assert isinstance(after, Record)
    assert after.result is not None
    assert (after.status, after.lease, after.result.head_sha, after.result.base_sha) == (outcome, None, sha, HEAD)
    claim = may_claim(after, Policy(mode=Mode.REPAIR), now=NOW, observed_generation=1, login="l")
    assert isinstance(claim, Blocked)
    assert claim.code is Code.ENDED


def test_a_ticket_gives_no_result() -> None:
    request = ResultRequest(key="k" * 8, seq=1, outcome="completed", summary="done")
    assert isinstance(finished(PARENT, lease(3), AtPublished(HEAD, fenced=True), request, now=NOW), Blocked)


def test_results_are_noted_once_and_only_those_that_may_count() -> None:
    noted = with_results(PARENT_1, {"docs": DONE})
    assert listed(noted)[0].result == SEALED
    assert with_results(noted, {"docs": DONE}) is noted
    assert with_results(PARENT_1, {"docs": replace(DONE, result=Unseen("moved"))}) is PARENT_1
    assert with_results(PARENT_1, {"docs": Seen(CHILD_1, GONE)}) is PARENT_1


def test_a_result_in_a_wrong_form_counts_as_none() -> None:
    child = {**PARENT_1.children[0], "result": {"commit": "not a sha"}}
    [entry] = listed(PARENT_1.model_copy(update={"children": (child, {"name": "LOCK"})}))
    assert entry.result is None


def test_what_was_integrated_is_told_in_the_checkpoint() -> None:
    merged = {**PARENT_1.children[0], "result": SEALED.model_copy(update={"merged": MERGE}).model_dump(mode="json")}
    record = PARENT_1.model_copy(update={"children": (merged,)})
    assert integrated_texts(record) == (f"docs generation 1 (result {R}) merged as {MERGE}",)
    assert active_names(record) == ()


def test_a_ticket_is_not_ready_while_something_is_to_come_of_a_child() -> None:
    assert unfinished(PARENT) is None
    waits = unfinished(PARENT_1)
    assert waits is not None
    assert waits.code is Code.CHILD_UNFINISHED
    ended_one = {**PARENT_1.children[0], "cancelled": True}
    assert unfinished(PARENT_1.model_copy(update={"children": (ended_one,)})) is None


def test_a_rebuilt_child_still_knows_what_it_was_asked_for() -> None:
    payload = json.loads(payload_of(CHILD_1, repository_id=7, ledger_ref="r", ledger_commit=R))
    assert payload["ticket"] == "42.docs"
    assert SpawnContract.model_validate(payload["spawn"]) == CHILD_1.spawn
    assert "spawn" not in json.loads(payload_of(PARENT_1, repository_id=7, ledger_ref="r", ledger_commit=R))


def test_secrets_and_machine_paths_never_reach_a_contract() -> None:
    token = "ghp_" + "a" * 36
    task = Task(objective=f"Use {token} in /home/ann/work/secret.txt", acceptance=(token,))
    assert token not in task.model_dump_json()
    assert "/home/ann" not in task.objective


def test_wherever_a_childs_lease_ends_its_unfinished_effects_are_unknown() -> None:
    on_its_way = Effect(key="tag-1", kind="tag", state="dispatching", generation=1, nonce="n1", attempt="a" * 8)
    child = CHILD_1.model_copy(
        update={"status": "working", "generation": 1, "lease": lease(), "effects": (on_its_way,)}
    )
    request = ResultRequest(key="k" * 8, seq=1, outcome="failed", summary="stopped")
    gave = finished(child, lease(), NothingPublished(None), request, now=NOW)
    seen = {"docs": Seen(child, GONE)}
    ended_here = cancelled(PARENT_1, "docs", seen, now=NOW)
    again = respawned(PARENT_1, "docs", None, seen, now=NOW)
    assert isinstance(gave, Record)
    assert not isinstance(ended_here, Blocked)
    assert not isinstance(again, Blocked)
    for record in (gave, ended_here.child, again.child):
        assert [e.state for e in record.effects] == ["unknown"]
