"""Conversations on lines of a pull request's diff."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.comments import check_unlocked
from app.emulator.acts.events import announce
from app.emulator.acts.issue_events import touch
from app.emulator.acts.reviews import begin_review, pending_review, submit_review, tell_comment
from app.emulator.acts.texts import check_comment
from app.emulator.errors import ApiError
from app.emulator.guard_state import Review, ReviewComment, ReviewThread
from app.emulator.render import Render
from app.emulator.render_reviews import show_review_comment
from app.emulator.state import Actor, PullRequest
from app.emulator.world import World


def open_thread(
    world: World, review: Review, actor: Actor, *, body: str, path: str, line: int, side: str
) -> ReviewComment:
    """Begin a conversation within a pending review. Raises 422 when the line is not part of the diff."""
    check_comment(world, review.pull.repo, body)
    hunk = diff_hunk(review.pull, path, line, side)
    if hunk is None:
        raise ApiError(422, "Unprocessable Entity", ["Line could not be resolved"])
    thread = ReviewThread(world.ids.next("review_thread"), review.pull, path, line, side)
    review.pull.threads.append(thread)
    return _add(world, thread, review, actor, body, hunk)


def comment_on_line(
    world: World, pull: PullRequest, actor: Actor, *, body: str, path: str, line: int, side: str, commit: str
) -> ReviewComment:
    """Begin a conversation outside of any review: GitHub makes a review of its own for it. Raises 403 and 422."""
    check_unlocked(pull, actor, "create")
    check_comment(world, pull.repo, body)
    if diff_hunk(pull, path, line, side) is None:
        fields = {"line": "custom", "diff_hunk": "missing_field"}
        errors: list[Any] = [
            {"resource": "PullRequestReviewComment", "code": code, "field": f"pull_request_review_thread.{name}"}
            for name, code in fields.items()
        ]
        errors[0]["message"] = "pull_request_review_thread.line must be part of the diff"
        raise ApiError(422, "Validation Failed", errors)
    if pending_review(pull, actor.account) is not None:
        reason = {
            "resource": "PullRequestReview",
            "code": "custom",
            "field": "user_id",
            "message": "user_id can only have one pending review per pull request",
        }
        raise ApiError(422, "Validation Failed", [reason])
    review = begin_review(world, pull, actor, "", commit)
    comment = open_thread(world, review, actor, body=body, path=path, line=line, side=side)
    submit_review(world, review, "COMMENT", None, actor)
    return comment


def reply(world: World, first: ReviewComment, actor: Actor, body: str) -> ReviewComment:
    """Answer in a conversation. Raises 403 and 422."""
    check_unlocked(first.thread.pull, actor, "create")
    check_comment(world, first.thread.pull.repo, body)
    thread = first.thread
    review = begin_review(world, thread.pull, actor, "", None)
    comment = _add(world, thread, review, actor, body, first.diff_hunk)
    submit_review(world, review, "COMMENT", None, actor)
    return comment


def edit_comment(world: World, comment: ReviewComment, body: str, actor: Actor) -> None:
    """Change the text of a comment."""
    check_comment(world, comment.thread.pull.repo, body)
    if body != comment.body:
        changes = {"body": {"from": comment.body}}
        comment.body, comment.updated_at = body, world.clock.stamp()
        tell_comment(world, comment, "edited", actor, changes=changes)


def delete_comment(world: World, comment: ReviewComment, actor: Actor) -> None:
    """Remove a comment; a conversation without comments is gone."""
    thread = comment.thread
    thread.comments.remove(comment)
    if not thread.comments:
        thread.pull.threads.remove(thread)
    tell_comment(world, comment, "deleted", actor)


def resolve(world: World, thread: ReviewThread, actor: Actor, *, resolved: bool) -> None:
    """Mark a conversation as resolved, or as open again; no change raises no event."""
    if (thread.resolved_by is not None) == resolved:
        return
    thread.resolved_by = actor.account if resolved else None
    touch(world, thread.pull)
    render = Render(world)
    payload = {
        "action": "resolved" if resolved else "unresolved",
        "thread": {"node_id": thread.node_id, "comments": [show_review_comment(c, render) for c in thread.comments]},
        "pull_request": _as_threads_show_it(render.pull(thread.pull)),
    }
    announce(world, thread.pull.repo, "pull_request_review_thread", payload, actor)


def _as_threads_show_it(pull: dict[str, Any]) -> dict[str, Any]:
    """This event describes repositories without the newer settings of commit messages."""
    for side in ("head", "base"):
        for name in ("squash_merge_commit", "merge_commit"):
            for part in ("title", "message"):
                (pull[side]["repo"] or {}).pop(f"{name}_{part}", None)
    return pull


def find_comment(pull: PullRequest, number: int) -> ReviewComment | None:
    """A comment on a line by its id, if it is submitted."""
    return next((c for t in pull.threads for c in t.comments if c.id == number), None)


def diff_hunk(pull: PullRequest, path: str, line: int, side: str) -> str | None:
    """The part of the diff that ends with a line of a file, or None when the diff does not show that line."""
    git = pull.repo.git
    start = git.merge_base(pull.base_sha, pull.head_sha)
    for patch in git.diff(start, pull.head_sha) if start is not None else ():
        if patch.delta.new_file.path != path:
            continue
        for hunk in patch.hunks:
            shown = [hunk.header.rstrip("\n")]
            for entry in hunk.lines:
                shown.append(entry.origin + entry.content.rstrip("\n"))
                if line == (entry.new_lineno if side == "RIGHT" else entry.old_lineno):
                    return "\n".join(shown)
    return None


def line_at(pull: PullRequest, path: str, position: int) -> tuple[int, str]:
    """The line and side that a position names: so many lines below the file's first hunk header, later headers
    counted. Raises 422 when the diff is shorter."""
    git = pull.repo.git
    start = git.merge_base(pull.base_sha, pull.head_sha)
    for patch in git.diff(start, pull.head_sha) if start is not None else ():
        if patch.delta.new_file.path == path:
            rows = [row for hunk in patch.hunks for row in (None, *hunk.lines)]
            row = rows[position] if 0 < position < len(rows) else None
            if row is not None:
                return (row.old_lineno, "LEFT") if row.origin == "-" else (row.new_lineno, "RIGHT")
    raise ApiError(422, "Unprocessable Entity", ["Pull request review thread position is invalid"])


def is_outdated(thread: ReviewThread) -> bool:
    """Does the present diff no longer show the line as it was commented on?"""
    now = diff_hunk(thread.pull, thread.path, thread.line, thread.side) if thread.line is not None else None
    return now is None or now.rpartition("\n")[2] != thread.comments[0].diff_hunk.rpartition("\n")[2]


def _add(world: World, thread: ReviewThread, review: Review, actor: Actor, body: str, hunk: str) -> ReviewComment:
    now = world.clock.stamp()
    comment = ReviewComment(
        id=world.ids.next("review_comment"),
        thread=thread,
        review=review,
        author=actor.account,
        app=actor.app,
        body=body,
        commit_id=review.commit_id,
        diff_hunk=hunk,
        created_at=now,
        updated_at=now,
    )
    thread.comments.append(comment)
    return comment
