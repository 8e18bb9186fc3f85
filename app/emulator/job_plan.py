"""A workflow file as a runner carries it out: one job, its steps, and all expressions, read before anything runs.

Sources: docs.github.com, "Workflow syntax for GitHub Actions" (keys, shells, defaults) and "Contexts reference" (which
contexts stand where). What GitHub would not take, and what this runner does not play, is refused for the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from app.emulator.expressions import Expression, Place, Template, WrongExpression, condition, of_contexts, template

DEFAULT_MINUTES = 360
_OF_RUN = of_contexts(("github", "inputs", "vars"))
_OF_ALL_ENV = of_contexts(("github", "secrets", "inputs", "vars"))
_OF_JOB = of_contexts(("github", "needs", "strategy", "matrix", "vars", "inputs"))
_OF_JOB_IF = of_contexts(("github", "needs", "vars", "inputs"), status=True)
_OF_JOB_ENV = of_contexts(("github", "needs", "strategy", "matrix", "vars", "secrets", "inputs"))
_OF_DEFAULTS = of_contexts(("github", "needs", "strategy", "matrix", "env", "vars", "inputs"))
_IN_STEPS = ("github", "needs", "strategy", "matrix", "job", "runner", "env", "vars", "steps", "inputs")
_OF_STEP = of_contexts((*_IN_STEPS, "secrets"))
_OF_STEP_IF = of_contexts(_IN_STEPS, status=True)
_WORKFLOW = {"name", "run-name", "on", "permissions", "env", "defaults", "concurrency", "jobs"}
_JOB = {
    "name",
    "permissions",
    "if",
    "runs-on",
    "concurrency",
    "outputs",
    "env",
    "defaults",
    "steps",
    "timeout-minutes",
    "continue-on-error",
}
_JOB_ELSEWHERE = {"needs", "strategy", "container", "services", "uses", "with", "secrets", "environment", "snapshot"}
_STEP = {
    "id",
    "if",
    "name",
    "uses",
    "run",
    "working-directory",
    "shell",
    "with",
    "env",
    "continue-on-error",
    "timeout-minutes",
}
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


class WrongWorkflow(ValueError):
    """A file that starts nothing, and why."""


@dataclass(frozen=True)
class Step:
    """A step; exactly one of ``run`` and ``uses`` is there."""

    id: str | None
    name: Template
    condition: Expression
    run: Template | None
    uses: str | None
    inputs: dict[str, Template]
    env: dict[str, Template]
    shell: Template | None
    folder: Template | None
    minutes: Template | None
    continue_on_error: Template


@dataclass(frozen=True)
class Plan:
    """The one job of a workflow."""

    job: str
    condition: Expression
    all_env: dict[str, Template]
    env: dict[str, Template]
    shell: Template | None
    folder: Template | None
    minutes: Template
    continue_on_error: Template
    steps: tuple[Step, ...]


def run_name(source: str) -> Template:
    """The template of a run's name. Raises :class:`WrongExpression`."""
    return template(source, _OF_RUN)


