"""A service on real parts (database, poke store, intake, keys); only the loop and GitHub's people are stand-ins."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from app.controller.database import Database
from app.controller.keyring import Keyring
from app.controller.pokes import PokeStore
from app.controller.stops import Stops
from app.domain import token
from app.domain.agent_api import HeartbeatAnswer, WriteAnswer
from app.domain.outcome import Blocked, Code, Refused
from app.domain.token import Claims
from app.github.client import Caller, GitHub, Installation
from app.github.errors import NotFound
from app.service.app import create_app
from app.service.callers import Callers
from app.service.github_watch import GitHubWatch
from app.service.intake import WebhookIntake
from app.service.keys import new_keys, parse_lease_keys, parse_seal_keys, parse_secrets
from app.service.running import Parts
from app.service.settings import Settings

WRITER = "ghp_writer0000000000000000000000000000000"
READER = "ghp_reader0000000000000000000000000000000"
STRANGER = "ghp_stranger00000000000000000000000000000"
_ACCOUNTS = {WRITER: ("wanda", "write"), READER: ("rita", "read"), STRANGER: ("sam", "none")}


@pytest.fixture(scope="session")
def app_pem() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@dataclass
class People:
    """GitHub's answers about accounts. `asked` counts the calls; `failure` is raised instead of a permission."""

    asked: list[str] = field(default_factory=list)
    failure: Exception | None = None

    async def caller(self, user_token: str) -> Caller:
        self.asked.append("caller")
        if user_token not in _ACCOUNTS:
            raise Refused(Blocked(Code.UNAUTHENTICATED, "GitHub does not accept this token", "send another"))
        return Caller(_ACCOUNTS[user_token][0], 7, "User")

    async def repository(self, owner: str, name: str) -> Any:
        if (owner, name) != ("acme", "shop"):
            raise NotFound("Not Found")
        return SimpleNamespace(id=5, owner=owner, name=name)

    async def permission(self, _repository: Any, login: str) -> str:
        self.asked.append("permission")
        if self.failure is not None:
            raise self.failure
        return dict(_ACCOUNTS.values())[login]

    async def installations(self) -> list[Installation]:
        if self.failure is not None:
            raise self.failure
        return [Installation(1, "acme", False), Installation(2, "other", True)]


@pytest.fixture
def people() -> People:
    return People()


class Loop:
    """Stands for the controller: keeps what it was asked, answers or raises what the test says."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.problem: Exception | None = None
        self.swept = asyncio.Event()
        self.working = asyncio.Event()
        self.finished = False

    async def start_up(self) -> None:
        self.swept.set()

    async def work(self, stop: Any) -> None:
        self.working.set()
        await stop.wait()
        self.finished = True

    def _take(self, *call: Any) -> None:
        self.calls.append(call)
        if self.problem is not None:
            raise self.problem

    async def claim(self, owner: str, repo: str, ticket: int, request: Any, login: str, run: Any = None) -> Any:
        self._take("claim", owner, repo, ticket, request, login, *_given(run))

    async def brief(self, owner: str, repo: str, ticket: int, run: Any = None) -> Any:
        self._take("brief", owner, repo, ticket, *_given(run))

    async def evidence(self, owner: str, repo: str, ticket: int, claims: Claims, request: Any) -> Any:
        self._take("evidence", ticket, claims, request)
        return WriteAnswer(generation=1, sequence=2, status="working")

    async def checkpoint(self, owner: str, repo: str, ticket: int, claims: Claims, request: Any) -> Any:
        self._take("checkpoint", ticket, claims, request)
        return WriteAnswer(generation=1, sequence=2, status="working")

    async def validation(self, owner: str, repo: str, ticket: int, claims: Claims, request: Any) -> Any:
        self._take("validation", ticket, claims, request)
        return WriteAnswer(generation=1, sequence=2, status="working")

    async def handoff(self, owner: str, repo: str, ticket: int, claims: Claims, request: Any) -> Any:
        self._take("handoff", ticket, claims, request)
        return WriteAnswer(generation=1, sequence=2, status="unclaimed")

    async def heartbeat(self, owner: str, repo: str, ticket: int, claims: Claims, request: Any) -> Any:
        self._take("heartbeat", ticket, claims, request)
        moment = datetime(2026, 11, 30, tzinfo=UTC)
        return HeartbeatAnswer(generation=1, status="working", expires_at=moment, ledger_head="a" * 40)


def _given(run: Any) -> tuple[Any, ...]:
    return () if run is None else (run,)


@dataclass
class Service:
    """The service under test: an HTTP client on it, and the stand-ins behind it."""

    http: httpx.AsyncClient
    loop: Loop
    people: People
    parts: Parts

    def lease_token(self, ticket: int = 42) -> str:
        kid, key = next(iter(self.parts.keyring.lease_keys.items()))
        return token.issue(kid, key, Claims(repository_id=5, ticket=ticket, generation=1, nonce="n" * 16))


@pytest.fixture
async def service(tmp_path: Path, app_pem: str, people: People) -> AsyncIterator[Service]:
    keys = new_keys()
    settings = Settings(
        app_id=111,
        app_private_key=app_pem,
        webhook_secret=keys.webhook_secret,
        seal_keys=keys.seal_keys,
        lease_keys=keys.lease_keys,
        database_url=f"sqlite:///{tmp_path}/service.db",
    )
    loop = Loop()

    def make(settings: Settings) -> Parts:
        database = Database(settings.database_url.get_secret_value())
        github = GitHub(111, [app_pem], "http://127.0.0.1:9")
        pokes = PokeStore(database, github.clock.now)
        keyring = Keyring(parse_seal_keys(keys.seal_keys), parse_lease_keys(keys.lease_keys))
        return Parts(
            settings=settings,
            database=database,
            pokes=pokes,
            github=github,
            keyring=keyring,
            loop=loop,
            callers=Callers(people, keyring.lease_keys),
            intake=WebhookIntake(parse_secrets(keys.webhook_secret), pokes, own_app_id=111),
            watch=GitHubWatch(people, github.clock.now),
            boot_id="boot",
            stops=Stops(database),
        )

    app = create_app(settings, make)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as http:
            yield Service(http, loop, people, app.state.running.parts)
