"""Classic protection of single branches: what GitHub accepts, and the event it sends."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.events import announce
from app.emulator.errors import ApiError
from app.emulator.guard_state import People, Protection, RequiredCheck, ReviewRule
from app.emulator.routing import Body
from app.emulator.state import Actor, Repository
from app.emulator.world import World

_PARTS = ("required_status_checks", "enforce_admins", "required_pull_request_reviews", "restrictions")


def protect(world: World, repo: Repository, branch: str, body: Body, actor: Actor) -> Protection:
    """Protect a branch, or protect it differently: everything is replaced. Raises 422."""
    for part in _PARTS:
        if part not in body:
            raise ApiError(422, f'Invalid request.\n\n"{part}" wasn\'t supplied.')
    old = repo.guard.protections.get(branch)
    new = Protection(branch, enforce_admins=body.get("enforce_admins", bool, False))
    checks = body.maybe("required_status_checks", dict)
    if checks is not None:
        given = _inner(checks)
        given.need("strict", bool)
        if "checks" not in given:  # described as required even so, but not asked for (PyGithub never sends it)
            given.need("contexts", list)
        set_checks(repo, new, given)
    reviews = body.maybe("required_pull_request_reviews", dict)
    if reviews is not None:
        set_reviews(world, repo, new, _inner(reviews))
    restrictions = body.maybe("restrictions", dict)
    new.restrictions = people(world, repo, _inner(restrictions)) if restrictions is not None else None
    new.linear_history = body.get("required_linear_history", bool, False)
    new.allow_force_pushes = body.get("allow_force_pushes", bool, False)
    new.allow_deletions = body.get("allow_deletions", bool, False)
    new.block_creations = body.get("block_creations", bool, False)
    new.conversation_resolution = body.get("required_conversation_resolution", bool, False)
    new.lock_branch = body.get("lock_branch", bool, False)
    new.allow_fork_syncing = body.get("allow_fork_syncing", bool, False)
    new.signatures = old.signatures if old is not None else False
    repo.guard.protections[branch] = new
    changed(world, repo, new, "created" if old is None else "edited", actor)
    return new


def unprotect(world: World, repo: Repository, protection: Protection, actor: Actor) -> None:
    """Take the protection away."""
    del repo.guard.protections[protection.branch]
    changed(world, repo, protection, "deleted", actor)


def set_checks(repo: Repository, protection: Protection, given: Body) -> None:
    """Replace required checks; what is not given stays as it is."""
    protection.strict = given.get("strict", bool, protection.strict)
    if "checks" not in given and "contexts" not in given:
        protection.checks = protection.checks or []
        return
    checks = [_check(repo, c) for c in given.get("checks", list, [])]
    named = {c.context for c in checks}
    contexts = [required_context(repo, c) for c in given.get("contexts", list, [])]
    protection.checks = [*checks, *(c for c in contexts if c.context not in named)]


def required_context(repo: Repository, context: Any) -> RequiredCheck:
    """A context without a source: it must come from the App that has set it last, if one has."""
    if not isinstance(context, str):
        raise ApiError(422, "Invalid request.\n\nFor 'items', a string was expected.")
    runs = [r for s in repo.suites for r in s.runs if r.name == context]
    newest = max(runs, key=lambda r: r.id, default=None)
    return RequiredCheck(context, newest.suite.app.id if newest is not None else None)


def _check(repo: Repository, given: Any) -> RequiredCheck:
    if not isinstance(given, dict) or not isinstance(given.get("context"), str):
        raise ApiError(422, 'Invalid request.\n\n"context" wasn\'t supplied.')
    app_id = given.get("app_id")
    if app_id is None:
        return required_context(repo, given["context"])
    if not isinstance(app_id, int) or isinstance(app_id, bool):
        raise ApiError(422, f"Invalid request.\n\nFor 'properties/app_id', {app_id!r} is not an integer.")
    return RequiredCheck(given["context"], app_id if app_id != -1 else None)


def set_reviews(world: World, repo: Repository, protection: Protection, given: Body) -> None:
    """Replace required reviews; what is not given stays as it is."""
    rule = protection.reviews or ReviewRule(count=1)
    count = given.get("required_approving_review_count", int, rule.count)
    if not 0 <= count <= 6:
        raise ApiError(
            422, "Invalid request.\n\nFor 'properties/required_approving_review_count', must be between 0 and 6."
        )
    protection.reviews = ReviewRule(
        count=count,
        dismiss_stale=given.get("dismiss_stale_reviews", bool, rule.dismiss_stale),
        code_owners=given.get("require_code_owner_reviews", bool, rule.code_owners),
        last_push_approval=given.get("require_last_push_approval", bool, rule.last_push_approval),
    )
    bypass = given.maybe("bypass_pull_request_allowances", dict)
    if bypass is not None:
        protection.review_bypass = people(world, repo, _inner(bypass))
    dismissal = given.maybe("dismissal_restrictions", dict)
    if dismissal is not None:
        protection.review_dismissal = people(world, repo, _inner(dismissal)) if dismissal else None


def people(world: World, repo: Repository, given: Body) -> People:
    """Accounts and Apps a setting names. Raises 422 on repositories of persons, and for names nobody has."""
    if given.get("teams", list, []):
        raise ApiError(501, "The emulator does not serve teams yet")
    users, apps = given.get("users", list, []), given.get("apps", list, [])
    if repo.owner.type != "Organization":
        raise ApiError(
            422, "Validation Failed", ["Only organization repositories can have users and team restrictions"]
        )
    for login in users:
        account = world.account(str(login))
        if account is None or repo.role_of(account) not in ("write", "maintain", "admin"):
            raise ApiError(422, "Validation Failed", [f"Invalid users: {login}"])
    for slug in apps:
        if slug not in world.apps:
            raise ApiError(422, "Validation Failed", [f"Invalid apps: {slug}"])
    return People([str(u) for u in users], [str(a) for a in apps])


def changed(world: World, repo: Repository, protection: Protection, action: str, actor: Actor) -> None:
    """Announce that the protection of a branch was made, changed or removed."""

    def level(on: bool) -> str:
        return ("everyone" if protection.enforce_admins else "non_admins") if on else "off"

    checks, reviews, restrictions = protection.checks, protection.reviews, protection.restrictions
    rule = {
        "id": repo.id,
        "repository_id": repo.id,
        "name": protection.branch,
        "created_at": world.clock.stamp(),
        "updated_at": world.clock.stamp(),
        "admin_enforced": protection.enforce_admins,
        "allow_deletions_enforcement_level": level(protection.allow_deletions),
        "allow_force_pushes_enforcement_level": level(protection.allow_force_pushes),
        "authorized_actor_names": [*restrictions.users, *restrictions.apps] if restrictions is not None else [],
        "authorized_actors_only": restrictions is not None,
        "authorized_dismissal_actors_only": protection.review_dismissal is not None,
        "create_protected": protection.block_creations,
        "dismiss_stale_reviews_on_push": reviews is not None and reviews.dismiss_stale,
        "ignore_approvals_from_contributors": False,
        "linear_history_requirement_enforcement_level": level(protection.linear_history),
        "lock_branch_enforcement_level": level(protection.lock_branch),
        "lock_allows_fork_sync": protection.allow_fork_syncing,
        "merge_queue_enforcement_level": "off",
        "pull_request_reviews_enforcement_level": level(reviews is not None),
        "require_code_owner_review": reviews is not None and reviews.code_owners,
        "require_last_push_approval": reviews is not None and reviews.last_push_approval,
        "required_approving_review_count": reviews.count if reviews is not None else 0,
        "required_conversation_resolution_level": level(protection.conversation_resolution),
        "required_deployments_enforcement_level": "off",
        "required_status_checks": [c.context for c in checks or []],
        "required_status_checks_enforcement_level": level(checks is not None),
        "signature_requirement_enforcement_level": level(protection.signatures),
        "strict_required_status_checks_policy": protection.strict,
    }
    payload: dict[str, Any] = {"action": action, "rule": rule}
    announce(world, repo, "branch_protection_rule", payload | ({"changes": {}} if action == "edited" else {}), actor)


def _inner(given: dict[str, Any]) -> Body:
    body = Body(b"")
    body.data = given
    return body
