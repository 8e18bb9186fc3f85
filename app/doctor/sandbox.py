"""A corner of a repository that probes may use, and that is left as it was found.

Everything made carries one random word, and is remembered before it is made: what was made though we did not hear of it
is looked for and removed too. Two things GitHub lets nobody remove: check-runs, and a closed pull request or Issue.
"""

import secrets
from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.domain.model import ZERO_SHA
from app.github.client import GitHub
from app.github.errors import GitHubError
from app.github.refs import RefUpdate
from app.github.repository import Repository

LEDGERS = "refs/agent-recovery/"


class InUse(Exception):
    """The repository has tickets: probes belong into one that nobody works in."""


@dataclass
class Sandbox:
    """One run of probes in one repository."""

    github: GitHub
    repo: Repository
    base: str
    """The head of the default branch: every commit made here stands on it."""
    word: str = field(default_factory=lambda: secrets.token_hex(4))
    pulls: list[int] = field(default_factory=list)
    issues: list[int] = field(default_factory=list)

    @classmethod
    async def open(cls, github: GitHub, owner: str, name: str) -> "Sandbox":
        """Look at the repository first. Raises InUse, and GitHubError where the App may not work there."""
        repo = await github.repository(owner, name)
        active = await repo.matching_refs(f"{LEDGERS}active/")
        if active:
            raise InUse(f"{repo.full_name} has {len(active)} tickets in progress")
        base = await repo.commit_of_branch(repo.default_branch)
        if base is None:
            raise InUse(f"{repo.full_name} is empty: give it a first commit")
        return cls(github, repo, base)

    def ref(self, name: str) -> str:
        """A custom ref of this run."""
        return f"{LEDGERS}probe/{self.word}/{name}"

    def branch(self, name: str) -> str:
        """A branch of this run, by its short name."""
        return f"agent-recovery-probe/{self.word}/{name}"

    async def commit(self, message: str, *parents: str) -> str:
        """A commit object on `parents` (on the default branch's head by default); no ref names it."""
        tree = await self.repo.create_tree({f"probe-{self.word}.txt": f"{message}\n"})
        return await self.repo.create_commit(tree, parents or (self.base,), message, datetime.now(UTC))

    async def make_branch(self, name: str, sha: str) -> str:
        """A branch of this run at a commit; its short name."""
        short = self.branch(name)
        await self.repo.update_refs([RefUpdate(f"refs/heads/{short}", ZERO_SHA, sha)])
        return short

    async def clean_up(self) -> tuple[str, ...]:
        """Remove what the run made; what could not be removed, in words. Asks GitHub what stands, not only itself."""
        left: list[str] = []
        for number in self.pulls:
            left += await _tried(f"pull request #{number}", self.repo.close_pull(number))
        for number in self.issues:
            closing = self.repo.session.write(
                "PATCH",
                "/repos/{owner}/{repo}/issues/{number}",
                {"owner": self.repo.owner, "repo": self.repo.name, "number": number},
                {"state": "closed", "state_reason": "not_planned"},
            )
            left += await _tried(f"Issue #{number}", closing)
        for prefix in (f"{LEDGERS}probe/{self.word}/", f"refs/heads/{self.branch('')}"):
            left += await _tried(prefix, self._remove(prefix))
        return tuple(left)

    async def _remove(self, prefix: str) -> None:
        for ref in await self.repo.matching_refs(prefix):
            await self.repo.update_refs([RefUpdate(ref.name, ref.sha, ZERO_SHA)])


async def _tried(what: str, deed: Awaitable[object]) -> list[str]:
    try:
        await deed
    except GitHubError as error:
        return [f"{what}: {error.message}"]
    return []
