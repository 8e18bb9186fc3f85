"""Keys: what a poke names. A ticket (`owner/repo#42`) or a child of one (`owner/repo#42.docs-1`), a trunk
(`owner/repo@release-1-2-0`), a repository, all repositories of an installation (`installation:7`), an Issue that is
named by GitHub's id of it alone (`installation:7/I_kwDOAB`), as events of Projects name it, or one thing that a person
said, by a comment (`owner/repo!comment-123`) or a button (`owner/repo!button-7.hold.0123456789ab`).

Names arrive in payloads, so every part is checked before it becomes part of a key.
"""

import re
from dataclasses import dataclass

from app.domain.ticket_id import MAX_NUMBER, Child, TicketId, number_of, ticket_id

_OWNER = r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}"
_REPOSITORY = r"(?!\.{1,2}(?:[#@!]|\Z))[A-Za-z0-9._-]{1,100}"
_SAID = r"comment-[1-9][0-9]{0,17}|button-[1-9][0-9]{0,17}\.(?:hold|recover|brief)\.[0-9a-f]{12}"
_FULL_NAME = re.compile(rf"{_OWNER}/{_REPOSITORY}")
_INSTALLATION = re.compile(r"installation:([1-9][0-9]{0,17})(?:/([A-Za-z0-9_=-]{4,100}))?")
_TRUNK = re.compile(r"\S{1,255}")
_NODE_ID = re.compile(r"[A-Za-z0-9_=-]{4,100}")
_KEY = re.compile(
    rf"(?P<repository>{_OWNER}/{_REPOSITORY})"
    rf"(?:#(?P<ticket>[0-9][a-z0-9.-]{{0,48}})|@(?P<trunk>\S+)|!(?P<said>{_SAID}))?"
)


def is_repository_name(text: object) -> bool:
    """Whether this is an `owner/repo` that GitHub could have given out."""
    return isinstance(text, str) and _FULL_NAME.fullmatch(text) is not None


def is_number(value: object) -> bool:
    """Whether this is a number that an Issue or PR could have."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_NUMBER


def is_installation_id(value: object) -> bool:
    """Whether this is a number that an installation could have."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**18


def is_node_id(value: object) -> bool:
    """Whether this is an id that GitHub's GraphQL could have given out."""
    return isinstance(value, str) and _NODE_ID.fullmatch(value) is not None


def is_trunk_name(name: str) -> bool:
    """Whether a key can carry this name of a branch."""
    return _TRUNK.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class InstallationKey:
    """Every repository of an installation: the App came, or came back."""

    id: int

    def __post_init__(self) -> None:
        if not is_installation_id(self.id):
            raise ValueError("not the id of an installation")

    def __str__(self) -> str:
        return f"installation:{self.id}"


@dataclass(frozen=True, slots=True)
class IssueKey:
    """An Issue by its node id, under an installation that may see it: whose ticket it is has to be asked."""

    installation: int
    node_id: str

    def __post_init__(self) -> None:
        if not is_installation_id(self.installation) or not is_node_id(self.node_id):
            raise ValueError("not an Issue of an installation")

    def __str__(self) -> str:
        return f"installation:{self.installation}/{self.node_id}"


@dataclass(frozen=True, slots=True)
class RepositoryKey:
    """Everything of a repository that belongs to no single ticket or trunk."""

    repository: str

    def __post_init__(self) -> None:
        _require_repository(self.repository)

    def __str__(self) -> str:
        return self.repository


@dataclass(frozen=True, slots=True)
class TicketKey:
    """One ticket, or a child of one. The number may be that of its PR: GitHub counts both in one sequence."""

    repository: str
    ticket: TicketId

    def __post_init__(self) -> None:
        _require_repository(self.repository)
        if not isinstance(self.ticket, Child | int) or not is_number(number_of(self.ticket)):
            raise ValueError("not the number of an Issue or PR")

    def __str__(self) -> str:
        return f"{self.repository}#{self.ticket}"


@dataclass(frozen=True, slots=True)
class TrunkKey:
    """One trunk and the release it carries."""

    repository: str
    branch: str

    def __post_init__(self) -> None:
        _require_repository(self.repository)
        if not is_trunk_name(self.branch):
            raise ValueError("not the name of a branch")

    def __str__(self) -> str:
        return f"{self.repository}@{self.branch}"


@dataclass(frozen=True, slots=True)
class WordKey:
    """One thing that a person said: `comment-` and a comment's number, or `button-`, the number of the check-run, which
    button, and a digest of who clicked it on which state. The same thing said again has the same key.
    """

    repository: str
    said: str

    def __post_init__(self) -> None:
        _require_repository(self.repository)
        if not re.fullmatch(_SAID, self.said):
            raise ValueError("not what a person said")

    def __str__(self) -> str:
        return f"{self.repository}!{self.said}"

    @property
    def comment_id(self) -> int | None:
        """The number of the comment that said it; None of a button."""
        kind, _, number = self.said.partition("-")
        return int(number) if kind == "comment" else None


Key = InstallationKey | IssueKey | RepositoryKey | TicketKey | TrunkKey | WordKey


def parse_key(text: str) -> Key:
    """The key written as `text`; `str()` of the result is `text` again. Raises ValueError."""
    installation = _INSTALLATION.fullmatch(text)
    if installation is not None and installation[2] is not None:
        return IssueKey(int(installation[1]), installation[2])
    if installation is not None:
        return InstallationKey(int(installation[1]))
    found = _KEY.fullmatch(text)
    if found is None:
        raise ValueError("not a key")
    if found["ticket"] is not None:
        ticket = ticket_id(found["ticket"])
        if ticket is None:
            raise ValueError("not a key")
        return TicketKey(found["repository"], ticket)
    if found["trunk"] is not None:
        return TrunkKey(found["repository"], found["trunk"])
    if found["said"] is not None:
        return WordKey(found["repository"], found["said"])
    return RepositoryKey(found["repository"])


def _require_repository(name: str) -> None:
    if not is_repository_name(name):
        raise ValueError("not an owner/repo name")
