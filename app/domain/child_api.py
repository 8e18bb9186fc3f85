"""The messages of the agent API about children: calls of the parent's holder, and `result` of the child's own."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from app.domain.agent_api import WriteRequest
from app.domain.child_contract import Outcome
from app.domain.machine_paths import portable
from app.domain.model import Message
from app.domain.plain_text import clean, cut
from app.domain.secret_shapes import redact
from app.domain.ticket_id import ChildName

MAX_TEXT = 2000
MAX_LINE = 300
MAX_LINES = 20


def _admitted(limit: int) -> AfterValidator:
    # Redacted before it is shortened, so that no half of a secret stays.
    return AfterValidator(lambda text: cut(clean(portable(redact(text).text).text), limit))


Text = Annotated[str, StringConstraints(max_length=MAX_TEXT), _admitted(MAX_TEXT)]
Objective = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT), _admitted(MAX_TEXT)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=MAX_LINE), _admitted(MAX_LINE)]
Lines = Annotated[tuple[Line, ...], Field(max_length=MAX_LINES)]


class BudgetAsked(Message):
    minutes: int | None = Field(default=None, ge=1, le=100_000)
    tokens: int | None = Field(default=None, ge=1, le=10**12)


class Task(Message):
    """What a child is to do. Secrets and machine paths are taken out of it before it is stored."""

    objective: Objective
    acceptance: Lines = ()
    expected_result: Text = ""
    role: Annotated[str, StringConstraints(max_length=80), _admitted(80)] = ""
    budget: BudgetAsked = BudgetAsked()


class SpawnRequest(WriteRequest):
    """A new child. It starts from the parent's published head (its base, before anything was published)."""

    name: ChildName
    task: Task


class RespawnRequest(WriteRequest):
    """A child's work is asked for once more, at the parent's present snapshot."""

    name: ChildName
    task: Task | None = Field(default=None, description="None: the task it had")


class NamedChildRequest(WriteRequest):
    """`adopt` lists a child that no parent's record lists; `cancel` ends one."""

    name: ChildName


class AcceptanceTold(Message):
    text: Line
    met: bool


class ResultRequest(WriteRequest):
    """What a child gives back: with it the child ends. `completed` needs its branch as it published it."""

    outcome: Outcome
    summary: Objective
    acceptance: Annotated[tuple[AcceptanceTold, ...], Field(max_length=MAX_LINES)] = ()
    artifacts: Lines = ()
