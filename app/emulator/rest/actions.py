"""Workflows, dispatches, runs, attempts and jobs."""

from __future__ import annotations

from typing import Any

from app.emulator.actions_state import Attempt, Job, Workflow, WorkflowRun
from app.emulator.acts.events import announce
from app.emulator.acts.workflow_runs import cancel, rerun, start_run
from app.emulator.acts.workflows import (
    check_dispatch,
    check_repository_dispatch,
    find_workflow,
    read_file,
    workflows_of,
)
from app.emulator.api_versions import FIRST, asked_for
from app.emulator.errors import not_found
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import Repository

_BASE = "/repos/{owner}/{repo}/actions"
# From this version on a dispatch always tells of its run.
_VERSION_WITH_DETAILS = "2026-03-10"


def _workflow(request: Request, repo: Repository, wanted: str) -> Workflow:
    workflow = find_workflow(request.world, repo, wanted)
    if workflow is None:
        raise not_found()
    return workflow


@routes.add("GET", f"{_BASE}/workflows")
def workflows(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "actions")
    return paginated(request, workflows_of(request.world, found), render(request).workflow, key="workflows")


@routes.add("GET", f"{_BASE}/workflows/{{wanted}}")
def workflow(request: Request, owner: str, repo: str, wanted: str) -> Response:
    found = open_repo(request, owner, repo, "read", "actions")
    return Response.json(render(request).workflow(_workflow(request, found, wanted)))


@routes.add("PUT", f"{_BASE}/workflows/{{wanted}}/disable")
def disable(request: Request, owner: str, repo: str, wanted: str) -> Response:
    return _set_state(request, owner, repo, wanted, "disabled_manually")


@routes.add("PUT", f"{_BASE}/workflows/{{wanted}}/enable")
def enable(request: Request, owner: str, repo: str, wanted: str) -> Response:
    return _set_state(request, owner, repo, wanted, "active")


def _set_state(request: Request, owner: str, repo: str, wanted: str, state: str) -> Response:
    found = open_repo(request, owner, repo, "write", "actions")
    target = _workflow(request, found, wanted)
    target.state, target.updated_at = state, request.world.clock.stamp()
    return Response(204)


@routes.add("POST", f"{_BASE}/workflows/{{wanted}}/dispatches")
def dispatch(request: Request, owner: str, repo: str, wanted: str) -> Response:
    found = open_repo(request, owner, repo, "write", "actions")
    target, body, world = _workflow(request, found, wanted), request.body, request.world
    ref, sha, file, inputs = check_dispatch(target, body.need("ref", str), body)
    details = asked_for(request) != FIRST or body.get("return_run_details", bool, False)
    payload: dict[str, Any] = {"inputs": inputs, "ref": ref, "workflow": target.path}
    announce(world, found, "workflow_dispatch", payload, request.identity.actor)
    run = start_run(
        world,
        target,
        file,
        event="workflow_dispatch",
        ref=ref,
        sha=sha,
        actor=request.identity.account,
        payload=payload,
        title=target.name,
    )
    if not details and request.headers.get("x-github-api-version", "") < _VERSION_WITH_DETAILS:
        return Response(204)
    shown = render(request).workflow_run(run)
    return Response.json({"workflow_run_id": run.id, "run_url": shown["url"], "html_url": shown["html_url"]})


@routes.add("POST", "/repos/{owner}/{repo}/dispatches")
def repository_dispatch(request: Request, owner: str, repo: str) -> Response:
    """Starts every active workflow of the default branch that listens to the type; none is no fault."""
    found = open_repo(request, owner, repo, "write", "contents")
    world = request.world
    event_type, given = check_repository_dispatch(request.body)
    payload: dict[str, Any] = {"action": event_type, "branch": found.default_branch, "client_payload": given}
    announce(world, found, "repository_dispatch", payload, request.identity.actor)
    head = found.git.branch(found.default_branch)
    for listener in workflows_of(world, found):
        file = read_file(found, head or "", listener.path)
        if head is not None and listener.state == "active" and file.listens_to(event_type):
            start_run(
                world,
                listener,
                file,
                event="repository_dispatch",
                ref=f"refs/heads/{found.default_branch}",
                sha=head,
                actor=request.identity.account,
                payload=payload,
                title=event_type,
            )
    return Response(204)


def _run(request: Request, repo: Repository, number: str) -> WorkflowRun:
    run = request.world.actions.runs.get(int(number))
    if run is None or run.repo is not repo:
        raise not_found()
    return run


