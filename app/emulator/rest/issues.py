"""Issues: list, open, read, change, lock; their timelines."""

from __future__ import annotations

from typing import Any

from app.emulator.acts import issues as acts
from app.emulator.acts import pulls as pull_acts
from app.emulator.acts.assignees import check_assignable, set_assignees
from app.emulator.acts.labels import set_labels
from app.emulator.acts.locking import lock, unlock
from app.emulator.acts.milestones import set_milestone
from app.emulator.auth import require
from app.emulator.errors import ApiError, invalid, not_found
from app.emulator.hidden import seen_entries
from app.emulator.moved import gone_issue
from app.emulator.rest.table import accepted, find_issue, names, open_repo, render, routes, writing_level
from app.emulator.routing import Body, Request, Response, paginated
from app.emulator.search import in_milestone
from app.emulator.state import Issue, Milestone, PullRequest, Repository, TimelineEvent

# Entries of a timeline that the list of events leaves out.
_NO_EVENTS = ("commented", "cross-referenced", "committed", "reviewed")
_REASONS = ("completed", "not_planned", "reopened", "duplicate")


@routes.add("GET", "/repos/{owner}/{repo}/issues")
def issues(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "issues")
    query = request.query
    state = query.get("state", "open")
    if state not in ("open", "closed", "all"):
        raise invalid("Issue", "state")
    listed = [i for i in found.issues.values() if state == "all" or i.state == state]
    if query.get("labels"):
        wanted = {x.strip().lower() for x in query["labels"].split(",")}
        listed = [i for i in listed if wanted <= {x.name.lower() for x in i.labels}]
    if query.get("milestone"):
        listed = [i for i in listed if in_milestone(i, query["milestone"])]
    if query.get("assignee") == "none":
        listed = [i for i in listed if not i.assignees]
    elif query.get("assignee") not in (None, "", "*"):
        listed = [i for i in listed if any(a.login.lower() == query["assignee"].lower() for a in i.assignees)]
    if query.get("creator"):
        listed = [i for i in listed if i.author.login.lower() == query["creator"].lower()]
    if query.get("since"):
        listed = [i for i in listed if i.updated_at >= query["since"]]
    listed.sort(key=_sort_key(query.get("sort", "created")), reverse=query.get("direction") != "asc")
    return paginated(request, listed, render(request).issue)


def _sort_key(word: str) -> Any:
    if word == "updated":
        return lambda i: (i.updated_at, i.number)
    if word == "comments":
        return lambda i: (len(i.comments), i.number)
    return lambda i: i.number


@routes.add("POST", "/repos/{owner}/{repo}/issues")
def create_issue(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "metadata")
    request.accepted = accepted("write", ("issues",))
    if request.identity.installation is not None:
        require(request.identity, found, "write", "issues")
    elif found.archived:
        raise ApiError(403, "Repository was archived so is read-only.")
    body = request.body
    number = body.data.get("title")
    title = str(number) if isinstance(number, int) else body.need("title", str)
    labels, people = names(body.get("labels", list, [])), _people(body)
    milestone = _milestone(found, body)
    if not request.identity.allows(found, "issues", "write"):
        # Silently dropped, as documented, when the author may not set them.
        labels, people, milestone = [], [], None
    check_assignable(request.world, found, people)
    actor = request.identity.actor
    issue = acts.open_issue(request.world, found, actor, title, body.maybe("body", str), labels, people)
    set_milestone(request.world, issue, milestone, actor)
    return Response.json(render(request).issue(issue), 201)


def _people(body: Body) -> list[str]:
    people = names(body.get("assignees", list, []))
    single = body.maybe("assignee", str)
    return [*people, single] if single else people


def _milestone(repo: Repository, body: Body) -> Milestone | None:
    number = body.maybe("milestone", int)
    if number is None:
        return None
    milestone = repo.milestones.get(number)
    if milestone is None:
        raise ApiError(
            422,
            "Validation Failed",
            [{"value": number, "resource": "Issue", "field": "milestone", "code": "invalid"}],
        )
    return milestone


@routes.add("GET", "/repos/{owner}/{repo}/issues/{number:int}")
def issue(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "issues")
    if int(number) not in found.issues:
        return gone_issue(request, found, int(number))
    return Response.json(render(request).issue(found.issues[int(number)]))


