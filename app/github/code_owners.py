"""What tells who owns the files of a pull request: CODEOWNERS of its base, and the files."""

from dataclasses import dataclass

from pydantic import Field

from app.domain.code_owners import MOST_FILES, PLACES
from app.domain.model import Message
from app.github.access import RepositoryAccess
from app.github.graphql_shapes import PageInfo
from app.github.shapes import read
from app.github.wire import Call

_OWNED = """
query Owned($owner: String!, $name: String!, $number: Int!, $first: String!, $second: String!, $third: String!,
  $after: String) {
  repository(owner: $owner, name: $name) {
    databaseId
    first: object(expression: $first) { ... on Blob { text isTruncated } }
    second: object(expression: $second) { ... on Blob { text isTruncated } }
    third: object(expression: $third) { ... on Blob { text isTruncated } }
    pullRequest(number: $number) {
      files(first: 100, after: $after) { nodes { path } pageInfo { hasNextPage endCursor } }
    }
  }
}
"""


@dataclass(frozen=True)
class Owned:
    """`text` of the CODEOWNERS file that counts, empty where there is none or it is no text. `files`: the paths that
    the pull request changes; where there are more than `MOST_FILES`, more than that many.
    """

    text: str
    files: tuple[str, ...]


class CodeOwners(RepositoryAccess):
    """Reading who owns what."""

    async def owned(self, number: int, base: str) -> Owned:
        """The CODEOWNERS of a branch and the files of a pull request. One request for each hundred files. Raises
        GraphQLFailed where the answer is incomplete.
        """
        text, files, after = "", list[str](), None
        while True:
            at = dict(
                zip(("first", "second", "third"), (f"refs/heads/{base}:{place}" for place in PLACES), strict=True)
            )
            variables = {"owner": self.owner, "name": self.name, "number": number, "after": after, **at}
            answer = await self.session.query("Owned", _OWNED, variables)
            repository = answer.body["data"].get("repository") or {}
            self._same_repository(repository, "Owned")
            seen = read(_Seen, repository, Call("POST", "Owned", kind="graphql"))
            text = next((b.content for b in (seen.first, seen.second, seen.third) if b is not None), "")
            page = seen.pull.files if seen.pull is not None and seen.pull.files is not None else _Files()
            files += [node.path for node in page.nodes if node is not None]
            if not text or not page.page.has_next or len(files) > MOST_FILES:
                return Owned(text, tuple(files))
            after = page.page.cursor


class _Blob(Message):
    text: str | None = None
    is_truncated: bool = Field(default=False, alias="isTruncated")

    @property
    def content(self) -> str:
        return "" if self.text is None or self.is_truncated else self.text


class _File(Message):
    path: str


class _Files(Message):
    nodes: tuple[_File | None, ...] = ()
    page: PageInfo = Field(default=PageInfo(), alias="pageInfo")


class _Pull(Message):
    files: _Files | None = None


class _Seen(Message):
    first: _Blob | None = None
    second: _Blob | None = None
    third: _Blob | None = None
    pull: _Pull | None = Field(default=None, alias="pullRequest")
