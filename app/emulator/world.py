"""Everything the emulator holds in memory, and the ways to find it."""

from __future__ import annotations

import base64
import json
import secrets
import shutil
import string
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from app.emulator.actions_state import Actions
from app.emulator.background import Background
from app.emulator.clock import Clock
from app.emulator.errors import ApiError
from app.emulator.guard_state import find_review_thing
from app.emulator.ids import Ids, parse_node_id
from app.emulator.limits import RateLimits, SecondaryLimits, hourly_limit
from app.emulator.processes import Processes
from app.emulator.repos import GitRepo
from app.emulator.state import (
    Account,
    App,
    CheckRun,
    CheckSuite,
    Comment,
    Installation,
    Issue,
    Label,
    Permissions,
    PullRequest,
    Repository,
    Token,
)
from app.emulator.state_projects import Project, ProjectField, ProjectItem
from app.emulator.state_teams import Team
from app.emulator.switches import Switches
from app.emulator.webhooks import Deliveries

if TYPE_CHECKING:
    from app.emulator.acts.merge_requests import MergeRequest

_ALNUM = string.ascii_letters + string.digits
TOKEN_LIFETIME = 3600
DEFAULT_LABELS = {"bug": "d73a4a", "enhancement": "a2eeef", "question": "d876e3"}


