"""Merging a pull request: the commits of the three methods, and everything that follows."""

from __future__ import annotations

from typing import Any

import pytest
from emulated import REPO, Inbox, World, rest

BASE = f"/repos/{REPO}"
WEB = {"name": "GitHub", "email": "noreply@github.com"}


def merge(world: World, number: int, client: Any = None, **body: Any) -> Any:
    return (client or world.bot).put(f"{BASE}/pulls/{number}/merge", json=body)


def commit_of(world: World, sha: str) -> dict[str, Any]:
    return dict(world.bot.get(f"{BASE}/git/commits/{sha}").json())


def identity(signed: dict[str, str]) -> dict[str, str]:
    return {k: signed[k] for k in ("name", "email")}


def add_work(world: World, branch: str = "42-x", name: str = "b.txt", message: str = "Add b") -> str:
    return world.emulator.commit(REPO, {name: f"{name}\n"}, branch=branch, author="dev", message=message)


def test_a_merge_commit_has_both_parents_and_github_as_committer(world: World) -> None:
    pull = world.open_pull(title="Do it")
    base = world.head("release-1")
    answer = merge(world, pull["number"])
    assert answer.status_code == 200
    sha = answer.json()["sha"]
    assert answer.json() == {"sha": sha, "merged": True, "message": "Pull Request successfully merged"}
    made = commit_of(world, sha)
    assert [p["sha"] for p in made["parents"]] == [base, pull["head"]["sha"]]
    assert made["message"] == f"Merge pull request #{pull['number']} from octo/42-x\n\nDo it"
    assert identity(made["committer"]) == WEB
    assert made["author"]["name"] == world.app["bot_login"]
    assert world.head("release-1") == sha
    shown = world.pull(pull["number"])
    assert (shown["state"], shown["merged"], shown["merge_commit_sha"]) == ("closed", True, sha)
    assert (shown["merged_by"]["login"], shown["base"]["sha"]) == (world.app["bot_login"], base)
    assert (shown["mergeable"], shown["mergeable_state"]) == (None, "unknown")
    assert world.timeline(pull["number"]) == ["merged", "closed"]


def test_title_and_message_replace_the_presets(world: World) -> None:
    pull = world.open_pull()
    sha = merge(world, pull["number"], commit_title="Ship", commit_message="It works.").json()["sha"]
    assert commit_of(world, sha)["message"] == "Ship\n\nIt works."


def test_a_squash_of_one_commit_speaks_as_that_commit(world: World) -> None:
    pull = world.open_pull(head="42-x", base="main", title="Title")
    sha = merge(world, pull["number"], merge_method="squash").json()["sha"]
    made = commit_of(world, sha)
    assert made["message"].startswith(f"Update files (#{pull['number']})")
    assert len(made["parents"]) == 1
    assert made["author"]["name"] == world.app["bot_login"]
    assert identity(made["committer"]) == WEB


def test_a_squash_of_several_commits_lists_them_and_names_their_authors(world: World) -> None:
    add_work(world, message="Add b\n\nBecause.")
    pull = world.open_pull(title="Both")
    sha = merge(world, pull["number"], merge_method="squash").json()["sha"]
    title, _, body = commit_of(world, sha)["message"].partition("\n\n")
    assert title == f"Both (#{pull['number']})"
    assert body.startswith("* Update files\n\n* Add b\n\nBecause.\n\n---------\n\nCo-authored-by: octo <")
    assert body.splitlines()[-1].startswith("Co-authored-by: dev <")
    assert world.pull(pull["number"])["merged"] is True


def test_a_squash_lands_as_its_opener_whoever_merges(world: World) -> None:
    number = world.dev.post(f"{BASE}/pulls", json={"title": "t", "head": "42-x", "base": "main"}).json()["number"]
    made = commit_of(world, merge(world, number, merge_method="squash").json()["sha"])
    assert made["author"]["name"] == "dev"
    assert world.pull(number)["merged_by"]["login"] == world.app["bot_login"]


