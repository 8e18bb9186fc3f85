"""Signatures of deliveries, by the published kinds of fault and by hand."""

import base64
import hashlib
import hmac
import json
from pathlib import Path

import pytest

from app.github.webhook import Refusal, Refused, Verified, verify_signature

CASE = json.loads((Path(__file__).parents[1] / "fixtures" / "webhook_signature.json").read_text())
BODY = b'{"zen":"it\'s fine"}'


def signed(secret: bytes, body: bytes = BODY) -> str:
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


@pytest.mark.parametrize("case", CASE["input"]["cases"], ids=lambda case: case["name"])
def test_published_case(case):
    body = base64.b64decode(case["body_base64"])
    answer = verify_signature([case["secret"].encode()], body, case["x_hub_signature_256"])
    assert isinstance(answer, Verified) == CASE["expected"]["cases"][case["name"]]["valid"]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (None, Refusal.MISSING),
        ("", Refusal.MALFORMED),
        ("sha256=", Refusal.MALFORMED),
        (signed(b"s").removeprefix("sha256="), Refusal.MALFORMED),
        (signed(b"s") + "\n", Refusal.MALFORMED),
        (" " + signed(b"s"), Refusal.MALFORMED),
        (signed(b"s")[:-1], Refusal.MALFORMED),
        (signed(b"s") + "0", Refusal.MALFORMED),
        (f"{signed(b's')}, {signed(b's')}", Refusal.MALFORMED),
        ("sha256=" + "\uff10" * 64, Refusal.MALFORMED),
        ("sha256=" + "\ud800" * 64, Refusal.MALFORMED),
        ("sha1=" + "0" * 40, Refusal.MALFORMED),
        (signed(b"other"), Refusal.MISMATCH),
        (signed(b"s", BODY + b" "), Refusal.MISMATCH),
    ],
)
def test_refused_with_the_reason(header, reason):
    assert verify_signature([b"s"], BODY, header) == Refused(reason)


def test_every_live_secret_verifies():
    secrets = [b"new", b"old"]
    assert verify_signature(secrets, BODY, signed(b"new")) == Verified(0)
    assert verify_signature(secrets, BODY, signed(b"old")) == Verified(1)


@pytest.mark.parametrize("secrets", [[], [b""]])
def test_no_secret_verifies_nothing(secrets):
    assert verify_signature(secrets, BODY, signed(b"")) == Refused(Refusal.NO_SECRET)


def test_an_empty_secret_beside_a_live_one_verifies_nothing():
    assert verify_signature([b"", b"s"], BODY, signed(b"")) == Refused(Refusal.MISMATCH)
    assert verify_signature([b"", b"s"], BODY, signed(b"s")) == Verified(1)
