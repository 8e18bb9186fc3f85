"""The guarded writes of a release, each under its permit, and what their answers were; its merge is carried out by
`release_merging.py`.

What if it happened and we did not hear: the result stays open as unknown, and is looked for before anything is sent
again. What if two of us do it: a permit has one author, and GitHub refuses a second PR of one head and base; a second
comment is removed, of two Issues the oldest counts. What if our permit is gone: it is looked up before each send.
"""

import secrets
from collections.abc import Awaitable, Sequence
from datetime import timedelta

import structlog

from app.controller.release_journal import Noted
from app.controller.release_looks import ReleaseView
from app.controller.release_merging import ReleaseMerger
from app.domain.release_actions import (
    CreateIncident,
    CreateReleaseComment,
    CreateReleasePull,
    EditReleaseBase,
    GuardedRelease,
    MergeRelease,
    ReportOnRelease,
    target_of,
)
from app.domain.release_comment import release_comment, report_text
from app.domain.release_record import ReleasePermit
from app.domain.release_settling import (
    DeclinedRelease,
    MadeRelease,
    NotSentRelease,
    ReleaseResult,
    UnknownRelease,
)
from app.domain.release_standing import standing_of
from app.github.errors import GitHubError, RateLimited, Unanswered
from app.github.pull_edits import BaseRefused
from app.github.pulls import PullRefusal, PullRefused
from app.ledger.releases import ReleaseLedgerStanding

INCIDENT_SINCE = timedelta(days=1)
"""An incident's Issue is looked for among those touched since a day before; it is opened within minutes."""

log = structlog.get_logger()


def permit_for(action: GuardedRelease, *, author: str, round_id: str) -> ReleasePermit:
    """The permit that allows an action; its target is exactly what the probe searches for."""
    kind, target = target_of(action)
    made = ReleasePermit(id=secrets.token_hex(8), kind=kind, target=target, author=author, round=round_id)
    if isinstance(action, MergeRelease):
        return made.model_copy(update={"authorized_by": action.authorized_by, "asked_by": action.asked_by})
    return made


