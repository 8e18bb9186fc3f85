"""What surrounds a ticket on GitHub: dependencies, Project, base of releases, predecessor, dependents, decisions.

Read in the same look as the ticket itself, and only read: nothing here permits or does anything. What could not be
read is None, which is "unknown" and never "absent".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

MOST_DECISIONS = 40
"""Recorded decisions that one look resolves; what stands behind them is said to be not looked up."""

MOST_BRANCHES = 50
"""Branches with a predecessor's number in their name that one look reads."""

MOST_STOREYS = 5
"""How many storeys of a stack below a ticket one look reads."""


@dataclass(frozen=True)
class Asked:
    """What a look is to find besides the ticket. `into`: the base of releases, by default the default branch.
    `project`: whether Projects are read. `work`: the commit the ticket's work stands at. `objects` are git
    expressions (`<sha>:<path>` or `<sha>`), `numbers` those of Issues or pull requests that decisions name.
    """

    into: str | None = None
    project: bool = False
    work: str | None = None
    predecessor: int | None = None
    predecessor_sha: str | None = None
    objects: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


NOTHING_MORE = Asked()


@dataclass(frozen=True)
class Tip:
    """A branch's head with its tree: two commits with one tree hold the same files."""

    name: str
    sha: str
    tree: str | None


@dataclass(frozen=True)
class Distance:
    """`ahead`: commits the first has and the other lacks; `behind`: the other way round."""

    ahead: int
    behind: int


@dataclass(frozen=True)
class Linked:
    """An Issue this one hangs together with. `repository` is None where it is of the same one."""

    number: int
    state: str
    repository: str | None = None
    blocked_by: tuple["Linked", ...] = ()
    """What that one waits for in turn, where it was asked; read one step deep."""

    @property
    def is_open(self) -> bool:
        return self.state == "OPEN"

    def __str__(self) -> str:
        return f"{self.repository or ''}#{self.number}"


@dataclass(frozen=True)
class Column:
    """A field of a Project. `kind` as GitHub names it (`SINGLE_SELECT`, `TEXT`, …); `options`: the choices of a
    single-select field, in the order of the board.
    """

    name: str
    kind: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProjectItem:
    """The Issue's line in a Project, with its values by the names of their fields: other people's text. `columns`: the
    Project's fields that hold values of their own, whether this line has one or not.
    """

    number: int
    title: str
    fields: Mapping[str, str]
    columns: tuple[Column, ...] = ()


@dataclass(frozen=True)
class OtherPull:
    """A pull request that is not the ticket's own: the release's, a dependent's, a predecessor's."""

    number: int
    state: Literal["OPEN", "CLOSED", "MERGED"]
    is_draft: bool
    head: str
    head_sha: str
    base: str
    own_repository: bool
    changed_files: int | None = None
    auto_merge: bool = False


@dataclass(frozen=True)
class Predecessor:
    """The Issue or pull request the work is stacked on. `branches` are those its number may name, with their pulls."""

    number: int
    kind: Literal["issue", "pull"]
    state: str
    closed_because: str | None = None
    pull: OtherPull | None = None
    branches: tuple[Tip, ...] = ()
    pulls: tuple[OtherPull, ...] = ()


@dataclass(frozen=True)
class Surroundings:
    """Everything around one ticket, as one look shows it. Distances are None where one side does not stand."""

    asked: Asked = NOTHING_MORE
    into: Tip | None = None
    trunk_tree: str | None = None
    trunk_over_into: Distance | None = None
    trunk_over_work: Distance | None = None
    trunk_over_predecessor: Distance | None = None
    branch_over_predecessor: Distance | None = None
    """The ticket's branch against the predecessor's recorded commit: `behind` 0 means that it holds it."""
    work_tree: str | None = None
    release_pulls: tuple[OtherPull, ...] = ()
    """Open pull requests from the trunk."""
    dependents: tuple[OtherPull, ...] = ()
    """Open pull requests onto the ticket's branch."""
    below: tuple[OtherPull, ...] = ()
    """Pull requests from the branches that the ticket's own open one is stacked on, and from those they are stacked on:
    open and merged ones, `MOST_STOREYS` deep.
    """
    milestone: str | None = None
    parent: Linked | None = None
    sub_issues: tuple[Linked, ...] = ()
    blocked_by: tuple[Linked, ...] = ()
    blocking: tuple[Linked, ...] = ()
    project_items: tuple[ProjectItem, ...] | None = None
    predecessor: Predecessor | None = None
    objects: Mapping[str, str | None] = field(default_factory=dict)
    """Object ids by expression, None where nothing has the name."""
    numbers: Mapping[int, bool] = field(default_factory=dict)
    """Whether an Issue or pull request has the number."""


NOT_LOOKED_AT = Surroundings()
