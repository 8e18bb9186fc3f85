"""A ledger is believed only where every commit since the last service seal checks out."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.checkpoint import Checkpoint
from app.domain.record import Answered, Published, Record
from app.ledger.agent_commits import amend_as_agent
from app.ledger.codec import Entry, NewerSchema, Unreadable, commit_sha, draft_text, dump, dump_fields
from app.ledger.seals import seal_preimage, split_message
from app.ledger.verify import Misplaced, Placed, Sound, Tampered, place_is_sound

E1 = {"key": "e1", "kind": "tag", "state": "dispatching", "generation": 1, "nonce": "n1", "attempt": "a" * 8}
E0 = {"key": "e0", "kind": "tag", "state": "unknown", "generation": 0, "nonce": "n0"}
OTHERS = {"generation": 0, "nonce": "n0"}


@pytest.fixture(scope="session")
def base(writers: Any) -> Entry:
    """What the service wrote last: held, with something in every list, and a field nobody here knows."""
    fields = writers.held().model_dump(mode="json", by_alias=True) | {
        "x_newer": {"a": [1, 2.5, None]},
        "effects": [E1, E0],
        "effect_keys": {"0" * 16: "confirmed:0"},
        "children": [{"name": "docs-1", "generation": 1}],
        "open": [
            {"id": "p1", "kind": "pr_create", "target": {}, "author": "a", "round": "r", "state": "fired"},
        ],
        "commands": [{"comment": 1}],
        "burned_shas": ["d" * 40],
        "approvals": [{"effect": "e1"}],
        "intent": {"by": "dev-a", "at": "2026-11-30T04:00:00Z"},
        "work": {"branch": "ticket/42", "trunk": "release/1", "base_sha": "e" * 40},
    }
    text = dump_fields(fields)
    made = draft_text(
        ref=writers.refs.active(writers.ticket),
        parent="f" * 40,
        code_parent=None,
        record_text=text,
        event="changed",
        repository_id=writers.repository_id,
        sealer=writers.sealer,
        request=None,
        when=writers.lease().granted_at,
        nonce=None,
        numbers=(writers.ticket, 1, 2),
    )
    return made.entry(commit_sha(made))


def pushed(writers: Any, base: Entry, **changes: Any) -> Entry:
    """A holder's commit whose record is an honest one with these top-level fields on top."""
    fields = json.loads(amend_as_agent(base)) | changes
    numbers = (fields["ticket"], fields["generation"], fields["sequence"])
    return writers.pushed_text(dump_fields(fields), base, numbers=numbers)  # type: ignore[no-any-return]


def test_an_honest_tail_is_sound(writers: Any, base: Entry, checkpoint: Checkpoint, published: Published) -> None:
    first = writers.pushed(base, checkpoint=checkpoint, published=published, status="waiting")
    second = writers.pushed(first, status="ready")
    judged = writers.verify(second, first, base)
    assert isinstance(judged, Sound)
    assert (judged.head, judged.tail, judged.unchecked) == (second, 2, 0)
    assert judged.record.status == "ready"
    assert judged.record.sequence == 4
    assert judged.record.renewals == 2


def test_the_service_seal_alone_is_enough_and_nothing_below_is_asked_for(writers: Any, base: Entry) -> None:
    judged = writers.verify(base)
    assert isinstance(judged, Sound)
    assert judged.tail == 0


def test_without_lease_keys_the_tail_is_counted_as_unchecked_and_still_held_to_the_fields(
    writers: Any, base: Entry
) -> None:
    honest = writers.pushed(base)
    judged = writers.verify(honest, base, unknowing=True)
    assert isinstance(judged, Sound)
    assert judged.unchecked == 1
    forged = pushed(writers, base, burned_shas=[])
    assert isinstance(writers.verify(forged, base, unknowing=True), Tampered)


