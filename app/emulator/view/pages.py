"""The pages: repositories with their Issues, pull requests and refs; deliveries; requests; faults."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from app.emulator.control import router
from app.emulator.errors import ApiError
from app.emulator.routing import Request, Response
from app.emulator.state import Issue, PullRequest, Repository
from app.emulator.view.html import Html, joined, link, markdown, page, table, tag

if TYPE_CHECKING:
    from app.emulator.server import Server
    from app.emulator.world import World

_SHOWN = 200


@router.add("GET", "/ui")
def index(server: Server, request: Request) -> Response:
    world = server.world
    repos = [
        [link(_path(r), r.full_name), len(r.plain_issues()), len(r.pulls()), "private" if r.private else "public"]
        for r in world.repos.values()
    ]
    apps = [
        [a.slug, a.webhook_url or "—", ", ".join(f"{k}: {v}" for k, v in sorted(a.permissions.items()))]
        for a in world.apps.values()
    ]
    return page(
        "Repositories",
        table(["name", "Issues", "pull requests", ""], [list[object](row) for row in repos]),
        tag("h2", "Apps"),
        table(["slug", "webhook", "permissions"], [list[object](row) for row in apps]),
    )


@router.add("GET", "/ui/repos/{owner}/{name}")
def repository(server: Server, request: Request, owner: str, name: str) -> Response:
    repo = _repo(server.world, owner, name)

    def listed(issues: list[Issue]) -> Html:
        rows = [
            [link(f"{_path(repo)}/issues/{i.number}", f"#{i.number}"), i.title, _state(i), i.author.login]
            for i in sorted(issues, key=lambda i: -i.number)[:_SHOWN]
        ]
        return table(["", "title", "state", "author"], [list[object](row) for row in rows])

    refs = [[tag("code", ref), tag("code", oid)] for ref, oid in repo.git.refs()]
    pulls: list[Issue] = [*repo.pulls()]
    return page(
        repo.full_name,
        tag("h2", "Issues"),
        listed(repo.plain_issues()),
        tag("h2", "Pull requests"),
        listed(pulls),
        tag("h2", "Refs"),
        table(["ref", "object"], [list[object](row) for row in refs]),
    )


@router.add("GET", "/ui/repos/{owner}/{name}/issues/{number:int}")
def issue(server: Server, request: Request, owner: str, name: str, number: str) -> Response:
    repo = _repo(server.world, owner, name)
    found = repo.issues.get(int(number))
    if found is None:
        raise ApiError(404, "There is no such Issue")
    said = [(c.created_at, c.author.login, c.body, _about(c.minimized, c.edited_at)) for c in found.comments]
    if isinstance(found, PullRequest):
        said += _reviewed(found)
    posts = [_post(found.author.login, found.created_at, found.body, "")]
    posts += [_post(author, time, body, about) for time, author, body, about in sorted(said, key=lambda post: post[0])]
    events = [
        [e.created_at, e.event, e.actor.login if e.actor else "", json.dumps(e.data, default=str) if e.data else ""]
        for e in found.timeline
    ]
    return page(
        f"{found.title} #{found.number}",
        tag("p", link(_path(repo), repo.full_name), " · ", _state(found), " · ", _labels(found)),
        _branches(found) if isinstance(found, PullRequest) else None,
        *posts,
        tag("h2", "Timeline"),
        table(["time", "event", "who", ""], [list[object](row) for row in events]),
    )


@router.add("GET", "/ui/deliveries")
def deliveries(server: Server, request: Request) -> Response:
    rows = [
        [
            link(f"/deliveries/{d.id}", d.delivered_at),
            f"{d.event}.{d.action}" if d.action else d.event,
            d.app.slug,
            f"{d.status} {d.status_code or ''}",
            "again" if d.redelivery else "",
            tag("code", d.guid),
        ]
        for d in reversed(server.world.deliveries.log[-_SHOWN:])
    ]
    heads = ["time", "event", "App", "answer", "", "GUID"]
    return page("Deliveries", table(heads, [list[object](row) for row in rows]))


@router.add("GET", "/ui/deliveries/{number:int}")
def delivery(server: Server, request: Request, number: str) -> Response:
    found = next((d for d in server.world.deliveries.log if d.id == int(number)), None)
    if found is None:
        raise ApiError(404, "There is no such delivery")
    headers = "\n".join(f"{k}: {v}" for k, v in found.headers().items())
    answer = "\n".join(f"{k}: {v}" for k, v in found.response_headers.items())
    return page(
        f"{found.event} {found.action or ''}",
        tag("p", f"to {found.url}: {found.status} {found.status_code or ''} after {found.duration} s"),
        tag("pre", headers),
        tag("pre", json.dumps(json.loads(found.body), indent=2, ensure_ascii=False)),
        tag("h2", "Answer"),
        tag("pre", f"{answer}\n\n{found.response_body}"),
    )


@router.add("GET", "/ui/requests")
def requests(server: Server, request: Request) -> Response:
    rows = [
        [e.n, e.time, f"{e.method} {e.path}", e.operation or "", e.identity, "cut" if e.status == -1 else e.status]
        for e in reversed(server.traffic.entries[-_SHOWN:])
    ]
    heads = ["", "time", "request", "operation", "who", "status"]
    return page("Requests", table(heads, [list[object](row) for row in rows]))


@router.add("GET", "/ui/faults")
def faults(server: Server, request: Request) -> Response:
    disturber = server.disturber
    orders = [
        [f.id, f.kind, json.dumps(f.match), f.seen, f.hits, "for ever" if f.left is None else f.left]
        for f in disturber.faults.orders
    ]
    strikes = [[s.n, s.kind, s.fault, s.nth, json.dumps(s.hit)] for s in reversed(disturber.faults.strikes[-_SHOWN:])]
    return page(
        "Faults",
        table(["order", "kind", "match", "seen", "hits", "left"], [list[object](row) for row in orders]),
        tag("p", f"{len(disturber.paused)} requests paused, {len(disturber.deferred)} late."),
        tag("h2", "What struck"),
        table(["request", "kind", "order", "occurrence", "hit"], [list[object](row) for row in strikes]),
    )


def _repo(world: World, owner: str, name: str) -> Repository:
    found = world.repo(owner, name)
    if found is None:
        raise ApiError(404, f"There is no repository {owner}/{name}")
    return found


def _path(repo: Repository) -> str:
    return f"/repos/{quote(repo.owner.login, safe='')}/{quote(repo.name, safe='')}"


def _state(issue: Issue) -> str:
    if isinstance(issue, PullRequest) and issue.merged:
        return "merged"
    words = ["draft"] if isinstance(issue, PullRequest) and issue.draft else []
    words += [issue.state] + (["locked"] if issue.locked else [])
    return ", ".join(words) + (f" ({issue.state_reason})" if issue.state_reason else "")


def _labels(issue: Issue) -> str:
    people = [f"@{account.login}" for account in issue.assignees]
    return ", ".join([*(label.name for label in issue.labels), *people]) or "no label, nobody assigned"


def _about(minimized: str | None, edited_at: str | None) -> str:
    return "".join([f" · hidden as {minimized}" if minimized else "", f" · edited {edited_at}" if edited_at else ""])


def _reviewed(pull: PullRequest) -> list[tuple[str, str, str, str]]:
    """Reviews and comments on lines: time, author, text, what it is."""
    reviews = [(r.created_at, r.author.login, r.body, f" · {r.state.lower()}") for r in pull.reviews]
    return reviews + [
        (c.created_at, c.author.login, c.body, f" · on {t.path}{' · resolved' if t.resolved_by else ''}")
        for t in pull.threads
        for c in t.comments
    ]


def _post(author: str, time: str, body: str | None, about: str) -> Html:
    return tag("article", tag("header", tag("strong", author), f" {time}{about}"), markdown(body))


def _branches(pull: PullRequest) -> Html:
    checks = [
        [r.name, r.suite.app.slug, r.status, r.conclusion or "", r.title or ""]
        for suite in pull.repo.suites
        if suite.head_sha == pull.head_sha
        for r in suite.runs
    ]
    statuses = [
        [s.context, s.creator.login, s.state, "", s.description or ""]
        for s in pull.repo.statuses
        if s.sha == pull.head_sha
    ]
    return joined(
        tag("p", tag("code", pull.head_ref), " at ", tag("code", pull.head_sha), " into ", tag("code", pull.base_ref)),
        tag("h2", "Checks and statuses"),
        table(["name", "by", "status", "conclusion", "says"], [list[object](row) for row in [*checks, *statuses]]),
        tag("h2", "Conversation"),
    )
