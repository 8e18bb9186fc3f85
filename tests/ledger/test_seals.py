"""What a seal binds, and that nothing else passes for one."""

import base64
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ledger.seals import (
    LeaseSeal,
    LeaseSealer,
    PublicKeys,
    ServiceSeal,
    lease_seal_matches,
    own_secret,
    parse_seal,
    seal_preimage,
    service_secrets,
    split_message,
)

BODY = "42 · pushed\n\nRecovery-Ticket: 42"
SEALED = (7, "refs/agent-recovery/active/42", "a" * 40, "b" * 40, "c" * 40, BODY)


def test_the_service_seal_verifies_with_its_public_key_alone(writers: Any) -> None:
    preimage = seal_preimage(*SEALED)
    seal = parse_seal(writers.sealer.seal(preimage))
    assert isinstance(seal, ServiceSeal)
    keys = PublicKeys.from_base64(writers.published_keys)
    assert keys.verify(seal, preimage)
    assert not keys.verify(seal, preimage + b"x")
    assert not PublicKeys({}).verify(seal, preimage)


@pytest.mark.parametrize("position", range(6))
def test_every_part_is_sealed(writers: Any, position: int) -> None:
    preimage = seal_preimage(*SEALED)
    service = parse_seal(writers.sealer.seal(preimage))
    lease = parse_seal(LeaseSealer("l1", 1, "n1", b"s").seal(preimage))
    other: list[Any] = list(SEALED)
    other[position] = 8 if position == 0 else f"{other[position]}0"
    changed = seal_preimage(*other)
    assert isinstance(service, ServiceSeal)
    assert isinstance(lease, LeaseSeal)
    assert not writers.public_keys.verify(service, changed)
    assert lease_seal_matches(lease, preimage, b"s")
    assert not lease_seal_matches(lease, changed, b"s")
    assert not lease_seal_matches(lease, preimage, b"other")


parts = st.none() | st.text(max_size=12)


@given(one=st.tuples(parts, parts, parts, parts), other=st.tuples(parts, parts, parts, parts))
def test_no_two_commits_share_what_is_sealed(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    def preimage(ref: Any, parent: Any, tree: Any, code: Any) -> bytes:
        return seal_preimage(1, ref, parent, tree, code, "m")

    assert (preimage(*one) == preimage(*other)) is (one == other)


def test_a_missing_parent_is_not_the_word_null() -> None:
    assert seal_preimage(1, "r", None, "t", None, "m") != seal_preimage(1, "r", "null", "t", None, "m")


def test_line_ends_at_the_end_do_not_matter() -> None:
    assert seal_preimage(*SEALED[:5], BODY + "\n") == seal_preimage(*SEALED)
    assert split_message(BODY + "\nRecovery-Seal: x\n") == (BODY, "x")


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Recovery-Seal: x",
        BODY,
        BODY + "\nRecovery-Seal: x\nRecovery-Ticket: 1",
        BODY + "\n Recovery-Seal: x",
        BODY + "\nrecovery-seal: x",
    ],
)
def test_only_the_last_line_can_be_the_seal(message: str) -> None:
    assert split_message(message)[1] is None


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "ed25519:k1:",
        "ed25519:k1:" + "A" * 85,
        "ed25519:k1:" + "A" * 85 + "B",
        "ed25519:k 1:" + "A" * 86,
        "ed25519:k1:" + "A" * 86 + "\n",
        "hmac-sha256:l1.1.n:" + "A" * 42 + "=",
        "hmac-sha256:1.n:" + "A" * 43,
        "hmac-sha256:.1.n:" + "A" * 43,
        "hmac-sha256:l1.01.n:" + "A" * 43,
        "hmac-sha256:l1.1.n.m:" + "A" * 43,
        "hmac-sha256:l1.٣.n:" + "A" * 43,
        "hmac-sha1:l1.1.n:" + "A" * 43,
    ],
)
def test_what_is_no_seal(text: str | None) -> None:
    assert parse_seal(text) is None


def test_identities_that_could_not_be_read_back_are_refused() -> None:
    for nonce in ("", "a.b", "a:b", "a\nb"):
        with pytest.raises(ValueError, match="nonce"):
            LeaseSealer("l1", 1, nonce, b"s")
    for kid in ("", "a.b", "a:b", "x" * 65):
        with pytest.raises(ValueError, match="key id"):
            LeaseSealer(kid, 1, "n1", b"s")


def test_the_service_takes_the_key_a_seal_names_and_an_agent_knows_its_own_lease_only(writers: Any) -> None:
    preimage = seal_preimage(*SEALED)
    seal = parse_seal(writers.lease_sealer().seal(preimage))
    assert isinstance(seal, LeaseSeal)
    assert (seal.kid, seal.identity) == ("l1", (1, "n1"))
    rotated = service_secrets({"l2": b"M" * 32, "l1": writers.lease_key}, writers.repository_id)(42)
    assert lease_seal_matches(seal, preimage, rotated(seal) or b"")
    assert not lease_seal_matches(seal, preimage, rotated(replace(seal, kid="l2")) or b"")
    assert not lease_seal_matches(seal, preimage, rotated(replace(seal, generation=2)) or b"")
    assert not lease_seal_matches(seal, preimage, service_secrets({"l1": writers.lease_key}, 1)(42)(seal) or b"")
    assert service_secrets({"l2": b"M" * 32}, writers.repository_id)(42)(seal) is None
    mine = own_secret(writers.claims(), b"s")
    assert mine(seal) == mine(replace(seal, kid="l2")) == b"s"
    assert mine(replace(seal, nonce="n2")) is None


def test_published_keys_are_read_in_either_alphabet(writers: Any) -> None:
    raw = bytes(range(200, 232))
    for text in (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("=")):
        assert "k" in PublicKeys.from_base64({"k": text})
    with pytest.raises(ValueError, match="base64"):
        PublicKeys.from_base64({"k": "not base64!"})
