"""What comes after a ticket's end: a PR whose creation was under way all the time is closed.

What if it happened and we did not hear: the PR shows closed at the next look, and only the note is written. What if two
of us do it: both set the same state, one writes the note. There is no lease any more; the note says that it was done,
so a PR that a person opens again stays open.
"""

import structlog

from app.controller.journal import Journal, Journaled
from app.controller.view import View
from app.domain.after_the_end import LatePull, awaited_pulls, late_pull
from app.domain.settling import Made, settle
from app.ledger.api import Lost, Undecided
from app.ledger.reading import Standing

log = structlog.get_logger()


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
