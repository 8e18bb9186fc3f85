"""The lease token: what a holder shows with every write.

`arl_<kid>.<payload>.<secret>`: the payload is base64url JSON {repository_id, ticket, generation, nonce}; the secret is
HKDF-SHA256(operator's lease key `kid`, info = payload). Nobody stores a token: the service derives the secret again,
compares in constant time, then compares (generation, nonce) with the ledger head. The secret is also the HMAC key of
the seals on the holder's own ledger commits.
"""

import base64
import binascii
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.domain.ticket_id import TicketId, as_json, from_json

PREFIX = "arl_"
_KID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Claims:
    """What a token speaks of. Believed only after `verify`."""

    repository_id: int
    ticket: TicketId
    generation: int
    nonce: str

    @property
    def identity(self) -> tuple[int, str]:
        return self.generation, self.nonce

    def payload(self) -> str:
        body = {
            "generation": self.generation,
            "nonce": self.nonce,
            "repository_id": self.repository_id,
            "ticket": as_json(self.ticket),
        }
        text = json.dumps(body, separators=(",", ":"), sort_keys=True)
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@dataclass(frozen=True)
class Forged:
    """The text is no token of ours: malformed, of an unknown key, or with a wrong secret."""

    reason: str


def lease_secret(key: bytes, claims: Claims) -> bytes:
    """The 32-byte secret of a lease under one operator key."""
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=claims.payload().encode()).derive(key)


def issue(kid: str, key: bytes, claims: Claims) -> str:
    """The token of a lease. The same lease and key always give the same token, so it can be handed out again."""
    secret = base64.urlsafe_b64encode(lease_secret(key, claims)).decode().rstrip("=")
    return f"{PREFIX}{kid}.{claims.payload()}.{secret}"


def read(token: str) -> Claims | Forged:
    """What a token says of itself, unverified: enough for the agent, who holds it."""
    parts = _parts(token)
    return parts if isinstance(parts, Forged) else parts[1]


def secret_of(token: str) -> bytes:
    """The secret inside a token, for the holder's own seals. Raises ValueError on a malformed token."""
    parts = _parts(token)
    if isinstance(parts, Forged):
        raise ValueError(parts.reason)
    return parts[2]


def kid_of(token: str) -> str:
    """The id of the operator's key a token was made with: the holder's seals name it. Raises ValueError as above."""
    parts = _parts(token)
    if isinstance(parts, Forged):
        raise ValueError(parts.reason)
    return parts[0]


def verify(token: str, keys: Mapping[str, bytes]) -> Claims | Forged:
    """The claims of a token whose secret was derived from one of the operator's live keys."""
    parts = _parts(token)
    if isinstance(parts, Forged):
        return parts
    kid, claims, secret = parts
    key = keys.get(kid)
    if key is None:
        return Forged("the key that made this token is not in use any more")
    if not hmac.compare_digest(secret, lease_secret(key, claims)):
        return Forged("the token's secret is wrong")
    return claims


def _parts(token: str) -> tuple[str, Claims, bytes] | Forged:
    malformed = Forged("not a lease token")
    if not token.startswith(PREFIX) or len(token) > 1024 or not token.isascii():
        return malformed
    pieces = token[len(PREFIX) :].split(".")
    if len(pieces) != 3:
        return malformed
    kid, payload, secret_text = pieces
    if not _KID.fullmatch(kid):
        return malformed
    try:
        body = json.loads(_decode(payload))
        claims = Claims(
            repository_id=body["repository_id"],
            ticket=from_json(body["ticket"]),
            generation=body["generation"],
            nonce=body["nonce"],
        )
        secret = _decode(secret_text)
    except (binascii.Error, ValueError, KeyError, TypeError):
        return malformed
    kinds = (claims.repository_id, int), (claims.generation, int), (claims.nonce, str)
    if not all(type(value) is kind for value, kind in kinds) or claims.payload() != payload:
        return malformed
    if base64.urlsafe_b64encode(secret).decode().rstrip("=") != secret_text:
        return malformed  # one lease has one token: no padding, no loose last bits
    return kid, claims, secret


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
