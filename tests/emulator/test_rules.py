"""Rulesets: what is accepted, what is refused, which rules hold for which branch."""

from __future__ import annotations

from typing import Any

import pytest
from emulated import ALL, EVENTS, REPO, World, rest
from guarded import BASE, admin, checks_rule, pull_request_rule, ruleset

QUEUE = {
    "check_response_timeout_minutes": 60,
    "grouping_strategy": "ALLGREEN",
    "max_entries_to_build": 5,
    "max_entries_to_merge": 5,
    "merge_method": "MERGE",
    "min_entries_to_merge": 1,
    "min_entries_to_merge_wait_minutes": 0,
}


def rules_of(world: World, branch: str) -> list[str]:
    return [r["type"] for r in world.reader.get(f"{BASE}/rules/branches/{branch}").json()]


def test_a_rulesets_life(world: World) -> None:
    boss = admin(world)
    made = ruleset(boss, {"type": "deletion"}, name="first")
    assert (made["target"], made["source_type"], made["source"]) == ("branch", "Repository", REPO)
    assert made["current_user_can_bypass"] == "never"
    assert "rules" not in world.reader.get(f"{BASE}/rulesets").json()[0]
    assert "bypass_actors" not in world.reader.get(f"{BASE}/rulesets/{made['id']}").json()
    changed = boss.put(f"{BASE}/rulesets/{made['id']}", json={"rules": [{"type": "update"}]}).json()
    assert (changed["name"], changed["rules"]) == ("first", [{"type": "update"}])
    assert rules_of(world, "release-1") == ["update"]
    assert boss.delete(f"{BASE}/rulesets/{made['id']}").status_code == 204
    assert boss.get(f"{BASE}/rulesets/{made['id']}").status_code == 404
    assert rules_of(world, "release-1") == []


def test_who_writes_rulesets(world: World) -> None:
    body = {"name": "r", "enforcement": "active"}
    assert world.dev.post(f"{BASE}/rulesets", json=body).status_code == 404
    refused = world.bot.post(f"{BASE}/rulesets", json=body)
    assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")
    app = world.emulator.app("ruler", permissions={"administration": "write"})
    installation = world.emulator.installation("ruler", "octo")
    ruler = rest(world.emulator, world.emulator.installation_token(app, installation["id"]))
    assert ruler.post(f"{BASE}/rulesets", json=body).status_code == 201


@pytest.mark.parametrize(
    ("include", "exclude", "branch", "held"),
    [
        ([], [], "main", False),
        (["~ALL"], [], "any/name", True),
        (["~DEFAULT_BRANCH"], [], "main", True),
        (["~DEFAULT_BRANCH"], [], "release-1", False),
        (["refs/heads/release-*"], [], "release-1", True),
        (["refs/heads/release-*"], ["refs/heads/release-1"], "release-1", False),
        (["refs/heads/rel/*"], [], "rel/a/b", False),
        (["refs/heads/rel/**/*"], [], "rel/a/b", True),
        (["refs/heads/rel/**/*"], [], "rel/a", True),
        (["refs/heads/v[0-9]?"], [], "v1x", True),
        (["refs/heads/v[!0-9]"], [], "v1", False),
    ],
)
def test_which_branches_a_ruleset_reaches(
    world: World, include: list[str], exclude: list[str], branch: str, held: bool
) -> None:
    conditions = {"ref_name": {"include": include, "exclude": exclude}}
    ruleset(admin(world), {"type": "deletion"}, conditions=conditions)
    assert rules_of(world, branch) == (["deletion"] if held else [])


def test_only_active_branch_rulesets_hold_for_branches(world: World) -> None:
    boss = admin(world)
    ruleset(boss, {"type": "deletion"}, enforcement="disabled")
    ruleset(boss, {"type": "creation"}, target="tag", conditions={"ref_name": {"include": ["~ALL"], "exclude": []}})
    assert rules_of(world, "release-1") == []
    assert len(boss.get(f"{BASE}/rulesets").json()) == 2
    assert len(boss.get(f"{BASE}/rulesets", params={"targets": "tag"}).json()) == 1


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": " "}, "Name can't be blank"),
    ({"name": "taken"}, "Name must be unique"),
    ({"conditions": {"ref_name": {"include": ["main"], "exclude": []}}}, "Invalid target patterns: 'main'"),
    ({"conditions": {"ref_name": {"include": ["refs/x/*"], "exclude": []}}}, "Invalid target patterns: 'refs/x/*'"),
    (
        {"conditions": {"ref_name": {"include": ["~ALL"], "exclude": ["refs/tags/*"]}}},
        "Invalid target patterns: 'refs/tags/*'",
    ),
    ({"rules": [checks_rule({"context": "c", "integration_id": -1})]}, "Invalid rule 'required_status_checks': "),
    ({"bypass_actors": [{"actor_type": "RepositoryRole", "actor_id": 9}]}, "Actor repository role is invalid"),
    (
        {"bypass_actors": [{"actor_type": "Integration", "actor_id": 77}]},
        "Actor 77 integration must be part of the ruleset source or owner organization",
    ),
    (
        {"bypass_actors": [{"actor_type": "DeployKey", "bypass_mode": "pull_request"}]},
        "Bypass mode pull_request is not applicable to DeployKey in branch rulesets",
    ),
]


