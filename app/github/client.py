"""The App's way to GitHub: which installations there are, which repositories, and who is calling."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Literal, cast

import httpx
from pydantic import AwareDatetime, Field

from app.domain.keys import TicketKey, is_number, is_repository_name
from app.domain.model import Message
from app.domain.outcome import Blocked, Code, Refused
from app.github.auth import AppKeys, AsInstallation, InstallationTokens
from app.github.budget import Meter
from app.github.clock import GitHubClock
from app.github.errors import Forbidden, GraphQLFailed, NotFound, Unauthorized
from app.github.pace import SharedContent, Sleep
from app.github.repository import Repository
from app.github.retry import reads
from app.github.session import Session
from app.github.shapes import Account, ObjectWithId, RepositoryShape, read
from app.github.wire import Answer, Call, Wire

INSTALLATION_KNOWN_FOR = timedelta(minutes=10)

MayWrite = Callable[[int, str], Awaitable[None]]
"""Asked right before every write, with a repository's id and full name; raises where it may not be written to."""

Permission = Literal["admin", "maintain", "write", "triage", "read", "none"]

_INSTALLATION_OF = "/repos/{owner}/{repo}/installation"
_REPOSITORY = "/repos/{owner}/{repo}"
_INSTALLATIONS = "/app/installations"
_ITS_REPOSITORIES = "/installation/repositories"
_ISSUE_OF = """
query IssueOf($id: ID!) { node(id: $id) { ... on Issue { number repository { nameWithOwner } } } }
"""
_USER = "/user"
_PERMISSION = "/repos/{owner}/{repo}/collaborators/{login}/permission"
_TOKEN_FORM = re.compile(r"^[A-Za-z0-9_.-]{20,1024}$")


@dataclass(frozen=True)
class Installation:
    """The App in one account."""

    id: int
    account: str
    suspended: bool


@dataclass(frozen=True)
class Installed:
    """The App on one repository: what its owner let it do, by permission and level, and what it is told of."""

    id: int
    account: str
    permissions: Mapping[str, str]
    events: tuple[str, ...]
    suspended: bool


@dataclass(frozen=True)
class RepositoryName:
    """A repository an installation may be used for."""

    id: int
    owner: str
    name: str
    private: bool
    default_branch: str


@dataclass(frozen=True)
class Caller:
    """The GitHub account a user token belongs to. A token proves an account, not that a person acts."""

    login: str
    id: int
    type: str


