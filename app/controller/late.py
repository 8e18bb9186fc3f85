"""What comes after a ticket's end: a PR whose creation was under way all the time is closed, a run that was started for
it is noted. It is let in no more: its claim, its first act, is refused.

What if it happened and we did not hear: the PR shows closed at the next look, and only the note is written. What if two
of us do it: both set the same state, one writes the note. There is no lease any more; the note says that it was done,
so a PR that a person opens again stays open.
"""

from collections.abc import Awaitable, Callable, Sequence

import structlog

from app.controller.journal import Journal, Journaled
from app.controller.view import View
from app.domain.after_the_end import LatePull, awaited_pulls, late_pull
from app.domain.record import Permit
from app.domain.settling import Made, Result, settle
from app.ledger.api import Lost, Undecided
from app.ledger.reading import Standing

log = structlog.get_logger()


Probe = Callable[[View, Sequence[Permit]], Awaitable[list[Result]]]
"""What stands already of these permits."""


async def note_late_runs(
    view: View, standing: Standing, journal: Journal, probe: Probe
) -> Journaled | Lost | Undecided | None:
    """Note the run of a dispatch that was open when the ticket ended, as soon as one is seen; its permit ends with
    that. None where there is none. Raises GitHubError where GitHub does not answer.
    """
    found = await probe(view, [p for p in standing.record.open if p.kind == "dispatch"])
    if not found:
        return None
    log.info("a run came after the ticket's end", ticket=str(view.ticket))
    record = settle(standing.record, found)
    return await journal.write(view, standing, record, "a run came late", when=view.now, to="done")


async def close_late_pulls(view: View, standing: Standing, journal: Journal) -> Journaled | Lost | Undecided | None:
    """Close what came late to an ended ticket and note it in the ledger. None where nothing came. Raises GitHubError
    where GitHub does not answer.
    """
    came: list[LatePull] = []
    for permit in awaited_pulls(standing.record):
        found = await view.repo.find_pulls(permit.target.head or "", permit.target.base or "")
        late = late_pull(standing.record, permit, found)
        if late is not None:
            came.append(late)
    for late in came:
        log.info("PR came after the ticket's end", ticket=view.ticket, pull=late.number)
        if late.to_close:
            await view.repo.close_pull(late.number)
    if not came:
        return None
    record = settle(standing.record, [Made(late.permit, late.number) for late in came])
    return await journal.write(view, standing, record, "a PR came late and was closed", when=view.now, to="done")
