"""The control path: everything a test or a drill arranges from outside GitHub's own name space."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from app.emulator.acts import comments as comment_acts
from app.emulator.acts import issues as issue_acts
from app.emulator.acts import refs as ref_acts
from app.emulator.acts import repositories as repository_acts
from app.emulator.acts.events import announce_installation, announce_reach, listed
from app.emulator.browsers import from_elsewhere
from app.emulator.errors import ApiError
from app.emulator.event_permissions import check_asked_for
from app.emulator.render import Render
from app.emulator.repos import RefChange
from app.emulator.routing import Request, Response, Router
from app.emulator.state import ROLES, Account, Actor, Installation, Repository

if TYPE_CHECKING:
    from app.emulator.server import Server

router = Router()

# What GitHub lets people be called; accounts of Enterprise Managed Users have an underscore, bots their suffix.
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}(?:\[bot\])?\Z")
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,33})\Z")
_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}(?<!\.git)(?<!\.wiki)\Z")


async def control(server: Server, request: Request) -> Response:
    """Answer a request of the control path; errors have the form of GitHub's."""
    if from_elsewhere(request):
        return Response.json({"message": "Control calls are not taken from pages elsewhere"}, 403)
    segments = request.segments[1:]
    found = router.find(request.method, segments)
    if found is None:
        return Response.json({"message": f"No control call {request.method} {request.path}"}, 404)
    try:
        result = found[0].handler(server, request, **found[1])
        if asyncio.iscoroutine(result):
            result = await result
    except ApiError as error:
        return Response.json(error.body(), error.status)
    return result if isinstance(result, Response) else Response.json(result)


def since(request: Request) -> int:
    """The number after which a log is asked for. Raises 422."""
    given = request.query.get("since", "0")
    if not (given.isascii() and given.isdigit()):
        raise ApiError(422, f"since={given} is no number")
    return int(given)


def _named(request: Request, member: str, form: re.Pattern[str]) -> str:
    """The name of something new. Raises 422: the path of what GitHub would never call so may be another's."""
    name = request.body.need(member, str)
    if not form.match(name):
        raise ApiError(422, f"{member} {name!r} is no name GitHub would give")
    return name


def _account(server: Server, login: str) -> Account:
    account = server.world.account(login)
    if account is None:
        raise ApiError(404, f"There is no account {login}")
    return account


def _repo(server: Server, full_name: str) -> Repository:
    owner, _, name = full_name.partition("/")
    repo = server.world.repo(owner, name)
    if repo is None:
        raise ApiError(404, f"There is no repository {full_name}")
    return repo


@router.add("POST", "/users")
def add_user(server: Server, request: Request) -> Any:
    body = request.body
    kind: Any = body.get("type", str, "User")
    user = server.world.add_account(_named(request, "login", _LOGIN), kind)
    user.name = body.maybe("name", str)
    token = server.world.add_user_token(user, body.maybe("token", str))
    return {"login": user.login, "id": user.id, "node_id": user.node_id, "token": token.value}


@router.add("POST", "/orgs")
def add_org(server: Server, request: Request) -> Any:
    """An organization; of enterprises alone are own repository roles, each based on a built-in one."""
    body = request.body
    roles: dict[str, str] = body.get("custom_roles", dict, {})
    for name, base in roles.items():
        if name in ROLES or base not in ROLES[1:-1]:
            raise ApiError(422, f"{name} cannot be a role based on {base}")
    org = server.world.add_account(_named(request, "login", _LOGIN), "Organization")
    org.enterprise, org.custom_roles = body.get("enterprise", bool, False) or bool(roles), roles
    return {"login": org.login, "id": org.id, "node_id": org.node_id}


