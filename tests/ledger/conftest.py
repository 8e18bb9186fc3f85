"""A service and holders that write ledger commits without any GitHub or git: what the pure tests stand on."""

import base64
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.domain.checkpoint import Checkpoint
from app.domain.record import Answered, Lease, Published, Rebuilt, Record
from app.domain.refs import LedgerRefs
from app.domain.token import Claims, issue, lease_secret
from app.ledger.agent_commits import amend_as_agent
from app.ledger.codec import Entry, commit_sha, draft, draft_text
from app.ledger.seals import LeaseSealer, PublicKeys, Sealer, ServiceSealer, service_secrets
from app.ledger.verify import NewerSchema, Sound, Tampered, Unreadable, verify_tail

REPOSITORY = 4711
TICKET = 42
NOW = datetime(2026, 11, 30, 4, 0, tzinfo=UTC)
CODE = "c" * 40


@dataclass
class Writers:
    """One operator's keys and what is written with them."""

    repository_id: int = REPOSITORY
    ticket: int = TICKET
    refs: LedgerRefs = field(default_factory=LedgerRefs)
    sealer: ServiceSealer = field(
        default_factory=lambda: ServiceSealer("k1", Ed25519PrivateKey.from_private_bytes(b"1" * 32))
    )
    lease_key: bytes = b"L" * 32

    @property
    def public_keys(self) -> PublicKeys:
        return PublicKeys({self.sealer.kid: self.sealer.public_key})

    @property
    def published_keys(self) -> dict[str, str]:
        return {self.sealer.kid: base64.b64encode(self.sealer.public_key).decode()}

    def claims(self, generation: int = 1, nonce: str = "n1") -> Claims:
        return Claims(self.repository_id, self.ticket, generation, nonce)

    def token(self, generation: int = 1, nonce: str = "n1") -> str:
        return issue("l1", self.lease_key, self.claims(generation, nonce))

    def lease(self, generation: int = 1, nonce: str = "n1", holder: str = "agent") -> Lease:
        return Lease(
            generation=generation,
            nonce=nonce,
            holder=holder,
            login="dev-a",
            claim_id_hash="0" * 64,
            granted_at=NOW,
            expires_at=NOW + timedelta(minutes=15),
        )

    def held(self, sequence: int = 2, **changes: Any) -> Record:
        """A record that generation 1 holds."""
        fields: dict[str, Any] = {"status": "working", "generation": 1, "lease": self.lease(), **changes}
        return Record(ticket=self.ticket, sequence=sequence, **fields)

    def lease_sealer(
        self, generation: int = 1, nonce: str = "n1", key: bytes | None = None, kid: str = "l1"
    ) -> LeaseSealer:
        return LeaseSealer(kid, generation, nonce, lease_secret(key or self.lease_key, self.claims(generation, nonce)))

    def sealed(
        self,
        record: Record,
        parent: Entry | None = None,
        *,
        ref: str | None = None,
        sealer: Sealer | None = None,
        **more: Any,
    ) -> Entry:
        """A commit of the service (or of another sealer) that puts a record on a parent. Without one a later record is
        that of a rebuilt ledger, unless it is to be `bare`.
        """
        if parent is None and record.sequence > 1 and not more.get("bare"):
            record = record.model_copy(update={"rebuilt": Rebuilt(by="dev-a", at=NOW, sequence=record.sequence)})
        made = draft(
            ref=ref or self.refs.active(self.ticket),
            parent=parent.sha if parent else more.get("unseen"),
            code_parent=more.get("code_parent"),
            record=record,
            event=more.get("event", "changed"),
            repository_id=more.get("repository_id", self.repository_id),
            sealer=sealer or self.sealer,
            request=more.get("request"),
            when=NOW,
        )
        return made.entry(commit_sha(made))

    def pushed_text(
        self,
        text: str,
        parent: Entry,
        *,
        sealer: Sealer | None = None,
        numbers: tuple[int, int, int] | None = None,
        ref: str | None = None,
        code_parent: str | None = None,
    ) -> Entry:
        """A holder's commit with any text as its record; beside it, unless said otherwise, what that says is
        published.
        """
        before = parent.record
        assert isinstance(before, Record)
        published = (json.loads(text).get("published") or {}).get("sha")
        made = draft_text(
            ref=ref or self.refs.active(self.ticket),
            parent=parent.sha,
            code_parent=code_parent or published or CODE,
            record_text=text,
            event="pushed",
            repository_id=self.repository_id,
            sealer=sealer or self.lease_sealer(),
            request=None,
            when=NOW,
            nonce=None,
            numbers=numbers or (self.ticket, before.generation, before.sequence + 1),
        )
        return made.entry(commit_sha(made))

    def pushed(self, parent: Entry, **changes: Any) -> Entry:
        """A holder's honest commit."""
        return self.pushed_text(amend_as_agent(parent, **changes), parent)

    def verify(
        self, *entries: Entry, agent: Claims | None = None, unknowing: bool = False
    ) -> Sound | Tampered | Unreadable | NewerSchema:
        """Judges entries, newest first, with the service's keys (or without any lease key)."""
        return verify_tail(
            entries,
            ticket=self.ticket,
            refs=self.refs,
            repository_id=self.repository_id,
            public_keys=self.public_keys,
            lease_secrets=None
            if unknowing
            else service_secrets({"l1": self.lease_key}, self.repository_id)(self.ticket),
        )


@pytest.fixture(scope="session")
def writers() -> Writers:
    return Writers()


@pytest.fixture(scope="session")
def checkpoint() -> Checkpoint:
    return Checkpoint(objective="sort the list", next_steps=("second",), accepted_decisions=("use a heap",))


@pytest.fixture(scope="session")
def published() -> Published:
    return Published(sha="b" * 40, generation=1, nonce="n1")


@pytest.fixture(scope="session")
def answered() -> Answered:
    return Answered(key="request-1", seq=1, generation=1, answer={"generation": 1, "sequence": 3, "status": "working"})
