"""Where a ticket's work may be: the branches that are linked to its Issue or named after it, with their PRs, and the
branches of the Issues it waits for. One request, which is only made for a ticket that has no PR on record.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from pydantic import Field

from app.domain.branch_clues import PullClue, TicketBranch
from app.domain.branches import ticket_of_branch
from app.domain.linked_issue import linked_issue_of
from app.domain.model import Message, Sha
from app.domain.observation import Branch
from app.github.listed_refs import ListedRefs
from app.github.shapes import read
from app.github.wire import Call

NAMED_READ = 50
"""Branches that the search for a number shows at most."""
MOST_NOT_SHOWN = 5
_HEADS = "refs/heads/"
_CLUES = """
query TicketClues($owner: String!, $name: String!, $ticket: Int!, $search: String!%(declared)s) {
  repository(owner: $owner, name: $name) {
    databaseId
    issue(number: $ticket) {
      linkedBranches(first: 10) {
        nodes { ref { name prefix target { oid } repository { nameWithOwner } ...pullsOfBranch } }
      }
    }
    named: refs(refPrefix: "refs/heads/", query: $search, first: 50) { nodes { name target { oid } ...pullsOfBranch } }
    %(waited)s
  }
}
fragment pullsOfBranch on Ref {
  associatedPullRequests(first: 10, orderBy: {field: CREATED_AT, direction: DESC}) {
    nodes { number state body headRefOid baseRefName headRepository { nameWithOwner } }
  }
}
"""
_WAITED = (
    'waited%(n)d: refs(refPrefix: "refs/heads/", query: $waited%(n)d, first: 20) { nodes { name target { oid } } }'
)


@dataclass(frozen=True)
class SeenBranches:
    """`own`: branches of this repository, linked or with the number in their name. `elsewhere`: linked branches of
    other repositories, as `owner/name:branch`. `waited`: branches with another Issue's number in their name.
    """

    own: tuple[TicketBranch, ...]
    elsewhere: tuple[str, ...] = ()
    waited: dict[int, tuple[Branch, ...]] = field(default_factory=dict)


class TicketClues(ListedRefs):
    """Looking for a ticket's work."""

    async def ticket_branches(self, ticket: int, waits_for: Sequence[int] = ()) -> SeenBranches:
        """What may be the branch of an Issue. Raises GraphQLFailed where the Issue is not there or the answer is
        incomplete.
        """
        variables = {"owner": self.owner, "name": self.name, "ticket": ticket, "search": str(ticket)}
        variables |= {f"waited{n}": str(number) for n, number in enumerate(waits_for)}
        answer = await self.session.query("TicketClues", _document(len(waits_for)), variables)
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "TicketClues")
        call = Call("POST", "TicketClues", kind="graphql")
        seen = read(_Seen, repository, call)
        linked = [node.ref for node in (seen.issue.linked.nodes if seen.issue else ()) if node and node.ref]
        at_home = {ref.name for ref in linked if self._is_home(ref) and ref.prefix == _HEADS}
        named = [*seen.named.nodes, *await self._not_shown(ticket, seen)]
        own = {b.name: b for ref in (*named, *linked) if (b := self._branch(ref, at_home)) is not None}
        waited = {n: read(_Refs, repository.get(f"waited{i}"), call) for i, n in enumerate(waits_for)}
        return SeenBranches(
            own=tuple(own.values()),
            elsewhere=tuple(f"{ref.home.name}:{ref.name}" for ref in linked if ref.home and not self._is_home(ref)),
            waited={
                n: tuple(Branch(r.name, r.target.oid) for r in refs.nodes if r.target) for n, refs in waited.items()
            },
        )

    async def _not_shown(self, ticket: int, seen: "_Seen") -> list["_Ref"]:
        """The ticket's branches that the search for its number did not show: it finds `4` in `ticket/140` as well."""
        if len(seen.named.nodes) < NAMED_READ:
            return []
        shown = {ref.name for ref in seen.named.nodes}
        there = [b.name for b in await self.branches_of_ticket(ticket) if ticket_of_branch(b.name) == ticket]
        found: list[_Ref] = []
        for name in [name for name in there if name not in shown][:MOST_NOT_SHOWN]:
            variables = {"owner": self.owner, "name": self.name, "ticket": ticket, "search": name}
            answer = await self.session.query("TicketClues", _document(0), variables)
            repository = answer.body["data"].get("repository") or {}
            self._same_repository(repository, "TicketClues")
            again = read(_Seen, repository, Call("POST", "TicketClues", kind="graphql"))
            found += [ref for ref in again.named.nodes if ref.name == name]
        return found

    def _is_home(self, ref: "_Ref") -> bool:
        return ref.home is None or ref.home.name.lower() == self.full_name.lower()

    def _branch(self, ref: "_Ref", linked: set[str]) -> TicketBranch | None:
        if ref.target is None or not self._is_home(ref):
            return None
        pulls = tuple(node.clue(self.full_name) for node in ref.pulls.nodes if node is not None)
        return TicketBranch(ref.name, ref.target.oid, ref.name in linked, pulls)


@lru_cache(maxsize=16)
def _document(waited: int) -> str:
    fields = [_WAITED % {"n": n} for n in range(waited)]
    declared = "".join(f", $waited{n}: String!" for n in range(waited))
    return _CLUES % {"declared": declared, "waited": "\n    ".join(fields)}


class _Home(Message):
    name: str = Field(alias="nameWithOwner")


class _Pull(Message):
    number: int
    state: Literal["OPEN", "CLOSED", "MERGED"]
    body: str = ""
    head_sha: Sha = Field(alias="headRefOid")
    base: str = Field(alias="baseRefName")
    home: _Home | None = Field(default=None, alias="headRepository")

    def clue(self, home: str) -> PullClue:
        own = self.home is not None and self.home.name.lower() == home.lower()
        return PullClue(self.number, self.state, self.head_sha, self.base, own, linked_issue_of(self.body))


class _Pulls(Message):
    nodes: tuple[_Pull | None, ...] = ()


class _Target(Message):
    oid: Sha


class _Ref(Message):
    name: str
    prefix: str = _HEADS
    target: _Target | None = None
    home: _Home | None = Field(default=None, alias="repository")
    pulls: _Pulls = Field(default=_Pulls(), alias="associatedPullRequests")


class _Refs(Message):
    nodes: tuple[_Ref, ...] = ()


class _Linked(Message):
    ref: _Ref | None = None


class _LinkedBranches(Message):
    nodes: tuple[_Linked | None, ...] = ()


class _Issue(Message):
    linked: _LinkedBranches = Field(default=_LinkedBranches(), alias="linkedBranches")


class _Seen(Message):
    issue: _Issue | None = None
    named: _Refs = _Refs()
