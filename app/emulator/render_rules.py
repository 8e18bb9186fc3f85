"""How REST answers and webhooks show rulesets and their rules."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.active_rules import ActiveRule, bypass_mode
from app.emulator.guard_state import Ruleset
from app.emulator.state import Actor

Json = dict[str, Any]
_CAN_BYPASS = {"always": "always", "pull_request": "pull_requests_only", "exempt": "exempt", None: "never"}


def show_ruleset(ruleset: Ruleset, api: str, html: str, reader: Actor | None = None) -> Json:
    """The whole ruleset; ``reader`` adds how its reader may bypass it."""
    shown = show_ruleset_in_list(ruleset, api, html) | {
        "conditions": ruleset.conditions,
        "rules": ruleset.rules,
        "bypass_actors": ruleset.bypass_actors,
    }
    if reader is not None:
        shown["current_user_can_bypass"] = _CAN_BYPASS[bypass_mode(ruleset, reader)]
    return shown


def show_ruleset_in_list(ruleset: Ruleset, api: str, html: str) -> Json:
    """What a list of rulesets says of one: neither its rules nor its conditions."""
    name = ruleset.repo.full_name
    return {
        "id": ruleset.id,
        "name": ruleset.name,
        "target": ruleset.target,
        "source_type": "Repository",
        "source": name,
        "enforcement": ruleset.enforcement,
        "node_id": ruleset.node_id,
        "_links": {
            "self": {"href": f"{api}/repos/{name}/rulesets/{ruleset.id}"},
            "html": {"href": f"{html}/{name}/rules/{ruleset.id}"},
        },
        "created_at": ruleset.created_at,
        "updated_at": ruleset.updated_at,
    }


def show_rule(rule: ActiveRule) -> Json:
    """A rule that holds for a branch, with the ruleset it comes from."""
    shown: Json = {"type": rule.type}
    if rule.parameters:
        shown["parameters"] = rule.parameters
    return shown | {
        "ruleset_source_type": "Repository",
        "ruleset_source": rule.ruleset.repo.full_name,
        "ruleset_id": rule.ruleset.id,
    }
