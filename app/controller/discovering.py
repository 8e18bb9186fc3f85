"""Finding what no event told: Issues that are tickets by label or branch, and pull requests of nobody without a check.

One list of labelled Issues, one of open pull requests and one of branches, each in pages of a hundred, at most
`MOST_PAGES` together for one look; a repository without a policy, or one that only observes, costs one request. What
comes of it is pokes, and check-runs of pull requests of nobody. What was looked at is remembered and not asked about
again while nothing about it changed; losing that memory costs one look more.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from app.controller.others import Others
from app.controller.pokes import PokeStore
from app.controller.turn import Ended
from app.controller.view import Views
from app.domain.branches import owner_of_branch
from app.domain.keys import RepositoryKey, TicketKey
from app.domain.observation import Branch, Observation
from app.domain.others_check import OpenPull, is_nobodys
from app.domain.policy import PATH, Mode, Policy
from app.domain.pull_class import Ground
from app.domain.ticket_id import TicketId, number_of
from app.github.discovery import Discovered, LabelledIssue, ListedPull, Page
from app.github.repository import Repository

MOST_PAGES = 12
MOST_POKED = 50
"""Numbers that one look pokes. What is left is poked by the next."""
AGAIN_AFTER_S = 6 * 3600
"""A number that was looked at in vain is looked at again after this long: what spoke against it need not send a word,
such as a Project's field.
"""
_KEPT = 256
_KEPT_NUMBERS = 4096

log = structlog.get_logger()


@dataclass
class _Memory:
    """What a repository showed. `at`: when it was last looked through; `left`: more numbers were found than were poked;
    `since`: pull requests untouched since then were all answered; `under`: by which rules; `looked_at`: what each
    number was like when it was poked.
    """

    label: str | None = None
    by_branch: bool = False
    at: datetime | None = None
    left: bool = False
    since: datetime | None = None
    under: str = ""
    looked_at: OrderedDict[int, str] = field(default_factory=OrderedDict)


@dataclass(frozen=True)
class _Lists:
    """Everything of one look. `whole`: every Issue and branch was read."""

    first: Discovered
    issues: tuple[LabelledIssue, ...]
    pulls: tuple[ListedPull, ...]
    branches: tuple[Branch, ...]
    whole: bool
    pulls_done: bool


class Discovering:
    """Looks at repositories as a whole."""

    def __init__(self, views: Views, pokes: PokeStore, others: Others) -> None:
        self._views = views
        self._pokes = pokes
        self._others = others
        self._known: OrderedDict[int, _Memory] = OrderedDict()

    async def is_due(self, owner: str, name: str) -> bool:
        """Whether the repository is to be looked through though nothing of it differs. Raises GitHubError."""
        repo, _ = await self._views.ledger(owner, name)
        memory = self._known.get(repo.id)
        if memory is None or memory.left or memory.at is None:
            return True
        return (self._views.now() - memory.at).total_seconds() > AGAIN_AFTER_S

    async def sweep(self, owner: str, name: str, active: Collection[TicketId]) -> int:
        """Poke what is found, the repository itself where pull requests wait for an answer; returns how many tickets.
        `active`: the tickets in progress, which are poked anyway. Raises GitHubError.
        """
        repo, _ = await self._views.ledger(owner, name)
        found = await self._look(repo, active)
        if found is None:
            return 0
        poked, pulls, ground, policy, newest = found
        if self._others.unanswered(repo, pulls, ground, policy):
            await self._pokes.poke(str(RepositoryKey(repo.full_name)))
        elif newest is not None:
            self._memory(repo).since = newest
        return poked

    async def bring_right(self, owner: str, name: str, active: Collection[TicketId]) -> Ended:
        """The same, and answer for the pull requests of nobody. Raises GitHubError."""
        repo, _ = await self._views.ledger(owner, name)
        found = await self._look(repo, active)
        if found is None:
            return Ended(None, "the repository's policy allows no writes")
        poked, pulls, ground, policy, newest = found
        ended = await self._others.answer(repo, pulls, ground, policy)
        if ended.again_at is None and newest is not None:
            self._memory(repo).since = newest
        return Ended(ended.again_at, f"{poked} tickets were found; {ended.reason}")

    async def _look(
        self, repo: Repository, active: Collection[TicketId]
    ) -> tuple[int, list[OpenPull], Ground, Policy, datetime | None] | None:
        memory = self._memory(repo)
        first = await repo.discover(memory.label, Page(), Page(), Page(more=_needs_branches(memory)), PATH)
        policy = await self._policy(repo, first)
        memory.at, memory.left = first.now, False
        if policy is None or policy.mode is Mode.OBSERVE or first.archived:
            memory.label, memory.by_branch = None, False
            return None
        ground = Ground(first.default_branch, policy.release.into or first.default_branch, policy.trunks)
        under = f"{ground} {policy.release.exclusive} {policy.main_exceptions}"
        if memory.under != under:
            memory.under, memory.since = under, None
        lists = await self._lists(repo, memory, first, policy)
        tickets = {number_of(t) for t in active} | {issue.number for issue in lists.issues}
        owned = {b.name: owner_of_branch(b.name) for b in lists.branches}
        if policy.enroll.branch:
            tickets |= {number_of(t) for t in owned.values() if t is not None}
        poked = await self._poke(repo, memory, lists, policy, active)
        await self._poke_doubtful(repo, memory, lists, tickets)
        pulls = [p.pull for p in lists.pulls if is_nobodys(p.pull.refs, tickets) and _is_sure(p.pull, lists, policy)]
        newest = max((p.updated_at for p in lists.pulls), default=None) if lists.pulls_done else None
        return poked, pulls, ground, policy, newest

    async def _policy(self, repo: Repository, seen: Discovered) -> Policy | None:
        shown = Observation(
            now=seen.now,
            repository_id=repo.id,
            owner=repo.owner,
            name=repo.name,
            default_branch=seen.default_branch,
            default_head=seen.default_head,
            policy_text=seen.policy_text,
            issue=None,
        )
        return (await self._views.policy_of(repo, shown)).policy

    async def _lists(self, repo: Repository, memory: _Memory, first: Discovered, policy: Policy) -> _Lists:
        """All pages that are needed and allowed. The first look after a start does not know the label yet."""
        knew_label, knew_branches = memory.label == policy.enroll.label, _needs_branches(memory)
        memory.label, memory.by_branch = policy.enroll.label, policy.enroll.branch
        issues, branches = list(first.issues) if knew_label else [], list(first.branches)
        pulls = list(first.pulls)
        next_issue = first.next_issue if knew_label else Page(more=memory.label is not None)
        next_branch = first.next_branch if knew_branches else Page(more=_needs_branches(memory))
        next_pull = _next(first.next_pull, pulls, memory)
        for _ in range(MOST_PAGES - 1):
            if not (next_issue.more or next_branch.more or next_pull.more):
                break
            page = await repo.discover(memory.label, next_issue, next_pull, next_branch, PATH)
            issues += page.issues
            pulls += page.pulls
            branches += page.branches
            next_issue, next_branch = page.next_issue, page.next_branch
            next_pull = _next(page.next_pull, list(page.pulls), memory)
        whole = not (next_issue.more or next_branch.more)
        if not whole:
            log.warning("repository not read to its end", repository=repo.full_name, issues=len(issues))
        return _Lists(first, tuple(issues), tuple(pulls), tuple(branches), whole, not next_pull.more)

    async def _poke(
        self, repo: Repository, memory: _Memory, lists: _Lists, policy: Policy, active: Collection[TicketId]
    ) -> int:
        known = {number_of(t) for t in active}
        # What is pushed to a linked branch of another name is told to nobody by its name.
        linked = {issue.number for issue in lists.issues if issue.linked}
        bucket = int(lists.first.now.timestamp() // AGAIN_AFTER_S)
        waiting = [
            (number, f"{state} {bucket}")
            for number, state in _candidates(lists, policy)
            if (number not in known or number in linked) and memory.looked_at.get(number) != f"{state} {bucket}"
        ]
        found, memory.left = waiting[:MOST_POKED], len(waiting) > MOST_POKED
        await self._pokes.poke(*(str(TicketKey(repo.full_name, number)) for number, _ in found))
        for number, state in found:
            memory.looked_at[number] = state
            memory.looked_at.move_to_end(number)
        while len(memory.looked_at) > _KEPT_NUMBERS:
            memory.looked_at.popitem(last=False)
        return len(found)

    async def _poke_doubtful(self, repo: Repository, memory: _Memory, lists: _Lists, tickets: Collection[int]) -> None:
        """Pull requests without a run of ours whose branch is named after a ticket: the ticket's own gets its run by
        the ticket, and of another branch only its own look can tell.
        """
        doubtful = {
            p.pull.number: p.pull.head_sha
            for p in lists.pulls
            if not p.pull.runs and not is_nobodys(p.pull.refs, tickets)
        }
        new = [number for number, sha in doubtful.items() if memory.looked_at.get(number) != sha][:MOST_POKED]
        await self._pokes.poke(*(str(TicketKey(repo.full_name, number)) for number in new))
        memory.looked_at |= {number: doubtful[number] for number in new}

    def _memory(self, repo: Repository) -> _Memory:
        memory = self._known.setdefault(repo.id, _Memory())
        self._known.move_to_end(repo.id)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return memory


def _needs_branches(memory: _Memory) -> bool:
    return memory.label is not None or memory.by_branch


def _next(page: Page, pulls: list[ListedPull], memory: _Memory) -> Page:
    """The list is sorted by change: behind what was answered before nothing is new."""
    reached = memory.since is not None and bool(pulls) and pulls[-1].updated_at < memory.since
    return Page(more=False) if reached else page


def _candidates(lists: _Lists, policy: Policy) -> Iterator[tuple[int, str]]:
    """Numbers that may be tickets with work, each with what it is like now."""
    named: dict[int, list[str]] = {}
    for branch in lists.branches:
        owner = owner_of_branch(branch.name)
        if isinstance(owner, int):
            named.setdefault(owner, []).append(branch.sha)
    labelled = {issue.number: issue for issue in lists.issues}
    for number, issue in labelled.items():
        heads = [*issue.linked, *named.get(number, ())]
        # Without a branch there is nothing to do, unless it is among those that were not read.
        if heads or not lists.whole:
            yield number, f"{issue.updated_at.isoformat()} {sorted(heads)}"
    if policy.enroll.branch:
        for number, heads in named.items():
            if number not in labelled:
                yield number, str(sorted(heads))


def _is_sure(pull: OpenPull, lists: _Lists, policy: Policy) -> bool:
    """Whether the Issue that the head's name tells is known to be no ticket."""
    owner = owner_of_branch(pull.refs.head) if pull.refs.own else None
    return owner is None or lists.whole or (policy.enroll.label is None and not policy.enroll.branch)
