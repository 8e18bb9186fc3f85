"""What the emulated GitHub holds of shipping: releases, deployments and their statuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from app.emulator.ids import node_id

if TYPE_CHECKING:
    from app.emulator.state import Account, App, Repository


@dataclass(eq=False)
class Release:
    """A release; a draft has no tag of its own yet and no date of publication."""

    id: int
    repo: Repository
    tag: str
    target: str
    author: Account
    created_at: str
    updated_at: str
    name: str | None = None
    body: str | None = None
    draft: bool = False
    prerelease: bool = False
    published_at: str | None = None

    @property
    def node_id(self) -> str:
        return node_id("RE", self.repo.id, self.id)


@dataclass(eq=False)
class DeploymentStatus:
    """What was said of a deployment, by whoever carries it out."""

    id: int
    state: str
    creator: Account
    created_at: str
    environment: str
    description: str = ""
    log_url: str = ""
    environment_url: str = ""
    app: App | None = None


@dataclass(eq=False)
class Deployment:
    """A request that a commit be brought to an environment."""

    id: int
    repo: Repository
    sha: str
    ref: str
    task: str
    environment: str
    creator: Account
    created_at: str
    updated_at: str
    payload: Any = field(default_factory=dict)
    description: str | None = None
    transient: bool = False
    production: bool = False
    app: App | None = None
    statuses: list[DeploymentStatus] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("DE", self.repo.id, self.id)

    def status_node_id(self, status: DeploymentStatus) -> str:
        """The node id of one of its statuses."""
        return node_id("DES", self.repo.id, self.id, status.id)
