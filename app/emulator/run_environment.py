"""The surroundings of a run's command: folders, the event's file, the token, and the variables GitHub sets.

Source: docs.github.com, "Variables reference" (default environment variables) and "GITHUB_TOKEN".
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from app.emulator.actions_state import WorkflowRun
from app.emulator.acts.actions_app import run_token
from app.emulator.render import Render
from app.emulator.state import Repository
from app.emulator.world import World


def prepare(world: World, run: WorkflowRun) -> tuple[Path, dict[str, str]]:
    """Make the attempt's folder and token; the folder and the whole environment of its command."""
    attempt, repo = run.attempt, run.repo
    folder = (world.data_dir / "actions" / str(run.id) / str(attempt.number)).resolve()
    for name in ("workspace", "temp", "home"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    files = {name: folder / "temp" / name.lower() for name in ("OUTPUT", "ENV", "PATH", "STATE", "STEP_SUMMARY")}
    for file in files.values():
        file.touch()
    (folder / "event.json").write_text(json.dumps(event_payload(world, run)), encoding="utf-8")
    token = run_token(world, run)
    attempt.token = token.value
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder / "home"),
        "LANG": "C.UTF-8",
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_TOKEN": token.value,
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_WORKSPACE": str(folder / "workspace"),
        "RUNNER_TEMP": str(folder / "temp"),
        "RUNNER_OS": "Linux",
        "RUNNER_ARCH": "X64",
        "RUNNER_NAME": "Local command",
        "RUNNER_ENVIRONMENT": "github-hosted",
    }
    env |= {f"GITHUB_{name}": str(file) for name, file in files.items()}
    env |= {f"GITHUB_{name}": value for name, value in facts_of(world, run, repo).items()}
    if run.permissions.get("id_token") == "write":
        attempt.oidc_secret = secrets.token_urlsafe(48)
        env["ACTIONS_ID_TOKEN_REQUEST_URL"] = (
            f"{world.url}/_services/idtoken/{run.id}/{attempt.jobs[0].id}?api-version=2.0"
        )
        env["ACTIONS_ID_TOKEN_REQUEST_TOKEN"] = attempt.oidc_secret
    return folder, env


def facts_of(world: World, run: WorkflowRun, repo: Repository) -> dict[str, str]:
    """What GitHub sets as ``GITHUB_…``, by the names without that."""
    facts = {
        "ACTOR": run.actor.login,
        "ACTOR_ID": run.actor.id,
        "TRIGGERING_ACTOR": run.attempt.triggering_actor.login,
        "REPOSITORY": repo.full_name,
        "REPOSITORY_ID": repo.id,
        "REPOSITORY_OWNER": repo.owner.login,
        "REPOSITORY_OWNER_ID": repo.owner.id,
        "REF": run.ref,
        "REF_NAME": run.short_ref,
        "REF_TYPE": "branch" if run.ref.startswith("refs/heads/") else "tag",
        "REF_PROTECTED": "false",
        "HEAD_REF": "",
        "BASE_REF": "",
        "SHA": run.head_sha,
        "EVENT_NAME": run.event,
        "WORKFLOW": run.workflow.name,
        "WORKFLOW_REF": f"{repo.full_name}/{run.workflow.path}@{run.ref}",
        "WORKFLOW_SHA": run.head_sha,
        "RUN_ID": run.id,
        "RUN_NUMBER": run.number,
        "RUN_ATTEMPT": run.attempt.number,
        "JOB": run.job_names[0],
        "ACTION": "__run",
        "SERVER_URL": world.url,
        "API_URL": world.url,
        "GRAPHQL_URL": f"{world.url}/graphql",
        "RETENTION_DAYS": 90,
    }
    return {name: str(value) for name, value in facts.items()}


def event_payload(world: World, run: WorkflowRun) -> dict[str, object]:
    """The event as the run's file holds it."""
    shown = Render(world)
    return run.payload | {
        "repository": shown.repository(run.repo),
        "sender": shown.account(run.attempt.triggering_actor),
    }
