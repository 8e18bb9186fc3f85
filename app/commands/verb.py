"""What a verb is, what is known of a command that a person said, and what a verb may do about it."""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Literal, Protocol, runtime_checkable

from app.commands.grammar import Command
from app.controller.effect_decisions import Decision
from app.controller.person_commands import Done, Word
from app.domain.brief import Brief
from app.domain.effect_state import EffectState
from app.domain.rebuild import Rebuild
from app.domain.release_record import Person, Source
from app.domain.release_verbs import ReleaseVerb
from app.domain.ticket_id import TicketId

Place = Literal["ticket", "release"]
"""Where a verb can be said: on a ticket's Issue or PR, on the PR of a release."""
ON_TICKETS: frozenset[Place] = frozenset({"ticket"})
ON_RELEASES: frozenset[Place] = frozenset({"release"})
ANYWHERE: frozenset[Place] = ON_TICKETS | ON_RELEASES


class Permission(IntEnum):
    """What a person needs in the repository at the very moment. AUTHORIZER: what the policy says of releases, which is
    judged with the release; nothing less than WRITE gets that far.
    """

    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    AUTHORIZER = 5


@dataclass(frozen=True)
class Said:
    """One command that a person said.

    `id` is this command's alone, the same at every repetition (the ownership protocol, R16): two commands of one
    comment have two. `at`: when it was written. `number`: the Issue or PR on which it was said; `ticket`: whose Issue
    or PR that is, `release`: the branch whose release PR it is. `head_sha`: the head of the PR as it was known when the
    comment was received, None where that is not known or there is no PR. `source`: None where a button was pressed.
    """

    id: str
    by: Person
    at: datetime
    owner: str
    name: str
    number: int
    command: Command
    head_sha: str | None = None
    ticket: TicketId | None = None
    release: str | None = None
    source: Source | None = None


@dataclass(frozen=True)
class Answered:
    """What a person is told: Markdown of ours in which all foreign text is without effect. `changed`: this very call
    changed something.
    """

    markdown: str
    changed: bool = False


class ReleaseHeard(Protocol):
    """The answer to a word about a release. `changed`: this very call changed its record."""

    @property
    def answer(self) -> str: ...
    @property
    def changed(self) -> bool: ...


class Actions(Protocol):
    """What a verb may do, as one person: whoever provides it asks right before each act whether that person may. Every
    method raises Refused (what stands in the way) and GitHubError.
    """

    async def hear(self, owner: str, name: str, ticket: TicketId, word: Word) -> Done: ...

    async def decide_effect(
        self, owner: str, name: str, ticket: TicketId, event: str, decision: Decision
    ) -> EffectState: ...

    async def rebuild(self, owner: str, name: str, ticket: TicketId, *, by: str) -> Rebuild: ...

    async def brief(self, owner: str, name: str, ticket: TicketId) -> Brief: ...

    async def hear_release(
        self,
        owner: str,
        name: str,
        pull: int,
        *,
        id: str,
        verb: str,
        by: Person,
        rule: ReleaseVerb,
        source: Source | None = None,
    ) -> ReleaseHeard: ...

    async def rebuild_release(self, owner: str, name: str, branch: str, *, id: str, by: str) -> ReleaseHeard: ...

    async def release_status(self, owner: str, name: str, pull: int) -> str:
        """Markdown of ours."""
        ...


class Verb(Protocol):
    """One verb. `usage` is what follows `/recovery `; `help` is one sentence, `needs` says what must be so for it to be
    carried out. `late_ok`: it is carried out more than 24 hours after it was written, too.
    """

    @property
    def name(self) -> str: ...
    @property
    def usage(self) -> str: ...
    @property
    def help(self) -> str: ...
    @property
    def needs(self) -> str: ...
    @property
    def permission(self) -> Permission: ...
    @property
    def works_on(self) -> frozenset[Place]: ...
    @property
    def late_ok(self) -> bool: ...

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        """Do it, once however often it is called with the same `said.id`. Raises Refused with what is missing, who can
        help and which command, and GitHubError.
        """
        ...


@runtime_checkable
class OnReleases(Protocol):
    """A verb that needs another permission on a release than on a ticket."""

    @property
    def permission_on_releases(self) -> Permission: ...


def permission_on(verb: Verb, place: Place) -> Permission:
    """What a verb needs of the person where it is said."""
    if place == "release" and isinstance(verb, OnReleases):
        return verb.permission_on_releases
    return verb.permission
