"""Projects: their fields, items and values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta

from app.emulator.ids import node_id
from app.emulator.state import Account, Issue

# Types of fields whose values are set through the API, with GraphQL's member for them.
WRITABLE = {
    "TEXT": "text",
    "NUMBER": "number",
    "DATE": "date",
    "SINGLE_SELECT": "singleSelectOptionId",
    "ITERATION": "iterationId",
}
# Fields every project begins with, beside Status.
BUILT_IN = (
    ("Title", "TITLE"),
    ("Assignees", "ASSIGNEES"),
    ("Labels", "LABELS"),
    ("Linked pull requests", "LINKED_PULL_REQUESTS"),
    ("Milestone", "MILESTONE"),
    ("Repository", "REPOSITORY"),
    ("Reviewers", "REVIEWERS"),
    ("Parent issue", "PARENT_ISSUE"),
    ("Sub-issues progress", "SUB_ISSUES_PROGRESS"),
)
COLORS = ("BLUE", "GRAY", "GREEN", "ORANGE", "PINK", "PURPLE", "RED", "YELLOW")


@dataclass(eq=False)
class FieldOption:
    """One choice of a single-select field."""

    id: str
    name: str
    color: str = "GRAY"
    description: str = ""


@dataclass(eq=False)
class Iteration:
    """One iteration of an iteration field; ``start_date`` as ISO, ``duration`` in days."""

    id: str
    title: str
    start_date: str
    duration: int

    @property
    def start(self) -> date:
        """Its first day."""
        return date.fromisoformat(self.start_date)

    def completed(self, today: date) -> bool:
        """Is its last day over?"""
        return self.start + timedelta(days=self.duration) <= today


@dataclass(eq=False)
class ProjectField:
    """A column of a project; ``type`` as GraphQL names it."""

    id: int
    project: Project
    name: str
    type: str
    created_at: str
    updated_at: str
    options: list[FieldOption] = field(default_factory=list)
    iterations: list[Iteration] = field(default_factory=list)
    duration: int = 14

    @property
    def node_id(self) -> str:
        prefix = {"SINGLE_SELECT": "PVTSSF", "ITERATION": "PVTIF"}.get(self.type, "PVTF")
        return node_id(prefix, self.project.id, self.id)

    def option(self, option_id: str) -> FieldOption | None:
        """The choice of that id."""
        return next((o for o in self.options if o.id == option_id), None)

    def iteration(self, iteration_id: str) -> Iteration | None:
        """The iteration of that id."""
        return next((i for i in self.iterations if i.id == iteration_id), None)


@dataclass(eq=False)
class FieldValue:
    """What an item has in a field: a text, number or ISO date, or the id of an option or iteration."""

    id: int
    item: ProjectItem
    field: ProjectField
    value: str | float
    creator: Account
    created_at: str
    updated_at: str

    @property
    def node_id(self) -> str:
        return node_id("PVTFV", self.item.project.id, self.item.id, self.id)


@dataclass(eq=False)
class ProjectItem:
    """An Issue or pull request in a project, or a draft that is only there."""

    id: int
    project: Project
    content: Issue | None
    creator: Account
    created_at: str
    updated_at: str
    title: str = ""
    body: str = ""
    archived_at: str | None = None
    values: dict[int, FieldValue] = field(default_factory=dict)

    @property
    def node_id(self) -> str:
        return node_id("PVTI", self.project.id, self.id)

    @property
    def content_node_id(self) -> str:
        return self.content.node_id if self.content is not None else node_id("DI", self.project.id, self.id)

    @property
    def content_type(self) -> str:
        if self.content is None:
            return "DraftIssue"
        return "PullRequest" if self.content.is_pull else "Issue"


@dataclass(eq=False)
class Project:
    """A project of an organization or a person."""

    id: int
    number: int
    owner: Account
    creator: Account
    title: str
    created_at: str
    updated_at: str
    public: bool = False
    short_description: str | None = None
    closed_at: str | None = None
    fields: list[ProjectField] = field(default_factory=list)
    items: list[ProjectItem] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("PVT", self.id)

    def field_by_id(self, number: int) -> ProjectField | None:
        """The field of a database id."""
        return next((f for f in self.fields if f.id == number), None)

    def item_by_id(self, number: int) -> ProjectItem | None:
        """The item of a database id."""
        return next((i for i in self.items if i.id == number), None)