FORGERIES: dict[str, Any] = {
    "schema": None,  # a newer schema is another answer, see below
    "ticket": 43,
    "child": "docs-1",
    "spawn": {"objective": "o", "base_sha": "b" * 40, "parent_generation": 1, "spawned_at": "2026-11-30T04:00:00Z"},
    "result": {"outcome": "completed", "summary": "s", "head_sha": None, "base_sha": "b" * 40, "generation": 2,
               "at": "2026-11-30T04:00:00Z"},
    "sequence": 4,
    "status": "held",
    "lease": {"generation": 1, "nonce": "n1", "holder": "me", "login": "me", "claim_id_hash": "0" * 64,
              "granted_at": "2026-11-30T04:00:00Z", "expires_at": "2099-11-30T04:00:00Z"},
    "generation": 2,
    "renewals": 5,
    "requests": [{"key": "k", "seq": 1, "generation": 2, "answer": {}}],
    "work": {"branch": "ticket/42", "trunk": "main", "base_sha": "e" * 40},
    "published": {"sha": "b" * 40, "generation": 2, "nonce": "n2"},
    "checkpoint": None,  # the holder's own
    "children": [],
    "effects": [],
    "effect_keys": {},
    "validations": None,  # the holder's own
    "attempts": {"count": 0, "alive_at": "2026-11-30T04:00:00Z", "interrupted_at": None},
    "intent": None,
    "dispatched": {"attempt": "0" * 16, "start": "command", "generation": 2, "at": "2026-11-30T04:00:00Z"},
    "stopped": {"because": "too_old", "edge": "e", "reason": "r", "at": "2026-11-30T04:00:00Z"},
    "saved_at": "2026-11-30T04:00:00Z",
    "rebuilt": {"by": "me", "at": "2026-11-30T04:00:00Z", "sequence": 1},
    "ended": {"because": "command", "at": "2026-11-30T04:00:00Z"},
    "pruned": {"at": "2026-11-30T04:00:00Z", "sequence": 3},
    "approvals": [{"effect": "e1"}, {"effect": "e2"}],
    "round": {"id": "r", "author": "a", "tries": 1, "ttl_s": 60, "opened_at": "2026-11-30T04:00:00Z"},
    "open": [],
    "commands": [],
    "burned_shas": [],
    "projections": {"pr_number": 7},
    "landing": {"asked": {"by": "me", "at": "2026-11-30T04:00:00Z", "head_sha": "b" * 40}},
    "fence": {"sha": "b" * 40, "on": "e" * 40, "because": "b"},
    "held": {"by": "me", "at": "2026-11-30T04:00:00Z", "before": "working"},
    "x_newer": {"a": [1, 2.5, False]},
    "x_added": 1,
}  # fmt: skip
OWN = {"schema", "checkpoint", "validations"}


def test_every_field_of_a_record_is_in_the_table_of_forgeries() -> None:
    names = {field.alias or name for name, field in Record.model_fields.items()}
    assert names <= FORGERIES.keys()


@pytest.mark.parametrize("name", sorted(FORGERIES.keys() - OWN))
def test_a_field_that_is_not_the_holders_cannot_be_changed(writers: Any, base: Entry, name: str) -> None:
    judged = writers.verify(pushed(writers, base, **{name: FORGERIES[name]}), base)
    assert isinstance(judged, Tampered), judged


@pytest.mark.parametrize("name", ["x_newer", "open", "burned_shas", "work", "intent", "commands", "approvals"])
def test_a_field_cannot_be_left_out(writers: Any, base: Entry, name: str) -> None:
    fields = json.loads(amend_as_agent(base))
    del fields[name]
    assert isinstance(writers.verify(writers.pushed_text(dump_fields(fields), base), base), Tampered)


