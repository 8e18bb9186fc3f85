"""Repository rulesets, and the rules that hold for a branch. Reading needs metadata, writing administration."""

from __future__ import annotations

from app.emulator.acts import rulesets as acts
from app.emulator.acts.active_rules import active_rules
from app.emulator.errors import ApiError, not_found
from app.emulator.guard_state import Ruleset
from app.emulator.render_rules import show_rule, show_ruleset, show_ruleset_in_list
from app.emulator.rest.table import open_repo, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import Repository

UPGRADE = "Upgrade to GitHub Pro or make this repository public to enable this feature."


def guardable(repo: Repository) -> Repository:
    """The repository, if its plan has rulesets and protected branches at all. Raises 403."""
    if repo.private and not repo.plan_allows_drafts:
        raise ApiError(403, UPGRADE)
    return repo


def _writable(request: Request, owner: str, repo: str) -> Repository:
    found = open_repo(request, owner, repo, "read")
    user = request.identity.user
    if user is not None and found.role_of(user) != "admin":
        raise not_found()  # people who may not write rulesets are told nothing about them
    open_repo(request, owner, repo, "write", "administration")
    return guardable(found)


def _find(repo: Repository, number: str) -> Ruleset:
    ruleset = repo.guard.rulesets.get(int(number))
    if ruleset is None:
        raise not_found()
    return ruleset


def _shown(request: Request, ruleset: Ruleset) -> dict[str, object]:
    reader = request.identity.actor if request.identity.token is not None else None
    shown = show_ruleset(ruleset, request.base_url, request.world.url, reader)
    if not request.identity.allows(ruleset.repo, "administration", "write"):
        del shown["bypass_actors"]
    return shown


@routes.add("GET", "/repos/{owner}/{repo}/rulesets")
def rulesets(request: Request, owner: str, repo: str) -> Response:
    found = guardable(open_repo(request, owner, repo, "read"))
    listed = list(found.guard.rulesets.values())
    if request.query.get("targets"):
        listed = [r for r in listed if r.target in request.query["targets"].split(",")]
    return paginated(request, listed, lambda r: show_ruleset_in_list(r, request.base_url, request.world.url))


@routes.add("POST", "/repos/{owner}/{repo}/rulesets")
def create_ruleset(request: Request, owner: str, repo: str) -> Response:
    found = _writable(request, owner, repo)
    ruleset = acts.create_ruleset(request.world, found, request.body, request.identity.actor)
    return Response.json(_shown(request, ruleset), 201)


@routes.add("GET", "/repos/{owner}/{repo}/rulesets/{number:int}")
def ruleset(request: Request, owner: str, repo: str, number: str) -> Response:
    found = guardable(open_repo(request, owner, repo, "read"))
    return Response.json(_shown(request, _find(found, number)))


@routes.add("PUT", "/repos/{owner}/{repo}/rulesets/{number:int}")
def update_ruleset(request: Request, owner: str, repo: str, number: str) -> Response:
    target = _find(_writable(request, owner, repo), number)
    acts.update_ruleset(request.world, target, request.body, request.identity.actor)
    return Response.json(_shown(request, target))


@routes.add("DELETE", "/repos/{owner}/{repo}/rulesets/{number:int}")
def delete_ruleset(request: Request, owner: str, repo: str, number: str) -> Response:
    target = _find(_writable(request, owner, repo), number)
    acts.delete_ruleset(request.world, target, request.identity.actor)
    return Response(204)


@routes.add("GET", "/repos/{owner}/{repo}/rules/branches/{branch*}")
def rules_of_branch(request: Request, owner: str, repo: str, branch: str) -> Response:
    found = guardable(open_repo(request, owner, repo, "read"))
    return paginated(request, active_rules(found, f"refs/heads/{branch}"), show_rule)


@routes.add("GET", "/orgs/{org}/rulesets")
@routes.add("POST", "/orgs/{org}/rulesets")
def org_rulesets(request: Request, org: str) -> Response:
    raise ApiError(501, "The emulator does not serve rulesets of organizations yet")
