"""Commits read back: the ledger's chain by GraphQL, and what lies between two commits by REST."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from app.domain.model import Message, Sha
from app.github.access import RepositoryAccess
from app.github.errors import NotFound
from app.github.graphql_shapes import PageInfo
from app.github.shapes import Account, read
from app.github.wire import Call

RECORD_FILE = "record.json"
MESSAGE_END = 4096
"""Characters of a compared commit's message that are kept, counted from its end."""

_COMPARE = "/repos/{owner}/{repo}/compare/{+base}...{+head}"
_HISTORY = """
query LedgerHistory(
  $owner: String!, $name: String!, $oid: GitObjectID!, $first: Int!, $after: String, $start: Boolean!
) {
  repository(owner: $owner, name: $name) {
    databaseId
    object(oid: $oid) {
      __typename
      ... on Commit @include(if: $start) { ...entry }
      ... on Commit {
        history(first: $first, after: $after, path: "record.json") {
          pageInfo { hasNextPage endCursor }
          nodes { ...entry }
        }
      }
    }
  }
}
fragment entry on Commit {
  oid
  message
  parents(first: 3) { nodes { oid } }
  tree { oid }
  file(path: "record.json") { object { ... on Blob { text isTruncated } } }
}
"""


@dataclass(frozen=True)
class RawCommit:
    """A commit as GitHub holds it; nothing in it is checked. `files["record.json"]` is None where the file is missing,
    binary or cut short.
    """

    oid: str
    parents: tuple[str, ...]
    tree: str
    message: str
    files: Mapping[str, str | None]


@dataclass(frozen=True)
class History:
    """A page. Commits of the repository's own history that touch a `record.json` may stand among the ledger's, and
    neighbours need not be parent and child: follow the first parents by SHA.
    """

    commits: tuple[RawCommit, ...]
    has_next: bool
    cursor: str | None


@dataclass(frozen=True)
class ComparedCommit:
    sha: str
    subject: str
    author: str
    """The GitHub login where GitHub knows one, else the name in the commit: a stranger's text."""
    end: str = ""
    """The end of the whole message, where its trailers are."""


@dataclass(frozen=True)
class Comparison:
    """`status`: `identical`, `ahead`, `behind` or `diverged`, of head against base. `commits` are those head has and
    base lacks, oldest first, the first hundred. `merge_base`: the newest commit both have; None where they have none.
    """

    status: str
    ahead_by: int
    behind_by: int
    commits: tuple[ComparedCommit, ...]
    merge_base: str | None = None


class Histories(RepositoryAccess):
    """Reading commits."""

    async def ledger_history(self, oid: str, first: int = 100, after: str | None = None) -> History:
        """Commits from `oid` down, through all parents, that change `record.json`; the first page always holds `oid`
        itself. `after` is the cursor of the page before. Raises NotFound where `oid` is no commit here.
        """
        variables = {
            "owner": self.owner,
            "name": self.name,
            "oid": oid,
            "first": first,
            "after": after,
            "start": after is None,
        }
        answer = await self.session.query("LedgerHistory", _HISTORY, variables)
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "LedgerHistory")
        call = Call("POST", "LedgerHistory", kind="graphql")
        start = repository.get("object")
        if not isinstance(start, dict) or start.get("__typename") != "Commit":
            raise NotFound("there is no such commit", route="LedgerHistory")
        page = read(_Page, start.get("history"), call)
        commits = {node.oid: node.commit() for node in page.nodes}
        if after is None:
            commits = {oid: read(_Node, start, call).commit(), **commits}
        return History(tuple(commits.values()), page.page.has_next, page.page.cursor)

    async def compare(self, base: str, head: str) -> Comparison:
        """How `head` stands to `base` (branch names or SHAs). Raises NotFound where one of them does not exist."""
        call = Call("GET", _COMPARE)
        answer = await self.session.get(_COMPARE, self._at(base=base, head=head), {"per_page": 100})
        shape = read(_ComparisonShape, answer.body, call)
        commits = tuple(commit.compared() for commit in shape.commits[:100])
        shared = shape.merge_base.sha if shape.merge_base else None
        return Comparison(shape.status, shape.ahead_by, shape.behind_by, commits, shared)


class _Oid(Message):
    oid: Sha


class _Oids(Message):
    nodes: tuple[_Oid, ...]


class _Blob(Message):
    text: str | None = None
    is_truncated: bool = Field(default=False, alias="isTruncated")


class _File(Message):
    object: _Blob | None = None


class _Node(Message):
    oid: Sha
    message: str
    parents: _Oids
    tree: _Oid
    file: _File | None = None

    def commit(self) -> RawCommit:
        blob = self.file.object if self.file else None
        text = blob.text if blob is not None and not blob.is_truncated else None
        parents = tuple(parent.oid for parent in self.parents.nodes)
        return RawCommit(self.oid, parents, self.tree.oid, self.message, {RECORD_FILE: text})


class _Page(Message):
    nodes: tuple[_Node, ...]
    page: PageInfo = Field(alias="pageInfo")


class _Person(Message):
    name: str = ""


class _GitCommit(Message):
    message: str = ""
    author: _Person | None = None


class _CommitShape(Message):
    sha: Sha
    commit: _GitCommit
    author: Account | dict[str, Any] | None = None

    def compared(self) -> ComparedCommit:
        login = self.author.login if isinstance(self.author, Account) else ""
        name = login or (self.commit.author.name if self.commit.author else "")
        message = self.commit.message
        return ComparedCommit(self.sha, message.split("\n", 1)[0], name, message[-MESSAGE_END:])


class _CommitName(Message):
    sha: Sha


class _ComparisonShape(Message):
    status: str
    ahead_by: int
    behind_by: int
    commits: tuple[_CommitShape, ...] = ()
    merge_base: _CommitName | None = Field(default=None, alias="merge_base_commit")
