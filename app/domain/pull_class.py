"""What kind of pull request one is, by its actual refs at the moment of acting, and the one kind that may land.

release: from a trunk into the base of releases; only a person's authorization merges it. child: from a child's branch;
the holder of its parent integrates it. stacked: onto another ticket's branch; it lands after it was given a trunk for
its base. ticket: from a ticket's branch onto a trunk. other: everything else, of which nothing is ever changed.

Landing takes a `TicketPull` and nothing else. Nothing that goes into the base of releases becomes one, whatever the
policy says: a policy that names that branch among its trunks makes it no less the place where releases go.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Never, final

from app.domain.branches import owner_of_branch, ticket_of_branch
from app.domain.observation import Observation, Pull
from app.domain.policy import Policy
from app.domain.record import Record
from app.domain.ticket_id import Child, TicketId
from app.domain.trunks import is_trunk

_NOBODYS = ("agent-recovery/", "gh-readonly-queue/")


class PullClass(StrEnum):
    """The five classes."""

    RELEASE = "release"
    CHILD = "child"
    STACKED = "stacked"
    TICKET = "ticket"
    OTHER = "other"


@dataclass(frozen=True)
class Refs:
    """Where a pull request comes from and goes to, by short names. `own`: its head is a branch of this repository."""

    head: str
    base: str
    own: bool


@dataclass(frozen=True)
class Ground:
    """What of a repository a class depends on: its default branch, its base of releases, its trunks' patterns."""

    default_branch: str
    into: str
    trunks: tuple[str, ...]


@dataclass(frozen=True)
class Classed:
    """A pull request's class and why. `ticket` is the ticket or child its head belongs to, by the branch grammar."""

    kind: PullClass
    reason: str
    ticket: TicketId | None = None


@final
class TicketPull:
    """An open pull request of a ticket's, from its own branch onto a trunk: what may land. Made by `landable` alone."""

    __slots__ = ("base", "head", "head_sha", "is_draft", "node_id", "number", "ticket")

    number: int
    node_id: str
    head: str
    head_sha: str
    base: str
    is_draft: bool
    ticket: int

    def __init__(self, only: Never) -> None:
        # No value has the type Never, so the type checker refuses every call; this is for whoever has none.
        raise TypeError("a pull request becomes landable through its class alone: see `landable`")

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"a TicketPull is what was seen at one moment: {name} cannot be set")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TicketPull) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        return f"TicketPull(#{self.number} of ticket {self.ticket} at {self.head_sha})"

    def _fields(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)


def ground_of(observation: Observation, policy: Policy) -> Ground:
    """What the class of a pull request depends on, as it was seen now."""
    default = observation.default_branch
    return Ground(default, policy.release.into or default, policy.trunks)


def refs_of(pull: Pull, full_name: str) -> Refs:
    """The refs of a pull request. Where the head's repository is gone, it was a fork."""
    return Refs(pull.head, pull.base, (pull.head_repository or "").lower() == full_name.lower())


def class_of(refs: Refs, ground: Ground, recorded: int | None = None) -> Classed:
    """The class of a pull request by its refs. `recorded`: the ticket whose record names the head as its branch, which
    a person may have linked to the Issue under a name outside the grammar.
    """
    if not refs.own:
        return Classed(PullClass.OTHER, "it comes from another repository")
    owner = owner_of_branch(refs.head)
    if isinstance(owner, Child):
        return Classed(PullClass.CHILD, f"its head is the branch of the child {owner}", owner)
    if is_trunk(refs.head, ground.trunks, ground.default_branch):
        if refs.base == ground.into:
            return Classed(PullClass.RELEASE, "it brings a release branch into the base of releases")
        return Classed(PullClass.OTHER, "its head is a release branch, which goes into the base of releases alone")
    if owner is None:
        owner = recorded
    if owner is None:
        return Classed(PullClass.OTHER, "its head is no ticket's branch")
    if refs.head in (ground.default_branch, ground.into):
        return Classed(PullClass.OTHER, "its head is the default branch or the base of releases, no ticket's")
    if refs.base == ground.into:
        return Classed(PullClass.OTHER, "it goes into the base of releases, past any release", owner)
    if refs.base.startswith(_NOBODYS):
        return Classed(PullClass.OTHER, "its base is a branch that the App or GitHub keeps for itself", owner)
    below = _ticket_below(refs.base, ground)
    if below is not None:
        return Classed(PullClass.STACKED, f"its base is the branch of ticket #{below}", owner)
    if is_trunk(refs.base, ground.trunks, ground.default_branch):
        return Classed(PullClass.TICKET, "it brings a ticket's branch onto a trunk", owner)
    return Classed(PullClass.OTHER, "its base is neither a trunk nor a ticket's branch", owner)


def landable(pull: Pull, record: Record, observation: Observation, policy: Policy) -> TicketPull | Classed:
    """The pull request as what may land, or why it is none. It has to be open and the ticket's own: from the branch
    that the ticket's record names.
    """
    branch = record.work.branch if record.work is not None else None
    recorded = record.ticket if record.child is None and pull.head == branch else None
    refs = refs_of(pull, f"{observation.owner}/{observation.name}")
    found = class_of(refs, ground_of(observation, policy), recorded)
    if found.kind is not PullClass.TICKET:
        return found
    if record.child is not None or pull.head != branch or found.ticket != record.ticket:
        return Classed(PullClass.OTHER, f"it is not of ticket #{record.ticket_id}", found.ticket)
    if pull.state != "OPEN":
        return Classed(PullClass.OTHER, f"it is {pull.state.lower()}", found.ticket)
    return _made(pull, record.ticket)


def _ticket_below(base: str, ground: Ground) -> TicketId | None:
    # `1-2-0` may be meant as a release branch and reads like the branch of ticket 1. A pattern decides nothing about
    # it; only a policy that names it letter by letter makes it a trunk.
    plain = ticket_of_branch(base) is not None and base in ground.trunks and not base.startswith("ticket/")
    return None if plain else owner_of_branch(base)


def _made(pull: Pull, ticket: int) -> TicketPull:
    made = object.__new__(TicketPull)
    fields = {
        "number": pull.number,
        "node_id": pull.node_id,
        "head": pull.head,
        "head_sha": pull.head_sha,
        "base": pull.base,
        "is_draft": pull.is_draft,
        "ticket": ticket,
    }
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made
