"""How a repository merges, by its settings, and what GitHub refuses to set."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import Any

from app.emulator.errors import invalid, no_member, unreadable

METHODS = ("merge", "squash", "rebase")
_CHOICES = {
    "squash_merge_commit_title": ("PR_TITLE", "COMMIT_OR_PR_TITLE"),
    "squash_merge_commit_message": ("PR_BODY", "COMMIT_MESSAGES", "BLANK"),
    "merge_commit_title": ("PR_TITLE", "MERGE_MESSAGE"),
    "merge_commit_message": ("PR_BODY", "PR_TITLE", "BLANK"),
}
# GitHub offers these pairs and no others (REST "Update a repository").
_SQUASH = {("PR_TITLE", m) for m in ("PR_BODY", "COMMIT_MESSAGES", "BLANK")} | {
    ("COMMIT_OR_PR_TITLE", "COMMIT_MESSAGES"),
}
_MERGE = {("PR_TITLE", "PR_BODY"), ("PR_TITLE", "BLANK"), ("MERGE_MESSAGE", "PR_TITLE")}


@dataclass(frozen=True)
class RepoSettings:
    """The settings of merging; a new repository has these defaults."""

    allow_merge_commit: bool = True
    allow_squash_merge: bool = True
    allow_rebase_merge: bool = True
    allow_auto_merge: bool = False
    allow_update_branch: bool = False
    delete_branch_on_merge: bool = False
    allow_forking: bool = True
    squash_merge_commit_title: str = "COMMIT_OR_PR_TITLE"
    squash_merge_commit_message: str = "COMMIT_MESSAGES"
    merge_commit_title: str = "MERGE_MESSAGE"
    merge_commit_message: str = "PR_TITLE"

    def allows(self, method: str) -> bool:
        """Is this one of the merge methods the repository has switched on?"""
        return {
            "merge": self.allow_merge_commit,
            "squash": self.allow_squash_merge,
            "rebase": self.allow_rebase_merge,
        }[method]

    def shown(self) -> dict[str, Any]:
        """The settings as a full repository has them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def changed(settings: RepoSettings, body: dict[str, Any]) -> RepoSettings:
    """The settings with the members of a request. Raises 422 for what GitHub does not accept."""
    given = {f.name: body[f.name] for f in fields(settings) if body.get(f.name) is not None}
    for name, value in given.items():
        choices = _CHOICES.get(name)
        if choices is None and not isinstance(value, bool):
            raise unreadable(f"For 'properties/{name}', {json.dumps(value)} is not a boolean.")
        if choices is not None and value not in choices:
            raise unreadable(no_member(value, choices))
    wanted = replace(settings, **given)
    if not any(wanted.allows(method) for method in METHODS):
        raise invalid(
            "Repository",
            "merge_commit_allowed",
            message="Sorry, you need to allow at least one merge strategy. (no_merge_method)",
        )
    if (wanted.squash_merge_commit_title, wanted.squash_merge_commit_message) not in _SQUASH:
        raise invalid("Repository", "squash_merge_commit_message")
    if (wanted.merge_commit_title, wanted.merge_commit_message) not in _MERGE:
        raise invalid("Repository", "merge_commit_message")
    return wanted