@router.add("POST", "/repos")
def add_repo(server: Server, request: Request) -> Any:
    world, body = server.world, request.body
    owner = _account(server, body.need("owner", str))
    actor = Actor(owner)
    repo = repository_acts.create_repository(
        world,
        owner,
        _named(request, "name", _NAME),
        actor,
        private=body.get("private", bool, False),
        default_branch=body.get("default_branch", str, "main"),
    )
    repo.plan_allows_drafts = body.get("plan_allows_drafts", bool, True)
    for account, role in _roles(server, repo, body.get("collaborators", dict, {})):
        repo.collaborators[account.login.lower()] = role
    files: dict[str, str | None] = body.get("files", dict, {"README.md": f"# {repo.name}\n"})
    start = ref_acts.commit_files(world, repo, repo.default_branch, files, actor) if files else None
    for name, changed in body.get("branches", dict, {}).items():
        if start is None:
            raise ApiError(422, "Branches need files on the default branch")
        if repo.git.branch(name) is None:
            ref_acts.move(world, repo, [RefChange(f"refs/heads/{name}", "0" * 40, start)], actor, force=[False])
        if changed:
            ref_acts.commit_files(world, repo, name, changed, actor)
    return Render(world).repository(repo) | {"branches": dict(repo.git.refs("refs/heads/"))}


def _roles(server: Server, repo: Repository, roles: dict[str, str]) -> list[tuple[Account, str]]:
    for role in roles.values():
        if role not in ROLES and role not in repo.owner.custom_roles:
            raise ApiError(422, f"Unknown role {role}")
    return [(_account(server, login), role) for login, role in roles.items()]


@router.add("PATCH", "/repos/{owner}/{name}")
def change_repo(server: Server, request: Request, owner: str, name: str) -> Any:
    """What the owner of a repository does on its settings pages; told as on GitHub."""
    repo, body, world = _repo(server, f"{owner}/{name}"), request.body, server.world
    actor = Actor(repo.owner)
    for account, role in _roles(server, repo, body.get("collaborators", dict, {})):
        repository_acts.set_role(world, repo, account, role, actor)
    for flag in ("archived", "private"):
        body.maybe(flag, bool)
    repo.plan_allows_drafts = body.get("plan_allows_drafts", bool, repo.plan_allows_drafts)
    repository_acts.change_repository(world, repo, actor, body.data)
    return Render(world).repository(repo)


@router.add("POST", "/commits")
def add_commit(server: Server, request: Request) -> Any:
    """Commit files on a branch as somebody, with everything a push brings."""
    body = request.body
    repo = _repo(server, body.need("repo", str))
    author = _account(server, body.get("author", str, repo.owner.login))
    sha = ref_acts.commit_files(
        server.world,
        repo,
        body.get("branch", str, repo.default_branch),
        body.need("files", dict),
        Actor(author),
        body.get("message", str, ""),
    )
    return {"sha": sha}


@router.add("POST", "/apps")
def add_app(server: Server, request: Request) -> Any:
    world, body = server.world, request.body
    slug = _named(request, "slug", _SLUG)
    owner = world.account(body.get("owner", str, "app-owner")) or world.add_account(
        body.get("owner", str, "app-owner"), "Organization"
    )
    check_asked_for(body.get("events", list, []))
    app = world.add_app(
        slug,
        owner,
        body.get("permissions", dict, {}),
        body.get("events", list, []),
        body.maybe("webhook_url", str),
        body.maybe("webhook_secret", str),
    )
    hook = Render(world).hook(app)
    world.deliveries.record(app, "ping", {"zen": "Keep it logically awesome.", "hook_id": app.hook_id, "hook": hook})
    return {
        "id": app.id,
        "slug": app.slug,
        "pem": app.private_pem,
        "client_id": app.client_id,
        "bot_id": app.bot.id,
        "bot_login": app.bot.login,
        "hook_id": app.hook_id,
    }


@router.add("PATCH", "/apps/{slug}")
def change_app(server: Server, request: Request, slug: str) -> Any:
    app, body = server.world.apps.get(slug), request.body
    if app is None:
        raise ApiError(404, f"There is no App {slug}")
    if "webhook_url" in body:
        app.webhook_url = body.maybe("webhook_url", str)
    if "webhook_secret" in body:
        app.webhook_secret = body.maybe("webhook_secret", str)
    events = body.get("events", list, app.events)
    check_asked_for(events)
    app.events = events
    app.permissions = body.get("permissions", dict, app.permissions)
    return Render(server.world).app(app)