def _selected(request: Request, runs: list[WorkflowRun]) -> list[WorkflowRun]:
    query = request.query
    tests: dict[str, Any] = {
        "actor": lambda r: r.actor.login,
        "branch": lambda r: r.short_ref,
        "event": lambda r: r.event,
        "head_sha": lambda r: r.head_sha,
        "check_suite_id": lambda r: str(r.suite.id),
    }
    for name, value_of in tests.items():
        if query.get(name):
            runs = [r for r in runs if value_of(r) == query[name]]
    if query.get("status"):
        # One parameter for both: a status or a conclusion.
        runs = [r for r in runs if query["status"] in (r.attempt.status, r.attempt.conclusion)]
    return runs


@routes.add("GET", f"{_BASE}/runs")
def runs(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "actions")
    listed = _selected(request, request.world.actions.runs_of(found))
    return paginated(request, listed, render(request).workflow_run, key="workflow_runs")


@routes.add("GET", f"{_BASE}/workflows/{{wanted}}/runs")
def runs_of_workflow(request: Request, owner: str, repo: str, wanted: str) -> Response:
    found = open_repo(request, owner, repo, "read", "actions")
    target = _workflow(request, found, wanted)
    own = [r for r in request.world.actions.runs_of(found) if r.workflow is target]
    return paginated(request, _selected(request, own), render(request).workflow_run, key="workflow_runs")


@routes.add("GET", f"{_BASE}/runs/{{number:int}}")
def run(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "actions")
    return Response.json(render(request).workflow_run(_run(request, found, number)))


def _attempt(run: WorkflowRun, number: str) -> Attempt:
    attempt = next((a for a in run.attempts if str(a.number) == number), None)
    if attempt is None:
        raise not_found()
    return attempt


@routes.add("GET", f"{_BASE}/runs/{{number:int}}/attempts/{{attempt:int}}")
def former_attempt(request: Request, owner: str, repo: str, number: str, attempt: str) -> Response:
    found = open_repo(request, owner, repo, "read", "actions")
    target = _run(request, found, number)
    return Response.json(render(request).workflow_run(target, _attempt(target, attempt)))


@routes.add("GET", f"{_BASE}/runs/{{number:int}}/attempts/{{attempt:int}}/jobs")
def jobs_of_attempt(request: Request, owner: str, repo: str, number: str, attempt: str) -> Response:
    found = open_repo(request, owner, repo, "read", "actions")
    target = _run(request, found, number)
    return _jobs(request, target, [_attempt(target, attempt)])


@routes.add("GET", f"{_BASE}/runs/{{number:int}}/jobs")
def jobs(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "actions")
    target = _run(request, found, number)
    return _jobs(request, target, target.attempts if request.query.get("filter") == "all" else [target.attempt])


def _jobs(request: Request, target: WorkflowRun, attempts: list[Attempt]) -> Response:
    listed = [(a, j) for a in attempts for j in a.jobs]
    return paginated(request, listed, lambda x: render(request).job(target, *x), key="jobs")


@routes.add("GET", f"{_BASE}/runs/{{number:int}}/artifacts")
def artifacts(request: Request, owner: str, repo: str, number: str) -> Response:
    """None: a local command has no way to upload any."""
    _run(request, open_repo(request, owner, repo, "read", "actions"), number)
    return paginated(request, [], lambda x: x, key="artifacts")


def _find_job(request: Request, repo: Repository, number: str) -> tuple[WorkflowRun, Attempt, Job]:
    for target in request.world.actions.runs_of(repo):
        for attempt in target.attempts:
            for job in attempt.jobs:
                if str(job.id) == number:
                    return target, attempt, job
    raise not_found()


@routes.add("GET", f"{_BASE}/jobs/{{number:int}}")
def job(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "actions")
    return Response.json(render(request).job(*_find_job(request, found, number)))


@routes.add("POST", f"{_BASE}/runs/{{number:int}}/cancel")
def cancel_run(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "write", "actions")
    cancel(request.world, _run(request, found, number), force=False)
    return Response.json({}, 202)


@routes.add("POST", f"{_BASE}/runs/{{number:int}}/force-cancel")
def force_cancel_run(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "write", "actions")
    cancel(request.world, _run(request, found, number), force=True)
    return Response.json({}, 202)


@routes.add("POST", f"{_BASE}/runs/{{number:int}}/rerun")
@routes.add("POST", f"{_BASE}/runs/{{number:int}}/rerun-failed-jobs")
def rerun_run(request: Request, owner: str, repo: str, number: str) -> Response:
    """All jobs of a run share one command, so that the failed ones cannot run again alone."""
    found = open_repo(request, owner, repo, "write", "actions")
    rerun(request.world, _run(request, found, number), request.identity.account)
    return Response.json({}, 201)


@routes.add("POST", f"{_BASE}/jobs/{{number:int}}/rerun")
def rerun_job(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "write", "actions")
    rerun(request.world, _find_job(request, found, number)[0], request.identity.account)
    return Response.json({}, 201)
