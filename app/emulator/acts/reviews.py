"""Reviews of pull requests: writing, submitting, dismissing; and what a push does to them."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.branch_rules import review_rules
from app.emulator.acts.events import announce, record
from app.emulator.acts.issue_events import touch
from app.emulator.acts.locking import shut_out
from app.emulator.acts.review_rules import same_changes
from app.emulator.acts.texts import MAX_CHARS, too_long
from app.emulator.errors import ApiError, no_member, unreadable
from app.emulator.guard_state import Review, ReviewComment
from app.emulator.render import Render
from app.emulator.render_reviews import review_in_timeline, show_review_comment
from app.emulator.state import Account, Actor, PullRequest
from app.emulator.world import World

STATES: dict[str, Any] = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


def pending_review(pull: PullRequest, author: Account) -> Review | None:
    """The review somebody has begun and not submitted."""
    return next((r for r in pull.reviews if r.state == "PENDING" and r.author is author), None)


def begin_review(world: World, pull: PullRequest, actor: Actor, body: str, commit: str | None) -> Review:
    """A new pending review of a commit, the head by default. Raises 422; locked conversations and archived repositories
    are refused in one sentence (marcusquinn/aidevops#30280, public bots)."""
    if pull.repo.archived or shut_out(pull, actor):
        raise unprocessable("lock prevents review")
    _check_length(world, pull, body)
    if pending_review(pull, actor.account) is not None:
        raise unprocessable("User can only have one pending review per pull request")
    sha = commit or pull.head_sha
    if pull.repo.git.kind(sha) != "commit" or not pull.repo.git.is_ancestor(sha, pull.head_sha):
        raise unprocessable("The commit is not part of the pull request")
    review = Review(
        id=world.ids.next("review"),
        pull=pull,
        author=actor.account,
        app=actor.app,
        state="PENDING",
        body=body,
        commit_id=sha,
        created_at=world.clock.stamp(),
    )
    pull.reviews.append(review)
    return review


def check_event(pull: PullRequest, event: str, actor: Actor, body: str, *, comments: bool) -> None:
    """Refuse what GitHub does not let somebody say in a review. Raises 422."""
    if event not in STATES:
        raise unreadable(no_member(event, list(STATES)))
    if event != "COMMENT" and actor.account is pull.author:
        what = "approve" if event == "APPROVE" else "request changes on"
        raise unprocessable(f"Can not {what} your own pull request")
    if event != "APPROVE" and not body.strip() and not comments:
        raise unprocessable("Body can't be blank")


def submit_review(world: World, review: Review, event: str, body: str | None, actor: Actor) -> None:
    """Submit a pending review; a reviewer who was asked has answered. Raises 422."""
    pull = review.pull
    if review.state != "PENDING":
        raise unprocessable("Can not submit a review that is not pending")
    text = body if body is not None else review.body
    _check_length(world, pull, text)
    check_event(pull, event, actor, text, comments=bool(comments_of(review)))
    review.state, review.body, review.submitted_at = STATES[event], text, world.clock.stamp()
    # The newest opinion counts, by the time of submission.
    pull.reviews.remove(review)
    pull.reviews.append(review)
    if actor.account in pull.requested_reviewers:
        pull.requested_reviewers.remove(actor.account)
    touch(world, pull)
    record(world, pull, "reviewed", actor, review=review)
    tell_review(world, review, "submitted", actor)
    for comment in comments_of(review):
        tell_comment(world, comment, "created", actor)


def edit_review(world: World, review: Review, body: str, actor: Actor) -> None:
    """Change the text of a review. Raises 422."""
    _check_length(world, review.pull, body)
    if review.body != body:
        changes = {"body": {"from": review.body}}
        review.body = body
        if review.state != "PENDING":
            tell_review(world, review, "edited", actor, changes=changes)


def _check_length(world: World, pull: PullRequest, body: str) -> None:
    # The sentence without a field, as clients log it (reviewdog/reviewdog#1065).
    if too_long(world, pull.repo, body):
        raise unprocessable(f"Body is too long (maximum is {MAX_CHARS} characters)")


def delete_review(review: Review) -> None:
    """Drop a pending review with its comments. Raises 422."""
    if review.state != "PENDING":
        raise unprocessable("Can not delete a non-pending pull request review")
    pull = review.pull
    pull.reviews.remove(review)
    for thread in list(pull.threads):
        thread.comments = [c for c in thread.comments if c.review is not review]
        if not thread.comments:
            pull.threads.remove(thread)


def dismiss_review(world: World, review: Review, message: str, actor: Actor) -> None:
    """Take the weight from an approval or a request for changes. Raises 422."""
    if review.state not in ("APPROVED", "CHANGES_REQUESTED"):
        word = {"COMMENTED": "commented", "PENDING": "pending"}.get(review.state, "dismissed")
        raise unprocessable(f"Can not dismiss a {word} pull request review")
    before = review.state
    review.state, review.dismissal_message = "DISMISSED", message
    touch(world, review.pull)
    dismissed = {"state": before.lower(), "review_id": review.id, "dismissal_message": message or None}
    record(world, review.pull, "review_dismissed", actor, dismissed_review=dismissed)
    tell_review(world, review, "dismissed", actor)


def dismiss_stale(world: World, pull: PullRequest, actor: Actor) -> None:
    """After a push: dismiss approvals of other changes where the base branch asks for it; a merge of the base into
    the head leaves them."""
    if not any(rule.dismiss_stale for rule in review_rules(pull.repo, pull.base_ref)):
        return
    for review in pull.reviews:
        if review.state == "APPROVED" and not same_changes(pull, review.commit_id, pull.head_sha):
            dismiss_review(world, review, "", actor)


def comments_of(review: Review) -> list[ReviewComment]:
    """The comments on lines that belong to a review."""
    return [c for t in review.pull.threads for c in t.comments if c.review is review]


def tell_review(world: World, review: Review, action: str, actor: Actor, **extra: Any) -> None:
    """Announce a change of a review; webhooks write states in small letters."""
    payload = {
        "action": action,
        "review": review_in_timeline(review, Render(world)),
        "pull_request": Render(world).pull(review.pull),
    } | extra
    announce(world, review.pull.repo, "pull_request_review", payload, actor)


def tell_comment(world: World, comment: ReviewComment, action: str, actor: Actor, **extra: Any) -> None:
    """Announce a change of a comment on a line."""
    pull = comment.thread.pull
    payload = {
        "action": action,
        "comment": show_review_comment(comment, Render(world)),
        "pull_request": Render(world).pull(pull),
    }
    announce(world, pull.repo, "pull_request_review_comment", payload | extra, actor)


def unprocessable(reason: str) -> ApiError:
    """422 in the form reviews have."""
    return ApiError(422, "Unprocessable Entity", [reason])
