"""Control calls about checks: what people click on GitHub's pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.emulator.acts.check_requests import press_button, rerequest_check_run
from app.emulator.auth import at_least
from app.emulator.control import router
from app.emulator.errors import ApiError
from app.emulator.identity_controls import account_of
from app.emulator.render import Render
from app.emulator.routing import Request
from app.emulator.state import Actor, CheckRun

if TYPE_CHECKING:
    from app.emulator.server import Server


def _run_and_person(server: Server, request: Request, number: str) -> tuple[CheckRun, Actor]:
    run = server.world.check_runs.get(int(number))
    if run is None:
        raise ApiError(404, "There is no such check-run")
    person = account_of(server.world, request.body.need("user", str))
    if not at_least(run.suite.repo.role_of(person), "write"):
        raise ApiError(403, f"{person.login} may not write to {run.suite.repo.full_name} and sees no such button")
    return run, Actor(person)


@router.add("POST", "/check-runs/{number:int}/action")
def click(server: Server, request: Request, number: str) -> Any:
    run, person = _run_and_person(server, request, number)
    press_button(server.world, run, request.body.need("identifier", str), person)
    return Render(server.world).check_run(run)


@router.add("POST", "/check-runs/{number:int}/rerun")
def rerun(server: Server, request: Request, number: str) -> Any:
    run, person = _run_and_person(server, request, number)
    rerequest_check_run(server.world, run, person)
    return Render(server.world).check_run(run)
