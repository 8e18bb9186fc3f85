"""Commit statuses, the older sibling of check-runs."""

from __future__ import annotations

from urllib.parse import urlsplit

from app.emulator.acts.events import announce
from app.emulator.errors import ApiError
from app.emulator.render import Render
from app.emulator.routing import Body
from app.emulator.state import Actor, CommitStatus, Repository
from app.emulator.world import World

STATES = ("error", "failure", "pending", "success")
MAX_DESCRIPTION = 140
MAX_CONTEXT = 255
MAX_STATUSES = 1000
"""How many statuses one context of one commit may have."""
_MAX_BRANCHES = 10


def add_status(world: World, repo: Repository, sha: str, actor: Actor, body: Body) -> CommitStatus:
    """A new status of a commit; the newest of a context counts. Raises 422."""
    state, context = body.need("state", str), body.get("context", str, "default")
    description, target = body.maybe("description", str), body.maybe("target_url", str)
    if state not in STATES:
        raise refused("state", "state is not included in the list")
    if description is not None and len(description) > MAX_DESCRIPTION:
        raise refused("description", f"description is too long (maximum is {MAX_DESCRIPTION} characters)")
    if len(context) > MAX_CONTEXT:
        raise refused("context", f"context is too long (maximum is {MAX_CONTEXT} characters)")
    if target and urlsplit(target).scheme not in ("http", "https"):
        raise refused("target_url", "target_url must use http(s) scheme")
    if sum(1 for s in repo.statuses if s.sha == sha and s.context.lower() == context.lower()) >= MAX_STATUSES:
        raise refused("context", "This SHA and context has reached the maximum number of statuses.")
    status = CommitStatus(
        id=world.ids.next("status"),
        repo=repo,
        sha=sha,
        state=state,
        context=context,
        creator=actor.account,
        created_at=world.clock.stamp(),
        description=description,
        target_url=target,
        app=actor.app,
    )
    repo.statuses.append(status)
    render = Render(world)
    shown = render.status(status)
    payload = {k: v for k, v in shown.items() if k not in ("url", "node_id", "creator")} | {
        "sha": sha,
        "name": repo.full_name,
        "commit": render.commit(repo, sha),
        "branches": _branches(world, repo, sha),
    }
    announce(world, repo, "status", payload, actor)
    return status


def combined_state(statuses: list[CommitStatus]) -> str:
    """One state for all contexts; none at all is "pending"."""
    states = {s.state for s in statuses}
    if states & {"error", "failure"}:
        return "failure"
    return "success" if states == {"success"} else "pending"


def _branches(world: World, repo: Repository, sha: str) -> list[dict[str, object]]:
    """The branches that hold the commit, as the ``status`` event lists them."""
    api = f"{world.url}/repos/{repo.full_name}/commits"
    heads = [(n.removeprefix("refs/heads/"), oid) for n, oid in repo.git.refs("refs/heads/")]
    holding = [(name, oid) for name, oid in heads if repo.git.is_ancestor(sha, oid)][:_MAX_BRANCHES]
    return [{"name": name, "commit": {"sha": oid, "url": f"{api}/{oid}"}, "protected": False} for name, oid in holding]


def refused(field: str, message: str) -> ApiError:
    """422 "Validation Failed" about a member of a status."""
    return ApiError(
        422,
        "Validation Failed",
        [{"resource": "Status", "code": "custom", "field": field, "message": message}],
    )
