"""Control calls about Actions: which local command stands in for a workflow's runner, and what it wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.emulator.actions_state import Command
from app.emulator.acts.workflow_runs import StartRun
from app.emulator.acts.workflows import find_workflow
from app.emulator.control import router
from app.emulator.errors import ApiError
from app.emulator.identity_controls import repository_of
from app.emulator.routing import Request

if TYPE_CHECKING:
    from app.emulator.server import Server


@router.add("POST", "/actions/commands")
def set_command(server: Server, request: Request) -> Any:
    """Set what is started for a workflow's runs; those that wait for it are started now. An empty command takes it
    away."""
    world, body = server.world, request.body
    repo = repository_of(world, body.need("repo", str))
    workflow = find_workflow(world, repo, body.need("workflow", str))
    if workflow is None:
        raise ApiError(404, "There is no such workflow on the default branch")
    argv = tuple(str(word) for word in body.need("command", list))
    key = (repo.id, workflow.path)
    if not argv:
        world.actions.commands.pop(key, None)
        return {"workflow": workflow.path, "command": []}
    env = tuple((str(k), str(v)) for k, v in body.get("env", dict, {}).items())
    timeout = body.seconds("timeout_s", Command.timeout_s)
    world.actions.commands[key] = Command(argv, env, body.maybe("cwd", str), timeout)
    for run in world.actions.runs_of(repo):
        if run.workflow is workflow and run.attempt.status == "queued":
            world.background.later(StartRun(run.id, run.attempt.number))
    return {"workflow": workflow.path, "command": list(argv)}


@router.add("GET", "/actions/runs/{number:int}/log")
def log(server: Server, request: Request, number: str) -> Any:
    """What the command of the run's present attempt wrote so far."""
    run = server.world.actions.runs.get(int(number))
    if run is None:
        raise ApiError(404, "There is no such run")
    file = server.world.data_dir / "actions" / number / str(run.attempt.number) / "log.txt"
    return {"log": file.read_text(errors="replace") if file.exists() else "", "status": run.attempt.status}