@router.add("POST", "/installations")
def add_installation(server: Server, request: Request) -> Any:
    world, body = server.world, request.body
    app = world.apps.get(body.need("app", str))
    if app is None:
        raise ApiError(404, "There is no such App")
    account = _account(server, body.need("account", str))
    installation = Installation(
        id=world.ids.next("installation"),
        app=app,
        account=account,
        repositories=_selection(server, account, body.data.get("repositories", "all")),
        permissions=dict(app.permissions),
        events=list(app.events),
        created_at=world.clock.stamp(),
    )
    world.installations[installation.id] = installation
    covered = [r for r in world.repos.values() if installation.covers(r)]
    announce_installation(
        world, installation, "installation", "created", Actor(account), repositories=[listed(r) for r in covered]
    )
    return Render(world).installation(installation)


def _selection(server: Server, account: Account, wanted: Any) -> set[int] | None:
    if wanted == "all":
        return None
    return {_repo(server, f"{account.login}/{str(name).rpartition('/')[2]}").id for name in wanted}


@router.add("PATCH", "/installations/{number:int}")
def change_installation(server: Server, request: Request, number: str) -> Any:
    world, body = server.world, request.body
    installation = world.installations.get(int(number))
    if installation is None:
        raise ApiError(404, "There is no such installation")
    actor = Actor(installation.account)
    suspended = body.maybe("suspended", bool)
    if suspended is not None and suspended != (installation.suspended_at is not None):
        installation.suspended_at = world.clock.stamp() if suspended else None
        announce_installation(world, installation, "installation", "suspend" if suspended else "unsuspend", actor)
    if "permissions" in body:
        installation.permissions = {"metadata": "read"} | body.need("permissions", dict)
        announce_installation(world, installation, "installation", "new_permissions_accepted", actor)
    if "repositories" in body:
        before = {r.id for r in world.repos.values() if installation.covers(r)}
        installation.repositories = _selection(server, installation.account, body.data["repositories"])
        after = {r.id for r in world.repos.values() if installation.covers(r)}
        for action, numbers in (("removed", before - after), ("added", after - before)):
            if numbers:
                announce_reach(world, installation, action, [world.repos[n] for n in numbers], actor)
    return Render(world).installation(installation)


@router.add("POST", "/issues")
def add_issue(server: Server, request: Request) -> Any:
    body = request.body
    repo = _repo(server, body.need("repo", str))
    issue = issue_acts.open_issue(
        server.world,
        repo,
        Actor(_account(server, body.get("author", str, repo.owner.login))),
        body.need("title", str),
        body.maybe("body", str),
        body.get("labels", list, []),
        body.get("assignees", list, []),
    )
    return Render(server.world).issue(issue)


@router.add("POST", "/comments")
def add_comment(server: Server, request: Request) -> Any:
    body = request.body
    issue = _repo(server, body.need("repo", str)).issues.get(body.need("number", int))
    if issue is None:
        raise ApiError(404, "There is no such Issue")
    author = Actor(_account(server, body.need("author", str)))
    comment = comment_acts.add_comment(server.world, issue, author, body.need("body", str))
    return Render(server.world).comment(comment)


@router.add("GET", "/requests")
def requests(server: Server, request: Request) -> Any:
    return server.traffic.since(since(request))


@router.add("DELETE", "/requests")
def forget_requests(server: Server, request: Request) -> Any:
    server.traffic.entries.clear()
    return {"n": server.traffic.count}


@router.add("GET", "/counters")
def counters(server: Server, request: Request) -> Any:
    return server.traffic.totals()


@router.add("POST", "/rate")
def set_rate(server: Server, request: Request) -> Any:
    """Set the hourly limit of an identity (``installation:<id>``, ``user:<login>``)."""
    body = request.body
    server.world.rates.limits[body.need("identity", str)] = body.need("limit", int)
    return dict(server.world.rates.limits)


@router.add("POST", "/switches")
def switches(server: Server, request: Request) -> Any:
    values = dict(request.body.data)
    name = values.pop("repo", None)
    server.world.switches.set(_repo(server, name).id if name else None, values)
    return {"repo": name} | values


@router.add("POST", "/reset")
async def reset(server: Server, request: Request) -> Any:
    """Forget everything: people, Apps, repositories, clock, faults, logs."""
    await server.reset()
    return {}
