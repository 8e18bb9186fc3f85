"""A comment that somebody's word was taken from, as GitHub shows it at one moment."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class CommentAuthor:
    """Who wrote it. `kind`: GitHub's `User`, `Bot` or `Organization`; `Mannequin` for an imported one."""

    login: str
    id: int
    kind: str


@dataclass(frozen=True)
class SourceComment:
    """A comment on an Issue or pull request. `edited`: its text was changed after it was written, by whomever; GitHub
    goes on naming the first author. `via_app`: the App through which it was written, on a person's behalf or its own.
    `author` is None where the account is gone.
    """

    id: int
    node_id: str
    number: int
    body: str
    created_at: datetime
    edited: bool
    author: CommentAuthor | None
    via_app: int | None
    url: str = ""

    def is_a_persons_own(self) -> bool:
        """A person wrote it, in no App's name, and nobody changed it since."""
        return self.author is not None and self.author.kind == "User" and self.via_app is None and not self.edited


@dataclass(frozen=True)
class CommentGone:
    """There is no such comment any more: deleted, or its Issue was deleted or moved elsewhere."""

    id: int
