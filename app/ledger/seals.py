"""Seals: why what a ledger commit says may be believed although anybody with write access may move its ref.

A seal covers (repository id, ref, first parent, tree, second parent, the whole message without the seal line), so a
sealed commit replayed on another ref, in another repository or above another parent is no longer sealed. The service
seals with Ed25519; an agent that pushes by git seals with an HMAC keyed by the secret of its lease token (the
ownership protocol, R21). The seal is the last line of the message:

    Recovery-Seal: ed25519:<key id>:<base64url signature>
    Recovery-Seal: hmac-sha256:<lease key id>.<generation>.<nonce>:<base64url mac>

The lease key's id tells a seal that cannot be checked any more, because the operator took its key away, from a forged
one.

Pure: keys come in as arguments, nothing is read or stored here.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from app.domain.ticket_id import TicketId
from app.domain.token import Claims, lease_secret

SEAL_PREFIX = "Recovery-Seal: "

_KID = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
_NONCE = re.compile(r"^[A-Za-z0-9_-]{1,128}$")
_SERVICE = re.compile(r"^ed25519:([A-Za-z0-9_-]{1,64}):([A-Za-z0-9_-]{86})$")
_LEASE = re.compile(
    r"^hmac-sha256:([A-Za-z0-9_-]{1,64})\.(0|[1-9][0-9]{0,9})\.([A-Za-z0-9_-]{1,128}):([A-Za-z0-9_-]{43})$"
)


class Sealer(Protocol):
    """Whoever may seal a ledger commit."""

    def seal(self, preimage: bytes) -> str:
        """The value of the seal line for these bytes."""


@dataclass(frozen=True)
class ServiceSeal:
    kid: str
    signature: bytes


@dataclass(frozen=True)
class LeaseSeal:
    kid: str
    generation: int
    nonce: str
    mac: bytes

    @property
    def identity(self) -> tuple[int, str]:
        return self.generation, self.nonce


LeaseSecrets = Callable[[LeaseSeal], bytes | None]
"""A holder's seal → the secret it must have been made with, by what the seal says of itself: the service derives it
from the lease key of that id, an agent knows its own only. None means "cannot be checked here"."""

SecretsOfTicket = Callable[[TicketId], LeaseSecrets]
"""Ticket or child → its lease secrets: what a ledger of many tickets is built with."""


def seal_preimage(
    repository_id: int, ref: str, parent: str | None, tree: str, code_parent: str | None, message_without_seal_line: str
) -> bytes:
    """The bytes a seal is made over. A JSON array, so no two different commits share them; line ends at the end of the
    message are left out, because hosts differ in keeping them.
    """
    fields = [
        "agent-recovery seal 1",
        repository_id,
        ref,
        parent,
        tree,
        code_parent,
        message_without_seal_line.rstrip("\n"),
    ]
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def split_message(message: str) -> tuple[str, str | None]:
    """A commit message as (everything before the seal line, value of the seal line); None where it has no seal as its
    last line. Only the last line counts, so a seal quoted in a text above it is just text.
    """
    body, newline, last = message.rstrip("\n").rpartition("\n")
    if newline and last.startswith(SEAL_PREFIX):
        return body, last[len(SEAL_PREFIX) :]
    return message, None


def parse_seal(text: str | None) -> ServiceSeal | LeaseSeal | None:
    """The seal a line holds, unverified; None where it is none of ours."""
    if text is None:
        return None
    if found := _SERVICE.fullmatch(text):
        signature = _decode(found[2])
        return None if signature is None else ServiceSeal(found[1], signature)
    if found := _LEASE.fullmatch(text):
        mac = _decode(found[4])
        return None if mac is None else LeaseSeal(found[1], int(found[2]), found[3], mac)
    return None


class ServiceSealer:
    """Seals with one of the service's Ed25519 keys. Raises ValueError on a key id that could not be read back."""

    def __init__(self, kid: str, key: Ed25519PrivateKey) -> None:
        if not _KID.fullmatch(kid):
            raise ValueError("a seal key id is 1 to 64 letters, digits, '-' or '_'")
        self.kid = kid
        self._key = key

    def seal(self, preimage: bytes) -> str:
        return f"ed25519:{self.kid}:{_encode(self._key.sign(preimage))}"

    @property
    def public_key(self) -> bytes:
        """The raw 32 bytes that verify this sealer's seals."""
        return self._key.public_key().public_bytes_raw()


