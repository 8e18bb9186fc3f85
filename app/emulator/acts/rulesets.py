"""Repository rulesets: what GitHub accepts as one, and their life.

Rules this emulator does not enforce are answered with 501: a rule that is listed and not enforced would be worse.
"""

from __future__ import annotations

from typing import Any

from app.emulator.acts.events import announce
from app.emulator.errors import ApiError, no_member, unreadable
from app.emulator.guard_state import Ruleset
from app.emulator.render_rules import show_ruleset
from app.emulator.routing import Body
from app.emulator.state import Actor, Repository
from app.emulator.world import World

# Parameters a rule must have, with their types; None: the rule has no parameters.
_RULES: dict[str, dict[str, type] | None] = {
    "creation": None,
    "update": {},
    "deletion": None,
    "non_fast_forward": None,
    "required_linear_history": None,
    "required_signatures": None,
    "pull_request": {
        "dismiss_stale_reviews_on_push": bool,
        "require_code_owner_review": bool,
        "require_last_push_approval": bool,
        "required_approving_review_count": int,
        "required_review_thread_resolution": bool,
    },
    "required_status_checks": {"required_status_checks": list, "strict_required_status_checks_policy": bool},
    "merge_queue": {
        "check_response_timeout_minutes": int,
        "grouping_strategy": str,
        "max_entries_to_build": int,
        "max_entries_to_merge": int,
        "merge_method": str,
        "min_entries_to_merge": int,
        "min_entries_to_merge_wait_minutes": int,
    },
}
_UNSERVED = (
    "required_deployments",
    "commit_message_pattern",
    "commit_author_email_pattern",
    "committer_email_pattern",
    "branch_name_pattern",
    "tag_name_pattern",
    "workflows",
    "code_scanning",
    "copilot_code_review",
    "license_compliance_scanning",
    "file_path_restriction",
    "max_file_path_length",
    "file_extension_restriction",
    "max_file_size",
)
_ACTORS = ("Integration", "OrganizationAdmin", "RepositoryRole", "Team", "DeployKey", "User")
_MODES = ("always", "pull_request", "exempt")
_METHODS = ("merge", "squash", "rebase")
_QUOTED = "', '"
_SCHEMA = 'Invalid request.\n\nNo subschema in "oneOf" matched.'


def create_ruleset(world: World, repo: Repository, body: Body, actor: Actor) -> Ruleset:
    """A new ruleset. Raises 422 with GitHub's reasons."""
    now = world.clock.stamp()
    ruleset = Ruleset(
        id=world.ids.next("ruleset"),
        repo=repo,
        name=_name(repo, body.need("name", str), None),
        target=_target(body.get("target", str, "branch")),
        enforcement=_enforcement(repo, body.need("enforcement", str)),
        rules=[],
        conditions={"ref_name": {"include": [], "exclude": []}},
        bypass_actors=[],
        created_at=now,
        updated_at=now,
    )
    _apply(world, ruleset, body)
    repo.guard.rulesets[ruleset.id] = ruleset
    _tell(world, ruleset, "created", actor)
    return ruleset


def update_ruleset(world: World, ruleset: Ruleset, body: Body, actor: Actor) -> None:
    """Replace the members that are given. Raises 422 and leaves all as it was."""
    name = _name(ruleset.repo, body.get("name", str, ruleset.name), ruleset)
    target = _target(body.get("target", str, ruleset.target))
    enforcement = _enforcement(ruleset.repo, body.get("enforcement", str, ruleset.enforcement))
    changes: dict[str, Any] = {}
    for member, value in (("name", name), ("enforcement", enforcement)):
        if value != getattr(ruleset, member):
            changes[member] = {"from": getattr(ruleset, member)}
    _apply(world, ruleset, body)
    ruleset.name, ruleset.target, ruleset.enforcement = name, target, enforcement
    ruleset.updated_at = world.clock.stamp()
    _tell(world, ruleset, "edited", actor, changes=changes)


