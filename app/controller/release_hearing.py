"""Carrying out what a person says about a release: authorized, revoked, to be merged.

Each word is one compare-and-set with the command's id in it. What if it happened and we did not hear: the id says so,
and the same answer is given. What if two of us do it: one commit is won, the other finds the id. A word that takes
something back while a merge may be under way is answered only after the guard was red, the PR a draft and read (the
ownership protocol, R22): "merged" is an answer too. A merge is answered with what became of it, not with a hope.
"""

import asyncio
import random
from dataclasses import dataclass

import structlog

from app.controller.release_journal import Noted, ReleaseJournal
from app.controller.release_looks import ReleaseLooks, ReleaseView, Speaker
from app.controller.releasing import Releasing
from app.domain.command_noted import Command, command, known, noted
from app.domain.keys import TrunkKey, is_trunk_name
from app.domain.model import instant_text
from app.domain.outcome import Blocked, Code, Refused
from app.domain.plain_text import one_line
from app.domain.release_comment import release_comment, release_marker
from app.domain.release_frozen import HAVE_IT_BEGUN_ANEW
from app.domain.release_guard import GUARD_NAME
from app.domain.release_merge_next import ASKED_FOR, InTheWay, may_merge
from app.domain.release_record import AskedToMerge, Person, ReleaseRecord, Source, begun
from app.domain.release_settling import DeclinedRelease, ReleaseResult
from app.domain.release_standing import standing_of
from app.domain.release_verbs import HeardRelease, ReleaseGrounds, ReleaseVerb
from app.github.errors import GitHubError, NotFound
from app.github.merged_pulls import PullNow
from app.ledger.api import Undecided

TRIES = 10

log = structlog.get_logger()


@dataclass(frozen=True)
class DoneRelease:
    """The answer to a word about a release, and the record as it is now. `changed`: this very call changed it, or would
    change it.
    """

    answer: str
    record: ReleaseRecord
    changed: bool


@dataclass(frozen=True)
class ReleaseWord:
    """One command: `id` is its own, `rule` what it makes of a record. `source`: the comment in which it stands."""

    id: str
    verb: str
    by: Person
    rule: ReleaseVerb
    source: Source | None = None


