"""What of this workspace was last stored in the ledger, and when: so that nothing is stored twice, and nothing that
the agent said is covered up by a save it did not ask for.
"""

import hashlib
import json
import time
from typing import Any

from app.agent.held import Identity
from app.agent.home import Home
from app.domain.model import Message
from app.domain.outcome import Refused

FILE = "saved.json"


class LastSave(Message):
    """The last checkpoint that this workspace brought into the ledger under one lease. `at`: seconds since the epoch by
    this machine's clock, for waiting only.
    """

    generation: int
    nonce: str
    digest: str
    trigger: str | None
    at: float


def note(home: Home, identity: Identity, body: dict[str, Any], trigger: str | None) -> None:
    """Notes that this checkpoint is in the ledger."""
    claims = identity.claims
    digest = _digest(body)
    home.save(
        FILE,
        LastSave(generation=claims.generation, nonce=claims.nonce, digest=digest, trigger=trigger, at=time.time()),
    )


def last(home: Home, identity: Identity) -> LastSave | None:
    """The last save under this lease; None where there was none, or where its note is lost."""
    try:
        found = home.load(FILE, LastSave)
    except Refused:
        return None
    return found if found is not None and (found.generation, found.nonce) == identity.claims.identity else None


def is_stored(home: Home, identity: Identity, body: dict[str, Any]) -> bool:
    """Whether exactly this is what was stored last."""
    found = last(home, identity)
    return found is not None and found.digest == _digest(body)


def _digest(body: dict[str, Any]) -> str:
    told = {name: value for name, value in body.items() if name != "trigger"}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
