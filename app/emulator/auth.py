"""Who asks, and what they may do."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import jwt

from app.emulator.actions_names import ACTIONS_APP
from app.emulator.errors import ApiError, forbidden_to_app, not_found
from app.emulator.state import ROLES, Account, Actor, App, Installation, Permissions, Repository, Token

if TYPE_CHECKING:
    from app.emulator.routing import Request
    from app.emulator.world import World

JWT_LIFETIME = 600
JWT_SLACK = 60
_LEVELS = {"read": 1, "write": 2, "admin": 3}
_ALL_SCOPES = ("admin:org", "repo", "workflow")


@dataclass(frozen=True)
class Identity:
    """The bearer of a request: nobody, a user, an App itself (JWT), or an installation."""

    user: Account | None = None
    app: App | None = None
    installation: Installation | None = None
    token: Token | None = None
    refusal: ApiError | None = None
    # What an App that acts for a person may use: its live installations.
    reach: tuple[Installation, ...] = ()

    @property
    def label(self) -> str:
        """``user:<login>``, ``app:<slug>`` or ``anonymous``; for logs, counters and faults."""
        if self.app is not None:
            return f"app:{self.app.slug}"
        return f"user:{self.user.login}" if self.user is not None else "anonymous"

    @property
    def key(self) -> str:
        """What an ETag and a rate limit belong to."""
        if self.installation is not None:
            only = self.installation.repositories
            if self.installation.app.slug == ACTIONS_APP and only:
                # A workflow's token is counted by its repository.
                return f"actions:{min(only)}"
            return f"installation:{self.installation.id}"
        return self.label

    @property
    def account(self) -> Account:
        """The account that acts are shown under. Raises 401 for nobody and 403 for a bare App."""
        if self.installation is not None:
            return self.installation.app.bot
        if self.user is None:
            if self.app is not None:
                raise ApiError(403, "Resource not accessible by integration")
            raise ApiError(401, "Requires authentication")
        return self.user

    @property
    def actor(self) -> Actor:
        """The account and the App behind it: an installation's, or the one that acts for a person."""
        if self.installation is not None:
            return Actor(self.account, self.installation.app)
        return Actor(self.account, self.token.on_behalf_by if self.token is not None else None)

    def sees(self, repo: Repository) -> bool:
        """May this identity know of the repository at all?"""
        if not repo.private:
            return True
        if self.installation is not None:
            return self.covers(repo)
        return self.user is not None and repo.role_of(self.user) != "none" and self.reaches(repo)

    def covers(self, repo: Repository) -> bool:
        """Does the installation token reach this repository?"""
        if self.installation is None or not self.installation.covers(repo):
            return False
        ids = self.token.repository_ids if self.token is not None else None
        return ids is None or repo.id in ids

    def allows(self, repo: Repository, permission: str, level: str) -> bool:
        """May this identity do what ``permission`` at ``level`` stands for in the repository?"""
        if self.installation is not None:
            if not self.covers(repo):
                return not repo.private and level == "read"
            return self.token is not None and holds(self.token.permissions, permission, level)
        if not self._token_allows(repo, permission, level):
            return False
        if level == "read" and permission not in _NOT_FOR_READERS:
            return self.sees(repo)
        return at_least(repo.role_of(self.user), _ROLE_FOR.get((permission, level), "write"))

    def reaches(self, repo: Repository) -> bool:
        """Is the repository within what a person's token was made for?"""
        token = self.token
        if token is None or token.kind == "classic":
            return token is None or token.scopes is None or "repo" in token.scopes
        if token.kind == "fine_grained":
            return repo.owner is token.resource_owner and (
                token.repository_ids is None or repo.id in token.repository_ids
            )
        return any(i.covers(repo) for i in self.reach)

    def _token_allows(self, repo: Repository, permission: str, level: str) -> bool:
        token = self.token
        if token is None:
            return True
        if token.kind == "classic":
            scopes = token.scopes
            return (
                scopes is None
                or "repo" in scopes
                or (not repo.private and (level == "read" or "public_repo" in scopes))
            )
        if not self.reaches(repo):
            return not repo.private and level == "read"
        if token.kind == "fine_grained":
            return holds(token.permissions, permission, level)
        return any(i.covers(repo) and holds(i.permissions, permission, level) for i in self.reach)


_ROLE_FOR = {
    ("issues", "write"): "triage",
    ("administration", "write"): "admin",
    ("administration", "read"): "admin",
}
# Read by those alone who may write to the repository.
_NOT_FOR_READERS = ("actions_variables",)


def holds(permissions: Permissions, name: str, level: str) -> bool:
    """Is the permission among those, as high as the level or higher? Metadata may be read with any."""
    held = permissions.get(name, "read" if name == "metadata" else "")
    return _LEVELS.get(held, 0) >= _LEVELS[level]


def at_least(role: str, needed: str) -> bool:
    """Is the role as strong as the needed one?"""
    return ROLES.index(role) >= ROLES.index(needed)


def visible_repo(world: World, identity: Identity, owner: str, name: str) -> Repository:
    """The repository, also by a name it had before, or 404 when it is missing or hidden."""
    repo = world.repo(owner, name) or world.moved_repo(owner, name)
    if repo is None or not identity.sees(repo):
        raise not_found()
    return repo


