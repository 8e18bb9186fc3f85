"""A corner of a repository that probes may use, and that is left as it was found.

Everything made carries one random word, and is remembered before it is made: what was made though we did not hear of it
is looked for and removed too. Two things GitHub lets nobody remove: check-runs, and a closed pull request or Issue.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from app.doctor.asking import Held, Said, said
from app.domain.model import ZERO_SHA
from app.domain.observation import Pull
from app.github.auth import AppKeys
from app.github.client import GitHub
from app.github.errors import GitHubError, NotFound
from app.github.pulls import PullRefused
from app.github.refs import RefUpdate
from app.github.repository import Repository
from app.github.session import Session

LEDGERS = "refs/agent-recovery/"

_REMOVE_ITEM = """
mutation ProbeRemoveItem($input: DeleteProjectV2ItemInput!) { deleteProjectV2Item(input: $input) { deletedItemId } }
"""


class InUse(Exception):
    """The repository has tickets: probes belong into one that nobody works in."""


@dataclass
class Sandbox:
    """One run of probes in one repository."""

    github: GitHub
    repo: Repository
    base: str
    """The head of the default branch: every commit made here stands on it."""
    keys: tuple[str, ...] = field(repr=False)
    """The App's private keys, to speak as the App itself."""
    word: str = field(default_factory=lambda: secrets.token_hex(4))
    pulls: list[int] = field(default_factory=list)
    issues: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    rulesets: list[int] = field(default_factory=list)
    project_items: list[tuple[str, str]] = field(default_factory=list)
    """Node ids of a project and of an item in it."""

    @classmethod
    async def open(cls, github: GitHub, keys: tuple[str, ...], owner: str, name: str) -> "Sandbox":
        """Look at the repository first. Raises InUse, and GitHubError where the App may not work there."""
        repo = await github.repository(owner, name)
        active = await repo.matching_refs(f"{LEDGERS}active/")
        if active:
            raise InUse(f"{repo.full_name} has {len(active)} tickets in progress")
        base = await repo.commit_of_branch(repo.default_branch)
        if base is None:
            raise InUse(f"{repo.full_name} is empty: give it a first commit")
        return cls(github, repo, base, keys)

    def ref(self, name: str) -> str:
        """A custom ref of this run."""
        return f"{LEDGERS}probe/{self.word}/{name}"

    def branch(self, name: str) -> str:
        """A branch of this run, by its short name."""
        return f"agent-recovery-probe/{self.word}/{name}"

    async def commit(self, message: str, *parents: str, file: str = "probe") -> str:
        """A commit object on `parents` (on the default branch's head by default); no ref names it.

        It holds one file alone, so commits of different `file`s can be merged.
        """
        tree = await self.repo.create_tree({f"{file}-{self.word}.txt": f"{message}\n"})
        return await self.repo.create_commit(tree, parents or (self.base,), message, datetime.now(UTC))

    async def make_branch(self, name: str, sha: str) -> str:
        """A branch of this run at a commit; its short name."""
        short = self.branch(name)
        await self.repo.update_refs([RefUpdate(f"refs/heads/{short}", ZERO_SHA, sha)])
        return short

    async def ask(self, method: str, below: str, body: Any = None, **values: str | int) -> Said:
        """A call below `/repos/OWNER/NAME`, and what GitHub said. `below` is a template for `values`."""
        return await self.ask_as(self.repo.session, method, below, body, **values)

    async def ask_as(self, whose: Session, method: str, below: str, body: Any = None, **values: str | int) -> Said:
        """The same with other credentials. For GET `body` is the query."""
        route = "/repos/{owner}/{repo}" + below
        named = {"owner": self.repo.owner, "repo": self.repo.name, **values}
        if method == "GET":
            return await said(whose.get(route, named, body or {}))
        return await said(whose.write(method, route, named, body))

    def as_app(self) -> Session:
        """The App itself, not its installation."""
        wire = self.repo.session.wire
        return Session(wire, AppKeys(self.github.app_id, self.keys, wire.clock), asyncio.sleep)

    async def installation(self) -> int:
        """The id of the App's installation on this repository."""
        found = await self.ask_as(self.as_app(), "GET", "/installation")
        return int(found.body["id"])

    async def token(self, permissions: Mapping[str, str]) -> Said:
        """Ask for one more token for this repository, with no more than these permissions."""
        body = {"repository_ids": [self.repo.id], "permissions": dict(permissions)}
        route, values = "/app/installations/{id}/access_tokens", {"id": await self.installation()}
        return await said(self.as_app().write("POST", route, values, body))

    def holder(self, authorization: str) -> Session:
        """Whoever sends this header."""
        return Session(self.repo.session.wire, Held(authorization, "probe"), asyncio.sleep)

    async def make_pull(self, name: str, *, base: str = "", draft: bool = False) -> Pull | PullRefused:
        """A pull request of a branch of this run, with one commit on `base` (by default: the default branch)."""
        onto = base or self.repo.default_branch
        parent = (await self.repo.commit_of_branch(base) or self.base) if base else self.base
        head = await self.make_branch(name, await self.commit(name, parent, file=f"head-{name}"))
        title = f"Agent Recovery probe {self.word}"
        pull = await self.repo.create_pull(head, onto, title, "Made by a probe; closed soon.", draft)
        if isinstance(pull, Pull):
            self.pulls.append(pull.number)
        return pull

    async def make_issue(self, title: str = "") -> dict[str, Any]:
        """An Issue of this run. Raises GitHubError."""
        route, values = "/repos/{owner}/{repo}/issues", {"owner": self.repo.owner, "repo": self.repo.name}
        body = {"title": f"Agent Recovery probe {self.word} {title}".rstrip(), "body": "Made by a probe; closed soon."}
        made: dict[str, Any] = (await self.repo.session.write("POST", route, values, body)).body
        self.issues.append(int(made["number"]))
        return made

    async def clean_up(self) -> tuple[str, ...]:
        """Remove what the run made; what could not be removed, in words. Asks GitHub what stands, not only itself."""
        left = await self.remove_rulesets()
        await self._look_for_unheard()
        for number in self.pulls:
            left += await _tried(f"pull request #{number}", self.repo.close_pull(number))
        for number in self.issues:
            left += await _tried(f"Issue #{number}", self._close_issue(number))
        for label in self.labels:
            left += await _tried(f"label {label}", self._write("DELETE", "/labels/{name}", name=label), gone=True)
        for project, item in self.project_items:
            values = {"input": {"projectId": project, "itemId": item}}
            removed = self.repo.session.mutate("ProbeRemoveItem", _REMOVE_ITEM, values)
            left += await _tried(f"project item {item}", removed)
        for prefix in (f"{LEDGERS}probe/{self.word}/", f"refs/heads/{self.branch('')}"):
            left += await _tried(prefix, self._remove(prefix))
        return tuple(left)

    async def remove_rulesets(self) -> list[str]:
        """Guard nothing any more; what could not be removed, in words."""
        left: list[str] = []
        while self.rulesets:
            id = self.rulesets.pop()
            left += await _tried(f"ruleset {id}", self._write("DELETE", "/rulesets/{id}", id=id), gone=True)
        return left

    async def _look_for_unheard(self) -> None:
        """Issues and pull requests that carry our word, made though no answer came."""
        try:
            listed = await self.ask("GET", "/issues", {"state": "open", "per_page": 100})
        except GitHubError:
            return
        for shown in listed.body or ():
            if self.word in str(shown["title"]):
                known = self.pulls if "pull_request" in shown else self.issues
                known += [shown["number"]] if shown["number"] not in known else []

    async def _close_issue(self, number: int) -> None:
        await self._write("DELETE", "/issues/{number}/lock", number=number)
        body = {"state": "closed", "state_reason": "not_planned"}
        await self._write("PATCH", "/issues/{number}", body, number=number)

    async def _write(self, method: str, below: str, body: Any = None, **values: str | int) -> None:
        route = "/repos/{owner}/{repo}" + below
        named = {"owner": self.repo.owner, "repo": self.repo.name, **values}
        await self.repo.session.write(method, route, named, body)

    async def _remove(self, prefix: str) -> None:
        for ref in await self.repo.matching_refs(prefix):
            await self.repo.update_refs([RefUpdate(ref.name, ref.sha, ZERO_SHA)])


async def _tried(what: str, deed: Awaitable[object], *, gone: bool = False) -> list[str]:
    """`gone`: that it is not there is as good."""
    try:
        await deed
    except GitHubError as error:
        return [] if gone and isinstance(error, NotFound) else [f"{what}: {error.message}"]
    return []
