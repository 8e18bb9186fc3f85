"""What an account may do in a repository, and whether it is in a team: GitHub's answer at one moment, never a guess."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["none", "read", "triage", "write", "maintain", "admin"]

LEVELS: tuple[Level, ...] = ("none", "read", "triage", "write", "maintain", "admin")


@dataclass(frozen=True)
class RoleHeld:
    """What GitHub says of an account now. `id`: the account's, by which another one under a name that was given up is
    told apart. `role`: the role's name, which may be an organization's own; `level` is what such a role comes to at
    least.
    """

    login: str
    id: int
    level: Level
    role: str

    def is_at_least(self, level: Level) -> bool:
        return LEVELS.index(self.level) >= LEVELS.index(level)


@dataclass(frozen=True)
class NoSuchAccount:
    """GitHub knows no account of this name, or shows the App none."""

    login: str


@dataclass(frozen=True)
class NotTold:
    """GitHub does not answer the App this question; `reason` says what it lacks. Nothing may be concluded from it."""

    reason: str


@dataclass(frozen=True)
class TeamMember:
    """An accepted membership."""

    team: str
    login: str
    maintains: bool


@dataclass(frozen=True)
class NotInTeam:
    """No membership: never invited, not accepted yet, or there is no such team."""

    team: str
    login: str
    invited: bool = False


Role = RoleHeld | NoSuchAccount | NotTold
Membership = TeamMember | NotInTeam | NotTold
