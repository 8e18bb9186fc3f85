"""What a ticket's holder asks of a child, and what the child gives back: two contracts, and how the parent lists them.

A contract names the commit a child starts from and the predecessor that the ticket stood on at that moment. A result is
worth something only for exactly these; whoever integrates it compares them (`domain/children.py`).
"""

from typing import Any, Literal

from pydantic import ValidationError

from app.domain.model import Instant, Sha, Stored
from app.domain.plain_text import cut
from app.domain.ticket_id import ChildName

MAX_CHILDREN = 24
"""Of one ticket at a time: the parent's record has room for so many."""
MAX_LISTED_OBJECTIVE = 120


Outcome = Literal["completed", "failed"]


class Budget(Stored):
    """What a child may spend. The child is told; nobody else counts it."""

    minutes: int | None = None
    tokens: int | None = None


class SpawnContract(Stored):
    """What a child is asked to do, and the snapshot at which it was asked. Stands in the child's record; only the
    service writes it.

    `base_sha`: the parent's head at that moment, from which the child works. `predecessor_sha`: what the ticket's stack
    predecessor was recorded as. `after_generation`: results of this generation of the child and of those before belong
    to an earlier contract.
    """

    objective: str
    acceptance: tuple[str, ...] = ()
    expected_result: str = ""
    role: str = ""
    budget: Budget = Budget()
    base_sha: Sha
    predecessor_sha: Sha | None = None
    parent_generation: int
    after_generation: int = 0
    spawned_at: Instant


class Acceptance(Stored):
    """What became of one of the acceptance criteria, in the child's words."""

    text: str
    met: bool


class ResultContract(Stored):
    """What a child gives back, and the snapshot it speaks of. Stands in the child's record; only the service writes it.

    `head_sha`: the commit that the child published, None where it published none. The others are those of its contract
    and of its lease.
    """

    outcome: Outcome
    summary: str
    acceptance: tuple[Acceptance, ...] = ()
    artifacts: tuple[str, ...] = ()
    head_sha: Sha | None
    base_sha: Sha
    predecessor_sha: Sha | None = None
    generation: int
    at: Instant


class SealedResult(Stored):
    """A child's result in its parent's record. `commit`: the child's ledger commit that holds it. `merged`: the commit
    of the parent's branch that integrated it, None before.
    """

    generation: int
    commit: Sha
    head_sha: Sha | None = None
    outcome: Outcome
    merged: Sha | None = None


class ListedChild(Stored):
    """A child in its parent's record. What is not listed there belongs to nobody. The holder itself writes `result`,
    everything else only the service.
    """

    name: ChildName
    role: str = ""
    objective: str = ""
    base_sha: Sha
    predecessor_sha: Sha | None = None
    parent_generation: int
    after_generation: int = 0
    cancelled: bool = False
    result: SealedResult | None = None


def listing(name: str, contract: SpawnContract) -> ListedChild:
    """How a child under this contract is listed."""
    return ListedChild(
        name=name,
        role=contract.role,
        objective=cut(contract.objective, MAX_LISTED_OBJECTIVE),
        base_sha=contract.base_sha,
        predecessor_sha=contract.predecessor_sha,
        parent_generation=contract.parent_generation,
        after_generation=contract.after_generation,
    )


def read_listing(entry: dict[str, Any]) -> ListedChild | None:
    """An entry of a parent's record; None where it is none. A result that its holder wrote in a wrong form is left out:
    then the child counts as not integrated.
    """
    for fields in (entry, {**entry, "result": None}):
        try:
            return ListedChild.model_validate(fields)
        except ValidationError:
            continue
    return None
