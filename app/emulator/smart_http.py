"""Git over smart HTTP: one ``git upload-pack`` or ``receive-pack --stateless-rpc`` per request.

git itself takes the locks and compares the old values, so pushes race each other and the API fairly. What a push
moved is read from its own report and then told to the rest of the emulator.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Mapping, Sequence

from app.emulator import push_guard
from app.emulator.acts.refs import moved
from app.emulator.auth import visible_repo
from app.emulator.errors import ApiError
from app.emulator.maintainers import maintained_branches
from app.emulator.pkt import pkt_lines
from app.emulator.repos import RefChange, git_env
from app.emulator.routing import Request, Response
from app.emulator.state import Repository

_PATH = re.compile(
    r"/(?P<owner>[^/]+)/(?P<repo>[^/]+?)(?:\.git)?/(?P<what>info/refs|git-upload-pack|git-receive-pack)\Z"
)
_COMMAND = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) ([^\0\n]+)")
_SERVICES = ("git-upload-pack", "git-receive-pack")


def match(path: str) -> re.Match[str] | None:
    """Is this a path of the git protocol?"""
    return _PATH.match(path)


async def serve(request: Request) -> Response:
    """Answer a git request."""
    found, identity = _PATH.match(request.path), request.identity
    assert found is not None
    service = request.query.get("service", "") if found["what"] == "info/refs" else found["what"]
    if service not in _SERVICES:
        return _text(403, "Please upgrade your git client.")
    repo = _authorize(request, found["owner"], found["repo"], write=service == "git-receive-pack")
    if isinstance(repo, Response):
        return repo
    old_name = f"{found['owner']}/{found['repo']}".lower() != repo.full_name.lower()
    if old_name and service == "git-upload-pack" and found["what"] == "info/refs":
        # git follows the first answer's redirection and goes on there; pushes are served where they come.
        target = f"{request.world.url}/{repo.full_name}.git/info/refs?{request.query_string}"
        return Response(301, b"", {"location": target, "content-type": "text/html; charset=utf-8"})
    if found["what"] == "info/refs":
        return await _advertise(request, repo, service)
    body = gzip.decompress(request.raw) if request.headers.get("content-encoding") == "gzip" else request.raw
    if service == "git-upload-pack":
        output = await _run(request, repo, ["upload-pack", "--stateless-rpc"], body)
        return _answer(output, "application/x-git-upload-pack-result")
    commands = parse_commands(body)
    if not identity.allows(repo, "contents", "write"):
        let_in = maintained_branches(request.world, identity, repo)
        if any(c.name.removeprefix("refs/heads/") not in let_in for c in commands):
            return _denied(request, repo, "Permission")
    guard = await push_guard.judge(request, repo, commands, body)
    args = [*_hidden(request, repo), *guard.options, "receive-pack", "--stateless-rpc"]
    with repo.git.moving(commands):
        output = guard.worded(await _run(request, repo, args, body, guard.env))
        guard.close()
        done = succeeded(output)
        moved(request.world, repo, [c for c in commands if c.name in done], request.identity.actor)
    if old_name and b"side-band-64k" in b"".join(pkt_lines(body)[:1]):
        output = _moved_notice(request, repo) + output
    return _answer(output, "application/x-git-receive-pack-result")


def _authorize(request: Request, owner: str, name: str, *, write: bool) -> Repository | Response:
    identity = request.identity
    challenge = {"www-authenticate": 'Basic realm="GitHub"'}
    if identity.refusal is not None:
        if identity.refusal.status == 403:
            return _text(403, identity.refusal.message)
        words = "Invalid username or token. Password authentication is not supported for Git operations."
        return _text(401, words, challenge)
    try:
        repo = visible_repo(request.world, identity, owner, name)
    except ApiError:
        if identity.token is None:
            return _text(401, "Repository not found.", challenge)
        return _text(404, "Repository not found.")
    if write and identity.token is None:
        return _text(401, "No anonymous write access.", challenge)
    if write and repo.archived:
        return _text(403, "This repository was archived so it is read-only.")
    if identity.allows(repo, "contents", "write" if write else "read"):
        return repo
    if write and maintained_branches(request.world, identity, repo):
        return repo
    return _denied(request, repo, "Permission" if write else "Access")


def _denied(request: Request, repo: Repository, verb: str) -> Response:
    return _text(403, f"{verb} to {repo.full_name}.git denied to {request.identity.account.login}.")


def _hidden(request: Request, repo: Repository) -> list[str]:
    """Refs nobody may push, refused by git with GitHub's own words."""
    rules = ["refs/pull", "refs/heads/refs", "refs/tags/refs"]
    if request.world.switches.refused(repo.id, "custom_refs"):
        rules = ["refs", "!refs/heads", "!refs/tags"]
    return [arg for rule in rules for arg in ("-c", f"receive.hideRefs={rule}")]


async def _advertise(request: Request, repo: Repository, service: str) -> Response:
    verb = service.removeprefix("git-")
    hidden = _hidden(request, repo) if verb == "receive-pack" else []
    output = await _run(request, repo, [*hidden, verb, "--stateless-rpc", "--advertise-refs"], b"")
    if not (verb == "upload-pack" and _protocol(request) == "version=2"):
        head = f"# service={service}\n".encode()
        output = b"%04x" % (len(head) + 4) + head + b"0000" + output
    return _answer(output, f"application/x-{service}-advertisement")


def _protocol(request: Request) -> str:
    asked = request.headers.get("git-protocol", "")
    return asked if re.fullmatch(r"version=[012]", asked) else ""


async def _run(
    request: Request, repo: Repository, args: Sequence[str], body: bytes, more_env: Mapping[str, str] | None = None
) -> bytes:
    env = git_env() | dict(more_env or {})
    if _protocol(request):
        env["GIT_PROTOCOL"] = _protocol(request)
    process = await asyncio.create_subprocess_exec(
        "git",
        *args,
        str(repo.git.path),
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    output, _ = await process.communicate(body)
    return output


def _moved_notice(request: Request, repo: Repository) -> bytes:
    """What a push under an old name is told beside its report."""
    words = f"This repository moved. Please use the new location:\n  {request.world.url}/{repo.full_name}.git\n"
    return b"%04x" % (len(words.encode()) + 5) + b"\x02" + words.encode()


def parse_commands(body: bytes) -> list[RefChange]:
    """The commands of a push: what is to move from where to where."""
    commands = []
    for line in pkt_lines(body):
        found = _COMMAND.match(line)
        if found is not None:
            old, new, name = (part.decode(errors="replace") for part in found.groups())
            commands.append(RefChange(name, old, new))
    return commands


def succeeded(output: bytes) -> set[str]:
    """The refs a receive-pack reports as moved, with or without side bands."""
    lines = pkt_lines(output)
    if lines and lines[0][:1] in (b"\x01", b"\x02"):
        lines = pkt_lines(b"".join(line[1:] for line in lines if line[:1] == b"\x01"))
    return {line[3:].strip().decode(errors="replace") for line in lines if line.startswith(b"ok ")}


def _answer(output: bytes, kind: str) -> Response:
    return Response(200, output, {"content-type": kind, "cache-control": "no-cache, max-age=0, must-revalidate"})


def _text(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return Response(status, message.encode(), {"content-type": "text/plain; charset=utf-8"} | (headers or {}))
