"""Check suites and check-runs."""

from __future__ import annotations

from typing import Any

from app.emulator.actions_names import ACTIONS_APP
from app.emulator.acts.check_values import RunValues, read_run
from app.emulator.acts.events import announce
from app.emulator.clock import from_stamp
from app.emulator.errors import ApiError, invalid
from app.emulator.render import Render
from app.emulator.routing import Body
from app.emulator.state import Actor, App, CheckRun, CheckSuite, Repository
from app.emulator.world import World

MAX_RUNS_OF_A_NAME = 1000
STALE_AFTER_S = 14 * 86_400


def request_suites(world: World, repo: Repository, branch: str, sha: str, actor: Actor) -> None:
    """A suite per App that may write checks, and the event that asks it to begin; only that App hears it.

    A repository may have switched this off for an App (check-suites/preferences); its first run makes the suite then.
    """
    for installation in world.installations_on(repo):
        app = installation.app
        if installation.permissions.get("checks") != "write" or not world.wants_suites(repo, app):
            continue
        if app.slug == ACTIONS_APP:
            continue  # its suites come with the runs of workflows
        if any(s.app is app and s.head_sha == sha for s in repo.suites):
            continue
        tell_suite(world, new_suite(world, repo, app, sha, branch), "requested", actor)


def suite_for(world: World, repo: Repository, app: App, sha: str) -> CheckSuite:
    """The App's suite on a commit, made if there is none."""
    for suite in repo.suites:
        if suite.app is app and suite.head_sha == sha:
            return suite
    branch = next((n for n, oid in repo.git.refs("refs/heads/") if oid == sha), None)
    return new_suite(world, repo, app, sha, branch.removeprefix("refs/heads/") if branch else None)


def create_run(world: World, repo: Repository, app: App, body: Body) -> CheckRun:
    """A new check-run. Raises 422 for sizes and values GitHub refuses."""
    body.need_all("name", "head_sha")
    name, sha, values = body.need("name", str), body.need("head_sha", str), read_run(body)
    if repo.git.kind(sha) != "commit":
        raise ApiError(422, f"No commit found for SHA: {sha}")
    _check_end(values)
    run = CheckRun(
        id=world.ids.next("check_run"),
        suite=suite_for(world, repo, app, sha),
        name=name,
        status="queued",
        started_at=world.clock.stamp(),
    )
    was = run.suite.status if run.suite.runs else None
    run.suite.runs.append(run)
    world.check_runs[run.id] = run
    _apply(world, run, values)
    _forget_oldest(world, run)
    actor = Actor(app.bot, app)
    tell_run(world, run, "created", actor)
    if run.status == "completed":
        tell_run(world, run, "completed", actor)
    _tell_end(world, run.suite, was, actor)
    return run


def update_run(world: World, run: CheckRun, body: Body) -> None:
    """Change a check-run: members given are replaced, the output as a whole, and annotations are added."""
    values = read_run(body)
    _check_end(values)
    was, suite_was = run.status, run.suite.status
    _apply(world, run, values)
    actor = Actor(run.suite.app.bot, run.suite.app)
    if run.status == "completed" and was != "completed":
        tell_run(world, run, "completed", actor)
    _tell_end(world, run.suite, suite_was, actor)


def _check_end(values: RunValues) -> None:
    """A run ends with a conclusion, told in the request that ends it (OpenAPI: "required if you provide completed_at
    or a status of completed")."""
    ends = values.status == "completed" or values.completed_at is not None
    if ends and values.conclusion is None:
        raise invalid("CheckRun", "conclusion", "missing_field")


def _apply(world: World, run: CheckRun, values: RunValues) -> None:
    run.name = values.name or run.name
    run.external_id = values.external_id if values.external_id is not None else run.external_id
    run.details_url = values.details_url or run.details_url
    run.started_at = values.started_at or run.started_at
    run.actions = values.actions if values.actions is not None else run.actions
    if values.output is not None:
        run.title, run.summary, run.text = values.output.title, values.output.summary, values.output.text
        run.annotations += values.output.annotations
    if values.conclusion is not None:
        run.status, run.conclusion = "completed", values.conclusion
        run.completed_at = values.completed_at or world.clock.stamp()
    elif values.status is not None:
        run.status = values.status
        if values.status != "completed":
            run.conclusion = run.completed_at = None
    run.suite.requeued = False
    run.suite.updated_at = world.clock.stamp()


def _forget_oldest(world: World, newest: CheckRun) -> None:
    """GitHub keeps a thousand runs of one name in a suite and deletes the older ones."""
    same = [r for r in newest.suite.runs if r.name == newest.name]
    for old in same[: max(0, len(same) - MAX_RUNS_OF_A_NAME)]:
        newest.suite.runs.remove(old)
        del world.check_runs[old.id]


def mark_stale(world: World) -> None:
    """What was not finished within 14 days is concluded by GitHub itself, as stale."""
    now = world.clock.now()
    for run in world.check_runs.values():
        if run.status != "completed" and now - from_stamp(run.started_at) > STALE_AFTER_S:
            run.status, run.conclusion, run.completed_at = "completed", "stale", world.clock.stamp()
            run.suite.updated_at = world.clock.stamp()


def new_suite(world: World, repo: Repository, app: App, sha: str, branch: str | None) -> CheckSuite:
    """One more suite of an App on a commit."""
    now = world.clock.stamp()
    suite = CheckSuite(world.ids.next("suite"), repo, app, sha, branch, now, now)
    repo.suites.append(suite)
    world.suites[suite.id] = suite
    return suite


def tell_run(
    world: World, run: CheckRun, action: str, actor: Actor, *, only_app: App | None = None, **more: Any
) -> None:
    """Tell the Apps of a check-run; those that ask something of its owner tell the owner alone."""
    payload = {"action": action, "check_run": Render(world).check_run(run, event=True)} | more
    announce(world, run.suite.repo, "check_run", payload, actor, only_app=only_app)


def tell_suite(world: World, suite: CheckSuite, action: str, actor: Actor) -> None:
    """Tell a suite's App that it is asked to begin, or all that the suite is completed."""
    payload = {"action": action, "check_suite": Render(world).check_suite(suite, event=True)}
    announce(world, suite.repo, "check_suite", payload, actor, only_app=None if action == "completed" else suite.app)


def _tell_end(world: World, suite: CheckSuite, was: str | None, actor: Actor) -> None:
    if suite.status == "completed" and was != "completed":
        tell_suite(world, suite, "completed", actor)
