"""`agent-recovery doctor --repo`: what guards a release, said as it is, and the ruleset that `--fix` writes once."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from loop_world import PERMISSIONS, REPO, LoopWorld
from operating import Operator, Said

from app.cli import ROOMS
from app.doctor import fixing
from app.doctor.fixing import Fixing
from app.doctor.health import Health
from app.doctor.needs import EVENTS, SOMETIMES, told_of_events, told_of_permissions
from app.doctor.needs import PERMISSIONS as NEEDED
from app.domain.policy import Policy, ResumePolicy
from app.domain.release_ruleset import NAME, change
from app.domain.required_checks import Required
from app.github.client import GitHub

CHECK = "Agent Recovery / release"
DOCTOR = ("doctor", "--repo", REPO)
FIX = (*DOCTOR, "--fix", "--yes", "--json")
GRANTED = {**PERMISSIONS, "administration": "write"}


@pytest.fixture
def operator(world: LoopWorld, monkeypatch: pytest.MonkeyPatch) -> Operator:
    monkeypatch.setattr(fixing, "LAG_S", 0.01)
    world.emulator.change_repo(REPO, collaborators={"wanda": "admin"})
    grant(world, PERMISSIONS)
    return Operator(world, monkeypatch)


def grant(world: LoopWorld, permissions: dict[str, str], events: Sequence[str] = EVENTS) -> None:
    world.emulator.change_app("agent-recovery", permissions=permissions, events=list(events))
    world.emulator.accept_permissions(world.installation)


def required(app: int | None) -> list[dict[str, Any]]:
    check = {"context": CHECK} | ({"integration_id": app} if app is not None else {})
    parameters = {"required_status_checks": [check], "strict_required_status_checks_policy": False}
    return [{"type": "required_status_checks", "parameters": parameters}]


def ruleset(world: LoopWorld, name: str = "Quality", *, app: int | None = None, **members: Any) -> int:
    body = {
        "name": name,
        "target": "branch",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": required(app),
        **members,
    }
    return int(world.http.post(f"/repos/{REPO}/rulesets", json=body).raise_for_status().json()["id"])


def ours(world: LoopWorld) -> list[dict[str, Any]]:
    return [world.get(f"rulesets/{one['id']}") for one in world.get("rulesets") if one["name"] == NAME]


def bypass(world: LoopWorld) -> list[dict[str, Any]]:
    return [{"actor_type": "Integration", "actor_id": world.app["id"], "bypass_mode": "always"}]


def policy(world: LoopWorld, text: str) -> None:
    world.emulator.commit(REPO, {".github/agent-recovery.yml": text}, branch="main")


def classic(world: LoopWorld, app: int, admins: bool) -> None:
    body = {
        "required_status_checks": {"strict": False, "checks": [{"context": CHECK, "app_id": app}]},
        "enforce_admins": admins,
        "required_pull_request_reviews": None,
        "restrictions": None,
    }
    world.http.put(f"/repos/{REPO}/branches/main/protection", json=body).raise_for_status()


async def seen(operator: Operator, code: int) -> dict[str, Any]:
    said: Said = await operator.run(*DOCTOR, "--json")
    assert said.code == code, said.out + said.err
    told: dict[str, Any] = said.json
    return told


def of(told: dict[str, Any], check: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in told["findings"] if one["check"] == check)
    return found


async def test_a_release_that_nothing_guards(world: LoopWorld, operator: Operator) -> None:
    since = world.requested()
    told = await seen(operator, 5)
    assert (told["guard"], told["base"], told["ruleset"]) == ("advisory", "main", None)
    assert told["reason"] == "nothing requires it on main"
    assert told["remedy"] == f"run `agent-recovery doctor --repo {REPO} --fix`"
    states = {one["check"]: one["state"] for one in told["findings"]}
    fine = ("installation", "permissions", "events", "policy", "guard-given", "ledgers")
    assert states == {**dict.fromkeys(fine, "fine"), "release-guard": "advisory"}
    assert world.writes(since) == []
    said = await operator.run(*DOCTOR)
    assert "The release check on main is advisory." in said.out.splitlines()


async def test_a_repository_without_a_policy_is_told_how_it_gets_one(world: LoopWorld, operator: Operator) -> None:
    world.emulator.commit(REPO, {".github/agent-recovery.yml": None}, branch="main")
    found = of(await seen(operator, 5), "policy")
    assert (found["state"], found["remedy"]) == ("to mend", f"`agent-recovery init --repo {REPO}` proposes one")


async def test_a_release_that_a_ruleset_guards(world: LoopWorld, operator: Operator) -> None:
    ruleset(world, app=world.app["id"])
    told = await seen(operator, 0)
    assert (told["guard"], told["reason"]) == ("enforced", f"required by the ruleset Quality ({REPO})")
    assert told["notes"] == ["who may merge past the ruleset Quality is shown to administrators only"]


async def test_who_else_may_merge_past_it_is_named_where_the_app_sees_it(world: LoopWorld, operator: Operator) -> None:
    grant(world, GRANTED)
    ruleset(
        world,
        app=world.app["id"],
        bypass_actors=[{"actor_type": "RepositoryRole", "actor_id": 5, "bypass_mode": "always"}],
    )
    told = await seen(operator, 0)
    assert told["notes"] == ["may merge past the ruleset Quality: administrators"]


@pytest.mark.parametrize("shown", [False, True], ids=["told by GitHub", "seen in the list"])
async def test_the_app_as_a_bypass_actor_is_no_guard(world: LoopWorld, operator: Operator, shown: bool) -> None:
    grant(world, GRANTED if shown else PERMISSIONS)
    ruleset(world, app=world.app["id"], bypass_actors=bypass(world))
    told = await seen(operator, 5)
    assert told["guard"] == "advisory"
    assert "the App is a bypass actor of the ruleset Quality" in told["reason"]


async def test_a_check_from_any_source_or_another_app_is_no_guard(world: LoopWorld, operator: Operator) -> None:
    number = ruleset(world)
    told = await seen(operator, 5)
    assert told["reason"].startswith("it is required there from any source: who may write can set a status")
    world.emulator.app("other", permissions={"checks": "write", "metadata": "read"}, events=[])
    other = world.emulator.app("another", permissions={"checks": "write", "metadata": "read"}, events=[])["id"]
    world.http.put(f"/repos/{REPO}/rulesets/{number}", json={"rules": required(other)}).raise_for_status()
    told = await seen(operator, 5)
    assert "from another App" in told["reason"]


async def test_a_ruleset_that_is_not_enforced_is_told(world: LoopWorld, operator: Operator) -> None:
    ruleset(world, NAME, app=world.app["id"], enforcement="disabled")
    told = await seen(operator, 5)
    assert told["reason"] == f"the ruleset {NAME} stands and is not enforced (disabled)"
    assert told["remedy"] == f"run `agent-recovery doctor --repo {REPO} --fix` --enforce"


async def test_a_plan_without_rulesets_makes_it_advisory_and_nothing_is_written(
    world: LoopWorld, operator: Operator
) -> None:
    grant(world, GRANTED)
    world.emulator.change_repo(REPO, private=True, plan_allows_drafts=False)
    told = await seen(operator, 0)
    assert told["guard"] == "advisory"
    assert "GitHub enforces no rules in this repository on its plan" in told["reason"]
    since = world.requested()
    said = await operator.run(*FIX)
    assert (said.code, said.json["state"]) == (4, "nothing to write")
    assert world.writes(since) == []


@pytest.mark.parametrize("admins", [False, True])
async def test_classic_protection_counts_too(world: LoopWorld, operator: Operator, admins: bool) -> None:
    classic(world, world.app["id"], admins)
    told = await seen(operator, 0)
    assert (told["guard"], told["reason"]) == ("enforced", "required by the branch's classic protection")
    assert told["notes"] == ["administrators may perhaps merge past the branch's classic protection"]
    grant(world, {**PERMISSIONS, "administration": "read"})
    told = await seen(operator, 0)
    assert told["notes"] == ([] if admins else ["administrators may merge past the branch's classic protection"])


async def test_rules_that_the_app_may_not_read_leave_it_unknown(world: LoopWorld, operator: Operator) -> None:
    refused = {"message": "Resource not accessible by integration"}
    world.emulator.fault(
        "status", match={"method": "GET", "path_regex": "/rules/branches/"}, code=403, body=refused, times=None
    )
    told = await seen(operator, 7)
    assert (told["guard"], told["reason"]) == ("unknown", "the App may not read the rules of the repository's rulesets")


async def test_another_base_of_releases_is_the_one_that_is_looked_at(world: LoopWorld, operator: Operator) -> None:
    policy(world, "mode: repair\ntrunks: [release-*]\nrelease:\n  into: stable\n")
    told = await seen(operator, 5)
    assert (told["base"], told["reason"]) == ("stable", "there is no branch stable")
    world.http.post(f"/repos/{REPO}/git/refs", json={"ref": "refs/heads/stable", "sha": world.head("main")})
    ruleset(world, app=world.app["id"])
    told = await seen(operator, 5)
    assert (told["guard"], told["reason"]) == ("advisory", "nothing requires it on stable")


async def test_a_check_that_is_required_and_that_nobody_gives_is_to_mend(world: LoopWorld, operator: Operator) -> None:
    ruleset(world, app=world.app["id"])
    policy(world, "mode: observe\n")
    told = await seen(operator, 5)
    assert of(told, "guard-given")["state"] == "to mend"
    assert "nothing can be merged into main" in of(told, "guard-given")["seen"]


async def test_what_the_installation_lacks_is_named(world: LoopWorld, operator: Operator) -> None:
    policy(world, "mode: repair\ntrunks: [main]\nrelease:\n  authorizers: ['@acme/boss']\nproject:\n  number: 1\n")
    bare = {"metadata": "read", "contents": "read", "issues": "write", "checks": "write", "pull_requests": "write"}
    grant(world, bare, ["push"])
    told = await seen(operator, 5)
    lacks = "the installation lacks contents: write, organization_projects: write, members: read"
    assert of(told, "permissions")["seen"] == lacks
    assert "issue_comment" in of(told, "events")["seen"]
    assert of(told, "trunks")["state"] == "to mend"


async def test_ledgers_where_the_policy_does_not_look_are_named(world: LoopWorld, operator: Operator) -> None:
    await world.published()
    policy(world, "mode: repair\nledger:\n  namespace: refs/heads/agent-recovery\n")
    told = await seen(operator, 5)
    words = "the policy keeps ledgers below refs/heads/agent-recovery, and there are 1 below refs/agent-recovery"
    assert of(told, "ledgers")["seen"] == words


async def test_the_ruleset_is_shown_then_written_once_then_enforced(world: LoopWorld, operator: Operator) -> None:
    grant(world, GRANTED)
    since = world.requested()
    said = await operator.run(*DOCTOR, "--fix", "--dry-run", "--json")
    assert (said.code, said.json["state"], said.json["change"]["id"]) == (0, "to be written", None)
    assert said.json["change"]["body"]["conditions"]["ref_name"]["include"] == ["refs/heads/main"]
    for answer, code in (("n\n", 0), ("", 2)):
        asked = await operator.run(*DOCTOR, "--fix", answer=answer)
        assert asked.code == code
        assert f"To be written: the ruleset {NAME} of {REPO}" in asked.out
    assert (await operator.run(*DOCTOR, "--fix", "--json")).code == 2
    assert world.writes(since) == []
    said = await operator.run(*FIX)
    assert (said.code, said.json["state"]) == (0, "written")
    [made] = ours(world)
    assert (made["enforcement"], made["rules"], made["bypass_actors"]) == (
        "disabled",
        [{"type": "required_status_checks", "parameters": {**made["rules"][0]["parameters"]}}],
        [],
    )
    assert made["rules"][0]["parameters"]["required_status_checks"] == [
        {"context": CHECK, "integration_id": world.app["id"]}
    ]
    assert (await seen(operator, 5))["guard"] == "advisory"
    since = world.requested()
    assert (await operator.run(*FIX)).json["state"] == "nothing to write"
    assert world.writes(since) == []
    assert (await operator.run(*FIX, "--enforce")).json["state"] == "written"
    assert [one["enforcement"] for one in ours(world)] == ["active"]
    assert (await seen(operator, 0))["guard"] == "enforced"
    # Without --enforce it stays as it is: a person enforced it.
    assert (await operator.run(*FIX)).json["state"] == "nothing to write"
    assert [one["enforcement"] for one in ours(world)] == ["active"]


async def test_where_the_plan_has_evaluate_github_writes_down_what_it_would_refuse(
    world: LoopWorld, operator: Operator
) -> None:
    grant(world, GRANTED)
    world.emulator.org("big", enterprise=True)
    world.emulator.installation("agent-recovery", "big")
    world.emulator.transfer_repo(REPO, "big")
    said = await operator.run("doctor", "--repo", "big/shop", "--fix", "--yes", "--json")
    assert (said.code, said.json["ruleset"]["enforcement"]) == (0, "evaluate")
    said = await operator.run("doctor", "--repo", "big/shop", "--json")
    assert said.json["reason"] == f"the ruleset {NAME} stands and is not enforced (evaluate)"


async def test_it_mends_a_ruleset_that_was_changed_and_keeps_what_others_put_there(
    world: LoopWorld, operator: Operator
) -> None:
    grant(world, GRANTED)
    strict = {"required_status_checks": [{"context": "ci"}, {"context": CHECK}]}
    strict["strict_required_status_checks_policy"] = True  # type: ignore[assignment]
    rules = [{"type": "deletion"}, {"type": "required_status_checks", "parameters": strict}]
    actors = [{"actor_type": "RepositoryRole", "actor_id": 5, "bypass_mode": "pull_request"}, *bypass(world)]
    conditions = {"ref_name": {"include": ["refs/heads/other"], "exclude": []}}
    number = ruleset(world, NAME, rules=rules, bypass_actors=actors, conditions=conditions)
    said = await operator.run(*FIX)
    assert said.code == 0
    assert said.json["change"]["why"] == [
        "it does not require the check from this App",
        "it does not reach main",
        "this App may bypass it",
    ]
    [made] = ours(world)
    assert (made["id"], made["enforcement"]) == (number, "active")
    assert made["conditions"]["ref_name"]["include"] == ["refs/heads/other", "refs/heads/main"]
    assert made["bypass_actors"] == actors[:1]
    assert [one["type"] for one in made["rules"]] == ["deletion", "required_status_checks"]
    parameters = made["rules"][1]["parameters"]
    assert parameters["required_status_checks"] == [
        {"context": "ci"},
        {"context": CHECK, "integration_id": world.app["id"]},
    ]
    assert parameters["strict_required_status_checks_policy"] is True
    assert (await seen(operator, 0))["guard"] == "enforced"


async def test_where_another_rule_enforces_the_check_nothing_is_written(world: LoopWorld, operator: Operator) -> None:
    grant(world, GRANTED)
    ruleset(world, app=world.app["id"])
    assert (await operator.run(*FIX, "--enforce")).json["state"] == "nothing to write"
    assert ours(world) == []


@pytest.mark.parametrize("fault", ["drop_after", "status_after"])
async def test_an_answer_that_is_lost_makes_no_second_ruleset(world: LoopWorld, operator: Operator, fault: str) -> None:
    grant(world, GRANTED)
    members: dict[str, Any] = {"code": 502} if fault == "status_after" else {}
    world.emulator.fault(fault, match={"method": "POST", "path_regex": "/rulesets$"}, nth=2, **members)
    since = world.requested()
    said = await operator.run(*FIX)
    assert (said.code, said.json["state"]) == (0, "written")
    assert len(ours(world)) == 1
    # Beside the try for `evaluate`, which this plan refuses.
    assert len([one for one in world.writes(since) if one.startswith("POST")]) == 2


async def test_a_github_that_never_answers_is_said_so(world: LoopWorld, operator: Operator) -> None:
    grant(world, GRANTED)
    match = {"method": "POST", "path_regex": "/rulesets$"}
    world.emulator.fault("drop_before", match=match, times=None)
    said = await operator.run(*FIX)
    assert (said.code, said.json["error"]["code"]) == (6, "unknown_outcome")
    world.emulator.clear_faults()
    assert (await operator.run(*FIX)).code == 0
    assert len(ours(world)) == 1


async def test_two_of_us_at_once_make_one_ruleset(world: LoopWorld, operator: Operator) -> None:
    grant(world, GRANTED)
    wanted = Required(CHECK, world.app["id"])
    async with GitHub(world.app["id"], [world.app["pem"]], world.emulator.url) as github:
        repo = await github.repository("acme", "shop")
        seen_before = await repo.guard_of_base("main")
        # Both looked before either wrote.
        todo = change(seen_before, wanted, enforce=False, enforced_already=False)
        assert todo is not None
        body = {**todo.body, "enforcement": "disabled"}
        made = await asyncio.gather(*(repo.create_ruleset(body) for _ in range(2)))
        assert sorted(one is None for one in made) == [False, True]
        done = await asyncio.gather(*(Fixing(repo, "main", wanted).carry_out("`fix`", enforce=True) for _ in range(2)))
    assert [one.guard.worth for one in done] == ["enforced", "enforced"]
    assert [one["enforcement"] for one in ours(world)] == ["active"]


async def test_without_leave_an_administrator_is_told_how(world: LoopWorld, operator: Operator) -> None:
    since = world.requested()
    said = await operator.run(*FIX)
    assert (said.code, said.json["error"]["code"]) == (4, "forbidden")
    assert f"gh api -X POST repos/{REPO}/rulesets --input -" in said.json["error"]["next_action"]
    assert world.writes(since) == []


async def test_it_enforces_nothing_that_nobody_would_give(world: LoopWorld, operator: Operator) -> None:
    grant(world, GRANTED)
    policy(world, "mode: observe\n")
    said = await operator.run(*FIX, "--enforce")
    assert (said.code, said.json["error"]["code"]) == (4, "forbidden")
    assert "it would let nothing be merged into main: the policy says `mode: observe`" in said.json["error"]["message"]
    assert ours(world) == []


async def test_uninstall_takes_that_ruleset_away_first(
    world: LoopWorld, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.controller.uninstalling.KNOWN_FOR_S", 0.0)
    grant(world, GRANTED)
    assert (await operator.run(*FIX, "--enforce")).code == 0
    since = world.requested()
    said = await operator.run("uninstall", "--repo", REPO, "--by", "wanda", "--yes", "--json")
    assert said.json["rulesets"] == [NAME]
    assert world.writes(since)[0].startswith(f"DELETE /repos/{REPO}/rulesets/")
    assert ours(world) == []


def test_what_the_doctor_looks_for_is_what_the_app_asks_for() -> None:
    asked = yaml.safe_load((Path(__file__).parents[2] / "app.yml").read_text())
    sometimes = {name: level for name, (level, _) in SOMETIMES.items() if name != "administration"}
    assert asked["default_permissions"] == {**NEEDED, **sometimes}
    assert set(asked["default_events"]) == {*EVENTS, "merge_group", "projects_v2_item", "workflow_run"}


@pytest.mark.parametrize(
    ("dispatch", "level"),
    [("none", None), ("command", None), ("workflow_dispatch", "write"), ("repository_dispatch", "read")],
)
def test_what_starting_agents_needs_is_asked_for_only_where_the_policy_does(dispatch: str, level: str | None) -> None:
    policy = Policy(resume=ResumePolicy.model_validate({"dispatch": dispatch}))
    permissions, events = told_of_permissions(NEEDED, policy, False), told_of_events(EVENTS, policy, False)
    if level is None:
        assert (permissions.health, events.health) == (Health.FINE, Health.FINE)
        return
    assert permissions.seen == f"the installation lacks actions: {level}"
    assert events.seen == "the App is not told of workflow_run"
    assert told_of_permissions({**NEEDED, "actions": level}, policy, False).health is Health.FINE


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--repo", REPO, "--probe", REPO),
        ("--probe", REPO, "--fix"),
        ("--repo", REPO, "--enforce"),
        ("--repo", "no name"),
    ],
)
async def test_a_call_that_is_none_says_so(operator: Operator, words: tuple[str, ...]) -> None:
    assert "doctor" in ROOMS
    said = await operator.run("doctor", *words)
    assert said.code == 2