class ReleaseHearing:
    """Hears persons about releases."""

    def __init__(self, looks: ReleaseLooks, journal: ReleaseJournal, releasing: Releasing) -> None:
        self._looks = looks
        self._journal = journal
        self._releasing = releasing

    async def hear(
        self, owner: str, name: str, pull: int, branch: str, word: ReleaseWord, *, dry_run: bool = False
    ) -> DoneRelease:
        """Carry out a word about the release of a branch, said on its PR. With `dry_run` nothing is written. Raises
        Refused with what stands in the way, "merged" and "unresolved" included, and GitHubError.
        """
        speaker = Speaker(word.by, word.source.comment_id if word.source is not None else None)
        for tried in range(TRIES):
            if tried > 1:
                await asyncio.sleep(random.uniform(0.05, 0.5))
            view = await self._view(owner, name, branch, speaker)
            key = TrunkKey(view.repo.full_name, branch)
            record = view.record or begun(branch, view.observation.into_name)
            before = known(record, word.id)
            if before is not None:
                return await self._answered(view, key, word, pull, before, changed=False)
            heard = word.rule(ReleaseGrounds(record, view.observation, view.policy, pull))
            if isinstance(heard, Blocked):
                raise Refused(heard)
            if dry_run:
                return DoneRelease(heard.answer, heard.record, changed=bool(heard.because))
            if not heard.because:
                if heard.withdraws:
                    await self._take_back(view, pull)
                # Somebody asked for the same merge before: what that waits for is the answer, not that it is done.
                waits = record.asked if word.verb == "merge-release" else None
                answer = _not_yet(view, record, waits) if waits is not None else heard.answer
                return DoneRelease(answer, record, changed=False)
            written = await self._write(view, word, heard)
            if written is None:
                continue
            log.info("person heard", release=branch, verb=word.verb, by=word.by.login)
            said = command(word.id, word.verb, word.by.login, heard.answer, now=view.now)
            if heard.withdraws:
                await self._take_back(written, pull)
            elif word.verb == "revoke-release":
                await self._releasing.show_red(written)
            return await self._answered(written, key, word, pull, said, changed=True)
        raise Refused(Blocked(Code.LOST_RACE, "others kept writing to the release", "say it again", retryable=True))

    async def status(self, owner: str, name: str, pull: int) -> str:
        """How a release stands, in Markdown. Raises Refused, GitHubError."""
        branch = await self.branch(owner, name, pull)
        view = await self._view(owner, name, branch, None)
        record = view.record or begun(branch, view.observation.into_name)
        standing = standing_of(record, view.observation, view.policy)
        text = release_comment(record, standing, view.observation, view.policy)
        return text.removeprefix(f"{release_marker(branch)}\n").strip()

    async def branch(self, owner: str, name: str, pull: int) -> str:
        """The branch whose PR has this number. Raises Refused where it can be no release's, GitHubError."""
        place = await self._looks.place(owner, name)
        try:
            found = await place.repo.pull(pull)
        except NotFound as missing:
            reason = f"there is no pull request #{pull}"
            raise Refused(Blocked(Code.NOT_FOUND, reason, "say it on the release PR")) from missing
        own = (found.head_repository or "").lower() == place.repo.full_name.lower()
        if not own or not is_trunk_name(found.head):
            raise Refused(Blocked(Code.NOT_FOUND, f"#{pull} is no release PR", "say it on the release PR"))
        return found.head

    async def _view(self, owner: str, name: str, branch: str, speaker: Speaker | None) -> ReleaseView:
        view = await self._looks.look(await self._looks.place(owner, name), branch, speaker)
        if isinstance(view, str):
            raise Refused(Blocked(Code.NOT_FOUND, view, "say it on the release PR of a trunk that the policy names"))
        if view.frozen is not None:
            raise Refused(Blocked(Code.FROZEN, view.frozen.reason.rstrip("."), HAVE_IT_BEGUN_ANEW))
        return view

    async def _write(self, view: ReleaseView, word: ReleaseWord, heard: HeardRelease) -> ReleaseView | None:
        said = command(word.id, word.verb, word.by.login, heard.answer, now=view.now)
        outcome = await self._journal.write(view, noted(heard.record, said), word.verb)
        if isinstance(outcome, Noted):
            return outcome.view
        if isinstance(outcome, Undecided):
            reason = f"GitHub does not say whether it was written down: {outcome.reason}"
            remedy = "say it again: the answer says whether it was"
            raise Refused(Blocked(Code.UNKNOWN_OUTCOME, reason, remedy, retryable=True))
        return None

    async def _take_back(self, view: ReleaseView, pull: int) -> None:
        """Raises Refused where the release was merged first, or nobody can say yet."""
        # The merge under way may be of another PR of this release than the one that the word was said on.
        sent = [permit.target.number for permit in view.record.merges_open] if view.record is not None else []
        for number in dict.fromkeys((pull, *(n for n in sent if n is not None))):
            seen = view.observation.pull(number)
            if seen is None and number not in sent:
                continue
            try:
                merged = await self._releasing.take_back(view, number, seen.node_id if seen is not None else None)
                now = await view.repo.pull_now(number) if merged else None
            except GitHubError as silence:
                reason = f"whether #{number} was merged cannot be read now: {silence}"
                remedy = "what was authorized is revoked; look at the PR, and say it again to be told"
                raise Refused(Blocked(Code.UNKNOWN_OUTCOME, reason, remedy, retryable=True)) from silence
            if now is not None:
                raise Refused(_merged(number, now))

    async def _answered(
        self, view: ReleaseView, key: TrunkKey, word: ReleaseWord, pull: int, said: Command, *, changed: bool
    ) -> DoneRelease:
        """The answer, once it is the truth. Raises Refused where something else came of it."""
        record = view.record or begun(view.branch, view.observation.into_name)
        if word.verb != "merge-release":
            return DoneRelease(said.answer, record, changed)
        came: list[ReleaseResult] = []
        if record.asked is not None and record.asked.id == word.id:
            await self._releasing.run(key, came)
            seen = await self._looks.look(view.place, view.branch)
            if not isinstance(seen, str) and seen.record is not None:
                view, record = seen, seen.record
        merged = record.was_merged(pull)
        if merged is not None and merged.ours:
            words = f"PR #{pull} is merged at {merged.head_sha} into {merged.base}"
            return DoneRelease(
                words if merged.merge_sha is None else f"{words}, as {merged.merge_sha}", record, changed
            )
        if merged is not None:
            raise Refused(_merged(pull, await view.repo.pull_now(pull)))
        if record.asked is not None and record.asked.id == word.id:
            return DoneRelease(_not_yet(view, record, record.asked), record, changed)
        raise Refused(_not_merged(view, record, pull, came))


def _merged(pull: int, now: PullNow) -> Blocked:
    reason = f"PR #{pull} was merged into {now.base} at {now.head_sha} before that"
    return Blocked(Code.LANDED, reason, "nothing is left to do here; to take it out again is a new pull request")


def _not_yet(view: ReleaseView, record: ReleaseRecord, asked: AskedToMerge) -> str:
    """What a wish that still stands waits for. Raises Refused where the merge was sent and nobody heard what came of
    it.
    """
    if record.merges_open:
        reason = f"whether PR #{asked.pull} was merged is not known: GitHub did not answer"
        raise Refused(Blocked(Code.UNKNOWN_OUTCOME, reason, "wait: the PR is read again", retryable=True))
    way = may_merge(asked, standing_of(record, view.observation, view.policy), view.observation, view.policy)
    missing = way.reason if isinstance(way, InTheWay) else f"its check `{GUARD_NAME}` is not green, and says why"
    until = instant_text(asked.at + ASKED_FOR)
    words = f"PR #{asked.pull} is not merged yet: {missing}"
    return f"{words}. It is merged at {asked.head_sha} once that has passed; until {until} that is waited for"


def _not_merged(view: ReleaseView, record: ReleaseRecord, pull: int, came: list[ReleaseResult]) -> Blocked:
    """Why a wish for a merge that was taken up came to nothing."""
    refused = [r.reason for r in came if isinstance(r, DeclinedRelease) and r.permit.kind == "release_merge"]
    of_this = [p for p in record.open if p.kind == "release_merge" and p.target.number == pull]
    refused += [p.reason for p in of_this if p.reason is not None]
    if refused:
        reason = f"GitHub did not merge it: {one_line(refused[0])}"
        return Blocked(Code.FORBIDDEN, reason, "put that right, then say merge-release again")
    standing = standing_of(record, view.observation, view.policy)
    reason = getattr(standing.verdict, "reason", "what it rested on changed meanwhile")
    remedy = getattr(standing.verdict, "remedy", "say merge-release again")
    return Blocked(Code.FORBIDDEN, f"it was not merged: {reason}", remedy)
