"""Who is asked for a review."""

from __future__ import annotations

from app.emulator.acts.code_owners import owner_groups
from app.emulator.acts.events import record
from app.emulator.acts.issue_events import tell
from app.emulator.errors import ApiError
from app.emulator.render import Render
from app.emulator.state import Account, Actor, PullRequest
from app.emulator.world import World


def request_reviewers(world: World, pull: PullRequest, people: list[Account | None], actor: Actor) -> None:
    """Ask people for a review; None is a name nobody has. Raises 422 and asks nobody."""
    if pull.author in people:
        raise ApiError(422, "Review cannot be requested from pull request author.")
    known = [p for p in people if p is not None and is_collaborator(pull, p)]
    if len(known) < len(people):
        raise ApiError(
            422,
            "Reviews may only be requested from collaborators. One or more of the users or teams you specified is "
            f"not a collaborator of the {pull.repo.full_name} repository.",
        )
    for person in known:
        if person not in pull.requested_reviewers:
            pull.requested_reviewers.append(person)
            record(world, pull, "review_requested", actor, review_requester=actor.account, requested_reviewer=person)
            tell(world, pull, "review_requested", actor, requested_reviewer=_shown(world, person))


def remove_reviewers(world: World, pull: PullRequest, people: list[Account], actor: Actor) -> None:
    """Ask people no longer; those who were not asked are passed over."""
    for person in people:
        if person in pull.requested_reviewers:
            pull.requested_reviewers.remove(person)
            record(
                world, pull, "review_request_removed", actor, review_requester=actor.account, requested_reviewer=person
            )
            tell(world, pull, "review_request_removed", actor, requested_reviewer=_shown(world, person))


def request_code_owners(world: World, pull: PullRequest, actor: Actor) -> None:
    """Ask the owners of what a pull request changes, as opening it and making it ready do; drafts ask nobody."""
    if pull.draft:
        return
    owners = [world.account(login) for group in owner_groups(pull) for login in group]
    writers = ("write", "maintain", "admin")
    able = [o for o in owners if o is not None and o is not pull.author and pull.repo.role_of(o) in writers]
    request_reviewers(world, pull, list(dict.fromkeys(able)), actor)


def is_collaborator(pull: PullRequest, account: Account) -> bool:
    """Is the account one a review may be requested from?"""
    repo = pull.repo
    return account is repo.owner or account.login.lower() in repo.collaborators


def _shown(world: World, account: Account) -> dict[str, object]:
    return Render(world).account(account)
