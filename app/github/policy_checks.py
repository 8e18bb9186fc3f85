"""The policy file at the heads that matter, with our check-runs about it: of the default branch, and of the open pull
requests that were touched last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import Field

from app.domain.model import Message, Sha
from app.domain.observation import CheckRun
from app.domain.policy_check import NAME
from app.github.access import RepositoryAccess
from app.github.errors import GraphQLFailed
from app.github.graphql_shapes import TargetNode
from app.github.policy_history import NOT_TEXT
from app.github.shapes import read
from app.github.wire import Call

MOST_PULLS = 50
TOUCHED_AT_ONCE = 20
_STATE = """
query PolicyState($owner: String!, $name: String!, $path: String!, $appId: Int!, $checkName: String!, $pulls: Int!) {
  repository(owner: $owner, name: $name) {
    databaseId
    isArchived
    defaultBranchRef {
      name
      target {
        oid
        ... on Commit {
          parents(first: 1) { nodes { oid ... on Commit { file(path: $path) { oid } } } }
          file(path: $path) { oid object { ... on Blob { text isTruncated } } }
          ...runs
        }
      }
    }
    pullRequests(states: OPEN, first: $pulls, orderBy: {field: UPDATED_AT, direction: DESC}) {
      nodes {
        number headRefOid
        commits(last: 1) { nodes { commit { oid file(path: $path) { oid } ...runs } } }
      }
    }
  }
}
fragment runs on Commit {
  checkSuites(first: 1, filterBy: {appId: $appId, checkName: $checkName}) {
    nodes {
      app { databaseId }
      checkRuns(first: 5, filterBy: {checkType: ALL, checkName: $checkName}) {
        nodes { databaseId name status conclusion externalId title summary }
      }
    }
  }
}
"""


@dataclass(frozen=True)
class PolicyHead:
    """A head with the blob of the policy file there, None where there is none, and our check-runs about it."""

    sha: str
    blob: str | None
    runs: tuple[CheckRun, ...]


@dataclass(frozen=True)
class DefaultHead:
    """The head of the default branch. `blob_before`: the file's blob at its first parent."""

    branch: str
    head: PolicyHead
    text: str | None
    blob_before: str | None


@dataclass(frozen=True)
class PolicyState:
    """`pulls`: number → head, those touched last first."""

    now: datetime
    archived: bool
    default: DefaultHead | None
    pulls: dict[int, PolicyHead]


class PolicyChecks(RepositoryAccess):
    """Reading what the policy's check-runs are decided from. All raise GitHubError."""

    async def policy_state(self, path: str) -> PolicyState:
        """The default branch's head and those of the open pull requests touched last. One request."""
        variables = {
            "owner": self.owner,
            "name": self.name,
            "path": path,
            "appId": self.app_id,
            "checkName": NAME,
            "pulls": MOST_PULLS,
        }
        answer = await self.session.query("PolicyState", _STATE, variables)
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "PolicyState")
        seen = read(_Seen, repository, Call("POST", "PolicyState", kind="graphql"))
        heads = {pull.number: pull.policy_head(self.app_id) for pull in seen.pulls.nodes}
        return PolicyState(
            now=answer.date,
            archived=seen.archived,
            default=seen.default.default_head(self.app_id) if seen.default is not None else None,
            pulls={number: head for number, head in heads.items() if head is not None},
        )

    async def pulls_that_touch(self, path: str, numbers: Sequence[int]) -> set[int]:
        """Those of these pull requests whose changed files, as far as the first hundred go, have this path; at most
        twenty at once. Raises ValueError above that.
        """
        if len(numbers) > TOUCHED_AT_ONCE:
            raise ValueError(f"at most {TOUCHED_AT_ONCE} pull requests are asked for at once")
        declared = "".join(f", $n{at}: Int!" for at in range(len(numbers)))
        fields = "\n".join(f"n{at}: pullRequest(number: $n{at}) {{ ...touched }}" for at in range(len(numbers)))
        document = f"""
query PolicyTouched($owner: String!, $name: String!{declared}) {{
  repository(owner: $owner, name: $name) {{
    databaseId
    {fields}
  }}
}}
fragment touched on PullRequest {{ number files(first: 100) {{ nodes {{ path }} }} }}
"""
        variables = {"owner": self.owner, "name": self.name, **{f"n{at}": n for at, n in enumerate(numbers)}}
        try:
            answer = (await self.session.query("PolicyTouched", document, variables)).body["data"]
        except GraphQLFailed as e:
            if not isinstance(e.partial, dict) or any(p.type != "NOT_FOUND" for p in e.errors):
                raise
            answer = e.partial
        repository = answer.get("repository") or {}
        self._same_repository(repository, "PolicyTouched")
        call = Call("POST", "PolicyTouched", kind="graphql")
        found = [read(_Touched, node, call) for at in range(len(numbers)) if (node := repository.get(f"n{at}"))]
        return {pull.number for pull in found if any(file.path == path for file in pull.files.nodes)}


class _Oid(Message):
    oid: Sha


class _Text(Message):
    text: str | None = None
    is_truncated: bool = Field(default=False, alias="isTruncated")


class _File(Message):
    oid: Sha
    object: _Text | None = None

    def content(self) -> str:
        blob = self.object
        return NOT_TEXT if blob is None or blob.text is None or blob.is_truncated else blob.text


class _Commit(TargetNode):
    file: _File | None = None

    def policy_head(self, app_id: int) -> PolicyHead:
        return PolicyHead(self.oid, self.file.oid if self.file else None, self.check_runs(app_id, NAME))


class _Parent(Message):
    oid: Sha
    file: _Oid | None = None


class _Parents(Message):
    nodes: tuple[_Parent, ...] = ()


class _Head(_Commit):
    parents: _Parents = _Parents()


class _Default(Message):
    name: str
    target: _Head | None = None

    def default_head(self, app_id: int) -> DefaultHead | None:
        if self.target is None:
            return None
        parent = self.target.parents.nodes[0] if self.target.parents.nodes else None
        return DefaultHead(
            branch=self.name,
            head=self.target.policy_head(app_id),
            text=self.target.file.content() if self.target.file else None,
            blob_before=parent.file.oid if parent is not None and parent.file is not None else None,
        )


class _PullCommit(Message):
    commit: _Commit


class _PullCommits(Message):
    nodes: tuple[_PullCommit, ...] = ()


class _Pull(Message):
    number: int
    head_sha: Sha = Field(alias="headRefOid")
    commits: _PullCommits = _PullCommits()

    def policy_head(self, app_id: int) -> PolicyHead | None:
        heads = [node.commit for node in self.commits.nodes if node.commit.oid == self.head_sha]
        return heads[0].policy_head(app_id) if heads else None


class _Pulls(Message):
    nodes: tuple[_Pull, ...] = ()


class _Seen(Message):
    archived: bool = Field(default=False, alias="isArchived")
    default: _Default | None = Field(default=None, alias="defaultBranchRef")
    pulls: _Pulls = Field(default=_Pulls(), alias="pullRequests")


class _Path(Message):
    path: str


class _Paths(Message):
    nodes: tuple[_Path, ...] = ()


class _Touched(Message):
    number: int
    files: _Paths = _Paths()
