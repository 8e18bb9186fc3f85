"""Who is assigned to Issues and pull requests."""

from __future__ import annotations

from app.emulator.acts.events import record
from app.emulator.acts.issue_events import tell, touch
from app.emulator.errors import ApiError
from app.emulator.render import Render
from app.emulator.state import Account, Actor, Issue, Repository
from app.emulator.world import World

MAX_ASSIGNEES = 10


def assignable(repo: Repository, account: Account) -> bool:
    """Only people with a role in the repository can be assigned."""
    if account.type != "User":
        return False
    return account is repo.owner or repo.collaborators.get(account.login.lower(), "none") != "none"


def check_assignable(world: World, repo: Repository, logins: list[str]) -> None:
    """Refuse a create or an update that names somebody who cannot be assigned; the list endpoints ignore them."""
    for login in logins:
        account = world.account(login)
        if account is None or not assignable(repo, account):
            raise ApiError(
                422,
                "Validation Failed",
                [{"value": login, "resource": "Issue", "field": "assignees", "code": "invalid"}],
            )


def set_assignees(world: World, issue: Issue, logins: list[str], actor: Actor, *, only_add: bool = True) -> None:
    """Assign people; with ``only_add`` off, everybody else is unassigned.

    Who cannot be assigned is ignored, and so is who comes after the tenth.
    """
    wanted = find_assignable(world, issue.repo, logins)
    if not only_add:
        unassign(world, issue, [a for a in issue.assignees if a not in wanted], actor)
    for account in wanted:
        if account in issue.assignees or len(issue.assignees) >= MAX_ASSIGNEES:
            continue
        issue.assignees.append(account)
        touch(world, issue)
        tell_assigned(world, issue, account, actor)


def find_assignable(world: World, repo: Repository, logins: list[str]) -> list[Account]:
    """The accounts among these that can be assigned, each once."""
    found = (world.account(login) for login in logins)
    return list(dict.fromkeys(a for a in found if a is not None and assignable(repo, a)))


def tell_assigned(world: World, issue: Issue, account: Account, actor: Actor) -> None:
    """Tell of somebody who is assigned now."""
    record(world, issue, "assigned", actor, assignee=account)
    tell(world, issue, "assigned", actor, assignee=Render(world).account(account))


def unassign(world: World, issue: Issue, accounts: list[Account], actor: Actor) -> None:
    """Unassign people; who is not assigned is ignored."""
    for account in accounts:
        if account not in issue.assignees:
            continue
        issue.assignees.remove(account)
        touch(world, issue)
        record(world, issue, "unassigned", actor, assignee=account)
        tell(world, issue, "unassigned", actor, assignee=Render(world).account(account))
