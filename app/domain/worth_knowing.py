"""What a reader of the handoff comment should know about the ticket's PR and its line on the board: what people decided
there, and what the App cannot follow. Nothing of it keeps the ticket from anything by itself. Logins and names in it
are other people's text: whoever shows a line neutralises it.
"""

from collections.abc import Iterator

from app.domain.board import warnings
from app.domain.drafts import NO_DRAFTS, drafted_by
from app.domain.metadata import base_moved_by, links_another
from app.domain.observation import Observation, Pull
from app.domain.plain_text import one_line, shorten
from app.domain.policy import Policy
from app.domain.record import Record
from app.domain.situation import ticket_pull

_NAME_BYTES = 120


def worth_knowing(record: Record, observation: Observation, policy: Policy | None) -> tuple[str, ...]:
    """The lines, the decisions of people first."""
    pull = ticket_pull(record, observation)
    about = _of_pull(record, pull) if pull is not None and pull.state == "OPEN" else ()
    return (*about, *_of_board(record), *warnings(record, observation, policy))


def _of_pull(record: Record, pull: Pull) -> Iterator[str]:
    at = record.projections.drafting
    if (by := drafted_by(record, pull)) is not None:
        yield f"{by} made the PR a draft: it lands after somebody marks it as ready again"
    elif at.by is not None and not at.ready and not pull.is_draft:
        yield f"{at.by} marked the PR as ready: it stays so, and lands only after the ticket itself is ready"
    elif at.unsupported and not pull.is_draft and record.status != "ready":
        yield NO_DRAFTS
    if (by := base_moved_by(record, pull)) is not None:
        yield f"{by} gave the PR the base {_name(pull.base)}, which is no trunk: it stays so, and does not land there"
    if (words := record.projections.carried.refused) is not None:
        yield f"GitHub did not let the App bring the PR in line with its Issue: {words}"
    if (other := links_another(pull, record)) is not None:
        yield f"the PR's first line names #{other}, and its branch is that of #{record.ticket}: a person decides"


def _of_board(record: Record) -> Iterator[str]:
    moved = record.projections.board.moved
    if moved is not None:
        yield f"somebody set the status on the board to {_name(moved)}: it stays until the ticket's own status changes"


def _name(text: str) -> str:
    return repr(shorten(one_line(text), _NAME_BYTES)[0])