@pytest.mark.parametrize(
    ("changes", "is_sound"),
    [
        ({"status": "ready"}, True),
        ({"status": "recovering"}, False),
        ({"status": "exhausted"}, False),
        ({"status": "landed"}, False),
        ({"published": {"sha": "b" * 40, "generation": 1, "nonce": "n1"}}, True),
        ({"published": {"sha": "b" * 40, "generation": 1, "nonce": "other"}}, False),
        ({"published": {"sha": "d" * 40, "generation": 1, "nonce": "n1"}}, False),
        ({"requests": [{"key": "k", "seq": 1, "generation": 1, "answer": {}}]}, True),
        ({"requests": [{"key": k, "seq": 1, "generation": 1, "answer": {}} for k in "ab"]}, False),
        ({"effects": [E1 | {"state": "confirmed"}, E0]}, True),
        ({"effects": [E1 | {"state": "unknown"}, E0]}, True),
        ({"effects": [E1, E0, E1 | {"key": "e2", "state": "intended"}]}, True),
        ({"effects": [E1, E0, E1]}, False),
        ({"effects": [E1 | {"state": "abandoned"}, E0]}, False),
        ({"effects": [E1, E0, {**E1, "key": "e2", **OTHERS}]}, False),
        ({"effects": [E0]}, False),
        ({"effects": [E1]}, False),
        ({"effects": [E1 | {"state": "intended"}, E0]}, False),
        ({"effects": [E1 | {"attempt": "b" * 8}, E0]}, False),
        ({"effects": [E1 | {"kind": "release"}, E0]}, False),
        ({"effects": [E1, E0 | {"state": "confirmed"}]}, False),
        ({"children": [{"name": "docs-1", "generation": 1, "result": "b" * 40}]}, True),
        ({"children": [{"name": "docs-1", "generation": 2}]}, False),
        ({"validations": [{"profile": "unit"}]}, True),
        ({"checkpoint": {"schema_version": 1, "objective": "mine"}}, True),
    ],
)
def test_what_a_holder_may_change_and_how(writers: Any, base: Entry, changes: dict[str, Any], is_sound: bool) -> None:
    judged = writers.verify(pushed(writers, base, **changes), base)
    assert isinstance(judged, Sound if is_sound else Tampered), judged


def test_what_a_holder_publishes_stands_beside_its_commit(writers: Any, base: Entry, published: Published) -> None:
    """Git refuses a commit whose parents are missing, so a published commit that never existed cannot be named."""
    text = amend_as_agent(base, published=published)
    invented = writers.pushed_text(text, base, code_parent="c" * 40)
    judged = writers.verify(invented, base)
    assert isinstance(judged, Tampered)
    assert (judged.reason, judged.at_sha) == ("what it says is published is not its second parent", invented.sha)

    honest = writers.pushed_text(text, base)
    later = [
        writers.pushed_text(amend_as_agent(honest), honest, code_parent=code) for code in (published.sha, "c" * 40)
    ]
    assert all(isinstance(writers.verify(entry, honest, base), Sound) for entry in later)


@pytest.mark.parametrize("status", ["held", "unclaimed"])
def test_a_hold_cannot_be_undone_or_ignored_by_the_holder(writers: Any, status: str) -> None:
    base = writers.sealed(writers.held(status=status))
    assert isinstance(writers.verify(writers.pushed(base), base), Tampered)
    assert isinstance(writers.verify(writers.pushed(base, status="working"), base), Tampered)


def test_a_holder_in_recovery_may_say_that_it_works(writers: Any) -> None:
    base = writers.sealed(writers.held(status="recovering"))
    assert isinstance(writers.verify(writers.pushed(base), base), Sound)
    assert isinstance(writers.verify(writers.pushed(base, status="working"), base), Sound)


def test_nobodys_record_takes_no_commit_of_a_holder(writers: Any) -> None:
    base = writers.sealed(writers.held(status="unclaimed", lease=None))
    fields = json.loads(base.record_text) | {"sequence": 3}
    assert isinstance(writers.verify(writers.pushed_text(dump_fields(fields), base), base), Tampered)


