"""A small real service for the agent's side: real HTTP, real git over smart HTTP, on 127.0.0.1.

It answers as the agent API's messages say and keeps just enough to do so: one ticket, its lease, the answers by key.
Lost answers are real ones: the call is carried out and the connection is cut.
"""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.domain.record import Lease, Record
from app.domain.token import Claims, issue
from app.ledger.codec import blob_bytes, commit_bytes, draft, tree_bytes
from app.ledger.seals import ServiceSealer

USER_TOKEN = "ghp_" + "agentOwnToken0123456789abcdefghijkl"
LEASE_KEY = b"k" * 32
OWNER, NAME, TICKET = "acme", "shop", 42
BRANCH = "ticket/42-add-prices"
API = f"/api/v1/repos/{OWNER}/{NAME}/tickets/{TICKET}/"
ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 30, 4, 0, tzinfo=UTC)


@dataclass
class Call:
    operation: str
    bearer: str
    body: dict[str, Any]


@dataclass
class StandIn:
    """The service's state. Tests read `calls` and set `faults`, `refusals` and `grant_changes`."""

    bare: Path
    seal_key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    url: str = ""
    generation: int = 0
    holder_claim: str | None = None
    dead: bool = True
    head_sha: str = ""
    base_sha: str = ""
    published_sha: str | None = None
    ledger_head: str = "1" * 40
    sequence: int = 0
    checkpoint: dict[str, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: list[tuple[str, str]] = field(default_factory=list)
    """(operation, kind): the next call of it is hit, once. Kinds: lost (done, no answer), down (503, not done)."""
    refusals: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    grant_changes: dict[str, Any] = field(default_factory=dict)
    verify: list[list[str]] = field(default_factory=list)
    git_requests: list[str] = field(default_factory=list)
    run_tokens: list[str] = field(default_factory=list)
    """Tokens that GitHub Actions gave out and nobody used yet: each is good for one call."""
    issuer_answers: list[tuple[int, Any]] = field(default_factory=list)
    """What is answered instead of the next tokens."""
    asked_for: list[tuple[str, str]] = field(default_factory=list)
    """By which bearer tokens were asked for, and for which audience."""
    git_fault: tuple[str, str] | None = None
    """(end of the path, what happens): a status instead of an answer, or lost (carried out, the connection is cut)."""

    @property
    def clone_url(self) -> str:
        return f"{self.url}/{OWNER}/{NAME}.git"

    @property
    def claims(self) -> Claims:
        return Claims(7001, TICKET, self.generation, f"nonce{self.generation}")

    @property
    def lease_token(self) -> str:
        return issue("k1", LEASE_KEY, self.claims)

    def of(self, operation: str) -> list[Call]:
        return [call for call in self.calls if call.operation == operation]

    def brief(self) -> dict[str, Any]:
        work = {
            "branch": BRANCH,
            "trunk": "release-1-2-0",
            "base_sha": self.base_sha,
            "published_sha": self.published_sha,
            "branch_head": self.published_sha,
            "pr_number": None,
            "pr_state": None,
        }
        return {
            "repository": f"{OWNER}/{NAME}",
            "ticket": TICKET,
            "issue_state": "open",
            "status": "recovering" if self.generation else "unclaimed",
            "generation": self.generation,
            "holder": "first agent" if self.generation else None,
            "lease_expires_at": None,
            "claimable": self.dead,
            "claimable_because": "nobody holds it" if self.dead else "the lease is live",
            "work": work,
            "objective": "Add prices",
            "completed_steps": self.checkpoint.get("completed_steps", []),
            "next_steps": self.checkpoint.get(
                "next_steps", [{"id": "1", "text": "First"}, {"id": "2", "text": "Then"}]
            ),
            "accepted_decisions": self.checkpoint.get("accepted_decisions", []),
            "blockers": [],
            "pending_validation": [],
            "checkpoint": self.checkpoint,
            "findings": [],
            "criteria": [],
            "commands": [],
            "untrusted": {"issue_title": "Add prices \u001b[31m", "issue_body": "- [ ] First\n- [ ] Then"},
            "generated_at": "2026-11-30T04:00:00Z",
        }

    def grant(self) -> dict[str, Any]:
        raw = self.seal_key.public_key().public_bytes_raw()
        grant = {
            "repository": {"id": 7001, "owner": OWNER, "name": NAME, "clone_url": self.clone_url},
            "ticket": TICKET,
            "generation": self.generation,
            "nonce": self.claims.nonce,
            "lease_token": self.lease_token,
            "expires_at": (NOW + timedelta(minutes=15)).isoformat(),
            "ttl_s": 900,
            "heartbeat_every_s": 60,
            "ledger_ref": f"refs/agent-recovery/active/{TICKET}",
            "ledger_head": self.ledger_head,
            "namespace": "refs/agent-recovery",
            "branch": BRANCH,
            "trunk": "release-1-2-0",
            "base_sha": self.base_sha,
            "published_sha": self.published_sha,
            "head_sha": self.head_sha,
            "public_keys": {"s1": base64.b64encode(raw).decode()},
            "verify": self.verify,
            "brief": self.brief(),
        }
        return {**grant, **self.grant_changes}

    def answer(self, operation: str, bearer: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if operation in self.refusals:
            return self.refusals[operation]
        if operation in ("brief", "claim") and bearer != USER_TOKEN:
            if bearer not in self.run_tokens:
                return refusal(401, "unauthenticated")
            self.run_tokens.remove(bearer)
        if operation == "brief":
            return 200, self.brief()
        if operation == "claim":
            return self._claim(body)
        if bearer != self.lease_token:
            return refusal(409, "stale_generation", holder="second agent", generation=self.generation)
        if operation == "heartbeat":
            self.ledger_head = body.get("ledger_head") or self.ledger_head
            return 200, {
                "generation": self.generation,
                "status": "working",
                "expires_at": "2026-11-30T04:15:00Z",
                "ledger_head": self.ledger_head,
            }
        return self._write(operation, body)

    def issue_run_token(self, bearer: str, query: str) -> tuple[int, Any]:
        """What GitHub Actions answers the job that asks for a token."""
        asked = parse_qs(query)
        self.asked_for.append((bearer, asked["audience"][0]))
        if self.issuer_answers:
            return self.issuer_answers.pop(0)
        self.run_tokens.append(f"eyJhbGciOiJSUzI1NiJ9.eyJudW1iZXIi{len(self.asked_for)}.c2lnbmF0dXJl")
        return 200, {"count": 1, "value": self.run_tokens[-1]}

    def _claim(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if body["claim_id"] != self.holder_claim:
            if not self.dead:
                return refusal(409, "lease_live", holder="first agent", generation=self.generation)
            if body["observed_generation"] != self.generation:
                return refusal(409, "lost_race", generation=self.generation)
            self.generation += 1
            self.holder_claim, self.dead = body["claim_id"], False
        return 200, self.grant()

    def _write(self, operation: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if body["key"] in self.answers:
            return 200, {**self.answers[body["key"]], "repeated": True}
        self.sequence += 1
        if operation == "checkpoint":
            self.checkpoint = body["checkpoint"]
        if operation == "handoff":
            self.dead, self.holder_claim = True, None
        answer = {
            "generation": self.generation,
            "sequence": self.sequence,
            "status": body.get("status", "working"),
            "hard": False,
            "soft_because": ["the code commit is not on the remote"],
        }
        self.answers[body["key"]] = answer
        return 200, answer


def refusal(status: int, code: str, **more: Any) -> tuple[int, dict[str, Any]]:
    detail = {"code": code, "message": f"because of {code}", "next_action": "do the right thing", "retryable": False}
    return status, {"error": {**detail, **more}}


class Handler(BaseHTTPRequestHandler):
    stand_in: StandIn
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        if self.path.startswith(API):
            self._api(self.path[len(API) :])
        elif self.path.startswith("/idtoken?"):
            bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
            self._send(*self.stand_in.issue_run_token(bearer, self.path.partition("?")[2]))
        else:
            self._git()

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _api(self, operation: str) -> None:
        raw = self._body()
        body = json.loads(raw) if raw else {}
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        world = self.stand_in
        world.calls.append(Call(operation, bearer, body))
        fault = next((f for f in world.faults if f[0] == operation), None)
        if fault:
            world.faults.remove(fault)
        if fault and fault[1] == "down":
            self._send(*refusal(503, "unavailable"))
            return
        status, answer = world.answer(operation, bearer, body)
        if fault and fault[1] == "lost":
            self.close_connection = True
            self.connection.close()
            return
        self._send(status, answer)

    def _send(self, status: int, answer: Any) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _git(self) -> None:
        body = self._body()
        world = self.stand_in
        path, _, query = self.path.partition("?")
        through_service = path.startswith("/git/")
        user = f"agent:{world.lease_token}" if through_service else f"x-access-token:{USER_TOKEN}"
        expected = base64.b64encode(user.encode()).decode()
        if self.headers.get("Authorization") != f"Basic {expected}":
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        world.git_requests.append(path)
        path = path.removeprefix("/git")
        hit = world.git_fault is not None and self.path.endswith(world.git_fault[0])
        if hit and world.git_fault is not None and world.git_fault[1] != "lost":
            self.send_response(int(world.git_fault[1]))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(world.bare.parent),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path.replace(f"/{OWNER}/{NAME}.git", f"/{world.bare.name}"),
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_USER": "agent",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
        if hit:
            self.close_connection = True
            self.connection.close()
            return
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        lines = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(lines.pop("Status", "200 OK").split()[0]))
        for name, value in lines.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


@dataclass
class World:
    """One repository, one service, and as many agents' folders as a test wants."""

    root: Path
    service: StandIn
    outcomes: list[Outcome] = field(default_factory=list)

    def folder(self, name: str) -> Path:
        place = self.root / name
        place.mkdir(exist_ok=True)
        return place

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Agent",
            "GIT_AUTHOR_EMAIL": "agent@example.com",
            "GIT_COMMITTER_NAME": "Agent",
            "GIT_COMMITTER_EMAIL": "agent@example.com",
            "AGENT_RECOVERY_URL": self.service.url,
            "AGENT_RECOVERY_REPO": f"{OWNER}/{NAME}",
            "GITHUB_TOKEN": USER_TOKEN,
            **more,
        }

    def run(self, folder: Path, *arguments: str, **environment: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "app.cli", *arguments],
            cwd=folder,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            check=False,
        )
        outcome = Outcome(done.returncode, done.stdout, done.stderr)
        self.outcomes.append(outcome)
        return outcome

    def git(self, folder: Path, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=self.environment(), capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def write_ledger(self, *, event: str, holder: str = "first agent", **changes: Any) -> str:
        """A ledger commit of the service for the present generation, straight into the bare repository."""
        service = self.service
        ref = f"refs/agent-recovery/active/{TICKET}"
        lease = Lease(
            generation=service.generation,
            nonce=service.claims.nonce,
            holder=holder,
            login="dev-a",
            claim_id_hash="0" * 64,
            granted_at=NOW,
            expires_at=NOW + timedelta(minutes=15),
        )
        parent = self.ledger_head()
        sequence = self.record(parent)["sequence"] + 1 if parent else 1
        fields = {"status": "working", "published": self._published(), **changes}
        made = draft(
            ref=ref,
            parent=parent,
            code_parent=None,
            record=Record(ticket=TICKET, sequence=sequence, generation=service.generation, lease=lease, **fields),
            event=event,
            repository_id=service.claims.repository_id,
            sealer=ServiceSealer("s1", service.seal_key),
            request=None,
            when=NOW,
        )
        self._store("blob", blob_bytes(made.record_text))
        self._store("tree", tree_bytes(made.record_text))
        service.ledger_head = self._store("commit", commit_bytes(made))
        self.git(service.bare, "update-ref", ref, service.ledger_head)
        return service.ledger_head

    def take_over(self) -> None:
        """Somebody else is the holder from now on."""
        self.service.generation += 1
        self.service.dead = False
        self.write_ledger(event="claimed", holder="second agent", status="recovering")

    def ledger_head(self) -> str | None:
        return self.server_ref(f"refs/agent-recovery/active/{TICKET}")

    def server_ref(self, ref: str) -> str | None:
        return self.git(self.service.bare, "for-each-ref", "--format=%(objectname)", ref) or None

    def record(self, commit: str | None = None) -> dict[str, Any]:
        value = json.loads(self.git(self.service.bare, "show", f"{commit or self.ledger_head()}:record.json"))
        assert isinstance(value, dict)
        return value

    def _published(self) -> dict[str, Any] | None:
        head = self.ledger_head()
        return self.record(head)["published"] if head else None

    def _store(self, kind: str, data: bytes) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.service.bare), "hash-object", "-w", "-t", kind, "--stdin"],
            input=data,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def holder(self, name: str = "agent") -> Path:
        """A folder whose agent holds the ticket, with a ledger on the server."""
        folder = self.folder(name)
        # The ledger's first head is written before the claim, as the claim itself would.
        self.service.generation += 1
        self.write_ledger(event="claimed", status="recovering")
        self.service.generation -= 1
        done = self.run(folder, "recover", str(TICKET))
        assert done.code == 0, done.err
        return folder

    def commit(self, folder: Path, name: str, text: str = "x\n") -> str:
        (folder / name).write_text(text)
        self.git(folder, "add", name)
        self.git(folder, "commit", "-qm", f"Add {name}")
        return self.git(folder, "rev-parse", "HEAD")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    bare = tmp_path / "server" / "shop.git"
    bare.parent.mkdir()
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    for name, value in (("http.receivepack", "true"), ("uploadpack.allowAnySHA1InWant", "true")):
        subprocess.run(["git", "-C", str(bare), "config", name, value], check=True)
    made = World(tmp_path, StandIn(bare))
    seed = made.folder("seed")
    made.git(seed, "init", "-q", "-b", "main")
    (seed / "check.py").write_text("import os, sys\nprint('checked', sorted(k for k in os.environ if 'TOKEN' in k))\n")
    made.git(seed, "add", "check.py")
    made.git(seed, "commit", "-qm", "Start")
    made.git(seed, "push", "-q", str(bare), "main:main", "main:release-1-2-0")
    made.service.base_sha = made.service.head_sha = made.git(seed, "rev-parse", "HEAD")
    handler = type("BoundHandler", (Handler,), {"stand_in": made.service})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    made.service.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()
    _no_secret_anywhere(made)


def _no_secret_anywhere(world: World) -> None:
    """After every test: no token in any output, nor in any git configuration."""
    configs = [path.read_text() for path in world.root.glob("*/.git/config")]
    for text in [*configs, *(o.out + o.err for o in world.outcomes if "password=" not in o.out)]:
        assert USER_TOKEN not in text
        assert "arl_" not in text
        assert "eyJhbGci" not in text