def delete_ruleset(world: World, ruleset: Ruleset, actor: Actor) -> None:
    """Remove a ruleset; its rules hold no longer."""
    del ruleset.repo.guard.rulesets[ruleset.id]
    _tell(world, ruleset, "deleted", actor)


def _tell(world: World, ruleset: Ruleset, action: str, actor: Actor, **extra: Any) -> None:
    payload = {"action": action, "repository_ruleset": show_ruleset(ruleset, world.url, world.url)} | extra
    announce(world, ruleset.repo, "repository_ruleset", payload, actor)


def _apply(world: World, ruleset: Ruleset, body: Body) -> None:
    target = _target(body.get("target", str, ruleset.target))
    rules = [_rule(ruleset.repo, target, r) for r in body.get("rules", list, ruleset.rules)]
    if len({r["type"] for r in rules}) < len(rules):
        raise _failed("Rules must not contain duplicate types")
    actors = [_bypass(world, ruleset.repo, target, a) for a in body.get("bypass_actors", list, ruleset.bypass_actors)]
    ruleset.conditions = _conditions(target, body.get("conditions", dict, ruleset.conditions))
    ruleset.rules, ruleset.bypass_actors = rules, actors


def _name(repo: Repository, name: str, own: Ruleset | None) -> str:
    if not name.strip():
        raise _failed("Name can't be blank")
    if any(r.name == name and r is not own for r in repo.guard.rulesets.values()):
        raise _failed("Name must be unique")
    return name


def _target(value: str) -> Any:
    if value == "push":
        raise ApiError(501, "The emulator does not serve push rulesets yet")
    return _one_of(value, ("branch", "tag"))


def _enforcement(repo: Repository, value: str) -> Any:
    _one_of(value, ("disabled", "active", "evaluate"))
    if value == "evaluate" and not repo.owner.enterprise:
        raise _failed("Enforcement evaluate option is not supported on this plan")
    return value


def _conditions(target: str, given: dict[str, Any]) -> dict[str, Any]:
    names = given.get("ref_name", {})
    if not isinstance(names, dict):
        raise ApiError(422, _SCHEMA)
    patterns = {side: names.get(side, []) for side in ("include", "exclude")}
    for listed in patterns.values():
        if not isinstance(listed, list) or not all(isinstance(p, str) for p in listed):
            raise ApiError(422, _SCHEMA)
    prefix = "refs/heads/" if target == "branch" else "refs/tags/"
    tokens = ("~ALL", "~DEFAULT_BRANCH") if target == "branch" else ("~ALL",)
    # Patterns are full names below the target; other refs than branches and tags cannot be guarded.
    wrong = [p for side in patterns.values() for p in side if not p.startswith(prefix) and p not in tokens]
    if wrong:
        raise _failed(f"Invalid target patterns: '{_QUOTED.join(wrong)}'")
    return {"ref_name": patterns}


def _rule(repo: Repository, target: str, given: Any) -> dict[str, Any]:
    kind = given.get("type") if isinstance(given, dict) else None
    if kind in _UNSERVED:
        raise ApiError(501, f"The emulator does not enforce the rule {kind} yet")
    if kind not in _RULES:
        raise ApiError(422, _SCHEMA)
    wanted, parameters = _RULES[kind], given.get("parameters")
    if wanted is None:
        return {"type": kind}
    if parameters is None and not wanted:
        return {"type": kind}
    if not isinstance(parameters, dict):
        raise _invalid_rule(kind)
    for name, expected in wanted.items():
        value = parameters.get(name)
        if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
            raise ApiError(422, _SCHEMA)
    kept = dict(parameters)
    if kind in ("pull_request", "merge_queue") and target != "branch":
        raise _invalid_rule(kind)
    if kind == "pull_request":
        _check_pull_request(kept)
    elif kind == "required_status_checks":
        _check_required_checks(kept)
    elif kind == "merge_queue":
        _check_merge_queue(repo, kept)
    return {"type": kind, "parameters": kept}


