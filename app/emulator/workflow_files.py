"""Reading a workflow file: its triggers, inputs, jobs and permissions.

Source: docs.github.com, "Workflow syntax for GitHub Actions" and "Events that trigger workflows". Only what dispatching
needs is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

FOLDER = ".github/workflows"
MAX_INPUTS = 25
# What the token of a run may do when the file says nothing (the setting of new repositories).
_RESTRICTED = {"contents": "read", "metadata": "read", "packages": "read"}
_ALL = (
    "actions",
    "attestations",
    "checks",
    "contents",
    "deployments",
    "discussions",
    "id_token",
    "issues",
    "packages",
    "pages",
    "pull_requests",
    "statuses",
)


@dataclass(frozen=True)
class Input:
    """An input of ``workflow_dispatch``."""

    name: str
    kind: str = "string"
    required: bool = False
    default: Any = None
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorkflowFile:
    """A workflow file as far as it is understood; ``broken`` says why nothing of it is."""

    name: str
    triggers: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    run_name: str | None = None
    jobs: tuple[str, ...] = ()
    permissions: dict[str, str] = field(default_factory=dict)
    broken: str | None = None

    def listens_to(self, event_type: str) -> bool:
        """Does ``repository_dispatch`` of this type start it?"""
        if "repository_dispatch" not in self.triggers:
            return False
        options = self.triggers["repository_dispatch"]
        types = options.get("types") if isinstance(options, dict) else None
        if types is None:
            return True
        return event_type in ([types] if isinstance(types, str) else types)


def is_workflow(path: str) -> bool:
    """Is this the path of a workflow file? Folders below are not looked into."""
    folder, _, name = path.rpartition("/")
    return folder == FOLDER and name.endswith((".yml", ".yaml"))


def parse(text: str, path: str) -> WorkflowFile:
    """Read a file. Never raises: one that cannot be read is a workflow too, by its path, and starts nothing."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return WorkflowFile(path, broken=str(error).splitlines()[0])
    if not isinstance(data, dict):
        return WorkflowFile(path, broken="a mapping was expected")
    # YAML 1.1 reads the word `on` as true.
    triggers = _triggers(data.get("on", data.get(True)))
    jobs = data.get("jobs")
    names = tuple(str(j) for j in jobs) if isinstance(jobs, dict) else ()
    first = jobs[names[0]] if isinstance(jobs, dict) and names and names[0] in jobs else {}
    given = first.get("permissions") if isinstance(first, dict) and "permissions" in first else data.get("permissions")
    return WorkflowFile(
        name=str(data.get("name") or path),
        triggers=triggers,
        inputs=_inputs(triggers.get("workflow_dispatch")),
        run_name=str(data["run-name"]) if data.get("run-name") else None,
        jobs=names or ("run",),
        permissions=_permissions(given),
    )


def _triggers(on: Any) -> dict[str, Any]:
    if isinstance(on, str):
        return {on: None}
    if isinstance(on, list):
        return {str(name): None for name in on}
    return {str(name): options for name, options in on.items()} if isinstance(on, dict) else {}


def _inputs(options: Any) -> dict[str, Input]:
    given = options.get("inputs") if isinstance(options, dict) else None
    inputs = {}
    for name, facts in (given or {}).items() if isinstance(given or {}, dict) else ():
        facts = facts if isinstance(facts, dict) else {}
        kind = str(facts.get("type", "string"))
        choices = ("true", "false") if kind == "boolean" else tuple(str(o) for o in facts.get("options") or ())
        inputs[str(name)] = Input(str(name), kind, facts.get("required") is True, facts.get("default"), choices)
    return inputs


def _permissions(given: Any) -> dict[str, str]:
    if given in ("read-all", "write-all"):
        level = str(given).removesuffix("-all")
        return {name: level for name in _ALL if name != "id_token" or level == "write"} | {"metadata": "read"}
    if not isinstance(given, dict):
        return dict(_RESTRICTED)
    chosen = {str(k).replace("-", "_"): str(v) for k, v in given.items() if v in ("read", "write")}
    return chosen | {"metadata": "read"}


def shown_value(value: Any) -> str:
    """A value as an expression writes it into a text."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
