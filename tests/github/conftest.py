"""A GitHub that answers what a test tells it to, and a clock that moves only by sleeping."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
import respx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from app.github.budget import Meter
from app.github.client import GitHub
from app.github.clock import GitHubClock
from app.github.repository import Repository

sys.path.insert(0, str(Path(__file__).parent))  # for the world that the tests of landing share

API = "https://api.github.com"


class Time:
    """Local time under the test's hand; `slept` is what the code asked to sleep."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.epoch = 1_800_000_000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.seconds

    def system(self) -> float:
        return self.epoch + self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


def pem() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


@pytest.fixture(scope="session")
def app_key() -> str:
    return pem()


@pytest.fixture(scope="session")
def second_key() -> str:
    return pem()


@pytest.fixture
def time_() -> Time:
    return Time()


@pytest.fixture
def clock(time_: Time) -> GitHubClock:
    return GitHubClock(monotonic=time_.monotonic, system=time_.system)


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
def wire() -> Iterator[respx.MockRouter]:
    """The mocked GitHub. A request no route was set for fails the test."""
    router = respx.MockRouter(base_url=API, assert_all_called=False)
    yield router
    router.reset()


@pytest.fixture
async def github(
    wire: respx.MockRouter, clock: GitHubClock, meter: Meter, time_: Time, app_key: str
) -> AsyncIterator[GitHub]:
    transport = httpx.MockTransport(wire.async_handler)
    async with GitHub(111, [app_key], API, clock, meter, transport, sleep=time_.sleep) as client:
        yield client


@pytest.fixture
def tokens(wire: respx.MockRouter, clock: GitHubClock) -> respx.Route:
    """Mints `ghs_1…`, `ghs_2…` and so on for installation 7, each good for an hour."""
    count = 0

    def mint(request: httpx.Request) -> httpx.Response:
        nonlocal count
        count += 1
        expires = clock.now().timestamp() + 3600
        return httpx.Response(201, json={"token": f"ghs_{count}{'x' * 30}", "expires_at": _utc(expires)})

    return wire.post("/app/installations/7/access_tokens").mock(side_effect=mint)


@pytest.fixture
async def repository(github: GitHub, wire: respx.MockRouter, tokens: respx.Route) -> Repository:
    wire.get("/repos/octo-org/demo/installation").respond(json={"id": 7})
    wire.get("/repos/octo-org/demo").respond(
        json={
            "id": 3_000_000_001,
            "node_id": "R_1",
            "name": "demo",
            "owner": {"login": "octo-org"},
            "private": True,
            "default_branch": "main",
        }
    )
    return await github.repository("octo-org", "demo")


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
