"""Commit statuses."""

from __future__ import annotations

from app.emulator.acts import statuses as acts
from app.emulator.acts.required_checks import latest_statuses
from app.emulator.errors import ApiError, not_found
from app.emulator.repos import is_oid
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response, page_bounds, paginated
from app.emulator.state import Repository


def _commit(repo: Repository, name: str) -> str:
    """The commit a name stands for; unlike those of check-runs, these endpoints answer 404 where there is none."""
    sha = repo.git.resolve_commit(name)
    if sha is None:
        raise not_found()
    return sha


@routes.add("GET", "/repos/{owner}/{repo}/commits/{ref*}/status")
def combined_status(request: Request, owner: str, repo: str, ref: str) -> Response:
    found = open_repo(request, owner, repo, "read", "statuses")
    sha = _commit(found, ref)
    statuses = latest_statuses(found, sha)
    shown = render(request)
    page, size = page_bounds(request)
    return Response.json(
        {
            "state": acts.combined_state(statuses),
            "sha": sha,
            "total_count": len(statuses),
            "statuses": [
                {k: v for k, v in shown.status(s).items() if k != "creator"}
                for s in statuses[(page - 1) * size : page * size]
            ],
            "repository": shown.minimal_repository(found),
            "url": f"{request.base_url}/repos/{found.full_name}/commits/{sha}/status",
            "commit_url": f"{request.base_url}/repos/{found.full_name}/commits/{sha}",
        }
    )


# The second path is where `statuses_url` of repositories and pull requests leads.
@routes.add("GET", "/repos/{owner}/{repo}/commits/{ref*}/statuses")
@routes.add("GET", "/repos/{owner}/{repo}/statuses/{ref*}")
def statuses(request: Request, owner: str, repo: str, ref: str) -> Response:
    found = open_repo(request, owner, repo, "read", "statuses")
    sha = _commit(found, ref)
    listed = [s for s in reversed(found.statuses) if s.sha == sha]
    return paginated(request, listed, render(request).status)


@routes.add("POST", "/repos/{owner}/{repo}/statuses/{sha}")
def create_status(request: Request, owner: str, repo: str, sha: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    open_repo(request, owner, repo, "write", "statuses")
    if not is_oid(sha):
        # renovatebot/renovate#7180
        raise acts.refused("sha", "sha must be a 40 character SHA1")
    if found.git.kind(sha) != "commit":
        raise ApiError(422, f"No commit found for SHA: {sha}")
    status = acts.add_status(request.world, found, sha, request.identity.actor, request.body)
    return Response.json(render(request).status(status), 201)
