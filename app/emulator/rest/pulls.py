"""Pull requests. Draft state has no REST endpoint; merging is in :mod:`app.emulator.rest.merging`."""

from __future__ import annotations

from app.emulator.acts import issues as issue_acts
from app.emulator.acts import pulls as acts
from app.emulator.acts.mergeability import look
from app.emulator.acts.stacks import refuse_base
from app.emulator.auth import require
from app.emulator.errors import invalid
from app.emulator.rest.commits import changed_files
from app.emulator.rest.table import accepted, find_pull, open_repo, render, routes, writing_level
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import PullRequest


@routes.add("GET", "/repos/{owner}/{repo}/pulls")
def pulls(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "pull_requests")
    query = request.query
    state = query.get("state", "open")
    listed = [p for p in found.pulls() if state == "all" or p.state == state]
    if query.get("head"):
        who, colon, branch = query["head"].partition(":")
        # GitHub ignores a head filter that does not name the owner.
        if colon:
            listed = [p for p in listed if p.head_ref == branch and p.head_owner.login.lower() == who.lower()]
    if query.get("base"):
        listed = [p for p in listed if p.base_ref == query["base"]]
    by_update = query.get("sort") == "updated"
    ascending = query.get("direction", "asc" if "sort" in query and not by_update else "desc") == "asc"
    listed.sort(key=lambda p: (p.updated_at if by_update else "", p.number), reverse=not ascending)
    return paginated(request, listed, render(request).pull)


@routes.add("POST", "/repos/{owner}/{repo}/pulls")
def create_pull(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    request.accepted = accepted("write", ("pull_requests",))
    identity, body = request.identity, request.body
    head_repo = request.world.repo(found.owner.login, body.get("head_repo", str, ""))
    head = acts.find_head(request.world, found, body.get("head", str, ""), head_repo)
    # Whoever may push to the head may propose it; an App needs its permission where the pull request is to be.
    if identity.installation is not None or head is None or not identity.allows(head.repo, "contents", "write"):
        require(identity, found, "write", "pull_requests")
    number = body.maybe("issue", int)
    issue = found.issues.get(number) if number is not None else None
    if number is not None and issue is None:
        raise acts.wrong_issue(number, "The specified issue does not exist.")
    body.need_all("base", "head")
    pull = acts.open_pull(
        request.world,
        found,
        identity.actor,
        title=body.need("title", str) if issue is None else issue.title,
        body=body.maybe("body", str) if issue is None else issue.body,
        head=head,
        base=body.need("base", str),
        draft=body.get("draft", bool, False),
        maintainer_can_modify=body.maybe("maintainer_can_modify", bool),
        issue=issue,
    )
    return Response.json(render(request).pull(pull, full=True), 201)


@routes.add("GET", "/repos/{owner}/{repo}/pulls/{number:int}")
def pull(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents", "pull_requests")
    target = find_pull(found, number)
    form = next((f for f in ("diff", "patch") if f".{f}" in request.headers.get("accept", "")), None)
    if form is not None:
        return _raw(target, form)
    look(request.world, target)
    return Response.json(render(request).pull(target, full=True))


def _raw(target: PullRequest, form: str) -> Response:
    """The media types ``diff`` and ``patch``."""
    base = target.repo.git.merge_base(target.base_sha, target.head_sha) or target.base_sha
    text = target.repo.git.changes(base, target.head_sha, by_commit=form == "patch")
    return Response(200, text, {"content-type": f"application/vnd.github.{form}; charset=utf-8"})


@routes.add("PATCH", "/repos/{owner}/{repo}/pulls/{number:int}")
def change_pull(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, writing_level(request), "pull_requests")
    request.accepted = accepted("write", ("pull_requests",))
    target = find_pull(found, number)
    if request.identity.user is None or target.author is not request.identity.user:
        require(request.identity, found, "write", "pull_requests")
    body = request.body
    actor, world = request.identity.actor, request.world
    state, base = body.maybe("state", str), body.maybe("base", str)
    if state not in (None, "open", "closed"):
        raise invalid("PullRequest", "state")
    title, text = body.maybe("title", str), (body.maybe("body", str) or "") if "body" in body else None
    issue_acts.check_text(world, target, title, text)
    acts.check_base(target, base)
    if base is not None and target.stack is not None:
        # Not atomic: what else was asked for is done (Mergifyio/mergify-cli#1762).
        issue_acts.edit_text(world, target, actor, title, text)
        refuse_base(target, base)
    if state == "open":
        acts.reopen_pull(world, target, actor)
    if base is not None:
        acts.retarget(world, target, base, actor)
    allowed = body.maybe("maintainer_can_modify", bool)
    if allowed is not None:
        acts.allow_maintainers(world, target, allowed, actor)
    issue_acts.edit_text(world, target, actor, title, text)
    if state == "closed":
        acts.close_pull(world, target, actor)
    return Response.json(render(request).pull(target, full=True))


@routes.add("GET", "/repos/{owner}/{repo}/pulls/{number:int}/commits")
def pull_commits(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "pull_requests")
    target = find_pull(found, number)
    shas = list(reversed(found.git.log(target.head_sha, f"^{target.base_sha}")))
    return paginated(request, shas, lambda s: render(request).commit(found, s))


@routes.add("GET", "/repos/{owner}/{repo}/pulls/{number:int}/files")
def pull_files(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "pull_requests")
    target = find_pull(found, number)
    merge_base = found.git.merge_base(target.base_sha, target.head_sha) or target.base_sha
    return paginated(request, changed_files(request, found, merge_base, target.head_sha), lambda f: f)
