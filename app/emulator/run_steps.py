"""A run whose steps are carried out as they stand: the file at its commit, its contexts, and what is shown of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pygit2

from app.emulator.actions_state import Machine, StepSeen, WorkflowRun
from app.emulator.file_commands import Masks
from app.emulator.job_plan import WrongWorkflow, plan
from app.emulator.processes import Ending
from app.emulator.run_environment import facts_of, prepare
from app.emulator.runner import JobWork, Surroundings
from app.emulator.workflow_files import parse
from app.emulator.world import World


def begin_steps(world: World, run: WorkflowRun, machine: Machine, done: Callable[[Ending], None]) -> None:
    """Start the steps; a file that is wrong, or that no runner here plays, ends the run at once."""
    folder, env = prepare(world, run)
    text = _text(run)
    try:
        planned = plan(text)
    except WrongWorkflow as error:
        (folder / "log.txt").write_text(f"##[error]{error}\n", encoding="utf-8")
        done("startup_failure")
        return
    # A step has no GITHUB_TOKEN unless the file gives it one.
    token = env.pop("GITHUB_TOKEN")
    secrets = {"GITHUB_TOKEN": token} | world.actions.secrets.get(run.repo.id, {})
    hidden = [*secrets.values(), *([run.attempt.oidc_secret] if run.attempt.oidc_secret else [])]
    given = ("GITHUB_", "RUNNER_", "ACTIONS_")
    around = Surroundings(
        folder=folder,
        base={name: value for name, value in env.items() if not name.startswith(given)} | dict(machine.env),
        facts={name: value for name, value in env.items() if name.startswith(given)},
        contexts={
            "github": _github(world, run, env, token),
            "inputs": _inputs(run, text),
            "vars": {v.name: v.value for v in world.actions.variables.get(run.repo.id, {}).values()},
            "secrets": secrets,
        },
        actions=dict(machine.actions),
        pace=machine.pace,
        masks=Masks(hidden),
    )
    steps = run.attempt.jobs[0].steps

    def report(number: int, name: str, status: str, conclusion: str | None) -> None:
        now = world.clock.stamp()
        seen = steps.setdefault(number, StepSeen(number, name, status, conclusion, now))
        seen.name, seen.status, seen.conclusion = name, status, conclusion
        seen.completed_at = now if status == "completed" else None

    world.processes.start(run.id, JobWork(planned, around, report), done)


def _text(run: WorkflowRun) -> str:
    blob = run.repo.git.resolve(f"{run.head_sha}:{run.workflow.path}")
    return blob.data.decode(errors="replace") if isinstance(blob, pygit2.Blob) else ""


def _github(world: World, run: WorkflowRun, env: dict[str, str], token: str) -> dict[str, Any]:
    facts: dict[str, Any] = {name.lower(): value for name, value in facts_of(world, run, run.repo).items()}
    event = json.loads(Path(env["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    more = {"event": event, "token": token, "workspace": env["GITHUB_WORKSPACE"], "ref_protected": False}
    return facts | more | {"event_path": env["GITHUB_EVENT_PATH"], "repositoryUrl": f"git://{run.repo.full_name}.git"}


def _inputs(run: WorkflowRun, text: str) -> dict[str, Any]:
    """The inputs of a dispatch; booleans and numbers are such, everything else is a text."""
    declared = parse(text, run.workflow.path).inputs
    kinds = {name: declared[name].kind if name in declared else "string" for name in run.payload.get("inputs") or {}}
    values: dict[str, Any] = dict(run.payload.get("inputs") or {})
    for name, kind in kinds.items():
        if kind == "boolean":
            values[name] = values[name] == "true"
        elif kind == "number":
            values[name] = float(values[name] or 0)
    return values
