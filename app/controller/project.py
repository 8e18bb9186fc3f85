"""Projecting: the readable images of a record, rewritten when they differ from it.

Each carries (generation, sequence). What if it happened and we did not hear, what if two of us do it: values are set,
and the next look compares them with the record. What if our lease is gone: an old image blocks a person at worst; it
permits the App nothing and is rewritten.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from app.controller.keyring import Keyring
from app.controller.view import View
from app.domain.buttons import BUTTONS
from app.domain.checkpoint_gap import Overdue, overdue
from app.domain.decide import doubled_check_runs, own_check_run
from app.domain.external_id import Projected, parse
from app.domain.fencing import Head, shown_head
from app.domain.handoff_comment import render
from app.domain.handoff_marker import marker_of
from app.domain.landing_blocker import Blocker
from app.domain.landing_told import standing_in_the_way
from app.domain.lease import liveness
from app.domain.observation import CheckRun, Comment
from app.domain.others_check import trespassing_verdict, trespassing_with
from app.domain.outcome import Blocked
from app.domain.record import TERMINAL
from app.domain.report import Frozen
from app.domain.sealed_body import block, body_preimage, payload_of
from app.domain.situation import ticket_pull
from app.domain.stuck import needs_person, switched_off
from app.domain.ticket_id import TicketId
from app.domain.verdict import sharing, verdict_on
from app.domain.worth_knowing import worth_knowing
from app.github.checks import CheckRunWrite
from app.github.errors import GitHubError, NotFound, RateLimited, Unanswered
from app.ledger.reading import Standing

log = structlog.get_logger()


@dataclass(frozen=True)
class Images:
    """Images that were just created: what the observation does not know yet."""

    comment: int | None = None
    check_run: int | None = None


class Projector:
    """Renders and writes projections."""

    def __init__(self, keys: Keyring, *, resumes: bool = True) -> None:
        self._keys = keys
        self._resumes = resumes

    async def project(self, view: View, standing: Standing, head: Head, made: Images = Images()) -> int:
        """Bring comment and check-run in line with the record. Returns the number of writes (0 at a fixed point)."""
        return await self._project_comment(view, standing, head, made) + await self._project_check_run(
            view, standing, head, made
        )

    def comment(self, view: View, standing: Standing, head: Head) -> str:
        """The handoff comment of a record."""
        payload, seal = self._sealed(view, standing)
        return render(
            standing.record,
            head,
            payload=payload,
            seal=seal,
            stuck=self._stuck(view, standing),
            late=_late(view, standing),
            blockers=_in_the_way(view, standing, head),
            known=(
                *self._switched_off(view, standing),
                *worth_knowing(standing.record, view.observation, view.usable_policy),
            ),
        )

    def _stuck(self, view: View, standing: Standing) -> Blocked | None:
        policy = view.usable_policy
        if policy is None:
            return None
        return needs_person(
            standing.record,
            policy,
            now=view.now,
            heartbeat_at=view.heartbeat_at,
            run_ended=view.run_ended,
            resumes=self._resumes,
        )

    def _switched_off(self, view: View, standing: Standing) -> tuple[str, ...]:
        policy = view.usable_policy
        if policy is None:
            return ()
        off = switched_off(
            standing.record,
            policy,
            now=view.now,
            heartbeat_at=view.heartbeat_at,
            run_ended=view.run_ended,
            resumes=self._resumes,
        )
        return (off,) if off is not None else ()

    def unfinished_check_run(self, view: View, standing: Standing, head: Head, sha: str) -> CheckRunWrite:
        """How a check-run is born: unfinished, so that a late one passes nothing."""
        return CheckRunWrite(
            head_sha=sha,
            status="in_progress",
            external_id=str(_projected(standing)),
            title="Agent Recovery is looking at this commit",
            summary=f"Generation {standing.record.generation} of ticket #{standing.record.ticket_id}.",
            started_at=_moment(view, standing),
        )

    async def finish_older(self, view: View, standing: Standing, sha: str) -> None:
        """Before the check-run of another head is made: end what was left unfinished on the head before, because no
        later look comes back to it. Raises Unanswered, RateLimited.
        """
        before = standing.record.projections.check_run
        if before is None or before.sha == sha:
            return
        try:
            for run in await view.repo.find_check_runs(before.sha):
                own = any(p.ticket == view.ticket for p in parse(run.external_id)[:1])
                if own and run.status.lower() != "completed":
                    await view.repo.update_check_run(run.id, _superseded(run, view.now))
        except (Unanswered, RateLimited):
            raise
        except GitHubError as error:
            # The commit may be gone: what is shown of the present head must not wait for it.
            log.info("an older check-run stays unfinished", ticket=view.ticket, error=str(error))

    def check_run(self, view: View, standing: Standing, head: Head, sha: str) -> CheckRunWrite:
        """What the check-run on a head says about a record."""
        verdict = verdict_on(
            standing.record, head, view.observation, self._stuck(view, standing), _in_the_way(view, standing, head)
        )
        for off in self._switched_off(view, standing):
            verdict = replace(verdict, summary=f"{verdict.summary}\n\nNothing resumes the ticket by itself: {off}.")
        policy = view.usable_policy
        past = trespassing_with(sha, view.observation, policy) if policy is not None else ()
        if past and policy is not None and verdict.conclusion == "success":
            into = policy.release.into or view.observation.default_branch
            verdict = trespassing_verdict(past, into)
        payload, seal = self._sealed(view, standing)
        others = _others(view, standing, sha)
        at = _moment(view, standing)
        return CheckRunWrite(
            head_sha=sha,
            status="completed" if verdict.conclusion else "in_progress",
            conclusion=verdict.conclusion,
            external_id=" ".join([str(_projected(standing)), *map(str, others)]),
            title=verdict.title,
            summary=verdict.summary,
            text=block(payload, seal),
            started_at=at,
            completed_at=at if verdict.conclusion else None,
            actions=() if standing.record.status in TERMINAL else BUTTONS,
        )

    async def show_frozen(self, view: View, frozen: Frozen) -> int:
        """Turn the newest check-run on the ticket branch red. Its external id stays: it is a witness."""
        runs = [r for r in view.observation.check_runs if any(p.ticket == view.ticket for p in parse(r.external_id))]
        if not runs:
            return 0
        newest = max(runs, key=lambda r: r.id)
        title = "Frozen: the record of who holds this ticket cannot be trusted"
        if (newest.status.lower(), newest.title) == ("completed", title):
            return 0
        run = CheckRunWrite(
            head_sha=newest.sha,
            status="completed",
            conclusion="action_required",
            external_id=newest.external_id,
            title=title,
            summary=f"{frozen.reason}\n\n- Seen now: {frozen.found}\n- Expected: {frozen.expected}",
            text=newest.text or "",
            completed_at=view.now,
        )
        await view.repo.update_check_run(newest.id, run)
        return 1

    def oldest_of(self, runs: Sequence[CheckRun], ticket: TicketId, generation: int) -> int | None:
        """The oldest check-run that shows this ticket in this generation."""
        ids = [
            r.id
            for r in runs
            if any((p.ticket, p.generation) == (ticket, generation) for p in parse(r.external_id)[:1])
        ]
        return min(ids, default=None)

    async def _project_comment(self, view: View, standing: Standing, head: Head, made: Images) -> int:
        known = _handoff_comment(view, standing)
        id = made.comment or (known.id if known else None)
        if id is None:
            return 0
        body = self.comment(view, standing, head)
        if made.comment is None and known is not None and _same_text(known.body, body):
            return 0
        try:
            await view.repo.edit_comment(id, body)
        except NotFound:
            # Somebody deleted it; the next look creates it anew, under a permit.
            return 0
        return 1

    async def _project_check_run(self, view: View, standing: Standing, head: Head, made: Images) -> int:
        sha = shown_head(head)
        if sha is None:
            return 0
        id = made.check_run or own_check_run(standing.record, view.observation, sha)
        if id is None:
            return 0
        run = self.check_run(view, standing, head, sha)
        shown = {r.id: r for r in view.observation.check_runs}
        doubles = doubled_check_runs(standing.record, view.observation, id, sha)
        behind = [i for i in (id, *doubles) if i not in shown or not _says(shown[i], run)]
        for i in behind:
            await view.repo.update_check_run(i, run)
        return len(behind)

    def _sealed(self, view: View, standing: Standing) -> tuple[str, str]:
        payload = payload_of(
            standing.record,
            repository_id=view.repo.id,
            ledger_ref=view.ledger.refs.active(view.ticket),
            ledger_commit=standing.entry.sha,
        )
        return payload, self._keys.sealer.seal(body_preimage(payload))


def _handoff_comment(view: View, standing: Standing) -> Comment | None:
    pull = ticket_pull(standing.record, view.observation)
    if pull is None or (pull.state != "OPEN" and standing.record.status not in TERMINAL):
        return None
    marker = marker_of(view.ticket)
    return next((c for c in pull.comments if c.body.startswith(marker)), None)


def _in_the_way(view: View, standing: Standing, head: Head) -> tuple[Blocker, ...]:
    evidence = view.landing.landing
    return standing_in_the_way(standing.record, view.observation, view.usable_policy, head, evidence)


def _late(view: View, standing: Standing) -> Overdue | None:
    policy = view.usable_policy
    if policy is None:
        return None
    holder = liveness(standing.record, policy, now=view.now, heartbeat_at=view.heartbeat_at, run_ended=view.run_ended)
    return overdue(standing.record, policy, holder, now=view.now)


def _projected(standing: Standing) -> Projected:
    record = standing.record
    return Projected(record.ticket_id, record.generation, record.sequence, standing.entry.sha[:12])


def _others(view: View, standing: Standing, sha: str) -> list[Projected]:
    sharers = sharing(standing.record, view.observation, sha)
    latest: dict[TicketId, Projected] = {}
    for run in view.observation.check_runs:
        if run.sha == sha:
            for p in parse(run.external_id)[:1]:
                if p.ticket in sharers and (
                    p.ticket not in latest or (p.generation, p.sequence) > _rank(latest[p.ticket])
                ):
                    latest[p.ticket] = p
    return [latest[ticket] for ticket in sharers if ticket in latest]


def _superseded(run: CheckRun, now: datetime) -> CheckRunWrite:
    return CheckRunWrite(
        head_sha=run.sha,
        status="completed",
        conclusion="cancelled",
        external_id=run.external_id,
        title="Superseded: the branch went on from this commit",
        summary="This commit was no head of the ticket's branch any more when its check could be finished.",
        text=run.text or "",
        completed_at=now,
    )


def _rank(p: Projected) -> tuple[int, int]:
    return p.generation, p.sequence


def _moment(view: View, standing: Standing) -> datetime:
    written = standing.record.checkpoint.updated_at or (standing.record.lease and standing.record.lease.granted_at)
    return min(written, view.now) if written else view.now


def _same_text(shown: str, wanted: str) -> bool:
    return shown.replace("\r\n", "\n").strip() == wanted.strip()


def _says(shown: CheckRun, wanted: CheckRunWrite) -> bool:
    """Whether a check-run shows what is wanted; times do not count, they are set with the rest."""
    return (
        shown.status.lower(),
        (shown.conclusion or "").lower(),
        shown.external_id,
        shown.title or "",
        (shown.summary or "").strip(),
        (shown.text or "").strip(),
    ) == (
        wanted.status,
        wanted.conclusion or "",
        wanted.external_id,
        wanted.title,
        wanted.summary.strip(),
        wanted.text.strip(),
    )
