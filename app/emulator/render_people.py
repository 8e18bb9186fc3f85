"""How REST answers and webhook payloads show people, organizations, Apps and installations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from app.emulator.ids import node_id
from app.emulator.state import Account, App, Installation

if TYPE_CHECKING:
    from app.emulator.world import World

Json = dict[str, Any]

# The account that stands for all that were deleted (api.github.com/users/ghost).
GHOST = Account(10137, "ghost", "User", "2008-05-13T06:14:25Z")


class PeopleRender:
    """The part of the renderer that shows who acts; the rest of it is in :mod:`app.emulator.render`."""

    world: World
    html: str
    api: str

    def account(self, account: Account) -> Json:
        """A person, bot or organization as every owner, author and actor is shown; "ghost" for one that is gone."""
        account = GHOST if account.gone else account
        name = account.login
        # A bot's login has brackets; in addresses they are encoded.
        url = f"{self.api}/users/{quote(name, safe='')}"
        return {
            "login": name,
            "id": account.id,
            "node_id": account.node_id,
            "avatar_url": f"{self.html}/avatars/{account.id}",
            "gravatar_id": "",
            "url": url,
            "html_url": f"{self.html}/{'apps/' + name[:-5] if account.type == 'Bot' else name}",
            "followers_url": f"{url}/followers",
            "following_url": f"{url}/following{{/other_user}}",
            "gists_url": f"{url}/gists{{/gist_id}}",
            "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
            "subscriptions_url": f"{url}/subscriptions",
            "organizations_url": f"{url}/orgs",
            "repos_url": f"{url}/repos",
            "events_url": f"{url}/events{{/privacy}}",
            "received_events_url": f"{url}/received_events",
            "type": account.type,
            "user_view_type": "public",
            "site_admin": False,
        }

    def profile(self, account: Account) -> Json:
        """An account by itself, with what its owner tells of it; e-mail addresses are kept private here."""
        repos = sum(1 for r in self.world.repos.values() if r.owner is account and not r.private)
        return self.account(account) | {
            "name": account.name,
            "company": None,
            "blog": "",
            "location": None,
            "email": None,
            "hireable": None,
            "bio": None,
            "twitter_username": None,
            "public_repos": repos,
            "public_gists": 0,
            "followers": 0,
            "following": 0,
            "created_at": account.created_at,
            "updated_at": account.created_at,
        }

    def account_or_none(self, account: Account | None) -> Json | None:
        return self.account(account) if account is not None else None

    def organization(self, account: Account) -> Json:
        """An organization as events name it."""
        url = f"{self.api}/orgs/{account.login}"
        return {
            "login": account.login,
            "id": account.id,
            "node_id": account.node_id,
            "url": url,
            "repos_url": f"{url}/repos",
            "events_url": f"{url}/events",
            "hooks_url": f"{url}/hooks",
            "issues_url": f"{url}/issues",
            "members_url": f"{url}/members{{/member}}",
            "public_members_url": f"{url}/public_members{{/member}}",
            "avatar_url": f"{self.html}/avatars/{account.id}",
            "description": None,
        }

    def app(self, app: App, installations: int | None = None) -> Json:
        """An App; how often it is installed is shown to itself only."""
        shown: Json = {
            "id": app.id,
            "slug": app.slug,
            "client_id": app.client_id,
            "node_id": app.node_id,
            "owner": self.account(app.owner),
            "name": app.name,
            "description": "",
            "external_url": f"{self.html}/apps/{app.slug}",
            "html_url": f"{self.html}/apps/{app.slug}",
            "created_at": app.created_at,
            "updated_at": app.created_at,
            "permissions": app.permissions,
            "events": app.events,
        }
        if installations is not None:
            shown["installations_count"] = installations
        return shown

    def app_or_none(self, app: App | None) -> Json | None:
        return self.app(app) if app is not None else None

    def hook(self, app: App) -> Json:
        """The App's webhook as its first delivery, the ping, shows it."""
        config = {"content_type": app.hook_content_type, "insecure_ssl": app.hook_insecure_ssl}
        config |= {"url": app.webhook_url} if app.webhook_url else {}
        return {
            "type": "App",
            "id": app.hook_id,
            "name": "web",
            "active": True,
            "events": app.events,
            "config": config | ({"secret": "********"} if app.webhook_secret else {}),
            "created_at": app.created_at,
            "updated_at": app.created_at,
            "app_id": app.id,
            "deliveries_url": f"{self.api}/app/hook/deliveries",
        }

    def installation(self, installation: Installation) -> Json:
        """An installation of an App on an account."""
        account = installation.account
        return {
            "id": installation.id,
            "client_id": installation.app.client_id,
            "account": self.account(account),
            "repository_selection": "all" if installation.repositories is None else "selected",
            "access_tokens_url": f"{self.api}/app/installations/{installation.id}/access_tokens",
            "repositories_url": f"{self.api}/installation/repositories",
            "html_url": f"{self.html}/settings/installations/{installation.id}",
            "app_id": installation.app.id,
            "app_slug": installation.app.slug,
            "target_id": account.id,
            "target_type": account.type,
            "permissions": installation.permissions,
            "events": installation.events,
            "created_at": installation.created_at,
            "updated_at": installation.created_at,
            "single_file_name": None,
            "has_multiple_single_files": False,
            "single_file_paths": [],
            "suspended_by": self.account(account) if installation.suspended_at else None,
            "suspended_at": installation.suspended_at,
        }

    def short_installation(self, installation: Installation) -> Json:
        """An installation as the events of repositories name it."""
        return {"id": installation.id, "node_id": node_id("IN", installation.id)}
