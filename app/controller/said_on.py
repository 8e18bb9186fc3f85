"""What a number means on which somebody says something: a ticket's Issue or PR, the PR of a release, or neither.

A branch's name is a clue and no more: a PR is a ticket's own where the ticket's record names its branch, so that what
is said on another one is never done to the ticket. Reads only.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.controller.view import Views
from app.domain.branches import owner_of_branch
from app.domain.handoff_marker import HANDOFF, ticket_of_comment
from app.domain.linked_issue import linked_issue_of
from app.domain.observation import Observation, Pull
from app.domain.policy import Mode, Policy
from app.domain.pull_class import PullClass, class_of, ground_of, refs_of
from app.domain.ticket_id import TicketId
from app.github.repository import Repository
from app.ledger.reading import Standing

SOON_S = 60
"""A word that is looked at so soon after it was said finds the head that its author saw, where GitHub says nothing."""


@dataclass(frozen=True)
class SaidOn:
    """`policy` is None where none is in force. `ticket` and `release`, a trunk, are never both there; where neither is,
    `reason` says why. `pull`: the pull request with this number.
    """

    repo: Repository
    now: datetime
    policy: Policy | None
    pull: Pull | None = None
    ticket: TicketId | None = None
    release: str | None = None
    reason: str = ""

    @property
    def is_silent(self) -> bool:
        """Nothing is written here, not even an answer."""
        return self.policy is None or self.policy.mode is Mode.OBSERVE


class SaidOns:
    """Finds out."""

    def __init__(self, views: Views) -> None:
        self._views = views

    async def look(self, owner: str, name: str, number: int) -> SaidOn:
        """One number as it stands now. Raises Gone where the repository is not there, and GitHubError."""
        repo, _ = await self._views.ledger(owner, name)
        seen = await repo.observe(number, None, None)
        policy = (await self._views.policy_of(repo, seen)).policy
        if seen.archived:
            policy = None
        if policy is None or policy.mode is Mode.OBSERVE:
            return SaidOn(repo, seen.now, policy)
        if seen.issue is not None:
            return SaidOn(repo, seen.now, policy, ticket=number)
        if not seen.is_pull_request:
            return SaidOn(repo, seen.now, policy, reason=f"there is no Issue and no pull request #{number}")
        return await self._on_pull(repo, seen, policy, await repo.pull(number))

    async def head_when_said(self, on: SaidOn, said_at: datetime) -> str | None:
        """The head of the PR, where it certainly was the head when something was said. Raises GitHubError.

        GitHub makes a check-suite at every push; one that is younger than the word belongs to a later push.
        """
        pull = on.pull
        if pull is None or pull.state != "OPEN":
            return None
        since = await on.repo.known_since(pull.head_sha)
        if since is None:
            return pull.head_sha if on.now - said_at <= timedelta(seconds=SOON_S) else None
        return pull.head_sha if since <= said_at else None

    async def _on_pull(self, repo: Repository, seen: Observation, policy: Policy, pull: Pull) -> SaidOn:
        refs = refs_of(pull, repo.full_name)
        if class_of(refs, ground_of(seen, policy)).kind is PullClass.RELEASE:
            return SaidOn(repo, seen.now, policy, pull, release=pull.head)
        if not refs.own:
            reason = f"#{pull.number} comes from another repository, so it is no ticket's"
            return SaidOn(repo, seen.now, policy, pull, reason=reason)
        ticket, reason = await self._ticket_of(repo, policy, pull)
        return SaidOn(repo, seen.now, policy, pull, ticket=ticket, reason=reason)

    async def _ticket_of(self, repo: Repository, policy: Policy, pull: Pull) -> tuple[TicketId | None, str]:
        ledger = self._views.ledger_under(repo, policy)
        named = owner_of_branch(pull.head)
        for ticket in dict.fromkeys(t for t in (named, linked_issue_of(pull.body)) if t is not None):
            found = await ledger.read(ticket)
            if not isinstance(found, Standing):
                # Its ledger cannot be read, or nobody claimed it yet: the branch's name says whose it is meant to be.
                if ticket == named:
                    return ticket, ""
                continue
            if found.record.branch == pull.head:
                return ticket, ""
        for comment in await repo.find_comments(pull.number, HANDOFF):
            told = ticket_of_comment(comment.body)
            shown = await ledger.read(told) if told is not None else None
            if isinstance(shown, Standing) and shown.record.branch == pull.head:
                return told, ""
        return None, f"#{pull.number} is no pull request of a ticket's own, and of no release"
