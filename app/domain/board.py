"""The ticket's line in the organization's Project: the target release leads, the status follows, a person's move wins.

The release is read. A person who changes it moves the ticket: the recorded trunk, and with it the PR's base, follow as
soon as the release names exactly one existing trunk, by its exact name or in another spelling of the same (`1.2.0`,
`v1.2.0` and `Release 1.2.0` are `release-1-2-0`). What stood there when the ticket was first seen moves nothing: a
claim that named its trunk had its reason.

The status is written, once for each status of the ticket: to the option that the policy names, if the field has it.
What somebody sets afterwards stands until the ticket's status changes, and is noted. GitHub takes no expected value, so
the App's own write is told from a person's by what the record says was written.

Fields that are missing or have other names, and a Project that cannot be seen, never keep a ticket from anything: they
are said in the handoff comment.
"""

from collections.abc import Iterator, Sequence

from app.domain.fence_commit import MERGES
from app.domain.observation import Branch, Observation
from app.domain.plain_text import one_line, shorten
from app.domain.plan import MoveTrunk, Note
from app.domain.policy import Policy
from app.domain.record import TERMINAL, Board, Record
from app.domain.surroundings import Column, ProjectItem
from app.domain.ticket_evidence import names_release
from app.domain.upkeep_actions import SetBoardStatus

_SHOWN_BYTES = 120
_KEPT_BYTES = 255
"""Of a value on the board: what goes into the record stays small."""

Step = Note | MoveTrunk | SetBoardStatus


def decide_board(
    record: Record, observation: Observation, policy: Policy, trunks: Sequence[Branch] | None = None
) -> Iterator[Step]:
    """What the board asks of a ticket, ended ones too, and what is to be written there. `trunks`: the branches that
    stand and are trunks, where `asks_for_trunks` wanted them.
    """
    item = line_of(observation, policy)
    if item is None or record.child is not None:
        return
    at = record.projections.board
    moved = _moved_release(record, item, policy, trunks or ())
    if moved is not None:
        release, to = moved
        at = at.model_copy(update={"release": release})
        if to is not None:
            reason = f"a person set the target release on the board to {_shown(release)}"
            # Where nothing was published yet the work begins where the new trunk is.
            yield MoveTrunk(to.name, reason, base_sha=to.sha if record.published is None else None)
    at, write = _status(at, record, item, policy)
    if at != record.projections.board:
        yield Note(at, "the ticket's line on the board was looked at")
    if write is not None:
        yield write


def asks_for_trunks(record: Record, observation: Observation, policy: Policy) -> bool:
    """Whether a person moved the ticket to another release, so that it has to be known which trunks stand."""
    item = line_of(observation, policy)
    at = record.projections.board
    if item is None or record.child is not None or record.work is None or record.status in TERMINAL:
        return False
    release = _value(item, policy.project.release_field)
    is_moved = None not in (at.release, release) and release != at.release
    return is_moved and not _means(release or "", record.work.trunk)


def trunk_of_release(observation: Observation, policy: Policy, trunks: Sequence[str]) -> str | None:
    """The only one of these trunks that the ticket's target release names: where nothing else tells the trunk."""
    item = line_of(observation, policy)
    release = _value(item, policy.project.release_field) if item is not None else None
    return _the_only(release, trunks) if release is not None else None


def line_of(observation: Observation, policy: Policy | None) -> ProjectItem | None:
    """The ticket's line in the Project that the policy names, as far as the App sees it."""
    wanted = policy.project.number if policy is not None else None
    return next((item for item in observation.around.project_items or () if item.number == wanted), None)


def warnings(record: Record, observation: Observation, policy: Policy | None) -> tuple[str, ...]:
    """What keeps the board from being followed: shown, and in nobody's way. Names in it are other people's text."""
    if policy is None or policy.project.number is None or record.child is not None or observation.issue is None:
        return ()
    named = f"Project {policy.project.number}"
    if observation.of_organization is False:
        return (f"{named} is not followed: GitHub shows an App the Projects of organizations only",)
    if observation.around.project_items is None:
        return (f"{named} is not followed: the App may not read it (it needs organization_projects: write)",)
    item = line_of(observation, policy)
    if item is None:
        return (f"{named} is not followed: the App sees no line of this Issue there",)
    return tuple(f"{named}: {reason}" for reason in _amiss(record, item, policy))


