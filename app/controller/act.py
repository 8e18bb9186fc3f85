"""Acting: the guarded writes of a round, each under its permit, and what their answers were. Those of a landing are
carried out by `landing.py`.

One PR, one handoff comment, one check-run. Each is sent at most once a round; an answer that got lost makes its result
Unknown, never a second send. A permit that was adopted is probed first (`probe`), and sent again only where the probe
finds nothing and its class allows it: GitHub refuses a second PR, a second comment or check-run is removed or ignored.
"""

import secrets
from collections.abc import Awaitable, Sequence

from app.controller.dispatching import Dispatching
from app.controller.journal import Journaled
from app.controller.landing import Lander
from app.controller.project import Projector
from app.controller.view import View
from app.domain.fencing import Head
from app.domain.plan import AskPerson, Guarded, target_of
from app.domain.pull_text import pull_body, pull_title
from app.domain.record import Permit, PermitKind
from app.domain.report import stuck_report
from app.domain.settling import Declined, Made, NotSent, Result, Unknown
from app.domain.situation import ticket_pull
from app.domain.stopping import way_back
from app.github.errors import GitHubError, RateLimited, Unanswered
from app.github.pulls import PullRefusal, PullRefused
from app.ledger.reading import Standing

_OF_LANDING: frozenset[PermitKind] = frozenset({"merge", "enqueue", "branch_update", "base_edit", "issue_close"})


def permit_for(action: Guarded, *, author: str, round_id: str) -> Permit:
    """The permit that allows an action; its target is exactly what the probe searches for."""
    kind, target = target_of(action)
    return Permit(id=secrets.token_hex(8), kind=kind, target=target, author=author, round=round_id)


