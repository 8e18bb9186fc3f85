"""Pull requests of nobody: their check-run is answered at once, and nothing else of them is ever touched.

No permit is involved (the ownership protocol, R18): a run is born completed, and says only that the App has no part in
the pull request, or that the policy keeps it out of the base of releases. What if it happened and we did not hear: the
run is looked for, by name, commit and App, before one is made. What if two of us do it: both say the same. There is no
lease; should the commit become a ticket's, that ticket's run is newer and is the one that counts.

Anybody who may write contents can delete or damage a ledger. Its ticket's branch is not nobody's then: no head of it is
called fine while a witness of the ledger is known (the ownership protocol, R20). A branch of any name may be a ticket's
too, because a person linked it to the Issue: the ticket's handoff comment on the pull request tells.
"""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import timedelta

import structlog

from app.controller.pokes import PokeStore
from app.controller.turn import Ended
from app.controller.view import NoIssue, View, Views
from app.domain.branches import owner_of_branch
from app.domain.enrolment import Enrolled, enrolment
from app.domain.external_id import parse
from app.domain.fencing import is_passive
from app.domain.handoff_marker import HANDOFF, ticket_of_comment
from app.domain.keys import RepositoryKey, TrunkKey, is_trunk_name
from app.domain.others_check import OTHERS_ID, Answer, OpenPull, answers
from app.domain.policy import Policy
from app.domain.pull_class import Ground, ground_of
from app.domain.ticket_id import TicketId, number_of
from app.domain.trunks import is_trunk
from app.github.checks import CheckRunWrite
from app.github.errors import NotFound, Validation
from app.github.repository import Repository
from app.ledger.reading import Standing

MOST_ANSWERED = 20
"""Check-runs that one run of a key writes. GitHub bears 80 creations a minute, and tickets come first."""
AFTER_SOME = timedelta(seconds=20)
_KEPT = 8192

log = structlog.get_logger()


