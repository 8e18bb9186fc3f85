"""The merge of a release: the one place from which anything is merged into the base of releases.

It is sent under a permit of the release's own ledger (the ownership protocol, R22), for one commit, and only after a
look of this very moment said once more all that let it through: base, head, checks, conversations, comments, roles.
What if it happened and we did not hear: the pull request is read, never asked to be merged again unread. What if two of
us do it: the permit has one author, and GitHub merges once. What if the ground for it goes while it is at GitHub's
door: `sha` binds the head; whoever takes a word back shows red, makes the PR a draft and reads it before answering; a
merge that comes all the same is an incident.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from app.controller.release_looks import ReleaseLooks, ReleaseView
from app.domain.merge_answer import Meaning, Seen, meaning_of
from app.domain.merge_next import ReadFirst, Reevaluate, TryAgain, after_answer
from app.domain.release_actions import MergeRelease
from app.domain.release_merge_next import InTheWay, is_green, may_merge
from app.domain.release_record import ReleasePermit
from app.domain.release_settling import (
    DeclinedRelease,
    MootRelease,
    NotSentRelease,
    ReleaseResult,
    UnknownRelease,
)
from app.domain.release_standing import standing_of
from app.github.errors import GitHubError, RateLimited
from app.github.merged_pulls import PullNow

log = structlog.get_logger()


class ReleaseMerger:
    """Sends merges of releases."""

    def __init__(self, looks: ReleaseLooks, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._looks = looks
        self._sleep = sleep

    async def merge(self, view: ReleaseView, permit: ReleasePermit, action: MergeRelease) -> ReleaseResult | None:
        """Carry out one permit of ours. None: it is merged, which the next look notes with all that belongs to it."""
        tries = 0
        while True:
            try:
                against = await self._against(view, permit, action)
            except GitHubError as silence:
                against = f"GitHub does not say whether it may still be merged: {silence}"
            if against is not None:
                log.info("release not merged", release=view.branch, pull=action.number, because=against)
                return NotSentRelease(permit)
            try:
                reply = await view.repo.merge_release(action)
            except RateLimited:
                return NotSentRelease(permit)
            except GitHubError as refusal:
                return DeclinedRelease(permit, str(refusal), view.now)
            answer = meaning_of(reply.status, reply.message)
            log.info("release merge answered", release=view.branch, status=reply.status, meaning=answer.meaning)
            step = after_answer(answer, wanted_sha=action.head_sha, wanted_base=action.base, tries=tries)
            now: PullNow | None = None
            if isinstance(step, ReadFirst):
                try:
                    now = await view.repo.pull_now(action.number)
                except GitHubError as silence:
                    log.warning("release merge not read", release=view.branch, error=str(silence))
                    return UnknownRelease(permit)
                if now.merged:
                    return None
                seen = Seen(now.merged, now.head_sha, now.base)
                step = after_answer(answer, wanted_sha=action.head_sha, wanted_base=action.base, tries=tries, seen=seen)
            if reply.status is None or reply.status >= 500 or answer.meaning is Meaning.MERGED:
                # It may still come, or GitHub says that it came and a reading shows it late: a later look settles it.
                return UnknownRelease(permit)
            if isinstance(step, Reevaluate):
                moved = now is None or now.head_sha != action.head_sha
                return MootRelease(permit) if moved else DeclinedRelease(permit, step.reason, view.now)
            if not isinstance(step, TryAgain):
                return DeclinedRelease(permit, answer.words or "no reason given", view.now)
            tries += 1
            await self._sleep(step.after.total_seconds())

    async def _against(self, view: ReleaseView, permit: ReleasePermit, action: MergeRelease) -> str | None:
        """What speaks against sending it at this moment, looked up afresh; None where nothing does."""
        place = await self._looks.place(view.repo.owner, view.repo.name)
        fresh = await self._looks.look(place, view.branch)
        if isinstance(fresh, str):
            return fresh
        record = fresh.record
        if record is None:
            return fresh.frozen.reason if fresh.frozen is not None else "the release's ledger does not stand"
        if not any((p.id, p.author) == (permit.id, permit.author) for p in record.open):
            return "its permit is gone"
        if record.asked is None or record.asked.id != action.asked_by:
            return "nobody asks for it any more"
        standing = standing_of(record, fresh.observation, fresh.policy)
        way = may_merge(record.asked, standing, fresh.observation, fresh.policy)
        if isinstance(way, InTheWay):
            return way.reason
        pull = standing.pull
        meant = (action.number, action.head_sha, action.base)
        if pull is None or (pull.number, pull.head_sha, pull.base) != meant:
            return "the pull request is another one now"
        if pull.is_draft:
            return "it is a draft again"
        return None if is_green(fresh.observation.guard_runs, action.head_sha) else "the guard is not green"
