"""REST, one subject a file; every module adds its routes to :data:`app.emulator.rest.table.routes`."""

from app.emulator.rest import (
    app_hook,
    apps,
    check_suites,
    checks,
    comments,
    commits,
    contents,
    forks,
    git_data,
    git_refs,
    issues,
    merging,
    people,
    pulls,
    repositories,
)
from app.emulator.rest.table import routes

__all__ = [
    "apps",
    "check_suites",
    "checks",
    "comments",
    "commits",
    "contents",
    "forks",
    "git_data",
    "app_hook",
    "git_refs",
    "issues",
    "merging",
    "people",
    "pulls",
    "repositories",
    "routes",
]
