"""Reactions on Issues and on comments."""

from __future__ import annotations

from app.emulator.acts.comments import react
from app.emulator.auth import require
from app.emulator.errors import not_found
from app.emulator.rest.comments import find_comment
from app.emulator.rest.table import find_issue, open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import Comment, Issue, Repository

_ISSUE = "/repos/{owner}/{repo}/issues/{number:int}/reactions"
_COMMENT = "/repos/{owner}/{repo}/issues/comments/{comment_id:int}/reactions"


def _issue(request: Request, owner: str, repo: str, number: str) -> tuple[Repository, Issue]:
    found = open_repo(request, owner, repo, "read")
    return found, find_issue(request, found, number)


def _create(request: Request, repo: Repository, target: Issue | Comment) -> Response:
    if request.identity.installation is not None:
        require(request.identity, repo, "write", "issues", "pull_requests")
    actor, content = request.identity.actor, request.body.need("content", str)
    reaction, new = react(request.world, target, actor, content)
    return Response.json(render(request).reaction(reaction), 201 if new else 200)


def _list(request: Request, target: Issue | Comment) -> Response:
    content = request.query.get("content")
    listed = [r for r in target.reactions if content in (None, "", r.content)]
    return paginated(request, listed, render(request).reaction)


def _delete(request: Request, target: Issue | Comment, reaction_id: str) -> Response:
    for reaction in target.reactions:
        if reaction.id == int(reaction_id) and reaction.user is request.identity.account:
            target.reactions.remove(reaction)
            return Response(204)
    raise not_found()


@routes.add("GET", _ISSUE)
def issue_reactions(request: Request, owner: str, repo: str, number: str) -> Response:
    return _list(request, _issue(request, owner, repo, number)[1])


@routes.add("POST", _ISSUE)
def create_issue_reaction(request: Request, owner: str, repo: str, number: str) -> Response:
    return _create(request, *_issue(request, owner, repo, number))


@routes.add("DELETE", _ISSUE + "/{reaction_id:int}")
def delete_issue_reaction(request: Request, owner: str, repo: str, number: str, reaction_id: str) -> Response:
    return _delete(request, _issue(request, owner, repo, number)[1], reaction_id)


@routes.add("GET", _COMMENT)
def comment_reactions(request: Request, owner: str, repo: str, comment_id: str) -> Response:
    return _list(request, find_comment(request, owner, repo, comment_id)[1])


@routes.add("POST", _COMMENT)
def create_comment_reaction(request: Request, owner: str, repo: str, comment_id: str) -> Response:
    return _create(request, *find_comment(request, owner, repo, comment_id))


@routes.add("DELETE", _COMMENT + "/{reaction_id:int}")
def delete_comment_reaction(request: Request, owner: str, repo: str, comment_id: str, reaction_id: str) -> Response:
    return _delete(request, find_comment(request, owner, repo, comment_id)[1], reaction_id)
