"""The main path of a ticket, end to end, as the service and an agent walk it."""

from __future__ import annotations

from pathlib import Path

from emulated import REPO, ZERO, Inbox, World, git, new_commit


def test_a_ticket_from_claim_to_ready(world: World, inbox: Inbox, tmp_path: Path) -> None:
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    issue = world.emulator.issue(REPO, "Do it", author="dev")
    ledger = "refs/agent-recovery/active/1"

    record = world.commit(world.head("release-1"), "record 1")
    born = world.update_refs(
        {"name": ledger, "beforeOid": ZERO, "afterOid": record},
        {"name": "refs/heads/1-do-it", "beforeOid": ZERO, "afterOid": world.head("release-1")},
    )
    assert born == {"data": {"updateRefs": {"clientMutationId": "m"}}}
    assert world.refs("agent-recovery/active/1") == {ledger: record}

    clone = world.clone(tmp_path / "clone", "dev")
    git(clone, "checkout", "-q", "1-do-it")
    work = new_commit(clone, "work.txt")
    git(clone, "push", "-q", "origin", "1-do-it")
    body = f"Ticket: #{issue['number']}"
    pull = world.open_pull("1-do-it", draft=True, body=body)
    assert pull["head"]["sha"] == work
    assert pull["draft"] is True

    comment = world.bot.post(f"/repos/{REPO}/issues/{pull['number']}/comments", json={"body": "handoff"}).json()
    assert comment["performed_via_github_app"]["slug"] == "keeper"
    edited = world.bot.patch(f"/repos/{REPO}/issues/comments/{comment['id']}", json={"body": "handoff 2"})
    assert edited.json()["body"] == "handoff 2"

    run = world.bot.post(
        f"/repos/{REPO}/check-runs",
        json={"name": "Agent Recovery", "head_sha": work, "status": "in_progress", "external_id": "1:1:1"},
    ).json()
    done = world.bot.patch(f"/repos/{REPO}/check-runs/{run['id']}", json={"conclusion": "success"}).json()
    assert (done["status"], done["conclusion"], done["external_id"]) == ("completed", "success", "1:1:1")

    ready = world.graphql(
        "mutation($id:ID!){markPullRequestReadyForReview(input:{pullRequestId:$id}){pullRequest{isDraft}}}",
        id=pull["node_id"],
    )
    assert ready["data"]["markPullRequestReadyForReview"]["pullRequest"] == {"isDraft": False}

    assert world.emulator.flush() == 0
    told = {h["x-github-event"] for h, _ in inbox.received}
    for event in ("create", "push", "pull_request", "issue_comment", "check_run", "check_suite"):
        assert event in told
