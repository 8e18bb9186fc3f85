"""Which tickets a trunk brings: what it has over the base of releases, and the pull requests and trailers in that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from app.domain.branches import ticket_of_branch
from app.domain.model import Message, Sha
from app.domain.release_observation import Included
from app.domain.ticket_trailers import tickets_named_by
from app.github.access import RepositoryAccess
from app.github.errors import GraphQLFailed, NotFound, ServerError
from app.github.graphql_shapes import PageInfo
from app.github.shapes import read
from app.github.wire import Call

MOST_COMMITS = 2_000
"""That the trunk has over the base: what lies below is not looked through for tickets."""
MOST_MERGED = 1_000
"""Pull requests onto the trunk that are looked through for tickets, the latest first."""

_TITLES_AT_ONCE = 100
_PAGE = 100
_COMPARE = "/repos/{owner}/{repo}/compare/{+base}...{+head}"
MERGED_PULLS = """
    merged: pullRequests(
      baseRefName: $trunk, states: MERGED, first: 100, after: $after, orderBy: {field: UPDATED_AT, direction: DESC}
    ) {
      pageInfo { hasNextPage endCursor }
      nodes { number headRefName headRefOid headRepository { databaseId } mergeCommit { oid } }
    }
"""
_MERGED = f"""
query ReleaseTickets($owner: String!, $name: String!, $trunk: String!, $after: String) {{
  repository(owner: $owner, name: $name) {{
    databaseId
    {MERGED_PULLS}
  }}
}}
"""
_TITLES = Call("POST", "Titles", kind="graphql")


@dataclass(frozen=True)
class Ahead:
    """What the trunk has over something: `commits` with the ends of their messages, as far as read."""

    files: int
    ahead: int
    commits: Mapping[str, str]

    @property
    def is_whole(self) -> bool:
        return len(self.commits) >= self.ahead


class ReleaseTickets(RepositoryAccess):
    """Looking through what a trunk brings. Reads only. All raise GitHubError."""

    async def ahead_of(self, base: str, branch: str) -> Ahead | None:
        """What the trunk has over the base; None where one of them is not there or they share no commit."""
        call = Call("GET", _COMPARE)
        commits: dict[str, str] = {}
        first: _Compared | None = None
        for page in range(1, MOST_COMMITS // _PAGE + 1):
            query: dict[str, str | int] = {"per_page": _PAGE, "page": page}
            try:
                answer = await self.session.get(_COMPARE, self._at(base=base, head=branch), query)
            except NotFound:
                return None
            shape = read(_Compared, answer.body, call)
            if first is not None and shape.ahead != first.ahead:
                raise ServerError("the branches moved while they were compared", route=_COMPARE)
            first = first or shape
            commits |= {one.sha: one.commit.message for one in shape.commits}
            if len(commits) >= first.ahead or not shape.commits:
                break
        assert first is not None
        return Ahead(len(first.files), first.ahead, commits)

    async def unreleased(self, ahead: Ahead, released: str, branch: str) -> Ahead:
        """What is ahead, without what a release that was merged under other commits has brought already: `released` is
        the head that it had.
        """
        if released not in ahead.commits:
            return ahead
        since = await self.ahead_of(released, branch)
        if since is None:
            return ahead
        commits = {sha: message for sha, message in ahead.commits.items() if sha in since.commits}
        files = 0 if since.files == 0 else ahead.files
        return Ahead(files, min(ahead.ahead, since.ahead), commits)

    async def included_in(
        self, branch: str, ahead: Ahead | None, merged: "Merged"
    ) -> tuple[tuple[Included, ...], bool, tuple[int, ...]]:
        """The tickets whose work is among the commits ahead, by their numbers, and whether there may be more; then all
        numbers that are named as tickets there, whether an Issue stands or not.
        """
        if ahead is None or not ahead.commits:
            return (), False, ()
        pulls: dict[int, int | None] = {}
        read_so_far = 0
        while True:
            for node in merged.nodes:
                ticket = ticket_of_branch(node.head)
                is_own = node.home is not None and node.home.id == self.id
                landed = {node.merge.oid if node.merge else "", node.head_sha} & ahead.commits.keys()
                if ticket is not None and is_own and landed:
                    pulls[ticket] = max(node.number, pulls.get(ticket) or 0)
            read_so_far += len(merged.nodes)
            if not merged.page.has_next or read_so_far >= MOST_MERGED:
                break
            merged = await self._further_merged(branch, merged.page.cursor)
        for message in ahead.commits.values():
            for ticket in tickets_named_by(message):
                pulls.setdefault(ticket, None)
        titles = await self._issue_titles(sorted(pulls))
        found = tuple(Included(ticket, titles[ticket], pulls[ticket]) for ticket in sorted(titles))
        return found, merged.page.has_next or not ahead.is_whole, tuple(sorted(pulls))

    async def _further_merged(self, branch: str, after: str | None) -> "Merged":
        variables = {"owner": self.owner, "name": self.name, "trunk": branch, "after": after}
        answer = await self.session.query("ReleaseTickets", _MERGED, variables)
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "ReleaseTickets")
        return read(WithMerged, repository, Call("POST", "ReleaseTickets", kind="graphql")).merged

    async def _issue_titles(self, numbers: Sequence[int]) -> dict[int, str]:
        """Number → title of those that are Issues of this repository."""
        found: dict[int, str] = {}
        for start in range(0, len(numbers), _TITLES_AT_ONCE):
            some = numbers[start : start + _TITLES_AT_ONCE]
            fields = "\n".join(f"n{n}: issue(number: {n}) {{ number title }}" for n in some)
            document = (
                "query Titles($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { databaseId\n"
                f"{fields}\n}} }}"
            )
            try:
                answer = await self.session.query("Titles", document, {"owner": self.owner, "name": self.name})
                data = answer.body["data"]
            except GraphQLFailed as e:
                # A number that is no Issue (any more) is told as an error beside the others.
                if e.types != {"NOT_FOUND"} or not isinstance(e.partial, dict):
                    raise
                data = e.partial
            repository = data.get("repository") or {}
            self._same_repository(repository, "Titles")
            shapes = (read(_Title, repository[f"n{n}"], _TITLES) for n in some if repository.get(f"n{n}"))
            found |= {shape.number: shape.title for shape in shapes}
        return found


class Home(Message):
    id: int = Field(alias="databaseId")


class Oid(Message):
    oid: Sha


class MergedPull(Message):
    number: int
    head: str = Field(alias="headRefName")
    head_sha: Sha = Field(alias="headRefOid")
    home: Home | None = Field(default=None, alias="headRepository")
    merge: Oid | None = Field(default=None, alias="mergeCommit")


class Merged(Message):
    page: PageInfo = Field(alias="pageInfo")
    nodes: tuple[MergedPull, ...] = ()


class WithMerged(Message):
    merged: Merged


class _Title(Message):
    number: int
    title: str = ""


class _Message(Message):
    message: str = ""


class _Commit(Message):
    sha: Sha
    commit: _Message = _Message()


class _Compared(Message):
    ahead: int = Field(alias="ahead_by")
    commits: tuple[_Commit, ...] = ()
    files: tuple[dict[str, Any], ...] = ()
