"""Classic protection: what is accepted, shown, refused and enforced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from emulated import ALL, EVENTS, World, git, new_commit, rest
from guarded import BASE, admin, check, merge, reviewer, status

URL = f"{BASE}/branches/release-1/protection"
OFF = {
    "required_status_checks": None,
    "enforce_admins": True,
    "required_pull_request_reviews": None,
    "restrictions": None,
}


def protect(boss: httpx.Client, **parts: Any) -> dict[str, Any]:
    made = boss.put(URL, json=OFF | parts)
    assert made.status_code == 200, made.text
    return dict(made.json())


def message(answer: httpx.Response, code: int = 405) -> str:
    assert answer.status_code == code, answer.text
    return str(answer.json()["message"])


def checks(*listed: dict[str, Any] | str, strict: bool = False) -> dict[str, Any]:
    return {"strict": strict, "contexts": [], "checks": [{"context": c} if isinstance(c, str) else c for c in listed]}


def test_its_life(world: World) -> None:
    boss = admin(world)
    assert message(boss.get(URL), 404) == "Branch not protected"
    assert message(boss.get(f"{BASE}/branches/no/protection"), 404) == "Branch not found"
    made = protect(boss, required_status_checks=checks({"context": "ci", "app_id": -1}), allow_deletions=True)
    assert made["required_status_checks"]["checks"] == [{"context": "ci", "app_id": None}]
    assert made["allow_deletions"] == {"enabled": True}
    assert "required_pull_request_reviews" not in made
    assert boss.get(URL).json() == made
    shown = world.reader.get(f"{BASE}/branches/release-1").json()
    assert shown["protected"] is True
    assert shown["protection"]["required_status_checks"]["contexts"] == ["ci"]
    assert [b["name"] for b in boss.get(f"{BASE}/branches", params={"protected": "true"}).json()] == ["release-1"]
    assert boss.delete(URL).status_code == 204
    assert world.reader.get(f"{BASE}/branches/release-1").json()["protected"] is False


def test_branch_names_with_slashes(world: World) -> None:
    boss = admin(world)
    world.update_refs({"name": "refs/heads/rel/one", "afterOid": world.head("main")})
    for name in ("rel/one", "rel%2Fone"):
        assert boss.put(f"{BASE}/branches/{name}/protection", json=OFF).status_code == 200
        assert boss.get(f"{BASE}/branches/{name}/protection/enforce_admins").json()["enabled"] is True


def test_who_may(world: World) -> None:
    assert world.dev.get(URL).status_code == world.dev.put(URL, json=OFF).status_code == 404
    assert message(world.bot.get(URL), 403) == "Resource not accessible by integration"
    app = world.emulator.app("reads", permissions={"administration": "read"})
    token = world.emulator.installation_token(app, world.emulator.installation("reads", "octo")["id"])
    reads = rest(world.emulator, token)
    assert message(reads.get(URL), 404) == "Branch not protected"
    assert reads.put(URL, json=OFF).status_code == 403


def test_what_is_refused(world: World) -> None:
    boss = admin(world)
    assert '"restrictions" wasn\'t supplied' in message(boss.put(URL, json={k: OFF[k] for k in list(OFF)[:3]}), 422)
    assert (
        boss.put(URL, json=OFF | {"required_pull_request_reviews": {"required_approving_review_count": 7}}).status_code
        == 422
    )
    nobody = {"users": ["nobody"], "teams": []}
    assert boss.put(URL, json=OFF | {"restrictions": nobody}).status_code == 422
    world.emulator.repo("stranger", "own")
    owner = rest(world.emulator, world.tokens["stranger"])
    mine = owner.put("/repos/stranger/own/branches/main/protection", json=OFF | {"restrictions": nobody})
    assert mine.json()["errors"] == ["Only organization repositories can have users and team restrictions"]


def test_its_parts(world: World) -> None:
    boss = admin(world)
    protect(boss, required_status_checks=checks("ci"))
    part = f"{URL}/required_status_checks"
    assert boss.post(f"{part}/contexts", json={"contexts": ["lint"]}).json() == ["ci", "lint"]
    assert boss.request("DELETE", f"{part}/contexts", json={"contexts": ["ci"]}).json() == ["lint"]
    assert boss.patch(part, json={"strict": True}).json()["strict"] is True
    assert boss.delete(part).status_code == 204
    assert message(boss.get(part), 404) == "Required status checks not enabled"
    reviews = f"{URL}/required_pull_request_reviews"
    assert boss.get(reviews).status_code == 404
    assert (
        boss.patch(reviews, json={"required_approving_review_count": 2}).json()["required_approving_review_count"] == 2
    )
    assert boss.delete(reviews).status_code == 204
    assert boss.post(f"{URL}/required_signatures").json()["enabled"] is True
    assert boss.delete(f"{URL}/required_signatures").status_code == 204
    assert boss.delete(f"{URL}/enforce_admins").status_code == 204
    assert boss.get(f"{URL}/enforce_admins").json()["enabled"] is False
    assert boss.get(f"{URL}/restrictions").status_code == 404


def test_merges_are_refused_in_one_line(world: World) -> None:
    boss = admin(world)
    protect(
        boss, required_status_checks=checks("ci"), required_pull_request_reviews={"required_approving_review_count": 1}
    )
    pull = world.open_pull()
    words = "At least 1 approving review is required by reviewers with write access. "
    assert message(merge(world.bot, pull["number"])) == words + 'Required status check "ci" is expected.'
    check(world, pull["head"]["sha"], "ci")
    reviewer(world, "mara").post(f"{BASE}/pulls/{pull['number']}/reviews", json={"event": "APPROVE"})
    assert merge(world.bot, pull["number"]).status_code == 200


def test_a_context_without_source_takes_the_one_it_last_had(world: World) -> None:
    boss = admin(world)
    check(world, world.head("main"), "ci")
    made = protect(boss, required_status_checks={"strict": False, "contexts": ["ci", "other"]})
    listed = made["required_status_checks"]["checks"]
    assert listed == [{"context": "ci", "app_id": world.app["id"]}, {"context": "other", "app_id": None}]
    pull = world.open_pull()
    status(world.dev, pull["head"]["sha"], "other")
    status(world.dev, pull["head"]["sha"], "ci")
    assert message(merge(world.dev, pull["number"])) == (
        'Required status check "ci" was not set by the expected GitHub app.'
    )


def test_administrators_are_free_unless_bound(world: World) -> None:
    boss = admin(world)
    protect(boss, required_status_checks=checks("ci"), enforce_admins=False)
    number = world.open_pull()["number"]
    assert merge(world.dev, number).status_code == 405
    boss.post(f"{URL}/enforce_admins")
    assert merge(boss, number).status_code == 405
    boss.delete(f"{URL}/enforce_admins")
    assert merge(boss, number).status_code == 200


def test_restrictions(world: World) -> None:
    boss = admin(world)
    protect(boss, restrictions={"users": ["dev"], "teams": [], "apps": []})
    number = world.open_pull()["number"]
    refused = message(merge(world.bot, number))
    assert refused.startswith("You're not authorized to push to this branch. Visit https://docs.github.com/")
    assert boss.get(f"{URL}/restrictions").json()["users"][0]["login"] == "dev"
    assert merge(world.dev, number).status_code == 200


def test_pushes(world: World, tmp_path: Path) -> None:
    boss = admin(world)
    protect(boss, required_pull_request_reviews={"required_approving_review_count": 0})
    clone = world.clone(tmp_path / "c", "dev")
    git(clone, "checkout", "-q", "release-1")
    new_commit(clone, "direct")
    pushed = git(clone, "push", "origin", "release-1", check=False).stderr
    assert "remote: error: GH006: Protected branch update failed for refs/heads/release-1." in pushed
    assert "remote: - Changes must be made through a pull request." in pushed
    assert "(protected branch hook declined)" in pushed
    assert "Cannot delete this branch" in git(clone, "push", "origin", ":release-1", check=False).stderr
    world.open_pull()
    git(clone, "push", "-q", "origin", "origin/42-x:refs/heads/release-1")  # the head of an open pull request
    protect(boss)
    git(clone, "fetch", "-q")
    assert "Cannot force-push" in git(clone, "push", "-f", "origin", "origin/main:release-1", check=False).stderr
    body = {"message": "m", "content": "eA==", "branch": "release-1"}
    protect(boss, lock_branch=True)
    answer = world.dev.put(f"{BASE}/contents/new.txt", json=body)
    assert message(answer, 409) == "Could not update file: Cannot change this locked branch"


@pytest.mark.parametrize("part", ["required_conversation_resolution", "required_linear_history"])
def test_conversations_and_linear_history(world: World, part: str) -> None:
    protect(admin(world), **{part: True})
    pull = world.open_pull()
    line = {"body": "?", "path": "a.txt", "line": 1, "commit_id": pull["head"]["sha"]}
    world.dev.post(f"{BASE}/pulls/{pull['number']}/comments", json=line)
    words = {
        "required_conversation_resolution": "A conversation must be resolved before this pull request can be merged.",
        "required_linear_history": "This branch must not contain merge commits.",
    }
    assert message(merge(world.dev, pull["number"])) == words[part]
    squashed = merge(world.dev, pull["number"], merge_method="squash")
    assert squashed.status_code == (200 if part == "required_linear_history" else 405)


def test_changes_are_announced(world: World) -> None:
    world.emulator.app(
        "watcher",
        permissions=ALL | {"administration": "read"},
        events=[*EVENTS, "branch_protection_rule"],
        webhook_url="http://127.0.0.1:9/hook",
    )
    world.emulator.installation("watcher", "octo")
    boss = admin(world)
    protect(boss, required_status_checks=checks("ci"))
    boss.delete(f"{URL}/enforce_admins")
    boss.delete(URL)
    sent = [d for d in world.emulator.deliveries() if d["event"] == "branch_protection_rule"]
    assert [d["action"] for d in sent] == ["created", "edited", "deleted"]
    assert sent[0]["payload"]["rule"]["required_status_checks_enforcement_level"] == "everyone"
    assert sent[1]["payload"]["rule"]["admin_enforced"] is False


def test_graphql_shows_it_to_administrators(world: World) -> None:
    boss = admin(world)
    protect(boss, required_status_checks=checks({"context": "ci", "app_id": world.app["id"]}, strict=True))
    query = """{repository(owner:"octo",name:"demo"){ref(qualifiedName:"release-1"){branchProtectionRule{pattern
      isAdminEnforced requiresStrictStatusChecks requiredStatusChecks{context app{slug}}}}}}"""
    held = world.graphql(query, boss)["data"]["repository"]["ref"]["branchProtectionRule"]
    assert held["requiredStatusChecks"] == [{"context": "ci", "app": {"slug": "keeper"}}]
    assert (held["pattern"], held["requiresStrictStatusChecks"]) == ("release-1", True)
    assert world.graphql(query, world.dev)["data"]["repository"]["ref"]["branchProtectionRule"] is None
