"""Every endpoint that takes a lease token, asked with every kind of token.

The endpoints are those the service really has: one that is new and has no row here fails the first test. A token that
is not the present lease's is refused by its name and changes nothing on GitHub; one past its expiry that nobody took
over passes and renews the lease (the ownership protocol, R15).
"""

import base64
import secrets
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from loop_world import REPO, Agent, LoopWorld

from app.domain import token
from app.domain.agent_api import ClaimRequest, Grant
from app.domain.ticket_id import Child, as_json
from app.domain.token import Claims
from app.emulator.client import Emulator
from app.service import agent_routes, git_routes
from app.service.app import create_app
from app.service.callers import Callers
from app.service.settings import Settings

CHILD = "docs-1"
Call = tuple[str, str]
"""A method, and what stands in the path after the ticket or the repository."""


def calls_of(app: FastAPI) -> list[Call]:
    """Every endpoint of the agent API and of the git endpoint, as the router has them."""
    found = []
    for included in app.routes:
        for route in getattr(included, "original_router", app).routes:
            if isinstance(route, APIRoute) and route.path.startswith((agent_routes.API, git_routes.GIT)):
                rest = route.path.partition("{ticket}" if "{ticket}" in route.path else "{repo}")[2]
                found += [(method, rest) for method in sorted(route.methods)]
    return found


class Stage:
    """The service's face on a real controller, with tokens of every kind for one ticket in its second generation."""

    def __init__(self, world: LoopWorld) -> None:
        self.world = world
        self.controller = world.controller()
        github, _ = world._opened[-1]
        self.app = create_app(Settings.model_construct())
        parts = SimpleNamespace(keyring=world.keys, settings=SimpleNamespace(largest_push_mb=10))
        self.app.state.running = SimpleNamespace(parts=parts)
        self.app.state.tickets = self.controller
        self.app.state.callers = Callers(github, world.keys.lease_keys)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://service")
        self.ticket: Any = world.ticket
        self._seq = 2000

    async def begin(self) -> None:
        """Two generations, the second with commits of its own."""
        self.old = await self.world.claim(self.controller)
        self.world.emulator.advance(3600)
        self.grant = await self.world.claim(self.controller, 1)
        other = self.world.emulator.issue(REPO, "Mow the grass", author="wanda")["number"]
        request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=0, holder="other")
        self.foreign = await self.controller.claim("acme", "shop", other, request, "wanda")
        self.agent: Agent = self.world.agent(self.grant)
        self.agent.push("one")
        await self.world.settle(self.controller)

    def token(self, kind: str, grant: Grant | None = None) -> str:
        """A lease token of a kind, for the ticket (or the child) that the call is about."""
        present = token.read((grant or self.grant).lease_token)
        assert isinstance(present, Claims)
        kid, key = self.world.keys.lease_key
        other = {"generation": 1, "nonce": self.old.nonce}
        if kind == "superseded":
            return token.issue(kid, key, Claims(**{**vars(present), **other}))
        if kind == "of another repository":
            return token.issue(kid, key, Claims(**{**vars(present), "repository_id": present.repository_id + 1}))
        if kind == "of another ticket":
            return self.foreign.lease_token
        if kind == "of another nonce":
            return token.issue(kid, key, Claims(**{**vars(present), "nonce": "0" * 32}))
        genuine = token.issue(kid, key, present)
        if kind == "with another's secret":
            forged = Claims(**{**vars(present), **other})
            return f"{genuine.rpartition('.')[0]}.{token.issue(kid, key, forged).rpartition('.')[2]}"
        if kind == "raised to the present generation":
            secret = token.issue(kid, key, Claims(**{**vars(present), **other})).rpartition(".")[2]
            return f"{token.PREFIX}{kid}.{present.payload()}.{secret}"
        if kind == "of an unknown key":
            return token.issue("unknown", b"k" * 32, present)
        return genuine

    async def ask(self, call: Call, lease_token: str, content: bytes | None, body: Any) -> httpx.Response:
        method, rest = call
        if "/{effect}" in rest:
            rest = rest.replace("{effect}", "v1")
        if rest.startswith(("/git-", "/info")):
            basic = base64.b64encode(f"agent:{lease_token}".encode()).decode()
            path = f"{git_routes.GIT}/{REPO}{rest}" + ("?service=git-receive-pack" if method == "GET" else "")
            return await self.http.request(method, path, content=content, headers={"Authorization": f"Basic {basic}"})
        path = f"{agent_routes.API}/repos/{REPO}/tickets/{as_json(self.ticket)}{rest}"
        return await self.http.request(
            method, path, json=body if method == "POST" else None, headers={"Authorization": f"Bearer {lease_token}"}
        )

    def next(self, **body: Any) -> dict[str, Any]:
        self._seq += 1
        return {"key": secrets.token_hex(8), "seq": self._seq, **body}

    def push(self) -> bytes:
        """What git sends to push one more commit to the ticket branch."""
        before = self.world.head(self.grant.branch)
        sha = self.agent.work(f"by-http-{self._seq}")
        command = f"{before} {sha} refs/heads/{self.grant.branch}\0report-status atomic agent=git/2\n".encode()
        pack = subprocess.run(
            ["git", "pack-objects", "--stdout", "--revs", "-q"],
            cwd=self.agent.folder,
            input=f"{sha}\n^{before}\n".encode(),
            capture_output=True,
            check=True,
        )
        return f"{len(command) + 4:04x}".encode() + command + b"0000" + pack.stdout

    async def orphan(self) -> None:
        """The list of children is lost."""
        view = await self.controller._views.look("acme", "shop", self.world.ticket)
        assert view.standing is not None
        unlisted = view.standing.record.model_copy(update={"children": ()})
        await self.controller._holding._journal.write(view, view.standing, unlisted, "list lost", when=view.now)

    async def child(self) -> Grant:
        """A claim of the child."""
        request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=0, holder="child")
        return await self.controller.claim("acme", "shop", Child(self.world.ticket, CHILD), request, "wanda")

    async def expires_at(self) -> datetime:
        record = (await self.controller._views.look("acme", "shop", self.ticket)).record
        assert record is not None
        assert record.lease is not None
        return record.lease.expires_at

    def refs(self) -> Any:
        return [(r["ref"], r["object"]["sha"]) for r in self.world.get("git/matching-refs/")]


