"""How many signed deliveries a second the intake acknowledges, each poke durable before its 2xx.

Usage: python -m benchmarks.webhook_intake [--requests 5000] [--connections 16] [--database URL]

A real server process (uvicorn, SQLite with synchronous=FULL unless a URL is given) gets deliveries of
10 KB over kept-alive connections. The sender shares the machine with the server, so the rate is a lower
bound. Afterwards the database is read: a key that was acknowledged and is missing ends in exit code 1.
"""

import argparse
import asyncio
import hashlib
import hmac
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from app.controller.clock import system_clock
from app.controller.database import Database
from app.controller.pokes import PokeStore

SECRET = b"benchmark-secret"
BODY_BYTES = 10_000
DEADLINE = 300  # seconds for the whole load


def serve(url: str) -> None:
    """Run the intake alone; prints the port it got."""
    import structlog
    import uvicorn

    from app.service.intake import WebhookIntake

    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    intake = WebhookIntake([SECRET], PokeStore(Database(url), system_clock), own_app_id=111)
    # With the protocol named, asyncio switches Nagle's delay off; else every answer waits 40 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(256)
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(intake, lifespan="off", log_level="warning", access_log=False)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


def deliveries(count: int) -> Iterator[bytes]:
    """Complete HTTP requests, each for a ticket of its own."""
    for number in range(1, count + 1):
        issue = {"number": number, "title": "A title", "user": {"login": "dev-a", "id": 7}}
        payload = {"action": "edited", "issue": issue, "repository": {"full_name": "octo-org/demo"}}
        issue["body"] = "b" * (BODY_BYTES - len(json.dumps(payload)) - len('"body": "", '))
        body = json.dumps(payload).encode()
        digest = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
        head = (
            "POST /webhook HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nX-GitHub-Event: issues\r\nX-GitHub-Delivery: d-{number}\r\n"
            f"X-Hub-Signature-256: sha256={digest}\r\n\r\n"
        )
        yield head.encode() + body


async def send(port: int, requests: Iterator[bytes], latencies: list[float]) -> None:
    """One connection: the next request goes out when the last was answered with 202."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in requests:
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        latencies.append(time.perf_counter() - began)
        if not head.startswith(b"HTTP/1.1 202"):
            raise RuntimeError(head.decode("latin-1"))
    writer.close()
    await writer.wait_closed()


async def measure(port: int, count: int, connections: int) -> tuple[float, list[float]]:
    """Seconds for all requests, and the seconds of each."""
    requests, latencies = iter(list(deliveries(count))), list[float]()
    began = time.perf_counter()
    async with asyncio.timeout(DEADLINE):
        await asyncio.gather(*(send(port, requests, latencies) for _ in range(connections)))
    return time.perf_counter() - began, latencies


async def stored(url: str) -> int:
    """How many keys the database holds."""
    database = Database(url)
    store = PokeStore(database, lambda: system_clock() + timedelta(hours=1), claim=timedelta(days=1))
    count = 0
    while await store.take("benchmark") is not None:
        count += 1
    database.close()
    return count


def main() -> int:
    """Measure once and print one line."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--requests", type=int, default=5000)
    options.add_argument("--connections", type=int, default=16)
    options.add_argument("--database", help="an empty database (default: a new SQLite file)")
    options.add_argument("--serve", metavar="URL", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        serve(given.serve)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        url = given.database or f"sqlite:///{folder}/service.db"
        command = [sys.executable, "-m", "benchmarks.webhook_intake", "--serve", url]
        with subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE) as server:
            try:
                port = int(server.stdout.readline() if server.stdout else 0)
                seconds, latencies = asyncio.run(measure(port, given.requests, given.connections))
            finally:
                server.kill()
        kept = asyncio.run(stored(url))
    latencies.sort()
    median, worst = (latencies[int(len(latencies) * part)] * 1000 for part in (0.5, 0.99))
    print(
        f"{len(latencies) / seconds:.0f} deliveries/s, median {median:.1f} ms, p99 {worst:.1f} ms, "
        f"{given.connections} connections, {kept} of {len(latencies)} kept after kill -9"
    )
    return 0 if kept == len(latencies) else 1


if __name__ == "__main__":
    sys.exit(main())
