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
"""A word that is looked at so soon after it was said is taken to find the head that its author saw, where GitHub does
not say when that came.
"""


@dataclass(frozen=True)
class SaidOn:
    """A number and the policy that is in force where it is; None where none is. `seen`: GitHub's answer about it."""

    repo: Repository
    number: int
    seen: Observation
    policy: Policy | None

    @property
    def is_silent(self) -> bool:
        """Nothing is written here, not even an answer."""
        return self.policy is None or self.policy.mode is Mode.OBSERVE or self.seen.archived


@dataclass(frozen=True)
class Meant:
    """What the number means: a `ticket`, or a `release` by its trunk, never both; where neither, `reason` says why.
    `pull`: the pull request with this number.
    """

    ticket: TicketId | None = None
    release: str | None = None
    pull: Pull | None = None
    reason: str = ""


class SaidOns:
    """Finds out. All raise GitHubError where GitHub does not answer."""

    def __init__(self, views: Views) -> None:
        self._views = views

    async def look(self, owner: str, name: str, number: int) -> SaidOn:
        """A number as it stands now; one request, where the repository is known. Raises Gone where it is not there."""
        repo, _ = await self._views.ledger(owner, name)
        seen = await repo.observe(number, None, None)
        return SaidOn(repo, number, seen, (await self._views.policy_of(repo, seen)).policy)

    async def meant(self, on: SaidOn) -> Meant:
        """What is meant by what is said there."""
        if on.seen.issue is not None:
            return Meant(ticket=on.number)
        if not on.seen.is_pull_request:
            return Meant(reason=f"there is no Issue and no pull request #{on.number}")
        pull, policy = await on.repo.pull(on.number), on.policy or Policy()
        refs = refs_of(pull, on.repo.full_name)
        if class_of(refs, ground_of(on.seen, policy)).kind is PullClass.RELEASE:
            return Meant(release=pull.head, pull=pull)
        if not refs.own:
            return Meant(pull=pull, reason=f"#{pull.number} comes from another repository, so it is no ticket's")
        ticket = await self._ticket_of(on.repo, policy, pull)
        if ticket is not None:
            return Meant(ticket=ticket, pull=pull)
        return Meant(pull=pull, reason=f"#{pull.number} is no ticket's own pull request, and no release's")

    async def head_when_said(self, on: SaidOn, pull: Pull, said_at: datetime) -> str | None:
        """The head of a PR, where it certainly was the head when something was said. GitHub tells of a branch of this
        repository when it was moved; where it tells nothing, only what is looked at soon counts.
        """
        if pull.state != "OPEN":
            return None
        since = await on.repo.head_since(pull.head, pull.head_sha) if refs_of(pull, on.repo.full_name).own else None
        if since is None:
            return pull.head_sha if on.seen.now - said_at <= timedelta(seconds=SOON_S) else None
        # GitHub tells whole seconds: a push of the same one may have come after the word.
        return pull.head_sha if since < said_at else None

    async def generation(self, on: SaidOn, ticket: TicketId) -> int | None:
        """The ticket's present generation; None where no ledger of it can be read."""
        found = await self._views.ledger_under(on.repo, on.policy or Policy()).read(ticket)
        return found.record.generation if isinstance(found, Standing) else None

    async def _ticket_of(self, repo: Repository, policy: Policy, pull: Pull) -> TicketId | None:
        ledger = self._views.ledger_under(repo, policy)
        named = owner_of_branch(pull.head)
        for ticket in dict.fromkeys(t for t in (named, linked_issue_of(pull.body)) if t is not None):
            found = await ledger.read(ticket)
            if isinstance(found, Standing):
                if found.record.branch == pull.head:
                    return ticket
            elif ticket == named:
                # Its ledger cannot be read, or nobody claimed it yet: the branch's name says whose it is meant to be.
                return ticket
        for comment in await repo.find_comments(pull.number, HANDOFF):
            told = ticket_of_comment(comment.body)
            shown = await ledger.read(told) if told is not None else None
            if isinstance(shown, Standing) and shown.record.branch == pull.head:
                return told
        return None