class LeaseSealer:
    """Seals with the secret of a lease token; `kid` is the lease key the token was made with. Raises ValueError on an
    identity or key id that could not be read back.
    """

    def __init__(self, kid: str, generation: int, nonce: str, secret: bytes) -> None:
        if not _KID.fullmatch(kid):
            raise ValueError("a lease key id is 1 to 64 letters, digits, '-' or '_'")
        if generation < 0 or not _NONCE.fullmatch(nonce):
            raise ValueError("a lease is sealed for by its generation and a nonce of letters, digits, '-' or '_'")
        self.kid = kid
        self.generation = generation
        self.nonce = nonce
        self._secret = secret

    def seal(self, preimage: bytes) -> str:
        return f"hmac-sha256:{self.kid}.{self.generation}.{self.nonce}:{_encode(_mac(self._secret, preimage))}"


class PublicKeys:
    """The service's seal keys, old ones kept for verification: key id → raw 32 bytes."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = {kid: Ed25519PublicKey.from_public_bytes(raw) for kid, raw in keys.items()}

    @classmethod
    def from_base64(cls, keys: Mapping[str, str]) -> "PublicKeys":
        """From key id → base64 (standard or URL-safe, padded or not), as the service publishes them.
        Raises ValueError on a value that is no Ed25519 public key.
        """
        raw = {kid: _decode(text.rstrip("=").replace("+", "-").replace("/", "_")) for kid, text in keys.items()}
        if any(value is None for value in raw.values()):
            raise ValueError("a public seal key is not base64")
        return cls({kid: value for kid, value in raw.items() if value is not None})

    def __contains__(self, kid: object) -> bool:
        return kid in self._keys

    def verify(self, seal: ServiceSeal, preimage: bytes) -> bool:
        """Whether one of our keys, the one the seal names, made it over these bytes."""
        key = self._keys.get(seal.kid)
        if key is None:
            return False
        try:
            key.verify(seal.signature, preimage)
        except InvalidSignature:
            return False
        return True


def lease_seal_matches(seal: LeaseSeal, preimage: bytes, secret: bytes) -> bool:
    """Whether this secret made the seal over these bytes; compared in constant time."""
    return hmac.compare_digest(seal.mac, _mac(secret, preimage))


def service_secrets(lease_keys: Mapping[str, bytes], repository_id: int) -> SecretsOfTicket:
    """The service's side of the port: every live lease key checks the seals that name it."""

    def of_ticket(ticket: TicketId) -> LeaseSecrets:
        def of_lease(seal: LeaseSeal) -> bytes | None:
            key = lease_keys.get(seal.kid)
            claims = Claims(repository_id, ticket, seal.generation, seal.nonce)
            return None if key is None else lease_secret(key, claims)

        return of_lease

    return of_ticket


def own_secret(claims: Claims, secret: bytes) -> LeaseSecrets:
    """An agent's side of the port: it can check the seals of its own lease and no other. Whatever key such a seal
    names: an agent believes nothing that is said to be its own and was not made with its token.
    """

    def of_lease(seal: LeaseSeal) -> bytes | None:
        return secret if seal.identity == claims.identity else None

    return of_lease


def _mac(secret: bytes, preimage: bytes) -> bytes:
    return hmac.new(secret, preimage, hashlib.sha256).digest()


def _encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _decode(text: str) -> bytes | None:
    """Base64url without padding, in its one canonical spelling."""
    try:
        value = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return value if _encode(value) == text else None
