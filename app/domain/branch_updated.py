"""An update of the branch that the App asked for: which commit on top of the published one it is, and what the record
becomes with it.

Nobody else's commit is ever taken over here, be it a merge of the trunk, too: a foreign head stays foreign.
"""

from dataclasses import dataclass

from app.domain.fencing import Foreign, Head
from app.domain.record import Permit, Record


@dataclass(frozen=True)
class MadeCommit:
    """A commit as GitHub shows it. `by_app`: GitHub made and signed it for our App."""

    sha: str
    parents: tuple[str, ...]
    by_app: bool


def updates_asked(record: Record) -> tuple[Permit, ...]:
    """The permits under which GitHub may bring the branch up to date."""
    return tuple(p for p in record.open if p.kind == "branch_update")


def candidate(record: Record, head: Head) -> str | None:
    """The head that may be an update the App asked for, so that it is worth a look: it stands on the published commit,
    which is the one that an open permit names.
    """
    if not isinstance(head, Foreign):
        return None
    asked = any(p.target.head_sha == head.published for p in updates_asked(record))
    return head.head if asked and head.head not in record.burned_shas else None


def is_the_update(made: MadeCommit, head: Foreign, *, other_parent_on_trunk: bool) -> bool:
    """Whether the head is the one commit that the App asked GitHub for: a merge whose first parent is the published
    commit and whose other parent is on the trunk.
    """
    two = len(made.parents) == 2 and made.parents[0] == head.published
    return made.by_app and made.sha == head.head and two and other_parent_on_trunk


def with_update(record: Record, sha: str) -> Record:
    """The record once the update is taken over: published under the very identity under which its first parent was.
    What was validated stays noted for the commit that it was validated on, which this one is not. A person's word to
    land the first parent goes on to it: merged, both leave the same files on the trunk, and the App asked for it.
    """
    published, asked = record.published, record.landing.asked
    if published is None:
        return record
    if asked is not None and asked.head_sha == published.sha:
        asked = asked.model_copy(update={"head_sha": sha})
    return record.model_copy(
        update={
            "published": published.model_copy(update={"sha": sha}),
            "open": tuple(p for p in record.open if p.kind != "branch_update"),
            "landing": record.landing.model_copy(update={"asked": asked}),
        }
    )
