"""Reviews and conversations on lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.emulator.acts.branch_rules import review_rules
from app.emulator.acts.review_comments import is_outdated
from app.emulator.acts.review_rules import can_write, counted, opinions, review_sentences
from app.emulator.acts.reviews import comments_of
from app.emulator.graphql.connections import connection
from app.emulator.graphql.git_views import CommitThing
from app.emulator.graphql.reaction_views import reaction_groups, reactions
from app.emulator.graphql.views import View, shows, view, viewer_of
from app.emulator.guard_state import Review, ReviewComment, ReviewThread
from app.emulator.people import association
from app.emulator.state import PullRequest

_INT_MAX = 2**31 - 1


class ReviewedFields:
    """The fields of a pull request that tell of its reviews."""

    request: Any
    thing: PullRequest

    @property
    def reviewDecision(self) -> str | None:
        """What required reviews come to; null where none are required and nobody has given an opinion."""
        world, pull = self.request.world, self.thing
        rules = review_rules(pull.repo, pull.base_ref)
        if counted(world, pull, "CHANGES_REQUESTED"):
            return "CHANGES_REQUESTED"
        if not any(r.count or r.code_owners or r.last_push_approval for r in rules):
            return None
        missing = [s for r in rules for s in review_sentences(world, pull, r) if "conversation" not in s]
        return "REVIEW_REQUIRED" if missing else "APPROVED"

    def _visible(self) -> list[Review]:
        me = self.request.identity.account
        return [r for r in self.thing.reviews if r.state != "PENDING" or r.author is me]

    def reviews(self, info: Any, states: Sequence[str] | None = None, author: str | None = None, **page: Any) -> Any:
        found = [r for r in self._visible() if states is None or r.state in states]
        if author is not None:
            found = [r for r in found if r.author.login.removesuffix("[bot]").lower() == author.lower()]
        return connection("reviews", found, viewer_of(self.request), **page)

    def latestReviews(self, info: Any, **page: Any) -> Any:
        newest = {r.author.id: r for r in self.thing.reviews if r.state != "PENDING"}
        waiting = {a.id for a in self.thing.requested_reviewers}
        found = [r for number, r in newest.items() if number not in waiting]
        return connection("latestReviews", found, viewer_of(self.request), **page)

    def latestOpinionatedReviews(self, info: Any, writersOnly: bool = False, **page: Any) -> Any:
        found = list(opinions(self.thing).values())
        if writersOnly:
            found = [r for r in found if can_write(self.request.world, self.thing, r)]
        return connection("latestOpinionatedReviews", found, viewer_of(self.request), **page)

    def reviewThreads(self, info: Any, **page: Any) -> Any:
        me = self.request.identity.account
        found = [t for t in self.thing.threads if any(_shows(c, me) for c in t.comments)]
        return connection("reviewThreads", found, viewer_of(self.request), **page)


def _shows(comment: ReviewComment, reader: Any) -> bool:
    return comment.review.state != "PENDING" or comment.author is reader


class _Written(View):
    """What reviews and comments on lines share."""

    thing: Any

    @property
    def _pull(self) -> PullRequest:
        return self.thing.pull if isinstance(self.thing, Review) else self.thing.thread.pull

    def __init__(self, request: Any, thing: Any) -> None:
        super().__init__(request, thing)
        self.id, self.body, self.createdAt = thing.node_id, thing.body, thing.created_at
        self.databaseId = thing.id if thing.id <= _INT_MAX else None
        self.fullDatabaseId = str(thing.id)
        self.editor, self.lastEditedAt, self.includesCreatedEdit = None, None, False
        self.authorAssociation = association(self._pull.repo, thing.author)

    @property
    def author(self) -> Any:
        return view(self.request, self.thing.author)

    @property
    def viewerDidAuthor(self) -> bool:
        return self.thing.author is self.request.identity.account

    @property
    def pullRequest(self) -> Any:
        return view(self.request, self._pull)

    @property
    def repository(self) -> Any:
        return view(self.request, self._pull.repo)

    def _place(self, mark: str) -> None:
        self.resourcePath = f"/{self._pull.repo.full_name}/pull/{self._pull.number}#{mark}{self.thing.id}"
        self.url = self.request.world.url + self.resourcePath


@shows(Review)
class ReviewView(_Written):
    """A review."""

    __typename = "PullRequestReview"

    def __init__(self, request: Any, thing: Review) -> None:
        super().__init__(request, thing)
        self.state, self.submittedAt = thing.state, thing.submitted_at
        self.updatedAt = thing.submitted_at or thing.created_at
        self._place("pullrequestreview-")

    @property
    def authorCanPushToRepository(self) -> bool:
        return can_write(self.request.world, self._pull, self.thing)

    @property
    def commit(self) -> Any:
        return view(self.request, CommitThing(self._pull.repo, self.thing.commit_id))

    def reactions(self, info: Any, content: str | None = None, **page: Any) -> Any:
        return reactions(self.request, self.thing, content, page)

    @property
    def reactionGroups(self) -> Any:
        return reaction_groups(self.request, self.thing)

    def comments(self, info: Any, **page: Any) -> Any:
        return connection("comments", comments_of(self.thing), viewer_of(self.request), **page)


@shows(ReviewComment)
class ReviewCommentView(_Written):
    """A comment on a line."""

    __typename = "PullRequestReviewComment"

    def __init__(self, request: Any, thing: ReviewComment) -> None:
        super().__init__(request, thing)
        self.updatedAt, self.diffHunk = thing.updated_at, thing.diff_hunk
        self.path, self.line, self.originalLine = thing.thread.path, thing.thread.line, thing.thread.line
        self.state = "PENDING" if thing.review.state == "PENDING" else "SUBMITTED"
        self._place("discussion_r")

    @property
    def outdated(self) -> bool:
        return is_outdated(self.thing.thread)

    @property
    def commit(self) -> Any:
        return view(self.request, CommitThing(self._pull.repo, self._pull.head_sha))

    @property
    def originalCommit(self) -> Any:
        return view(self.request, CommitThing(self._pull.repo, self.thing.commit_id))

    @property
    def pullRequestReview(self) -> Any:
        return view(self.request, self.thing.review)

    @property
    def replyTo(self) -> Any:
        first = self.thing.thread.comments[0]
        return view(self.request, first) if first is not self.thing else None


@shows(ReviewThread)
class ReviewThreadView(View):
    """A conversation on a line."""

    thing: ReviewThread
    __typename = "PullRequestReviewThread"

    def __init__(self, request: Any, thing: ReviewThread) -> None:
        super().__init__(request, thing)
        self.id, self.path, self.diffSide = thing.node_id, thing.path, thing.side
        self.originalLine = thing.line
        self.isOutdated = is_outdated(thing)
        self.line = None if self.isOutdated else thing.line
        self.isResolved = self.isCollapsed = thing.resolved_by is not None
        changes = request.identity.allows(thing.pull.repo, "pull_requests", "write")
        self.viewerCanReply = True
        self.viewerCanResolve, self.viewerCanUnresolve = changes and not self.isResolved, changes and self.isResolved

    @property
    def pullRequest(self) -> Any:
        return view(self.request, self.thing.pull)

    @property
    def repository(self) -> Any:
        return view(self.request, self.thing.pull.repo)

    @property
    def resolvedBy(self) -> Any:
        who = self.thing.resolved_by
        # The field is a User; a conversation that an App resolved shows nobody.
        return view(self.request, who) if who is not None and who.type == "User" else None

    def comments(self, info: Any, skip: int | None = None, **page: Any) -> Any:
        me = self.request.identity.account
        found = [c for c in self.thing.comments if _shows(c, me)][skip or 0 :]
        return connection("comments", found, viewer_of(self.request), **page)
