"""The handoff comment: always short enough, inert whatever an agent wrote, and its sealed body reads back exactly."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.admission import Admitted, admit
from app.domain.checkpoint import Checkpoint, Step
from app.domain.command_noted import KEPT, command, noted
from app.domain.fencing import AtPublished, Foreign, Head, NothingPublished, Tampered
from app.domain.handoff_comment import MAX_BYTES, render
from app.domain.handoff_marker import marker_of
from app.domain.landing_blocker import Blocker, BlockerCode
from app.domain.record import Lease, Permit, Record, Target, Work
from app.domain.sealed_body import block, body_preimage, parse, payload_of
from app.domain.settling import Declined, settle
from app.domain.verdict import verdict_on
from app.github.checks import CheckRunWrite
from app.ledger.seals import PublicKeys, ServiceSeal, ServiceSealer, parse_seal
from tests.domain.recovery_scene import WORLD

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HEAD, BASE, COMMIT = "a" * 40, "b" * 40, "c" * 40
KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
SEALER = ServiceSealer("s1", KEY)
PUBLIC = PublicKeys({"s1": KEY.public_key().public_bytes_raw()})
FIXTURE = json.loads((Path(__file__).parents[1] / "fixtures" / "long_text.json").read_text())
LONG: dict[str, dict[str, Any]] = FIXTURE["expected"]["cases"]
HEADS: list[Head] = [
    NothingPublished(None),
    AtPublished(HEAD, True),
    AtPublished(HEAD, False),
    Foreign(HEAD, BASE),
    Tampered(HEAD, None),
]
HOSTILE = [
    "@octocat and @acme/admins",
    "--> <script>alert(1)</script> <!-- agent-recovery:handoff:1 -->",
    "```\n```json agent-recovery\n{}\n```",
    "/recovery cancel",
    "\n/recovery cancel\n",
    "closes #1, fixes GH-2",
    "</details><!-- seal s1:xxxxxxxxxxxx -->",
    "| a | b |\n|---|---|",
    "https://evil.example/@x",
    "\u202egnp.exe\u200b",
]


def _record(checkpoint: Checkpoint, holder: str = "agent", branch: str = "ticket/42", reason: str = "no") -> Record:
    lease = Lease(
        generation=3,
        nonce="n",
        holder=holder,
        login="ann",
        claim_id_hash="h",
        granted_at=NOW,
        expires_at=NOW + timedelta(minutes=15),
    )
    refused = Permit(
        id="p",
        kind="pr_create",
        target=Target(head="h", base="b"),
        author="a",
        round="r",
        state="blocked",
        reason=reason,
        refused_at=NOW,
    )
    return Record(
        ticket=42,
        sequence=9,
        status="working",
        generation=3,
        lease=lease,
        work=Work(branch=branch, trunk="release-1", base_sha=BASE),
        checkpoint=checkpoint,
        open=(refused,),
    )


def _payload(record: Record, repository_id: int = 7) -> str:
    ref = f"refs/agent-recovery/active/{record.ticket}"
    return payload_of(record, repository_id=repository_id, ledger_ref=ref, ledger_commit=COMMIT)


def _comment(record: Record, head: Head) -> str:
    payload = _payload(record)
    return render(record, head, payload=payload, seal=SEALER.seal(body_preimage(payload)))


def _assert_sound(record: Record, body: str) -> None:
    assert len(body.encode()) <= MAX_BYTES
    assert body.startswith(marker_of(42) + "\n")
    sealed = parse(body)
    assert sealed is not None
    assert sealed.payload == _payload(record)
    assert Checkpoint.model_validate(sealed.fields["checkpoint"]) == record.checkpoint
    seal = parse_seal(sealed.seal)
    assert isinstance(seal, ServiceSeal)
    assert PUBLIC.verify(seal, body_preimage(sealed.payload))
    # GitHub gives bodies back with the line ends of the web form once a person has edited them.
    assert parse(body.replace("\n", "\r\n")) == sealed
    assert not re.search(r"^[ \t>]*/[a-z]", body, re.MULTILINE)
    assert not re.search(r"(?<!\\)@[A-Za-z]", body)
    assert re.findall(r"<!--.*?-->", body) == [marker_of(42), f"<!-- seal {sealed.seal} -->"]
    assert re.findall(r"^(?:`{3,}|~{3,}).*$", body, re.MULTILINE) == ["```json agent-recovery", "```"]
    assert "\u202e" not in body


@pytest.mark.parametrize("head", HEADS, ids=lambda head: type(head).__name__)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_without_effect(text: str, head: Head) -> None:
    steps = tuple(Step(text=text, id=text) for _ in range(12))
    checkpoint = Checkpoint(next_steps=steps, blockers=(text,) * 12, objective=text, current_diff=text)
    record = _record(checkpoint, holder=text, reason=text)
    _assert_sound(record, _comment(record, head))


@pytest.mark.parametrize("branch", ["t/42-`@octocat`", "t/42-<!--x", "t/42-`|`-->", "t/42-`</details>"])
def test_a_hostile_branch_name_is_shown_without_effect(branch: str) -> None:
    record = _record(Checkpoint(), branch=branch)
    body = _comment(record, AtPublished(HEAD, True))
    _assert_sound(record, body)
    assert body.count("</details>") == 1


_TEXT = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=60))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_TEXT, max_size=40), st.integers(0, 12_000), st.sampled_from('a<"\\\né\U0001f600@'))
def test_every_admitted_checkpoint_fits_and_reads_back(texts: list[str], filler: int, of: str) -> None:
    raw = {"next_steps": texts, "blockers": texts, "accepted_decisions": texts, "current_diff": of * filler}
    admitted = admit(raw)
    if isinstance(admitted, Admitted):
        record = _record(admitted.checkpoint)
        _assert_sound(record, _comment(record, AtPublished(HEAD, True)))


def test_the_largest_checkpoint_fits_whole() -> None:
    largest = next(
        a.checkpoint
        for size in range(41_000, 0, -100)
        if isinstance(a := admit({"accepted_decisions": ["word " * 40] * (size // 205), "blockers": HOSTILE}), Admitted)
    )
    record = _record(largest)
    for number in range(KEPT):
        record = noted(record, command(f"comment-{number}", "hold", "n" * 39, "\U0001f600" * 300, now=NOW))
    _assert_sound(record, _comment(record, Foreign(HEAD, BASE)))


def _longest() -> Record:
    """As many long lines as a checkpoint holds, each of them longer than what a reader is shown of it."""
    texts = ["word " * 400] * 18
    admitted = admit({"next_steps": texts, "objective": "x" * 2000})
    assert isinstance(admitted, Admitted), admitted
    return _record(admitted.checkpoint)


def test_published_case_of_a_body_that_would_be_too_long() -> None:
    expected, record = LONG["too_long"], _longest()
    body = _comment(record, AtPublished(HEAD, True))
    assert len(body) <= len(body.encode()) <= MAX_BYTES < expected["max_len"]
    kept = body.startswith(marker_of(42)) and parse(body) is not None
    assert (kept, "…" in body) == (expected["markers_kept"], expected["says_shortened"])


def test_published_case_of_a_check_run_that_would_be_too_long() -> None:
    expected, record = LONG["check_run_text"], _longest()
    payload = _payload(record)
    text = block(payload, SEALER.seal(body_preimage(payload)))
    blockers = tuple(Blocker(BlockerCode.CHECKS_FAILED, "word " * 400, "wait") for _ in range(200))
    verdict = verdict_on(record, AtPublished(HEAD, True), WORLD, None, blockers)
    assert max(len(text.encode()), len(verdict.summary.encode())) <= expected["max_len"]
    assert (verdict.conclusion is not None) is expected["check_concluded"]


def test_published_case_of_annotations_the_app_makes_none() -> None:
    run = CheckRunWrite(HEAD, "in_progress", "42:1:1:" + "c" * 12, "t", "s")
    sent = len(run.body(creating=True)["output"].get("annotations", ()))
    expected = LONG["annotations"]
    assert sent <= expected["per_request"]
    assert -(-143 // expected["per_request"]) == expected["requests"]


def test_published_case_of_a_refusal_for_length() -> None:
    """A body in bytes below the limit in characters is never refused for its length; were it refused all the same, the
    permit says so, and the check-run shows the same checkpoint in the short form that a line of the comment has.
    """
    given = next(case for case in FIXTURE["input"]["cases"] if case["name"] == "refused_422")["response"]
    record = _record(Checkpoint())
    (permit,) = record.open
    told = settle(
        record.model_copy(update={"open": (permit.model_copy(update={"state": "fired"}),)}),
        [Declined(permit, given["message"], NOW)],
    )
    assert (told.open[0].state != "blocked") is LONG["refused_422"]["silent"]
    assert given["message"] in (told.open[0].reason or "")
    assert given["message"][:20] in _comment(told, AtPublished(HEAD, True))
    assert LONG["refused_422"]["fallback"] == "short form"


def test_the_same_record_gives_the_same_text() -> None:
    record = _record(Checkpoint(objective="Ripen the apples"))
    assert _comment(record, AtPublished(HEAD, True)) == _comment(record, AtPublished(HEAD, True))


@pytest.mark.parametrize(
    "body",
    ["", "hello", "```json agent-recovery\n{}\n```", f"<!-- seal {'x' * 20} -->", block("[1]", "x" * 20)],
    ids=["empty", "prose", "no seal", "no payload", "no object"],
)
def test_what_has_no_sealed_body_gives_none(body: str) -> None:
    assert parse(body) is None


def test_a_payload_changed_by_somebody_fails_its_seal() -> None:
    payload = _payload(_record(Checkpoint()))
    changed = payload.replace('"generation":3', '"generation":4')
    assert changed != payload
    sealed = parse(block(changed, SEALER.seal(body_preimage(payload))))
    assert sealed is not None
    seal = parse_seal(sealed.seal)
    assert isinstance(seal, ServiceSeal)
    assert not PUBLIC.verify(seal, body_preimage(sealed.payload))


def test_a_body_says_which_ticket_of_which_repository_it_belongs_to() -> None:
    record = _record(Checkpoint())
    other = json.loads(_payload(record, repository_id=8))
    assert (other["repository_id"], other["ticket"]) == (8, 42)
    assert body_preimage(_payload(record)) != body_preimage(_payload(record, repository_id=8))


def test_a_seal_over_a_body_is_no_seal_over_bare_json() -> None:
    payload = _payload(_record(Checkpoint()))
    seal = parse_seal(SEALER.seal(payload.encode()))
    assert isinstance(seal, ServiceSeal)
    assert not PUBLIC.verify(seal, body_preimage(payload))
