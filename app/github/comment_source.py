"""Comments read again where somebody's word depends on them: whether they stand, what they say, who wrote them, through
which App, and whether anybody changed them.

REST alone tells the App and the author's id, GraphQL alone tells of edits, so both are asked, REST first: what changed
between the two answers counts as edited.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from pydantic import AwareDatetime, Field

from app.domain.model import Message, instant_text
from app.domain.source_comment import CommentAuthor, CommentGone, SourceComment
from app.github.access import RepositoryAccess
from app.github.errors import GraphQLFailed, NotFound
from app.github.shapes import Account, ObjectWithId, read
from app.github.wire import Call

_COMMENTS = "/repos/{owner}/{repo}/issues/comments"
_COMMENT = "/repos/{owner}/{repo}/issues/comments/{id}"
_AT_ONCE = 100
_EDITS = """
query CommentEdits($ids: [ID!]!) {
  nodes(ids: $ids) {
    ... on IssueComment { id body lastEditedAt includesCreatedEdit repository { databaseId } }
  }
}
"""


class CommentSources(RepositoryAccess):
    """Reading comments again. Reads only. All raise GitHubError where GitHub does not answer."""

    async def source_comment(self, id: int) -> SourceComment | CommentGone:
        """One comment as it is now; two requests."""
        try:
            answer = await self.session.get(_COMMENT, self._at(id=id))
        except NotFound:
            return CommentGone(id)
        shape = read(_Shape, answer.body, Call("GET", _COMMENT))
        found = await self._with_edits([shape])
        return found[0] if found else CommentGone(id)

    async def source_comments(self, ids: Iterable[int]) -> dict[int, SourceComment | CommentGone]:
        """Several comments as they are now: a request for each, and one for every hundred."""
        shapes: list[_Shape] = []
        found: dict[int, SourceComment | CommentGone] = {}
        for id in dict.fromkeys(ids):
            found[id] = CommentGone(id)
            try:
                answer = await self.session.get(_COMMENT, self._at(id=id))
            except NotFound:
                continue
            shapes.append(read(_Shape, answer.body, Call("GET", _COMMENT)))
        return found | {comment.id: comment for comment in await self._with_edits(shapes)}

    async def comments_since(self, since: datetime, wanted: Callable[[str], bool]) -> list[SourceComment]:
        """The comments of the whole repository that were written or changed since, and whose text is `wanted`, oldest
        first. One request for every hundred comments of anybody, and one for every hundred that are wanted.
        """
        query = {"since": instant_text(since), "sort": "created", "direction": "asc"}
        pages = await self.session.pages(_COMMENTS, self._at(), query)
        shapes = [one for page in pages for one in read(list[_Shape], page.body, Call("GET", _COMMENTS))]
        # A page may begin anew with the last of the page before, where a comment was deleted meanwhile.
        chosen = {one.id: one for one in shapes if wanted(one.body or "")}
        found = await self._with_edits(list(chosen.values()))
        return sorted(found, key=lambda comment: (comment.created_at, comment.id))

    async def _with_edits(self, shapes: list["_Shape"]) -> list[SourceComment]:
        """The comments with what GraphQL knows; those that went away meanwhile are left out."""
        edits: dict[str, _Edits] = {}
        for start in range(0, len(shapes), _AT_ONCE):
            edits |= await self._edits([shape.node_id for shape in shapes[start : start + _AT_ONCE]])
        known = [(shape, edits[shape.node_id]) for shape in shapes if shape.node_id in edits]
        return [shape.comment(edit) for shape, edit in known if edit.repository.id == self.id]

    async def _edits(self, ids: list[str]) -> dict[str, "_Edits"]:
        try:
            answer = await self.session.query("CommentEdits", _EDITS, {"ids": ids})
            data: Any = answer.body.get("data")
        except GraphQLFailed as e:
            # Of comments that are gone it says so one by one, and of the others all the same.
            if e.partial is None or not e.errors or e.types != {"NOT_FOUND"}:
                raise
            data = e.partial
        call = Call("POST", "CommentEdits", kind="graphql")
        nodes = read(_Nodes, data, call).nodes
        return {node.id: node for node in nodes if node is not None}


class _Repository(Message):
    id: int = Field(alias="databaseId")


class _Edits(Message):
    id: str
    body: str
    edited_at: AwareDatetime | None = Field(default=None, alias="lastEditedAt")
    includes_edit: bool = Field(alias="includesCreatedEdit")
    repository: _Repository


class _Nodes(Message):
    nodes: tuple[_Edits | None, ...]


class _Shape(Message):
    id: int
    node_id: str
    issue_url: str
    created_at: AwareDatetime
    body: str | None = None
    html_url: str = ""
    user: Account | None = None
    through: ObjectWithId | None = Field(default=None, alias="performed_via_github_app")

    def comment(self, edits: _Edits) -> SourceComment:
        tail = self.issue_url.rpartition("/")[2]
        body = self.body or ""
        return SourceComment(
            id=self.id,
            node_id=self.node_id,
            number=int(tail) if tail.isdecimal() else 0,
            body=body,
            created_at=self.created_at,
            edited=edits.edited_at is not None or edits.includes_edit or edits.body != body,
            author=CommentAuthor(self.user.login, self.user.id, self.user.type) if self.user else None,
            via_app=self.through.id if self.through else None,
            url=self.html_url,
        )