def test_a_rebase_writes_every_commit_anew_for_the_merger(world: World) -> None:
    second = add_work(world)
    world.emulator.commit(REPO, {"other.txt": "o\n"}, branch="release-1")
    base = world.head("release-1")
    pull = world.open_pull()
    sha = merge(world, pull["number"], client=world.dev, merge_method="rebase").json()["sha"]
    tip = commit_of(world, sha)
    first = commit_of(world, tip["parents"][0]["sha"])
    assert [p["sha"] for p in first["parents"]] == [base]
    assert (tip["message"], tip["author"]["name"], tip["committer"]["name"]) == ("Add b", "dev", "dev")
    assert sha != second
    assert world.pull(pull["number"])["merge_commit_sha"] == sha


def test_even_what_could_move_forward_is_rebased_into_new_commits(world: World) -> None:
    pull = world.open_pull()
    sha = merge(world, pull["number"], merge_method="rebase").json()["sha"]
    assert sha != pull["head"]["sha"]
    assert commit_of(world, sha)["tree"]["sha"] == commit_of(world, pull["head"]["sha"])["tree"]["sha"]


@pytest.mark.parametrize(
    ("settings", "body", "message"),
    [
        (
            {"merge_commit_title": "PR_TITLE", "merge_commit_message": "PR_BODY"},
            {},
            "T\n\nThe body",
        ),
        ({"merge_commit_title": "PR_TITLE", "merge_commit_message": "BLANK"}, {}, "T"),
        (
            {"squash_merge_commit_title": "PR_TITLE", "squash_merge_commit_message": "PR_BODY"},
            {"merge_method": "squash"},
            "T (#1)\n\nThe body\n\nCo-authored-by: octo",
        ),
        (
            {"squash_merge_commit_title": "PR_TITLE", "squash_merge_commit_message": "BLANK"},
            {"merge_method": "squash"},
            "T (#1)\n\nCo-authored-by: octo",
        ),
    ],
)
def test_settings_preset_the_messages(
    world: World, settings: dict[str, str], body: dict[str, str], message: str
) -> None:
    world.emulator.change_repo(REPO, **settings)
    pull = world.open_pull(title="T", body="The body")
    sha = merge(world, pull["number"], **body).json()["sha"]
    assert commit_of(world, sha)["message"].startswith(message)


def test_everything_that_changes_is_announced(world: World, inbox: Inbox) -> None:
    world.emulator.change_repo(REPO, delete_branch_on_merge=True)
    pull = world.open_pull()
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    sha = merge(world, pull["number"]).json()["sha"]
    assert world.emulator.flush() == 0
    told = [(d["event"], d["payload"]) for d in world.emulator.deliveries()]
    pushes = [p for event, p in told if event == "push"]
    assert [(p["ref"], p["after"]) for p in pushes] == [
        ("refs/heads/release-1", sha),
        ("refs/heads/42-x", "0" * 40),
    ]
    (closed,) = [p for event, p in told if event == "pull_request"]
    assert (closed["action"], closed["pull_request"]["merged"]) == ("closed", True)
    assert closed["pull_request"]["merge_commit_sha"] == sha
    assert [p["ref"] for event, p in told if event == "delete"] == ["42-x"]
    assert world.refs("heads/42-x") == {}
    assert world.timeline(pull["number"]) == ["merged", "closed", "head_ref_deleted"]


