"""Teams of an organization, as far as anybody asks who is in one."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.emulator.state import Account


@dataclass(eq=False)
class Team:
    """A team; `maintainers` are members too, `invited` are those who have not accepted yet."""

    id: int
    organization: Account
    slug: str
    members: list[Account] = field(default_factory=list)
    maintainers: list[Account] = field(default_factory=list)
    invited: list[Account] = field(default_factory=list)
