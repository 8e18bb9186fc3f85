"""Files by path: read, and write one at a time with a precondition on the blob."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

from app.emulator.acts.refs import RefRefusal, RuleRefusal, move
from app.emulator.errors import ApiError, not_found
from app.emulator.repos import ZERO, RefChange, TreeEntry
from app.emulator.rest.git_data import decode_content, read_signature, sign_for_app
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response
from app.emulator.state import Repository
from app.emulator.workflow_guard import check_path


@routes.add("GET", "/repos/{owner}/{repo}/contents")
def root_contents(request: Request, owner: str, repo: str) -> Response:
    return _show(request, owner, repo, "")


@routes.add("GET", "/repos/{owner}/{repo}/readme")
def readme(request: Request, owner: str, repo: str) -> Response:
    """The README that GitHub prefers: of `.github`, then the root, then `docs`."""
    found = open_repo(request, owner, repo, "read", "contents")
    sha = found.git.resolve_commit(request.query.get("ref") or found.default_branch)
    for folder in (".github", "", "docs") if sha is not None else ():
        tree = found.git.resolve(f"{sha}:{folder}")
        for entry in tree if tree is not None and tree.type_str == "tree" else ():
            if entry.name.lower().partition(".")[0] == "readme" and entry.type_str == "blob":
                return _show(request, owner, repo, f"{folder}/{entry.name}".lstrip("/"))
    raise not_found()


@routes.add("GET", "/repos/{owner}/{repo}/contents/{path*}")
def contents(request: Request, owner: str, repo: str, path: str) -> Response:
    return _show(request, owner, repo, path)


def _show(request: Request, owner: str, repo: str, path: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    if found.git.is_empty():
        raise ApiError(404, "This repository is empty.")
    name = request.query.get("ref") or found.default_branch
    sha = found.git.resolve_commit(name)
    if sha is None:
        raise ApiError(404, f"No commit found for the ref {name}" if request.query.get("ref") else "Not Found")
    target = found.git.resolve(f"{sha}:{path.rstrip('/')}")
    if target is None:
        raise not_found()
    if target.type_str == "tree":
        shown = [_entry(request, found, f"{path}/{e.name}".lstrip("/"), e, name) for e in target]
        return Response.json(shown)
    if "raw" in request.headers.get("accept", ""):
        return Response(200, bytes(target.data), {"content-type": "application/vnd.github.raw; charset=utf-8"})
    shown_file = _entry(request, found, path, target, name)
    encoded = base64.encodebytes(bytes(target.data)).decode()
    return Response.json(shown_file | {"content": encoded, "encoding": "base64"})


def _entry(request: Request, repo: Repository, path: str, node: Any, ref: str) -> dict[str, Any]:
    api, html = f"{request.base_url}/repos/{repo.full_name}", f"{request.world.url}/{repo.full_name}"
    kind, git_kind = ("dir", "tree") if node.type_str == "tree" else ("file", "blob")
    links = {
        "self": f"{api}/contents/{quote(path)}?ref={quote(ref)}",
        "git": f"{api}/git/{git_kind}s/{node.id}",
        "html": f"{html}/{git_kind}/{quote(ref)}/{quote(path)}",
    }
    return {
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": str(node.id),
        "size": node.size if kind == "file" else 0,
        "type": kind,
        "url": links["self"],
        "git_url": links["git"],
        "html_url": links["html"],
        "download_url": links["self"] if kind == "file" else None,
        "_links": links,
    }


@routes.add("PUT", "/repos/{owner}/{repo}/contents/{path*}")
def put_contents(request: Request, owner: str, repo: str, path: str) -> Response:
    found = open_repo(request, owner, repo, "write", "contents")
    data = decode_content(request.body.need("content", str), "base64")
    return _commit_path(request, found, path, found.git.write_blob(data))


@routes.add("DELETE", "/repos/{owner}/{repo}/contents/{path*}")
def delete_contents(request: Request, owner: str, repo: str, path: str) -> Response:
    found = open_repo(request, owner, repo, "write", "contents")
    return _commit_path(request, found, path, None)


def _commit_path(request: Request, repo: Repository, path: str, blob: str | None) -> Response:
    check_path(request.identity, repo, path)
    body = request.body
    branch = body.get("branch", str, request.query.get("branch") or repo.default_branch)
    message = body.need("message", str)
    head = repo.git.branch(branch)
    if head is None and not repo.git.is_empty():
        raise ApiError(404, f"Branch {branch} not found")
    present = repo.git.resolve(f"{head}:{path}") if head is not None else None
    given = body.get("sha", str, request.query.get("sha") or "")
    if present is None and blob is None:
        raise not_found()
    if present is not None and not given:
        raise ApiError(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    if given and (present is None or str(present.id) != given):
        raise ApiError(409, f"{path} does not match {given}")
    author = read_signature(request, body.maybe("author", dict) or body.maybe("committer", dict))
    tree = repo.git.write_tree(head, [TreeEntry(path, blob)])
    sha = repo.git.write_commit(tree, [head] if head else [], message, author, author)
    sign_for_app(request, sha)
    try:
        change = RefChange(f"refs/heads/{branch}", head or ZERO, sha)
        move(request.world, repo, [change], request.identity.actor, force=[False])
    except RuleRefusal as refusal:
        found = refusal.violations
        raise ApiError(409, found.message if found.rules else f"Could not update file: {found.message}") from refusal
    except RefRefusal as refusal:
        raise ApiError(409, f"{branch} is at another commit; try again") from refusal
    commit = render(request).git_commit(repo, sha)
    if blob is None:
        return Response.json({"content": None, "commit": commit})
    shown = _entry(request, repo, path, repo.git.object(blob), branch)
    return Response.json({"content": shown, "commit": commit}, 200 if present is not None else 201)
