"""Workflows: which files a repository has, and what a dispatch asks of them.

Sources: docs.github.com, "REST API endpoints for workflows" and "Create a repository dispatch event"; the words of
refusals as clients report them (benc-uk/workflow-dispatch#46, cli/cli#5246, convictional/trigger-workflow-and-wait#4,
#44, peter-evans/repository-dispatch). Those for inputs that are too large could not be checked.
"""

from __future__ import annotations

import json
from typing import Any

import pygit2

from app.emulator.actions_state import Workflow
from app.emulator.errors import ApiError
from app.emulator.routing import Body
from app.emulator.state import Repository
from app.emulator.workflow_files import FOLDER, MAX_INPUTS, Input, WorkflowFile, is_workflow, parse, shown_value
from app.emulator.world import World

MAX_INPUT_CHARACTERS = 65_535
MAX_EVENT_TYPE = 100
MAX_PAYLOAD_PROPERTIES = 10
MAX_PAYLOAD_BYTES = 65_535


def workflows_of(world: World, repo: Repository) -> list[Workflow]:
    """The repository's workflows, by the files on its default branch; a file that is gone is a workflow no more."""
    head = repo.git.branch(repo.default_branch)
    known = {w.path: w for w in world.actions.workflows.values() if w.repo is repo}
    listed = []
    for path in _paths(repo, head) if head is not None else []:
        name = read_file(repo, head or "", path).name
        workflow = known.get(path)
        if workflow is None:
            now = world.clock.stamp()
            workflow = Workflow(world.ids.next("workflow"), repo, path, name, now, now)
            world.actions.workflows[workflow.id] = workflow
        workflow.name = name
        listed.append(workflow)
    return sorted(listed, key=lambda w: w.id)


def find_workflow(world: World, repo: Repository, wanted: str) -> Workflow | None:
    """A workflow by its id or by the name of its file."""
    for workflow in workflows_of(world, repo):
        if wanted in (str(workflow.id), workflow.path.rpartition("/")[2], workflow.path):
            return workflow
    return None


def read_file(repo: Repository, commit: str, path: str) -> WorkflowFile:
    """The workflow file as a commit has it; one without triggers where the commit lacks it."""
    blob = repo.git.resolve(f"{commit}:{path}")
    if not isinstance(blob, pygit2.Blob):
        return WorkflowFile(path, broken="missing")
    return parse(blob.data.decode(errors="replace"), path)


def _paths(repo: Repository, commit: str) -> list[str]:
    folder = repo.git.resolve(f"{commit}:{FOLDER}")
    names = [f"{FOLDER}/{e.name}" for e in folder if e.type_str == "blob"] if isinstance(folder, pygit2.Tree) else []
    return [path for path in names if is_workflow(path)]


def resolve_ref(repo: Repository, ref: str) -> tuple[str, str] | None:
    """A branch or tag, short or full, as (full name, commit)."""
    names = [ref] if ref.startswith("refs/") else [f"refs/heads/{ref}", f"refs/tags/{ref}"]
    for name in names:
        oid = repo.git.ref(name)
        commit = repo.git.resolve_commit(oid) if oid is not None else None
        if commit is not None and name.startswith(("refs/heads/", "refs/tags/")):
            return name, commit
    return None


def check_dispatch(workflow: Workflow, ref: str, body: Body) -> tuple[str, str, WorkflowFile, dict[str, str]]:
    """What ``workflow_dispatch`` would start: the full ref, the commit, the file there, the inputs with defaults.

    Raises 422 in the words of GitHub.
    """
    given = body.get("inputs", dict, {})
    if len(given) > MAX_INPUTS:
        raise ApiError(
            422, f"Invalid request.\n\nNo more than {MAX_INPUTS} properties are allowed; {len(given)} were supplied."
        )
    found = resolve_ref(workflow.repo, ref)
    if found is None:
        raise ApiError(422, f"No ref found for: {ref}")
    if workflow.state != "active":
        raise ApiError(422, "Cannot trigger a 'workflow_dispatch' on a disabled workflow")
    file = read_file(workflow.repo, found[1], workflow.path)
    if "workflow_dispatch" not in file.triggers:
        raise ApiError(422, "Workflow does not have 'workflow_dispatch' trigger")
    return *found, file, check_inputs(file.inputs, given)


def check_inputs(declared: dict[str, Input], given: dict[str, Any]) -> dict[str, str]:
    """The inputs a run gets, all of them texts. Raises 422."""
    unexpected = [name for name in given if name not in declared]
    if unexpected:
        raise ApiError(422, f"Unexpected inputs provided: {json.dumps(unexpected)}")
    values = {}
    for name, wanted in declared.items():
        value = given.get(name)
        if value is None and wanted.required and wanted.default is None:
            raise ApiError(422, f"Required input '{name}' not provided")
        if value is None:
            values[name] = shown_value(wanted.default) or ("false" if wanted.kind == "boolean" else "")
            continue
        if not isinstance(value, str):
            # Seen for booleans and for objects (Scalr/terraform-provider-scalr#555).
            raise ApiError(422, f"Invalid value for input '{name}'")
        values[name] = value
        if wanted.options and values[name] not in wanted.options:
            raise ApiError(422, f"Provided value '{values[name]}' for input '{name}' not in the list of allowed values")
    if sum(len(v) for v in values.values()) > MAX_INPUT_CHARACTERS:
        raise ApiError(422, "inputs are too large.")
    return values


def check_repository_dispatch(body: Body) -> tuple[str, dict[str, Any]]:
    """The type and payload of ``repository_dispatch``. Raises 422."""
    event_type = body.need("event_type", str)
    if not event_type:
        raise ApiError(422, "Invalid request.\n\nAt least 1 characters are required; only 0 were supplied.")
    if len(event_type) > MAX_EVENT_TYPE:
        raise ApiError(
            422,
            f"Invalid request.\n\nOnly {MAX_EVENT_TYPE} characters are allowed; {len(event_type)} were supplied.",
        )
    payload = body.get("client_payload", dict, {})
    if len(payload) > MAX_PAYLOAD_PROPERTIES:
        raise ApiError(
            422,
            f"Invalid request.\n\nNo more than {MAX_PAYLOAD_PROPERTIES} properties are allowed; "
            f"{len(payload)} were supplied.",
        )
    if len(json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()) > MAX_PAYLOAD_BYTES:
        raise ApiError(422, "client_payload is too large.")
    return event_type, payload
