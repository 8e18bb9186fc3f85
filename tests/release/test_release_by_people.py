"""What people do with a release over time, played: release after release from one branch, two at once, branches that
are deleted, begun anew or renamed, a policy that changes, and their own hands on the pull request.
"""

import pytest
from loop_world import REPO
from release_world import INTO, POLICY, TRUNK, ReleaseWorld

from app.controller.controller import Controller
from app.domain.outcome import Refused

pytestmark = pytest.mark.drill

_READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
OTHER = "release-2-0-0"


async def released(world: ReleaseWorld, controller: Controller, trunk: str = TRUNK) -> int:
    """The open release of a trunk is authorized and merged; its number."""
    (pull,) = world.pulls("open", head=trunk)
    number, sha = int(pull["number"]), str(pull["head"]["sha"])
    await world.word(controller, "maya", "authorize-release", sha, number=number)
    await world.hear_events(controller)
    done = await world.word(controller, "milo", "merge-release", number=number)
    assert "is merged at" in done.answer
    await world.hear_events(controller)
    assert world.pull(number)["merged"]
    return number


async def test_a_branch_that_is_deleted_and_begun_anew_brings_the_next_release(world: ReleaseWorld) -> None:
    controller = world.controller()
    world.differ()
    await world.hear_events(controller)
    first = await released(world, controller)
    world.as_person("wanda", "DELETE", f"git/refs/heads/{TRUNK}")
    await world.hear_events(controller)
    assert world.pulls("open") == []
    world.branch(TRUNK)
    await world.hear_events(controller)
    assert world.pulls("open") == []
    sha = world.differ()
    await world.hear_events(controller)
    second = world.pull()
    assert (second["draft"], second["number"] > first, world.guard(sha)) == (True, True, "action_required")
    assert len(world.ours(second["number"])) == 1
    await released(world, controller)
    assert (world.issues_of_app(), len(world.release_refs()), len(world.pulls())) == ([], 1, 2)


@pytest.mark.parametrize("method", ["merge", "squash"])
async def test_release_after_release_from_one_branch_lists_what_is_new(world: ReleaseWorld, method: str) -> None:
    world.policy(f"{POLICY}landing:\n  method: {method}\n")
    if method == "squash":
        world.emulator.change_repo(REPO, allow_merge_commit=False)
    controller = world.controller()
    await world.hear_events(controller)
    numbers: list[int] = []
    for _ in range(3):
        (issue, _) = _landed(world, method)
        await world.hear_events(controller)
        pull = world.pull()
        assert pull["title"] == f"Release {TRUNK} with #{issue}"
        numbers.append(await released(world, controller))
        assert world.pulls("open") == []
    assert (sorted(set(numbers)), world.issues_of_app()) == (numbers, [])
    # A hotfix that is pushed after the merge.
    world.differ()
    await world.hear_events(controller)
    assert world.pull()["number"] not in numbers


def _landed(world: ReleaseWorld, method: str) -> tuple[int, int]:
    if method == "merge":
        return world.landed()
    issue = int(world.emulator.issue(REPO, "Ripen the pears", author="wanda")["number"])
    world.branch(f"{issue}-work", of=TRUNK)
    world.differ(branch=f"{issue}-work")
    number = world.open_pull(f"{issue}-work", TRUNK, f"Ticket: #{issue}\n")
    world.as_person("wanda", "PUT", f"pulls/{number}/merge", merge_method="squash")
    return issue, number


async def test_two_releases_at_once_go_each_its_way(world: ReleaseWorld) -> None:
    controller = world.controller()
    world.branch(OTHER)
    one, two = world.differ(), world.differ(branch=OTHER)
    await world.hear_events(controller)
    pulls = {name: int(world.pulls("open", head=name)[0]["number"]) for name in (TRUNK, OTHER)}
    await world.word(controller, "maya", "authorize-release", two, number=pulls[OTHER])
    await world.hear_events(controller)
    assert (world.guard(one), world.guard(two)) == ("action_required", "success")
    await released(world, controller, OTHER)
    assert [p["number"] for p in world.pulls("open")] == [pulls[TRUNK]]
    assert (world.guard(one), world.issues_of_app()) == ("action_required", [])


async def test_a_renamed_release_branch_has_one_pull_request_and_no_word(world: ReleaseWorld) -> None:
    controller = world.controller()
    sha = world.differ()
    await world.hear_events(controller)
    await world.word(controller, "maya", "authorize-release", sha)
    await world.hear_events(controller)
    assert world.guard(sha) == "success"
    world.as_person("boss", "POST", f"branches/{TRUNK}/rename", new_name=OTHER)
    await world.hear_events(controller)
    assert len(world.pulls("open", head=OTHER)) == 1
    assert world.pulls("open") == []
    runs = [run["conclusion"] for run in world.guards(sha)]
    assert runs, runs
    assert set(runs) == {"action_required"}
    await released(world, controller, OTHER)
    assert world.issues_of_app() == []


async def test_a_renamed_default_branch_goes_on_as_the_base_of_releases(world: ReleaseWorld) -> None:
    world.policy("version: 1\nmode: full\ntrunks: [release-*]\n")
    controller = world.controller()
    sha = world.differ()
    await world.hear_events(controller)
    number = int(world.pull()["number"])
    await world.word(controller, "maya", "authorize-release", sha)
    await world.hear_events(controller)
    try:
        world.as_person("boss", "POST", f"branches/{INTO}/rename", new_name="stem")
        await world.hear_events(controller)
        assert [(p["number"], p["base"]["ref"]) for p in world.pulls("open")] == [(number, "stem")]
        assert world.guard(sha) == "action_required"
        await released(world, controller)
        assert world.issues_of_app() == []
    finally:
        world.as_person("boss", "POST", "branches/stem/rename", new_name=INTO)