class GitHub:
    """The App at one GitHub. Use as `async with`, or call `aclose` at the end. One object for each event loop."""

    def __init__(
        self,
        app_id: int,
        private_keys: Sequence[str],
        base_url: str = "https://api.github.com",
        clock: GitHubClock | None = None,
        meter: Meter | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        user_agent: str = "agent-recovery",
        *,
        may_write: MayWrite | None = None,
        content: SharedContent | None = None,
        sleep: Sleep = asyncio.sleep,
        timeout_s: float = 15.0,
    ) -> None:
        """`private_keys`: PEM texts, the current one first. `base_url`: the API's, `https://HOST/api/v3` for
        Enterprise Server. `content`: where new content is counted together with other processes.
        """
        self.app_id = app_id
        self.clock = clock or GitHubClock()
        self.meter = meter or Meter()
        self._sleep = sleep
        self._may_write = may_write
        self._content = content
        self._wire = Wire(
            base_url=base_url,
            clock=self.clock,
            meter=self.meter,
            transport=transport,
            user_agent=user_agent,
            timeout_s=timeout_s,
        )
        self._keys = AppKeys(app_id, private_keys, self.clock)
        self._app = Session(self._wire, self._keys, sleep)
        self._tokens = InstallationTokens(self._wire, self._keys, sleep=sleep, on_gone=self.forget_installation)
        self._sessions: dict[int, Session] = {}
        self._known: dict[tuple[str, str], _Known] = {}
        self._looking: dict[tuple[str, str], asyncio.Lock] = {}

    async def __aenter__(self) -> "GitHub":
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._wire.aclose()

    async def repository(self, owner: str, name: str) -> Repository:
        """The repository, ready to use; known for ten minutes, so most calls send nothing.

        The first time two requests are sent: which installation, and the repository's ids. Raises NotFound where the
        App is not installed there, Moved where the repository has another name now, Suspended, other GitHubErrors.
        """
        key = (owner.lower(), name.lower())
        if (known := self._still_known(key)) is not None:
            return known
        lock = self._looking.setdefault(key, asyncio.Lock())
        async with lock:
            if (known := self._still_known(key)) is not None:
                return known
            try:
                return await self._look_up(key, owner, name)
            finally:
                self._looking.pop(key, None)

    async def installations(self) -> list[Installation]:
        """All installations of the App, suspended ones too."""
        pages = await self._app.pages(_INSTALLATIONS, {})
        call = Call("GET", _INSTALLATIONS)
        return [
            Installation(shape.id, shape.account.login, shape.suspended_at is not None)
            for page in pages
            for shape in read(list[_InstallationShape], page.body, call)
        ]

    async def installed_on(self, owner: str, name: str) -> Installed:
        """The installation on a repository, asked now. Raises NotFound where the App is not installed there."""
        answer = await self._app.get(_INSTALLATION_OF, {"owner": owner, "repo": name})
        shape = read(_InstallationShape, answer.body, Call("GET", _INSTALLATION_OF))
        suspended = shape.suspended_at is not None
        return Installed(shape.id, shape.account.login, shape.permissions, shape.events, suspended)

    async def installation_repositories(self, installation_id: int) -> list[RepositoryName]:
        """The repositories an installation covers. What is learned saves `repository` its requests."""
        session = self._session(installation_id)
        pages = await session.pages(_ITS_REPOSITORIES, {})
        call = Call("GET", _ITS_REPOSITORIES)
        shapes = [shape for page in pages for shape in read(_RepositoriesShape, page.body, call).repositories]
        for shape in shapes:
            self._remember(installation_id, shape)
        return [
            RepositoryName(shape.id, shape.owner.login, shape.name, shape.private, shape.default_branch)
            for shape in shapes
        ]

    async def ticket_of(self, installation_id: int, node_id: str) -> TicketKey | None:
        """The Issue with this node id, as far as an installation sees it. Raises GitHubError."""
        try:
            answer = await self._session(installation_id).query("IssueOf", _ISSUE_OF, {"id": node_id})
        except GraphQLFailed as e:
            if e.as_not_found("node") is not None:
                return None
            raise
        found = (answer.body["data"] or {}).get("node") or {}
        if "number" not in found:
            return None
        issue = read(_IssueShape, found, Call("POST", "IssueOf", kind="graphql"))
        known = is_number(issue.number) and is_repository_name(issue.repository.full_name)
        return TicketKey(issue.repository.full_name, issue.number) if known else None

    async def caller(self, user_token: str) -> Caller:
        """Whose token this is. It is sent to GitHub once and neither stored nor logged.

        Raises Refused (UNAUTHENTICATED or FORBIDDEN, with the reason) for a token that is none, is not accepted, or
        belongs to an App; a GitHubError where GitHub gives no answer.
        """
        if not _TOKEN_FORM.match(user_token):
            raise _refused("this is not a GitHub user token")
        if user_token.startswith("ghs_"):
            raise _refused("an App's installation token names no account that could hold a lease")
        call = Call("GET", _USER, kind="caller")
        answer: Answer | None = None
        try:
            answer = await reads(self._sleep)(
                self._wire.send, call, authorization=f"Bearer {user_token}", payer="caller"
            )
        except Unauthorized:
            pass
        except Forbidden:
            raise _refused("this token may not say whose it is") from None
        if answer is None:
            raise _refused("GitHub does not accept this token")
        account = read(Account, answer.body, call)
        if account.type != "User":
            raise _refused(f"the token belongs to a {account.type.lower()} and not to a user account", Code.FORBIDDEN)
        return Caller(account.login, account.id, account.type)

    async def permission(self, repository: Repository, login: str) -> Permission:
        """What an account may do in the repository, asked now. `none` for strangers and unknown names."""
        call = Call("GET", _PERMISSION)
        values = {"owner": repository.owner, "repo": repository.name, "login": login}
        try:
            answer = await repository.session.get(_PERMISSION, values)
        except NotFound:
            return "none"
        shape = read(_PermissionShape, answer.body, call)
        # `permission` folds maintain into write and triage into read; custom roles only show there.
        for level in (shape.role_name, shape.permission):
            if level in ("admin", "maintain", "write", "triage", "read", "none"):
                return cast(Permission, level)
        return "none"

    def forget_installation(self, installation_id: int) -> None:
        """Look its repositories up again: uninstalled, suspended, or its repositories changed."""
        self._known = {key: known for key, known in self._known.items() if known.installation != installation_id}

    async def _look_up(self, key: tuple[str, str], owner: str, name: str) -> Repository:
        values = {"owner": owner, "repo": name}
        answer = await self._app.get(_INSTALLATION_OF, values)
        installation = read(ObjectWithId, answer.body, Call("GET", _INSTALLATION_OF)).id
        previous = self._known.get(key)
        if previous is not None and previous.installation == installation:
            # The ids do not change, and every look at the repository checks them.
            self._known[key] = _Known(installation, previous.repository, self.clock.now())
            return previous.repository
        answer = await self._session(installation).get(_REPOSITORY, values)
        return self._remember(installation, read(RepositoryShape, answer.body, Call("GET", _REPOSITORY)))

    def _still_known(self, key: tuple[str, str]) -> Repository | None:
        known = self._known.get(key)
        fresh = known is not None and self.clock.now() < known.since + INSTALLATION_KNOWN_FOR
        return known.repository if known is not None and fresh else None

    def _remember(self, installation: int, shape: RepositoryShape) -> Repository:
        key = (shape.owner.login.lower(), shape.name.lower())
        previous = self._known.get(key)
        if previous is not None and previous.installation == installation and previous.repository.id == shape.id:
            repository = previous.repository
        else:
            session, may_write = self._session(installation), self._may_write
            if may_write is not None:
                session = session.guarded(partial(may_write, shape.id, f"{shape.owner.login}/{shape.name}"))
            repository = Repository(
                session,
                app_id=self.app_id,
                owner=shape.owner.login,
                name=shape.name,
                id=shape.id,
                node_id=shape.node_id,
                private=shape.private,
                default_branch=shape.default_branch,
                forget=lambda: self._forget(key),
            )
        self._known[key] = _Known(installation, repository, self.clock.now())
        return repository

    def _forget(self, key: tuple[str, str]) -> None:
        self._known.pop(key, None)

    def _session(self, installation_id: int) -> Session:
        session = self._sessions.get(installation_id)
        if session is None:
            session = Session(self._wire, AsInstallation(self._tokens, installation_id), self._sleep, self._content)
            self._sessions[installation_id] = session
        return session


@dataclass(frozen=True)
class _Known:
    installation: int
    repository: Repository
    since: datetime


class _NamedShape(Message):
    full_name: str = Field(alias="nameWithOwner")


class _IssueShape(Message):
    number: int
    repository: _NamedShape


class _InstallationShape(Message):
    id: int
    account: Account
    suspended_at: AwareDatetime | None = None
    permissions: dict[str, str] = Field(default_factory=dict)
    events: tuple[str, ...] = ()


class _RepositoriesShape(Message):
    repositories: tuple[RepositoryShape, ...]


class _PermissionShape(Message):
    permission: str
    role_name: str = ""


def _refused(reason: str, code: Code = Code.UNAUTHENTICATED) -> Refused:
    return Refused(Blocked(code, reason, "send a personal access token or user token of the account that works"))
