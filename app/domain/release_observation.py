"""What one look at GitHub shows about one release: the trunk, the base of releases, the PRs between them, and whether
the people whose word was taken still stand by it.

Everything in it is other people's text and state. What could not be read is None or says why: "unknown", never
"absent".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from app.domain.landing_evidence import LandingEvidence
from app.domain.permission import Membership, Role
from app.domain.source_comment import CommentGone, SourceComment
from app.domain.surroundings import Tip


@dataclass(frozen=True)
class Unread:
    """GitHub did not answer, or not the App. Nothing may be concluded from it, and nothing is permitted by it."""

    reason: str


@dataclass(frozen=True)
class Account:
    """An account on GitHub. `kind`: `User`, `Bot`, `Organization` or `Mannequin`; `ours`: it is our App's."""

    login: str
    id: int
    kind: str = "User"
    ours: bool = False


@dataclass(frozen=True)
class GuardRun:
    """A check-run of our App named `Agent Recovery / release` on a head."""

    id: int
    sha: str
    status: str
    conclusion: str | None
    external_id: str
    title: str | None = None
    summary: str | None = None


@dataclass(frozen=True)
class OwnComment:
    """A comment of our App (by App id, never by a name) on a release PR. `edited_by_other`: its text is not ours."""

    id: int
    body: str
    created_at: datetime
    edited_by_other: bool = False


@dataclass(frozen=True)
class ReleasePull:
    """A pull request from the trunk, of this repository's own branch; also one whose base somebody changed.

    `queued_at`: when it got its place in a merge queue, None where it has none. `repairs` counts how often our App
    reopened it or gave it back its base, as far as its timeline tells; `disturbed_at` when it was last closed or its
    base last changed by somebody else. `comments`: our App's only, oldest first.
    """

    number: int
    node_id: str
    state: Literal["OPEN", "CLOSED", "MERGED"]
    is_draft: bool
    title: str
    body: str
    head: str
    head_sha: str
    base: str
    author: Account | None = None
    auto_merge: bool = False
    queued: bool = False
    queue_entry: str | None = None
    """The node id of its entry in the merge queue."""
    merge_sha: str | None = None
    merged_at: datetime | None = None
    merged_by: Account | None = None
    carried_by: int | None = None
    """The release PR of another trunk whose authorized merge brought this head along, so that GitHub shows this one as
    merged too; None where it is not so.
    """
    closed_by: Account | None = None
    disturbed_at: datetime | None = None
    repairs: int = 0
    comments: tuple[OwnComment, ...] = ()
    many_comments: bool = False
    """There are more comments than were read, so one that is not among `comments` may stand all the same."""
    url: str = ""


@dataclass(frozen=True)
class Included:
    """A ticket whose PR was merged onto the trunk and is not in the base of releases yet. `title`: the Issue's."""

    number: int
    title: str
    pull: int | None = None


@dataclass(frozen=True)
class ReleaseObservation:
    """One release as GitHub shows it now. `now` is GitHub's own clock, from the answer's `Date` header.

    `files`: how many files differ, three dots, from the base to the trunk; `ahead`: commits that the trunk has and the
    base lacks. `pulls`: open ones and those closed lately, newest first. `guard_runs`: on the heads of the open ones.
    `sources` by comment id, `roles` by account id, `teams` by (team as `organization/team` in lower case, account id):
    read for every receipt that stands, and for whoever speaks now. `lease_accounts`: logins in lower case that held or
    started a lease of a ticket in this release; Unread where a ledger of one could not be read. `last_pusher`: who
    brought the head to the trunk; None where GitHub does not say.
    """

    now: datetime
    repository_id: int
    owner: str
    name: str
    branch: str
    default_branch: str
    into_name: str
    trunk: Tip | None
    into: Tip | None
    files: int | None = None
    ahead: int | None = None
    pulls: tuple[ReleasePull, ...] = ()
    included: tuple[Included, ...] = ()
    included_more: bool = False
    """There are more tickets than were read."""
    named: tuple[int, ...] = ()
    """The numbers of all tickets that the trunk brings: an Issue that was deleted or moved away hides nobody's work."""
    guard_runs: tuple[GuardRun, ...] = ()
    evidence: LandingEvidence | None = None
    """Of the release PR's head; read only where a merge is asked for."""
    last_pusher: Account | None = None
    sources: Mapping[int, SourceComment | CommentGone | Unread] = field(default_factory=dict)
    roles: Mapping[int, Role | Unread] = field(default_factory=dict)
    teams: Mapping[tuple[str, int], Membership | Unread] = field(default_factory=dict)
    lease_accounts: frozenset[str] | Unread = frozenset()
    incident_issues: Mapping[str, int] = field(default_factory=dict)
    """Issues of our App with an incident's marker in their text, by that marker: the oldest of each."""

    @property
    def open_pulls(self) -> tuple[ReleasePull, ...]:
        """Those that are of the class release now, the oldest first."""
        found = (p for p in self.pulls if p.state == "OPEN" and p.base == self.into_name)
        return tuple(sorted(found, key=lambda p: p.number))

    def pull(self, number: int | None) -> ReleasePull | None:
        return next((p for p in self.pulls if p.number == number), None)