def plan(text: str) -> Plan:
    """Read a file. Raises :class:`WrongWorkflow`."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise WrongWorkflow(str(error).splitlines()[0]) from None
    try:
        return _plan(data)
    except WrongExpression as error:
        raise WrongWorkflow(str(error)) from None


def _plan(data: Any) -> Plan:
    # YAML 1.1 reads the word `on` as true.
    given: Mapping[Any, Any] = _mapping(data, "the file")
    workflow: Mapping[str, Any] = {("on" if key is True else key): value for key, value in given.items()}
    _only(workflow, _WORKFLOW, "the workflow")
    for key in ("run-name", "concurrency"):
        _all_of(workflow.get(key), _OF_RUN)
    jobs = _mapping(workflow.get("jobs"), "jobs")
    if len(jobs) != 1:
        raise WrongWorkflow(f"This runner plays workflows of one job; the file has {len(jobs)}")
    key, job = next((str(key), _mapping(job, str(key))) for key, job in jobs.items())
    elsewhere = sorted(_JOB_ELSEWHERE & set(job))
    if elsewhere:
        raise WrongWorkflow(f"This runner does not play {', '.join(elsewhere)} of a job")
    _only(job, _JOB, f"job {key}")
    if "runs-on" not in job or not isinstance(job.get("steps"), list) or not job["steps"]:
        raise WrongWorkflow(f"Required property is missing in job {key}: runs-on and steps")
    for name in ("runs-on", "name", "concurrency"):
        _all_of(job.get(name), _OF_JOB)
    outer, inner = _run_defaults(workflow), _run_defaults(job)
    return Plan(
        job=key,
        condition=condition(job.get("if", "success()"), _OF_JOB_IF),
        all_env=_templates(workflow.get("env"), _OF_ALL_ENV, "env"),
        env=_templates(job.get("env"), _OF_JOB_ENV, "env"),
        shell=inner.get("shell") or outer.get("shell"),
        folder=inner.get("working-directory") or outer.get("working-directory"),
        minutes=_minutes(job, _OF_JOB) or template(DEFAULT_MINUTES, _OF_JOB),
        continue_on_error=template(job.get("continue-on-error", False), _OF_JOB),
        steps=_steps(job["steps"]),
    )


def _steps(given: list[Any]) -> tuple[Step, ...]:
    steps = tuple(_step(_mapping(step, f"step {number}"), number) for number, step in enumerate(given, 1))
    ids = [step.id.lower() for step in steps if step.id is not None]
    twice = sorted({id for id in ids if ids.count(id) > 1})
    if twice:
        raise WrongWorkflow(f"The identifier '{twice[0]}' may not be used more than once within the same scope")
    return steps


def _step(step: Mapping[str, Any], number: int) -> Step:
    where = f"step {number}"
    _only(step, _STEP, where)
    run, uses = step.get("run"), step.get("uses")
    if (run is None) == (uses is None):
        raise WrongWorkflow(f"Exactly one of run and uses is required in {where}")
    if uses is not None and ({"shell", "working-directory"} & set(step)):
        raise WrongWorkflow(f"Unexpected value 'shell' or 'working-directory' beside uses in {where}")
    if run is not None and "with" in step:
        raise WrongWorkflow(f"Unexpected value 'with' beside run in {where}")
    id = step.get("id")
    if id is not None and not (isinstance(id, str) and _ID.match(id) and not id.startswith("__")):
        raise WrongWorkflow(f"The identifier '{id}' is invalid")
    first_line = str(run).strip().splitlines()[0] if run is not None and str(run).strip() else str(uses)
    return Step(
        id=id,
        name=template(step.get("name") or f"Run {first_line}", _OF_STEP),
        condition=condition(step.get("if", "success()"), _OF_STEP_IF),
        run=template(run, _OF_STEP) if run is not None else None,
        uses=str(uses) if uses is not None else None,
        inputs=_templates(step.get("with"), _OF_STEP, "with"),
        env=_templates(step.get("env"), _OF_STEP, "env"),
        shell=template(step["shell"], _OF_STEP) if "shell" in step else None,
        folder=template(step["working-directory"], _OF_STEP) if "working-directory" in step else None,
        minutes=_minutes(step, _OF_STEP),
        continue_on_error=template(step.get("continue-on-error", False), _OF_STEP),
    )


def _minutes(of: Mapping[str, Any], place: Place) -> Template | None:
    given = of.get("timeout-minutes")
    if given is None:
        return None
    # "Fractional values are not supported. timeout-minutes must be a positive integer."
    if not isinstance(given, str) and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        raise WrongWorkflow(f"timeout-minutes must be a positive integer, not {given!r}")
    return template(given, place)


def _run_defaults(of: Mapping[str, Any]) -> dict[str, Template]:
    defaults = _mapping(of.get("defaults") or {}, "defaults")
    _only(defaults, {"run"}, "defaults")
    run = _mapping(defaults.get("run") or {}, "defaults.run")
    _only(run, {"shell", "working-directory"}, "defaults.run")
    return {str(key): template(value, _OF_DEFAULTS) for key, value in run.items()}


def _templates(given: Any, place: Place, what: str) -> dict[str, Template]:
    return {str(key): template(value, place) for key, value in _mapping(given or {}, what).items()}


def _all_of(given: Any, place: Place) -> None:
    """Read every text of a value that this runner does not use, so that a wrong one is not passed over."""
    if isinstance(given, Mapping):
        for value in given.values():
            _all_of(value, place)
    elif isinstance(given, list):
        for value in given:
            _all_of(value, place)
    elif given is not None:
        template(given, place)


def _mapping(given: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise WrongWorkflow(f"A mapping was expected: {what}")
    return given


def _only(given: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise WrongWorkflow(f"Unexpected value '{key}' in {where}")