class Actor:
    """Sends what permits allow, and probes for what they may have done."""

    def __init__(self, projector: Projector, lander: Lander, dispatching: Dispatching) -> None:
        self._projector = projector
        self._lander = lander
        self._dispatching = dispatching

    @property
    def has_command(self) -> bool:
        """Whether the operator has a command that starts agents."""
        return self._dispatching.has_command

    async def send(self, view: View, written: Journaled, head: Head, permits: Sequence[Permit]) -> list[Result]:
        """Carry out these permits of ours, the PR first, because the comment stands on it. Each is acted on only while
        it stands at the head, which is read again where our own write of it is not of this moment (R4).
        """
        standing = written.standing
        order = {"pr_create": 0, "comment_create": 1, "check_run_create": 2}
        results: list[Result] = []
        for permit in sorted(permits, key=lambda p: order.get(p.kind, len(order))):
            # Before the permit is looked at again: nothing may lie between that and the send.
            if permit.kind == "check_run_create" and not await self._older_is_finished(view, standing, permit):
                results.append(NotSent(permit))
                continue
            if not written.is_fresh and not await self._still_ours(view, permit):
                results.append(NotSent(permit))
                continue
            results.append(await self._answered(view, self._send_one(view, standing, head, permit, results), permit))
        return results

    async def probe(self, view: View, permits: Sequence[Permit]) -> list[Result]:
        """What stands already of these permits. Finding nothing says nothing."""
        found: list[Result] = []
        for permit in permits:
            if permit.kind in _OF_LANDING:
                result = await self._lander.probe(view, permit)
            elif permit.kind == "dispatch":
                result = await self._dispatching.probe(view, permit)
            else:
                number = await self._probe_one(view, permit)
                result = Made(permit, number) if number is not None else None
            if result is not None:
                found.append(result)
        return found

    async def _older_is_finished(self, view: View, standing: Standing, permit: Permit) -> bool:
        """Whether the check-run of the head before needs nothing more; False where GitHub did not say so: the next
        round asks again, and only then makes the new one, because no look after that comes back to the old one.
        """
        try:
            await self._projector.finish_older(view, standing, permit.target.head_sha or "")
        except (Unanswered, RateLimited):
            return False
        return True

    async def _still_ours(self, view: View, permit: Permit) -> bool:
        reading = await view.ledger.read(view.ticket)
        return isinstance(reading, Standing) and any(
            (p.id, p.author) == (permit.id, permit.author) for p in reading.record.open
        )

    async def _answered(self, view: View, sending: Awaitable[Result], permit: Permit) -> Result:
        try:
            return await sending
        except Unanswered:
            return Unknown(permit)
        except RateLimited:
            # Nothing was sent, and it is nobody's refusal: the next round asks again.
            return NotSent(permit)
        except GitHubError as refusal:
            return Declined(permit, str(refusal), view.now)

    async def _send_one(
        self, view: View, standing: Standing, head: Head, permit: Permit, before: Sequence[Result]
    ) -> Result:
        if permit.kind == "pr_create":
            return await self._pull(view, permit)
        if permit.kind == "dispatch":
            return await self._dispatching.send(view, standing, permit)
        if permit.kind == "comment_create":
            number = _pull_number(view, standing, before)
            if number is None:
                return NotSent(permit)
            # One look more for a comment that the observation did not reach costs less than a second comment.
            there = await view.repo.find_comments(number, permit.target.marker or "")
            if there:
                return Made(permit, there[0].id)
            body = self._projector.comment(view, standing, head)
            return Made(permit, (await view.repo.create_comment(number, body)).id)
        if permit.kind == "report_create":
            return await self._report(view, standing, permit)
        if permit.kind != "check_run_create":
            return await self._lander.send(view, standing, permit, lambda: self._still_ours(view, permit))
        run = self._projector.unfinished_check_run(view, standing, head, permit.target.head_sha or "")
        return Made(permit, await view.repo.create_check_run(run))

    async def _report(self, view: View, standing: Standing, permit: Permit) -> Result:
        """Tell a person why the ticket stopped, where people read."""
        record, issue = standing.record, view.observation.issue
        if record.stopped is None:
            return NotSent(permit)
        number = _open_pull(view, standing) or (issue.number if issue is not None else None)
        if number is None:
            return Declined(permit, "there is neither an Issue nor a PR to tell it on", view.now)
        there = await self._probe_one(view, permit)
        if there is not None:
            return Made(permit, there)
        asking = AskPerson(record.stopped.edge, record.stopped.reason, way_back(record, record.stopped))
        return Made(permit, (await view.repo.create_comment(number, stuck_report(view.ticket, asking, issue))).id)

    async def _reported(self, view: View, permit: Permit) -> int | None:
        """The oldest comment that tells it, on the PR or the Issue: which was open may have changed since."""
        pull, issue = view.standing and _open_pull(view, view.standing), view.observation.issue
        places = [number for number in (pull, issue.number if issue is not None else None) if number]
        found = [c.id for n in places for c in await view.repo.find_comments(n, permit.target.marker or "")]
        return min(found, default=None)

    async def _pull(self, view: View, permit: Permit) -> Result:
        head, base = permit.target.head or "", permit.target.base or ""
        issue = view.observation.issue
        if issue is None:
            return NotSent(permit)
        title, body = pull_title(issue, view.ticket), pull_body(view.ticket)
        answer = await view.repo.create_pull(head, base, title, body, draft=True)
        if isinstance(answer, PullRefused) and answer.kind is PullRefusal.DRAFT_UNSUPPORTED:
            answer = await view.repo.create_pull(head, base, title, body, draft=False)
        if not isinstance(answer, PullRefused):
            return Made(permit, answer.number)
        if answer.kind is PullRefusal.ALREADY_EXISTS:
            standing_one = await self._probe_one(view, permit)
            if standing_one is not None:
                return Made(permit, standing_one)
        return Declined(permit, answer.message, view.now)

    async def _probe_one(self, view: View, permit: Permit) -> int | None:
        target = permit.target
        if permit.kind == "pr_create":
            pulls = await view.repo.find_pulls(target.head or "", target.base or "", "open")
            return pulls[0].number if pulls else None
        if permit.kind == "comment_create":
            number = _pull_number(view, view.standing, ()) if view.standing else None
            comments = await view.repo.find_comments(number, target.marker or "") if number else []
            return comments[0].id if comments else None
        if permit.kind == "report_create":
            return await self._reported(view, permit)
        runs = await view.repo.find_check_runs(target.head_sha or "")
        return self._projector.oldest_of(runs, view.ticket, target.generation or 0)


def _open_pull(view: View, standing: Standing) -> int | None:
    pull = ticket_pull(standing.record, view.observation)
    return pull.number if pull is not None and pull.state == "OPEN" else None


def _pull_number(view: View, standing: Standing, before: Sequence[Result]) -> int | None:
    made = next((r.number for r in before if isinstance(r, Made) and r.permit.kind == "pr_create"), None)
    tried = any(r.permit.kind == "pr_create" for r in before)
    pull = ticket_pull(standing.record, view.observation)
    return made if tried else pull.number if pull else None
