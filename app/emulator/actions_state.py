"""What GitHub Actions holds: workflows, their runs with all attempts, and jobs. Processes are not part of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from app.emulator.ids import node_id
from app.emulator.state import Account, CheckRun, CheckSuite, Repository


@dataclass(eq=False)
class Workflow:
    """A workflow file GitHub has seen on the default branch, under the id it got then."""

    id: int
    repo: Repository
    path: str
    name: str
    created_at: str
    updated_at: str
    state: str = "active"
    last_number: int = 0

    @property
    def node_id(self) -> str:
        return node_id("W", self.repo.id, self.id)


@dataclass
class StepSeen:
    """A step as its job shows it."""

    number: int
    name: str
    status: str
    conclusion: str | None
    started_at: str
    completed_at: str | None = None


@dataclass(eq=False)
class Job:
    """A job of an attempt; its id is that of its check-run, as on GitHub."""

    name: str
    check_run: CheckRun
    created_at: str
    started_at: str | None = None
    completed_at: str | None = None
    status: str = "queued"
    conclusion: str | None = None
    steps: dict[int, StepSeen] = field(default_factory=dict)

    @property
    def id(self) -> int:
        return self.check_run.id


@dataclass(eq=False)
class Attempt:
    """One attempt of a run."""

    number: int
    triggering_actor: Account
    started_at: str
    updated_at: str
    jobs: list[Job] = field(default_factory=list)
    status: str = "queued"
    conclusion: str | None = None
    # The GITHUB_TOKEN of its command, while it runs.
    token: str | None = None
    # The bearer of this attempt's requests for OIDC tokens.
    oidc_secret: str | None = None


@dataclass(eq=False)
class WorkflowRun:
    """A run of a workflow on a commit; ``payload`` is the event the run was started by."""

    id: int
    workflow: Workflow
    number: int
    event: str
    ref: str
    head_sha: str
    actor: Account
    display_title: str
    payload: dict[str, Any]
    suite: CheckSuite
    created_at: str
    job_names: list[str]
    permissions: dict[str, str]
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("WFR", self.repo.id, self.id)

    @property
    def repo(self) -> Repository:
        return self.workflow.repo

    @property
    def attempt(self) -> Attempt:
        """The present attempt."""
        return self.attempts[-1]

    @property
    def short_ref(self) -> str:
        """The branch or tag without its prefix."""
        return self.ref.split("/", 2)[2]


@dataclass(frozen=True)
class Command:
    """What is started on this machine where GitHub would start a runner."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    cwd: str | None = None
    timeout_s: float = 21_600.0


@dataclass(frozen=True)
class Machine:
    """A runner that carries out the steps of a workflow as they stand. ``env``: what its machine has set; ``actions``:
    commands that stand in for a step's ``uses``; ``pace``: how many seconds here one of GitHub's takes."""

    env: tuple[tuple[str, str], ...] = ()
    actions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    pace: float = 1.0


@dataclass(frozen=True)
class Variable:
    """A configuration variable of a repository."""

    name: str
    value: str
    created_at: str
    updated_at: str


@dataclass(eq=False)
class Actions:
    """All of GitHub Actions of one emulated GitHub."""

    workflows: dict[int, Workflow] = field(default_factory=dict)
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    # By repository id and path of the workflow file.
    commands: dict[tuple[int, str], Command] = field(default_factory=dict)
    # By the same.
    machines: dict[tuple[int, str], Machine] = field(default_factory=dict)
    # By repository id, then by name.
    variables: dict[int, dict[str, Variable]] = field(default_factory=dict)
    secrets: dict[int, dict[str, str]] = field(default_factory=dict)
    # The private key OIDC tokens are signed with, once one was asked for.
    oidc_pem: str | None = None

    def runs_of(self, repo: Repository) -> list[WorkflowRun]:
        """The repository's runs, newest first."""
        return sorted((r for r in self.runs.values() if r.repo is repo), key=lambda r: -r.id)
