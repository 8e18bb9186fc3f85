"""Top-level queries."""

from __future__ import annotations

from typing import Any

from app.emulator.auth import visible_repo
from app.emulator.clock import to_stamp
from app.emulator.errors import ApiError, GraphQLRefusal, not_found
from app.emulator.graphql import actions_views, check_views, issue_views, people_views, pull_views, repo_view
from app.emulator.graphql.connections import connection
from app.emulator.graphql.git_views import RefThing, git_thing
from app.emulator.graphql.views import view, viewer_of
from app.emulator.ids import parse_node_id
from app.emulator.routing import Request
from app.emulator.search import find_issues
from app.emulator.state import (
    CheckRun,
    CheckSuite,
    Comment,
    Issue,
    Repository,
)

# Importing these modules registers their views.
VIEW_MODULES = (actions_views, check_views, issue_views, people_views, pull_views, repo_view)


def find_node(request: Request, value: str) -> Any:
    """The object a node id names, if this identity may see it. Raises NOT_FOUND."""
    thing = _git_node(request, value) or request.world.node(value)
    repo = _home(thing)
    if thing is None or (repo is not None and not request.identity.sees(repo)):
        raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to a node with the global id of '{value}'")
    return thing


def _git_node(request: Request, value: str) -> Any:
    parsed = parse_node_id(value)
    if parsed is None or parsed[0] not in ("C", "T", "B", "TA", "REF") or len(parsed[1]) < 2:
        return None
    prefix, (repo_id, *rest) = parsed
    repo = request.world.repos.get(int(repo_id)) if repo_id.isdigit() else None
    if repo is None:
        return None
    if prefix == "REF":
        name = ":".join(rest)
        oid = repo.git.ref(name)
        return RefThing(repo, name, oid) if oid is not None else None
    return git_thing(repo, rest[0])


def _home(thing: Any) -> Repository | None:
    if isinstance(thing, Repository):
        return thing
    if isinstance(thing, Comment):
        return thing.issue.repo
    if isinstance(thing, CheckRun):
        return thing.suite.repo
    if isinstance(thing, Issue | CheckSuite):
        return thing.repo
    repo = getattr(thing, "repo", None)
    return repo if isinstance(repo, Repository) else None


class Queries:
    """The fields of ``Query``."""

    def __init__(self, request: Request) -> None:
        self.request = request

    def node(self, info: Any, id: str) -> Any:
        return view(self.request, find_node(self.request, id))

    def nodes(self, info: Any, ids: list[str]) -> list[Any]:
        found = []
        for value in ids:
            try:
                found.append(self.node(info, value))
            except GraphQLRefusal:
                found.append(None)
        return found

    def repository(self, info: Any, owner: str, name: str, followRenames: bool = True) -> Any:
        try:
            if not followRenames and self.request.world.repo(owner, name) is None:
                raise not_found()
            return view(self.request, visible_repo(self.request.world, self.request.identity, owner, name))
        except ApiError:
            raise GraphQLRefusal(
                "NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'."
            ) from None

    def _account(self, login: str, kinds: tuple[str, ...], word: str) -> Any:
        account = self.request.world.account(login)
        if account is None or account.type not in kinds:
            raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to {word} with the login of '{login}'.")
        return view(self.request, account)

    def user(self, info: Any, login: str) -> Any:
        return self._account(login, ("User",), "a User")

    def organization(self, info: Any, login: str) -> Any:
        return self._account(login, ("Organization",), "an Organization")

    def repositoryOwner(self, info: Any, login: str) -> Any:
        account = self.request.world.account(login)
        return view(self.request, account) if account is not None and account.type != "Bot" else None

    def viewer(self, info: Any) -> Any:
        # For an installation GitHub answers with the bot, under the type User and with its suffix.
        return people_views.ViewerView(self.request, self.request.identity.account)

    def search(self, info: Any, query: str, type: str, **page: Any) -> Any:
        if type in ("ISSUE", "ISSUE_ADVANCED"):
            found: list[Any] = find_issues(self.request, query)
        elif type == "REPOSITORY":
            found = [r for r in self.request.world.repos.values() if self.request.identity.sees(r)]
            found = [r for r in found if all(word.lower() in r.full_name.lower() for word in query.split())]
        else:
            raise ApiError(501, f"The emulator does not search for {type} yet")
        counts = dict.fromkeys(("code", "discussion", "issue", "repository", "user", "wiki"), 0)
        counts["repository" if type == "REPOSITORY" else "issue"] = len(found)
        answer = connection("search", found, viewer_of(self.request), **page)
        return answer | {f"{name}Count": count for name, count in counts.items()}

    def rateLimit(self, info: Any, dryRun: bool = False) -> dict[str, Any]:
        shown = self.request.world.rates.shown(self.request.identity.key, "graphql")
        return {
            "cost": self.request.cost,
            "limit": shown["limit"],
            "nodeCount": self.request.nodes,
            "remaining": shown["remaining"],
            "used": shown["used"],
            "resetAt": to_stamp(shown["reset"]),
        }
