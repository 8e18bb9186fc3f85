"""The report on a release that would merge by itself, which nobody authorized: told, and left to a person."""

import re

from app.domain.handoff_marker import report_marker
from app.domain.pull_class import Refs
from app.domain.untrusted import inline


def auto_merge_edge(since: str) -> str:
    """Each time somebody switches it on is told once."""
    return f"auto-merge-{re.sub(r'[^0-9]', '', since)[:14] or '0'}"


def auto_merge_report(number: int, edge: str, refs: Refs) -> str:
    """What was seen, what it means, what a person can do."""
    return (
        f"{report_marker(number, edge)}\n"
        f"**This release would merge by itself.** Auto-merge is switched on for the pull request that brings "
        f"{inline(refs.head, 250)} into {inline(refs.base, 250)}.\n\n"
        "A release is merged only when a person says so for exactly its commit; being green, approved or queued says "
        "nothing of the kind. Whoever did not mean this switches it off: `gh pr merge --disable-auto "
        f"{number}`. The App switches nothing on or off here.\n"
    )
