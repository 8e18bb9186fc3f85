"""Who may authorize a release: what the policy lists, against what GitHub says of an account at this moment.

A role, a team, a name: whichever entry fits is enough, and write access is needed besides. `author_association` of a
comment says something else and decides nothing here.
"""

from dataclasses import dataclass

from app.domain.permission import Level, NoSuchAccount, NotInTeam, NotTold, RoleHeld, TeamMember
from app.domain.policy import Policy, ReleasePolicy
from app.domain.release_observation import Account, ReleaseObservation, ReleasePull, Unread
from app.domain.release_record import Person

_FLOOR: Level = "write"
_SOMEBODY_ELSE = "somebody else who is permitted authorizes it"


@dataclass(frozen=True)
class MayAuthorize:
    """The policy lets this account authorize releases, by `because`."""

    because: str


@dataclass(frozen=True)
class MayNot:
    """It does not."""

    reason: str
    remedy: str


def may_authorize(
    by: Person | Account, observation: ReleaseObservation, policy: Policy
) -> MayAuthorize | MayNot | Unread:
    """Whether the policy lets an account authorize releases at this moment, by GitHub's own word about it."""
    role = observation.roles.get(by.id, Unread(f"what {by.login} may do was not read"))
    if isinstance(role, Unread):
        return role
    if isinstance(role, NotTold):
        return Unread(role.reason)
    who = listed(policy.release)
    if isinstance(role, NoSuchAccount) or role.id != by.id:
        return MayNot("GitHub knows no such account any more", f"somebody else authorizes it: {who}")
    if not role.is_at_least(_FLOOR):
        return MayNot(f"{by.login} has no write access here (role: {role.role})", f"somebody else authorizes it: {who}")
    return _entitled(role, observation, policy.release)


def may_not_count(
    by: Person | Account, pull: ReleasePull, observation: ReleaseObservation, policy: Policy
) -> MayNot | None:
    """What keeps a permitted account's word from counting for this PR: it is the PR's author, or pushed its head."""
    if pull.author is not None and pull.author.id == by.id:
        remedy = "somebody else authorizes it; or close this PR, and the App opens one that is nobody's own"
        return MayNot(f"{by.login} opened the release PR, and nobody authorizes what is their own", remedy)
    pusher = observation.last_pusher
    if policy.release.not_last_pusher and pusher is not None and pusher.id == by.id:
        return MayNot(f"{by.login} pushed this commit, and the policy says release.not_last_pusher", _SOMEBODY_ELSE)
    return None


def _entitled(role: RoleHeld, o: ReleaseObservation, policy: ReleasePolicy) -> MayAuthorize | MayNot | Unread:
    unread: Unread | None = None
    for entry in policy.authorizers:
        if entry.startswith("permission:"):
            level = _level(entry)
            if level is not None and role.is_at_least(level):
                return MayAuthorize(f"the role {role.role}")
        elif entry.startswith("@"):
            team = entry.removeprefix("@").lower()
            found = o.teams.get((team, role.id), Unread(f"whether {role.login} is in {team} was not read"))
            if isinstance(found, TeamMember):
                return MayAuthorize(f"the team {team}")
            if not isinstance(found, NotInTeam):
                unread = unread or Unread(found.reason)
        elif entry.lower() == role.login.lower():
            return MayAuthorize("the policy's list")
    if unread is not None:
        return unread
    return MayNot(f"{role.login} (role: {role.role}) may not authorize releases here", f"ask for it: {listed(policy)}")


def _level(entry: str) -> Level | None:
    levels: dict[str, Level] = {"admin": "admin", "maintain": "maintain", "write": "write"}
    return levels.get(entry.removeprefix("permission:"))


def listed(policy: ReleasePolicy) -> str:
    """Who may, in words of the policy's own syntax. A team is named without `@`: being told of is not being called."""
    if not policy.authorizers:
        return "nobody, because release.authorizers in .github/agent-recovery.yml is empty"
    shown = ", ".join(_in_words(entry) for entry in policy.authorizers[:5])
    more = f" and {len(policy.authorizers) - 5} more" if len(policy.authorizers) > 5 else ""
    return f"{shown}{more}"


def _in_words(entry: str) -> str:
    if entry.startswith("permission:"):
        return f"anybody with at least the role {entry.removeprefix('permission:')}"
    return f"the team {entry.removeprefix('@')}" if entry.startswith("@") else entry
