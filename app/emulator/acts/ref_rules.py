"""What stands in the way of a direct change to a guarded branch or tag.

Direct is every change but the merge of a pull request: pushes, refs by REST, ``updateRefs``, commits and merges made
by API. A push that lands an open pull request (its head, or a merge of it onto the tip) counts as going through it.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.emulator.acts.active_rules import ActiveRule, active_rules, binding_rules, bypass_mode
from app.emulator.acts.branch_rules import (
    binding_protection,
    checked_commits,
    may_push,
    named,
    required_by,
    review_rule,
)
from app.emulator.acts.required_checks import Required, check_sentence
from app.emulator.acts.review_rules import review_sentences
from app.emulator.acts.rule_sentences import (
    BY_PULL,
    CREATE,
    DELETE,
    DELETE_BRANCH,
    FORCE,
    LINEAR,
    LOCKED,
    NOT_AUTHORIZED,
    SIGNED,
    THROUGH_QUEUE,
    UPDATE,
    Violations,
)
from app.emulator.guard_state import Protection, ReviewRule
from app.emulator.repos import ZERO, RefChange
from app.emulator.state import Actor, PullRequest, Repository
from app.emulator.world import World


def ref_violations(world: World, repo: Repository, change: RefChange, actor: Actor) -> Violations | None:
    """What a direct change to a ref (push, REST, ``updateRefs``, a commit by API) would violate, or None.

    ``change.old`` must be the present value (zero or None: the ref does not exist); the new object must be in the
    repository already.
    """
    old = change.old or ZERO
    if old == change.new or not change.name.startswith(("refs/heads/", "refs/tags/")):
        return None
    branch = change.name.removeprefix("refs/heads/")
    protection = binding_protection(repo, branch, actor) if change.name != branch else None
    rules = binding_rules(repo, change.name, actor, by_pull=False)
    return _judged(_Move(world, repo, change.name, old, change.new, actor), rules, protection)


def bypassed_violations(world: World, repo: Repository, change: RefChange, actor: Actor) -> Violations | None:
    """What a change that is allowed would have violated, had the actor not been free to bypass it, or None.

    Rulesets the actor is exempt from are not run for it and say nothing.
    """
    old = change.old or ZERO
    if old == change.new or not change.name.startswith(("refs/heads/", "refs/tags/")):
        return None
    rules = [r for r in active_rules(repo, change.name) if bypass_mode(r.ruleset, actor) != "exempt"]
    protection = repo.guard.protections.get(change.name.removeprefix("refs/heads/"))
    return _judged(_Move(world, repo, change.name, old, change.new, actor), rules, protection)


def _judged(move: _Move, rules: list[ActiveRule], protection: Protection | None) -> Violations | None:
    said = [sentence for rule in rules for sentence in move.sentences(rule)]
    classic = move.classic_sentences(protection) if protection is not None else []
    found = Violations(move.ref, tuple(dict.fromkeys(said)), tuple(dict.fromkeys(classic)))
    return found if found.sentences else None


@dataclass(frozen=True)
class _Move:
    """One direct change to a branch or tag, asked rule by rule."""

    world: World
    repo: Repository
    ref: str
    old: str
    new: str
    actor: Actor

    def sentences(self, rule: ActiveRule) -> list[str]:
        created, deleted = self.old == ZERO, self.new == ZERO
        if deleted:
            return [DELETE] if rule.type == "deletion" else []
        if rule.type == "creation":
            return [CREATE] if created else []
        if rule.type == "update":
            return [] if created else [UPDATE]
        if rule.type == "non_fast_forward":
            return [FORCE] if self._forced else []
        if rule.type == "required_linear_history":
            return [LINEAR] if self._merges else []
        if rule.type == "required_signatures":
            return [SIGNED] if self._unsigned else []
        if rule.type == "merge_queue":
            return [] if created else [THROUGH_QUEUE]
        if rule.type == "pull_request":
            return [] if created and not self._fresh else self._review_sentences(review_rule(rule.parameters))
        if rule.type == "required_status_checks":
            if created and rule.parameters.get("do_not_enforce_on_create", False):
                return []
            return self._check_sentences(required_by(rule))
        return []

    def classic_sentences(self, protection: Protection) -> list[str]:
        if self.new == ZERO:
            return [] if protection.allow_deletions else [DELETE_BRANCH]
        said: list[str] = []
        if not may_push(self.repo, protection, self.actor):
            said.append(NOT_AUTHORIZED)
        if protection.lock_branch:
            said.append(LOCKED)
        if self._forced and not protection.allow_force_pushes:
            said.append(FORCE)
        if protection.linear_history and self._merges:
            said.append(LINEAR)
        if protection.signatures and self._unsigned:
            said.append(SIGNED)
        if protection.reviews is not None and not named(protection.review_bypass, self.actor):
            said += self._review_sentences(protection.reviews)
        if protection.checks:
            said += self._check_sentences([Required(c.context, c.app_id) for c in protection.checks])
        return said

    @property
    def _forced(self) -> bool:
        return self.old != ZERO and not self.repo.git.is_ancestor(self.old, self.new)

    @property
    def _fresh(self) -> list[str]:
        """The commits no other branch or tag has yet."""
        git = self.repo.git
        if git.commit(self.new) is None:
            return []
        known = [oid for name, oid in git.refs("refs/heads/") + git.refs("refs/tags/") if name != self.ref]
        return git.log(self.new, *(f"^{oid}" for oid in {*known, self.old} - {ZERO} if git.commit(oid) is not None))

    @property
    def _unsigned(self) -> bool:
        return any(sha not in self.world.signed for sha in self._fresh)

    @property
    def _merges(self) -> bool:
        git = self.repo.git
        if git.commit(self.new) is None:
            return False
        shas = git.log(self.new, f"^{self.old}") if self.old != ZERO else self._fresh
        return any(len(git.commit(sha).parent_ids) > 1 for sha in shas)

    @property
    def _landing(self) -> PullRequest | None:
        """The open pull request this push lands: its head, or a merge of it onto the present tip."""
        branch = self.ref.removeprefix("refs/heads/")
        commit = self.repo.git.commit(self.new)
        parents = [str(p) for p in commit.parent_ids] if commit is not None else []
        for pull in self.repo.pulls():
            lands = self.new == pull.head_sha or parents == [self.old, pull.head_sha]
            if lands and pull.state == "open" and pull.base_ref == branch:
                return pull
        return None

    def _review_sentences(self, rule: ReviewRule) -> list[str]:
        pull = self._landing
        return [BY_PULL] if pull is None else review_sentences(self.world, pull, rule)

    def _check_sentences(self, required: list[Required]) -> list[str]:
        missing = check_sentence(self.repo, [self.new], required)
        pull = self._landing
        if missing is not None and pull is not None and self.repo.git.is_ancestor(self.old, pull.head_sha):
            # An up-to-date pull request with green checks may be merged locally and pushed.
            missing = check_sentence(self.repo, checked_commits(pull), required)
        return [missing] if missing is not None else []
