"""The operator's keys as the controller uses them. They come from the environment or files, never from a database."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.ledger.seals import PublicKeys, SecretsOfTicket, ServiceSealer, service_secrets


@dataclass(frozen=True)
class Keyring:
    """Two of each may be live while keys rotate: the first of each signs, all of them verify."""

    seal_keys: Mapping[str, Ed25519PrivateKey]
    lease_keys: Mapping[str, bytes]

    @property
    def sealer(self) -> ServiceSealer:
        kid, key = next(iter(self.seal_keys.items()))
        return ServiceSealer(kid, key)

    @property
    def public_keys(self) -> PublicKeys:
        return PublicKeys({kid: key.public_key().public_bytes_raw() for kid, key in self.seal_keys.items()})

    @property
    def lease_key(self) -> tuple[str, bytes]:
        """The key that new lease tokens are derived from."""
        return next(iter(self.lease_keys.items()))

    def secrets_of(self, repository_id: int) -> SecretsOfTicket:
        """The candidates for the seals of holders in one repository."""
        return service_secrets(self.lease_keys, repository_id)

    def public_keys_base64(self) -> dict[str, str]:
        """The seal keys as they are published: key id → base64 of the raw Ed25519 public key."""
        return {
            kid: base64.b64encode(key.public_key().public_bytes_raw()).decode() for kid, key in self.seal_keys.items()
        }
