"""A whole repository at a glance, at a cost that follows its size in hundreds: refs in one exchange of git's protocol,
open pull requests a hundred a request, Issues as far as they were touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import Field

from app.domain.glance import PullGlance
from app.domain.linked_issue import linked_issue_of
from app.domain.model import Message, Sha, instant_text
from app.domain.policy import PATH
from app.github.access import RepositoryAccess
from app.github.errors import GraphQLFailed
from app.github.graphql_shapes import PageInfo
from app.github.policy_history import NOT_TEXT
from app.github.session import Values
from app.github.shapes import Named, read
from app.github.wire import Call

WAITING_AT_ONCE = 50
"""Issues whose dependents are asked for in one request."""

_ISSUES = "/repos/{owner}/{repo}/issues"
_OVERVIEW = """
query Overview($owner: String!, $name: String!, $policy: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    databaseId
    policy: object(expression: $policy) { oid ... on Blob { text isTruncated } }
    pullRequests(states: OPEN, first: 100, after: $after, orderBy: {field: CREATED_AT, direction: ASC}) {
      pageInfo { hasNextPage endCursor }
      nodes {
        number headRefName headRefOid baseRefName isDraft updatedAt mergeStateStatus reviewDecision isInMergeQueue
        headRepository { nameWithOwner }
        autoMergeRequest { enabledAt }
        statusCheckRollup { state }
      }
    }
  }
}
"""


@dataclass(frozen=True)
class PolicyGlance:
    """The policy file on the default branch: which version of it, and its text as a look would read it."""

    oid: str
    text: str


@dataclass(frozen=True)
class Overview:
    """All open pull requests, and the policy file; None where there is none."""

    policy: PolicyGlance | None
    pulls: tuple[PullGlance, ...]


@dataclass(frozen=True)
class Touched:
    """An Issue or pull request that was touched. `ticket`: the Issue it is, or that its text links to."""

    number: int
    is_pull: bool
    is_open: bool
    ticket: int | None
    labels: tuple[str, ...]
    updated_at: str


@dataclass(frozen=True)
class Waiting:
    """An Issue that another one blocks, by the full name of its repository."""

    repository: str
    number: int
    blocked_by: int


class Overviews(RepositoryAccess):
    """Looking at the whole repository. Reads only; all raise GitHubError where GitHub does not answer."""

    async def overview(self) -> Overview:
        """One request for every hundred open pull requests."""
        pulls: list[PullGlance] = []
        after: str | None = None
        while True:
            values = {"owner": self.owner, "name": self.name, "policy": f"HEAD:{PATH}", "after": after}
            answer = await self.session.query("Overview", _OVERVIEW, values)
            repository = answer.body["data"].get("repository") or {}
            self._same_repository(repository, "Overview")
            seen = read(_Seen, repository, Call("POST", "Overview", kind="graphql"))
            pulls += [node.glance(self.full_name) for node in seen.pulls.nodes if node is not None]
            if not seen.pulls.page.has_next:
                return Overview(seen.policy.glance() if seen.policy else None, tuple(pulls))
            after = seen.pulls.page.cursor

    async def touched_since(self, since: datetime) -> list[Touched]:
        """Issues and pull requests, open or not, that were touched since then; one request for every hundred."""
        query: Values = {"state": "all", "since": instant_text(since), "sort": "updated", "direction": "asc"}
        return await self._issues(query)

    async def labelled(self, label: str) -> list[Touched]:
        """Open Issues with a label; one request for every hundred. Nobody's label has a comma in it: GitHub's list
        takes them for several.
        """
        found = [] if "," in label else await self._issues({"state": "open", "labels": label})
        return [one for one in found if not one.is_pull]

    async def waiting_for(self, numbers: Sequence[int]) -> list[Waiting]:
        """The open Issues that these block, in whatever repository; one request for every fifty."""
        found: list[Waiting] = []
        for start in range(0, len(numbers), WAITING_AT_ONCE):
            found += await self._waiting_for(numbers[start : start + WAITING_AT_ONCE])
        return found

    async def _issues(self, query: Values) -> list[Touched]:
        pages = await self.session.pages(_ISSUES, self._at(), query)
        shapes = [shape for page in pages for shape in read(list[_Issue], page.body, Call("GET", _ISSUES))]
        return [shape.touched() for shape in shapes]

    async def _waiting_for(self, numbers: Sequence[int]) -> list[Waiting]:
        declared = "".join(f", $n{at}: Int!" for at in range(len(numbers)))
        fields = "".join(
            f"    n{at}: issue(number: $n{at}) {{ blocking(first: 50) {{ nodes {{ ...waiting }} }} }}\n"
            for at in range(len(numbers))
        )
        document = (
            f"query Waiting($owner: String!, $name: String!{declared}) {{\n"
            f"  repository(owner: $owner, name: $name) {{\n    databaseId\n{fields}  }}\n}}\n"
            "fragment waiting on Issue { number state repository { nameWithOwner } }\n"
        )
        values = {"owner": self.owner, "name": self.name, **{f"n{at}": number for at, number in enumerate(numbers)}}
        try:
            repository = (await self.session.query("Waiting", document, values)).body["data"].get("repository") or {}
        except GraphQLFailed as e:
            # An Issue that was moved or deleted meanwhile blocks nobody any more.
            gone = all(p.type == "NOT_FOUND" and p.path[:1] == ("repository",) and len(p.path) == 2 for p in e.errors)
            if not gone or not isinstance(e.partial, dict):
                raise
            repository = e.partial.get("repository") or {}
        self._same_repository(repository, "Waiting")
        call = Call("POST", "Waiting", kind="graphql")
        answered = [
            (n, read(_Blocking, node, call)) for at, n in enumerate(numbers) if (node := repository.get(f"n{at}"))
        ]
        return [
            Waiting(one.repository.full_name, one.number, number)
            for number, node in answered
            for one in node.blocking.nodes
            if one is not None and one.state == "OPEN"
        ]


class _Policy(Message):
    oid: Sha
    text: str | None = None
    is_truncated: bool = Field(default=False, alias="isTruncated")

    def glance(self) -> PolicyGlance:
        return PolicyGlance(self.oid, NOT_TEXT if self.text is None or self.is_truncated else self.text)


class _FullName(Message):
    full_name: str = Field(alias="nameWithOwner")


class _Rollup(Message):
    state: str


class _Pull(Message):
    number: int
    head: str = Field(alias="headRefName")
    head_sha: Sha = Field(alias="headRefOid")
    base: str = Field(alias="baseRefName")
    is_draft: bool = Field(alias="isDraft")
    updated_at: str = Field(alias="updatedAt")
    merge_state: str = Field(alias="mergeStateStatus")
    review: str | None = Field(default=None, alias="reviewDecision")
    queued: bool = Field(alias="isInMergeQueue")
    head_repository: _FullName | None = Field(default=None, alias="headRepository")
    auto_merge: dict[str, object] | None = Field(default=None, alias="autoMergeRequest")
    rollup: _Rollup | None = Field(default=None, alias="statusCheckRollup")

    def glance(self, home: str) -> PullGlance:
        name = self.head_repository.full_name if self.head_repository else ""
        return PullGlance(
            number=self.number,
            head=self.head,
            head_sha=self.head_sha,
            own_repository=name.lower() == home.lower(),
            base=self.base,
            is_draft=self.is_draft,
            updated_at=self.updated_at,
            merge_state=self.merge_state,
            review=self.review,
            checks=self.rollup.state if self.rollup else None,
            queued=self.queued,
            auto_merge=self.auto_merge is not None,
        )


class _Pulls(Message):
    page: PageInfo = Field(alias="pageInfo")
    nodes: tuple[_Pull | None, ...] = ()


class _Seen(Message):
    policy: _Policy | None = None
    pulls: _Pulls = Field(alias="pullRequests")


class _Issue(Message):
    number: int
    state: str
    body: str | None = None
    labels: tuple[Named, ...] = ()
    updated_at: str
    pull_request: dict[str, object] | None = None

    def touched(self) -> Touched:
        is_pull = self.pull_request is not None
        ticket = linked_issue_of(self.body or "") if is_pull else self.number
        return Touched(
            self.number,
            is_pull,
            self.state == "open",
            ticket,
            tuple(label.name for label in self.labels),
            self.updated_at,
        )


class _Blocked(Message):
    number: int
    state: str
    repository: _FullName


class _BlockedNodes(Message):
    nodes: tuple[_Blocked | None, ...] = ()


class _Blocking(Message):
    blocking: _BlockedNodes
