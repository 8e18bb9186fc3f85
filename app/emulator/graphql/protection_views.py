"""Classic protection and rulesets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.emulator.auth import require
from app.emulator.graphql.connections import connection
from app.emulator.graphql.queue_views import queue_thing
from app.emulator.graphql.views import View, shows, view, viewer_of
from app.emulator.guard_state import Protection, ReviewRule, Ruleset
from app.emulator.ids import node_id
from app.emulator.state import Repository


@dataclass(frozen=True)
class ProtectionThing:
    """The classic protection of a branch."""

    repo: Repository
    protection: Protection


def protection_thing(repo: Repository, branch: str) -> ProtectionThing | None:
    """The branch's classic protection, or None."""
    protection = repo.guard.protections.get(branch)
    return ProtectionThing(repo, protection) if protection is not None else None


class GuardedFields:
    """The fields of a repository that tell what guards its branches."""

    request: Any
    thing: Repository

    def mergeQueue(self, info: Any, branch: str | None = None) -> Any:
        return view(self.request, queue_thing(self.thing, branch or self.thing.default_branch))

    def ruleset(self, info: Any, databaseId: int, includeParents: bool = True) -> Any:
        return view(self.request, self.thing.guard.rulesets.get(databaseId))

    def rulesets(self, info: Any, includeParents: bool = True, **page: Any) -> Any:
        return connection("rulesets", list(self.thing.guard.rulesets.values()), viewer_of(self.request), **page)

    def branchProtectionRules(self, info: Any, **page: Any) -> Any:
        user = self.request.identity.user
        if user is not None and self.thing.role_of(user) != "admin":
            return connection("branchProtectionRules", [], viewer_of(self.request), **page)
        require(self.request.identity, self.thing, "read", "administration")
        found = [ProtectionThing(self.thing, p) for p in self.thing.guard.protections.values()]
        return connection("branchProtectionRules", found, viewer_of(self.request), **page)


@shows(Ruleset)
class RulesetView(View):
    """A ruleset."""

    thing: Ruleset
    __typename = "RepositoryRuleset"

    def __init__(self, request: Any, thing: Ruleset) -> None:
        super().__init__(request, thing)
        self.id, self.databaseId, self.name = thing.node_id, thing.id, thing.name
        self.enforcement, self.target = thing.enforcement.upper(), thing.target.upper()
        self.createdAt, self.updatedAt = thing.created_at, thing.updated_at
        self.conditions = {"refName": thing.conditions.get("ref_name")}

    @property
    def source(self) -> Any:
        return view(self.request, self.thing.repo)

    def rules(self, info: Any, type: str | None = None, **page: Any) -> Any:
        found = [r for r in enumerate(self.thing.rules) if type is None or r[1]["type"].upper() == type]

        def show(rule: tuple[int, dict[str, Any]]) -> dict[str, Any]:
            place, held = rule
            name = node_id("RRU", self.thing.repo.id, self.thing.id, place)
            return {"id": name, "type": held["type"].upper(), "repositoryRuleset": self}

        return connection("rules", found, show, **page)


@shows(ProtectionThing)
class ProtectionView(View):
    """Classic protection of a branch."""

    thing: ProtectionThing
    __typename = "BranchProtectionRule"

    def __init__(self, request: Any, thing: ProtectionThing) -> None:
        super().__init__(request, thing)
        held, reviews = thing.protection, thing.protection.reviews or ReviewRule()
        self.id = node_id("BPR", thing.repo.id, held.branch)
        self.pattern, self.isAdminEnforced = held.branch, held.enforce_admins
        self.allowsDeletions, self.allowsForcePushes = held.allow_deletions, held.allow_force_pushes
        self.blocksCreations, self.lockBranch = held.block_creations, held.lock_branch
        self.requiresStatusChecks, self.requiresStrictStatusChecks = held.checks is not None, held.strict
        self.requiredStatusCheckContexts = [c.context for c in held.checks or []]
        self.requiresApprovingReviews = held.reviews is not None
        self.requiredApprovingReviewCount = reviews.count if held.reviews is not None else None
        self.requireLastPushApproval, self.dismissesStaleReviews = reviews.last_push_approval, reviews.dismiss_stale
        self.requiresCodeOwnerReviews, self.requiresCommitSignatures = reviews.code_owners, held.signatures
        self.requiresConversationResolution = held.conversation_resolution
        self.requiresLinearHistory, self.restrictsPushes = held.linear_history, held.restrictions is not None
        self.restrictsReviewDismissals = held.review_dismissal is not None

    @property
    def repository(self) -> Any:
        return view(self.request, self.thing.repo)

    @property
    def requiredStatusChecks(self) -> list[dict[str, Any]]:
        apps = {a.id: a for a in self.request.world.apps.values()}
        checks = self.thing.protection.checks or []
        return [
            {"context": c.context, "app": view(self.request, apps.get(c.app_id)) if c.app_id else None} for c in checks
        ]
