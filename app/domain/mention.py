"""Whom a report mentions. The one place where the App writes a live mention.

A login comes from GitHub and has a narrow grammar; whatever does not keep to it is shown to nobody as a mention.
"""

import re

from app.domain.observation import Issue

_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?")


def mention(issue: Issue | None) -> str:
    """The beginning of a sentence for whom an Issue concerns: its first assignee, else who opened it; a bot and an
    account that is gone read nothing.
    """
    person = next(iter(issue.assignees), issue.author) if issue is not None else None
    return f"@{person} " if person is not None and _LOGIN.fullmatch(person) else ""
