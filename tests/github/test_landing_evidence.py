"""What is read before a landing, and what it costs."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from delivery_world import NAME, PERMISSIONS, DeliveryWorld

from app.domain.landing_evidence import BranchRules, LandingEvidence
from app.domain.required_checks import Judged, Outcome, Required, StatusSeen, judge
from app.github.access import RELEASE_CHECK_NAME
from app.github.errors import Conflict, NotFound

CHECKS = {
    "type": "required_status_checks",
    "parameters": {
        "required_status_checks": [{"context": "build"}],
        "strict_required_status_checks_policy": True,
    },
}
PULLS = {
    "type": "pull_request",
    "parameters": {
        "dismiss_stale_reviews_on_push": False,
        "require_code_owner_review": False,
        "require_last_push_approval": False,
        "required_approving_review_count": 2,
        "required_review_thread_resolution": True,
        "allowed_merge_methods": ["merge", "squash"],
    },
}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[DeliveryWorld]:
    async with DeliveryWorld(tmp_path) as made:
        yield made


async def evidence(world: DeliveryWorld, pull: dict[str, Any]) -> LandingEvidence:
    return await world.repository.landing_evidence(pull["number"], pull["head"]["sha"], "release-1", "main")


async def test_a_plain_pull_request(world: DeliveryWorld) -> None:
    pull = await world.pull({"a.txt": "1", "docs/b.md": "2"})
    await world.report(pull["head"]["sha"], "build")
    await world.report(pull["head"]["sha"], "lint", None)
    status = {"context": "ci/old", "state": "pending"}
    (await world.wanda.post(f"/repos/{NAME}/statuses/{pull['head']['sha']}", json=status)).raise_for_status()

    seen = await evidence(world, pull)
    assert seen.rules == BranchRules()
    assert (seen.checks.sha, seen.checks.head_after) == (pull["head"]["sha"], pull["head"]["sha"])
    assert {(run.name, run.status, run.conclusion, run.app_id) for run in seen.checks.runs} == {
        ("build", "completed", "success", world.app["id"]),
        ("lint", "in_progress", None, world.app["id"]),
    }
    assert seen.checks.statuses == (StatusSeen("ci/old", "pending"),)
    assert set(seen.files or ()) == {"a.txt", "docs/b.md"}
    assert (seen.review, seen.open_conversations, seen.base_files) == (None, 0, ())
    assert (seen.queued, seen.auto_merge, seen.release_guard) == (False, False, False)


async def test_thirty_tickets_of_one_trunk_read_its_rules_once(world: DeliveryWorld) -> None:
    await world.rules(CHECKS)
    await world.rules({"type": "deletion"}, on="main")
    first = await world.pull()
    await evidence(world, first)
    sent = world.sent()
    for _ in range(29):
        await evidence(world, first)
    assert world.sent() - sent == 29 * 2


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        ((CHECKS,), BranchRules(required=(Required("build"),), strict=True)),
        (
            (PULLS, {"type": "required_linear_history"}),
            BranchRules(approvals=2, conversations=True, methods=frozenset({"squash"})),
        ),
        (({"type": "creation"}, {"type": "deletion"}), BranchRules()),
    ],
)
async def test_rules_of_rulesets(world: DeliveryWorld, rules: tuple[dict[str, Any], ...], wanted: BranchRules) -> None:
    for rule in rules:
        await world.rules(rule)
    assert await world.repository.branch_rules("release-1") == wanted


async def test_a_strict_rule_that_requires_nothing_asks_for_nothing(world: DeliveryWorld) -> None:
    parameters = {"required_status_checks": [], "strict_required_status_checks_policy": True}
    await world.rules({"type": "required_status_checks", "parameters": parameters})
    assert not (await world.repository.branch_rules("release-1")).strict


CLASSIC = {
    "required_status_checks": {"strict": True, "checks": [{"context": "build", "app_id": -1}]},
    "required_pull_request_reviews": {"required_approving_review_count": 1},
    "required_conversation_resolution": True,
    "required_linear_history": True,
}


async def test_of_classic_protection_an_app_may_read_the_required_checks(world: DeliveryWorld) -> None:
    await world.protect(**CLASSIC)
    rules = await world.repository.branch_rules("release-1")
    assert rules.required == (Required("build"),)
    assert (rules.approvals, rules.strict, rules.conversations) == (0, False, False)
    assert rules.unread is not None
    assert "classic protection" in rules.unread
    assert await world.repository.release_guard("release-1") is False


async def test_an_app_that_may_administrate_reads_all_of_it(tmp_path: Path) -> None:
    async with DeliveryWorld(tmp_path, PERMISSIONS | {"administration": "read"}) as world:
        await world.protect(**CLASSIC)
        assert await world.repository.branch_rules("release-1") == BranchRules(
            required=(Required("build"),),
            strict=True,
            approvals=1,
            conversations=True,
            methods=frozenset({"squash", "rebase"}),
        )


async def test_a_plan_without_rules_has_none(world: DeliveryWorld) -> None:
    await world.emulated.control("PATCH", f"/repos/{NAME}", private=True, plan_allows_drafts=False)
    assert await world.repository.branch_rules("release-1") == BranchRules()


@pytest.mark.parametrize(("ours", "guarded"), [(True, True), (False, False)])
async def test_the_base_of_releases_is_guarded_by_our_check_alone(
    world: DeliveryWorld, ours: bool, guarded: bool
) -> None:
    check: dict[str, Any] = {"context": RELEASE_CHECK_NAME}
    if ours:
        check["integration_id"] = world.app["id"]
    parameters = {"required_status_checks": [check], "strict_required_status_checks_policy": False}
    await world.rules({"type": "required_status_checks", "parameters": parameters}, on="main")
    assert (await evidence(world, await world.pull())).release_guard is guarded


async def test_the_settings_of_the_repository_leave_some_methods(world: DeliveryWorld) -> None:
    pull = await world.pull()
    await world.boss.patch(f"/repos/{NAME}", json={"allow_squash_merge": False, "allow_rebase_merge": False})
    assert (await evidence(world, pull)).rules.methods == {"merge"}


async def test_conversations_reviews_and_a_second_page(world: DeliveryWorld) -> None:
    pull = await world.pull({"a.txt": "\n".join(str(n) for n in range(120))})
    await world.rules(PULLS)
    comments = [{"path": "a.txt", "line": n, "body": "hm"} for n in range(1, 104)]
    review = {"event": "REQUEST_CHANGES", "body": "no", "comments": comments}
    answer = await world.boss.post(f"/repos/{NAME}/pulls/{pull['number']}/reviews", json=review)
    answer.raise_for_status()
    seen = await evidence(world, pull)
    assert (seen.open_conversations, seen.review, seen.merge_state) == (103, "CHANGES_REQUESTED", "BLOCKED")


async def test_a_renamed_file_counts_under_both_names(world: DeliveryWorld) -> None:
    text = "\n".join(f"line {n}" for n in range(50))
    await world.commit("release-1", {"AGENTS.md": text})
    await world.commit("ticket/9", {"notes.md": text, "AGENTS.md": None}, of="release-1")
    made = await world.wanda.post(f"/repos/{NAME}/pulls", json={"title": "T", "head": "ticket/9", "base": "release-1"})
    assert set((await evidence(world, made.json())).files or ()) == {"notes.md", "AGENTS.md"}


async def test_more_than_a_hundred_files(world: DeliveryWorld) -> None:
    pull = await world.pull({f"f/{n}.txt": "x" for n in range(130)})
    assert len((await evidence(world, pull)).files or ()) == 130


async def test_a_conflict_shows_what_the_base_changed(world: DeliveryWorld) -> None:
    pull = await world.pull({"README.md": "ours\n"})
    await world.commit("release-1", {"README.md": "theirs\n", "other.md": "x"})
    seen = await evidence(world, pull)
    if seen.mergeable == "UNKNOWN":
        seen = await evidence(world, pull)
    assert (seen.mergeable, seen.merge_state) == ("CONFLICTING", "DIRTY")
    assert set(seen.base_files) == {"README.md", "other.md"}


async def test_runs_of_a_repeated_suite_are_all_told(world: DeliveryWorld) -> None:
    pull = await world.pull()
    for conclusion in ("failure", "success"):
        await world.report(pull["head"]["sha"], "build", conclusion)
    seen = await evidence(world, pull)
    assert [run.conclusion for run in sorted(seen.checks.runs, key=lambda run: run.id)] == ["failure", "success"]
    assert judge([Required("build")], seen.checks) == Judged(Outcome.PASS)


async def test_more_runs_than_one_answer_holds_are_read_by_rest(world: DeliveryWorld) -> None:
    pull = await world.pull()
    for n in range(101):
        await world.report(pull["head"]["sha"], f"check {n}")
    seen = await evidence(world, pull)
    assert len({run.name for run in seen.checks.runs}) == 101
    assert all(run.suite and run.app_id == world.app["id"] for run in seen.checks.runs)


async def test_a_head_that_moved_is_told(world: DeliveryWorld) -> None:
    pull = await world.pull()
    newer = await world.commit(pull["head"]["ref"], {"more.txt": "x"})
    seen = await evidence(world, pull)
    assert (seen.checks.sha, seen.checks.head_after) == (pull["head"]["sha"], newer)


async def test_what_waits_to_land_by_itself_is_told(world: DeliveryWorld) -> None:
    await world.rules(CHECKS)
    await world.boss.patch(f"/repos/{NAME}", json={"allow_auto_merge": True})
    pull = await world.pull()
    document = "mutation($id: ID!) { enablePullRequestAutoMerge(input: {pullRequestId: $id}) { clientMutationId } }"
    body = {"query": document, "variables": {"id": pull["node_id"]}}
    assert "errors" not in (await world.wanda.post("/graphql", json=body)).json()
    assert (await evidence(world, pull)).auto_merge


def _another_base(pull: dict[str, Any]) -> tuple[int, str, str]:
    return pull["number"], pull["head"]["sha"], "main"


def _no_such_pull(pull: dict[str, Any]) -> tuple[int, str, str]:
    return 999, pull["head"]["sha"], "release-1"


def _no_such_commit(pull: dict[str, Any]) -> tuple[int, str, str]:
    return pull["number"], "1" * 40, "release-1"


@pytest.mark.parametrize(
    ("of", "raises"), [(_another_base, Conflict), (_no_such_pull, NotFound), (_no_such_commit, NotFound)]
)
async def test_what_is_not_there_is_no_evidence(
    world: DeliveryWorld, of: Callable[[dict[str, Any]], tuple[int, str, str]], raises: type[Exception]
) -> None:
    number, sha, base = of(await world.pull())
    with pytest.raises(raises):
        await world.repository.landing_evidence(number, sha, base, "main")
