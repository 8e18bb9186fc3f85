"""What one request to the emulated GitHub costs inside a process, as simulations use it.

Usage: python benchmarks/emulator_speed.py

Prints the median and the 95th percentile of each kind of request in milliseconds, beside what is aimed at on two
cores: 3 ms a REST call, 6 ms a GraphQL call, 15 ms a fresh repository. It asserts nothing: times are the machine's.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from app.emulator.inprocess import InProcess

ROUNDS = 200
ZERO = "0" * 40
ISSUES = """query($n:Int!){repository(owner:"dev",name:"demo"){id issue(number:$n){title body state
  labels(first:10){nodes{name}} comments(first:20){nodes{body author{login}}}}}}"""
PULL = """query($n:Int!){repository(owner:"dev",name:"demo"){pullRequest(number:$n){headRefOid isDraft mergeable
  commits(last:1){nodes{commit{oid statusCheckRollup{state}}}}}}}"""
UPDATE = "mutation($i:UpdateRefsInput!){updateRefs(input:$i){clientMutationId}}"


async def measure(title: str, aim_ms: float, call: Callable[[int], Awaitable[object]]) -> None:
    """Run a call many times, one after the other, and print a line."""
    for number in range(5):
        await call(-1 - number)
    took = []
    for number in range(ROUNDS):
        begun = time.perf_counter()
        await call(number)
        took.append((time.perf_counter() - begun) * 1000)
    took.sort()
    print(f"  {title:<44} {statistics.median(took):7.2f} {took[int(len(took) * 0.95)]:7.2f}   {aim_ms:5.0f}")


def seen(answer: httpx.Response) -> httpx.Response:
    """The answer, when it is what was asked for."""
    if answer.is_error or b'"errors"' in answer.content[:200]:
        sys.exit(f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text[:300]}")
    return answer


async def main() -> None:
    """Measure everything in one world."""
    with tempfile.TemporaryDirectory() as folder:
        async with InProcess(Path(folder)) as github:
            token = (await github.control("POST", "/users", login="dev"))["token"]
            repo = await github.control("POST", "/repos", owner="dev", name="demo", branches={"work": {"a": "b"}})
            await github.control("POST", "/limits", secondary=False)
            await github.control("POST", "/rate", identity="user:dev", limit=1_000_000)
            head = repo["branches"]["refs/heads/main"]
            async with github.client(token) as client:
                base = "/repos/dev/demo"
                seen(await client.post(f"{base}/pulls", json={"title": "A change", "head": "work", "base": "main"}))
                for number in range(30):
                    seen(await client.post(f"{base}/issues", json={"title": f"Issue {number}", "body": "text " * 40}))

                async def get(path: str) -> None:
                    seen(await client.get(path))

                async def post(path: str, body: dict[str, object]) -> None:
                    seen(await client.post(path, json=body))

                async def graphql(query: str, **variables: object) -> None:
                    seen(await client.post("/graphql", json={"query": query, "variables": variables}))

                def update(number: int) -> Awaitable[None]:
                    name = f"refs/ledger/{number}"
                    moved = {"name": name, "beforeOid": ZERO, "afterOid": head}
                    return graphql(UPDATE, i={"repositoryId": repo["node_id"], "refUpdates": [moved]})

                print(f"  {'milliseconds':<44} {'median':>7} {'p95':>7}   {'aim':>5}")
                await measure("REST: get an Issue", 3, lambda n: get(f"{base}/issues/7"))
                await measure("REST: list 30 Issues", 3, lambda n: get(f"{base}/issues"))
                await measure("REST: get a pull request", 3, lambda n: get(f"{base}/pulls/1"))
                await measure("REST: comment", 3, lambda n: post(f"{base}/issues/9/comments", {"body": str(n)}))
                await measure(
                    "REST: create a ref",
                    3,
                    lambda n: post(f"{base}/git/refs", {"ref": f"refs/heads/b{n}", "sha": head}),
                )
                await measure("GraphQL: an Issue with its comments", 6, lambda n: graphql(ISSUES, n=7))
                await measure("GraphQL: a pull request with its checks", 6, lambda n: graphql(PULL, n=1))
                await measure("GraphQL: updateRefs", 6, update)
                await measure(
                    "a fresh repository with its first commit",
                    15,
                    lambda n: github.control("POST", "/repos", owner="dev", name=f"fresh{n}"),
                )


if __name__ == "__main__":
    asyncio.run(main())
