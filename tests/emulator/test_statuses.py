"""Commit statuses, and the required checks they and check-runs make up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from emulated import ALL, EVENTS, World, git, rest
from guarded import BASE, admin, check, checks_rule, merge, refusal, ruleset, status

from app.emulator.acts import statuses
from app.emulator.inprocess import InProcess


def complaint(answer: Any) -> str:
    assert answer.status_code == 422, answer.text
    assert answer.json()["message"] == "Validation Failed"
    (error,) = answer.json()["errors"]
    assert error["resource"] == "Status"
    return str(error["message"])


def test_what_is_no_status(world: World) -> None:
    url = f"{BASE}/statuses/{world.head('42-x')}"
    assert complaint(world.dev.post(url, json={"state": "good"})) == "state is not included in the list"
    long = {"state": "success", "description": "d" * 141}
    assert complaint(world.dev.post(url, json=long)) == "description is too long (maximum is 140 characters)"
    wide = {"state": "success", "context": "c" * 256}
    assert complaint(world.dev.post(url, json=wide)) == "context is too long (maximum is 255 characters)"
    odd = {"state": "success", "target_url": "ftp://x"}
    assert complaint(world.dev.post(url, json=odd)) == "target_url must use http(s) scheme"
    unknown = world.dev.post(f"{BASE}/statuses/{'a' * 40}", json={"state": "success"})
    assert (unknown.status_code, unknown.json()["message"]) == (422, f"No commit found for SHA: {'a' * 40}")
    assert world.reader.post(url, json={"state": "success"}).status_code == 403
    assert world.dev.post(url, json={}).status_code == 422


@pytest.mark.parametrize("name", ["42-x", "abc1234"])
def test_a_status_names_its_commit_in_full(world: World, name: str) -> None:
    refused = world.bot.post(f"{BASE}/statuses/{name}", json={"state": "success"})
    assert (refused.status_code, refused.json()["message"]) == (422, "Validation Failed")
    assert refused.json()["errors"] == [
        {"resource": "Status", "code": "custom", "field": "sha", "message": "sha must be a 40 character SHA1"}
    ]


async def test_a_context_of_a_commit_holds_no_more_than_its_maximum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert statuses.MAX_STATUSES == 1000
    monkeypatch.setattr(statuses, "MAX_STATUSES", 2)
    async with InProcess(tmp_path) as github:
        token = str((await github.control("POST", "/users", login="dev"))["token"])
        await github.control("POST", "/repos", owner="dev", name="demo")
        async with github.client(token) as client:
            url = f"/repos/dev/demo/statuses/{github.git('dev/demo').branch('main')}"
            said = [
                await client.post(url, json={"state": "success", "context": c}) for c in ("ci", "ci", "CI", "other")
            ]
    assert [answer.status_code for answer in said] == [201, 201, 422, 201]
    (error,) = said[2].json()["errors"]
    assert error["message"] == "This SHA and context has reached the maximum number of statuses."


def test_lists_and_the_combined_state(world: World) -> None:
    sha = world.head("42-x")
    for context, state in (("a", "pending"), ("a", "success"), ("b", "error")):
        status(world.dev, sha, context, state)
    assert [s["state"] for s in world.dev.get(f"{BASE}/commits/{sha}/statuses").json()] == [
        "error",
        "success",
        "pending",
    ]
    shown = world.dev.get(f"{BASE}/commits/42-x/status", params={"per_page": "1"}).json()
    assert (shown["state"], shown["total_count"], len(shown["statuses"])) == ("failure", 2, 1)
    status(world.dev, sha, "b")
    assert world.dev.get(f"{BASE}/commits/42-x/status").json()["state"] == "success"


def test_a_status_is_announced_with_its_branches(world: World) -> None:
    world.emulator.app("watcher", permissions=ALL, events=[*EVENTS, "status"], webhook_url="http://127.0.0.1:9/hook")
    world.emulator.installation("watcher", "octo")
    status(world.dev, world.head("42-x"), "ci")
    (sent,) = [d["payload"] for d in world.emulator.deliveries() if d["event"] == "status"]
    assert (sent["context"], sent["state"], sent["sha"]) == ("ci", "success", world.head("42-x"))
    assert [b["name"] for b in sent["branches"]] == ["42-x"]


SENTENCES = [
    ([], 'Required status check "ci" is expected.', ["ci"]),
    ([("ci", "run", None)], 'Required status check "ci" is in progress.', ["ci"]),
    ([("ci", "run", "failure")], 'Required status check "ci" is failing.', ["ci"]),
    ([("ci", "run", "action_required")], 'Required status check "ci" is failing.', ["ci"]),
    ([("ci", "status", "pending")], 'Required status check "ci" is pending.', ["ci"]),
    ([("ci", "run", "success"), ("ci", "status", "failure")], 'Required status check "ci" is failing.', ["ci"]),
    ([], "2 of 2 required status checks are expected.", ["a", "b"]),
    ([("a", "run", None), ("b", "run", None)], "2 of 2 required status checks are in progress.", ["a", "b"]),
    (
        [("a", "run", None), ("b", "run", "failure")],
        "2 of 2 required status checks have not succeeded: 1 failing.",
        ["a", "b"],
    ),
    (
        [("a", "status", "pending")],
        "2 of 2 required status checks have not succeeded: 1 expected and 1 pending.",
        ["a", "b"],
    ),
    ([("a", "run", "success")], 'Required status check "b" is expected.', ["a", "b"]),
]


@pytest.mark.parametrize(("results", "sentence", "required"), SENTENCES)
def test_the_sentence_about_missing_checks(
    world: World, results: list[tuple[str, str, str | None]], sentence: str, required: list[str]
) -> None:
    ruleset(admin(world), checks_rule(*required))
    pull = world.open_pull()
    for name, kind, state in results:
        if kind == "run":
            check(world, pull["head"]["sha"], name, state)
        else:
            status(world.dev, pull["head"]["sha"], name, str(state))
    assert refusal(merge(world.dev, pull["number"])) == sentence


@pytest.mark.parametrize("conclusion", ["success", "neutral", "skipped"])
def test_what_passes(world: World, conclusion: str) -> None:
    ruleset(admin(world), checks_rule("ci"))
    pull = world.open_pull()
    check(world, pull["head"]["sha"], "ci", conclusion)
    assert merge(world.dev, pull["number"]).status_code == 200


def test_only_the_latest_head_counts(world: World) -> None:
    ruleset(admin(world), checks_rule("ci"))
    pull = world.open_pull()
    check(world, pull["head"]["sha"], "ci")
    world.dev.patch(f"{BASE}/git/refs/heads/42-x", json={"sha": world.commit(pull["head"]["sha"], "more")})
    assert refusal(merge(world.dev, pull["number"])) == 'Required status check "ci" is expected.'


def test_the_expected_app_alone_counts(world: World) -> None:
    ruleset(admin(world), checks_rule({"context": "ci", "integration_id": world.app["id"]}))
    pull = world.open_pull()
    sha = pull["head"]["sha"]
    other = world.emulator.app("other", permissions=ALL)
    token = world.emulator.installation_token(other, world.emulator.installation("other", "octo")["id"])
    check(world, sha, "ci", client=rest(world.emulator, token))
    status(world.dev, sha, "ci")
    words = 'Required status check "ci" was not set by the expected GitHub app.'
    assert refusal(merge(world.dev, pull["number"])) == words
    status(world.bot, sha, "ci", "failure")
    assert refusal(merge(world.dev, pull["number"])) == 'Required status check "ci" is failing.'
    check(world, sha, "ci")
    status(world.bot, sha, "ci")
    assert merge(world.dev, pull["number"]).status_code == 200


def test_checks_of_the_test_merge_override_those_of_the_head(world: World) -> None:
    ruleset(admin(world), checks_rule("ci"))
    pull = world.open_pull()
    world.pull(pull["number"])
    trial = world.pull(pull["number"])["merge_commit_sha"]
    assert trial is not None
    check(world, pull["head"]["sha"], "ci", "failure")
    check(world, trial, "ci")
    world.dev.patch(f"{BASE}/git/refs/heads/42-x", json={"sha": world.commit(pull["head"]["sha"], "more")})
    # The test merge of an older head says nothing about the new one.
    assert refusal(merge(world.dev, pull["number"])) == 'Required status check "ci" is expected.'
    world.dev.patch(f"{BASE}/git/refs/heads/42-x", json={"sha": pull["head"]["sha"], "force": True})
    assert merge(world.dev, pull["number"]).status_code == 200


def test_strict_checks_want_the_newest_base(world: World) -> None:
    ruleset(admin(world), checks_rule("ci", strict=True))
    pull = world.open_pull()
    check(world, pull["head"]["sha"], "ci")
    world.emulator.commit("octo/demo", {"other.txt": "x\n"}, branch="release-1")
    assert refusal(merge(world.dev, pull["number"])) == 'Required status check "ci" is expected.'
    world.pull(pull["number"])
    assert world.pull(pull["number"])["mergeable_state"] == "behind"
    world.dev.put(f"{BASE}/pulls/{pull['number']}/update-branch", json={})
    world.pull(pull["number"])
    head = world.pull(pull["number"])["head"]["sha"]
    assert head != pull["head"]["sha"]
    check(world, head, "ci")
    assert merge(world.dev, pull["number"]).status_code == 200


def test_what_the_pull_request_shows_of_it(world: World) -> None:
    ruleset(admin(world), checks_rule("ci"))
    pull = world.open_pull()
    number = pull["number"]

    def state() -> str:
        world.pull(number)
        return str(world.pull(number)["mergeable_state"])

    assert state() == "blocked"
    check(world, pull["head"]["sha"], "ci")
    assert state() == "clean"
    status(world.dev, pull["head"]["sha"], "optional", "failure")
    assert state() == "unstable"
    query = """query($n:Int!){repository(owner:"octo",name:"demo"){pullRequest(number:$n){statusCheckRollup{state
      contexts(first:5){nodes{... on CheckRun{name isRequired(pullRequestNumber:$n)}
        ... on StatusContext{context isRequired(pullRequestNumber:$n)}}}}}}}"""
    rollup = world.graphql(query, n=number)["data"]["repository"]["pullRequest"]["statusCheckRollup"]
    assert rollup["state"] == "FAILURE"
    assert [n["isRequired"] for n in rollup["contexts"]["nodes"]] == [True, False]


def test_git_knows_nothing_of_statuses(world: World, tmp_path: Any) -> None:
    """A local merge of an up-to-date green pull request may be pushed although the merge itself has no checks."""
    ruleset(admin(world), checks_rule("ci"))
    pull = world.open_pull()
    check(world, pull["head"]["sha"], "ci")
    clone = world.clone(tmp_path / "c", "dev")
    git(clone, "checkout", "-q", "release-1")
    git(clone, "merge", "-q", "--no-ff", "-m", "m", "origin/42-x")
    git(clone, "push", "-q", "origin", "release-1")
    assert world.pull(pull["number"])["merged"]