@routes.add("PATCH", "/repos/{owner}/{repo}/issues/{number:int}")
def change_issue(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number, writing_level(request))
    body = request.body
    permissions = ("issues", "pull_requests") if target.is_pull else ("issues",)
    may_write = any(request.identity.allows(found, p, "write") for p in permissions)
    if request.identity.user is None or target.author is not request.identity.user or found.archived:
        find_issue(request, found, number, "write")
    state, reason = body.maybe("state", str), body.maybe("state_reason", str)
    if state not in (None, "open", "closed"):
        raise invalid("Issue", "state")
    if reason is not None and reason not in _REASONS:
        raise invalid("Issue", "state_reason")
    actor, world = request.identity.actor, request.world
    milestone = _milestone(found, body)
    if may_write and "assignees" in body:
        check_assignable(world, found, names(body.get("assignees", list, [])))
    text = (body.maybe("body", str) or "") if "body" in body else None
    acts.edit_text(world, target, actor, body.maybe("title", str), text)
    _change_state(request, target, state, reason)
    if may_write and "labels" in body:
        set_labels(world, target, names(body.get("labels", list, [])), actor)
    if may_write and "assignees" in body:
        set_assignees(world, target, names(body.get("assignees", list, [])), actor, only_add=False)
    if may_write and "milestone" in body:
        set_milestone(world, target, milestone, actor)
    return Response.json(render(request).issue(target))


def _change_state(request: Request, target: Issue, state: str | None, reason: str | None) -> None:
    world, actor = request.world, request.identity.actor
    if isinstance(target, PullRequest):
        if state == "closed":
            pull_acts.close_pull(world, target, actor)
        elif state == "open":
            pull_acts.reopen_pull(world, target, actor)
    elif state == "closed":
        acts.close_issue(world, target, actor, reason if reason != "reopened" else None)
    elif state == "open":
        acts.reopen_issue(world, target, actor)


@routes.add("PUT", "/repos/{owner}/{repo}/issues/{number:int}/lock")
def lock_issue(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number, "write")
    _need_push(request, found)
    lock(request.world, target, request.body.maybe("lock_reason", str), request.identity.actor)
    return Response(204)


@routes.add("DELETE", "/repos/{owner}/{repo}/issues/{number:int}/lock")
def unlock_issue(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number, "write")
    _need_push(request, found)
    unlock(request.world, target, request.identity.actor)
    return Response(204)


def _need_push(request: Request, repo: Repository) -> None:
    """People need push access to lock, not only triage; an App needs no more than the permission."""
    if request.identity.installation is None:
        require(request.identity, repo, "write", "contents")


@routes.add("GET", "/repos/{owner}/{repo}/issues/{number:int}/timeline")
def timeline(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number)
    shown = render(request)
    listed = seen_entries(request.identity, target.timeline)
    return paginated(request, listed, lambda e: shown.timeline_event(e, target))


@routes.add("GET", "/repos/{owner}/{repo}/issues/{number:int}/events")
def issue_events(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number)
    shown = render(request)
    listed = [e for e in seen_entries(request.identity, target.timeline) if _is_event(e)]
    return paginated(request, listed, lambda e: _as_event(shown.timeline_event(e, target)))


def _is_event(entry: TimelineEvent) -> bool:
    return entry.event not in _NO_EVENTS


@routes.add("GET", "/repos/{owner}/{repo}/issues/events")
def repository_events(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "issues")
    issues = found.issues.values()
    entries = [(e, i) for i in issues for e in seen_entries(request.identity, i.timeline) if _is_event(e)]
    entries.sort(key=lambda pair: pair[0].id, reverse=True)
    return paginated(request, entries, lambda pair: _event_of_issue(request, *pair))


@routes.add("GET", "/repos/{owner}/{repo}/issues/events/{event_id:int}")
def repository_event(request: Request, owner: str, repo: str, event_id: str) -> Response:
    found = open_repo(request, owner, repo, "read", "issues", "pull_requests")
    for issue in found.issues.values():
        for entry in seen_entries(request.identity, issue.timeline):
            if entry.id == int(event_id) and _is_event(entry):
                return Response.json(_event_of_issue(request, entry, issue))
    raise not_found()


def _event_of_issue(request: Request, entry: TimelineEvent, issue: Issue) -> dict[str, Any]:
    shown = render(request)
    return _as_event(shown.timeline_event(entry, issue)) | {"issue": shown.issue(issue)}


def _as_event(event: dict[str, Any]) -> dict[str, Any]:
    """An entry of the list of events: it does not say why an Issue was closed, but who assigned somebody."""
    shown = {key: value for key, value in event.items() if key != "state_reason"}
    return shown | {"assigner": event["actor"]} if event["event"] in ("assigned", "unassigned") else shown
