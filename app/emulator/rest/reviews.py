"""Reviews and requested reviewers. Anybody who may read may review; an App needs Pull requests: write."""

from __future__ import annotations

from app.emulator.acts import reviews as acts
from app.emulator.acts.review_comments import line_at, open_thread
from app.emulator.acts.reviewers import remove_reviewers, request_reviewers
from app.emulator.auth import require
from app.emulator.errors import ApiError, not_found
from app.emulator.guard_state import Review
from app.emulator.render_reviews import show_review, show_review_comment
from app.emulator.rest.table import accepted, find_pull, names, open_repo, render, routes, writing_level
from app.emulator.routing import Body, Request, Response, paginated
from app.emulator.state import PullRequest

_PULL = "/repos/{owner}/{repo}/pulls/{number:int}"


def writable_pull(request: Request, owner: str, repo: str, number: str) -> PullRequest:
    """A pull request this identity may review or comment on."""
    found = open_repo(request, owner, repo, writing_level(request), "pull_requests")
    request.accepted = accepted("write", ("pull_requests",))
    if request.identity.user is None:
        require(request.identity, found, "write", "pull_requests")
    return find_pull(found, number)


def _find(request: Request, pull: PullRequest, number: str) -> Review:
    for review in pull.reviews:
        if review.id == int(number):
            if review.state == "PENDING" and review.author is not request.identity.account:
                break  # nobody else sees what is not submitted
            return review
    raise not_found()


def _shown(request: Request, review: Review) -> dict[str, object]:
    return show_review(review, render(request))


@routes.add("GET", _PULL + "/reviews")
def reviews(request: Request, owner: str, repo: str, number: str) -> Response:
    pull = find_pull(open_repo(request, owner, repo, "read", "pull_requests"), number)
    me = request.identity.account if request.identity.token is not None else None
    listed = [r for r in pull.reviews if r.state != "PENDING" or r.author is me]
    return paginated(request, listed, lambda r: _shown(request, r))


@routes.add("POST", _PULL + "/reviews")
def create_review(request: Request, owner: str, repo: str, number: str) -> Response:
    pull = writable_pull(request, owner, repo, number)
    world, actor, body = request.world, request.identity.actor, request.body
    event, text = body.get("event", str, "PENDING"), body.get("body", str, "")
    comments = [_draft(c) for c in body.get("comments", list, [])]
    if event != "PENDING":
        acts.check_event(pull, event, actor, text, comments=bool(comments))
    review = acts.begin_review(world, pull, actor, text, body.maybe("commit_id", str))
    try:
        for draft in comments:
            side, path = draft.get("side", str, "RIGHT"), draft.need("path", str)
            if "line" in draft or "position" not in draft:
                line = draft.need("line", int)
            else:
                line, side = line_at(pull, path, draft.need("position", int))
            open_thread(world, review, actor, body=draft.need("body", str), path=path, line=line, side=side)
    except ApiError:
        acts.delete_review(review)
        raise
    if event != "PENDING":
        acts.submit_review(world, review, event, None, actor)
    return Response.json(_shown(request, review))


def _draft(given: object) -> Body:
    if not isinstance(given, dict):
        raise ApiError(422, "Invalid request.\n\nFor 'items', an object was expected.")
    body = Body(b"")
    body.data = given
    return body


@routes.add("GET", _PULL + "/reviews/{review:int}")
def one_review(request: Request, owner: str, repo: str, number: str, review: str) -> Response:
    pull = find_pull(open_repo(request, owner, repo, "read", "pull_requests"), number)
    return Response.json(_shown(request, _find(request, pull, review)))


@routes.add("PUT", _PULL + "/reviews/{review:int}")
def edit_review(request: Request, owner: str, repo: str, number: str, review: str) -> Response:
    target = _own(request, owner, repo, number, review)
    acts.edit_review(request.world, target, request.body.need("body", str), request.identity.actor)
    return Response.json(_shown(request, target))


@routes.add("DELETE", _PULL + "/reviews/{review:int}")
def delete_review(request: Request, owner: str, repo: str, number: str, review: str) -> Response:
    target = _own(request, owner, repo, number, review)
    shown = _shown(request, target)
    acts.delete_review(target)
    return Response.json(shown)


@routes.add("POST", _PULL + "/reviews/{review:int}/events")
def submit_review(request: Request, owner: str, repo: str, number: str, review: str) -> Response:
    target = _own(request, owner, repo, number, review)
    body = request.body
    acts.submit_review(request.world, target, body.need("event", str), body.maybe("body", str), request.identity.actor)
    return Response.json(_shown(request, target))


def _own(request: Request, owner: str, repo: str, number: str, review: str) -> Review:
    target = _find(request, writable_pull(request, owner, repo, number), review)
    if target.author is not request.identity.account:
        raise ApiError(403, "Must be the author of the review.")
    return target


@routes.add("PUT", _PULL + "/reviews/{review:int}/dismissals")
def dismiss_review(request: Request, owner: str, repo: str, number: str, review: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    require(request.identity, found, "write", "pull_requests")
    target = _find(request, find_pull(found, number), review)
    acts.dismiss_review(request.world, target, request.body.need("message", str), request.identity.actor)
    return Response.json(_shown(request, target))


@routes.add("GET", _PULL + "/reviews/{review:int}/comments")
def comments_of_review(request: Request, owner: str, repo: str, number: str, review: str) -> Response:
    pull = find_pull(open_repo(request, owner, repo, "read", "pull_requests"), number)
    listed = acts.comments_of(_find(request, pull, review))
    return paginated(request, listed, lambda c: show_review_comment(c, render(request)))


@routes.add("GET", _PULL + "/requested_reviewers")
def requested(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "pull_requests")
    people = find_pull(found, number).requested_reviewers
    return Response.json({"users": [render(request).account(a) for a in people], "teams": []})


def _asked(request: Request, owner: str, repo: str, number: str) -> PullRequest:
    found = open_repo(request, owner, repo, "write", "pull_requests")
    if request.body.get("team_reviewers", list, []):
        raise ApiError(501, "The emulator does not serve teams yet")
    return find_pull(found, number)


@routes.add("POST", _PULL + "/requested_reviewers")
def request_people(request: Request, owner: str, repo: str, number: str) -> Response:
    target = _asked(request, owner, repo, number)
    people = [request.world.account(n) for n in names(request.body.get("reviewers", list, []))]
    request_reviewers(request.world, target, people, request.identity.actor)
    return Response.json(render(request).pull(target), 201)


@routes.add("DELETE", _PULL + "/requested_reviewers")
def unrequest_people(request: Request, owner: str, repo: str, number: str) -> Response:
    target = _asked(request, owner, repo, number)
    people = [request.world.account(n) for n in names(request.body.need("reviewers", list))]
    remove_reviewers(request.world, target, [p for p in people if p is not None], request.identity.actor)
    return Response.json(render(request).pull(target))
