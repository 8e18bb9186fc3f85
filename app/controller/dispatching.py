"""Starting a fresh agent under a permit: a workflow, an event, or the operator's command.

What if it happened and we did not hear: the permit stays unknown, whoever adopts it looks for the run by the attempt in
its name, and where it is not found the attempt is burned. What if two of us do it: a permit has one author and is sent
once; an adopted one never. What if our lease is gone: whoever comes first claims, and the run's own claim, its first
act, is refused where its attempt is not the ticket's open one.
"""

from typing import Protocol

import structlog

from app.controller.known_runs import KnownRuns
from app.controller.view import View
from app.domain.dispatch_inputs import inputs_of
from app.domain.dispatch_settled import Burned, Started, Unstartable
from app.domain.dispatched import Dispatched, Run
from app.domain.policy import Policy
from app.domain.record import Permit
from app.domain.settling import Declined, NotSent, Result
from app.domain.ticket_id import TicketId
from app.github.dispatches import DispatchRefusal, DispatchRefused
from app.ledger.reading import Standing

FIRST_ATTEMPT = 1
"""A run that is dispatched is in its first attempt; running it again is a person's act, and another attempt."""
_FOR_GOOD = frozenset(
    {DispatchRefusal.NO_WORKFLOW, DispatchRefusal.NO_TRIGGER, DispatchRefusal.INPUTS, DispatchRefusal.DISABLED}
)

log = structlog.get_logger()


class Command(Protocol):
    """What starts an agent by the operator's own means."""

    async def start(self, repository: str, inputs: dict[str, str]) -> str | None:
        """Start it, and do not wait for its end. None: it runs. Else why it could not be started, and then nothing
        was.
        """


class Dispatching:
    """Sends what permits of kind `dispatch` allow, and looks for what they may have done. `service_url`: where agents
    reach the service; `runs`: where the runs that were started are remembered.
    """

    def __init__(self, service_url: str, command: Command | None = None, runs: KnownRuns | None = None) -> None:
        self._service_url = service_url.rstrip("/")
        self._command = command
        self._runs = runs

    @property
    def has_command(self) -> bool:
        """Whether the operator has a command that starts agents."""
        return self._command is not None

    async def send(self, view: View, standing: Standing, permit: Permit) -> Result:
        """Carry out one permit of ours, which stands at the ledger's head in `standing`: once. Raises Unanswered where
        it may have happened unheard, and other GitHubErrors where GitHub refused for reasons of its own.
        """
        dispatched, policy = _open(standing, permit), view.usable_policy
        if permit.unanswered:
            # It may have been sent before: class X is never sent again (R5).
            return Burned(permit, "nobody knows whether an agent was started")
        if dispatched is None or policy is None:
            return NotSent(permit)
        inputs = inputs_of(
            view.ticket,
            generation=dispatched.generation,
            attempt=permit.id,
            brief_url=self._brief_url(view, view.ticket),
        )
        if dispatched.start == "command":
            return await self._run_command(view, permit, inputs)
        workflow = dispatched.workflow or policy.resume.workflow
        if dispatched.start == "workflow_dispatch":
            answer = await view.repo.dispatch_workflow(workflow, inputs)
        else:
            answer = await view.repo.dispatch_event(inputs)
        if not isinstance(answer, DispatchRefused):
            run = Run(id=answer.run, attempt=FIRST_ATTEMPT) if answer.run is not None else None
            log.info("agent dispatched", ticket=view.key, attempt=permit.id, run=answer.run)
            await self._remember(view, answer.run)
            return Started(permit, run)
        log.warning("agent not dispatched", ticket=view.key, because=answer.kind, words=answer.message)
        if answer.kind in _FOR_GOOD and dispatched.start == "workflow_dispatch":
            return Unstartable(permit, _told(answer, workflow), view.now)
        return Declined(permit, _told(answer, workflow), view.now)

    async def probe(self, view: View, permit: Permit) -> Result | None:
        """What stands of one permit: the run whose name holds its attempt. None says nothing about whether it will
        still come. Raises GitHubError.
        """
        record, policy = view.record, view.usable_policy
        latest = record.dispatched if record is not None else None
        if latest is None or policy is None or latest.attempt != permit.id:
            return None
        if latest.state == "claimed":
            return Started(permit, latest.run)
        run = await _found(view, latest, policy)
        return Started(permit, run) if run is not None else None

    async def _remember(self, view: View, run: int | None) -> None:
        if self._runs is None or run is None:
            return
        try:
            await self._runs.note(view.repo.id, run, view.key)
        except Exception as problem:
            # The run is started, and the ledger will say so: nothing here may hide that.
            log.warning("run not remembered", ticket=view.key, problem=type(problem).__name__)

    def _brief_url(self, view: View, ticket: TicketId) -> str:
        return f"{self._service_url}/api/v1/repos/{view.repo.full_name}/tickets/{ticket}/brief"

    async def _run_command(self, view: View, permit: Permit, inputs: dict[str, str]) -> Result:
        if self._command is None:
            return Declined(permit, "the operator of the service has no command that starts agents", view.now)
        problem = await self._command.start(view.repo.full_name, inputs)
        if problem is not None:
            return Declined(permit, f"the operator's command could not be started: {problem}", view.now)
        log.info("agent started by command", ticket=view.key, attempt=permit.id)
        return Started(permit, None)


def _open(standing: Standing, permit: Permit) -> Dispatched | None:
    latest = standing.record.dispatched
    return latest if latest is not None and latest.attempt == permit.id and latest.state == "open" else None


async def _found(view: View, latest: Dispatched, policy: Policy) -> Run | None:
    if latest.start == "command":
        return None
    runs = await view.repo.runs_named(
        latest.attempt, workflow=latest.workflow or policy.resume.workflow, event=latest.start, since=latest.at
    )
    return runs[0].run if runs else None


_WORDS: dict[DispatchRefusal, str] = {
    DispatchRefusal.NO_WORKFLOW: "the default branch has no workflow {workflow}",
    DispatchRefusal.NO_TRIGGER: "the workflow {workflow} has no trigger workflow_dispatch",
    DispatchRefusal.INPUTS: "the workflow {workflow} takes other inputs than ticket, generation, attempt, brief_url",
    DispatchRefusal.DISABLED: "the workflow {workflow} is switched off",
    DispatchRefusal.FORBIDDEN: "the App may not start workflows (it needs the permission actions: write)",
}


def _told(answer: DispatchRefused, workflow: str) -> str:
    words = _WORDS.get(answer.kind)
    told = words.format(workflow=workflow) if words is not None else "the dispatch was refused"
    return f"{told}; GitHub: {answer.message}"