class World:
    """The state of one emulated GitHub."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        _clear(data_dir / "repos")
        self.url = "http://127.0.0.1"
        self.clock = Clock()
        self.ids = Ids()
        self.accounts: dict[str, Account] = {}
        self.apps: dict[str, App] = {}
        self.installations: dict[int, Installation] = {}
        self.teams: dict[int, Team] = {}
        self.tokens: dict[str, Token] = {}
        self.repos: dict[int, Repository] = {}
        # Names that repositories have or had, lower case; what is found here may have another by now.
        self.named: dict[str, int] = {}
        # Names that repositories had before, lower case; each leads on until somebody takes it.
        self.moved: dict[str, int] = {}
        # When a repository last got another name or owner.
        self.moved_at: dict[int, str] = {}
        self.comments: dict[int, Comment] = {}
        self.suites: dict[int, CheckSuite] = {}
        self.check_runs: dict[int, CheckRun] = {}
        # Commits GitHub signs: those it makes itself or for an App that names no author.
        self.signed: set[str] = set()
        self.projects: dict[int, Project] = {}
        self.merge_requests: dict[str, MergeRequest] = {}
        self.background = Background(self)
        # Apps that a repository asks for no suite on its own: (repository, App).
        self.no_suites: set[tuple[int, int]] = set()
        self.looked_for_stale = 0.0
        self.actions = Actions()
        self.processes = Processes()
        self.switches = Switches()
        self.rates = RateLimits(self.clock, self.hourly_limit)
        self.secondary = SecondaryLimits(self.clock)
        self.deliveries = Deliveries(self.clock, self.ids)

    # Accounts and tokens

    def add_account(self, login: str, kind: Literal["User", "Organization", "Bot"]) -> Account:
        """A new account; the login must be free."""
        if login.lower() in self.accounts:
            raise ApiError(422, f"The login {login} is taken")
        account = Account(self.ids.next("account"), login, kind, self.clock.stamp())
        self.accounts[login.lower()] = account
        return account

    def account(self, login: str) -> Account | None:
        """The account of a login, whatever its case."""
        return self.accounts.get(login.lower())

    def team(self, organization: Account, slug: str) -> Team | None:
        """The organization's team of that slug, whatever its case."""
        own = (team for team in self.teams.values() if team.organization is organization)
        return next((team for team in own if team.slug.lower() == slug.lower()), None)

    def add_user_token(self, user: Account, value: str | None = None) -> Token:
        """A personal token of a user, never expiring."""
        token = Token(value or "ghp_" + _random(36), user=user)
        self.tokens[token.value] = token
        return token

    def add_installation_token(
        self,
        installation: Installation,
        repository_ids: set[int] | None,
        permissions: Permissions,
        *,
        lifetime_s: float = TOKEN_LIFETIME,
        stateless: bool = True,
    ) -> Token:
        """A token valid for an hour: of the present, long form, or the short one that GitHub still makes on request."""
        expires = self.clock.now() + lifetime_s
        value = _stateless(installation, expires) if stateless else "ghs_" + _random(36)
        token = Token(
            value,
            installation=installation,
            repository_ids=repository_ids,
            permissions=permissions,
            expires_at=expires,
        )
        self.tokens[value] = token
        return token

    def hourly_limit(self, key: str) -> int:
        """How many requests an hour an identity has, unless a test says otherwise."""
        return hourly_limit(key, self.installations, self.repos)

    # Apps

    def add_app(
        self,
        slug: str,
        owner: Account,
        permissions: Permissions,
        events: list[str],
        webhook_url: str | None,
        webhook_secret: str | None,
    ) -> App:
        """A new App with its own key pair and bot account."""
        if slug in self.apps:
            raise ApiError(422, f"The App {slug} exists")
        private, public = key_pair(len(self.apps))
        app = App(
            id=self.ids.next("app"),
            slug=slug,
            name=slug,
            owner=owner,
            bot=self.add_account(f"{slug}[bot]", "Bot"),
            client_id="Iv23" + _random(16),
            private_pem=private,
            public_pem=public,
            permissions={"metadata": "read"} | permissions,
            events=events,
            webhook_url=webhook_url,
            webhook_secret=webhook_secret,
            hook_id=self.ids.next("hook"),
            created_at=self.clock.stamp(),
        )
        self.apps[slug] = app
        return app

    def app_by_issuer(self, issuer: str) -> App | None:
        """The App a JWT's ``iss`` names: its id or its client id."""
        for app in self.apps.values():
            if issuer in (str(app.id), app.client_id):
                return app
        return None

    def installations_on(self, repo: Repository, *, suspended: bool = False) -> list[Installation]:
        """The installations that cover a repository; suspended ones only if asked for."""
        return [i for i in self.installations.values() if i.covers(repo) and (suspended or i.suspended_at is None)]

    def wants_suites(self, repo: Repository, app: App) -> bool:
        """Does a push ask this App for a check suite?"""
        return (repo.id, app.id) not in self.no_suites

    # Repositories

    def add_repo(self, owner: Account, name: str, *, private: bool, default_branch: str) -> Repository:
        """A new empty repository."""
        if self.repo(owner.login, name) is not None:
            raise ApiError(
                422,
                "Repository creation failed.",
                [
                    {
                        "resource": "Repository",
                        "code": "custom",
                        "field": "name",
                        "message": "name already exists on this account",
                    }
                ],
            )
        repo_id = self.ids.next("repository")
        now = self.clock.stamp()
        repo = Repository(
            id=repo_id,
            owner=owner,
            name=name,
            private=private,
            default_branch=default_branch,
            git=GitRepo.create(self.data_dir / "repos" / f"{repo_id}.git", default_branch),
            created_at=now,
            pushed_at=now,
        )
        for label, color in DEFAULT_LABELS.items():
            self.label(repo, label, color).default = True
        self.repos[repo_id] = repo
        self.arrived(repo)
        return repo

    def repo(self, owner: str, name: str) -> Repository | None:
        """The repository of that name, whatever the case."""
        wanted = f"{owner}/{name}".lower()
        repo = self.repos.get(self.named.get(wanted, 0))
        return repo if repo is not None and repo.full_name.lower() == wanted else None

    def moved_repo(self, owner: str, name: str) -> Repository | None:
        """The repository that had this name before and that nobody has taken it from."""
        number = self.moved.get(f"{owner}/{name}".lower())
        return self.repos.get(number) if number is not None else None

    def arrived(self, repo: Repository) -> None:
        """The repository's present name leads to it, and nowhere else any more."""
        self.named[repo.full_name.lower()] = repo.id
        self.moved.pop(repo.full_name.lower(), None)

    def label(self, repo: Repository, name: str, color: str = "ededed") -> Label:
        """The label of that name, made if it is new, as adding it to an Issue does on GitHub."""
        label = repo.labels.get(name.lower())
        if label is None:
            label = repo.labels[name.lower()] = Label(self.ids.next("label"), name, color)
        return label

    # By node id

    def node(self, value: str) -> object | None:
        """The repository, account, App, Issue, pull request, comment or check a node id names.

        Git objects and refs are resolved by the GraphQL side, which holds the views of them.
        """
        parsed = parse_node_id(value)
        if parsed is None:
            return None
        prefix, parts = parsed
        numbers = [int(p) for p in parts if p.isdigit()]
        if len(numbers) != len(parts) or not numbers:
            return None
        if prefix in ("U", "O", "BOT"):
            return next((a for a in self.accounts.values() if a.node_id == value), None)
        if prefix == "A":
            return next((a for a in self.apps.values() if a.id == numbers[0]), None)
        repo = self.repos.get(numbers[0])
        if prefix == "R":
            return repo
        if prefix == "MI":
            return next((m for r in self.repos.values() for m in r.milestones.values() if m.node_id == value), None)
        if prefix.startswith("PVT"):
            return self._project_node(value, numbers)
        if prefix == "LA":
            return next((x for r in self.repos.values() for x in r.labels.values() if x.node_id == value), None)
        if repo is None or len(numbers) < 2:
            return None
        if prefix in ("I", "PR"):
            issue: Issue | None = repo.issues.get(numbers[1])
            return issue if issue is not None and issue.node_id == value else None
        if prefix == "IC":
            return self.comments.get(numbers[2]) if len(numbers) > 2 else None
        if prefix in ("PRR", "PRRT", "PRRC"):
            pull = repo.issues.get(numbers[1])
            return find_review_thing(pull, value) if isinstance(pull, PullRequest) else None
        if prefix == "RRS":
            return repo.guard.rulesets.get(numbers[1])
        if prefix == "MQE":
            return next((p.queue_entry for p in repo.pulls() if p.queue_entry and p.queue_entry.node_id == value), None)
        if prefix == "CS":
            return self.suites.get(numbers[1])
        if prefix == "CR":
            return self.check_runs.get(numbers[1])
        if prefix == "W":
            return self.actions.workflows.get(numbers[1])
        if prefix == "WFR":
            return self.actions.runs.get(numbers[1])
        return None

    def _project_node(self, value: str, numbers: list[int]) -> object | None:
        project = self.projects.get(numbers[0])
        if project is None:
            return None
        inside: list[Project | ProjectField | ProjectItem] = [project, *project.fields, *project.items]
        return next((thing for thing in inside if thing.node_id == value), None)


@cache
def key_pair(index: int) -> tuple[str, str]:
    """The key pair of the n-th App. Making one costs a tenth of a second, so a reset world gets the same ones."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


def _clear(repos: Path) -> None:
    """Repositories of an earlier start go: their numbers would be given out again."""
    repos.mkdir(parents=True, exist_ok=True)
    for left in repos.glob("*.git"):
        shutil.rmtree(left)


def _stateless(installation: Installation, expires: float) -> str:
    """``ghs_<app id>_<JWT>``, about 520 characters (changelog of 2026-04-24). Bearers must not read it: the claims are
    ours, and nobody can check the signature."""
    claims = {
        "iss": "emulator",
        "aud": "installation",
        "sub": f"installation:{installation.id}",
        "app": installation.app.id,
        "exp": int(expires),
        "jti": _random(180),
    }
    parts = [json.dumps(part, separators=(",", ":")).encode() for part in ({"alg": "ES256", "typ": "JWT"}, claims)]
    body = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return f"ghs_{installation.app.id}_{body}.{_random(86)}"


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALNUM) for _ in range(length))
