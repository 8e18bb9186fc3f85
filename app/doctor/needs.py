"""What the App needs to be given: the permissions and events of `app.yml`, which says why of each."""

from collections.abc import Collection, Mapping

from app.doctor.health import Health, Told
from app.domain.policy import Policy

PERMISSIONS: Mapping[str, str] = {
    "metadata": "read",
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
}
"""Without one of these the App cannot do its work at all."""
SOMETIMES: Mapping[str, tuple[str, str]] = {
    "organization_projects": ("write", "`project.number` in the policy"),
    "members": ("read", "teams in `release.authorizers`"),
    "merge_queues": ("read", "a merge queue on the base of releases: the App is told of its groups only with it"),
    "administration": ("write", "`doctor --fix`, which writes a ruleset; take it away again afterwards"),
    "actions": (
        "write",
        "`resume.dispatch: workflow_dispatch`; with `repository_dispatch` only `read`, to see runs end",
    ),
    "deployments": ("read", "effects of agents that are looked for as deployments"),
}
"""What only some repositories need, and what for."""
EVENTS = (
    "issues",
    "issue_comment",
    "pull_request",
    "push",
    "create",
    "delete",
    "check_run",
    "repository",
)
"""What the App is told of at once. Without one of them the regular look finds it later."""
_RANK = ("none", "read", "write", "admin")


def told_of_permissions(held: Mapping[str, str], policy: Policy | None, fix: bool) -> Told:
    """Whether the installation has what this repository's policy makes the App need."""
    wanted = dict(PERMISSIONS)
    if policy is not None and policy.project.number is not None:
        wanted["organization_projects"] = SOMETIMES["organization_projects"][0]
    if policy is not None and any(name.startswith("@") for name in policy.release.authorizers):
        wanted["members"] = SOMETIMES["members"][0]
    if policy is not None and policy.resume.dispatch == "workflow_dispatch":
        wanted["actions"] = SOMETIMES["actions"][0]
    elif policy is not None and policy.resume.dispatch == "repository_dispatch":
        wanted["actions"] = "read"
    if fix:
        wanted["administration"] = SOMETIMES["administration"][0]
    missing = [f"{name}: {level}" for name, level in wanted.items() if not at_least(held, name, level)]
    if missing:
        remedy = "grant it on the App's page; an owner of the account then accepts it for the installation"
        return Told("permissions", Health.MEND, f"the installation lacks {', '.join(missing)}", remedy)
    return Told("permissions", Health.FINE, "the installation has what the App needs here")


def told_of_events(heard: Collection[str], policy: Policy | None, queue: bool) -> Told:
    """Whether the App hears at once of what it looks after. `queue`: the base of releases has a merge queue."""
    wanted = [*EVENTS, *(["merge_group"] if queue else [])]
    if policy is not None and policy.project.number is not None:
        wanted.append("projects_v2_item")
    if policy is not None and policy.resume.dispatch in ("workflow_dispatch", "repository_dispatch"):
        wanted.append("workflow_run")
    missing = [name for name in wanted if name not in heard]
    if missing:
        remedy = "subscribe the App to them on its page; until then the regular look finds what happened, later"
        return Told("events", Health.MEND, f"the App is not told of {', '.join(missing)}", remedy)
    return Told("events", Health.FINE, "the App is told of what it looks after")


def at_least(held: Mapping[str, str], name: str, level: str) -> bool:
    """Whether a permission is held at this level or above."""
    return _RANK.index(held.get(name, "none")) >= _RANK.index(level) if held.get(name, "none") in _RANK else False
