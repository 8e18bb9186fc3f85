"""Check suites, check-runs and commit statuses."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.events import announce
from app.emulator.errors import ApiError, invalid
from app.emulator.render import Render
from app.emulator.routing import Body
from app.emulator.state import Account, Actor, App, CheckRun, CheckSuite, CommitStatus, Repository
from app.emulator.world import World

MAX_TEXT = 65_535
MAX_ANNOTATIONS = 50
STATUSES = ("queued", "in_progress", "completed")
CONCLUSIONS = ("action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out")


def request_suites(world: World, repo: Repository, branch: str, sha: str, actor: Actor) -> None:
    """A suite per App that may write checks, and the event that asks it to begin; only that App hears it."""
    for installation in world.installations_on(repo):
        if installation.permissions.get("checks") != "write":
            continue
        if any(s.app is installation.app and s.head_sha == sha for s in repo.suites):
            continue
        suite = _new_suite(world, repo, installation.app, sha, branch)
        payload = {"action": "requested", "check_suite": Render(world).check_suite(suite)}
        announce(world, repo, "check_suite", payload, actor, only_app=installation.app)


def suite_for(world: World, repo: Repository, app: App, sha: str) -> CheckSuite:
    """The App's suite on a commit, made if there is none."""
    for suite in repo.suites:
        if suite.app is app and suite.head_sha == sha:
            return suite
    branch = next((n for n, oid in repo.git.refs("refs/heads/") if oid == sha), None)
    return _new_suite(world, repo, app, sha, branch.removeprefix("refs/heads/") if branch else None)


def create_run(world: World, repo: Repository, app: App, body: Body) -> CheckRun:
    """A new check-run. Raises 422 for sizes and values GitHub refuses."""
    name, sha = body.need("name", str), body.need("head_sha", str)
    if repo.git.kind(sha) != "commit":
        raise ApiError(422, f"No commit found for SHA: {sha}")
    run = CheckRun(
        id=world.ids.next("check_run"),
        suite=suite_for(world, repo, app, sha),
        name=name,
        status="queued",
        started_at=world.clock.stamp(),
    )
    _apply(world, run, body)
    run.suite.runs.append(run)
    world.check_runs[run.id] = run
    _tell(world, run, "created", Actor(app.bot, app))
    if run.status == "completed":
        _tell(world, run, "completed", Actor(app.bot, app))
    return run


def update_run(world: World, run: CheckRun, body: Body) -> None:
    """Change a check-run; annotations are appended, all else is replaced."""
    was = run.status
    _apply(world, run, body)
    if run.status == "completed" and was != "completed":
        _tell(world, run, "completed", Actor(run.suite.app.bot, run.suite.app))


def _apply(world: World, run: CheckRun, body: Body) -> None:
    status, conclusion = body.maybe("status", str), body.maybe("conclusion", str)
    if status is not None and status not in STATUSES:
        raise invalid("CheckRun", "status")
    if conclusion is not None and conclusion not in CONCLUSIONS:
        raise invalid("CheckRun", "conclusion")
    if status == "completed" and conclusion is None and run.conclusion is None:
        raise invalid("CheckRun", "conclusion", "missing_field")
    output = Body(b"")
    output.data = body.get("output", dict, {})
    for member in ("summary", "text"):
        if len(output.get(member, str, "")) > MAX_TEXT:
            raise ApiError(
                422,
                "Invalid request.\n\nOnly 65535 characters are allowed; "
                f"{len(output.get(member, str, ''))} were supplied.",
            )
    annotations = output.get("annotations", list, [])
    if len(annotations) > MAX_ANNOTATIONS:
        raise ApiError(422, f"Invalid request.\n\nNo more than 50 items are allowed; {len(annotations)} were supplied.")
    if output.data and run.title is None:
        output.need("title", str)
        output.need("summary", str)
    actions = body.get("actions", list, [])
    if len(actions) > 3:
        raise ApiError(422, f"Invalid request.\n\nNo more than 3 items are allowed; {len(actions)} were supplied.")
    for action in actions:
        for member, limit in (("label", 20), ("description", 40), ("identifier", 20)):
            if len(str(action.get(member, ""))) > limit:
                raise invalid("CheckRun", f"actions.{member}")

    run.name = body.get("name", str, run.name)
    run.external_id = body.get("external_id", str, run.external_id)
    run.details_url = body.get("details_url", str, run.details_url or "") or None
    run.title = output.get("title", str, run.title or "") or None
    run.summary = output.get("summary", str, run.summary or "") or None
    run.text = output.get("text", str, run.text or "") or None
    run.annotations += annotations
    run.actions = actions or run.actions
    run.started_at = body.get("started_at", str, run.started_at)
    if conclusion is not None:
        run.status, run.conclusion = "completed", conclusion
        run.completed_at = body.get("completed_at", str, world.clock.stamp())
    elif status is not None:
        run.status = status
        if status != "completed":
            run.conclusion = run.completed_at = None
    run.suite.updated_at = world.clock.stamp()


def add_status(world: World, repo: Repository, sha: str, creator: Account, body: Body) -> CommitStatus:
    """A new commit status; the newest of a context counts."""
    state = body.need("state", str)
    if state not in ("error", "failure", "pending", "success"):
        raise invalid("Status", "state")
    status = CommitStatus(
        id=world.ids.next("status"),
        repo=repo,
        sha=sha,
        state=state,
        context=body.get("context", str, "default"),
        creator=creator,
        created_at=world.clock.stamp(),
        description=body.maybe("description", str),
        target_url=body.maybe("target_url", str),
    )
    repo.statuses.append(status)
    payload: dict[str, Any] = Render(world).status(status) | {
        "sha": sha,
        "name": repo.full_name,
        "commit": Render(world).commit(repo, sha),
        "branches": [],
    }
    announce(world, repo, "status", payload, Actor(creator))
    return status


def latest_statuses(repo: Repository, sha: str) -> list[CommitStatus]:
    """The newest status of each context, newest first."""
    newest: dict[str, CommitStatus] = {}
    for status in repo.statuses:
        if status.sha == sha:
            newest[status.context] = status
    return sorted(newest.values(), key=lambda s: -s.id)


def combined_state(statuses: list[CommitStatus]) -> str:
    """One state for all contexts; none at all is "pending"."""
    states = {s.state for s in statuses}
    if states & {"error", "failure"}:
        return "failure"
    return "success" if states == {"success"} else "pending"


def _new_suite(world: World, repo: Repository, app: App, sha: str, branch: str | None) -> CheckSuite:
    now = world.clock.stamp()
    suite = CheckSuite(world.ids.next("suite"), repo, app, sha, branch, now, now)
    repo.suites.append(suite)
    world.suites[suite.id] = suite
    return suite


def _tell(world: World, run: CheckRun, action: str, actor: Actor) -> None:
    payload = {"action": action, "check_run": Render(world).check_run(run)}
    announce(world, run.suite.repo, "check_run", payload, actor)