def _amiss(record: Record, item: ProjectItem, policy: Policy) -> Iterator[str]:
    project, at = policy.project, record.projections.board
    wanted = (project.status_field, project.priority_field, project.release_field)
    if missing := [name for name in wanted if column_of(item, name) is None]:
        yield f"it has no field {', '.join(map(_shown, missing))} (renamed?), so that is not followed"
    status, named = column_of(item, project.status_field), _named_status(record, policy)
    if status is not None and named is not None and _option(status, named) is None:
        yield f"its field {_shown(status.name)} has no option {_shown(named)}, so the status is not written"
    if at.refused is not None:
        yield f"GitHub did not take the status: {_shown(at.refused)}"
    release = _value(item, project.release_field)
    trunk = record.work.trunk if record.work is not None else None
    if release is None or trunk is None or at.release in (None, release) or _means(release, trunk):
        return
    if record.status == "held":
        yield f"its target release {_shown(release)} is followed when the ticket is taken off hold"
    else:
        yield f"its target release {_shown(release)} names no one trunk that stands, so the ticket stays on {trunk}"


def _moved_release(
    record: Record, item: ProjectItem, policy: Policy, trunks: Sequence[Branch]
) -> tuple[str, Branch | None] | None:
    """The release to note and the trunk to go to. None where the board says nothing new, or nothing to be done."""
    release, known = _value(item, policy.project.release_field), record.projections.board.release
    if release is None or release == known or record.work is None or record.status in TERMINAL:
        return None
    if known is None or _means(release, record.work.trunk):
        return release, None
    name = _the_only(release, [branch.name for branch in trunks])
    to = next((branch for branch in trunks if branch.name == name), None)
    # A hold ends first, and so does a merge into the present trunk that may still come.
    waits = record.status == "held" or any(p.kind in MERGES for p in record.open)
    return (release, to) if to is not None and not waits else None


def _status(at: Board, record: Record, item: ProjectItem, policy: Policy) -> tuple[Board, SetBoardStatus | None]:
    """What is known of the line's status now, and the write that it needs."""
    column, named = column_of(item, policy.project.status_field), _named_status(record, policy)
    wanted = _option(column, named) if column is not None and named is not None else None
    if column is None or wanted is None:
        return at, None
    shown = _value(item, column.name)
    if _same(at.status, wanted):
        # What stood there before our write may be an answer that lags behind it.
        moved = shown if not _same(shown, wanted) and shown != at.before else None
        return at.model_copy(update={"moved": moved}), None
    if _same(shown, wanted):
        return at.model_copy(update={"status": wanted, "before": None, "moved": None, "refused": None}), None
    reason = f"the ticket is {_stage(record)}"
    return at, SetBoardStatus(item.number, column.name, wanted, shown, reason)


def written(at: Board, action: SetBoardStatus, refused: str | None) -> Board:
    """What is known after the write; `refused`: GitHub's words, and then it is not tried again for this status."""
    words = shorten(one_line(refused), _KEPT_BYTES)[0] if refused is not None else None
    return at.model_copy(update={"status": action.value, "before": action.before, "moved": None, "refused": words})


def _stage(record: Record) -> str:
    if record.landing.merged is not None and record.landing.incident is None:
        return "landed"
    return "working" if record.status == "recovering" else record.status


def _named_status(record: Record, policy: Policy) -> str | None:
    named: str | None = getattr(policy.project.status, _stage(record), None)
    return named


def column_of(item: ProjectItem, name: str) -> Column | None:
    """The Project's field of this name; one that differs in case alone where none has it exactly."""
    exact = next((column for column in item.columns if column.name == name), None)
    return exact or next((column for column in item.columns if _same(column.name, name)), None)


def _option(column: Column, name: str) -> str | None:
    return next((option for option in column.options if _same(option, name)), None)


def _value(item: ProjectItem, field: str) -> str | None:
    column = column_of(item, field)
    value = item.fields.get(column.name) if column is not None else None
    return shorten(one_line(value), _KEPT_BYTES)[0] if value is not None else None


def _the_only(release: str, trunks: Sequence[str]) -> str | None:
    if release in trunks:
        return release
    named = {trunk for trunk in trunks if names_release(release, trunk)}
    return named.pop() if len(named) == 1 else None


def _means(release: str, trunk: str) -> bool:
    return release == trunk or names_release(release, trunk)


def _same(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one.strip().casefold() == other.strip().casefold()


def _shown(text: str) -> str:
    return repr(shorten(one_line(text), _SHOWN_BYTES)[0])
