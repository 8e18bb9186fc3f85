"""How REST shows classic protection, and the short form on branches."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.active_rules import active_rules
from app.emulator.guard_state import People, Protection
from app.emulator.render import Render
from app.emulator.state import Repository

Json = dict[str, Any]


def is_protected(repo: Repository, branch: str) -> bool:
    """Is a branch protected in any way, by classic protection or by an active rule?"""
    return branch in repo.guard.protections or bool(active_rules(repo, f"refs/heads/{branch}"))


class RenderProtection:
    """Renders for one base URL."""

    def __init__(self, render: Render, repo: Repository, branch: str) -> None:
        self.render = render
        self.repo = repo
        self.url = f"{render.api}/repos/{repo.full_name}/branches/{branch}/protection"

    def whole(self, protection: Protection) -> Json:
        """All parts that are on, and all switches."""
        shown: Json = {"url": self.url}
        if protection.checks is not None:
            shown["required_status_checks"] = self.checks(protection)
        if protection.reviews is not None:
            shown["required_pull_request_reviews"] = self.reviews(protection)
        if protection.restrictions is not None:
            shown["restrictions"] = self.restrictions(protection.restrictions)
        return shown | {
            "required_signatures": self.signatures(protection),
            "enforce_admins": self.admins(protection),
            "required_linear_history": {"enabled": protection.linear_history},
            "allow_force_pushes": {"enabled": protection.allow_force_pushes},
            "allow_deletions": {"enabled": protection.allow_deletions},
            "block_creations": {"enabled": protection.block_creations},
            "required_conversation_resolution": {"enabled": protection.conversation_resolution},
            "lock_branch": {"enabled": protection.lock_branch},
            "allow_fork_syncing": {"enabled": protection.allow_fork_syncing},
        }

    def checks(self, protection: Protection) -> Json:
        """Required checks; a check any source may set reads back with no App."""
        checks = protection.checks or []
        return {
            "url": f"{self.url}/required_status_checks",
            "strict": protection.strict,
            "contexts": [c.context for c in checks],
            "contexts_url": f"{self.url}/required_status_checks/contexts",
            "checks": [{"context": c.context, "app_id": c.app_id} for c in checks],
        }

    def reviews(self, protection: Protection) -> Json:
        """Required reviews."""
        rule = protection.reviews
        assert rule is not None
        shown: Json = {
            "url": f"{self.url}/required_pull_request_reviews",
            "dismiss_stale_reviews": rule.dismiss_stale,
            "require_code_owner_reviews": rule.code_owners,
            "require_last_push_approval": rule.last_push_approval,
            "required_approving_review_count": rule.count,
        }
        if protection.review_dismissal is not None:
            url = f"{self.url}/dismissal_restrictions"
            shown["dismissal_restrictions"] = self._people(protection.review_dismissal, url)
        if protection.review_bypass.users or protection.review_bypass.apps:
            url = f"{self.url}/bypass_pull_request_allowances"
            shown["bypass_pull_request_allowances"] = self._people(protection.review_bypass, url)
        return shown

    def admins(self, protection: Protection) -> Json:
        """Does the protection bind administrators?"""
        return {"url": f"{self.url}/enforce_admins", "enabled": protection.enforce_admins}

    def signatures(self, protection: Protection) -> Json:
        """Must commits be signed?"""
        return {"url": f"{self.url}/required_signatures", "enabled": protection.signatures}

    def restrictions(self, people: People) -> Json:
        """Who alone may push."""
        return self._people(people, f"{self.url}/restrictions")

    def _people(self, people: People, url: str) -> Json:
        world = self.render.world
        accounts = [a for a in (world.account(u) for u in people.users) if a is not None]
        return {
            "url": url,
            "users_url": f"{url}/users",
            "teams_url": f"{url}/teams",
            "apps_url": f"{url}/apps",
            "users": [self.render.account(a) for a in accounts],
            "teams": [],
            "apps": [self.render.app(world.apps[slug]) for slug in people.apps if slug in world.apps],
        }

    def short(self, branch: str) -> Json:
        """``protected`` and ``protection`` of a branch object; rulesets make a branch protected, too."""
        protection = self.repo.guard.protections.get(branch)
        checks = protection.checks or [] if protection is not None else []
        level = "off"
        if protection is not None and protection.checks is not None:
            level = "everyone" if protection.enforce_admins else "non_admins"
        return {
            "protected": is_protected(self.repo, branch),
            "protection": {
                "enabled": protection is not None,
                "required_status_checks": {
                    "enforcement_level": level,
                    "contexts": [c.context for c in checks],
                    "checks": [{"context": c.context, "app_id": c.app_id} for c in checks],
                },
            },
            "protection_url": self.url,
        }
