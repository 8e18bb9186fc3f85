"""Comments on lines of a pull request."""

from __future__ import annotations

from app.emulator.acts import review_comments as acts
from app.emulator.auth import require
from app.emulator.errors import ApiError, not_found
from app.emulator.guard_state import ReviewComment
from app.emulator.render_reviews import show_review_comment
from app.emulator.rest.reviews import writable_pull
from app.emulator.rest.table import find_pull, open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import PullRequest

_PULL = "/repos/{owner}/{repo}/pulls/{number:int}"


def _visible(pull: PullRequest) -> list[ReviewComment]:
    return sorted((c for t in pull.threads for c in t.comments if c.review.state != "PENDING"), key=lambda c: c.id)


def _shown(request: Request, comment: ReviewComment) -> dict[str, object]:
    return show_review_comment(comment, render(request))


@routes.add("GET", _PULL + "/comments")
def comments(request: Request, owner: str, repo: str, number: str) -> Response:
    pull = find_pull(open_repo(request, owner, repo, "read", "pull_requests"), number)
    return paginated(request, _visible(pull), lambda c: _shown(request, c))


@routes.add("POST", _PULL + "/comments")
def create_comment(request: Request, owner: str, repo: str, number: str) -> Response:
    pull = writable_pull(request, owner, repo, number)
    body, actor = request.body, request.identity.actor
    if body.data.get("in_reply_to") is not None:
        return _reply(request, pull, body.need("in_reply_to", int))
    if body.get("subject_type", str, "line") != "line":
        raise ApiError(501, "The emulator does not serve comments on whole files yet")
    comment = acts.comment_on_line(
        request.world,
        pull,
        actor,
        body=body.need("body", str),
        path=body.need("path", str),
        line=body.need("line", int),
        side=body.get("side", str, "RIGHT"),
        commit=body.need("commit_id", str),
    )
    return Response.json(_shown(request, comment), 201)


@routes.add("POST", _PULL + "/comments/{comment:int}/replies")
def create_reply(request: Request, owner: str, repo: str, number: str, comment: str) -> Response:
    return _reply(request, writable_pull(request, owner, repo, number), int(comment))


def _reply(request: Request, pull: PullRequest, number: int) -> Response:
    first = acts.find_comment(pull, number)
    if first is None:
        raise not_found()
    made = acts.reply(request.world, first, request.identity.actor, request.body.need("body", str))
    return Response.json(_shown(request, made), 201)


def _find(request: Request, owner: str, repo: str, number: str) -> ReviewComment:
    found = open_repo(request, owner, repo, "read", "pull_requests")
    for pull in found.pulls():
        comment = acts.find_comment(pull, int(number))
        if comment is not None and comment.review.state != "PENDING":
            return comment
    raise not_found()


@routes.add("GET", "/repos/{owner}/{repo}/pulls/comments/{comment:int}")
def comment(request: Request, owner: str, repo: str, comment: str) -> Response:
    return Response.json(_shown(request, _find(request, owner, repo, comment)))


def _changeable(request: Request, owner: str, repo: str, number: str) -> ReviewComment:
    target = _find(request, owner, repo, number)
    if target.author is not request.identity.account or request.identity.installation is not None:
        require(request.identity, target.thread.pull.repo, "write", "pull_requests")
    return target


@routes.add("PATCH", "/repos/{owner}/{repo}/pulls/comments/{comment:int}")
def change_comment(request: Request, owner: str, repo: str, comment: str) -> Response:
    target = _changeable(request, owner, repo, comment)
    acts.edit_comment(request.world, target, request.body.need("body", str), request.identity.actor)
    return Response.json(_shown(request, target))


@routes.add("DELETE", "/repos/{owner}/{repo}/pulls/comments/{comment:int}")
def delete_comment(request: Request, owner: str, repo: str, comment: str) -> Response:
    acts.delete_comment(request.world, _changeable(request, owner, repo, comment), request.identity.actor)
    return Response(204)