class ReleaseActor:
    """Sends what permits of a release allow, and looks for what they may have done."""

    def __init__(self, merger: ReleaseMerger) -> None:
        self._merger = merger

    async def send(self, noted: Noted, wanted: Sequence[tuple[ReleasePermit, GuardedRelease]]) -> list[ReleaseResult]:
        """Carry these out, each only while its permit stands at the ledger's head and is ours (the ownership protocol,
        R4).
        """
        results: list[ReleaseResult] = []
        for permit, action in wanted:
            if not noted.is_fresh and not await still_ours(noted.view, permit):
                results.append(NotSentRelease(permit))
                continue
            if isinstance(action, MergeRelease):
                found = await self._merger.merge(noted.view, permit, action)
            else:
                found = await _answered(noted.view, permit, self._send(noted.view, permit, action))
            if found is not None:
                log.info("release write", release=noted.view.branch, kind=permit.kind, result=type(found).__name__)
                results.append(found)
        return results

    async def probe(self, view: ReleaseView, permits: Sequence[ReleasePermit]) -> list[ReleaseResult]:
        """What stands already of these permits. Finding nothing says nothing. Raises GitHubError."""
        found: list[ReleaseResult] = []
        for permit in permits:
            number = await self._number(view, permit)
            if number is not None:
                found.append(MadeRelease(permit, number))
        return found

    async def _number(self, view: ReleaseView, permit: ReleasePermit) -> int | None:
        target = permit.target
        match permit.kind:
            case "release_pull_create":
                pulls = await view.repo.find_pulls(target.head or "", target.base or "", "open")
                return pulls[0].number if pulls else None
            case "release_base_edit" if target.number is not None:
                now = await view.repo.pull_now(target.number)
                return target.number if now.base == target.base else None
            case "release_comment_create" if target.number is not None:
                comments = await view.repo.find_comments(target.number, target.marker or "")
                return comments[0].id if comments else None
            case "incident_create" if target.marker is not None:
                return (await view.repo.own_issues([target.marker], view.now - INCIDENT_SINCE)).get(target.marker)
        # Whether a merge happened is what every look shows, with all that is to be noted of it.
        return None

    async def _send(self, view: ReleaseView, permit: ReleasePermit, action: GuardedRelease) -> ReleaseResult:
        match action:
            case CreateReleasePull():
                return await self._open(view, permit, action)
            case EditReleaseBase():
                return await self._edit_base(view, permit, action)
            case CreateReleaseComment(number=number):
                record = view.standing.record if view.standing is not None else None
                if record is None:
                    return NotSentRelease(permit)
                standing = standing_of(record, view.observation, view.policy)
                text = release_comment(record, standing, view.observation, view.policy)
                return await self._comment(view, permit, number, text)
            case ReportOnRelease(number=number):
                return await self._comment(view, permit, number, report_text(action))
            case CreateIncident():
                found = await self._number(view, permit) or await view.repo.open_issue(action.title, action.body)
                if found is None:
                    # The repository has no Issues: it is told where it happened.
                    await self._comment(view, permit, action.number, action.body)
                return MadeRelease(permit, found or action.number)
            case MergeRelease():
                raise AssertionError("a merge has a way of its own")

    async def _open(self, view: ReleaseView, permit: ReleasePermit, action: CreateReleasePull) -> ReleaseResult:
        fields = (action.head, action.base, action.title, action.body)
        answer = await view.repo.create_pull(*fields, draft=True)
        if isinstance(answer, PullRefused) and answer.kind is PullRefusal.DRAFT_UNSUPPORTED:
            answer = await view.repo.create_pull(*fields, draft=False)
        if not isinstance(answer, PullRefused):
            return MadeRelease(permit, answer.number)
        if answer.kind is PullRefusal.ALREADY_EXISTS and (found := await self._number(view, permit)) is not None:
            return MadeRelease(permit, found)
        return DeclinedRelease(permit, answer.message, view.now)

    async def _edit_base(self, view: ReleaseView, permit: ReleasePermit, action: EditReleaseBase) -> ReleaseResult:
        now = await view.repo.pull_now(action.number)
        if now.base == action.base_to:
            return MadeRelease(permit, action.number)
        if now.state != "OPEN" or now.base != action.base_from:
            # It was changed once more meanwhile: the next look decides from what is there then.
            return NotSentRelease(permit)
        answer = await view.repo.edit_base(action.number, action.base_to)
        if isinstance(answer, BaseRefused):
            return DeclinedRelease(permit, answer.message, view.now)
        return MadeRelease(permit, action.number)

    async def _comment(self, view: ReleaseView, permit: ReleasePermit, number: int, text: str) -> ReleaseResult:
        # One look more for a comment that the observation did not reach costs less than a second comment.
        there = await view.repo.find_comments(number, permit.target.marker or "")
        made = there[0] if there else await view.repo.create_comment(number, text)
        return MadeRelease(permit, made.id)


async def still_ours(view: ReleaseView, permit: ReleasePermit) -> bool:
    """Whether a permit stands at the ledger's head and is ours, read now."""
    reading = await view.ledger.read(view.branch)
    return isinstance(reading, ReleaseLedgerStanding) and any(
        (p.id, p.author) == (permit.id, permit.author) for p in reading.record.open
    )


async def _answered(view: ReleaseView, permit: ReleasePermit, sending: Awaitable[ReleaseResult]) -> ReleaseResult:
    try:
        return await sending
    except Unanswered:
        return UnknownRelease(permit)
    except RateLimited:
        # Nothing was sent, and it is nobody's refusal: the next round asks again.
        return NotSentRelease(permit)
    except GitHubError as refusal:
        return DeclinedRelease(permit, str(refusal), view.now)
