"""What the auditor knows of one ticket: GitHub's answers and git's objects, before any of it is judged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.domain.observation import Observation
from app.domain.policy import Policy
from app.domain.ticket_id import TicketId
from app.ledger.codec import Entry


@dataclass(frozen=True)
class ForeignRun:
    """A check-run that bears our name and is another App's, or nobody's."""

    id: int
    sha: str
    app: str


@dataclass(frozen=True)
class Facts:
    """`active` and `done` are whole ledgers, newest first. `contains(a, b)`: whether commit `b` is `a` or in its
    history. `results` are the result refs of the ticket's children, `children` the children whose ledgers stand.
    """

    ticket: TicketId
    repository_id: int
    observation: Observation
    policy: Policy
    active: tuple[Entry, ...]
    done: tuple[Entry, ...]
    contains: Callable[[str, str], bool]
    imitations: tuple[ForeignRun, ...] = ()
    results: Mapping[str, str] = field(default_factory=dict)
    children: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The ledger that stands, wherever it stands."""
        return self.active or self.done

    @property
    def name(self) -> str:
        return str(self.ticket)