class Others:
    """Answers for pull requests of nobody. Remembers what it answered; losing that costs one look for each."""

    def __init__(self, views: Views, pokes: PokeStore) -> None:
        self._views = views
        self._pokes = pokes
        self._done: OrderedDict[tuple[int, str], str] = OrderedDict()

    async def one(self, view: View, policy: Policy) -> Ended:
        """One turn for a number that is a pull request's. Raises GitHubError."""
        pulls = await view.repo.open_pulls_with(number_of(view.ticket))
        ground = ground_of(view.observation, policy)
        if not pulls:
            return Ended(None, "not a ticket: the pull request is not open")
        await self._pokes.poke(*_keys_of_releases(view.repo.full_name, pulls, ground))
        for pull in pulls:
            if await self._is_a_tickets(view, pull, policy):
                return Ended(None, f"not a ticket by itself: #{pull.number} comes from a ticket's branch")
        return await self.answer(view.repo, pulls, ground, policy)

    async def answer(self, repo: Repository, pulls: Sequence[OpenPull], ground: Ground, policy: Policy) -> Ended:
        """Bring the check-runs of these pull requests, which are nobody's, in line. Raises GitHubError."""
        wanted = self.unanswered(repo, pulls, ground, policy)
        known = {pull.number: pull for pull in pulls}
        left = 0
        for answer in wanted[:MOST_ANSWERED]:
            owner = None
            if answer.conclusion == "success":
                owner = await self._owner(repo, [known[n] for n in answer.numbers], policy)
            if owner is None:
                await self._write(repo, answer)
                continue
            left += 1
            # Asked once: who cannot be answered must not take the turn of those who can.
            self._remember(repo, answer.head_sha, _said(answer))
            log.info("head left to its ticket", repository=repo.full_name, pulls=answer.numbers, ticket=str(owner))
        if len(wanted) > MOST_ANSWERED:
            again_at = self._views.now() + AFTER_SOME
            return Ended(again_at, f"{len(wanted) - MOST_ANSWERED} more heads are to be answered")
        if left:
            return Ended(None, f"{len(wanted) - left} heads were answered; {left} are for their tickets to speak about")
        return Ended(None, f"not a ticket; {len(wanted)} heads were answered")

    def unanswered(
        self, repo: Repository, pulls: Sequence[OpenPull], ground: Ground, policy: Policy
    ) -> tuple[Answer, ...]:
        """What is still to be written for these pull requests."""
        wanted = answers(pulls, ground, policy)
        return tuple(a for a in wanted if self._done.get((repo.id, a.head_sha)) != _said(a))

    async def _is_a_tickets(self, view: View, pull: OpenPull, policy: Policy) -> bool:
        owner = owner_of_branch(pull.refs.head) if pull.refs.own else None
        if owner is None:
            return False
        reading = await view.ledger.read(owner)
        if isinstance(reading, Standing) and reading.place == "active":
            work = reading.record.work
            return work is None or work.branch == pull.refs.head
        issue = await self._views.look(view.repo.owner, view.repo.name, number_of(owner))
        return isinstance(enrolment(issue.observation, policy), Enrolled)

    async def _owner(self, repo: Repository, pulls: Sequence[OpenPull], policy: Policy) -> TicketId | None:
        """The ticket that one of these pull requests is of all the same."""
        for pull in pulls:
            if not pull.refs.own:
                continue
            named = owner_of_branch(pull.refs.head)
            owner = named if named is not None else await self._told_on(repo, pull)
            if owner is None:
                continue
            try:
                seen = await self._views.look(repo.owner, repo.name, owner)
            except NoIssue:
                continue
            if seen.frozen is not None:
                if seen.frozen.is_ours:
                    return owner
                continue
            standing = seen.standing
            if named is None and standing is not None and standing.place == "active":
                is_its_branch = standing.record.branch == pull.refs.head
                is_one = not is_passive(standing.record) or isinstance(enrolment(seen.observation, policy), Enrolled)
                if is_its_branch and is_one:
                    return owner
        return None

    async def _told_on(self, repo: Repository, pull: OpenPull) -> TicketId | None:
        """The ticket whose handoff comment, written by us, stands on a pull request."""
        comments = await repo.find_comments(pull.number, HANDOFF)
        return next((t for c in comments if (t := ticket_of_comment(c.body)) is not None), None)

    async def _write(self, repo: Repository, answer: Answer) -> None:
        run = CheckRunWrite(
            head_sha=answer.head_sha,
            status="completed",
            conclusion=answer.conclusion,
            external_id=OTHERS_ID,
            title=answer.title,
            summary=answer.summary,
            completed_at=self._views.now(),
        )
        try:
            id = answer.run if answer.run is not None else await self._standing(repo, answer)
            if id is None:
                await repo.create_check_run(run)
            elif id > 0:
                await repo.update_check_run(id, run)
        except (NotFound, Validation) as refusal:
            # The commit is gone, or is none that GitHub lets us speak about: another head brings another answer.
            log.warning("head not answered", repository=repo.full_name, sha=answer.head_sha, answer=str(refusal))
        log.info("head answered", repository=repo.full_name, pulls=answer.numbers, conclusion=answer.conclusion)
        self._remember(repo, answer.head_sha, _said(answer))

    async def _standing(self, repo: Repository, answer: Answer) -> int | None:
        """A run of ours on the head that the list did not show: its id, 0 where there is nothing to write to it."""
        found = await repo.find_check_runs(answer.head_sha)
        if any(parse(run.external_id) for run in found):
            return 0
        newest = max(found, key=lambda run: run.id, default=None)
        if newest is None:
            return None
        return 0 if (newest.conclusion, newest.title) == (answer.conclusion, answer.title) else newest.id

    def _remember(self, repo: Repository, about: str, said: str) -> None:
        self._done[repo.id, about] = said
        self._done.move_to_end((repo.id, about))
        while len(self._done) > _KEPT:
            self._done.popitem(last=False)


def _keys_of_releases(full_name: str, pulls: Sequence[OpenPull], ground: Ground) -> list[str]:
    """What else is to be looked at because of these: releases that they may bring, and the guard on what goes where
    releases go.
    """
    trunks = {p.refs.head for p in pulls if p.refs.own and is_trunk(p.refs.head, ground.trunks, ground.default_branch)}
    keys = [str(TrunkKey(full_name, name)) for name in sorted(trunks) if is_trunk_name(name)]
    goes_there = any(p.refs.base == ground.into and p.refs.head not in trunks for p in pulls)
    return [*keys, *([str(RepositoryKey(full_name))] if goes_there else [])]


def _said(answer: Answer) -> str:
    return f"{answer.conclusion} {answer.title}"
