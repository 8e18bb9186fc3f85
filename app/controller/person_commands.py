"""Carrying out what a person says about a ticket: on hold, off hold, cancelled, taken over, moved, landed, accepted.

Each word is one compare-and-set with the command's id in it. What if it happened and we did not hear: the id, or the
state itself, says so, and the same answer is given. What if two of us do it: one commit is won, the other finds the id.
No lease is involved: a person's word counts whoever holds the ticket. Where a merge may still come the write fences it
off, and whoever said the word is answered only once it is known which of the two came first (R12): "landed" is an
answer too.
"""

import asyncio
import random
from dataclasses import dataclass
from typing import Literal

import structlog

from app.controller.briefing import frozen_refusal
from app.controller.ending import children_too
from app.controller.fencing_off import FencingOff, require_fenced, unresolved
from app.controller.holding import or_refuse, require_writable
from app.controller.journal import Journaled
from app.controller.view import View, Views
from app.domain.command_noted import command, known, noted
from app.domain.fence_commit import may_still_merge
from app.domain.issue_gate import no_ticket
from app.domain.observation import Branch
from app.domain.outcome import Blocked, Code, Refused
from app.domain.person_verbs import Grounds, Heard, Verb
from app.domain.policy import Policy
from app.domain.record import Record
from app.domain.ticket_id import TicketId
from app.ledger.api import Undecided
from app.ledger.reading import Standing

TRIES = 10

VerbName = Literal["hold", "unhold", "cancel", "recover", "takeover", "retarget", "land", "accept"]

log = structlog.get_logger()


@dataclass(frozen=True)
class Word:
    """One command: `id` is a comment's or one that its program made, `by` the person's login. `branch`: one that it
    names. `rule`: what it makes of a record.
    """

    id: str
    verb: VerbName
    by: str
    rule: Verb
    branch: str | None = None


@dataclass(frozen=True)
class Done:
    """The answer to a word, and the record as it is now. `changed`: this very call changed it, or would change it."""

    answer: str
    record: Record
    changed: bool


class PersonCommands:
    """Hears persons."""

    def __init__(self, views: Views, fencing: FencingOff) -> None:
        self._views = views
        self._fencing = fencing

    async def hear(self, owner: str, name: str, ticket: TicketId, word: Word, *, dry_run: bool = False) -> Done:
        """Carry a word out. With `dry_run` nothing is written. Raises Refused with what stands in the way, "landed" and
        "unresolved" included, and GitHubError.
        """
        for tried in range(TRIES):
            if tried > 1:
                await asyncio.sleep(random.uniform(0.05, 0.5))
            view = await self._views.look(owner, name, ticket)
            standing = _ticket(view)
            if (before := known(standing.record, word.id)) is not None:
                return await self._answered(view, Done(before.answer, standing.record, changed=False))
            require_writable(view)
            heard = or_refuse(word.rule(await self._grounds(view, standing, word)))
            if dry_run:
                return Done(heard.answer, heard.record, changed=bool(heard.because))
            if not heard.because:
                return await self._answered(view, Done(heard.answer, standing.record, changed=False))
            written = await self._write(view, standing, word, heard)
            if written is not None:
                log.info("person heard", ticket=str(ticket), verb=word.verb, by=word.by)
                return await self._answered(view, Done(heard.answer, written, changed=True))
        raise Refused(Blocked(Code.LOST_RACE, "others kept writing to the ticket", "say it again", retryable=True))

    async def _answered(self, view: View, done: Done) -> Done:
        """The answer, once it is the truth. Raises Refused where the ticket landed first, or nobody can say yet."""
        require_fenced(done.record, await self._fencing.outcome(view, done.record))
        return done

    async def _grounds(self, view: View, standing: Standing, word: Word) -> Grounds:
        branch: Branch | None = None
        if word.branch is not None:
            sha = await view.repo.commit_of_branch(word.branch)
            branch = Branch(word.branch, sha) if sha is not None else None
        return Grounds(
            record=standing.record,
            head=view.head_under(standing.record),
            observation=view.observation,
            policy=view.usable_policy or Policy(),
            branch=branch,
            heartbeat_at=view.heartbeat_at,
            run_ended=view.run_ended,
        )

    async def _write(self, view: View, standing: Standing, word: Word, heard: Heard) -> Record | None:
        record = noted(heard.record, command(word.id, word.verb, word.by, heard.answer, now=view.now))
        also = await children_too(view, heard.ending) if heard.ending is not None else ()
        outcome = await self._fencing.write(
            view, standing, record, heard.because, because=heard.because, also=also, to=heard.to
        )
        if isinstance(outcome, Journaled):
            return outcome.standing.record
        if isinstance(outcome, Undecided):
            raise Refused(_unwritten(outcome.reason, fences=bool(may_still_merge(record))))
        return None


def _ticket(view: View) -> Standing:
    if view.frozen is not None:
        raise Refused(frozen_refusal(view))
    standing = view.standing
    if standing is None:
        raise Refused(no_ticket(view.ticket))
    return standing


def _unwritten(reason: str, *, fences: bool) -> Blocked:
    if fences:
        return unresolved(reason)
    return Blocked(
        Code.UNKNOWN_OUTCOME,
        f"GitHub does not say whether it was written down: {reason}",
        "run the same command again: it says whether it was",
        retryable=True,
    )
