"""The independent reader: what GitHub shows, read with PyGithub and git, under a user token of its own.

Nothing here asks the App anything or shares code with it, so that a fault of the App cannot hide itself.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from github import Auth, Github, GithubException, GithubIntegration
from github.CheckRun import CheckRun
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest
from github.Repository import Repository
from urllib3 import Retry

from app.drill.git_reader import GitReader, LedgerCommit
from app.drill.proof import Unproved

CHECK_NAME = "Agent Recovery"
_JSON_BLOCK = re.compile(r"^(`{3,})json[^\n]*\n(.*?)^\1`*\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class AppIdentity:
    """Who the App is on GitHub; the key only serves to ask GitHub where it is installed."""

    id: int
    slug: str
    private_key: str

    @property
    def login(self) -> str:
        return f"{self.slug}[bot]"


class Observer:
    """One repository as somebody with read access sees it."""

    def __init__(self, *, api_url: str, clone_url: str, repository: str, token: str, folder: Path) -> None:
        self.api_url = api_url
        self.full_name = repository
        self.owner = repository.partition("/")[0]
        self._github = Github(
            auth=Auth.Token(token),
            base_url=api_url,
            seconds_between_requests=None,
            seconds_between_writes=None,
            # Reads only: a pooled connection that the server closed in the same moment is no finding.
            retry=Retry(total=3, status=0, allowed_methods=["GET"], backoff_factor=0.1),
            per_page=100,
        )
        self._repository: Repository | None = None
        self.git = GitReader(folder, clone_url, token)

    @property
    def repository(self) -> Repository:
        if self._repository is None:
            self._repository = self._github.get_repo(self.full_name)
        return self._repository

    # Raising `Unproved` where something does not stand: proofs turn it into their answer.

    def installation(self, app: AppIdentity) -> int:
        """The id of the App's installation on this repository, by GitHub's own answer."""
        asker = GithubIntegration(
            auth=Auth.AppAuth(app.id, app.private_key),
            base_url=self.api_url,
            seconds_between_requests=None,
            seconds_between_writes=None,
        )
        owner, _, name = self.full_name.partition("/")
        try:
            return asker.get_repo_installation(owner, name).id
        except GithubException as error:
            raise Unproved(f"GitHub knows no installation of {app.slug} here ({error.status})") from error

    def branch(self, name: str) -> str:
        """The head of a branch."""
        found = self.heads(name)
        if name not in found:
            raise Unproved(f"the branch {name} does not stand")
        return found[name]

    def heads(self, prefix: str) -> dict[str, str]:
        """The heads of all branches whose names begin so."""
        found = self.repository.get_git_matching_refs(f"heads/{prefix}")
        return {r.ref.removeprefix("refs/heads/"): r.object.sha for r in found}

    def file(self, path: str, ref: str) -> tuple[str, str]:
        """A file's blob id and text."""
        try:
            content = self.repository.get_contents(path, ref=ref)
        except GithubException as error:
            raise Unproved(f"{path} is not on {ref} ({error.status})") from error
        if isinstance(content, list):
            raise Unproved(f"{path} is a folder")
        return content.sha, content.decoded_content.decode("utf-8", "replace")

    def ledger_ref(self, ticket: int) -> str:
        """Where the ledger of a ticket in progress points."""
        ref = f"refs/agent-recovery/active/{ticket}"
        found = {r.ref: r.object.sha for r in self.repository.get_git_matching_refs(ref.removeprefix("refs/"))}
        if ref not in found:
            raise Unproved(f"{ref} does not stand")
        return found[ref]

    def ledger(self, ticket: int) -> list[LedgerCommit]:
        """The ledger of a ticket in progress, newest first."""
        self.git.fetch()
        head = self.git.refs(f"refs/agent-recovery/active/{ticket}").get(f"refs/agent-recovery/active/{ticket}")
        if head is None:
            raise Unproved(f"refs/agent-recovery/active/{ticket} does not stand")
        entries = self.git.ledger(head)
        if not entries:
            raise Unproved(f"refs/agent-recovery/active/{ticket} holds no ledger commit")
        return entries

    def ledger_refs(self, ticket: int) -> dict[str, str]:
        """Where a ticket's ledger lies, in progress or ended."""
        names = [f"refs/agent-recovery/{place}/{ticket}" for place in ("active", "done")]
        found = [r for name in names for r in self.repository.get_git_matching_refs(name.removeprefix("refs/"))]
        return {r.ref: r.object.sha for r in found if r.ref in names}

    def ledger_anywhere(self, ticket: int) -> list[LedgerCommit]:
        """The ledger of a ticket wherever it lies, newest first."""
        self.git.fetch()
        refs = self.git.refs("refs/agent-recovery/")
        names = [f"refs/agent-recovery/{place}/{ticket}" for place in ("active", "done")]
        head = next((refs[name] for name in names if name in refs), None)
        if head is None:
            raise Unproved(f"#{ticket} has no ledger")
        return self.git.ledger(head)

    def kept(self, ticket: int) -> dict[str, str]:
        """The foreign heads kept under `recovered/`, by ref."""
        return {
            r.ref: r.object.sha for r in self.repository.get_git_matching_refs(f"agent-recovery/recovered/{ticket}/")
        }

    def pulls(self, head: str) -> list[PullRequest]:
        """Every pull request of a head branch, open and closed."""
        return list(self.repository.get_pulls(state="all", head=f"{self.owner}:{head}"))

    def only_pull(self, head: str) -> PullRequest:
        pulls = self.pulls(head)
        if len(pulls) != 1:
            raise Unproved(f"{len(pulls)} pull requests have the head {head}, not one")
        return pulls[0]

    def comments(self, number: int, app: AppIdentity) -> list[IssueComment]:
        """The App's comments on an Issue or pull request, oldest first."""
        return [c for c in self.repository.get_issue(number).get_comments() if c.user and c.user.login == app.login]

    def check_runs(self, sha: str, app: AppIdentity, name: str = CHECK_NAME) -> list[CheckRun]:
        """The App's check-runs of a name on a commit, every one of them."""
        runs = self.repository.get_commit(sha).get_check_runs(filter="all")
        return [r for r in runs if r.name == name and r.app is not None and r.app.id == app.id]

    def rules(self, branch: str) -> list[dict[str, Any]]:
        """The rules that GitHub enforces on a branch now."""
        repository = self.repository
        _, found = repository.requester.requestJsonAndCheck("GET", f"{repository.url}/rules/branches/{branch}")
        return list(found)


def checkpoint_in(text: str | None) -> dict[str, Any]:
    """The checkpoint that stands as JSON in a comment or check-run. Raises `Unproved` where there is none."""
    for block in _JSON_BLOCK.finditer(text or ""):
        try:
            found = json.loads(block[2])
        except ValueError:
            continue
        inner = found.get("checkpoint", found) if isinstance(found, Mapping) else None
        if isinstance(inner, Mapping) and "completed_steps" in inner:
            return dict(inner)
    raise Unproved("no checkpoint stands in it as JSON")