def test_another_leases_seal_is_tampering(writers: Any, base: Entry) -> None:
    text = amend_as_agent(base)
    for sealer in (writers.lease_sealer(2, "n2"), writers.lease_sealer(1, "n2"), writers.lease_sealer(key=b"X" * 32)):
        assert isinstance(writers.verify(writers.pushed_text(text, base, sealer=sealer), base), Tampered)


def test_a_seal_under_a_key_that_is_gone_is_unchecked_and_one_that_lies_about_its_key_is_tampering(
    writers: Any, base: Entry
) -> None:
    gone = writers.pushed_text(amend_as_agent(base), base, sealer=writers.lease_sealer(key=b"X" * 32, kid="l0"))
    judged = writers.verify(gone, base)
    assert isinstance(judged, Sound)
    assert judged.unchecked == 1
    lying = writers.pushed_text(amend_as_agent(base), base, sealer=writers.lease_sealer(key=b"X" * 32, kid="l1"))
    assert isinstance(writers.verify(lying, base), Tampered)


def test_a_holder_writes_under_the_active_ref_only(writers: Any, base: Entry) -> None:
    entry = writers.pushed_text(amend_as_agent(base), base, ref=writers.refs.done(writers.ticket))
    assert isinstance(writers.verify(entry, base), Tampered)


def test_the_service_writes_in_both_places(writers: Any) -> None:
    ended = writers.sealed(writers.held(status="cancelled"), ref=writers.refs.done(writers.ticket))
    assert isinstance(writers.verify(ended), Sound)


@pytest.mark.parametrize(
    "replayed",
    [
        {"ref": "refs/agent-recovery/active/43"},
        {"ref": "refs/agent-recovery/active/42.docs-1"},
        {"ref": "refs/agent-recovery/recovered/42/x"},
        {"ref": "refs/heads/agent-recovery/active/42"},
        {"repository_id": 4712},
    ],
)
def test_a_seal_made_for_another_place_does_not_count(writers: Any, replayed: dict[str, Any]) -> None:
    assert isinstance(writers.verify(writers.sealed(writers.held(), **replayed)), Tampered)


def test_another_tickets_ledger_does_not_count(writers: Any) -> None:
    other = replace(writers, ticket=43)
    assert isinstance(writers.verify(other.sealed(other.held())), Tampered)


@pytest.mark.parametrize("part", ["parent", "code_parent", "tree", "message", "record_text", "surplus_parents"])
def test_no_part_of_a_sealed_commit_can_be_exchanged(writers: Any, base: Entry, part: str) -> None:
    richer = writers.sealed(writers.held(sequence=3, status="ready"), base)
    values = {
        "parent": "1" * 40,
        "code_parent": "2" * 40,
        "tree": richer.tree,
        "message": base.message.replace("changed", "landed"),
        "record_text": richer.record_text,
        "surplus_parents": ("3" * 40,),
    }
    assert isinstance(writers.verify(replace(base, **{part: values[part]})), Tampered)
    both = replace(base, tree=richer.tree, record_text=richer.record_text)
    assert isinstance(writers.verify(both), Tampered)


def test_the_message_must_say_what_the_record_says(writers: Any, base: Entry) -> None:
    text = amend_as_agent(base)
    for numbers in ((43, 1, 3), (42, 2, 3), (42, 1, 4)):
        assert isinstance(writers.verify(writers.pushed_text(text, base, numbers=numbers), base), Tampered)


def test_a_chain_with_a_hole_or_without_an_end_is_tampered(writers: Any, base: Entry) -> None:
    first = writers.pushed(base)
    second = writers.pushed(first)
    assert isinstance(writers.verify(second, base), Tampered)
    assert isinstance(writers.verify(second, first), Tampered)
    assert isinstance(writers.verify(first, first, base), Tampered)
    assert isinstance(writers.verify(), Unreadable)


