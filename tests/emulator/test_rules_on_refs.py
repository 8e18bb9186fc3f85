"""Direct changes to guarded refs: by push, by REST, by ``updateRefs``, by commits of the API."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from emulated import ZERO, World, git, new_commit
from guarded import BASE, RULES_HEAD, admin, check, checks_rule, pull_request_rule, refusal, ruleset, status

BY_PULL = "Changes must be made through a pull request."


def advance(world: World, branch: str = "release-1", **more: object) -> object:
    head = world.head(branch)
    tree = world.dev.get(f"{BASE}/git/commits/{head}").json()["tree"]["sha"]
    body = {"tree": tree, "parents": [head], "message": "more"}
    sha = world.dev.post(f"{BASE}/git/commits", json=body).json()["sha"]
    return world.dev.patch(f"{BASE}/git/refs/heads/{branch}", json={"sha": sha} | more)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({"type": "update"}, "Cannot update this protected ref."),
        (pull_request_rule(), BY_PULL),
        (checks_rule("ci"), 'Required status check "ci" is expected.'),
        ({"type": "required_signatures"}, "Commits must have verified signatures."),
    ],
)
def test_rest_refusals(world: World, rule: dict[str, object], sentence: str) -> None:
    ruleset(admin(world), rule)
    before = world.head("release-1")
    assert refusal(advance(world), 422) == sentence  # type: ignore[arg-type]
    assert world.head("release-1") == before


def test_creation_deletion_and_force(world: World) -> None:
    boss = admin(world)
    everywhere = {"ref_name": {"include": ["~ALL"], "exclude": []}}
    ruleset(boss, {"type": "creation"}, {"type": "deletion"}, {"type": "non_fast_forward"}, conditions=everywhere)
    main = world.head("main")
    created = world.dev.post(f"{BASE}/git/refs", json={"ref": "refs/heads/new", "sha": main})
    assert refusal(created, 422) == "Cannot create ref due to creations being restricted."
    assert refusal(world.dev.delete(f"{BASE}/git/refs/heads/42-x"), 422) == "Cannot delete this protected ref."
    forced = world.dev.patch(f"{BASE}/git/refs/heads/42-x", json={"sha": main, "force": True})
    assert refusal(forced, 422) == "Cannot force-push to this branch"
    assert advance(world, "42-x").status_code == 200  # type: ignore[attr-defined]


def test_refs_beside_branches_and_tags_cannot_be_guarded(world: World) -> None:
    everything = {"ref_name": {"include": ["~ALL"], "exclude": []}}
    ruleset(admin(world), {"type": "creation"}, {"type": "deletion"}, {"type": "update"}, conditions=everything)
    made = world.dev.post(f"{BASE}/git/refs", json={"ref": "refs/recovery/x", "sha": world.head("main")})
    assert made.status_code == 201
    assert world.dev.delete(f"{BASE}/git/refs/recovery/x").status_code == 204


def test_tags_are_guarded_by_tag_rulesets(world: World) -> None:
    conditions = {"ref_name": {"include": ["refs/tags/v*"], "exclude": []}}
    ruleset(admin(world), {"type": "creation"}, target="tag", conditions=conditions)
    sha = world.head("main")
    assert world.dev.post(f"{BASE}/git/refs", json={"ref": "refs/tags/v1", "sha": sha}).status_code == 422
    assert world.dev.post(f"{BASE}/git/refs", json={"ref": "refs/tags/w1", "sha": sha}).status_code == 201


def test_update_refs_refuses_all_and_says_nothing(world: World) -> None:
    ruleset(admin(world), {"type": "update"})
    answer = world.update_refs(
        {"name": "refs/heads/release-1", "afterOid": world.commit(world.head("release-1"))},
        {"name": "refs/recovery/x", "beforeOid": ZERO, "afterOid": world.head("main")},
    )
    assert answer["errors"][0]["message"].startswith("Something went wrong while executing your query.")
    assert world.refs("recovery/") == {}


def test_commits_by_api(world: World) -> None:
    ruleset(admin(world), pull_request_rule())
    body = {"message": "m", "content": base64.b64encode(b"x").decode(), "branch": "release-1"}
    assert refusal(world.dev.put(f"{BASE}/contents/new.txt", json=body), 409) == BY_PULL
    commit = {
        "branch": {"repositoryNameWithOwner": "octo/demo", "branchName": "release-1"},
        "expectedHeadOid": world.head("release-1"),
        "message": {"headline": "m"},
    }
    mutation = "mutation($i:CreateCommitOnBranchInput!){createCommitOnBranch(input:$i){commit{oid}}}"
    (error,) = world.graphql(mutation, world.dev, i=commit)["errors"]
    assert (error["type"], error["message"]) == ("UNPROCESSABLE", f"{RULES_HEAD}{BY_PULL}\n\n")
    merged = world.dev.post(f"{BASE}/merges", json={"base": "release-1", "head": "42-x"})
    assert (merged.status_code, BY_PULL in merged.json()["message"]) == (409, True)


def test_a_push_is_refused_with_github_words(world: World, tmp_path: Path) -> None:
    ruleset(admin(world), pull_request_rule(), checks_rule("ci", "lint"))
    clone = world.clone(tmp_path / "c", "dev")
    git(clone, "checkout", "-q", "release-1")
    sha = new_commit(clone, "direct")
    pushed = git(clone, "push", "origin", "release-1", "release-1:other", check=False)
    assert pushed.returncode != 0
    assert "remote: error: GH013: Repository rule violations found for refs/heads/release-1." in pushed.stderr
    assert "/octo/demo/rules?ref=refs%2Fheads%2Frelease-1" in pushed.stderr
    assert f"remote: - {BY_PULL}" in pushed.stderr
    assert "remote: - 2 of 2 required status checks are expected." in pushed.stderr
    assert "release-1 -> release-1 (push declined due to repository rule violations)" in pushed.stderr
    assert world.head("other") == sha
    assert world.head("release-1") != sha


def test_an_atomic_push_fails_as_a_whole(world: World, tmp_path: Path) -> None:
    ruleset(admin(world), {"type": "update"})
    clone = world.clone(tmp_path / "c", "dev")
    git(clone, "checkout", "-q", "release-1")
    new_commit(clone, "direct")
    pushed = git(clone, "push", "--atomic", "origin", "release-1", "release-1:other", check=False)
    assert "push declined due to repository rule violations" in pushed.stderr
    assert "refs/heads/other" not in world.refs("heads/")


def test_pushes_by_rule(world: World, tmp_path: Path) -> None:
    ruleset(admin(world), {"type": "non_fast_forward"}, {"type": "required_linear_history"}, {"type": "deletion"})
    clone = world.clone(tmp_path / "c", "dev")
    git(clone, "checkout", "-q", "release-1")
    new_commit(clone, "one")
    git(clone, "push", "-q", "origin", "release-1")
    git(clone, "merge", "-q", "--no-ff", "-m", "m", "origin/42-x")
    assert "must not contain merge commits" in git(clone, "push", "origin", "release-1", check=False).stderr
    git(clone, "reset", "-q", "--hard", "HEAD~2")
    assert "Cannot force-push" in git(clone, "push", "-f", "origin", "release-1", check=False).stderr
    assert "Cannot delete" in git(clone, "push", "origin", ":release-1", check=False).stderr


def test_the_head_of_an_open_pull_request_with_green_checks_may_be_pushed(world: World, tmp_path: Path) -> None:
    ruleset(admin(world), pull_request_rule(), checks_rule("ci"))
    number, clone = world.open_pull()["number"], world.clone(tmp_path / "c", "dev")
    push = ("push", "origin", "origin/42-x:refs/heads/release-1")
    assert 'Required status check "ci" is expected.' in git(clone, *push, check=False).stderr
    check(world, world.head("42-x"), "ci")
    git(clone, *push)
    assert world.pull(number)["merged"]


def test_a_green_commit_without_pull_request_stays_out(world: World) -> None:
    boss = admin(world)
    ruleset(boss, checks_rule("ci"))
    sha = world.commit(world.head("release-1"))
    status(world.dev, sha, "ci")
    assert world.dev.patch(f"{BASE}/git/refs/heads/release-1", json={"sha": sha}).status_code == 200
    ruleset(boss, pull_request_rule())
    assert refusal(advance(world), 422).startswith('Required status check "ci" is expected.')  # type: ignore[arg-type]


def test_who_may_bypass(world: World, tmp_path: Path) -> None:
    boss = admin(world)
    app = {"actor_type": "Integration", "actor_id": world.app["id"], "bypass_mode": "always"}
    role = {"actor_type": "RepositoryRole", "actor_id": 5, "bypass_mode": "pull_request"}
    made = ruleset(boss, {"type": "update"}, bypass_actors=[app, role])
    assert made["current_user_can_bypass"] == "pull_requests_only"
    sha = world.commit(world.head("release-1"))
    for client in (world.dev, boss):
        assert client.patch(f"{BASE}/git/refs/heads/release-1", json={"sha": sha}).status_code == 422
    assert world.bot.patch(f"{BASE}/git/refs/heads/release-1", json={"sha": sha}).status_code == 200
    number = world.open_pull()["number"]
    assert refusal(world.dev.put(f"{BASE}/pulls/{number}/merge", json={})) == "Cannot update this protected ref."
    assert boss.put(f"{BASE}/pulls/{number}/merge", json={}).status_code == 200


def test_a_push_that_bypasses_is_told_so(world: World, tmp_path: Path) -> None:
    boss = admin(world)
    role = {"actor_type": "RepositoryRole", "actor_id": 5, "bypass_mode": "always"}
    ruleset(boss, {"type": "update"}, bypass_actors=[role])
    clone = world.clone(tmp_path / "c", "boss")
    git(clone, "checkout", "-q", "release-1")
    sha = new_commit(clone, "direct")
    pushed = git(clone, "push", "origin", "release-1").stderr
    assert "remote: Bypassed rule violations for refs/heads/release-1:" in pushed
    assert "remote: - Cannot update this protected ref." in pushed
    assert world.head("release-1") == sha


def test_merge_methods_of_a_branch(world: World) -> None:
    ruleset(admin(world), pull_request_rule(allowed_merge_methods=["squash"]))
    number = world.open_pull()["number"]
    assert refusal(world.dev.put(f"{BASE}/pulls/{number}/merge", json={})) == (
        "Merge commits are not allowed on this repository."
    )
    assert world.dev.put(f"{BASE}/pulls/{number}/merge", json={"merge_method": "squash"}).status_code == 200


def test_new_branches_under_required_checks(world: World) -> None:
    everywhere = {"ref_name": {"include": ["refs/heads/rel/*"], "exclude": []}}
    boss = admin(world)
    rule = checks_rule("ci")
    made = ruleset(boss, rule, conditions=everywhere)
    main = world.head("main")
    created = world.dev.post(f"{BASE}/git/refs", json={"ref": "refs/heads/rel/1", "sha": main})
    assert refusal(created, 422) == 'Required status check "ci" is expected.'
    rule["parameters"]["do_not_enforce_on_create"] = True
    assert boss.put(f"{BASE}/rulesets/{made['id']}", json={"rules": [rule]}).status_code == 200
    created = world.dev.post(f"{BASE}/git/refs", json={"ref": "refs/heads/rel/1", "sha": main})
    assert created.status_code == 201


def test_signatures_are_githubs_own(world: World) -> None:
    ruleset(admin(world), {"type": "required_signatures"})
    unsigned = world.open_pull()["number"]
    assert refusal(world.dev.put(f"{BASE}/pulls/{unsigned}/merge", json={})) == "Commits must have verified signatures."
    base = world.head("release-1")
    commit = {
        "branch": {"repositoryNameWithOwner": "octo/demo", "branchName": "release-1"},
        "expectedHeadOid": base,
        "message": {"headline": "m"},
        "fileChanges": {"additions": [{"path": "n.txt", "contents": "eA=="}]},
    }
    mutation = "mutation($i:CreateCommitOnBranchInput!){createCommitOnBranch(input:$i){commit{oid}}}"
    oid = world.graphql(mutation, i=commit)["data"]["createCommitOnBranch"]["commit"]["oid"]
    assert world.bot.get(f"{BASE}/git/commits/{oid}").json()["verification"]["reason"] == "valid"
    made = world.commit(oid, "by the App, in its own name")
    assert world.bot.patch(f"{BASE}/git/refs/heads/release-1", json={"sha": made}).status_code == 200
    tree = world.bot.get(f"{BASE}/git/commits/{made}").json()["tree"]["sha"]
    somebody = {"name": "S", "email": "s@example.com"}
    body = {"tree": tree, "parents": [made], "message": "m", "author": somebody}
    named = world.bot.post(f"{BASE}/git/commits", json=body).json()
    assert named["verification"]["verified"] is False
    moved = world.bot.patch(f"{BASE}/git/refs/heads/release-1", json={"sha": named["sha"]})
    assert refusal(moved, 422) == "Commits must have verified signatures."
    squashed = world.dev.put(f"{BASE}/pulls/{unsigned}/merge", json={"merge_method": "squash"})
    assert squashed.status_code == 200
