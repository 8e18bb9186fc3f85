"""What stands in the way of merging a pull request, in GitHub's sentences.

Rulesets and classic protection hold at the same time and the strictest wins. Merges ask :func:`merge_refusal`, what
shows a pull request's state asks :func:`protection_state`; direct changes to refs are the subject of
:mod:`app.emulator.acts.ref_rules`.
"""

from __future__ import annotations

from typing import Any

from app.emulator.acts.active_rules import ActiveRule, active_rules, binding_rules
from app.emulator.acts.required_checks import Required, any_unsuccessful, check_sentence, sentence
from app.emulator.acts.review_rules import conversation_sentences, review_sentences
from app.emulator.acts.rule_sentences import (
    LINEAR,
    LOCKED,
    METHODS,
    NOT_AUTHORIZED,
    SIGNED,
    THROUGH_QUEUE,
    UPDATE,
    Violations,
)
from app.emulator.guard_state import People, Protection, ReviewRule
from app.emulator.state import Actor, PullRequest, Repository
from app.emulator.world import World


def merge_blockers(
    world: World, repo: Repository, pull: PullRequest, actor: Actor | None, method: str | None = None
) -> list[str]:
    """GitHub's sentences against merging; empty when nothing is in the way.

    ``actor`` None asks for somebody who may bypass nothing, as ``mergeStateStatus`` is computed. ``method`` None
    leaves out what depends on how it is merged.
    """
    return merge_violations(world, repo, pull, actor, method).sentences


def merge_refusal(
    world: World, repo: Repository, pull: PullRequest, actor: Actor, method: str | None = None
) -> str | None:
    """The whole message of the 405 that a merge of this pull request is answered with, or None."""
    return merge_violations(world, repo, pull, actor, method).message or None


def merge_violations(
    world: World, repo: Repository, pull: PullRequest, actor: Actor | None, method: str | None = None
) -> Violations:
    """What merging would violate; see :func:`merge_blockers`."""
    return _violations(world, pull, actor, method, behind=_behind(pull))


def queue_violations(world: World, pull: PullRequest, actor: Actor | None) -> Violations:
    """What stands against putting a pull request into its merge queue: all that stands against merging, save for
    the queue itself and for being behind the base, which the queue takes care of."""
    found = _violations(world, pull, actor, None, behind=False)
    return Violations(found.ref, tuple(s for s in found.rules if s != THROUGH_QUEUE), found.classic)


def protection_state(world: World, pull: PullRequest) -> str:
    """What protection makes of a mergeable pull request's state: ``blocked``, ``behind``, ``unstable``, ``clean``."""
    if queue_violations(world, pull, None).sentences:
        return "blocked"
    if _behind(pull) and _strict(pull.repo, pull.base_ref):
        return "behind"
    return "unstable" if any_unsuccessful(pull.repo, pull.head_sha) else "clean"


def _violations(
    world: World, pull: PullRequest, actor: Actor | None, method: str | None, *, behind: bool
) -> Violations:
    repo, ref = pull.repo, f"refs/heads/{pull.base_ref}"
    rules = active_rules(repo, ref) if actor is None else binding_rules(repo, ref, actor, by_pull=True)
    said = [s for rule in rules for s in _merge_sentences(world, pull, rule, method, behind)]
    protection = binding_protection(repo, pull.base_ref, actor)
    classic = _classic_sentences(world, pull, protection, actor, method, behind) if protection is not None else []
    return Violations(ref, tuple(dict.fromkeys(said)), tuple(dict.fromkeys(classic)))


def required_checks(repo: Repository, branch: str) -> list[Required]:
    """All checks a branch requires, by rulesets and by classic protection."""
    found: list[Required] = []
    for rule in active_rules(repo, f"refs/heads/{branch}"):
        if rule.type == "required_status_checks":
            found += required_by(rule)
    protection = repo.guard.protections.get(branch)
    if protection is not None:
        found += [Required(c.context, c.app_id) for c in protection.checks or []]
    return list(dict.fromkeys(found))


def review_rules(repo: Repository, branch: str) -> list[ReviewRule]:
    """All rules about reviews that hold for a branch."""
    rules = active_rules(repo, f"refs/heads/{branch}")
    found = [review_rule(r.parameters) for r in rules if r.type == "pull_request"]
    protection = repo.guard.protections.get(branch)
    return [*found, protection.reviews] if protection is not None and protection.reviews is not None else found


def review_rule(parameters: dict[str, Any]) -> ReviewRule:
    """The parameters of a ``pull_request`` rule as the same thing classic protection has."""
    return ReviewRule(
        count=parameters.get("required_approving_review_count", 0),
        dismiss_stale=parameters.get("dismiss_stale_reviews_on_push", False),
        code_owners=parameters.get("require_code_owner_review", False),
        last_push_approval=parameters.get("require_last_push_approval", False),
        conversation_resolution=parameters.get("required_review_thread_resolution", False),
    )


