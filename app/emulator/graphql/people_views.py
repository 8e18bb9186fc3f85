"""Accounts and Apps."""

from __future__ import annotations

from typing import Any

from app.emulator.graphql.classic_project_views import ClassicProjectFields
from app.emulator.graphql.project_views import ProjectOwnerFields
from app.emulator.graphql.repository_views import RepositoryListFields
from app.emulator.graphql.views import View, shows, view
from app.emulator.state import Account, App


@shows(Account)
class AccountView(ProjectOwnerFields, RepositoryListFields, ClassicProjectFields):
    """A user, bot or organization; the typename is that of the account."""

    thing: Account

    @property
    def _View__typename(self) -> str:  # the name under which the executor looks for ``__typename``
        return self.thing.type

    @property
    def id(self) -> str:
        return self.thing.node_id

    @property
    def login(self) -> str:
        # GraphQL shows a bot without the suffix that REST gives it.
        return self.thing.login.removesuffix("[bot]") if self.thing.type == "Bot" else self.thing.login

    @property
    def name(self) -> str | None:
        return self.thing.name

    @property
    def email(self) -> str:
        return ""

    @property
    def databaseId(self) -> int:
        return self.thing.id

    @property
    def createdAt(self) -> str:
        return self.thing.created_at

    def avatarUrl(self, info: Any, size: int | None = None) -> str:
        return f"{self.request.world.url}/avatars/{self.thing.id}"

    @property
    def resourcePath(self) -> str:
        return f"/{'apps/' if self.thing.type == 'Bot' else ''}{self.login}"

    @property
    def url(self) -> str:
        return self.request.world.url + self.resourcePath

    def repository(self, info: Any, name: str, followRenames: bool = True) -> Any:
        repo = self.request.world.repo(self.thing.login, name)
        return view(self.request, repo) if repo and self.request.identity.sees(repo) else None


class ViewerView(AccountView):
    """The caller, whose login is shown as REST shows it."""

    @property
    def login(self) -> str:
        return self.thing.login


@shows(App)
class AppView(View):
    """A GitHub App."""

    thing: App
    __typename = "App"

    def __init__(self, request: Any, thing: App) -> None:
        super().__init__(request, thing)
        self.id, self.databaseId = thing.node_id, thing.id
        self.name, self.slug = thing.name, thing.slug
        self.url = f"{request.world.url}/apps/{thing.slug}"
