"""What the App would do to one thing of a repository, and why: the answer of `agent-recovery plan`, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from app.domain.plain_text import one_line, shorten
from app.domain.plan import Plan, Wait
from app.domain.policy import Mode

_LONGEST = 200


@dataclass(frozen=True)
class Step:
    """One act: its name, what it names (strangers' text in one short line), and why."""

    name: str
    details: Mapping[str, str | int | bool]
    reason: str


@dataclass(frozen=True)
class Intended:
    """`thing` is `ticket #42`, `pull #7`, `branch x` or `policy`. `reason`: why nothing is done, or what is waited for.
    `claim`: what an agent that claims the ticket now would be told.
    """

    thing: str
    steps: tuple[Step, ...] = ()
    reason: str = ""
    claim: str | None = None


@dataclass(frozen=True)
class RepositoryPlan:
    """What each mode would do. `policy` says where the other values come from; `found` counts what was read, `unread`
    says what was not. `stopped`: why nothing is written now, whatever the mode; None where nothing stands against it.
    """

    repository: str
    mode_now: Mode | None
    policy: str
    problems: tuple[str, ...]
    clamps: tuple[str, ...]
    found: Mapping[str, int]
    unread: tuple[str, ...]
    modes: Mapping[Mode, Sequence[Intended]] = field(default_factory=dict)
    stopped: str | None = None


def steps_of(plan: Plan) -> tuple[tuple[Step, ...], str]:
    """The acts of a decision, and what it waits for in words."""
    acts = tuple(_step(action) for action in plan if not isinstance(action, Wait))
    waits = "; ".join(dict.fromkeys(_line(action.reason) for action in plan if isinstance(action, Wait)))
    return acts, waits


def _step(action: Any) -> Step:
    named = ((f.name, getattr(action, f.name)) for f in fields(action) if f.name != "reason")
    shown = {name: _plain(value) for name, value in named if _is_plain(value)}
    return Step(type(action).__name__, shown, _line(action.reason))


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(isinstance(item, str | int) for item in value)
    return isinstance(value, str | int | bool)


def _plain(value: Any) -> str | int | bool:
    if isinstance(value, bool | int):
        return value
    return _line(", ".join(map(str, value)) if isinstance(value, tuple) else str(value))


def _line(text: str) -> str:
    return shorten(one_line(text), _LONGEST)[0]
