"""The App's comments on Issues and pull requests. Ours is what our App wrote, whatever anybody's name is."""

from app.domain.observation import Comment
from app.github.access import RepositoryAccess
from app.github.errors import GraphQLFailed, NotFound
from app.github.graphql_shapes import COMMENT_FRAGMENT, CommentedSubject, CommentPage
from app.github.shapes import CommentShape, read
from app.github.wire import Call

_OF_ISSUE = "/repos/{owner}/{repo}/issues/{number}/comments"
_COMMENT = "/repos/{owner}/{repo}/issues/comments/{id}"
_FIND = (
    """
query Comments($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    databaseId
    subject: issueOrPullRequest(number: $number) {
      ... on Issue { comments(first: 100, after: $after) { ...page } }
      ... on PullRequest { comments(first: 100, after: $after) { ...page } }
    }
  }
}
fragment page on IssueCommentConnection {
  pageInfo { hasNextPage endCursor }
  nodes { ...comment }
}
"""
    + COMMENT_FRAGMENT
)


class Comments(RepositoryAccess):
    """Comments. `number` is an Issue's or a pull request's. Bodies over 65,536 characters are refused (Validation)."""

    async def create_comment(self, number: int, body: str) -> Comment:
        """Write a comment. Raises Unanswered where it may stand now.

        Done but not heard: `find_comments` with the marker shows it, at once or later. Two of us: both stand for a
        moment; the oldest stays and the other is deleted. Lease gone: what it says is rewritten from the record.
        """
        answer = await self.session.write("POST", _OF_ISSUE, self._at(number=number), {"body": body})
        return read(CommentShape, answer.body, Call("POST", _OF_ISSUE, writes=True)).comment()

    async def edit_comment(self, id: int, body: str) -> Comment:
        """Replace a comment's text. Raises NotFound where somebody deleted it.

        Done but not heard, or two of us: the text is set to a value, and the next look compares it with the record.
        Lease gone: a late old text carries its generation and sequence and is rewritten.
        """
        answer = await self.session.write("PATCH", _COMMENT, self._at(id=id), {"body": body})
        return read(CommentShape, answer.body, Call("PATCH", _COMMENT, writes=True)).comment()

    async def delete_comment(self, id: int) -> None:
        """Remove a comment of ours; one that is gone already is what was wanted.

        Done but not heard, or two of us: it is gone. Lease gone: only superfluous copies are ever deleted.
        """
        try:
            await self.session.write("DELETE", _COMMENT, self._at(id=id))
        except NotFound:
            return

    async def find_comments(self, number: int, marker: str) -> list[Comment]:
        """The probe for `create_comment`: our App's comments whose text contains `marker`, oldest first.

        One request for every hundred comments. Raises NotFound where there is no such Issue or pull request.
        """
        found: list[Comment] = []
        after: str | None = None
        while True:
            page = await self._page(number, after)
            found += [comment for comment in page.ours() if marker in comment.body]
            if not page.page.has_next:
                return sorted(found, key=lambda comment: (comment.created_at, comment.id))
            after = page.page.cursor

    async def _page(self, number: int, after: str | None) -> CommentPage:
        variables = {"owner": self.owner, "name": self.name, "number": number, "after": after}
        try:
            answer = await self.session.query("Comments", _FIND, variables)
        except GraphQLFailed as e:
            if missing := e.as_not_found("repository", "subject"):
                raise missing from None
            raise
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "Comments")
        call = Call("POST", "Comments", kind="graphql")
        return read(CommentedSubject, repository.get("subject"), call).comments
