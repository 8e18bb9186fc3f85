"""What keeps a PR's metadata and the ticket's line on a board in order: writes that set a value. Part of a plan."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LinkIssue:
    """Put the line that names the Issue before the rest of the PR's text, which stays as it is."""

    number: int
    reason: str


@dataclass(frozen=True)
class Assign:
    number: int
    logins: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class AddLabels:
    """Put labels that the repository has onto the PR."""

    number: int
    labels: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class RemoveLabel:
    """Take away a label that the App itself put onto the PR."""

    number: int
    label: str
    reason: str


@dataclass(frozen=True)
class AskOwners:
    """Ask the owners of the changed files for their review, as CODEOWNERS of `base` names them; once for a PR."""

    number: int
    base: str
    reason: str


@dataclass(frozen=True)
class SetBoardStatus:
    """Set the ticket's line in a Project: `field` to the option `value`, in place of `before`."""

    project: int
    field: str
    value: str
    before: str | None
    reason: str
