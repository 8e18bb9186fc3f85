"""Keeping a ticket's PR and its line on the board as the record asks: draft state, linked Issue, assignees, labels,
reviewers, status. All of it is set to a value (class P of the ownership protocol, R3): what if it happened and we did
not hear, or two of us do it: the next look compares, and setting it again changes nothing. What if our lease is gone:
none of it names a holder, and the next look puts a stale value right.

What was put there is noted afterwards, so that what a person takes away again stays away. Accepted loss: a process that
dies in between sets such a thing once more.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from app.controller.journal import Journal, Journaled
from app.controller.view import View
from app.domain import board, drafts
from app.domain.board import decide_board
from app.domain.code_owners import Owner, owners_of, to_ask
from app.domain.linked_issue import linked_issue_of
from app.domain.metadata import put_there, with_link
from app.domain.noting import with_value
from app.domain.plan import Action, Note, Plan, SetDraft
from app.domain.policy import Policy
from app.domain.record import Projections
from app.domain.situation import ticket_pull
from app.domain.ticket_id import number_of
from app.domain.upkeep_actions import AddLabels, AskOwners, Assign, LinkIssue, RemoveLabel, SetBoardStatus
from app.github.errors import Forbidden, GraphQLFailed, NotFound, Validation
from app.github.metadata import ReviewRefused, ReviewRequested
from app.github.project_fields import FieldRefused
from app.ledger.api import Lost, Undecided
from app.ledger.reading import Standing

log = structlog.get_logger()


MOST_ASKED_SINGLY = 10
"""Of owners whom GitHub would not ask all at once, so many are asked one by one."""


@dataclass(frozen=True)
class _Done:
    """What is known of the images now, and how many writes that took."""

    at: Projections
    writes: int = 1


class Upkeep:
    """Carries out what of a plan keeps a PR and the board in line."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def carry_out(self, view: View, standing: Standing, plan: Plan) -> int:
        """Returns the number of writes. Raises GitHubError where GitHub does not answer."""
        before = standing.record.projections
        at, written = before, 0
        for action in plan:
            done = await self._one(view, at, action)
            at, written = done.at, written + done.writes
        if at != before:
            record = standing.record.model_copy(update={"projections": at})
            await self._journal.write(view, standing, record, "noted what was put onto the PR", when=view.now)
            written += 1
        return written

    async def after_the_end(
        self, view: View, standing: Standing, policy: Policy
    ) -> Journaled | Lost | Undecided | None:
        """Show on the board how the ticket ended. None where that is shown or nothing is to be shown."""
        plan = tuple(decide_board(standing.record, view.observation, policy))
        record = standing.record
        for action in plan:
            if isinstance(action, Note):
                record = with_value(record, action.value)
            done = await self._one(view, record.projections, action)
            record = record.model_copy(update={"projections": done.at})
        if record == standing.record:
            return None
        return await self._journal.write(view, standing, record, "shown on the board", when=view.now, to="done")

    async def _one(self, view: View, at: Projections, action: Action) -> _Done:
        match action:
            case SetDraft():
                return await self._set_draft(view, at, action)
            case RemoveLabel():
                await view.repo.remove_label(action.number, action.label)
                return _Done(at.model_copy(update={"drafting": at.drafting.model_copy(update={"label": None})}))
            case SetBoardStatus():
                return await self._set_status(view, at, action)
            case LinkIssue() | Assign() | AddLabels() | AskOwners():
                return await self._unless_refused(view, at, action)
        return _Done(at, 0)

    async def _unless_refused(
        self, view: View, at: Projections, action: LinkIssue | Assign | AddLabels | AskOwners
    ) -> _Done:
        """A refusal is told and not tried for ever; it must not keep the round from what else there is to do."""
        try:
            match action:
                case LinkIssue():
                    return await self._link(view, at, action)
                case Assign():
                    await view.repo.assign(action.number, action.logins)
                    return _Done(_put(at, action))
                case AddLabels():
                    return await self._label(view, at, action)
                case AskOwners():
                    return await self._ask_owners(view, at, action)
        except (Forbidden, Validation, NotFound) as refusal:
            log.warning("PR not brought in line", ticket=str(view.ticket), answer=str(refusal))
            return _Done(_put(at, action, refusal.message))

    async def _set_draft(self, view: View, at: Projections, action: SetDraft) -> _Done:
        try:
            await view.repo.set_draft(action.node_id, action.draft)
        except GraphQLFailed as refusal:
            log.warning("draft state not changed", ticket=str(view.ticket), answer=str(refusal))
            known = drafts.refused(at.drafting, action.draft, str(refusal), now=view.now)
            return _Done(at.model_copy(update={"drafting": known}))
        return _Done(at)

    async def _link(self, view: View, at: Projections, action: LinkIssue) -> _Done:
        # Read again right before: GitHub takes no expected text, and a person may be writing just now.
        body = await view.repo.body_of(action.number)
        if linked_issue_of(body) is not None:
            return _Done(at, 0)
        await view.repo.edit_body(action.number, with_link(body, number_of(view.ticket)))
        return _Done(_put(at, action))

    async def _label(self, view: View, at: Projections, action: AddLabels) -> _Done:
        labelled = await view.repo.add_labels(action.number, action.labels)
        # A label that the repository does not have is noted too: it is not looked for at every look.
        label = view.usable_policy.draft_label if view.usable_policy is not None else None
        if action.labels == (label,):
            return _Done(at.model_copy(update={"drafting": at.drafting.model_copy(update={"label": label})}))
        return _Done(_put(at, action), writes=1 if labelled.added else 0)

    async def _set_status(self, view: View, at: Projections, action: SetBoardStatus) -> _Done:
        number = number_of(view.ticket)
        reply = await view.repo.set_project_field(number, action.project, action.field, action.value)
        refused = reply.message if isinstance(reply, FieldRefused) else None
        if refused is not None:
            log.warning("status on the board not written", ticket=str(view.ticket), answer=refused)
        return _Done(at.model_copy(update={"board": board.written(at.board, action, refused)}))

    async def _ask_owners(self, view: View, at: Projections, action: AskOwners) -> _Done:
        """Ask once, all together; where GitHub refuses one of them, one by one."""
        asked = _put(at, action)
        pull = ticket_pull(view.record, view.observation) if view.record is not None else None
        if pull is None:
            return _Done(at, 0)
        owned = await view.repo.owned(action.number, action.base)
        owners = to_ask(
            await asyncio.to_thread(owners_of, owned.text, owned.files),
            organization=view.repo.owner,
            author=pull.author,
            passed_over=(*pull.reviewers, *(a.what for a in pull.acts if a.kind.startswith("review_"))),
        )
        if not owners:
            return _Done(asked, 0)
        reply = await _asked(view, action.number, owners)
        writes = 1
        if isinstance(reply, ReviewRefused) and len(owners) > 1:
            for owner in owners[:MOST_ASKED_SINGLY]:
                reply = await _asked(view, action.number, (owner,))
                writes += 1
        if isinstance(reply, ReviewRefused):
            log.info("owner not asked", ticket=str(view.ticket), answer=reply.message)
        return _Done(asked, writes)


async def _asked(view: View, number: int, owners: Sequence[Owner]) -> ReviewRequested | ReviewRefused:
    people = [owner.login for owner in owners if owner.team is None]
    teams = [owner.team for owner in owners if owner.team is not None]
    return await view.repo.request_reviewers(number, people, teams)


def _put(
    at: Projections, action: LinkIssue | Assign | AddLabels | AskOwners, refused: str | None = None
) -> Projections:
    return at.model_copy(update={"carried": put_there(at.carried, action, refused)})
