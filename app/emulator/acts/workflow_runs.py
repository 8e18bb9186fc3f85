"""Runs of workflows: their begin, their end, cancelling and running again, with all events and check-runs.

Sources: docs.github.com, "REST API endpoints for workflow runs", "Workflow cancellation reference"; the webhook events
`workflow_run`, `workflow_job`, `workflow_dispatch`, `repository_dispatch`. A run's check-runs belong to the App
"GitHub Actions" in a suite of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.emulator.actions_state import (
    Attempt,
    Job,
    Machine,
    Workflow,
    WorkflowRun,
)
from app.emulator.acts.actions_app import actions_app, actions_bot
from app.emulator.acts.checks import new_suite, tell_run, tell_suite
from app.emulator.acts.events import announce
from app.emulator.clock import from_stamp
from app.emulator.errors import ApiError
from app.emulator.expression_values import Values, WrongValue
from app.emulator.expressions import WrongExpression
from app.emulator.job_plan import run_name
from app.emulator.processes import CommandWork, Launch
from app.emulator.render import Render
from app.emulator.run_environment import prepare
from app.emulator.run_steps import begin_steps
from app.emulator.state import Account, Actor, CheckRun
from app.emulator.workflow_files import WorkflowFile
from app.emulator.world import World

_RERUN_WITHIN_S = 30 * 86_400


@dataclass(frozen=True)
class StartRun:
    """Start a run's command a little after the request that asked for it. Without one the run stays queued, as where
    no runner takes it."""

    run_id: int
    attempt: int

    def run(self, world: World) -> None:
        """Start it, unless it was cancelled before."""
        run = world.actions.runs.get(self.run_id)
        if run is None or run.attempt.number != self.attempt or run.attempt.status != "queued":
            return
        command = world.actions.commands.get((run.repo.id, run.workflow.path))
        machine = world.actions.machines.get((run.repo.id, run.workflow.path))
        if command is None and machine is None:
            return
        begin(world, run)
        if command is None:
            begin_steps(world, run, machine or Machine(), lambda ending: finish(world, run, ending))
            return
        folder, env = prepare(world, run)
        launch = Launch(
            command.argv,
            env | dict(command.env),
            command.cwd or env["GITHUB_WORKSPACE"],
            folder / "log.txt",
            command.timeout_s,
        )
        world.processes.start(run.id, CommandWork(launch), lambda ending: finish(world, run, ending))


def start_run(
    world: World,
    workflow: Workflow,
    file: WorkflowFile,
    *,
    event: str,
    ref: str,
    sha: str,
    actor: Account,
    payload: dict[str, Any],
    title: str,
) -> WorkflowRun:
    """A new run, queued; its process is started a little later."""
    app = actions_app(world)
    workflow.last_number += 1
    branch = ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None
    run = WorkflowRun(
        id=world.ids.next("workflow_run"),
        workflow=workflow,
        number=workflow.last_number,
        event=event,
        ref=ref,
        head_sha=sha,
        actor=actor,
        display_title=title,
        payload=payload,
        suite=new_suite(world, workflow.repo, app, sha, branch),
        created_at=world.clock.stamp(),
        job_names=list(file.jobs),
        permissions=file.permissions,
    )
    if file.run_name is not None:
        run.display_title = _title(file.run_name, run) or title
    world.actions.runs[run.id] = run
    _new_attempt(world, run, actor)
    return run


def expression_context(run: WorkflowRun) -> dict[str, Any]:
    """What an expression of a run-name may speak of."""
    repo = run.repo
    github = {
        "actor": run.actor.login,
        "event": run.payload,
        "event_name": run.event,
        "ref": run.ref,
        "ref_name": run.short_ref,
        "repository": repo.full_name,
        "repository_owner": repo.owner.login,
        "run_id": run.id,
        "run_number": run.number,
        "sha": run.head_sha,
        "triggering_actor": run.actor.login,
        "workflow": run.workflow.name,
    }
    return {"github": github, "inputs": run.payload.get("inputs") or {}}


def _title(source: str, run: WorkflowRun) -> str:
    """The computed name; empty where it cannot be computed (its runner then refuses the file)."""
    try:
        return run_name(source).text(Values(expression_context(run), {})).strip()
    except (WrongExpression, WrongValue):
        return ""


def _new_attempt(world: World, run: WorkflowRun, actor: Account) -> None:
    now = world.clock.stamp()
    attempt = Attempt(len(run.attempts) + 1, actor, now, now)
    run.attempts.append(attempt)
    for name in run.job_names:
        check = CheckRun(world.ids.next("check_run"), run.suite, name, "queued", now)
        run.suite.runs.append(check)
        world.check_runs[check.id] = check
        job = Job(name, check, now)
        attempt.jobs.append(job)
        check.details_url = Render(world).job_page(run, job)
    _tell_run(world, run, "requested")
    for job in attempt.jobs:
        tell_run(world, job.check_run, "created", actions_bot(world))
        _tell_job(world, run, job, "queued")
    world.background.later(StartRun(run.id, attempt.number))


def begin(world: World, run: WorkflowRun) -> None:
    """The process of the present attempt runs."""
    now = world.clock.stamp()
    attempt = run.attempt
    attempt.status, attempt.updated_at = "in_progress", now
    _tell_run(world, run, "in_progress")
    for job in attempt.jobs:
        job.status, job.started_at = "in_progress", now
        job.check_run.status, job.check_run.started_at = "in_progress", now
        _tell_job(world, run, job, "in_progress")


def finish(world: World, run: WorkflowRun, conclusion: str) -> None:
    """The present attempt is over; its token is worth nothing from now on."""
    now = world.clock.stamp()
    attempt = run.attempt
    if attempt.token is not None:
        world.tokens.pop(attempt.token, None)
    attempt.status, attempt.conclusion, attempt.updated_at, attempt.oidc_secret = "completed", conclusion, now, None
    # Only a whole run may fail at its start; its jobs are failures.
    of_job = "failure" if conclusion == "startup_failure" else conclusion
    for job in attempt.jobs:
        job.status, job.conclusion, job.completed_at = "completed", of_job, now
        job.started_at = job.started_at or now
        check = job.check_run
        check.status, check.conclusion, check.completed_at = "completed", of_job, now
        _tell_job(world, run, job, "completed")
        tell_run(world, check, "completed", actions_bot(world))
    run.suite.updated_at = now
    tell_suite(world, run.suite, "completed", actions_bot(world))
    _tell_run(world, run, "completed")


def cancel(world: World, run: WorkflowRun, *, force: bool) -> None:
    """End the present attempt: at once where nothing runs yet, else by signals to its process. Raises 409."""
    if run.attempt.status == "completed":
        raise ApiError(409, "Cannot cancel a workflow run that is completed.")
    if not world.processes.cancel(run.id, force=force):
        finish(world, run, "cancelled")


def lose(world: World, run: WorkflowRun) -> None:
    """Take the present attempt's machine away: what runs is killed, nothing follows it, and it has failed. Raises
    409."""
    if not world.processes.kill(run.id):
        raise ApiError(409, "Nothing of this run is under way.")


def take_up(world: World) -> None:
    """After a restart: what ran has lost its process and failed, what waited is started."""
    for run in list(world.actions.runs.values()):
        if run.attempt.status == "in_progress":
            finish(world, run, "failure")
        elif run.attempt.status == "queued":
            world.background.later(StartRun(run.id, run.attempt.number))


def rerun(world: World, run: WorkflowRun, actor: Account) -> None:
    """A further attempt of the same event on the same commit. Raises 403 for one that runs or is too old."""
    if run.attempt.status != "completed":
        raise ApiError(403, "This workflow is already running")
    if world.clock.now() - from_stamp(run.created_at) > _RERUN_WITHIN_S:
        raise ApiError(403, "Unable to retry this workflow run because it was created over a month ago")
    _new_attempt(world, run, actor)


def _tell_run(world: World, run: WorkflowRun, action: str) -> None:
    shown = Render(world)
    payload = {
        "action": action,
        "workflow_run": shown.workflow_run(run),
        "workflow": shown.workflow(run.workflow),
    }
    announce(world, run.repo, "workflow_run", payload, Actor(run.attempt.triggering_actor))


def _tell_job(world: World, run: WorkflowRun, job: Job, action: str) -> None:
    payload = {"action": action, "workflow_job": Render(world).job(run, run.attempt, job)}
    announce(world, run.repo, "workflow_job", payload, Actor(run.attempt.triggering_actor))
