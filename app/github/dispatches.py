"""Starting a fresh agent by GitHub's own means, and the workflow runs that come of it.

A dispatch is a write of class X (the ownership protocol, R3): nothing at GitHub keeps a second one from starting a
second run. So it is sent once under one attempt, and looked for by the attempt in the run's name.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import AwareDatetime

from app.domain.dispatched import Run
from app.domain.model import Message, instant_text
from app.domain.run_seen import RunSeen
from app.github.access import RepositoryAccess
from app.github.errors import Conflict, Forbidden, GitHubError, NotFound, Suspended, Validation
from app.github.session import Values
from app.github.shapes import read
from app.github.wire import Call

_DISPATCH = "/repos/{owner}/{repo}/actions/workflows/{workflow}/dispatches"
_EVENT = "/repos/{owner}/{repo}/dispatches"
_RUNS = "/repos/{owner}/{repo}/actions/runs"
_RUN = "/repos/{owner}/{repo}/actions/runs/{id}"
_ATTEMPT = "/repos/{owner}/{repo}/actions/runs/{id}/attempts/{attempt}"

EVENT_TYPE = "agent-recovery"
"""The type of the `repository_dispatch` that a workflow listens to."""
MAX_LOOKED = 300
"""Runs that a search looks through, newest first: a repository that starts more within minutes finds none by name."""
_CLOCKS = timedelta(minutes=2)
"""How far a run's time of creation may lie before the moment at which it was asked for."""
_DETAILS = "return_run_details"
FOLDER = ".github/workflows/"


class DispatchRefusal(StrEnum):
    """Why nothing was started."""

    NO_WORKFLOW = "no_workflow"
    """No such file on the default branch (any more)."""
    NO_TRIGGER = "no_trigger"
    """The workflow cannot be started this way."""
    INPUTS = "inputs"
    """The workflow declares other inputs than an agent is given."""
    DISABLED = "disabled"
    """The workflow, or Actions as a whole, is switched off."""
    FORBIDDEN = "forbidden"
    """The App lacks the permission."""
    OTHER = "other"


@dataclass(frozen=True)
class DispatchRefused:
    """GitHub refused, in its own words: nothing was started."""

    kind: DispatchRefusal
    message: str


@dataclass(frozen=True)
class DispatchTaken:
    """GitHub took it. `run`: the run that it started, None where GitHub does not say which."""

    run: int | None