def _check_pull_request(parameters: dict[str, Any]) -> None:
    if not 0 <= parameters["required_approving_review_count"] <= 10:
        raise ApiError(422, _SCHEMA)
    methods = parameters.setdefault("allowed_merge_methods", list(_METHODS))
    if not methods or not all(m in _METHODS for m in methods):
        raise ApiError(422, _SCHEMA)


def _check_required_checks(parameters: dict[str, Any]) -> None:
    parameters.setdefault("do_not_enforce_on_create", False)
    for check in parameters["required_status_checks"]:
        if not isinstance(check, dict) or not isinstance(check.get("context"), str):
            raise ApiError(422, _SCHEMA)
        app_id = check.get("integration_id")
        if app_id is not None and (not isinstance(app_id, int) or isinstance(app_id, bool)):
            raise ApiError(422, _SCHEMA)
        if app_id is not None and app_id < 1:  # -1 means "any source" in classic protection only
            raise _invalid_rule("required_status_checks")


def _check_merge_queue(repo: Repository, parameters: dict[str, Any]) -> None:
    # Merge queues are for public repositories of organizations (and private ones of enterprises).
    if repo.owner.type != "Organization" or repo.private:
        raise _invalid_rule("merge_queue")
    limits = {"check_response_timeout_minutes": (1, 360), "min_entries_to_merge_wait_minutes": (0, 360)}
    counts = ("max_entries_to_build", "max_entries_to_merge", "min_entries_to_merge")
    for name, (low, high) in {**limits, **dict.fromkeys(counts, (0, 100))}.items():
        if not low <= parameters[name] <= high:
            raise ApiError(422, _SCHEMA)
    if parameters["grouping_strategy"] not in ("ALLGREEN", "HEADGREEN"):
        raise ApiError(422, _SCHEMA)
    if parameters["merge_method"] not in ("MERGE", "SQUASH", "REBASE"):
        raise ApiError(422, _SCHEMA)


def _bypass(world: World, repo: Repository, target: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ApiError(422, _SCHEMA)
    kind, number, mode = given.get("actor_type"), given.get("actor_id"), given.get("bypass_mode", "always")
    if kind not in _ACTORS or mode not in _MODES:
        raise ApiError(422, _SCHEMA)
    if mode == "pull_request" and (kind == "DeployKey" or target != "branch"):
        raise _failed(f"Bypass mode pull_request is not applicable to {kind} in {target} rulesets")
    if kind == "Team":
        raise ApiError(501, "The emulator does not serve teams yet")
    if kind == "OrganizationAdmin" and repo.owner.type != "Organization":
        raise _failed("Actor OrganizationAdmin is not applicable for personal repositories")
    if kind in ("Integration", "RepositoryRole", "User") and not isinstance(number, int):
        raise ApiError(422, _SCHEMA)
    if kind == "RepositoryRole" and number not in (2, 4, 5):
        raise _failed("Actor repository role is invalid")
    if kind == "Integration":
        app = next((a for a in world.apps.values() if a.id == number), None)
        if app is None or not any(i.app is app and i.account is repo.owner for i in world.installations.values()):
            name = app.name if app is not None else str(number)
            raise _failed(f"Actor {name} integration must be part of the ruleset source or owner organization")
    return {"actor_id": number if kind not in ("OrganizationAdmin", "DeployKey") else None} | {
        "actor_type": kind,
        "bypass_mode": mode,
    }


def _one_of(value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise unreadable(no_member(value, allowed))
    return value


def _failed(reason: str) -> ApiError:
    return ApiError(422, "Validation Failed", [reason])


def _invalid_rule(kind: str) -> ApiError:
    return _failed(f"Invalid rule '{kind}': ")
