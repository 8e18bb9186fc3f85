"""What every subject of a repository (refs, pull requests, comments …) builds on: its identity and a way to GitHub."""

from collections.abc import Callable
from typing import Any

from app.github.errors import Moved
from app.github.session import Session

CHECK_NAME = "Agent Recovery"
"""The name of the App's check-run on a ticket's head."""
RELEASE_CHECK_NAME = "Agent Recovery / release"
"""The name of the App's check-run on the head of a release's pull request."""


class RepositoryAccess:
    """One repository under one installation. `id` and `node_id` never change; a name may come to mean another
    repository, which every look at it notices.
    """

    def __init__(
        self,
        session: Session,
        *,
        app_id: int,
        owner: str,
        name: str,
        id: int,
        node_id: str,
        private: bool,
        default_branch: str,
        forget: Callable[[], None] = lambda: None,
    ) -> None:
        self.session = session
        self.app_id = app_id
        self.owner = owner
        self.name = name
        self.id = id
        self.node_id = node_id
        self.private = private
        self.default_branch = default_branch
        self._forget = forget

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def clone_url(self) -> str:
        return f"{self.session.wire.git_url}/{self.full_name}.git"

    def _at(self, **values: str | int) -> dict[str, str | int]:
        """The values of a route below `/repos/{owner}/{repo}`."""
        return {"owner": self.owner, "repo": self.name, **values}

    def _same_repository(self, answer: dict[str, Any], route: str) -> None:
        """Raises Moved where an answer under our name speaks of another repository."""
        if answer.get("databaseId") != self.id:
            self._forget()
            raise Moved("another repository has this name now", route=route)
