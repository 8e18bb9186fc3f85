"""Commits and comparisons."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from app.emulator.acts.forks import fetch_head, network
from app.emulator.associations import pulls_with_commit
from app.emulator.errors import ApiError, not_found
from app.emulator.rest.git_data import check_not_empty
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response, page_bounds, paginated
from app.emulator.state import Repository

_FILE_LIMIT = 300
_STATUS = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "T": "changed", "C": "copied"}


@routes.add("GET", "/repos/{owner}/{repo}/commits")
def commits(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    check_not_empty(found)
    start = found.git.resolve_commit(request.query.get("sha") or found.default_branch)
    if start is None:
        raise not_found()
    shas = found.git.log(
        start,
        path=request.query.get("path"),
        since=request.query.get("since"),
        until=request.query.get("until"),
        author=request.query.get("author"),
    )
    return paginated(request, shas, lambda s: render(request).commit(found, s))


@routes.add("GET", "/repos/{owner}/{repo}/commits/{sha}/pulls")
def pulls_of_commit(request: Request, owner: str, repo: str, sha: str) -> Response:
    found = open_repo(request, owner, repo, "read", "pull_requests")
    oid = found.git.resolve_commit(sha)
    if oid is None:
        raise ApiError(422, f"No commit found for SHA: {sha}")
    return paginated(request, pulls_with_commit(found, oid), render(request).pull)


@routes.add("GET", "/repos/{owner}/{repo}/commits/{name*}")
def commit(request: Request, owner: str, repo: str, name: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    check_not_empty(found)
    sha = found.git.resolve_commit(name)
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {name}")
    if "sha" in request.headers.get("accept", "").rpartition(".")[2]:
        return Response(200, sha.encode(), {"content-type": "application/vnd.github.sha; charset=utf-8"})
    parents = found.git.commit(sha).parent_ids
    files = changed_files(request, found, str(parents[0]), sha) if parents else []
    shown = render(request).commit(found, sha) | {
        "stats": {
            "additions": sum(f["additions"] for f in files),
            "deletions": sum(f["deletions"] for f in files),
            "total": sum(f["changes"] for f in files),
        },
        "files": files,
    }
    return Response.json(shown)


@routes.add("GET", "/repos/{owner}/{repo}/compare/{basehead*}")
def compare(request: Request, owner: str, repo: str, basehead: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    base_name, dots, head_name = basehead.partition("...")
    base = _compared(request, found, base_name) if dots else None
    head = _compared(request, found, head_name) if dots else None
    if base is None or head is None:
        raise not_found()
    merge_base = found.git.merge_base(base, head)
    if merge_base is None:
        raise ApiError(404, f"No common ancestor between {base_name} and {head_name}.")
    ahead, behind = found.git.ahead_behind(head, base)
    status = "diverged" if ahead and behind else "ahead" if ahead else "behind" if behind else "identical"
    shas = list(reversed(found.git.log(head, f"^{base}")))
    shown = render(request)
    api = f"{request.base_url}/repos/{found.full_name}/compare/{quote(basehead)}"
    site = f"{request.world.url}/{found.full_name}/compare"
    html = f"{site}/{quote(basehead)}"
    page, size = page_bounds(request, 100)
    return Response.json(
        {
            "url": api,
            "html_url": html,
            "permalink_url": f"{site}/{owner}:{base}...{owner}:{head}",
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
            "base_commit": shown.commit(found, base),
            "merge_base_commit": shown.commit(found, merge_base),
            "status": status,
            "ahead_by": ahead,
            "behind_by": behind,
            "total_commits": len(shas),
            "commits": [shown.commit(found, s) for s in shas[(page - 1) * size : page * size]],
            "files": changed_files(request, found, merge_base, head)[:_FILE_LIMIT],
        }
    )


def _compared(request: Request, repo: Repository, name: str) -> str | None:
    """A commit by the name of a branch, tag or SHA; ``owner:name`` looks into another repository of the network."""
    owner, colon, rest = name.rpartition(":")
    if not colon or owner.lower() == repo.owner.login.lower():
        return repo.git.resolve_commit(rest)
    theirs = (r for r in network(request.world, repo) if r.owner.login.lower() == owner.lower())
    home = next((r for r in theirs if request.identity.sees(r)), None)
    sha = home.git.resolve_commit(rest) if home is not None else None
    if home is not None and sha is not None:
        fetch_head(repo, home, sha)
    return sha


def changed_files(request: Request, repo: Repository, base: str, head: str) -> list[dict[str, Any]]:
    """The files that differ between two commits, as GitHub lists them."""
    files: list[dict[str, Any]] = []
    html, api = f"{request.world.url}/{repo.full_name}", f"{request.base_url}/repos/{repo.full_name}"
    for patch in repo.git.diff(base, head):
        delta = patch.delta
        _, additions, deletions = patch.line_stats
        shown = {
            "sha": str(delta.new_file.id) if delta.status_char() != "D" else str(delta.old_file.id),
            "filename": delta.new_file.path,
            "status": _STATUS.get(delta.status_char(), "modified"),
            "additions": additions,
            "deletions": deletions,
            "changes": additions + deletions,
            "blob_url": f"{html}/blob/{head}/{quote(delta.new_file.path)}",
            "raw_url": f"{html}/raw/{head}/{quote(delta.new_file.path)}",
            "contents_url": f"{api}/contents/{quote(delta.new_file.path)}?ref={head}",
        }
        if delta.status_char() == "R":
            shown["previous_filename"] = delta.old_file.path
        if not delta.is_binary:
            shown["patch"] = patch.text.partition("@@")[1] + patch.text.partition("@@")[2]
        files.append(shown)
    return files
