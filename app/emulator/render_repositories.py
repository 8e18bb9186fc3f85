"""How REST answers and webhook payloads show repositories, their refs and commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from app.emulator.clock import to_stamp
from app.emulator.ids import node_id
from app.emulator.people import account_of, role_flags
from app.emulator.state import Account, Repository

if TYPE_CHECKING:
    from app.emulator.world import World

Json = dict[str, Any]

# Where each list and each thing of a repository is found: the member's name and the path, in GitHub's order.
_PLACES = {
    "forks_url": "/forks",
    "keys_url": "/keys{/key_id}",
    "collaborators_url": "/collaborators{/collaborator}",
    "teams_url": "/teams",
    "hooks_url": "/hooks",
    "issue_events_url": "/issues/events{/number}",
    "events_url": "/events",
    "assignees_url": "/assignees{/user}",
    "branches_url": "/branches{/branch}",
    "tags_url": "/tags",
    "blobs_url": "/git/blobs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "trees_url": "/git/trees{/sha}",
    "statuses_url": "/statuses/{sha}",
    "languages_url": "/languages",
    "stargazers_url": "/stargazers",
    "contributors_url": "/contributors",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "commits_url": "/commits{/sha}",
    "git_commits_url": "/git/commits{/sha}",
    "comments_url": "/comments{/number}",
    "issue_comment_url": "/issues/comments{/number}",
    "contents_url": "/contents/{+path}",
    "compare_url": "/compare/{base}...{head}",
    "merges_url": "/merges",
    "archive_url": "/{archive_format}{/ref}",
    "downloads_url": "/downloads",
    "issues_url": "/issues{/number}",
    "pulls_url": "/pulls{/number}",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "labels_url": "/labels{/name}",
    "releases_url": "/releases{/id}",
    "deployments_url": "/deployments",
}


class RepositoryRender:
    """The part of the renderer that shows repositories; the rest of it is in :mod:`app.emulator.render`."""

    world: World
    html: str
    api: str

    if TYPE_CHECKING:

        def account(self, account: Account) -> Json: ...

        def account_or_none(self, account: Account | None) -> Json | None: ...

    def short_repository(self, repo: Repository) -> Json:
        """A repository's identity and addresses alone (GitHub's "simple repository")."""
        api = f"{self.api}/repos/{repo.full_name}"
        return {
            "id": repo.id,
            "node_id": repo.node_id,
            "name": repo.name,
            "full_name": repo.full_name,
            "private": repo.private,
            "owner": self.account(repo.owner),
            "html_url": f"{self.html}/{repo.full_name}",
            "description": repo.description,
            "fork": repo.parent is not None,
            "url": api,
        } | {name: api + path for name, path in _PLACES.items()}

    def minimal_repository(self, repo: Repository, role: str | None = None) -> Json:
        """A repository as lists and nested places show it: without the settings of merging."""
        html = f"{self.html}/{repo.full_name}"
        forks = sum(1 for r in self.world.repos.values() if r.parent is repo)
        issues = sum(1 for i in repo.issues.values() if i.state == "open")
        shown = self.short_repository(repo) | {
            "created_at": repo.created_at,
            "updated_at": repo.pushed_at,
            "pushed_at": repo.pushed_at,
            "git_url": f"git:{html.partition(':')[2]}.git",
            "ssh_url": f"git@emulator:{repo.full_name}.git",
            "clone_url": f"{html}.git",
            "svn_url": html,
            "homepage": None,
            "size": 1,
            "stargazers_count": 0,
            "watchers_count": 0,
            "language": None,
            "has_issues": True,
            "has_projects": True,
            "has_downloads": True,
            "has_wiki": False,
            "has_pages": False,
            "has_discussions": False,
            "forks_count": forks,
            "mirror_url": None,
            "archived": repo.archived,
            "disabled": False,
            "open_issues_count": issues,
            "license": None,
            "allow_forking": repo.settings.allow_forking,
            "is_template": False,
            "web_commit_signoff_required": False,
            "topics": [],
            "visibility": "private" if repo.private else "public",
            "forks": forks,
            "open_issues": issues,
            "watchers": 0,
            "default_branch": repo.default_branch,
        }
        if role is not None:
            shown["permissions"] = role_flags(role)
        return shown

    def repository(self, repo: Repository, role: str | None = None) -> Json:
        """A repository in full, with its settings."""
        return self.minimal_repository(repo, role) | repo.settings.shown()

    def ref(self, repo: Repository, name: str, oid: str) -> Json:
        """A ref and what it names."""
        api = f"{self.api}/repos/{repo.full_name}/git"
        kind = repo.git.kind(oid) or "commit"
        return {
            "ref": name,
            "node_id": node_id("REF", repo.id, name),
            "url": f"{api}/{quote(name)}",
            "object": {"sha": oid, "type": kind, "url": f"{api}/{kind}s/{oid}"},
        }

    def git_commit(self, repo: Repository, oid: str) -> Json:
        """A commit as ``/git/commits`` shows it."""
        api = f"{self.api}/repos/{repo.full_name}/git/commits"
        html = f"{self.html}/{repo.full_name}/commit"
        commit = repo.git.commit(oid)
        return {
            "sha": oid,
            "node_id": node_id("C", repo.id, oid),
            "url": f"{api}/{oid}",
            "html_url": f"{html}/{oid}",
            "author": signature(commit.author),
            "committer": signature(commit.committer),
            "tree": self._tree(repo, str(commit.tree_id)),
            "message": commit.message,
            "parents": [{"sha": str(p), "url": f"{api}/{p}", "html_url": f"{html}/{p}"} for p in commit.parent_ids],
            "verification": self._verification(repo, oid),
        }

    def _verification(self, repo: Repository, oid: str) -> Json:
        """Only what GitHub signed is verified here; nobody else's key is known."""
        if oid not in self.world.signed:
            return {
                "verified": False,
                "reason": "unsigned",
                "signature": None,
                "payload": None,
                "verified_at": None,
            }
        return {
            "verified": True,
            "reason": "valid",
            "signature": f"-----BEGIN PGP SIGNATURE-----\n\n{oid}\n-----END PGP SIGNATURE-----\n",
            "payload": repo.git.commit(oid).read_raw().decode(errors="replace"),
            "verified_at": to_stamp(repo.git.commit(oid).commit_time),
        }

    def commit(self, repo: Repository, oid: str) -> Json:
        """A commit as ``/commits`` shows it."""
        inner = self.git_commit(repo, oid)
        commit = repo.git.commit(oid)
        api = f"{self.api}/repos/{repo.full_name}/commits"
        html = f"{self.html}/{repo.full_name}/commit"
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
            "parents": [{"sha": str(p), "url": f"{api}/{p}", "html_url": f"{html}/{p}"} for p in commit.parent_ids],
        }

    def _tree(self, repo: Repository, oid: str) -> Json:
        return {"sha": oid, "url": f"{self.api}/repos/{repo.full_name}/git/trees/{oid}"}


def signature(signed: Any) -> Json:
    """Name, e-mail and date (UTC) of a git signature."""
    return {"name": signed.name, "email": signed.email, "date": to_stamp(signed.time)}