Row = tuple[Call, Callable[[Stage], dict[str, Any] | bytes | None]]

TASK = {"objective": "Write the documents"}
VALIDATION = {"profile": "tests", "version": "1", "completed": ["all"]}
ROWS: list[Row] = [
    (("GET", "/lease"), lambda s: None),
    (("POST", "/evidence"), lambda s: s.next(head_sha=s.world.head(s.grant.branch), clean=True)),
    (("POST", "/checkpoint"), lambda s: s.next(checkpoint={"objective": "apples"})),
    (("POST", "/validation"), lambda s: s.next(validation={**VALIDATION, "validated_sha": s.grant.head_sha})),
    (("POST", "/heartbeat"), lambda s: {}),
    (("POST", "/effects"), lambda s: s.next(effect="v1", kind="tag", probe={"type": "tag", "name": "v1"})),
    (("GET", "/effects"), lambda s: None),
    (("POST", "/effects/{effect}/dispatch"), lambda s: s.next(attempt="a" * 12)),
    (("POST", "/effects/{effect}/result"), lambda s: s.next(attempt="a" * 12, outcome="unknown")),
    (("POST", "/effects/{effect}/probe"), lambda s: s.next()),
    (("POST", "/children/spawn"), lambda s: s.next(name=CHILD, task=TASK)),
    (("GET", "/children"), lambda s: None),
    (("POST", "/children/adopt"), lambda s: s.next(name=CHILD)),
    (("POST", "/completion"), lambda s: s.next(outcome="failed", summary="It was too hard.")),
    (("POST", "/children/respawn"), lambda s: s.next(name=CHILD)),
    (("POST", "/children/cancel"), lambda s: s.next(name=CHILD)),
    (("GET", "/info/refs"), lambda s: None),
    (("POST", "/git-upload-pack"), lambda s: b"0000"),
    (("POST", "/git-receive-pack"), lambda s: s.push()),
    (("POST", "/handoff"), lambda s: s.next()),
]
"""In an order in which a holder can make all these calls, the last of which ends its lease."""
BY_ACCOUNT = [("GET", "/brief"), ("POST", "/claim")]
"""What takes the token of a GitHub account."""
COMPLETION = ("POST", "/completion")
"""What the holder of a child calls; all else is asked about the ticket itself."""
GIT_READS = [("GET", "/info/refs"), ("POST", "/git-upload-pack")]
READS = {"GET /lease", "GET /effects", "GET /children", "GET /info/refs", "POST /git-upload-pack"}

