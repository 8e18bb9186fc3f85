"""Who calls the agent API: a GitHub account with its own token, a workflow run with its OIDC token, or the holder of a
lease with the lease token.

A user token is believed as far as GitHub does: it names an account, and what that account may do is asked as
the App. Both answers are kept for 60 seconds under a hash of the token; the token itself is neither stored nor
logged. A repository that the caller may not see is answered like one that does not exist.

A run has no account: what it may do follows from its workflow and from the ticket's ledger, and is judged there.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from app.domain import token as lease_token
from app.domain.outcome import Blocked, Code, Refused
from app.domain.run_claims import RunClaims
from app.domain.ticket_id import TicketId
from app.domain.token import Claims, Forged
from app.github.client import Caller
from app.github.errors import NotFound
from app.service.oidc import MAX_TOKEN, RunTokens, is_run_token

KEPT_S = 60.0
MAX_OTHER_TOKEN = 1024
KEPT_ENTRIES = 4096
MAY_CLAIM = frozenset({"write", "maintain", "admin"})
MAY_SEE = MAY_CLAIM | {"triage", "read"}

_GITHUB_FORMS = ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")

Value = TypeVar("Value")


@dataclass(frozen=True)
class Account:
    """A GitHub account, by its login."""

    login: str

    @property
    def run(self) -> None:
        return None


@dataclass(frozen=True)
class RunOf:
    """A workflow run of the repository that was called for. Whether it is the one that was started, the loop judges."""

    claims: RunClaims

    @property
    def login(self) -> str:
        return self.claims.actor

    @property
    def run(self) -> RunClaims:
        return self.claims


Claimant = Account | RunOf


class People(Protocol):
    """What is asked of GitHub about a caller; `github.client.GitHub` answers it."""

    async def repository(self, owner: str, name: str) -> Any: ...
    async def caller(self, user_token: str) -> Caller: ...
    async def permission(self, repository: Any, login: str) -> str: ...


class Callers:
    """Judges callers. `now`: seconds of a clock that never goes back. `runs`: what checks tokens of workflow runs; None
    lets none in.
    """

    def __init__(
        self,
        people: People,
        lease_keys: Mapping[str, bytes],
        now: Callable[[], float] = time.monotonic,
        *,
        runs: RunTokens | None = None,
    ) -> None:
        self._people = people
        self._runs = runs
        self._lease_keys = lease_keys
        self._accounts: _Kept[Caller] = _Kept(now)
        self._permissions: _Kept[str] = _Kept(now)

    async def may_claim(self, authorization: str | None, owner: str, repo: str) -> Claimant:
        """The caller, if it is an account that may write, or a run of this repository. Raises Refused, or a GitHubError
        without an answer.
        """
        caller, level = await self._caller(authorization, owner, repo)
        if isinstance(caller, Account) and level not in MAY_CLAIM:
            raise Refused(
                Blocked(
                    Code.FORBIDDEN,
                    f"{caller.login} has {level} permission in {owner}/{repo}; a claim needs write",
                    f"ask for write access to {owner}/{repo}, or use the token of an account that has it",
                )
            )
        return caller

    async def may_see(self, authorization: str | None, owner: str, repo: str) -> Claimant:
        """The caller, if it is an account that may read, or a run of this repository. Raises as `may_claim`."""
        caller, _ = await self._caller(authorization, owner, repo)
        return caller

    def holder(self, authorization: str | None, ticket: TicketId) -> Claims:
        """What a genuine lease token says; whether it is the current lease, the ledger decides. Raises Refused."""
        token = _bearer(authorization, "the lease token that the claim returned")
        if token.startswith(_GITHUB_FORMS):
            raise _unauthenticated(
                "this call takes a lease token, and a GitHub token came",
                "send the lease_token of your claim; the GitHub token is only for claim and brief",
            )
        if is_run_token(token):
            raise _unauthenticated(
                "this call takes a lease token, and the token of a workflow run came",
                "send the lease_token of your claim; the run's own token is only for claim and brief",
            )
        claims = lease_token.verify(token, self._lease_keys)
        if isinstance(claims, Forged):
            raise _unauthenticated(
                claims.reason, "claim the ticket again, and keep the lease token exactly as returned"
            )
        if claims.ticket != ticket:
            raise Refused(
                Blocked(
                    Code.FORBIDDEN,
                    f"the lease token is for ticket #{claims.ticket}, not #{ticket}",
                    f"call the paths of ticket #{claims.ticket}, or claim #{ticket}",
                )
            )
        return claims

    async def _caller(self, authorization: str | None, owner: str, repo: str) -> tuple[Claimant, str]:
        token = _bearer(authorization, "a GitHub user token")
        if is_run_token(token) and self._runs is not None:
            return await self._run(self._runs, token, owner, repo), "none"
        if token.startswith(lease_token.PREFIX):
            raise _unauthenticated(
                "this call takes a GitHub user token, and a lease token came",
                "send the token of the GitHub account that works; the lease token is for the calls after the claim",
            )
        digest = hashlib.sha256(token.encode()).digest()
        caller = self._accounts.get(digest)
        if caller is None:
            caller = await self._people.caller(token)
            self._accounts.put(digest, caller)
        asked = (digest, owner.lower(), repo.lower())
        level = self._permissions.get(asked)
        if level is None:
            level = await self._ask(owner, repo, caller.login)
            self._permissions.put(asked, level)
        if level not in MAY_SEE:
            raise _invisible(owner, repo)
        return Account(caller.login), level

    async def _run(self, runs: RunTokens, token: str, owner: str, repo: str) -> RunOf:
        claims = await runs.verify(token)
        if isinstance(claims, Blocked):
            raise Refused(claims)
        try:
            repository = await self._people.repository(owner, repo)
        except NotFound:
            raise _invisible(owner, repo) from None
        if repository.id != claims.repository_id:
            raise _invisible(owner, repo)
        return RunOf(claims)

    async def _ask(self, owner: str, repo: str, login: str) -> str:
        try:
            repository = await self._people.repository(owner, repo)
        except NotFound:
            raise _invisible(owner, repo) from None
        return await self._people.permission(repository, login)


class _Kept(Generic[Value]):
    """Answers for 60 seconds, the oldest dropped first."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._entries: OrderedDict[Hashable, tuple[float, Value]] = OrderedDict()

    def get(self, key: Hashable) -> Value | None:
        entry = self._entries.get(key)
        if entry is None or self._now() >= entry[0]:
            return None
        return entry[1]

    def put(self, key: Hashable, value: Value) -> None:
        self._entries[key] = self._now() + KEPT_S, value
        self._entries.move_to_end(key)
        while len(self._entries) > KEPT_ENTRIES:
            self._entries.popitem(last=False)


def _bearer(authorization: str | None, wanted: str) -> str:
    scheme, _, token = (authorization or "").partition(" ")
    token = token.strip()
    longest = MAX_TOKEN if is_run_token(token) else MAX_OTHER_TOKEN
    if scheme.lower() != "bearer" or not token or len(token) > longest or not token.isascii():
        raise _unauthenticated(f"this call needs {wanted}", f"send `Authorization: Bearer …` with {wanted}")
    return token


def _unauthenticated(reason: str, remedy: str) -> Refused:
    return Refused(Blocked(Code.UNAUTHENTICATED, reason, remedy))


def _invisible(owner: str, repo: str) -> Refused:
    return Refused(
        Blocked(
            Code.NOT_FOUND,
            f"no repository {owner}/{repo} that this App is installed on and you may read",
            "check the name, your access, and that the App is installed there",
        )
    )
