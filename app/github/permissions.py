"""What an account may do in the repository and which teams it is in, asked of GitHub at this moment.

Nothing is kept: whoever acts on the answer asks right before the act. `author_association` says something else and is
never used for this.
"""

from app.domain.model import Message
from app.domain.permission import (
    LEVELS,
    Level,
    Membership,
    NoSuchAccount,
    NotInTeam,
    NotTold,
    Role,
    RoleHeld,
    TeamMember,
)
from app.github.access import RepositoryAccess
from app.github.errors import Forbidden, NotFound
from app.github.shapes import read
from app.github.wire import Call

_PERMISSION = "/repos/{owner}/{repo}/collaborators/{login}/permission"
_MEMBERSHIP = "/orgs/{org}/teams/{team}/memberships/{login}"
_FLAGS: tuple[tuple[str, Level], ...] = (
    ("admin", "admin"),
    ("maintain", "maintain"),
    ("push", "write"),
    ("triage", "triage"),
    ("pull", "read"),
)


class Permissions(RepositoryAccess):
    """Asking for permissions. Reads only; one request each. All raise GitHubError where GitHub does not answer."""

    async def role_of(self, login: str) -> Role:
        """The present role of an account. In a public repository everybody may read, members or not."""
        try:
            answer = await self.session.get(_PERMISSION, self._at(login=login))
        except NotFound:
            return NoSuchAccount(login)
        except Forbidden as e:
            return NotTold(f"GitHub does not tell the App what {login} may do in {self.full_name}: {e.message}")
        shape = read(_Permission, answer.body, Call("GET", _PERMISSION))
        if shape.user is None:
            return NoSuchAccount(login)
        return RoleHeld(shape.user.login, shape.user.id, shape.level(), shape.role_name or shape.permission)

    async def membership(self, team: str, login: str) -> Membership:
        """Whether an account is in a team, given as `organization/team`. Needs the permission `members: read`; without
        it, and for another organization than the repository's, the answer is NotTold.
        """
        org, _, slug = team.removeprefix("@").partition("/")
        if org.lower() != self.owner.lower() or not slug:
            return NotTold(f"the App sees only teams of {self.owner}, and {team} is none of them")
        try:
            answer = await self.session.get(_MEMBERSHIP, {"org": org, "team": slug, "login": login})
        except NotFound:
            return NotInTeam(f"{org}/{slug}", login)
        except Forbidden as e:
            return NotTold(
                f"GitHub does not tell the App who is in {org}/{slug}: {e.message}; the App needs the organization "
                f"permission `members: read`"
            )
        shape = read(_Membership, answer.body, Call("GET", _MEMBERSHIP))
        if shape.state != "active":
            return NotInTeam(f"{org}/{slug}", login, invited=True)
        return TeamMember(f"{org}/{slug}", login, shape.role == "maintainer")


class _Flags(Message):
    admin: bool = False
    maintain: bool = False
    push: bool = False
    triage: bool = False
    pull: bool = False


class _User(Message):
    login: str
    id: int
    permissions: _Flags | None = None


class _Permission(Message):
    permission: str = "none"
    role_name: str | None = None
    user: _User | None = None

    def level(self) -> Level:
        """`permission` folds maintain into write and triage into read. A role that an organization made itself has a
        name of its own; what it comes to is in the flags of the account.
        """
        if self.role_name in LEVELS:
            return self.role_name
        flags = self.user.permissions if self.user is not None else None
        held = [level for flag, level in _FLAGS if flags is not None and getattr(flags, flag)]
        if held:
            return held[0]
        return self.permission if self.permission in LEVELS else "none"


class _Membership(Message):
    role: str = "member"
    state: str = ""
