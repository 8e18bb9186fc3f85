"""How REST answers and webhook payloads show the things of :mod:`app.emulator.state`."""

from __future__ import annotations

from typing import Any

from app.emulator.clock import to_stamp
from app.emulator.ids import node_id
from app.emulator.people import account_of, role_flags
from app.emulator.render_actions import ActionsRender
from app.emulator.render_checks import CheckRender
from app.emulator.render_issues import IssueRender
from app.emulator.render_pulls import PullRender
from app.emulator.state import (
    Account,
    App,
    CommitStatus,
    Installation,
    Repository,
)
from app.emulator.world import World

Json = dict[str, Any]


class Render(ActionsRender, CheckRender, PullRender, IssueRender):
    """Renders for one base URL, the root of the REST API as the client knows it."""

    def __init__(self, world: World, api: str | None = None) -> None:
        self.world = world
        self.html = world.url
        self.api = api or world.url

    def account(self, account: Account) -> Json:
        name = account.login
        return {
            "login": name,
            "id": account.id,
            "node_id": account.node_id,
            "avatar_url": f"{self.html}/avatars/{account.id}",
            "gravatar_id": "",
            "url": f"{self.api}/users/{name}",
            "html_url": f"{self.html}/{'apps/' + name[:-5] if account.type == 'Bot' else name}",
            "type": account.type,
            "user_view_type": "public",
            "site_admin": False,
        }

    def account_or_none(self, account: Account | None) -> Json | None:
        return self.account(account) if account is not None else None

    def app(self, app: App, installations: int | None = None) -> Json:
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

    def installation(self, installation: Installation) -> Json:
        account = installation.account
        return {
            "id": installation.id,
            "client_id": installation.app.client_id,
            "node_id": node_id("IN", installation.id),
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

    def repository(self, repo: Repository, role: str | None = None) -> Json:
        api = f"{self.api}/repos/{repo.full_name}"
        html = f"{self.html}/{repo.full_name}"
        shown: Json = {
            "id": repo.id,
            "node_id": repo.node_id,
            "name": repo.name,
            "full_name": repo.full_name,
            "private": repo.private,
            "owner": self.account(repo.owner),
            "html_url": html,
            "description": repo.description,
            "fork": repo.parent is not None,
            "url": api,
            "issues_url": f"{api}/issues{{/number}}",
            "pulls_url": f"{api}/pulls{{/number}}",
            "branches_url": f"{api}/branches{{/branch}}",
            "git_refs_url": f"{api}/git/refs{{/sha}}",
            "clone_url": f"{html}.git",
            "git_url": f"{html}.git",
            "ssh_url": f"git@emulator:{repo.full_name}.git",
            "created_at": repo.created_at,
            "updated_at": repo.pushed_at,
            "pushed_at": repo.pushed_at,
            "size": 1,
            "stargazers_count": 0,
            "watchers_count": 0,
            "forks_count": sum(1 for r in self.world.repos.values() if r.parent is repo),
            "language": None,
            "has_issues": True,
            "has_projects": True,
            "has_wiki": False,
            "archived": repo.archived,
            "disabled": False,
            "visibility": "private" if repo.private else "public",
            "open_issues_count": sum(1 for i in repo.issues.values() if i.state == "open"),
            "default_branch": repo.default_branch,
            "topics": [],
            "is_template": False,
            "license": None,
        }
        shown |= repo.settings.shown()
        if role is not None:
            shown["permissions"] = role_flags(role)
        return shown

    def status(self, status: CommitStatus) -> Json:
        return {
            "id": status.id,
            "node_id": status.node_id,
            "url": f"{self.api}/repos/{status.repo.full_name}/statuses/{status.sha}",
            "state": status.state,
            "context": status.context,
            "description": status.description,
            "target_url": status.target_url,
            "created_at": status.created_at,
            "updated_at": status.created_at,
            "creator": self.account(status.creator),
        }

    def ref(self, repo: Repository, name: str, oid: str) -> Json:
        api = f"{self.api}/repos/{repo.full_name}/git"
        kind = repo.git.kind(oid) or "commit"
        return {
            "ref": name,
            "node_id": node_id("REF", repo.id, name),
            "url": f"{api}/{name}",
            "object": {"sha": oid, "type": kind, "url": f"{api}/{kind}s/{oid}"},
        }

    def git_commit(self, repo: Repository, oid: str) -> Json:
        """A commit as ``/git/commits`` shows it."""
        api = f"{self.api}/repos/{repo.full_name}/git"
        commit = repo.git.commit(oid)
        return {
            "sha": oid,
            "node_id": node_id("C", repo.id, oid),
            "url": f"{api}/commits/{oid}",
            "html_url": f"{self.html}/{repo.full_name}/commit/{oid}",
            "author": signature(commit.author),
            "committer": signature(commit.committer),
            "tree": {"sha": str(commit.tree_id), "url": f"{api}/trees/{commit.tree_id}"},
            "message": commit.message,
            "parents": [{"sha": str(p), "url": f"{api}/commits/{p}"} for p in commit.parent_ids],
            "verification": {"verified": False, "reason": "unsigned", "signature": None, "payload": None},
        }

    def commit(self, repo: Repository, oid: str) -> Json:
        """A commit as ``/commits`` shows it."""
        inner = self.git_commit(repo, oid)
        commit = repo.git.commit(oid)
        api = f"{self.api}/repos/{repo.full_name}/commits"
        return {
            "sha": oid,
            "node_id": inner["node_id"],
            "commit": {k: inner[k] for k in ("author", "committer", "message", "tree", "verification")}
            | {"url": inner["url"], "comment_count": 0},
            "url": f"{api}/{oid}",
            "html_url": inner["html_url"],
            "comments_url": f"{api}/{oid}/comments",
            "author": self.account_or_none(account_of(self.world, commit.author.email)),
            "committer": self.account_or_none(account_of(self.world, commit.committer.email)),
            "parents": [{"sha": str(p), "url": f"{api}/{p}"} for p in commit.parent_ids],
        }


def signature(signed: Any) -> Json:
    """Name, e-mail and date (UTC) of a git signature."""
    return {"name": signed.name, "email": signed.email, "date": to_stamp(signed.time)}
