"""Git objects by REST: blobs, trees, commits, annotated tags."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import pygit2

from app.emulator.clock import from_stamp
from app.emulator.errors import ApiError, no_sha, not_found
from app.emulator.ids import node_id
from app.emulator.render_repositories import signature
from app.emulator.repos import GitRepo, TreeEntry, is_oid
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Body, Request, Response
from app.emulator.state import Repository

_MODES = {"100644": "blob", "100755": "blob", "040000": "tree", "160000": "commit", "120000": "blob"}
_TREE_LIMIT = 100_000


def _writable(request: Request, owner: str, repo: str) -> Repository:
    found = open_repo(request, owner, repo, "write", "contents")
    check_not_empty(found)
    return found


def check_not_empty(repo: Repository) -> None:
    """Refuse the git database of a repository without commits, to readers too (docs.github.com, "Using the REST API
    to interact with your Git database"; 409 of every operation on it in OpenAPI). Raises 409."""
    if repo.git.is_empty():
        raise ApiError(409, "Git Repository is empty.")


def _readable(request: Request, owner: str, repo: str) -> Repository:
    found = open_repo(request, owner, repo, "read", "contents")
    check_not_empty(found)
    return found


@routes.add("POST", "/repos/{owner}/{repo}/git/blobs")
def create_blob(request: Request, owner: str, repo: str) -> Response:
    found = _writable(request, owner, repo)
    body = request.body
    data = decode_content(body.need("content", str), body.get("encoding", str, "utf-8"))
    sha = found.git.write_blob(data)
    return Response.json({"sha": sha, "url": f"{request.base_url}/repos/{found.full_name}/git/blobs/{sha}"}, 201)


def decode_content(content: str, encoding: str) -> bytes:
    """The bytes of a blob's content. Raises 422."""
    if encoding == "utf-8":
        return content.encode()
    try:
        return base64.b64decode(content)
    except (binascii.Error, ValueError):
        raise ApiError(422, "content is not valid Base64") from None


@routes.add("GET", "/repos/{owner}/{repo}/git/blobs/{sha}")
def blob(request: Request, owner: str, repo: str, sha: str) -> Response:
    found = _readable(request, owner, repo)
    if not is_oid(sha):
        raise no_sha("sha")
    if found.git.kind(sha) != "blob":
        raise not_found()
    data = bytes(found.git.object(sha).data)
    if "raw" in request.headers.get("accept", ""):
        return Response(200, data, {"content-type": "application/vnd.github.raw; charset=utf-8"})
    return Response.json(
        {
            "sha": sha,
            "node_id": node_id("B", found.id, sha),
            "size": len(data),
            "url": f"{request.base_url}/repos/{found.full_name}/git/blobs/{sha}",
            "content": base64.encodebytes(data).decode(),
            "encoding": "base64",
        }
    )


@routes.add("POST", "/repos/{owner}/{repo}/git/trees")
def create_tree(request: Request, owner: str, repo: str) -> Response:
    found = _writable(request, owner, repo)
    body = request.body
    base = body.maybe("base_tree", str)
    if base is not None and found.git.kind(base) not in ("tree", "commit"):
        raise ApiError(422, "base_tree is not a valid tree oid")
    entries = [_tree_entry(found.git, item) for item in body.need("tree", list)]
    try:
        sha = found.git.write_tree(base, entries)
    except (KeyError, ValueError, pygit2.GitError):
        raise ApiError(422, "GitRPC::BadObjectState") from None
    return Response.json(_tree(request, found, sha, recursive=False), 201)


def _tree_entry(git: GitRepo, item: Any) -> TreeEntry:
    if not isinstance(item, dict):
        raise ApiError(422, "Invalid tree info")
    path, mode, kind = item.get("path"), item.get("mode"), item.get("type")
    if isinstance(path, str) and path.startswith("/"):
        raise ApiError(422, "tree.path cannot start with a slash")
    if not isinstance(path, str) or not path or ".." in path.split("/"):
        raise ApiError(422, "tree.path contains a malformed path component")
    if "content" not in item and "sha" in item and item["sha"] is None:
        return TreeEntry(path, None)
    if mode not in _MODES:
        raise ApiError(422, f"Must supply a valid tree.mode: {mode!r}")
    if kind is not None and kind != _MODES[mode]:
        raise ApiError(422, "tree.type does not match tree.mode")
    if isinstance(item.get("content"), str):
        return TreeEntry(path, git.write_blob(item["content"].encode()), int(mode, 8))
    sha = item.get("sha")
    if not isinstance(sha, str) or not is_oid(sha):
        raise ApiError(422, "tree.sha is not a valid SHA")
    if mode != "160000" and git.kind(sha) != _MODES[mode]:
        raise ApiError(422, f"tree.sha {sha} is not a valid {_MODES[mode]}")
    return TreeEntry(path, sha, int(mode, 8))


@routes.add("GET", "/repos/{owner}/{repo}/git/trees/{name*}")
def tree(request: Request, owner: str, repo: str, name: str) -> Response:
    found = _readable(request, owner, repo)
    target = name if found.git.kind(name) is not None else found.git.resolve_commit(name)
    if target is None or found.git.kind(target) not in ("tree", "commit", "tag"):
        raise not_found()
    return Response.json(_tree(request, found, target, recursive="recursive" in request.query))


def _tree(request: Request, repo: Repository, oid: str, *, recursive: bool) -> dict[str, Any]:
    top = repo.git.object(oid).peel(pygit2.Tree)
    api = f"{request.base_url}/repos/{repo.full_name}/git"
    entries: list[dict[str, Any]] = []

    def add(node: Any, prefix: str) -> None:
        for entry in node:
            shown = {
                "path": prefix + entry.name,
                "mode": f"{int(entry.filemode):06o}",
                "type": entry.type_str,
                "sha": str(entry.id),
                "url": f"{api}/{entry.type_str}s/{entry.id}",
            }
            if entry.type_str == "blob":
                shown["size"] = entry.size
            entries.append(shown)
            if recursive and entry.type_str == "tree":
                add(repo.git.object(str(entry.id)), f"{prefix}{entry.name}/")

    add(top, "")
    return {
        "sha": str(top.id),
        "url": f"{api}/trees/{top.id}",
        "tree": entries[:_TREE_LIMIT],
        "truncated": len(entries) > _TREE_LIMIT,
    }


@routes.add("POST", "/repos/{owner}/{repo}/git/commits")
def create_commit(request: Request, owner: str, repo: str) -> Response:
    found = _writable(request, owner, repo)
    body = request.body
    body.need_all("message", "tree")
    tree_sha, parents = body.need("tree", str), body.get("parents", list, [])
    if not is_oid(tree_sha):
        raise no_sha("tree")
    if not all(is_oid(parent) for parent in parents):
        words = "Each SHA in the 'parents' parameter must be exactly 40 characters and contain only [0-9a-f]."
        raise ApiError(422, words)
    if found.git.kind(tree_sha) != "tree":
        raise ApiError(422, "Tree SHA does not exist")
    for parent in parents:
        if found.git.kind(parent) != "commit":
            raise ApiError(422, "Parent SHA does not exist or is not a commit object")
    author = read_signature(request, body.maybe("author", dict))
    committer = read_signature(request, body.maybe("committer", dict)) if "committer" in body else author
    sha = found.git.write_commit(tree_sha, parents, body.need("message", str), author, committer)
    sign_for_app(request, sha)
    return Response.json(render(request).git_commit(found, sha), 201)


def sign_for_app(request: Request, sha: str) -> None:
    """GitHub signs what an App commits by API in its own name ("Signature verification for bots")."""
    named = {"author", "committer", "signature"} & request.body.data.keys()
    if request.identity.installation is not None and not named:
        request.world.signed.add(sha)


def read_signature(request: Request, given: dict[str, Any] | None) -> pygit2.Signature:
    """A signature from the request, or that of the caller at the present time. Raises 422."""
    account = request.identity.account
    fields = Body(b"")
    fields.data = given or {}
    name = fields.need("name", str) if given else account.login
    email = fields.need("email", str) if given else account.email
    try:
        date = fields.maybe("date", str)
        moment = from_stamp(date) if date else request.world.clock.now()
        return pygit2.Signature(name, email, int(moment), 0)
    except (ValueError, pygit2.GitError):
        raise ApiError(422, "Invalid request.\n\nThe author or committer is not valid.") from None


@routes.add("GET", "/repos/{owner}/{repo}/git/commits/{sha}")
def get_commit(request: Request, owner: str, repo: str, sha: str) -> Response:
    found = _readable(request, owner, repo)
    if found.git.kind(sha) != "commit":
        raise not_found()
    return Response.json(render(request).git_commit(found, sha))


@routes.add("POST", "/repos/{owner}/{repo}/git/tags")
def create_tag(request: Request, owner: str, repo: str) -> Response:
    found = _writable(request, owner, repo)
    body = request.body
    body.need_all("tag", "message", "object", "type")
    target, kind = body.need("object", str), body.need("type", str)
    if found.git.kind(target) != kind:
        raise ApiError(422, "Object does not exist")
    tagger = read_signature(request, body.maybe("tagger", dict))
    name, message = body.need("tag", str), body.need("message", str)
    text = (
        f"object {target}\ntype {kind}\ntag {name}\n"
        f"tagger {tagger.name} <{tagger.email}> {tagger.time} +0000\n\n{message}"
    )
    sha = str(found.git.pg.odb.write(pygit2.enums.ObjectType.TAG, text.encode()))
    return Response.json(_tag(request, found, sha), 201)


@routes.add("GET", "/repos/{owner}/{repo}/git/tags/{sha}")
def get_tag(request: Request, owner: str, repo: str, sha: str) -> Response:
    found = _readable(request, owner, repo)
    if found.git.kind(sha) != "tag":
        raise not_found()
    return Response.json(_tag(request, found, sha))


def _tag(request: Request, repo: Repository, sha: str) -> dict[str, Any]:
    tag = repo.git.object(sha)
    api = f"{request.base_url}/repos/{repo.full_name}/git"
    kind = repo.git.kind(str(tag.target))
    return {
        "sha": sha,
        "node_id": node_id("TA", repo.id, sha),
        "url": f"{api}/tags/{sha}",
        "tag": tag.name,
        "message": tag.message,
        "tagger": signature(tag.tagger) if tag.tagger else None,
        "object": {"sha": str(tag.target), "type": kind, "url": f"{api}/{kind}s/{tag.target}"},
        "verification": {
            "verified": False,
            "reason": "unsigned",
            "signature": None,
            "payload": None,
            "verified_at": None,
        },
    }
