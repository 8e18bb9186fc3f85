"""The messages about effects: what the command line sends and what the service answers.

Paths (below `/api/v1/repos/{owner}/{repo}/tickets/{ticket}`, all with the lease token): `GET effects`, `POST effects`
(what is intended), `POST effects/{effect}/dispatch`, `POST effects/{effect}/result`, `POST effects/{effect}/probe`.
"""

from typing import Literal

from pydantic import Field

from app.domain.agent_api import WriteRequest
from app.domain.effect import EffectKey, Kind
from app.domain.effect_probe import Probe
from app.domain.effect_state import EffectState
from app.domain.model import Message


class EffectIntent(WriteRequest):
    """Before anything is done: which effect, of which kind, and how to look whether it happened."""

    effect: EffectKey
    kind: Kind
    probe: Probe | None = None


class EffectDispatch(WriteRequest):
    """The execution `attempt` asks to be let through. It is begun only after the answer says `go`."""

    attempt: str = Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")


class EffectOutcome(WriteRequest):
    """How the execution that was let through ended, as its command says. `unknown` is an honest answer."""

    attempt: str = Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")
    outcome: Literal["confirmed", "failed_no_effect", "unknown"]
    exit_code: int | None = Field(default=None, ge=-255, le=255)
    remote_id: str | None = Field(default=None, max_length=2000, description="what the other side calls it")
    note: str = Field(default="", max_length=4000)


class EffectLook(WriteRequest):
    """Run the effect's probe now, and write down what it shows."""


class EffectList(Message):
    """The effects of a ticket, as its record holds them."""

    generation: int
    effects: tuple[EffectState, ...]
    remembered: int = Field(description="settled ones beside these, kept as key and outcome only")
