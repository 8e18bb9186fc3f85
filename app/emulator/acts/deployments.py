"""Deployments and what is said of them.

docs.github.com, "REST API endpoints for deployments", "… for deployment statuses" and the events "deployment" and
"deployment_status"; the refusals' words are those of drevops/vortex#1903 and simplytestme/website#130.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from app.emulator.acts.events import announce
from app.emulator.acts.merging import merge_branch
from app.emulator.acts.required_checks import latest_runs, latest_statuses
from app.emulator.errors import ApiError, invalid
from app.emulator.render import Render
from app.emulator.routing import Body
from app.emulator.shipping_state import Deployment, DeploymentStatus
from app.emulator.state import Actor, Repository
from app.emulator.world import World

STATES = ("error", "failure", "inactive", "in_progress", "queued", "pending", "success")
MAX_DESCRIPTION = 140
_PASSING = frozenset({"success", "neutral", "skipped"})


def create_deployment(world: World, repo: Repository, actor: Actor, body: Body) -> Deployment | str:
    """A new deployment; or, where the branch was behind the default branch, the words that it was merged instead.
    Raises 422 for a ref that is not there, 409 for a conflict and for checks that did not pass.
    """
    ref = body.need("ref", str)
    sha = repo.git.resolve_commit(ref)
    if sha is None:
        raise ApiError(422, f"No ref found for: {ref}")
    description = body.get("description", str, "")
    if len(description) > MAX_DESCRIPTION:
        raise invalid("Deployment", "description", "custom", _too_long("description", MAX_DESCRIPTION))
    merged = _merged(world, repo, ref, actor) if body.get("auto_merge", bool, True) else None
    if merged is not None:
        return merged
    _check_contexts(repo, sha, ref, body.maybe("required_contexts", list))
    environment = body.get("environment", str, "production")
    now = world.clock.stamp()
    deployment = Deployment(
        id=world.ids.next("deployment"),
        repo=repo,
        sha=sha,
        ref=ref,
        task=body.get("task", str, "deploy"),
        environment=environment,
        creator=actor.account,
        created_at=now,
        updated_at=now,
        payload=body.data.get("payload") or {},
        description=description or None,
        transient=body.get("transient_environment", bool, False),
        production=body.get("production_environment", bool, environment == "production"),
        app=actor.app,
    )
    repo.deployments.append(deployment)
    payload = {"action": "created", "deployment": Render(world).deployment(deployment)}
    announce(world, repo, "deployment", payload | {"workflow": None, "workflow_run": None}, actor)
    return deployment


def add_status(world: World, deployment: Deployment, actor: Actor, body: Body) -> DeploymentStatus:
    """A new status of a deployment; a success makes earlier ones of its environment inactive. Raises 422."""
    state = body.need("state", str)
    if state not in STATES:
        raise invalid("DeploymentStatus", "state", "custom", "state is not included in the list")
    description = body.get("description", str, "")
    if len(description) > MAX_DESCRIPTION:
        raise invalid("DeploymentStatus", "description", "custom", _too_long("description", MAX_DESCRIPTION))
    log, page = body.get("log_url", str, "") or body.get("target_url", str, ""), body.get("environment_url", str, "")
    for name, url in (("target_url", log), ("environment_url", page)):
        if url and urlsplit(url).scheme not in ("http", "https"):
            raise invalid("DeploymentStatus", name, "custom", f"{name} must use http(s) scheme")
    deployment.environment = body.get("environment", str, deployment.environment)
    status = _said(world, deployment, actor, state, description, log, page)
    if state == "success" and body.get("auto_inactive", bool, True):
        for other in deployment.repo.deployments:
            ended = other.statuses[-1].state if other.statuses else None
            same = other.environment == deployment.environment and other is not deployment
            if same and ended == "success" and not other.transient and not other.production:
                _said(world, other, actor, "inactive", "", "", "")
    return status


def delete_deployment(deployment: Deployment) -> None:
    """Remove a deployment; an active one only where it is the last. Raises 422."""
    active = bool(deployment.statuses) and deployment.statuses[-1].state != "inactive"
    if active and len(deployment.repo.deployments) > 1:
        raise ApiError(422, "We cannot delete an active deployment unless it is the only deployment in a repository.")
    deployment.repo.deployments.remove(deployment)


def _said(
    world: World, deployment: Deployment, actor: Actor, state: str, description: str, log: str, page: str
) -> DeploymentStatus:
    status = DeploymentStatus(
        id=world.ids.next("deployment_status"),
        state=state,
        creator=actor.account,
        created_at=world.clock.stamp(),
        environment=deployment.environment,
        description=description,
        log_url=log,
        environment_url=page,
        app=actor.app,
    )
    deployment.statuses.append(status)
    deployment.updated_at = status.created_at
    render = Render(world)
    payload: dict[str, Any] = {
        "action": "created",
        "deployment_status": render.deployment_status(deployment, status),
        "deployment": render.deployment(deployment),
        "check_run": None,
        "workflow_run": None,
    }
    announce(world, deployment.repo, "deployment_status", payload, actor)
    return status


def _merged(world: World, repo: Repository, ref: str, actor: Actor) -> str | None:
    """Bring a branch up to the default branch, in place of a deployment."""
    default = repo.default_branch
    if ref == default or repo.git.branch(ref) is None or repo.git.branch(default) is None:
        return None
    try:
        merged = merge_branch(world, repo, ref, default, actor, None)
    except ApiError as refusal:
        raise ApiError(409, f"Conflict merging {default} into {ref}.") from refusal
    return f"Auto-merged {default} into {ref} on deployment." if merged is not None else None


def _check_contexts(repo: Repository, sha: str, ref: str, wanted: list[Any] | None) -> None:
    """Every context that was submitted, or those that are named, must have succeeded."""
    states = {run.name: _state(run.status, run.conclusion) for run in latest_runs(repo, sha)}
    states |= {status.context: status.state for status in latest_statuses(repo, sha)}
    names = [str(name) for name in wanted] if wanted is not None else list(states)
    if all(states.get(name) == "success" for name in names):
        return
    contexts = [{"context": name, "state": state} for name, state in states.items()]
    error = {"contexts": contexts, "resource": "Deployment", "field": "required_contexts", "code": "invalid"}
    raise ApiError(409, f"Conflict: Commit status checks failed for {ref}.", [error])


def _state(status: str, conclusion: str | None) -> str:
    if status != "completed":
        return "pending"
    return "success" if conclusion in _PASSING else "failure"


def _too_long(name: str, most: int) -> str:
    return f"{name} is too long (maximum is {most} characters)"
