"""What stands on a ticket's branch and has to go elsewhere before the branch does.

GitHub closes an open PR whose base branch is deleted by API. So a branch is deleted only when no open PR has it as
base. A ticket's PR is moved to the trunk by its own ticket's round: the permit for it stands in its own ledger, where
it excludes a merge (the ownership protocol, R3). No other PR is ever changed: then the branch stays.
"""

from dataclasses import dataclass

from app.domain.branches import owner_of_branch
from app.domain.observation import Observation
from app.domain.surroundings import OtherPull
from app.domain.ticket_id import TicketId


@dataclass(frozen=True)
class Dependent:
    """An open PR onto the ticket's branch. `ticket`: whose work it is, None where it is nobody's. `to`: where its base
    goes before the branch does; None where it is not the App's to move.
    """

    pull: OtherPull
    ticket: TicketId | None
    to: str | None
    reason: str


def dependents_to_move(observation: Observation) -> tuple[Dependent, ...]:
    """The open PRs onto the ticket's branch, all of which have to have another base, or be closed, before the branch
    goes: GitHub closes a PR whose base is deleted by API. A ticket's own goes to the trunk, under a permit in its own
    ledger; a part of this ticket, and what is nobody's ticket, is not the App's to move, and then the branch stays.
    """
    trunk = observation.trunk.name if observation.trunk is not None else None
    return tuple(_dependent(pull, trunk) for pull in observation.around.dependents if pull.state == "OPEN")


def _dependent(pull: OtherPull, trunk: str | None) -> Dependent:
    owner = owner_of_branch(pull.head) if pull.own_repository else None
    if owner is None:
        why = f"PR #{pull.number} is no ticket's: whoever opened it gives it another base or closes it"
        return Dependent(pull, None, None, why)
    if not isinstance(owner, int):
        return Dependent(pull, owner, None, f"PR #{pull.number} is a part of this ticket and goes nowhere else")
    if trunk is None:
        return Dependent(pull, owner, None, f"PR #{pull.number} cannot be moved: the trunk does not stand any more")
    return Dependent(pull, owner, trunk, f"PR #{pull.number} of #{owner} gets {trunk} as its base first")
