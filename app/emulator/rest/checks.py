"""Check-runs."""

from __future__ import annotations

from app.emulator.acts import checks as acts
from app.emulator.acts.check_requests import rerequest_check_run
from app.emulator.errors import ApiError, not_found
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import App, CheckRun, CheckSuite, Repository


def writing_app(request: Request) -> App:
    """The App that asks, itself or for a person. Raises 403 for anybody else, whatever they may do otherwise."""
    identity = request.identity
    app = identity.installation.app if identity.installation is not None else None
    if app is None and identity.token is not None:
        app = identity.token.on_behalf_by
    if app is None:
        raise ApiError(403, "You must authenticate via a GitHub App.")
    return app


def check_owner(app: App, suite: CheckSuite) -> None:
    """Checks belong to the App that made them. Raises 403."""
    if suite.app is not app:
        words = f"Invalid app_id `{suite.app.id}` - check run can only be modified by the GitHub App that created it."
        raise ApiError(403, words)


@routes.add("POST", "/repos/{owner}/{repo}/check-runs")
def create_run(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    app = writing_app(request)
    open_repo(request, owner, repo, "write", "checks")
    run = acts.create_run(request.world, found, app, request.body)
    return Response.json(render(request).check_run(run), 201)


def run_of(request: Request, repo: Repository, run_id: str) -> CheckRun:
    run = request.world.check_runs.get(int(run_id))
    if run is None or run.suite.repo is not repo:
        raise not_found()
    return run


@routes.add("GET", "/repos/{owner}/{repo}/check-runs/{run_id:int}")
def run(request: Request, owner: str, repo: str, run_id: str) -> Response:
    found = open_repo(request, owner, repo, "read", "checks")
    return Response.json(render(request).check_run(run_of(request, found, run_id)))


@routes.add("PATCH", "/repos/{owner}/{repo}/check-runs/{run_id:int}")
def change_run(request: Request, owner: str, repo: str, run_id: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    app = writing_app(request)
    open_repo(request, owner, repo, "write", "checks")
    target = run_of(request, found, run_id)
    check_owner(app, target.suite)
    acts.update_run(request.world, target, request.body)
    return Response.json(render(request).check_run(target))


@routes.add("GET", "/repos/{owner}/{repo}/check-runs/{run_id:int}/annotations")
def annotations_of_run(request: Request, owner: str, repo: str, run_id: str) -> Response:
    found = open_repo(request, owner, repo, "read", "checks")
    target = run_of(request, found, run_id)
    return paginated(request, target.annotations, lambda a: render(request).annotation(target, a))


@routes.add("POST", "/repos/{owner}/{repo}/check-runs/{run_id:int}/rerequest")
def rerequest_run(request: Request, owner: str, repo: str, run_id: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    app = writing_app(request)
    open_repo(request, owner, repo, "write", "checks")
    target = run_of(request, found, run_id)
    check_owner(app, target.suite)
    rerequest_check_run(request.world, target, request.identity.actor)
    return Response.json({}, 201)


def commit_of(repo: Repository, name: str) -> str:
    sha = repo.git.resolve_commit(name)
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {name}")
    return sha


def select_runs(suites: list[CheckSuite], name: str | None, app_id: str | None, which: str) -> list[CheckRun]:
    """The check-runs of suites, newest first; "latest" keeps the newest of each name and suite."""
    runs = [r for s in suites for r in s.runs if app_id is None or str(s.app.id) == app_id]
    runs = sorted((r for r in runs if name is None or r.name == name), key=lambda r: -r.id)
    if which == "all":
        return runs
    latest: dict[tuple[int, str], CheckRun] = {}
    for run in runs:
        latest.setdefault((run.suite.id, run.name), run)
    return list(latest.values())


@routes.add("GET", "/repos/{owner}/{repo}/commits/{ref}/check-runs")
def runs_of_commit(request: Request, owner: str, repo: str, ref: str) -> Response:
    found = open_repo(request, owner, repo, "read", "checks")
    sha, query = commit_of(found, ref), request.query
    suites = [s for s in found.suites if s.head_sha == sha]
    runs = select_runs(suites, query.get("check_name"), query.get("app_id"), query.get("filter", "latest"))
    if query.get("status"):
        runs = [r for r in runs if r.status == query["status"]]
    return paginated(request, runs, render(request).check_run, key="check_runs")
