"""Control calls about Actions: what carries out the runs of a workflow, what they wrote, variables and secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.emulator.actions_state import Command, Machine, Workflow
from app.emulator.acts.action_values import check_name, write_variable
from app.emulator.acts.workflow_runs import StartRun, lose
from app.emulator.acts.workflows import find_workflow
from app.emulator.control import router
from app.emulator.errors import ApiError
from app.emulator.identity_controls import repository_of
from app.emulator.routing import Request

if TYPE_CHECKING:
    from app.emulator.server import Server
    from app.emulator.world import World


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
    _start_waiting(world, workflow)
    return {"workflow": workflow.path, "command": list(argv)}


@router.add("POST", "/actions/machines")
def set_machine(server: Server, request: Request) -> Any:
    """Let the steps of a workflow be carried out as they stand, on this machine; a command set for it goes before.
    Runs that wait for it are started now."""
    world, body = server.world, request.body
    repo = repository_of(world, body.need("repo", str))
    workflow = find_workflow(world, repo, body.need("workflow", str))
    if workflow is None:
        raise ApiError(404, "There is no such workflow on the default branch")
    env = tuple((str(k), str(v)) for k, v in body.get("env", dict, {}).items())
    actions = tuple((str(k), tuple(map(str, v))) for k, v in body.get("actions", dict, {}).items())
    machine = Machine(env, actions, body.seconds("pace", Machine.pace))
    world.actions.machines[repo.id, workflow.path] = machine
    _start_waiting(world, workflow)
    return {"workflow": workflow.path, "pace": machine.pace}


def _start_waiting(world: World, workflow: Workflow) -> None:
    for run in world.actions.runs_of(workflow.repo):
        if run.workflow is workflow and run.attempt.status == "queued":
            world.background.later(StartRun(run.id, run.attempt.number))


@router.add("POST", "/actions/values")
def set_values(server: Server, request: Request) -> Any:
    """Set variables and secrets of a repository; what has no value (null) is taken away."""
    world, body = server.world, request.body
    repo = repository_of(world, body.need("repo", str))
    for name, value in body.get("variables", dict, {}).items():
        if value is None:
            world.actions.variables.get(repo.id, {}).pop(name.upper(), None)
        else:
            write_variable(world, repo, str(name), str(value))
    secrets = world.actions.secrets.setdefault(repo.id, {})
    for name, value in body.get("secrets", dict, {}).items():
        if value is None:
            secrets.pop(name.upper(), None)
        else:
            secrets[check_name(str(name))] = str(value)
    return {"variables": sorted(world.actions.variables.get(repo.id, {})), "secrets": sorted(secrets)}


@router.add("POST", "/actions/runs/{number:int}/lose")
def lose_machine(server: Server, request: Request, number: str) -> Any:
    """Take the machine of a run away, as a power cut does: all its processes are killed and no step follows."""
    run = server.world.actions.runs.get(int(number))
    if run is None:
        raise ApiError(404, "There is no such run")
    lose(server.world, run)
    return {}


@router.add("GET", "/actions/runs/{number:int}/log")
def log(server: Server, request: Request, number: str) -> Any:
    """What the command of the run's present attempt wrote so far."""
    run = server.world.actions.runs.get(int(number))
    if run is None:
        raise ApiError(404, "There is no such run")
    file = server.world.data_dir / "actions" / number / str(run.attempt.number) / "log.txt"
    return {"log": file.read_text(errors="replace") if file.exists() else "", "status": run.attempt.status}
