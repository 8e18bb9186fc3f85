"""Mutations of reviews and conversations."""

from __future__ import annotations

from typing import Any

from app.emulator.acts import review_comments, reviews
from app.emulator.acts.reviewers import remove_reviewers, request_reviewers
from app.emulator.auth import require
from app.emulator.errors import GraphQLRefusal
from app.emulator.graphql.mutation_base import MutationBase
from app.emulator.graphql.views import view
from app.emulator.guard_state import Review, ReviewThread
from app.emulator.state import Account, PullRequest


class ReviewMutations(MutationBase):
    """Reviewing, asking for reviews, resolving conversations."""

    def _reviewable(self, value: str) -> PullRequest:
        pull: PullRequest = self._find(value, PullRequest, "PullRequest")
        identity = self.request.identity
        level = "write" if identity.installation is not None else "read"
        require(identity, pull.repo, level, "pull_requests")
        return pull

    def _own_review(self, input: dict[str, Any]) -> Review:
        account = self.request.identity.account
        if input.get("pullRequestReviewId"):
            review: Review | None = self._find(input["pullRequestReviewId"], Review, "PullRequestReview")
        else:
            review = reviews.pending_review(self._reviewable(input.get("pullRequestId") or ""), account)
        if review is None or review.author is not account:
            raise GraphQLRefusal("NOT_FOUND", "Could not find the pending review")
        self._reviewable(review.pull.node_id)
        return review

    def addPullRequestReview(self, info: Any, input: dict[str, Any]) -> Any:
        pull, event, text = self._reviewable(input["pullRequestId"]), input.get("event"), input.get("body") or ""
        world, actor = self.request.world, self.request.identity.actor
        if event is not None:
            reviews.check_event(pull, event, actor, text, comments=False)
        review = reviews.begin_review(world, pull, actor, text, input.get("commitOID"))
        if event is not None:
            reviews.submit_review(world, review, event, None, actor)
        shown = view(self.request, review)
        return self._payload(input, pullRequestReview=shown, reviewEdge={"cursor": str(review.id), "node": shown})

    def submitPullRequestReview(self, info: Any, input: dict[str, Any]) -> Any:
        review = self._own_review(input)
        reviews.submit_review(
            self.request.world, review, input["event"], input.get("body"), self.request.identity.actor
        )
        return self._payload(input, pullRequestReview=view(self.request, review))

    def updatePullRequestReview(self, info: Any, input: dict[str, Any]) -> Any:
        review = self._own_review(input)
        reviews.edit_review(self.request.world, review, input["body"], self.request.identity.actor)
        return self._payload(input, pullRequestReview=view(self.request, review))

    def deletePullRequestReview(self, info: Any, input: dict[str, Any]) -> Any:
        review = self._own_review(input)
        reviews.delete_review(review)
        return self._payload(input, pullRequestReview=view(self.request, review))

    def dismissPullRequestReview(self, info: Any, input: dict[str, Any]) -> Any:
        review: Review = self._find(input["pullRequestReviewId"], Review, "PullRequestReview")
        require(self.request.identity, review.pull.repo, "write", "pull_requests")
        reviews.dismiss_review(self.request.world, review, input["message"], self.request.identity.actor)
        return self._payload(input, pullRequestReview=view(self.request, review))

    def addPullRequestReviewThread(self, info: Any, input: dict[str, Any]) -> Any:
        world, actor = self.request.world, self.request.identity.actor
        if not input.get("pullRequestReviewId"):
            pull = self._reviewable(input.get("pullRequestId") or "")
            review = reviews.pending_review(pull, actor.account) or reviews.begin_review(world, pull, actor, "", None)
        else:
            review = self._own_review(input)
        comment = review_comments.open_thread(
            world,
            review,
            actor,
            body=input["body"],
            path=input["path"],
            line=input.get("line") or 0,
            side=input.get("side") or "RIGHT",
        )
        return self._payload(input, thread=view(self.request, comment.thread))

    def _thread(self, value: str) -> ReviewThread:
        thread: ReviewThread = self._find(value, ReviewThread, "PullRequestReviewThread")
        identity = self.request.identity
        if identity.installation is not None or thread.pull.author is not identity.user:
            # An App needs Contents: write as well to resolve a conversation.
            for permission in ("pull_requests", "contents"):
                require(identity, thread.pull.repo, "write", permission)
        return thread

    def resolveReviewThread(self, info: Any, input: dict[str, Any]) -> Any:
        thread = self._thread(input["threadId"])
        review_comments.resolve(self.request.world, thread, self.request.identity.actor, resolved=True)
        return self._payload(input, thread=view(self.request, thread))

    def unresolveReviewThread(self, info: Any, input: dict[str, Any]) -> Any:
        thread = self._thread(input["threadId"])
        review_comments.resolve(self.request.world, thread, self.request.identity.actor, resolved=False)
        return self._payload(input, thread=view(self.request, thread))

    def requestReviews(self, info: Any, input: dict[str, Any]) -> Any:
        people: list[Account] = [self._find(value, Account, "User") for value in input.get("userIds") or []]
        return self._request_reviews(input, people)

    def requestReviewsByLogin(self, info: Any, input: dict[str, Any]) -> Any:
        bots = [f"{login.removesuffix('[bot]')}[bot]" for login in input.get("botLogins") or []]
        people = []
        for login in [*(input.get("userLogins") or []), *bots]:
            account = self.request.world.account(login)
            if account is None:
                raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to a User with the login of '{login}'.")
            people.append(account)
        for slug in input.get("teamSlugs") or []:
            raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to a Team with the slug of '{slug}'.")
        return self._request_reviews(input, people)

    def _request_reviews(self, input: dict[str, Any], people: list[Account]) -> Any:
        pull = self._pull(input["pullRequestId"])
        world, actor = self.request.world, self.request.identity.actor
        request_reviewers(world, pull, list(people), actor)
        if not input.get("union"):
            remove_reviewers(world, pull, [a for a in pull.requested_reviewers if a not in people], actor)
        return self._payload(input, pullRequest=view(self.request, pull), actor=view(self.request, actor.account))
