"""What one repository tells of another that whoever asks may not see: nothing."""

from __future__ import annotations

from collections.abc import Iterable

from app.emulator.auth import Identity
from app.emulator.state import Issue, TimelineEvent


def seen_issues(identity: Identity, issues: Iterable[Issue]) -> list[Issue]:
    """Those Issues and pull requests that this identity may know of."""
    return [issue for issue in issues if identity.sees(issue.repo)]


def seen_entries(identity: Identity, entries: Iterable[TimelineEvent]) -> list[TimelineEvent]:
    """A timeline without the references to, and links with, what is hidden; that something closed an Issue stays."""
    return [e for e in entries if e.event == "closed" or _names_nothing_hidden(identity, e)]


def _names_nothing_hidden(identity: Identity, entry: TimelineEvent) -> bool:
    return all(identity.sees(named.repo) for named in entry.data.values() if isinstance(named, Issue))
