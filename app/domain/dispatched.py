"""What a record keeps of starting a fresh agent, and of stopping to.

A dispatch is a write of class X (the ownership protocol, R3 and R5): nothing at the target keeps a second one from
starting a second agent, so it is fired once under one attempt id and never again. The id is its permit's; it stands in
the run's inputs and name, and the run's first act is a claim with it.
"""

from typing import Literal

from app.domain.model import Instant, Stored

Start = Literal["workflow_dispatch", "repository_dispatch", "command"]
"""How a fresh agent is started; `command`: the operator's, which the policy may only ask for."""


class Run(Stored):
    """A workflow run, and which of its attempts."""

    id: int
    attempt: int


class Dispatched(Stored):
    """The latest dispatch. `generation`: the one its agent is to claim from. `workflow`: the file that was to run,
    where a workflow was. `run`: the run that it started, as far as that is known. `open`: a claim with `attempt` is
    granted; `claimed`: one was; `over`: its run ended without a claim, somebody else claimed, or nothing was started;
    `burned`: nobody knows whether it was sent, and it is never sent again: whoever comes with it is refused;
    `unstartable`: GitHub refused it for good, because there is nothing to start.
    """

    attempt: str
    start: Start
    generation: int
    at: Instant
    workflow: str | None = None
    run: Run | None = None
    state: Literal["open", "claimed", "over", "burned", "unstartable"] = "open"
    because: str = ""


Stopping = Literal["too_old", "attempts", "unresumable"]


class Stopped(Stored):
    """Why nothing resumes the ticket by itself any more: it is too old, its attempts are used up, or there is nothing
    to resume it with (its trunk is gone, or the workflow that was to run is). `edge` names this very happening, so that
    it is told once. `before`: the status that comes back when a person lets the ticket go on. `told`: the comment that
    tells it.
    """

    because: Stopping
    edge: str
    reason: str
    at: Instant
    before: str = "working"
    told: int | None = None