def test_a_sibling_cannot_stand_in_for_the_parent(writers: Any, base: Entry) -> None:
    one, other = writers.pushed(base), writers.pushed(base, status="ready")
    assert one.sha != other.sha
    assert isinstance(writers.verify(writers.pushed(one), other, base), Tampered)


def test_a_well_sealed_tree_with_more_than_the_record_does_not_count(writers: Any, base: Entry) -> None:
    fuller = "5" * 40
    for sealer in (writers.sealer, writers.lease_sealer()):
        body, _ = split_message(writers.pushed(base).message)
        seal = sealer.seal(seal_preimage(writers.repository_id, writers.refs.active(42), base.sha, fuller, None, body))
        text = amend_as_agent(base)
        entry = Entry("6" * 40, base.sha, None, fuller, f"{body}\nRecovery-Seal: {seal}", text)
        assert isinstance(writers.verify(entry, base), Tampered)


def test_a_record_of_another_ticket_does_not_count_whatever_the_message_says(writers: Any) -> None:
    other = replace(writers, ticket=43)
    made = draft_text(
        ref=writers.refs.active(42),
        parent=None,
        code_parent=None,
        record_text=dump(other.held()),
        event="changed",
        repository_id=writers.repository_id,
        sealer=writers.sealer,
        request=None,
        when=writers.lease().granted_at,
        nonce=None,
        numbers=(42, 1, 2),
    )
    assert isinstance(writers.verify(made.entry(commit_sha(made))), Tampered)


def test_an_unsealed_commit_is_tampered(writers: Any, base: Entry) -> None:
    body = base.message.rpartition("\n")[0]
    for message in (body, body + "\nRecovery-Seal: none", "", "hello"):
        assert isinstance(writers.verify(replace(base, message=message)), Tampered)


def test_an_unknown_seal_key_and_an_unreadable_record_are_told_from_tampering(writers: Any, base: Entry) -> None:
    stranger = replace(base, message=base.message.replace("ed25519:k1:", "ed25519:k9:"))
    assert isinstance(writers.verify(stranger), Unreadable)
    assert isinstance(writers.verify(replace(base, record_text=None)), Unreadable)
    assert isinstance(writers.verify(replace(base, record_text="{")), Unreadable)
    newer = writers.verify(replace(base, record_text='{"schema":9}'))
    assert newer == NewerSchema(9, base.sha)


def test_amending_keeps_what_it_does_not_know_byte_for_byte(
    writers: Any, base: Entry, checkpoint: Checkpoint, published: Published, answered: Answered
) -> None:
    text = amend_as_agent(base, checkpoint=checkpoint, published=published, status="ready", request=answered)
    assert '"x_newer":{"a":[1,2.5,null]}' in text
    assert json.loads(text)["work"] == json.loads(base.record_text or "")["work"]


def test_amending_keeps_what_the_service_derived(writers: Any, published: Published) -> None:
    known = Checkpoint.model_validate({"ticket_branch": "ticket/42", "pr_number": 7, "x_field": 1, "objective": "old"})
    base = writers.sealed(writers.held(checkpoint=known))
    sent = Checkpoint(objective="new", ticket_branch="elsewhere", pr_number=None, immediate_pr_base="release/1")
    kept = json.loads(amend_as_agent(base, checkpoint=sent, published=published, status="waiting"))["checkpoint"]
    assert (kept["ticket_branch"], kept["pr_number"], kept["x_field"]) == ("ticket/42", 7, 1)
    assert (kept["objective"], kept["immediate_pr_base"]) == ("new", "release/1")
    assert (kept["execution_generation"], kept["status"]) == (1, "waiting")
    assert kept["checkpoint_sha_or_snapshot"] == published.sha


