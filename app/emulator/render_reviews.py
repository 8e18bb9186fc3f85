"""How REST answers and webhooks show reviews and comments on lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from app.emulator.guard_state import Review, ReviewComment
from app.emulator.people import association

if TYPE_CHECKING:
    from app.emulator.state import Account

Json = dict[str, Any]


class Renders(Protocol):
    """What of the renderer is needed here."""

    api: str
    html: str

    def account(self, account: Account) -> Json:
        """An account."""


def _author(account: Account, render: Renders) -> Json | None:
    """Reviews and their comments name nobody where everything else names "ghost" (slapperwan/gh4a#1102,
    hub4j/github-api#771, NixOS/nixpkgs#436777)."""
    return None if account.gone else render.account(account)


def show_review(review: Review, render: Renders) -> Json:
    """A review; a pending one has no time of submission."""
    pull = review.pull
    api = f"{render.api}/repos/{pull.repo.full_name}/pulls/{pull.number}"
    html = f"{render.html}/{pull.repo.full_name}/pull/{pull.number}#pullrequestreview-{review.id}"
    shown: Json = {
        "id": review.id,
        "node_id": review.node_id,
        "user": _author(review.author, render),
        "body": review.body,
        "state": review.state,
        "html_url": html,
        "pull_request_url": api,
        "author_association": association(pull.repo, review.author),
        "_links": {"html": {"href": html}, "pull_request": {"href": api}},
        "commit_id": review.commit_id,
    }
    if review.submitted_at is not None:
        shown["submitted_at"] = review.submitted_at
    return shown


def review_in_timeline(review: Review, render: Renders) -> Json:
    """A review as an entry of a timeline, where states are written in small letters."""
    shown = show_review(review, render)
    return shown | {"state": shown["state"].lower()}


def show_review_comment(comment: ReviewComment, render: Renders) -> Json:
    """A comment on a line."""
    thread, pull = comment.thread, comment.thread.pull
    repo = f"{render.api}/repos/{pull.repo.full_name}"
    html = f"{render.html}/{pull.repo.full_name}/pull/{pull.number}#discussion_r{comment.id}"
    first = thread.comments[0] if thread.comments else comment
    position = max(1, comment.diff_hunk.count("\n"))
    shown: Json = {
        "url": f"{repo}/pulls/comments/{comment.id}",
        "pull_request_review_id": comment.review.id,
        "id": comment.id,
        "node_id": comment.node_id,
        "diff_hunk": comment.diff_hunk,
        "path": thread.path,
        "position": position,
        "original_position": position,
        "commit_id": pull.head_sha,
        "original_commit_id": comment.commit_id,
        "user": _author(comment.author, render),
        "body": comment.body,
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
        "html_url": html,
        "pull_request_url": f"{repo}/pulls/{pull.number}",
        "author_association": association(pull.repo, comment.author),
        "_links": {
            "self": {"href": f"{repo}/pulls/comments/{comment.id}"},
            "html": {"href": html},
            "pull_request": {"href": f"{repo}/pulls/{pull.number}"},
        },
        "start_line": None,
        "original_start_line": None,
        "start_side": None,
        "line": thread.line,
        "original_line": thread.line,
        "side": thread.side,
        "subject_type": "line",
        "reactions": _no_reactions(f"{repo}/pulls/comments/{comment.id}/reactions"),
    }
    if first is not comment:
        shown["in_reply_to_id"] = first.id
    return shown


def _no_reactions(url: str) -> Json:
    names = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")
    return {"url": url, "total_count": 0} | dict.fromkeys(names, 0)
