"""What the policy file said at earlier commits of the default branch."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from app.domain.model import Message, Sha
from app.github.access import RepositoryAccess
from app.github.errors import NotFound
from app.github.graphql_shapes import PageInfo
from app.github.shapes import read
from app.github.wire import Call

NOT_TEXT = "[not a text file]"
"""Stands for a policy file that is binary or cut short: there is one, and it is not valid."""
TEXTS_AT_ONCE = 10

_LINE = """
query PolicyLine($owner: String!, $name: String!, $head: GitObjectID!, $after: String, $path: String!) {
  repository(owner: $owner, name: $name) {
    databaseId
    object(oid: $head) {
      ... on Commit {
        history(first: 100, after: $after) {
          pageInfo { hasNextPage endCursor }
          nodes { oid parents(first: 1) { nodes { oid } } file(path: $path) { oid } }
        }
      }
    }
  }
}
"""


@dataclass(frozen=True)
class FileAt:
    """A commit, its first parent, and the blob of the file there; None where there is no file, or no parent."""

    commit: str
    first_parent: str | None
    blob: str | None


@dataclass(frozen=True)
class LinePage:
    """Commits reachable from a head, newest first; those of merged branches stand among them: follow first parents."""

    commits: tuple[FileAt, ...]
    cursor: str | None
    """Where the next page begins; None after the last."""


class PolicyHistories(RepositoryAccess):
    """The policy file's past. Reads only."""

    async def policy_line(self, head: str, path: str, after: str | None = None) -> LinePage:
        """A hundred commits from `head` on, with the blob of the file at each. Raises NotFound where `head` is no
        commit here, GitHubError where GitHub does not answer.
        """
        variables = {"owner": self.owner, "name": self.name, "head": head, "after": after, "path": path}
        answer = await self.session.query("PolicyLine", _LINE, variables)
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "PolicyLine")
        found = repository.get("object")
        if not isinstance(found, dict) or "history" not in found:
            raise NotFound("there is no such commit", route="PolicyLine")
        page = read(_Page, found["history"], Call("POST", "PolicyLine", kind="graphql"))
        return LinePage(tuple(node.file_at() for node in page.nodes), page.page.cursor if page.page.has_next else None)

    async def blob_texts(self, blobs: Sequence[str]) -> dict[str, str]:
        """Blob → its text, `NOT_TEXT` where it has none; at most ten at once. Raises ValueError above that, GitHubError
        where GitHub does not answer.
        """
        if len(blobs) > TEXTS_AT_ONCE:
            raise ValueError(f"at most {TEXTS_AT_ONCE} blobs are asked for at once")
        declared = "".join(f", $o{n}: GitObjectID!" for n in range(len(blobs)))
        fields = "\n".join(f"o{n}: object(oid: $o{n}) {{ ...blob }}" for n in range(len(blobs)))
        document = f"""
query BlobTexts($owner: String!, $name: String!{declared}) {{
  repository(owner: $owner, name: $name) {{
    databaseId
    {fields}
  }}
}}
fragment blob on GitObject {{ ... on Blob {{ oid text isTruncated }} }}
"""
        variables = {"owner": self.owner, "name": self.name, **{f"o{n}": blob for n, blob in enumerate(blobs)}}
        answer = await self.session.query("BlobTexts", document, variables)
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "BlobTexts")
        call = Call("POST", "BlobTexts", kind="graphql")
        found = (repository.get(f"o{n}") for n in range(len(blobs)))
        texts = [read(_Blob, node, call) for node in found if node]
        return {blob.oid: blob.content() for blob in texts}


class _Oid(Message):
    oid: Sha


class _Oids(Message):
    nodes: tuple[_Oid, ...]


class _Node(Message):
    oid: Sha
    parents: _Oids
    file: _Oid | None = None

    def file_at(self) -> FileAt:
        parent = self.parents.nodes[0].oid if self.parents.nodes else None
        return FileAt(self.oid, parent, self.file.oid if self.file else None)


class _Page(Message):
    nodes: tuple[_Node, ...]
    page: PageInfo = Field(alias="pageInfo")


class _Blob(Message):
    oid: Sha
    text: str | None = None
    is_truncated: bool = Field(default=False, alias="isTruncated")

    def content(self) -> str:
        return NOT_TEXT if self.text is None or self.is_truncated else self.text
