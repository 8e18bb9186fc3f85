"""What one look at GitHub shows about a ticket. Built by one GraphQL query; everything in it is other people's text."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.domain.pull_acts import Act
from app.domain.surroundings import NOT_LOOKED_AT, Surroundings


@dataclass(frozen=True)
class Branch:
    name: str
    sha: str


@dataclass(frozen=True)
class Issue:
    number: int
    title: str
    body: str
    state: str
    """`OPEN` or `CLOSED`."""
    author: str | None
    """None where the account is gone."""
    assignees: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    url: str = ""
    state_reason: str | None = None
    """`COMPLETED`, `NOT_PLANNED`, `DUPLICATE` or `REOPENED`; None where GitHub names none."""


@dataclass(frozen=True)
class CheckRun:
    """A check-run of our App named `Agent Recovery` on a head."""

    id: int
    sha: str
    status: str
    conclusion: str | None
    external_id: str
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    started_at: str | None = None
    completed_at: str | None = None


@dataclass(frozen=True)
class Comment:
    """A comment made by our App (by App id, never by a name). `edited_by_other`: its text is not ours any more."""

    id: int
    body: str
    created_at: datetime
    edited_by_other: bool = False
    url: str = ""


@dataclass(frozen=True)
class Pull:
    number: int
    node_id: str
    state: str
    """`OPEN`, `CLOSED` or `MERGED`."""
    is_draft: bool
    title: str
    body: str
    head: str
    head_sha: str
    base: str
    head_repository: str | None
    """`owner/name`; None where the fork is gone. A PR counts for a ticket only from the repository itself."""
    url: str = ""
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()
    """Comments of our App only, oldest first."""
    many_comments: bool = False
    """There are more comments than were read, so one that is not among `comments` may stand all the same."""
    author: str | None = None
    """None where the account is gone. An App's login stands without `[bot]`."""
    reviewers: tuple[str, ...] = ()
    """Who is asked for a review now: accounts by login, teams as `organization/team`."""
    acts: tuple[Act, ...] = ()
    """The newest clicks on ready and draft, edits of the base, and what was taken away, the oldest first. They and the
    reviewers are read of the recorded PR only.
    """
    mergeable: str | None = None
    """`MERGEABLE`, `CONFLICTING` or `UNKNOWN`, as far as GitHub has computed it; None where it was not asked."""


Whereabouts = Literal["here", "transferred", "deleted", "hidden", "issues_off"]
"""Where an Issue is by GitHub's own word for its address: `hidden` is deleted or transferred to where the App may not
look; `issues_off`: the repository's Issues are switched off, and all of them come back with the switch.
"""


@dataclass(frozen=True)
class Observation:
    """One ticket as GitHub shows it now. `now` is GitHub's own clock, from the answer's `Date` header."""

    now: datetime
    repository_id: int
    owner: str
    name: str
    default_branch: str
    policy_text: str | None
    issue: Issue | None
    is_pull_request: bool = False
    """The number belongs to a pull request, not to an Issue."""
    branches: tuple[Branch, ...] = ()
    """Branches whose name contains the ticket's number, the recorded ticket branch if it stands, and `ticket` itself,
    which leaves no room for any `ticket/…`.
    """
    trunk: Branch | None = None
    """The recorded trunk, if it stands."""
    pulls: tuple[Pull, ...] = ()
    """Pull requests whose head branch is the recorded ticket branch, any state, newest first."""
    check_runs: tuple[CheckRun, ...] = ()
    """Our App's check-runs on the head of the recorded ticket branch."""
    issue_comments: tuple[Comment, ...] = ()
    """Our App's comments on the Issue itself, oldest first."""
    around: Surroundings = NOT_LOOKED_AT
    """What surrounds the ticket: dependencies, Project, base of releases, predecessor, dependents, decisions."""
    default_head: str | None = None
    """The commit of the default branch at which the policy file was read."""
    of_organization: bool | None = None
    """Whether an organization owns the repository: only then an App is shown its owner's Projects. None: not asked."""
    archived: bool = False
    """GitHub takes no writes for the repository until its owner takes it out of the archive."""
    whereabouts: Whereabouts | None = None
    """Asked where the query named no Issue; None where it was not asked."""

    def branch(self, name: str) -> Branch | None:
        return next((b for b in self.branches if b.name == name), None)