amendments = st.fixed_dictionaries(
    {},
    optional={
        "checkpoint": st.builds(Checkpoint, objective=st.text(st.characters(exclude_categories=["Cs"]), max_size=20)),
        "published": st.builds(
            Published,
            sha=st.text("0123456789abce", min_size=40, max_size=40),
            generation=st.just(1),
            nonce=st.just("n1"),
        ),
        "status": st.sampled_from(["working", "waiting", "ready"]),
        "request": st.builds(
            Answered, key=st.text("abc", min_size=8, max_size=8), seq=st.integers(1, 9), generation=st.just(1),
            answer=st.just({"status": "working"}),
        ),
    },
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(changes=st.lists(amendments, max_size=20))
def test_any_sequence_of_allowed_changes_verifies(writers: Any, base: Entry, changes: list[dict[str, Any]]) -> None:
    entries = [base]
    for change in changes:
        entries.insert(0, writers.pushed(entries[0], **change))
    judged = writers.verify(*entries)
    assert isinstance(judged, Sound), judged
    assert judged.tail == len(changes)
    assert len(judged.record.requests) <= 16


def test_places(writers: Any, base: Entry) -> None:
    born = writers.sealed(Record(ticket=42, sequence=0, status="unclaimed"))
    ended = writers.sealed(writers.held(status="landed"), base)
    assert place_is_sound(None, None) == Placed(None)
    assert isinstance(place_is_sound(born, None), Misplaced)
    assert place_is_sound(born, born) == Placed("active", unborn=True)
    assert place_is_sound(base, None) == Placed("active")
    assert place_is_sound(None, ended) == Placed("done")
    for active, done in ((base, base), (None, base), (ended, None), (base, ended), (born, ended), (None, born)):
        assert isinstance(place_is_sound(active, done), Misplaced)


PRUNED_AT = {"at": "2026-11-30T04:00:00Z", "sequence": 9}
TOMBSTONE = {"sequence": 9, "status": "cancelled", "lease": None, "pruned": PRUNED_AT}


@pytest.mark.parametrize(
    ("record", "event", "alone", "is_sound"),
    [
        (TOMBSTONE, "pruned", True, True),
        # A tombstone that is one only in part is none.
        (TOMBSTONE, "pruned", False, False),
        (TOMBSTONE, "changed", True, False),
        (TOMBSTONE, "changed", False, False),
        (TOMBSTONE | {"pruned": None}, "pruned", True, False),
        (TOMBSTONE | {"pruned": PRUNED_AT | {"sequence": 8}}, "pruned", True, False),
        (TOMBSTONE | {"pruned": PRUNED_AT | {"sequence": 8}}, "changed", True, False),
        (TOMBSTONE | {"status": "unclaimed"}, "pruned", True, False),
        (TOMBSTONE | {"status": "completed"}, "pruned", True, False),
        # What is written on top of a tombstone names the one it stands on.
        (TOMBSTONE | {"pruned": PRUNED_AT | {"sequence": 8}}, "changed", False, True),
        # Nothing else stands alone but a birth and what a person had rebuilt.
        ({"sequence": 9}, "changed", True, False),
        ({"sequence": 2}, "changed", True, False),
        ({"sequence": 1, "status": "unclaimed", "generation": 0, "lease": None}, "born", True, True),
        ({"sequence": 9, "rebuilt": {"by": "a", **PRUNED_AT}}, "rebuilt", True, True),
        ({"sequence": 9, "rebuilt": {"by": "a", **PRUNED_AT, "sequence": 8}}, "changed", True, False),
    ],
)
def test_what_may_stand_without_a_parent(
    writers: Any, record: dict[str, Any], event: str, alone: bool, is_sound: bool
) -> None:
    held = writers.held(sequence=record["sequence"])
    changed = Record.model_validate(held.model_dump() | {"lease": None} | record)
    unseen = None if alone else "f" * 40
    entry = writers.sealed(changed, event=event, bare=True, unseen=unseen, ref=writers.refs.done(writers.ticket))
    assert isinstance(writers.verify(entry), Sound) is is_sound
