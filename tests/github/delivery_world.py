"""A trunk, people, and the App's own view of the repository, on an emulated GitHub inside the test's process."""

import asyncio
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import httpx

from app.domain.pull_class import TicketPull
from app.emulator.inprocess import URL, InProcess
from app.github.client import GitHub
from app.github.repository import Repository

NAME = "acme/shop"
PERMISSIONS = {
    "metadata": "read",
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "statuses": "write",
    "merge_queues": "write",
    "organization_projects": "write",
}


def as_ticket(pull: dict[str, Any], sha: str | None = None) -> TicketPull:
    """A pull request as `landable` gives it, without the look that it judges by; `sha` for another head."""
    made = object.__new__(TicketPull)
    fields = {
        "number": pull["number"],
        "node_id": pull["node_id"],
        "head": pull["head"]["ref"],
        "head_sha": sha or pull["head"]["sha"],
        "base": pull["base"]["ref"],
        "is_draft": pull["draft"],
        "ticket": 1,
    }
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


class DeliveryWorld:
    """Use as `async with`. `wanda` may write and opens what is opened, `boss` owns the rules."""

    repository: Repository
    github: GitHub
    wanda: httpx.AsyncClient
    boss: httpx.AsyncClient
    app: dict[str, Any]

    def __init__(self, folder: Path, permissions: dict[str, str] = PERMISSIONS) -> None:
        self.emulated = InProcess(folder)
        self._permissions = permissions
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> Self:
        world = await self.emulated.__aenter__()
        await world.control("POST", "/orgs", login="acme")
        people = {login: (await world.control("POST", "/users", login=login))["token"] for login in ("wanda", "boss")}
        await world.control(
            "POST",
            "/repos",
            owner="acme",
            name="shop",
            files={"README.md": "shop\n"},
            branches={"release-1": None},
            collaborators={"wanda": "write", "boss": "admin"},
        )
        self.app = await world.control(
            "POST", "/apps", slug="agent-recovery", name="agent-recovery", permissions=self._permissions, events=[]
        )
        await world.control("POST", "/installations", app="agent-recovery", account="acme", repositories="all")
        self.wanda, self.boss = (world.client(people[login]) for login in ("wanda", "boss"))
        self.github = GitHub(
            self.app["id"], [self.app["pem"]], URL, transport=world.transport, sleep=lambda seconds: asyncio.sleep(0)
        )
        self.repository = await self.github.repository("acme", "shop")
        return self

    async def __aexit__(self, *ended: Any) -> None:
        await self.github.aclose()
        for client in (self.wanda, self.boss):
            await client.aclose()
        await self.emulated.__aexit__(*ended)

    async def pull(self, files: dict[str, str] | None = None, branch: str | None = None) -> dict[str, Any]:
        """A branch with a commit, and its pull request onto the trunk."""
        name = branch or f"ticket/{next(self._numbers)}"
        await self.commit(name, files or {f"{name.replace('/', '-')}.txt": "done\n"}, of="release-1")
        made = await self.wanda.post(f"/repos/{NAME}/pulls", json={"title": "T", "head": name, "base": "release-1"})
        found: dict[str, Any] = made.raise_for_status().json()
        return found

    async def commit(self, branch: str, files: Mapping[str, str | None], of: str | None = None) -> str:
        """A commit by wanda on a branch, which is made from `of` where it is new."""
        if of is not None:
            at = self.emulated.git(NAME).branch(of)
            ref = {"ref": f"refs/heads/{branch}", "sha": at}
            (await self.wanda.post(f"/repos/{NAME}/git/refs", json=ref)).raise_for_status()
        made = await self.emulated.control(
            "POST", "/commits", repo=NAME, files=dict(files), branch=branch, author="wanda"
        )
        return str(made["sha"])

    async def report(self, sha: str, name: str, conclusion: str | None = "success") -> None:
        """A check-run by the App; `conclusion` None for one that runs."""
        ended = {"conclusion": conclusion} if conclusion else {"status": "in_progress"}
        route, values = "/repos/{owner}/{repo}/check-runs", {"owner": "acme", "repo": "shop"}
        await self.repository.session.write("POST", route, values, {"name": name, "head_sha": sha, **ended})

    async def rules(self, *rules: dict[str, Any], on: str = "release-1") -> None:
        """An active ruleset on a branch."""
        names = {"ref_name": {"include": [f"refs/heads/{on}"], "exclude": []}}
        fields = {"name": f"r{next(self._numbers)}", "enforcement": "active", "conditions": names, "rules": list(rules)}
        (await self.boss.post(f"/repos/{NAME}/rulesets", json=fields)).raise_for_status()

    async def protect(self, **fields: Any) -> None:
        """Classic protection of the trunk."""
        unset = {
            "required_status_checks": None,
            "enforce_admins": None,
            "required_pull_request_reviews": None,
            "restrictions": None,
        }
        answer = await self.boss.put(f"/repos/{NAME}/branches/release-1/protection", json=unset | fields)
        answer.raise_for_status()

    def sent(self) -> int:
        """How many requests the App has sent so far."""
        return self.github.meter.snapshot().total
