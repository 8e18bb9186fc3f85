"""Mutations of comments and reactions."""

from __future__ import annotations

from typing import Any

from app.emulator.acts import comments as acts
from app.emulator.auth import at_least, require
from app.emulator.errors import ApiError, GraphQLRefusal
from app.emulator.graphql.mutation_base import MutationBase
from app.emulator.graphql.queries import find_node
from app.emulator.graphql.reaction_views import CONTENT_OF, ReactionThing
from app.emulator.graphql.views import view
from app.emulator.state import Comment, Issue, PullRequest


class CommentMutations(MutationBase):
    """The fields of ``Mutation`` about comments."""

    def addComment(self, info: Any, input: dict[str, Any]) -> Any:
        level = "write" if self.request.identity.installation is not None else "read"
        issue = self._issue(input["subjectId"], level)
        if issue.repo.archived:
            raise ApiError(403, "Repository was archived so is read-only.")
        comment = acts.add_comment(self.request.world, issue, self.request.identity.actor, input["body"])
        edge = {"cursor": str(comment.id), "node": view(self.request, comment)}
        return self._payload(input, commentEdge=edge, subject=view(self.request, issue))

    def _comment(self, value: str) -> Comment:
        """A comment this identity may change: its own, or any with write access."""
        comment: Comment = self._find(value, Comment, "IssueComment")
        if self.request.identity.installation is not None or comment.author is not self.request.identity.account:
            self._need_write(comment)
        return comment

    def _hideable(self, value: str) -> Comment:
        """A comment this identity may hide: being its author is not enough."""
        comment: Comment = self._find(value, Comment, "IssueComment")
        self._need_write(comment)
        return comment

    def _need_write(self, comment: Comment) -> None:
        identity, issue = self.request.identity, comment.issue
        if identity.installation is not None:
            self._issue(issue.node_id)
        elif not at_least(issue.repo.role_of(identity.user), "write"):
            raise ApiError(403, f"{identity.account.login} does not have the correct permissions")

    def updateIssueComment(self, info: Any, input: dict[str, Any]) -> Any:
        comment = self._comment(input["id"])
        acts.edit_comment(self.request.world, comment, self.request.identity.actor, input["body"])
        return self._payload(input, issueComment=view(self.request, comment))

    def deleteIssueComment(self, info: Any, input: dict[str, Any]) -> Any:
        acts.delete_comment(self.request.world, self._comment(input["id"]), self.request.identity.actor)
        return self._payload(input)

    def minimizeComment(self, info: Any, input: dict[str, Any]) -> Any:
        comment = self._hideable(input["subjectId"])
        acts.minimize_comment(comment, input["classifier"])
        return self._payload(input, minimizedComment=view(self.request, comment))

    def unminimizeComment(self, info: Any, input: dict[str, Any]) -> Any:
        comment = self._hideable(input["subjectId"])
        acts.minimize_comment(comment, None)
        return self._payload(input, unminimizedComment=view(self.request, comment))

    # Reactions

    def _reactable(self, value: str) -> Issue | Comment:
        found = find_node(self.request, value)
        if not isinstance(found, Issue | Comment):
            raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to a node with the global id of '{value}'")
        if self.request.identity.installation is not None:
            issue = found.issue if isinstance(found, Comment) else found
            needed = ("issues", "pull_requests") if isinstance(issue, PullRequest) else ("issues",)
            require(self.request.identity, issue.repo, "write", *needed)
        return found

    def addReaction(self, info: Any, input: dict[str, Any]) -> Any:
        target = self._reactable(input["subjectId"])
        content = CONTENT_OF[input["content"]]
        reaction, _ = acts.react(self.request.world, target, self.request.identity.actor, content)
        shown = view(self.request, ReactionThing(target, reaction))
        return self._payload(input, reaction=shown, subject=view(self.request, target))

    def removeReaction(self, info: Any, input: dict[str, Any]) -> Any:
        target = self._reactable(input["subjectId"])
        content = CONTENT_OF[input["content"]]
        own = [r for r in target.reactions if r.user is self.request.identity.account and r.content == content]
        for reaction in own:
            target.reactions.remove(reaction)
        shown = view(self.request, ReactionThing(target, own[0])) if own else None
        return self._payload(input, reaction=shown, subject=view(self.request, target))
