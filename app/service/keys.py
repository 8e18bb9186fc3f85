"""The operator's keys as text: how they are written, read and made.

A line of keys is `kid:base64url` entries, separated by commas or white space. The first entry is the one in
use; every further one is still believed, so that a key can be changed while what the old one sealed or
derived stays good. Nothing here ever puts a key's text into a message.
"""

import base64
import binascii
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

KEY_BYTES = 32
_KID = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_HOW = "`agent-recovery keys new` makes a set"


def parse_seal_keys(text: str) -> dict[str, Ed25519PrivateKey]:
    """Ed25519 keys that seal ledger commits, the signing one first. Raises ValueError, without any key text."""
    return {kid: Ed25519PrivateKey.from_private_bytes(raw) for kid, raw in _entries(text).items()}


def parse_lease_keys(text: str) -> dict[str, bytes]:
    """Keys that lease tokens are derived from, the one for new tokens first. Raises ValueError as above."""
    return _entries(text)


def parse_secrets(text: str) -> tuple[bytes, ...]:
    """Webhook secrets, separated by commas or white space. Raises ValueError when there is none or one is short."""
    found = tuple(part.encode() for part in re.split(r"[\s,]+", text) if part)
    if not found:
        raise ValueError(f"holds no secret; {_HOW}")
    if any(len(secret) < 16 for secret in found):
        raise ValueError(f"a webhook secret has fewer than 16 characters; {_HOW}")
    return found


_PEM = re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.+?-----END \1-----", re.DOTALL)


def parse_private_keys(text: str) -> tuple[str, ...]:
    """The App's private keys: one PEM block after the other, the preferred one first. Raises ValueError.

    `\\n` written as two characters is read as a line end, because many ways to set an environment allow no other.
    """
    blocks = tuple(found[0] + "\n" for found in _PEM.finditer(text.replace("\\n", "\n")))
    if not blocks:
        raise ValueError("holds no PEM private key; download one on the App's settings page (Private keys)")
    for position, block in enumerate(blocks, start=1):
        _require_rsa(block, position)
    return blocks


@dataclass(frozen=True)
class NewKeys:
    """A fresh set of everything that the operator makes; the App's private key comes from GitHub."""

    seal_keys: str
    lease_keys: str
    webhook_secret: str

    def settings(self) -> Mapping[str, str]:
        """Setting name → value."""
        return {
            "AGENT_RECOVERY_SEAL_KEYS": self.seal_keys,
            "AGENT_RECOVERY_LEASE_KEYS": self.lease_keys,
            "AGENT_RECOVERY_WEBHOOK_SECRET": self.webhook_secret,
        }


def new_keys() -> NewKeys:
    """Keys from the system's random source, each with a key id of its own."""
    return NewKeys(
        seal_keys=_new_entry("seal"),
        lease_keys=_new_entry("lease"),
        webhook_secret=secrets.token_hex(32),
    )


def write_key_files(keys: NewKeys, folder: Path) -> dict[str, Path]:
    """Write each value into its own file (mode 0600) in `folder`; returns setting name with `_FILE` → path.

    Existing files are never overwritten: raises FileExistsError before anything is written.
    """
    names = {name: name.removeprefix("AGENT_RECOVERY_").lower().replace("_", "-") for name in keys.settings()}
    paths = {name: folder / file for name, file in names.items()}
    for path in paths.values():
        if path.exists():
            raise FileExistsError(f"{path} exists already; keys are never overwritten")
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in paths.items():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(keys.settings()[name] + "\n")
    return {f"{name}_FILE": path for name, path in paths.items()}


def _require_rsa(block: str, position: int) -> None:
    try:
        key = load_pem_private_key(block.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError(f"PEM block {position} is damaged, or protected by a password") from None
    if not isinstance(key, RSAPrivateKey):
        raise ValueError(f"PEM block {position} is not an RSA key, as GitHub makes them for Apps")


def _new_entry(use: str) -> str:
    key = base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode().rstrip("=")
    return f"{use}-{secrets.token_hex(3)}:{key}"


def _entries(text: str) -> dict[str, bytes]:
    entries: dict[str, bytes] = {}
    for position, part in enumerate((part for part in re.split(r"[\s,]+", text) if part), start=1):
        kid, colon, encoded = part.partition(":")
        if not colon or _KID.fullmatch(kid) is None:
            raise ValueError(f"entry {position} is not `kid:key` (kid: a-z, 0-9, -); {_HOW}")
        if kid in entries:
            raise ValueError(f"entry {position} uses a key id twice")
        entries[kid] = _key(encoded, position)
    if not entries:
        raise ValueError(f"holds no key; {_HOW}")
    return entries


def _key(encoded: str, position: int) -> bytes:
    try:
        raw = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != KEY_BYTES:
        raise ValueError(f"entry {position} is not a key of {KEY_BYTES} bytes in base64url; {_HOW}")
    return raw