async def test_another_base_by_the_policy_moves_the_pull_request_and_ends_the_word(world: ReleaseWorld) -> None:
    controller = world.controller()
    sha = world.differ()
    await world.hear_events(controller)
    number = int(world.pull()["number"])
    await world.word(controller, "maya", "authorize-release", sha)
    await world.hear_events(controller)
    world.branch("stable")
    world.emulator.commit(
        REPO,
        {".github/agent-recovery.yml": POLICY.replace(f"into: {INTO}", "into: stable")},
        branch=INTO,
        author="boss",
    )
    await world.hear_events(controller)
    assert [(p["number"], p["base"]["ref"]) for p in world.pulls("open")] == [(number, "stable")]
    assert world.guard(sha) == "action_required"
    told = [c["body"] for c in world.ours(number) if "the base stable" in c["body"] or "the base `stable`" in c["body"]]
    assert len(told) == 1
    assert "Not authorized" in world.ours(number)[0]["body"]
    await released(world, controller)
    assert world.issues_of_app() == []


async def test_what_people_set_on_the_pull_request_stays(world: ReleaseWorld) -> None:
    controller = world.controller()
    world.landed()
    await world.hear_events(controller)
    number = int(world.pull()["number"])
    block = world.pull(number)["body"]
    world.as_person(
        "maya", "PATCH", f"pulls/{number}", title="Autumn", body=f"For the fair.\r\n\r\n{block}\r\nBring it."
    )
    world.as_person("maya", "POST", "labels", name="autumn", color="aa5500", description="For the autumn fair")
    world.as_person("maya", "POST", f"issues/{number}/labels", labels=["autumn"])
    world.as_person("maya", "POST", f"issues/{number}/assignees", assignees=["maya"])
    world.as_person("maya", "POST", f"pulls/{number}/requested_reviewers", reviewers=["milo"])
    world.graphql("maya", _READY, id=world.pull(number)["node_id"])
    since = world.requested()
    await world.hear_events(controller)
    assert world.writes(since) == []
    issue, _ = world.landed("Ripen the figs")
    await world.hear_events(controller)
    pull = world.pull(number)
    assert (pull["title"], pull["draft"]) == ("Autumn", False)
    assert pull["body"].startswith("For the fair.\r\n\r\n")
    assert pull["body"].endswith("Bring it.")
    assert f"- #{issue} " in pull["body"]
    assert [label["name"] for label in pull["labels"]] == ["autumn"]
    assert [who["login"] for who in pull["assignees"]] == ["maya"]
    assert [who["login"] for who in pull["requested_reviewers"]] == ["milo"]


@pytest.mark.parametrize(
    ("policy", "opens"),
    [
        (None, False),
        (POLICY.replace("mode: full", "mode: observe"), False),
        (POLICY.replace("mode: full", "mode: repair"), True),
        ("version: 1\nmode: full\ntrunks: [v*]\n", False),
    ],
    ids=["no policy", "observe", "repair", "no trunk"],
)
async def test_what_the_policy_lets_be_done(world: ReleaseWorld, policy: str | None, opens: bool) -> None:
    world.policy(policy)
    controller = world.controller()
    await world.hear_events(controller)
    since = world.requested()
    sha = world.differ()
    await world.hear_events(controller)
    assert bool(world.pulls("open")) == opens
    if not opens:
        assert (world.writes(since), world.guards(sha)) == ([], [])
        return
    await world.word(controller, "maya", "authorize-release", sha)
    await world.hear_events(controller)
    assert world.guard(sha) == "success"
    with pytest.raises(Refused, match="mode: repair"):
        await world.word(controller, "milo", "merge-release")
    number = int(world.pull()["number"])
    world.graphql("maya", _READY, id=world.pull(number)["node_id"])
    merged = world.asked("maya", "PUT", f"pulls/{number}/merge")
    assert merged.is_success
    await world.hear_events(controller)
    assert world.issues_of_app() == []


async def test_where_a_repository_has_no_issues_an_incident_is_told_on_its_pull_request(world: ReleaseWorld) -> None:
    controller = world.controller()
    world.differ()
    await world.hear_events(controller)
    number = int(world.pull()["number"])
    world.graphql("maya", _READY, id=world.pull(number)["node_id"])
    off = {"path_regex": f"^/repos/{REPO}/issues$", "identity": "app:agent-recovery"}
    world.emulator.fault(
        "status", match=off, times=None, code=410, body={"message": "Issues are disabled for this repo"}
    )
    try:
        world.as_person("boss", "PUT", f"pulls/{number}/merge")
        await world.hear_events(controller)
        sha = world.differ()
        await world.hear_events(world.controller())
        told = [c for c in world.ours(number) if "merged although it was not authorized" in c["body"]]
        assert len(told) == 1
        assert "boss" in told[0]["body"]
        # What comes next is looked at all the same.
        assert world.guard(sha) == "action_required"
        assert world.pull()["number"] != number
    finally:
        world.emulator.clear_faults()
    await world.settle(world.controller())
    assert world.issues_of_app() == []