@pytest.mark.parametrize(("more", "reason"), REFUSED)
def test_what_is_no_ruleset(world: World, more: dict[str, Any], reason: str) -> None:
    boss = admin(world)
    ruleset(boss, name="taken")
    answer = boss.post(f"{BASE}/rulesets", json={"name": "r", "enforcement": "active"} | more)
    assert answer.status_code == 422
    assert answer.json()["message"] == "Validation Failed"
    assert answer.json()["errors"] == [reason]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"enforcement": "sometimes"}, 422),
        ({"target": "branches"}, 422),
        ({"target": "push"}, 501),
        ({"rules": [{"type": "nonsense"}]}, 422),
        ({"rules": [{"type": "workflows", "parameters": {"workflows": []}}]}, 501),
        ({"rules": [{"type": "pull_request", "parameters": {}}]}, 422),
        ({"rules": [pull_request_rule(11)]}, 422),
        ({"rules": [pull_request_rule(allowed_merge_methods=[])]}, 422),
        ({"rules": [{"type": "merge_queue", "parameters": QUEUE | {"check_response_timeout_minutes": 0}}]}, 422),
        ({"bypass_actors": [{"actor_type": "Somebody"}]}, 422),
        ({"bypass_actors": [{"actor_type": "Team", "actor_id": 1}]}, 501),
    ],
)
def test_malformed_rulesets(world: World, more: dict[str, Any], code: int) -> None:
    answer = admin(world).post(f"{BASE}/rulesets", json={"name": "r", "enforcement": "active"} | more)
    assert answer.status_code == code


def test_merge_queues_are_for_public_repositories_of_organizations(world: World) -> None:
    owner = rest(world.emulator, world.tokens["stranger"])
    world.emulator.repo("stranger", "own")
    body = {"name": "q", "enforcement": "active", "rules": [{"type": "merge_queue", "parameters": QUEUE}]}
    assert owner.post("/repos/stranger/own/rulesets", json=body).json()["errors"] == ["Invalid rule 'merge_queue': "]
    boss = admin(world)
    assert boss.post(f"{BASE}/rulesets", json=body).status_code == 201
    world.emulator.change_repo(REPO, private=True)
    assert boss.post(f"{BASE}/rulesets", json=body | {"name": "p"}).status_code == 422


def test_only_enterprises_try_rules_without_holding_them(world: World) -> None:
    evaluated = {"name": "e", "enforcement": "evaluate", "conditions": {"ref_name": {"include": ["~ALL"]}}}
    evaluated["rules"] = [{"type": "deletion"}]
    refused = admin(world).post(f"{BASE}/rulesets", json=evaluated)
    assert refused.json()["errors"] == ["Enforcement evaluate option is not supported on this plan"]
    world.emulator.org("big", enterprise=True)
    world.emulator.repo("big", "own", collaborators={"boss": "admin"})
    boss = rest(world.emulator, world.tokens["boss"])
    assert boss.post("/repos/big/own/rulesets", json=evaluated).status_code == 201
    assert boss.get("/repos/big/own/rules/branches/main").json() == []


def test_private_repositories_of_free_plans_have_no_rules(world: World) -> None:
    boss = admin(world)
    world.emulator.change_repo(REPO, private=True, plan_allows_drafts=False)
    for path in ("rulesets", "rules/branches/main", "branches/main/protection"):
        answer = boss.get(f"{BASE}/{path}")
        assert answer.status_code == 403
        words = "Upgrade to GitHub Pro or make this repository public to enable this feature."
        assert answer.json()["message"] == words


def test_changes_of_rulesets_are_announced(world: World) -> None:
    world.emulator.app(
        "watcher",
        permissions=ALL | {"administration": "read"},
        events=[*EVENTS, "repository_ruleset"],
        webhook_url="http://127.0.0.1:9/hook",
    )
    world.emulator.installation("watcher", "octo")
    boss = admin(world)
    made = ruleset(boss, {"type": "deletion"})
    boss.put(f"{BASE}/rulesets/{made['id']}", json={"enforcement": "disabled"})
    boss.delete(f"{BASE}/rulesets/{made['id']}")
    sent = [d for d in world.emulator.deliveries() if d["event"] == "repository_ruleset"]
    assert [d["action"] for d in sent] == ["created", "edited", "deleted"]
    assert sent[1]["payload"]["changes"] == {"enforcement": {"from": "active"}}
