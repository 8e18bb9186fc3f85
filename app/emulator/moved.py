"""Old names of repositories and the paths by id that lead to them; Issues that went to another repository.

GitHub answers a read under an old name with 301 and any other request with 307, each leading to
``/repositories/{id}/…`` (docs.github.com, "Best practices for using the REST API", Follow redirects). The body of a
307 could not be checked against GitHub; it is that of the 301.
"""

from __future__ import annotations

from app.emulator.errors import ApiError, not_found
from app.emulator.routing import Request, Response
from app.emulator.state import Issue, Repository
from app.emulator.world import World

_DOCS = "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api#follow-redirects"


def by_name(world: World, segments: list[str]) -> list[str]:
    """``/repositories/{id}/…`` as ``/repos/{owner}/{repo}/…``; any other path as it is."""
    if len(segments) < 2 or segments[0] != "repositories" or not segments[1].isdigit():
        return segments
    repo = world.repos.get(int(segments[1]))
    return ["repos", *(repo.full_name.split("/") if repo is not None else ("-", "-")), *segments[2:]]


def redirection(request: Request) -> Response | None:
    """The answer to a request under a repository's old name, for whoever may see it."""
    segments = request.segments
    if len(segments) < 3 or segments[0] != "repos" or request.world.repo(segments[1], segments[2]) is not None:
        return None
    repo = request.world.moved_repo(segments[1], segments[2])
    bare_app = request.identity.app is not None and request.identity.installation is None
    if repo is None or not (bare_app or request.identity.sees(repo)):
        return None
    rest = request.path.split("/", 4)[4:]
    target = "/".join([f"{request.base_url}/repositories/{repo.id}", *rest])
    if request.query_string:
        target += f"?{request.query_string}"
    status = 301 if request.method in ("GET", "HEAD") else 307
    body = ApiError(status, "Moved Permanently").body() | {"url": target, "documentation_url": _DOCS}
    body.pop("status")
    return Response.json(body, status, {"location": target})


def gone_issue(request: Request, repo: Repository, number: int) -> Response:
    """The answer about an Issue that has left its repository. Raises 410 where it was deleted, and 404 where there was
    none or it is where this identity may not look.
    """
    moved = repo.gone_issues.get(number, request)
    if moved is None:
        raise ApiError(410, "This issue was deleted")
    if not isinstance(moved, Issue) or not request.identity.sees(moved.repo):
        raise not_found()
    if moved.repo.issues.get(moved.number) is not moved:
        return gone_issue(request, moved.repo, moved.number)
    url = f"{request.base_url}/repositories/{moved.repo.id}/issues/{moved.number}"
    body = ApiError(301, "Moved Permanently").body() | {"url": url, "documentation_url": _DOCS}
    body.pop("status")
    return Response.json(body, 301, {"location": url})
