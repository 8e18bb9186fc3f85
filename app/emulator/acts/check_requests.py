"""Asking again for checks, and the buttons of a check-run: events that go to the owning App alone.

Source: docs.github.com, "REST API endpoints for check runs" (Rerequest a check run) and "Using the REST API to
interact with checks": the suite is reset to queued and its conclusion cleared, the run itself is not touched; buttons
are shown once the run is completed. Which of 403 and 422 answers an unfinished run could not be checked; a run of
GitHub Actions answers 422 with these words.
"""

from __future__ import annotations

from app.emulator.actions_names import ACTIONS_APP
from app.emulator.acts.checks import tell_run, tell_suite
from app.emulator.errors import ApiError
from app.emulator.state import Actor, CheckRun, CheckSuite
from app.emulator.world import World


def rerequest_check_run(world: World, run: CheckRun, actor: Actor) -> None:
    """Ask the owner to run it again. Raises 422 for one that is not finished or belongs to GitHub Actions."""
    if run.status != "completed" or run.suite.app.slug == ACTIONS_APP:
        raise ApiError(422, "This check run is not rerequestable")
    _requeue(world, run.suite)
    tell_run(world, run, "rerequested", actor, only_app=run.suite.app)


def rerequest_check_suite(world: World, suite: CheckSuite, actor: Actor) -> None:
    """Ask the owner for the whole suite again."""
    if suite.app.slug == ACTIONS_APP:
        raise ApiError(422, "This check suite is not rerequestable")
    _requeue(world, suite)
    tell_suite(world, suite, "rerequested", actor)


def press_button(world: World, run: CheckRun, identifier: str, actor: Actor) -> None:
    """A person presses a button of the run. Raises 422 where there is no such button to see."""
    if run.status != "completed":
        raise ApiError(422, "Buttons are shown once the check-run is completed")
    if identifier not in {action["identifier"] for action in run.actions}:
        raise ApiError(422, f"The check-run has no button {identifier}")
    asked = {"identifier": identifier}
    tell_run(world, run, "requested_action", actor, only_app=run.suite.app, requested_action=asked)


def _requeue(world: World, suite: CheckSuite) -> None:
    suite.requeued = True
    suite.updated_at = world.clock.stamp()
