"""Which permission an App must hold to be told of an event: what its installation lacks, it never hears of.

Source: docs.github.com, "Webhook events and payloads" (each event names its permission). Several names: any one.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.emulator.errors import ApiError
from app.emulator.state import App, Permissions

_NEEDED: dict[str, tuple[str, ...]] = {
    "branch_protection_rule": ("administration",),
    "check_run": ("checks",),
    "check_suite": ("checks",),
    "commit_comment": ("contents",),
    "create": ("contents",),
    "delete": ("contents",),
    "deployment": ("deployments",),
    "deployment_status": ("deployments",),
    "fork": ("contents",),
    "issue_comment": ("issues", "pull_requests"),
    "issue_dependencies": ("issues",),
    "issues": ("issues",),
    "label": ("metadata",),
    "member": ("members",),
    "merge_group": ("merge_queues",),
    "milestone": ("issues", "pull_requests"),
    "organization": ("members",),
    "projects_v2": ("organization_projects",),
    "projects_v2_item": ("organization_projects",),
    "public": ("metadata",),
    "pull_request": ("pull_requests",),
    "pull_request_review": ("pull_requests",),
    "pull_request_review_comment": ("pull_requests",),
    "pull_request_review_thread": ("pull_requests",),
    "push": ("contents",),
    "release": ("contents",),
    "repository": ("metadata",),
    "repository_dispatch": ("contents",),
    "repository_ruleset": ("administration",),
    "status": ("statuses",),
    "sub_issues": ("issues",),
    "workflow_dispatch": ("contents",),
    "workflow_job": ("actions",),
    "workflow_run": ("actions",),
}


# Sent to every App unasked; GitHub refuses to be asked for them (github.com/WeblateOrg/weblate/issues/20301).
UNASKED = ("installation", "installation_repositories", "installation_target", "ping")


def check_asked_for(events: Sequence[str]) -> None:
    """May an App subscribe to these? Raises 422 in the words of GitHub's registration."""
    unsupported = [event for event in events if event in UNASKED]
    if unsupported:
        raise ApiError(422, f"Default events unsupported: {' and '.join(unsupported)}")


# "GitHub Apps with write-level access for the "Checks" permission are automatically subscribed" to these.
_WITH_CHECKS = ("check_run", "check_suite")


def subscribed(app: App, permissions: Permissions, event: str) -> bool:
    """Did the App ask for the event, or is it subscribed by what it may do?"""
    return event in app.events or (event in _WITH_CHECKS and permissions.get("checks") == "write")


def may_hear(permissions: Permissions, event: str) -> bool:
    """Do the permissions of an installation let it hear of the event? Events without a rule are heard by all."""
    needed = _NEEDED.get(event)
    return needed is None or any(name == "metadata" or permissions.get(name) for name in needed)