def test_the_merge_flow_retargets_what_stands_on_the_branch_it_deletes(world: World, inbox: Inbox) -> None:
    world.emulator.change_repo(REPO, delete_branch_on_merge=True)
    world.update_refs({"name": "refs/heads/upper", "afterOid": world.commit(world.head("42-x"), "upper")})
    below = world.open_pull()["number"]
    above = world.open_pull(head="upper", base="42-x")["number"]
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    assert merge(world, below).status_code == 200
    shown = world.pull(above)
    assert (shown["state"], shown["base"]["ref"]) == ("open", "release-1")
    assert world.timeline(above) == ["automatic_base_change_succeeded"]
    (edited,) = [d["payload"] for d in world.emulator.deliveries() if d["action"] == "edited"]
    assert edited["changes"]["base"]["ref"] == {"from": "42-x"}
    event = world.graphql(
        "query($id:ID!){node(id:$id){... on PullRequest{timelineItems(first:5){nodes{__typename"
        " ... on AutomaticBaseChangeSucceededEvent{oldBase newBase}}}}}}",
        id=shown["node_id"],
    )["data"]["node"]["timelineItems"]["nodes"]
    assert event == [{"__typename": "AutomaticBaseChangeSucceededEvent", "oldBase": "42-x", "newBase": "release-1"}]


def test_deleting_the_branch_by_api_closes_what_stands_on_it(world: World) -> None:
    world.update_refs({"name": "refs/heads/upper", "afterOid": world.commit(world.head("42-x"), "upper")})
    above = world.open_pull(head="upper", base="42-x")["number"]
    assert world.bot.delete(f"{BASE}/git/refs/heads/42-x").status_code == 204
    assert world.pull(above)["state"] == "closed"
    assert world.timeline(above) == ["base_ref_deleted", "closed"]


@pytest.mark.parametrize(("base", "state"), [("main", "closed"), ("release-1", "open")])
def test_closing_words_count_on_the_default_branch_alone(world: World, base: str, state: str) -> None:
    issue = world.emulator.issue(REPO, "Work")["number"]
    pull = world.open_pull(base=base, body=f"Closes #{issue}")
    assert merge(world, pull["number"]).status_code == 200
    assert world.bot.get(f"{BASE}/issues/{issue}").json()["state"] == state


def test_the_commits_of_a_merge_lead_to_its_pull_request(world: World) -> None:
    pull = world.open_pull()
    sha = merge(world, pull["number"], merge_method="squash").json()["sha"]
    for oid in (sha, pull["head"]["sha"]):
        listed = world.bot.get(f"{BASE}/commits/{oid}/pulls").json()
        assert [p["number"] for p in listed] == [pull["number"]]
    assert world.bot.get(f"{BASE}/commits/{pull['base']['sha']}/pulls").json() == []
    assert world.bot.get(f"{BASE}/commits/{'a' * 40}/pulls").status_code == 422


def test_is_it_merged(world: World) -> None:
    number = world.open_pull()["number"]
    assert world.bot.get(f"{BASE}/pulls/{number}/merge").status_code == 404
    merge(world, number)
    answer = world.bot.get(f"{BASE}/pulls/{number}/merge")
    assert (answer.status_code, answer.content) == (204, b"")


def test_merging_by_graphql(world: World) -> None:
    pull = world.open_pull()
    merged = world.graphql(
        "mutation($i:MergePullRequestInput!){mergePullRequest(input:$i){actor{login} clientMutationId"
        " pullRequest{state merged mergeCommit{oid message author{name email}} mergedBy{login}}}}",
        client=rest(world.emulator, world.tokens["dev"]),
        i={
            "pullRequestId": pull["node_id"],
            "expectedHeadOid": pull["head"]["sha"],
            "mergeMethod": "SQUASH",
            "commitHeadline": "One",
            "commitBody": "Two",
            "authorEmail": "me@example.com",
            "clientMutationId": "c",
        },
    )["data"]["mergePullRequest"]
    assert (merged["actor"], merged["clientMutationId"]) == ({"login": "dev"}, "c")
    shown = merged["pullRequest"]
    assert (shown["state"], shown["merged"], shown["mergedBy"]) == ("MERGED", True, {"login": "dev"})
    assert shown["mergeCommit"]["oid"] == world.head("release-1")
    assert shown["mergeCommit"]["message"].startswith("One\n\nTwo")
    assert shown["mergeCommit"]["author"]["email"] == "me@example.com"