class Dispatches(RepositoryAccess):
    """Dispatches and workflow runs."""

    async def dispatch_workflow(self, workflow: str, inputs: dict[str, str]) -> DispatchTaken | DispatchRefused:
        """Start a run of the workflow in this file of the default branch, as that branch has it, with these inputs:
        everybody who may read the repository sees them. Raises Unanswered where it may have been started, and other
        GitHubErrors.

        Done but not heard: `runs_named(attempt)` shows it, at once or later, and where it does not, the attempt is
        burned and never sent again. Two of us: two runs are started, so the permit has one author and is never sent
        twice. Lease gone: the run's first act is a claim with its attempt, which is refused where that is not the
        ticket's open one.
        """
        fields = {"ref": self.default_branch, "inputs": inputs}
        at = self._at(workflow=workflow)
        try:
            answer = await self.session.write("POST", _DISPATCH, at, {**fields, _DETAILS: True})
        except GitHubError as refusal:
            if not _knows_no_details(refusal):
                return _refused(refusal)
            try:
                answer = await self.session.write("POST", _DISPATCH, at, fields)
            except GitHubError as refused:
                return _refused(refused)
        return DispatchTaken(_run_of(answer.body))

    async def dispatch_event(self, payload: dict[str, str]) -> DispatchTaken | DispatchRefused:
        """Send the event that starts whatever workflow of the default branch listens to it; none does is no error.
        Raises Unanswered where it may have been sent, and other GitHubErrors. The three answers are those of
        `dispatch_workflow`.
        """
        fields = {"event_type": EVENT_TYPE, "client_payload": payload}
        try:
            await self.session.write("POST", _EVENT, self._at(), fields)
        except GitHubError as refusal:
            return _refused(refusal)
        return DispatchTaken(None)

    async def workflow_run(self, run_id: int, attempt: int | None = None) -> RunSeen:
        """One run as it is now: this attempt of it, or its latest. What GitHub does not know (any more) is `gone`.
        Raises GitHubError where GitHub does not answer.
        """
        route = _RUN if attempt is None else _ATTEMPT
        values = {"id": run_id} if attempt is None else {"id": run_id, "attempt": attempt}
        try:
            answer = await self.session.get(route, self._at(**values))
        except NotFound:
            return RunSeen(Run(id=run_id, attempt=attempt or 1), "gone")
        return read(_RunShape, answer.body, Call("GET", route)).seen()

    async def runs_named(self, word: str, *, workflow: str, event: str, since: datetime) -> list[RunSeen]:
        """The probe for dispatches: runs of this workflow file on the default branch, started by this event since then,
        whose name holds the word; oldest first. Finding none says nothing. Raises GitHubError.
        """
        query: dict[str, str | int] = {
            "event": event,
            "branch": self.default_branch,
            "created": f">={instant_text(since - _CLOCKS)}",
            "per_page": 100,
        }
        found: list[RunSeen] = []
        for page in range(1, MAX_LOOKED // 100 + 1):
            asked: Values = {**query, "page": page}
            answer = await self.session.get(_RUNS, self._at(), asked)
            shapes = read(_RunsShape, answer.body, Call("GET", _RUNS)).workflow_runs
            found += [shape.seen() for shape in shapes if shape.is_of(workflow, event) and word in shape.display_title]
            if not answer.has_next_page:
                break
        return sorted(found, key=lambda seen: seen.run.id)


class _RunShape(Message):
    id: int
    run_attempt: int = 1
    status: str | None = None
    conclusion: str | None = None
    display_title: str = ""
    event: str = ""
    path: str = ""
    created_at: AwareDatetime

    def is_of(self, workflow: str, event: str) -> bool:
        # Of a run of another ref than the default branch's, GitHub writes the ref behind the path.
        return self.event == event and self.path.partition("@")[0] == f"{FOLDER}{workflow}"

    def seen(self) -> RunSeen:
        run = Run(id=self.id, attempt=self.run_attempt)
        if self.status == "completed":
            return RunSeen(run, "completed", self.display_title, self.conclusion)
        return RunSeen(run, "running" if self.status == "in_progress" else "waiting", self.display_title)


class _RunsShape(Message):
    workflow_runs: list[_RunShape]


class _DetailsShape(Message):
    workflow_run_id: int


def _run_of(body: object) -> int | None:
    """The run that was started; None where the answer does not name it, which is found by its name then."""
    if not isinstance(body, dict) or not isinstance(body.get("workflow_run_id"), int):
        return None
    return _DetailsShape.model_validate(body).workflow_run_id


def _knows_no_details(refusal: GitHubError) -> bool:
    """An Enterprise Server from before 2026 does not know that question, and refuses it: nothing was started."""
    words = refusal.sentences if isinstance(refusal, Validation) else refusal.lines
    return refusal.status in (400, 422) and any(_DETAILS in line for line in words)


def _refused(refusal: GitHubError) -> DispatchRefused:
    """The refusal as a value. Raises it again where it is none of the dispatch itself."""
    if isinstance(refusal, Suspended) or not isinstance(refusal, Conflict | Forbidden | NotFound | Validation):
        raise refusal
    words = "; ".join(refusal.sentences) if isinstance(refusal, Validation) else refusal.message
    return DispatchRefused(_why(refusal, words.lower()), words)


def _why(refusal: GitHubError, words: str) -> DispatchRefusal:
    if isinstance(refusal, NotFound):
        return DispatchRefusal.NO_WORKFLOW
    told = {
        "disabled": DispatchRefusal.DISABLED,
        "' trigger": DispatchRefusal.NO_TRIGGER,
        "unexpected inputs": DispatchRefusal.INPUTS,
        "required input": DispatchRefusal.INPUTS,
        "for input": DispatchRefusal.INPUTS,
    }
    otherwise = DispatchRefusal.FORBIDDEN if isinstance(refusal, Forbidden) else DispatchRefusal.OTHER
    return next((kind for sign, kind in told.items() if sign in words), otherwise)
