"""An effect as the agent API shows it."""

from pydantic import Field

from app.domain.attendance import of_holder
from app.domain.effect import Effect, needs_approval
from app.domain.model import Message


class EffectState(Message):
    """What is known of an effect. `go`: the caller's attempt may be carried out now, and no other ever."""

    key: str
    kind: str
    state: str
    go: bool = False
    needs_approval: bool = Field(
        default=False, description="a person approves it first: its kind is denied where nobody acts"
    )
    by: str | None = Field(default=None, description="who says so: its command, a probe, or a person")
    exit_code: int | None = None
    remote_id: str | None = None
    note: str = ""
    probe: str | None = Field(default=None, description="the type of its probe")
    probes: int = Field(default=0, description="how often the probe did not find it")
    generation: int = 0


def state_of(effect: Effect, *, go: bool = False) -> EffectState:
    """The effect as it is told."""
    result = effect.result
    probe = effect.probe.get("type") if effect.probe is not None else None
    return EffectState(
        key=effect.key,
        kind=effect.kind,
        state=effect.state,
        go=go,
        needs_approval=bool(effect.kind) and needs_approval(effect.kind, of_holder(None)),
        by=result.by if result is not None else None,
        exit_code=result.exit_code if result is not None else None,
        remote_id=result.remote_id if result is not None else None,
        note=result.note if result is not None else "",
        probe=probe if isinstance(probe, str) else None,
        probes=effect.probes,
        generation=effect.generation,
    )