REFUSED = {
    "superseded": {"stale_generation"},
    "of another nonce": {"stale_generation"},
    "of another repository": {"forbidden", "stale_generation", "not_found"},
    "of another ticket": {"forbidden"},
    "with another's secret": {"unauthenticated"},
    "raised to the present generation": {"unauthenticated"},
    "of an unknown key": {"unauthenticated"},
}


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with Emulator.start(tmp_path_factory.mktemp("github")) as started:
        yield started


@pytest.fixture
async def stage(world: LoopWorld) -> AsyncIterator[Stage]:
    made = Stage(world)
    await made.begin()
    yield made
    await made.http.aclose()


def code_of(answer: httpx.Response) -> str:
    """The word a refusal has, in JSON, in plain text or in git's report."""
    if answer.headers["content-type"] == "application/json":
        return str(answer.json().get("error", {}).get("code", "passed"))
    text = answer.content.decode("utf-8", "replace")
    for line in text.replace("ng refs", "\nng refs").splitlines():
        words = line.split(" ", 2)
        if line.startswith("ng refs"):
            return words[2].partition(":")[0]
    return text.partition(":")[0] if answer.status_code >= 400 else "passed"


def split(content: dict[str, Any] | bytes | None) -> tuple[bytes | None, Any]:
    return (content, None) if isinstance(content, bytes) else (None, content)


async def test_every_endpoint_of_the_service_has_a_row(stage: Stage) -> None:
    assert sorted(calls_of(stage.app)) == sorted([call for call, _ in ROWS] + BY_ACCOUNT)


async def test_every_call_is_refused_to_who_is_not_the_present_holder(stage: Stage) -> None:
    await stage.ask(("POST", "/children/spawn"), stage.token("genuine"), None, stage.next(name=CHILD, task=TASK))
    child = await stage.child()
    before, mark = stage.refs(), stage.world.requested()
    wrong = []
    for kind, allowed in REFUSED.items():
        for call, make in ROWS:
            told = stage.token(kind, child if call == COMPLETION else None)
            stage.ticket = Child(stage.world.ticket, CHILD) if call == COMPLETION else stage.world.ticket
            answer = await stage.ask(call, told, *split(make(stage)))
            code = code_of(answer)
            # The holder of another ticket of the repository may read it, and push its own branch only.
            own_right = kind == "of another ticket" and call in GIT_READS
            if code not in ({"passed"} if own_right else allowed):
                wrong.append(f"{call} with a token {kind}: {answer.status_code} {code}")
            if told in answer.text:
                wrong.append(f"{call} with a token {kind}: the token stands in the answer")
    assert not wrong, "\n".join(wrong)
    assert (stage.refs(), stage.world.writes(mark)) == (before, [])


async def test_a_lease_token_is_no_account(stage: Stage) -> None:
    for call in BY_ACCOUNT:
        body = {"claim_id": "c" * 12, "observed_generation": 2}
        answer = await stage.ask(call, stage.grant.lease_token, None, body)
        assert (answer.status_code, code_of(answer)) == (401, "unauthenticated")


@pytest.mark.parametrize("late_s", [0, 20 * 60], ids=["current", "past its expiry"])
async def test_the_present_holder_passes_everywhere(stage: Stage, late_s: int) -> None:
    wrong = []
    for call, make in ROWS:
        holder = stage.grant
        if call == ("POST", "/children/adopt"):
            await stage.orphan()
        if call == COMPLETION:
            holder = await stage.child()
            stage.ticket = Child(stage.world.ticket, CHILD)
        stage.world.emulator.advance(late_s)
        expired = await stage.expires_at()
        answer = await stage.ask(call, holder.lease_token, *split(make(stage)))
        if answer.status_code != 200 or code_of(answer) != "passed":
            wrong.append(f"{call}: {answer.status_code} {answer.text}")
        elif late_s and f"{call[0]} {call[1]}" not in READS and call[1] not in ("/handoff", "/completion"):
            await stage.world.settle(stage.controller)
            if await stage.expires_at() <= expired:
                wrong.append(f"{call} did not renew the lease")
        stage.ticket = stage.world.ticket
    assert not wrong, "\n".join(wrong)
