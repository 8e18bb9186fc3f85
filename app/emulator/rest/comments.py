"""Comments on Issues and pull requests."""

from __future__ import annotations

from app.emulator.acts import comments as acts
from app.emulator.auth import at_least
from app.emulator.errors import ApiError, not_found
from app.emulator.rest.table import find_issue, open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import Comment, Repository


@routes.add("GET", "/repos/{owner}/{repo}/issues/{number:int}/comments")
def comments(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    listed = find_issue(request, found, number).comments
    if request.query.get("since"):
        listed = [c for c in listed if c.updated_at >= request.query["since"]]
    return paginated(request, listed, render(request).comment)


@routes.add("GET", "/repos/{owner}/{repo}/issues/comments")
def all_comments(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "issues", "pull_requests")
    since = request.query.get("since", "")
    listed = [c for i in found.issues.values() for c in i.comments if c.updated_at >= since]
    by_update = request.query.get("sort") == "updated"
    listed.sort(
        key=lambda c: (c.updated_at if by_update else "", c.id), reverse=request.query.get("direction") == "desc"
    )
    return paginated(request, listed, render(request).comment)


@routes.add("POST", "/repos/{owner}/{repo}/issues/{number:int}/comments")
def create_comment(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    # Whoever can read may comment; an App needs the permission.
    level = "write" if request.identity.installation is not None else "read"
    issue = find_issue(request, found, number, level)
    actor = request.identity.actor
    if found.archived:
        raise ApiError(403, "Repository was archived so is read-only.")
    body = request.body.need("body", str)
    comment = acts.add_comment(request.world, issue, actor, body)
    return Response.json(render(request).comment(comment), 201)


def find_comment(request: Request, owner: str, repo: str, comment_id: str) -> tuple[Repository, Comment]:
    """A comment of the repository and the repository, or 404."""
    found = open_repo(request, owner, repo, "read")
    comment = request.world.comments.get(int(comment_id))
    if comment is None or comment.issue.repo is not found:
        raise not_found()
    find_issue(request, found, str(comment.issue.number))
    return found, comment


def _may_change(request: Request, repo: Repository, comment: Comment) -> None:
    identity = request.identity
    if identity.installation is not None:
        # An App with the permission may change any comment, as anybody with write access can.
        find_issue(request, repo, str(comment.issue.number), "write")
    elif comment.author is not identity.account and not at_least(repo.role_of(identity.user), "write"):
        raise ApiError(403, "Must have admin rights to Repository.")


@routes.add("GET", "/repos/{owner}/{repo}/issues/comments/{comment_id:int}")
def comment(request: Request, owner: str, repo: str, comment_id: str) -> Response:
    return Response.json(render(request).comment(find_comment(request, owner, repo, comment_id)[1]))


@routes.add("PATCH", "/repos/{owner}/{repo}/issues/comments/{comment_id:int}")
def change_comment(request: Request, owner: str, repo: str, comment_id: str) -> Response:
    found, target = find_comment(request, owner, repo, comment_id)
    _may_change(request, found, target)
    acts.edit_comment(request.world, target, request.identity.actor, request.body.need("body", str))
    return Response.json(render(request).comment(target))


@routes.add("DELETE", "/repos/{owner}/{repo}/issues/comments/{comment_id:int}")
def delete_comment(request: Request, owner: str, repo: str, comment_id: str) -> Response:
    found, target = find_comment(request, owner, repo, comment_id)
    _may_change(request, found, target)
    acts.delete_comment(request.world, target, request.identity.actor)
    return Response(204)
