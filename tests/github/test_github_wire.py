"""The wire over real sockets: connections are kept, closed at the end, and dropped answers are noticed."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from app.github.client import GitHub
from app.github.errors import ServerError, Unanswered
from app.github.wire import Call

USER = b'{"login": "dev-a", "id": 5, "type": "User"}'
TOKEN = "ghp_" + "a" * 36


class Server:
    """Answers `GET /user`; `rude` requests are read and cut off."""

    def __init__(self) -> None:
        self.connections = 0
        self.open = 0
        self.idle = asyncio.Event()
        self.requests: list[bytes] = []
        self.rude = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        self.idle.clear()
        try:
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                if self.rude:
                    self.rude -= 1
                    return
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(USER)}\r\n\r\n"
                writer.write(head.encode() + USER)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self.open -= 1
            if not self.open:
                self.idle.set()
            writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    answering = Server()
    listening = await asyncio.start_server(answering.serve, "127.0.0.1", 0)
    answering.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield answering
    listening.close()


async def test_one_connection_serves_many_calls_and_is_closed_at_the_end(server: Server, app_key: str) -> None:
    async with GitHub(111, [app_key], server.url) as github:
        for _ in range(5):
            assert (await github.caller(TOKEN)).login == "dev-a"
        assert server.connections == 1
        headers = server.requests[0].decode().lower()
        assert "x-github-api-version: 2022-11-28" in headers
        assert "user-agent: agent-recovery" in headers
    await asyncio.wait_for(server.idle.wait(), 5)
    assert server.open == 0


async def test_a_cut_connection_is_tried_again_for_a_read_and_not_for_a_write(server: Server, app_key: str) -> None:
    async with GitHub(111, [app_key], server.url) as github:
        server.rude = 2
        assert (await github.caller(TOKEN)).login == "dev-a"
        assert len(server.requests) == 3
        server.rude = 1
        write = Call("POST", "/user", writes=True)
        with pytest.raises(Unanswered):
            await github._wire.send(write, authorization="Bearer x", payer="test")
        assert len(server.requests) == 4


async def test_where_nobody_listens_a_read_ends_in_an_error(app_key: str) -> None:
    async with GitHub(111, [app_key], "http://127.0.0.1:9") as github:
        with pytest.raises((Unanswered, ServerError), match="cannot be reached"):
            await github.caller(TOKEN)


@pytest.mark.parametrize(
    ("base_url", "graphql", "git"),
    [
        ("https://api.github.com", "https://api.github.com/graphql", "https://github.com"),
        ("https://api.github.com/", "https://api.github.com/graphql", "https://github.com"),
        ("https://ghe.example/api/v3", "https://ghe.example/api/graphql", "https://ghe.example"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/graphql", "http://127.0.0.1:8080"),
    ],
)
async def test_the_addresses_that_belong_together(base_url: str, graphql: str, git: str, app_key: str) -> None:
    async with GitHub(111, [app_key], base_url) as github:
        assert (github._wire.graphql_url, github._wire.git_url) == (graphql, git)
