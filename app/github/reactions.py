"""The App's reactions on comments: how somebody who said something sees at once that it was heard, and how it ended."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from app.domain.model import Message
from app.github.access import RepositoryAccess
from app.github.errors import Forbidden, GraphQLFailed, NotFound
from app.github.shapes import read
from app.github.wire import Call

Content = Literal["eyes", "rocket", "confused"]
"""Heard, done, not done: the words REST has for 👀, 🚀 and 😕."""

_REACT = "/repos/{owner}/{repo}/issues/comments/{id}/reactions"
_NAMES: dict[Content, str] = {"eyes": "EYES", "rocket": "ROCKET", "confused": "CONFUSED"}
_OURS = """
query OwnReactions($id: ID!) {
  node(id: $id) { ... on IssueComment { reactionGroups { content viewerHasReacted } } }
}
"""
_REMOVE = """
mutation RemoveReaction($id: ID!, $content: ReactionContent!) {
  removeReaction(input: {subjectId: $id, content: $content}) { reaction { id } }
}
"""


@dataclass(frozen=True)
class NotReacted:
    """No reaction stands; `reason` in GitHub's words. `gone`: there is no such comment any more."""

    reason: str
    gone: bool = False


class Reactions(RepositoryAccess):
    """Reactions of our App. One that cannot be given is no fault of anything else: refusals are values."""

    async def react(self, comment: int, content: Content) -> NotReacted | None:
        """Add a reaction to a comment. Raises Unanswered where it may stand now, and other GitHubErrors.

        Done but not heard, or two of us: GitHub keeps one reaction of a kind from one account, and says so to the
        second. Lease gone: a reaction tells that a comment was heard, whoever holds what.
        """
        try:
            await self.session.write("POST", _REACT, self._at(id=comment), {"content": content})
        except NotFound as e:
            return NotReacted(e.message, gone=True)
        except Forbidden as e:
            return NotReacted(e.message)
        return None

    async def own_reactions(self, node_id: str) -> frozenset[Content]:
        """The probe for `react`: which of its reactions our App has on a comment, given by GraphQL's id; on one that is
        gone it has none.
        """
        try:
            answer = await self.session.query("OwnReactions", _OURS, {"id": node_id})
        except GraphQLFailed as e:
            if e.as_not_found("node"):
                return frozenset()
            raise
        node = answer.body["data"].get("node")
        if not node:
            return frozenset()
        groups = read(_Reacted, node, Call("POST", "OwnReactions", kind="graphql")).groups
        return frozenset(_given(groups))

    async def unreact(self, node_id: str, content: Content) -> NotReacted | None:
        """Take our reaction off a comment, given by GraphQL's id. Raises Unanswered and other GitHubErrors.

        Done but not heard, or two of us: it is not there, which GitHub does not call an error. Lease gone: see
        `react`.
        """
        try:
            await self.session.mutate("RemoveReaction", _REMOVE, {"id": node_id, "content": _NAMES[content]})
        except GraphQLFailed as e:
            if e.types == {"NOT_FOUND"}:
                return NotReacted(e.message, gone=True)
            if e.types == {"FORBIDDEN"}:
                return NotReacted(e.message)
            raise
        return None


class _Group(Message):
    content: str
    ours: bool = Field(alias="viewerHasReacted")


class _Reacted(Message):
    groups: tuple[_Group, ...] = Field(default=(), alias="reactionGroups")


def _given(groups: tuple[_Group, ...]) -> Iterator[Content]:
    for content, name in _NAMES.items():
        if any(group.ours and group.content == name for group in groups):
            yield content
