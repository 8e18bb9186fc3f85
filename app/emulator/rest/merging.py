"""Merging by REST: pull requests, branches, and bringing a pull request's branch up to date."""

from __future__ import annotations

from typing import Any

from app.emulator import workflow_guard
from app.emulator.acts.branch_updates import UpdateBranch, check_update
from app.emulator.acts.merge_requests import find_request, pending_for, request_merge
from app.emulator.acts.merging import MergeOrder, merge, merge_branch
from app.emulator.acts.stacks import refuse_merge
from app.emulator.auth import require
from app.emulator.errors import ApiError, no_member, no_sha, not_found, unreadable
from app.emulator.maintainers import may_push_to
from app.emulator.repo_settings import METHODS
from app.emulator.repos import is_oid
from app.emulator.rest.table import accepted, find_pull, open_repo, render, routes
from app.emulator.routing import Body, Request, Response
from app.emulator.state import PullRequest, Repository

_ACTIONS = ("default", "direct_merge", "merge_queue")


def _one_of(body: Body, name: str, choices: tuple[str, ...], default: str) -> str:
    value = body.get(name, str, default)
    if value not in choices:
        raise unreadable(no_member(value, choices))
    return value


def _order(body: Body) -> MergeOrder:
    sha = body.maybe("sha", str)
    if sha is not None and not is_oid(sha):
        raise no_sha("sha")
    return MergeOrder(
        method=_one_of(body, "merge_method", METHODS, "merge"),
        title=body.maybe("commit_title", str),
        message=body.maybe("commit_message", str),
        expected_head=sha,
    )


def check_workflows(request: Request, repo: Repository, base: str, head: str) -> None:
    """Refuse a token that must leave workflow files alone to merge what changes them. Raises 403 with the words of a
    push (KeisukeYamashita/auto-pull-request-merge#481)."""
    words = workflow_guard.push_env(request.identity, repo)
    start = repo.git.merge_base(base, head) if words else None
    if start is None:
        return
    paths = [delta.new_file.path for delta in repo.git.diff(start, head).deltas]
    path = next((p for p in paths if p.startswith(f"{workflow_guard.FOLDER}/")), None)
    if path is not None:
        pusher, lacks = words["EMULATOR_PUSHER"], words["EMULATOR_LACKS"]
        raise ApiError(403, f"refusing to allow {pusher} to create or update workflow `{path}` without {lacks}")


def _mergeable(request: Request, owner: str, repo: str, number: str) -> tuple[Repository, PullRequest]:
    found = open_repo(request, owner, repo, "write", "contents")
    target = find_pull(found, number)
    check_workflows(request, found, target.base_sha, target.head_sha)
    return found, target


@routes.add("GET", "/repos/{owner}/{repo}/pulls/{number:int}/merge")
def is_merged(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "pull_requests")
    if not find_pull(found, number).merged:
        raise not_found()
    return Response(204)


@routes.add("PUT", "/repos/{owner}/{repo}/pulls/{number:int}/merge")
def merge_pull(request: Request, owner: str, repo: str, number: str) -> Response:
    _, target = _mergeable(request, owner, repo, number)
    refuse_merge(target)
    sha = merge(request.world, target, request.identity.actor, _order(request.body))
    return Response.json({"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


@routes.add("PUT", "/repos/{owner}/{repo}/pulls/{number:int}/merge-async")
def merge_later(request: Request, owner: str, repo: str, number: str) -> Response:
    _, target = _mergeable(request, owner, repo, number)
    order, action = _order(request.body), _one_of(request.body, "merge_action", _ACTIONS, "default")
    if target.merged:
        return _async_result("merged", {"message": "Pull request is already merged.", "sha": target.merge_commit_sha})
    if target.queue_entry is not None:
        return _async_result("enqueued", {"message": "Pull request is already in the merge queue."})
    if target.state == "closed" or target.draft:
        message = "Pull request is closed." if target.state == "closed" else "Pull request is a draft."
        return _async_result("failed", {"message": message}, 400)
    waiting = pending_for(request.world, target)
    if waiting is not None:
        told = {"message": "A merge request already exists for this pull request."}
        return _async_result("pending", waiting.details() | told, 409)
    made = request_merge(request.world, target, request.identity.actor, order, action)
    return _async_result(made.status, made.details(), 202)


@routes.add("GET", "/repos/{owner}/{repo}/pulls/{number:int}/merge-async/{uuid}")
def merge_result(request: Request, owner: str, repo: str, number: str, uuid: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    known = find_request(request.world, find_pull(found, number), uuid)
    if known is None:
        raise not_found()
    waits = {"message": "Merge request is in progress."} if known.status == "pending" else {}
    return _async_result(known.status, known.details() | waits)


def _async_result(status: str, details: dict[str, Any], code: int = 200) -> Response:
    return Response.json({"status": status, "details": details}, code)


@routes.add("PUT", "/repos/{owner}/{repo}/pulls/{number:int}/update-branch")
def update_branch(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target, identity = find_pull(found, number), request.identity
    request.accepted = accepted("write", ("pull_requests",))
    if identity.installation is not None or identity.user is None:
        require(identity, found, "write", "pull_requests")
    if target.head_repo is not None and not may_push_to(request.world, identity, target.head_repo, target.head_ref):
        raise ApiError(403, "user doesn't have permission to update head repository")
    head = check_update(target, request.body.maybe("expected_head_sha", str))
    request.world.background.later(UpdateBranch(target, head, "merge", identity.actor))
    url = f"{request.base_url}/repos/{found.full_name}/pulls/{target.number}"
    return Response.json({"message": "Updating pull request branch.", "url": url}, 202, {"location": url})


@routes.add("POST", "/repos/{owner}/{repo}/merges")
def merge_branches(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "write", "contents")
    body = request.body
    body.need_all("base", "head")
    base, head, message = body.need("base", str), body.need("head", str), body.maybe("commit_message", str)
    base_sha, head_sha = found.git.branch(base), found.git.resolve_commit(head)
    if base_sha is not None and head_sha is not None:
        check_workflows(request, found, base_sha, head_sha)
    sha = merge_branch(request.world, found, base, head, request.identity.actor, message)
    return Response(204) if sha is None else Response.json(render(request).commit(found, sha), 201)
