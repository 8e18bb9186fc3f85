"""Verification of webhook deliveries: HMAC-SHA256 over the bytes as they came.

Wanted: only GitHub, or whoever holds a live secret, gets a delivery accepted. The digest is taken before
any decoding, because a decoded and re-serialised text has other bytes; the comparison takes the same time
wherever the first difference lies. Several secrets can live at once, so that one can be rotated without
losing deliveries.
"""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

_HEADER = re.compile(r"sha256=([0-9a-f]{64})", re.ASCII)


class Refusal(StrEnum):
    """Why a delivery does not count as GitHub's."""

    NO_SECRET = "no secret is configured"
    MISSING = "the X-Hub-Signature-256 header is missing"
    MALFORMED = "the X-Hub-Signature-256 header is not sha256= and 64 lower-case hex digits"
    MISMATCH = "the signature fits none of the live secrets"


@dataclass(frozen=True, slots=True)
class Verified:
    """The body was signed with the secret at this position."""

    secret_index: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The body counts as a stranger's."""

    reason: Refusal


def claimed_signature(header: str | None) -> bytes | Refused:
    """The hexadecimal digest that the value of `X-Hub-Signature-256` claims: known before any body is read."""
    if header is None:
        return Refused(Refusal.MISSING)
    found = _HEADER.fullmatch(header)
    return Refused(Refusal.MALFORMED) if found is None else found[1].encode("ascii")


def verify_signature(secrets: Sequence[bytes], body: bytes, header: str | None) -> Verified | Refused:
    """Check the value of `X-Hub-Signature-256` against the raw body with every live secret.

    An empty secret never verifies anything. SHA-1 signatures are not looked at.
    """
    claimed = claimed_signature(header)
    if isinstance(claimed, Refused):
        return claimed
    if not any(secrets):
        return Refused(Refusal.NO_SECRET)
    matching: int | None = None
    for index, secret in enumerate(secrets):
        digest = hmac.new(secret, body, hashlib.sha256).hexdigest().encode("ascii")
        if hmac.compare_digest(digest, claimed) and secret and matching is None:
            matching = index
    return Refused(Refusal.MISMATCH) if matching is None else Verified(matching)
