"""The one table of REST routes and what nearly every handler begins with."""

from __future__ import annotations

from app.emulator.auth import require, visible_repo
from app.emulator.errors import ApiError, not_found
from app.emulator.render import Render
from app.emulator.routing import Request, Router
from app.emulator.state import Account, Issue, PullRequest, Repository

routes = Router()


def open_repo(request: Request, owner: str, repo: str, level: str, *permissions: str) -> Repository:
    """The repository, if it is visible and one of the permissions is held at ``level``."""
    found = visible_repo(request.world, request.identity, owner, repo)
    needed = permissions or ("metadata",)
    request.accepted = accepted(level, needed)
    require(request.identity, found, level, *needed)
    return found


def accepted(level: str, permissions: tuple[str, ...]) -> str:
    """The value of ``x-accepted-github-permissions``: any one of the permissions is enough."""
    return "; ".join(f"{name}={level}" for name in permissions)


def writing_level(request: Request) -> str:
    """What is asked at the door of a write that a person may do to his own things: an App needs the write permission
    at once, a person's right depends on whose thing it is."""
    return "write" if request.identity.installation is not None else "read"


def find_issue(request: Request, repo: Repository, number: str, level: str = "read") -> Issue:
    """An Issue or pull request by number; a pull request may also be reached by its own permission."""
    issue = repo.issues.get(int(number))
    permissions = ("issues", "pull_requests") if issue is None or issue.is_pull else ("issues",)
    request.accepted = accepted(level, permissions)
    require(request.identity, repo, level, *permissions)
    if issue is None and repo.gone_issues.get(int(number), repo) is None:
        raise ApiError(410, "This issue was deleted")
    if issue is None:
        raise not_found()
    return issue


def find_issue_by_id(request: Request, issue_id: int) -> Issue | None:
    """The Issue or pull request of a database id, if this identity may read it."""
    for repo in request.world.repos.values():
        for issue in repo.issues.values():
            if issue.id == issue_id and request.identity.sees(repo) and request.identity.allows(repo, "issues", "read"):
                return issue
    return None


def find_pull(repo: Repository, number: str) -> PullRequest:
    """A pull request by number, or 404."""
    pull = repo.issues.get(int(number))
    if not isinstance(pull, PullRequest):
        raise not_found()
    return pull


def render(request: Request) -> Render:
    """The renderer for the root this client uses."""
    return Render(request.world, request.base_url)


def find_account(request: Request, login: str) -> Account:
    """An account by login, or 404."""
    account = request.world.account(login)
    if account is None:
        raise not_found()
    return account


def names(value: list[object]) -> list[str]:
    """A list of strings, where labels may also come as objects with a name. Raises 422."""
    found: list[str] = []
    for item in value:
        name = item.get("name") if isinstance(item, dict) else item
        if not isinstance(name, str):
            raise ApiError(422, "Invalid request.\n\nFor 'items', a string was expected.")
        found.append(name)
    return found