def merge_queue_rule(repo: Repository, branch: str) -> dict[str, Any] | None:
    """The parameters of the branch's merge queue, or None when it has none."""
    rules = active_rules(repo, f"refs/heads/{branch}")
    return next((r.parameters for r in rules if r.type == "merge_queue"), None)


def binding_protection(repo: Repository, branch: str, actor: Actor | None) -> Protection | None:
    """Classic protection of a branch as far as it binds the actor: administrators are free unless it says so."""
    protection = repo.guard.protections.get(branch)
    if protection is None or actor is None or protection.enforce_admins:
        return protection
    is_admin = actor.app is None and repo.role_of(actor.account) == "admin"
    return None if is_admin else protection


def required_by(rule: ActiveRule) -> list[Required]:
    """The checks of a ``required_status_checks`` rule."""
    checks = rule.parameters.get("required_status_checks") or []
    return [Required(c["context"], c.get("integration_id")) for c in checks]


def _merge_sentences(world: World, pull: PullRequest, rule: ActiveRule, method: str | None, behind: bool) -> list[str]:
    if rule.type == "pull_request":
        said = review_sentences(world, pull, review_rule(rule.parameters))
        allowed = rule.parameters.get("allowed_merge_methods") or []
        if method is not None and allowed and method not in allowed:
            said.append(f"{METHODS[method]} are not allowed on this repository.")
        return said
    if rule.type == "required_status_checks":
        strict = rule.parameters.get("strict_required_status_checks_policy", False)
        return _check_sentences(pull, required_by(rule), strict and behind)
    if rule.type == "required_linear_history" and method == "merge":
        return [LINEAR]
    if rule.type == "required_signatures" and _lands_unsigned(world, pull, method):
        return [SIGNED]
    return {"merge_queue": [THROUGH_QUEUE], "update": [UPDATE]}.get(rule.type, [])


def _classic_sentences(
    world: World, pull: PullRequest, protection: Protection, actor: Actor | None, method: str | None, behind: bool
) -> list[str]:
    said: list[str] = []
    if actor is not None and not may_push(pull.repo, protection, actor):
        said.append(NOT_AUTHORIZED)
    if protection.reviews is not None and not (actor is not None and named(protection.review_bypass, actor)):
        said += review_sentences(world, pull, protection.reviews)
    if protection.checks is not None:
        required = [Required(c.context, c.app_id) for c in protection.checks]
        said += _check_sentences(pull, required, protection.strict and behind)
    if protection.conversation_resolution:
        said += conversation_sentences(pull)
    if protection.linear_history and method == "merge":
        said.append(LINEAR)
    if protection.signatures and _lands_unsigned(world, pull, method):
        said.append(SIGNED)
    if protection.lock_branch:
        said.append(LOCKED)
    return said


def _check_sentences(pull: PullRequest, required: list[Required], outdated: bool) -> list[str]:
    if outdated and required:
        # What ran before the base moved says nothing about the two together.
        missing = sentence([(c.context, "expected") for c in required], len(required))
    else:
        missing = check_sentence(pull.repo, checked_commits(pull), required)
    return [missing] if missing is not None else []


def checked_commits(pull: PullRequest) -> list[str]:
    """The commits whose checks count for a pull request: the test merge before the head."""
    git = pull.repo.git
    test_merge = git.ref(f"refs/pull/{pull.number}/merge")
    commit = git.commit(test_merge) if test_merge is not None else None
    # The ref stays where it is while the head moves on; a test merge of an older head says nothing.
    current = commit is not None and pull.head_sha in [str(p) for p in commit.parent_ids]
    return [test_merge, pull.head_sha] if current and test_merge is not None else [pull.head_sha]


def _lands_unsigned(world: World, pull: PullRequest, method: str | None) -> bool:
    """Would merging bring commits onto the base that are not signed? GitHub signs merges and squashes, no rebases."""
    base = pull.repo.git.branch(pull.base_ref)
    if method == "rebase" or base is None:
        return method == "rebase"
    return method == "merge" and any(s not in world.signed for s in pull.repo.git.log(pull.head_sha, f"^{base}"))


def _behind(pull: PullRequest) -> bool:
    base = pull.repo.git.branch(pull.base_ref)
    return base is not None and not pull.repo.git.is_ancestor(base, pull.head_sha)


def _strict(repo: Repository, branch: str) -> bool:
    rules = active_rules(repo, f"refs/heads/{branch}")
    if any(r.parameters.get("strict_required_status_checks_policy") for r in rules):
        return True
    protection = repo.guard.protections.get(branch)
    return protection is not None and protection.strict and bool(protection.checks)


def may_push(repo: Repository, protection: Protection, actor: Actor) -> bool:
    """Is the actor among those a protected branch lets push? Without restrictions all with write access are."""
    if protection.restrictions is None:
        return True
    if actor.app is None and repo.role_of(actor.account) == "admin":
        return True
    return named(protection.restrictions, actor)


def named(people: People, actor: Actor) -> bool:
    """Is the actor one of those a setting names?"""
    if actor.app is not None:
        return actor.app.slug in people.apps
    return actor.account.login.lower() in {login.lower() for login in people.users}
