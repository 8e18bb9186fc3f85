"""Check suites: reading, making, asking again, and which Apps a push asks."""

from __future__ import annotations

from app.emulator.acts.check_requests import rerequest_check_suite
from app.emulator.acts.checks import new_suite
from app.emulator.errors import ApiError, not_found
from app.emulator.rest.checks import check_owner, commit_of, select_runs, writing_app
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import CheckSuite, Repository


@routes.add("POST", "/repos/{owner}/{repo}/check-suites")
def create_suite(request: Request, owner: str, repo: str) -> Response:
    """One suite per App and commit: 201 for a new one, 200 for the one that is there."""
    found = open_repo(request, owner, repo, "read")
    app = writing_app(request)
    open_repo(request, owner, repo, "write", "checks")
    sha = request.body.need("head_sha", str)
    if found.git.kind(sha) != "commit":
        raise ApiError(422, f"No commit found for SHA: {sha}")
    present = next((s for s in found.suites if s.app is app and s.head_sha == sha), None)
    made = present or new_suite(request.world, found, app, sha, None)
    return Response.json(render(request).check_suite(made), 200 if present else 201)


@routes.add("PATCH", "/repos/{owner}/{repo}/check-suites/preferences")
def set_preferences(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "write", "checks")
    if request.identity.user is not None and found.role_of(request.identity.user) != "admin":
        raise ApiError(403, "Must have admin rights to Repository.")
    for choice in request.body.get("auto_trigger_checks", list, []):
        if not isinstance(choice, dict) or not {"app_id", "setting"} <= set(choice):
            raise ApiError(422, 'Invalid request.\n\n"app_id", "setting" weren\'t supplied.')
        key = (found.id, int(choice["app_id"]))
        (request.world.no_suites.discard if choice["setting"] else request.world.no_suites.add)(key)
    apps = [i.app for i in request.world.installations_on(found) if i.permissions.get("checks") == "write"]
    chosen = [{"app_id": a.id, "setting": request.world.wants_suites(found, a)} for a in apps]
    return Response.json(
        {"preferences": {"auto_trigger_checks": chosen}, "repository": render(request).minimal_repository(found)}
    )


@routes.add("GET", "/repos/{owner}/{repo}/commits/{ref}/check-suites")
def suites_of_commit(request: Request, owner: str, repo: str, ref: str) -> Response:
    found = open_repo(request, owner, repo, "read", "checks")
    sha, app_id = commit_of(found, ref), request.query.get("app_id")
    suites = [s for s in found.suites if s.head_sha == sha and app_id in (None, str(s.app.id))]
    if "check_name" in request.query:
        suites = [s for s in suites if any(r.name == request.query["check_name"] for r in s.runs)]
    return paginated(request, suites, render(request).check_suite, key="check_suites")


@routes.add("GET", "/repos/{owner}/{repo}/check-suites/{suite_id:int}")
def suite(request: Request, owner: str, repo: str, suite_id: str) -> Response:
    found = open_repo(request, owner, repo, "read", "checks")
    return Response.json(render(request).check_suite(_suite(request, found, suite_id)))


@routes.add("GET", "/repos/{owner}/{repo}/check-suites/{suite_id:int}/check-runs")
def runs_of_suite(request: Request, owner: str, repo: str, suite_id: str) -> Response:
    found = open_repo(request, owner, repo, "read", "checks")
    query = request.query
    runs = select_runs([_suite(request, found, suite_id)], query.get("check_name"), None, query.get("filter", "latest"))
    return paginated(request, runs, render(request).check_run, key="check_runs")


def _suite(request: Request, repo: Repository, suite_id: str) -> CheckSuite:
    suite = request.world.suites.get(int(suite_id))
    if suite is None or suite.repo is not repo:
        raise not_found()
    return suite


@routes.add("POST", "/repos/{owner}/{repo}/check-suites/{suite_id:int}/rerequest")
def rerequest_suite(request: Request, owner: str, repo: str, suite_id: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    app = writing_app(request)
    open_repo(request, owner, repo, "write", "checks")
    target = _suite(request, found, suite_id)
    check_owner(app, target)
    rerequest_check_suite(request.world, target, request.identity.actor)
    return Response.json({}, 201)