def require(identity: Identity, repo: Repository, level: str, *permissions: str, archived: bool = False) -> None:
    """Refuse unless one of the permissions is held at ``level``; worded for who asks. An archived repository takes
    writes only if ``archived`` says so."""
    if any(identity.allows(repo, p, level) for p in permissions):
        if level != "read" and repo.archived and not archived:
            raise ApiError(403, "Repository was archived so is read-only.")
        return
    raise _refusal(identity, repo, level, permissions)


def _refusal(identity: Identity, repo: Repository, level: str, permissions: tuple[str, ...]) -> ApiError:
    kind = identity.token.kind if identity.token is not None else None
    if identity.app is not None or kind in ("installation", "user_to_server"):
        return forbidden_to_app()
    if identity.user is None:
        return ApiError(401, "Requires authentication")
    if kind == "fine_grained":
        return ApiError(403, "Resource not accessible by personal access token")
    scopes = identity.token.scopes if identity.token is not None else None
    if scopes is not None and "repo" not in scopes and (repo.private or "public_repo" not in scopes):
        # What a scope hides does not exist.
        return not_found()
    if permissions == ("administration",):
        return ApiError(403, "Must have admin rights to Repository.")
    return ApiError(403, "Must have push access to repository." if level == "write" else "Forbidden")


def permission_headers(request: Request) -> dict[str, str]:
    """What GitHub tells about the token of a request: the permissions the endpoint asks, or the scopes held.

    Source: docs.github.com, "Authenticating to the REST API", and the changelog of 2023-08-10.
    """
    token = request.identity.token
    if token is None or request.identity.refusal is not None:
        return {}
    headers = {}
    if token.kind == "classic":
        scopes = token.scopes if token.scopes is not None else _ALL_SCOPES
        headers = {"x-oauth-scopes": ", ".join(scopes), "x-accepted-oauth-scopes": "repo" if request.accepted else ""}
    elif request.path != "/graphql":
        headers = {"x-accepted-github-permissions": request.accepted or "allows_permissionless_access=true"}
    if token.expires_at is not None and token.kind in ("classic", "fine_grained"):
        moment = datetime.fromtimestamp(token.expires_at, UTC)
        headers["github-authentication-token-expiration"] = moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    return headers


def identify(world: World, authorization: str | None) -> Identity:
    """The identity of an ``Authorization`` header; a bad one carries its refusal."""
    if not authorization:
        return Identity()
    scheme, _, value = authorization.partition(" ")
    value = value.strip()
    if scheme.lower() == "basic":
        try:
            value = base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return Identity(refusal=ApiError(401, "Bad credentials"))
    elif scheme.lower() not in ("bearer", "token"):
        return Identity(refusal=ApiError(401, "Bad credentials"))
    if value.startswith("ey") and value.count(".") == 2:
        return _app_identity(world, value)
    return _token_identity(world, value)


def _token_identity(world: World, value: str) -> Identity:
    token = world.tokens.get(value)
    if token is None:
        return Identity(refusal=ApiError(401, "Bad credentials"))
    app = token.installation.app if token.installation is not None else None
    refusal = None
    expired = token.expires_at is not None and world.clock.now() >= token.expires_at
    uninstalled = token.installation is not None and token.installation.id not in world.installations
    if token.revoked or expired or uninstalled:
        refusal = ApiError(401, "Bad credentials")
    elif token.installation is not None and token.installation.suspended_at is not None:
        refusal = ApiError(403, "This installation has been suspended")
    reach = tuple(i for i in world.installations.values() if i.app is token.on_behalf_by and i.suspended_at is None)
    return Identity(token.user, app, token.installation, token, refusal, reach)


def _app_identity(world: World, value: str) -> Identity:
    try:
        unverified: dict[str, Any] = jwt.decode(value, options={"verify_signature": False})
        app = world.app_by_issuer(str(unverified.get("iss")))
    except jwt.PyJWTError:
        return Identity(refusal=ApiError(401, "A JSON web token could not be decoded"))
    if unverified.get("iss") is None:
        return Identity(refusal=ApiError(401, "Missing 'issuer' claim ('iss') in assertion"))
    if app is None:
        return Identity(refusal=ApiError(404, "Integration not found"))
    try:
        claims = jwt.decode(
            value,
            app.public_pem,
            algorithms=["RS256"],
            options={
                "verify_exp": False,
                "verify_iat": False,
                "verify_nbf": False,
                "verify_aud": False,
                "verify_iss": False,
                "verify_sub": False,
            },
        )
    except jwt.PyJWTError:
        return Identity(app=app, refusal=ApiError(401, "A JSON web token could not be decoded"))
    return Identity(app=app, refusal=_claims_refusal(claims, world.clock.now()))


def _claims_refusal(claims: dict[str, Any], now: float) -> ApiError | None:
    issued, expires = claims.get("iat"), claims.get("exp")
    # The sentence asks an Integer of one, a number of the other.
    if not isinstance(issued, int) or issued > now + JWT_SLACK:
        return ApiError(
            401, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
        )
    if not isinstance(expires, (int, float)) or expires <= now:
        return ApiError(
            401,
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the "
            "assertion expires",
        )
    if expires > now + JWT_LIFETIME + JWT_SLACK or expires - issued > JWT_LIFETIME + JWT_SLACK:
        return ApiError(401, "'Expiration time' claim ('exp') is too far in the future")
    return None
