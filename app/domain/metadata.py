"""What a ticket's PR carries besides its work: the line that links the Issue, assignees, labels, reviewers, base.

Only what is wrong is written, and nothing is invented: assignees and labels are those of the Issue, reviewers the
owners that CODEOWNERS of the base names for the changed files. What a person took away stays away, whether the App had
put it there or somebody else. The title is a person's from the moment the PR stands.

The base follows the recorded trunk. A person who edits it to another trunk moves the ticket there; to any other branch,
it stays where they put it and does not land until the record's trunk changes or they edit it again. Stacks are the
subject of `stack_moves.py`.

Accepted loss: who removes the linking line twice keeps it away; the first time it counts as an accident.
"""

from collections.abc import Iterator

from app.domain.branches import ticket_of_branch
from app.domain.drafts import asked_state
from app.domain.fence_commit import MERGES
from app.domain.fencing import Head
from app.domain.landing_actions import EditBase
from app.domain.linked_issue import linked_issue_of
from app.domain.observation import Observation, Pull
from app.domain.plain_text import one_line, shorten
from app.domain.plan import MoveTrunk, Note
from app.domain.policy import Policy
from app.domain.pull_acts import latest, undone_by_others
from app.domain.record import Carried, Record
from app.domain.trunks import is_trunk
from app.domain.upkeep_actions import AddLabels, AskOwners, Assign, LinkIssue

MOST_ASSIGNEES = 10
"""GitHub passes over those after the tenth."""
MOST_REMEMBERED = 100
"""Of labels and of assignees that the App put onto one PR: who relabels an Issue for ever must not fill the record."""

_REFUSED_BYTES = 200

Carry = LinkIssue | Assign | AddLabels | AskOwners | EditBase | MoveTrunk | Note


def decide_metadata(
    record: Record, pull: Pull, head: Head, observation: Observation, policy: Policy
) -> Iterator[Carry]:
    """What is to be done about the ticket's open PR, whose timeline was read. A child's PR is its parent's holder's to
    look after: it gets the linking line and no more.
    """
    if linked_issue_of(pull.body) is None and not record.projections.carried.linked:
        yield LinkIssue(pull.number, "the PR's text does not begin with the line that links the Issue")
    if record.child is not None:
        return
    yield from _base(record, pull, observation, policy)
    yield from _people(record, pull, observation)
    yield from _labels(record, pull, observation, policy)
    wanted = asked_state(record, head) is True and not pull.is_draft
    if wanted and not record.projections.carried.owners_asked:
        yield AskOwners(pull.number, pull.base, "the PR is ready for review and its code owners were not asked yet")


def with_link(body: str, ticket: int) -> str:
    """A PR's text with the linking line before it; the rest stays byte for byte, set apart by an empty line so that it
    still reads as its author wrote it.
    """
    return f"Ticket: #{ticket}\n" + (f"\n{body}" if body else "")


def put_there(at: Carried, action: LinkIssue | Assign | AddLabels | AskOwners, refused: str | None = None) -> Carried:
    """What is known after one of these was carried out; `refused`: GitHub's words, where it would not take it."""
    match action:
        case LinkIssue():
            known = at.model_copy(update={"linked": True})
        case Assign(logins=logins):
            known = at.model_copy(update={"assigned": remembered(at.assigned, logins)})
        case AddLabels(labels=labels):
            known = at.model_copy(update={"labels": remembered(at.labels, labels)})
        case AskOwners():
            known = at.model_copy(update={"owners_asked": True})
    words = shorten(one_line(refused), _REFUSED_BYTES)[0] if refused is not None else None
    return known.model_copy(update={"refused": words}) if words is not None else known


def remembered(known: tuple[str, ...], put: tuple[str, ...]) -> tuple[str, ...]:
    """What the App put onto a PR, after more was put there: the newest of it."""
    return (*known, *put)[-MOST_REMEMBERED:]


def links_another(pull: Pull, record: Record) -> int | None:
    """The other Issue that the PR's first line names: a person resolves that, nothing is written over it."""
    named = linked_issue_of(pull.body)
    return named if named is not None and named != record.ticket else None


def base_moved_by(record: Record, pull: Pull) -> str | None:
    """Who gave the PR a base that is not the recorded trunk, as long as their word stands."""
    at = record.projections.carried
    stands = at.base_by is not None and record.work is not None and at.base_trunk == record.work.trunk
    return at.base_by if stands and pull.base != at.base_trunk else None


def _base(
    record: Record, pull: Pull, observation: Observation, policy: Policy
) -> Iterator[EditBase | MoveTrunk | Note]:
    work, at = record.work, record.projections.carried
    if work is None:
        return
    differs = pull.base != work.trunk
    act = latest(pull.acts, "base")
    if act is not None and not act.ours and act.id != at.base_act:
        moves = differs and is_trunk(pull.base, policy.trunks, observation.default_branch)
        noted = {
            "base_act": act.id,
            "base_by": act.who if differs and not moves else None,
            "base_trunk": work.trunk if differs and not moves else None,
        }
        yield Note(at.model_copy(update=noted), f"{act.who} edited the PR's base")
        if moves:
            yield MoveTrunk(pull.base, f"{act.who} moved the PR to another trunk")
        return
    if not differs or base_moved_by(record, pull) is not None or observation.trunk is None:
        return
    # A merge that may still come goes first. Stacked on another ticket's branch: that is told where stacks are.
    if ticket_of_branch(pull.base) is None and not any(p.kind in MERGES for p in record.open):
        yield EditBase(pull.number, pull.base, work.trunk, "the PR's base is not the recorded trunk")


def _people(record: Record, pull: Pull, observation: Observation) -> Iterator[Assign]:
    given = observation.issue.assignees if observation.issue is not None else ()
    settled = {login.lower() for login in (*pull.assignees, *record.projections.carried.assigned)}
    settled |= undone_by_others(pull.acts, "unassigned")
    room = max(0, MOST_ASSIGNEES - len(pull.assignees))
    missing = tuple(login for login in given if login.lower() not in settled)[:room]
    if missing:
        yield Assign(pull.number, missing, "they are assigned to the Issue")


def _labels(record: Record, pull: Pull, observation: Observation, policy: Policy) -> Iterator[AddLabels]:
    given = observation.issue.labels if observation.issue is not None else ()
    settled = {name.lower() for name in (*pull.labels, *record.projections.carried.labels)}
    settled |= undone_by_others(pull.acts, "unlabeled")
    # What makes an Issue a ticket, or stands for a draft, says nothing about a PR.
    settled |= {name.lower() for name in (policy.enroll.label, policy.draft_label) if name is not None}
    missing = tuple(name for name in given if name.lower() not in settled)
    if missing:
        yield AddLabels(pull.number, missing, "the Issue has them")
