"""Landing by the loop: a ready ticket is merged, its Issue closed, its branch removed, its ledger moved."""

import base64
import json
from pathlib import Path

import httpx
import pytest
from landing_world import Landing, policy, rules
from loop_world import LoopWorld


async def test_a_ready_ticket_lands_and_leaves_nothing_behind(world: LoopWorld) -> None:
    ticket = await Landing.ready(world)
    other = world.emulator.issue("acme/shop", "Another", author="wanda")["number"]
    await ticket.settle()
    pull = ticket.pull()
    assert (pull["merged"], pull["base"]["ref"]) == (True, "release-1")
    assert ticket.trunk_messages()[0].splitlines()[0] == f"Land ticket #{world.ticket} (PR #{pull['number']})"
    assert ticket.issue() == ("closed", "completed")
    assert ticket.closings() == 1
    assert world.head(ticket.branch) is None
    assert ticket.place() == "done"
    record = await ticket.record()
    assert (record.status, record.open, record.landing.incident) == ("landed", (), None)
    assert record.landing.merged is not None
    assert record.landing.merged.merge_sha == pull["merge_commit_sha"]
    assert world.get(f"issues/{other}")["state"] == "open"
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []


async def test_a_merge_that_was_done_and_answered_by_an_error_is_sent_once_and_followed_up(world: LoopWorld) -> None:
    case = json.loads((Path(__file__).parents[1] / "fixtures" / "merge_refusals.json").read_text())
    expected = case["expected"]["cases"]["bad_gateway_but_merged"]
    ticket = await Landing.ready(world)
    since = world.requested()
    match = {"method": "PUT", "path_regex": "/merge$"}
    world.emulator.fault("status_after", match=match, code=502, body={"message": "Bad Gateway"})
    await ticket.settle()
    assert sum(write.startswith("PUT ") for write in world.writes(since)) == expected["merge_calls"]
    assert ticket.pull()["merged"] is {"merged": True}[expected["result"]]
    done = (ticket.issue(), ticket.place(), world.head(ticket.branch)) == (("closed", "completed"), "done", None)
    assert done is expected["post_steps_run"]


class Lagging(httpx.AsyncBaseTransport):
    """The App's way to GitHub, where the first reading after a merge comes from a replica that has not heard of it."""

    def __init__(self) -> None:
        self._wire = httpx.AsyncHTTPTransport(verify=False)
        self._merged = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        answer = await self._wire.handle_async_request(request)
        self._merged |= request.method == "PUT" and request.url.path.endswith("/merge") and answer.status_code == 200
        if not (self._merged and b"PullNow" in body):
            return answer
        self._merged = False
        whole = json.loads(await answer.aread())
        whole["data"]["repository"]["pullRequest"] |= {"state": "OPEN", "mergedAt": None, "mergeCommit": None}
        headers = {k: v for k, v in answer.headers.items() if k.lower() not in ("content-length", "content-encoding")}
        return httpx.Response(200, headers=headers, json=whole)

    async def aclose(self) -> None:
        await self._wire.aclose()


async def test_a_merge_that_shows_late_is_no_refusal(world: LoopWorld) -> None:
    ticket = await Landing.ready(world, controller=world.controller(transport=Lagging()))
    since = world.requested()
    await ticket.settle()
    assert sum(write.startswith("PUT ") for write in world.writes(since)) == 1
    record = await ticket.record()
    assert (record.status, record.open, record.landing.incident) == ("landed", (), None)
    # At no moment did its ledger say that GitHub had refused it.
    at = world.get(f"git/matching-refs/agent-recovery/done/{world.ticket}")[0]["object"]["sha"]
    states = set()
    while at is not None:
        commit = world.get(f"git/commits/{at}")
        (blob,) = [
            e["sha"] for e in world.get(f"git/trees/{commit['tree']['sha']}")["tree"] if e["path"] == "record.json"
        ]
        then = json.loads(base64.b64decode(world.get(f"git/blobs/{blob}")["content"]))
        states |= {permit["state"] for permit in then["open"] if permit["kind"] == "merge"}
        at = commit["parents"][0]["sha"] if commit["parents"] else None
    assert states == {"fired", "unknown"}


async def test_a_branch_that_a_person_brings_back_after_the_landing_stays(world: LoopWorld) -> None:
    ticket = await Landing.ready(world)
    await ticket.settle()
    assert world.head(ticket.branch) is None
    sha = ticket.pull()["head"]["sha"]
    body = {"ref": f"refs/heads/{ticket.branch}", "sha": sha}
    world.http.post("/repos/acme/shop/git/refs", json=body).raise_for_status()
    await ticket.settle()
    since = world.requested()
    await ticket.settle()
    assert world.head(ticket.branch) == sha
    assert world.writes(since) == []


@pytest.mark.parametrize("method", ["squash", "rebase"])
async def test_the_policy_says_how(world: LoopWorld, method: str) -> None:
    ticket = await Landing.ready(world, policy(method=method))
    await ticket.settle()
    assert ticket.pull()["merged"]
    assert ticket.place() == "done"
    assert world.head(ticket.branch) is None
    record = await ticket.record()
    assert record.landing.merged is not None
    assert world.head("release-1") == record.landing.merged.merge_sha


async def test_mode_repair_merges_nothing(world: LoopWorld) -> None:
    ticket = await Landing.ready(world, policy(mode="repair"))
    await ticket.settle()
    assert not ticket.pull()["merged"]
    assert ticket.place() == "active"


@pytest.mark.parametrize(("mode", "method"), [("repair", "squash"), ("full", "merge"), ("full", "rebase")])
async def test_what_a_person_merged_is_brought_to_its_end(world: LoopWorld, mode: str, method: str) -> None:
    ticket = await Landing.begun(world, policy(mode=mode))
    other = world.emulator.issue("acme/shop", "Another", author="wanda")["number"]
    world.emulator.commit("acme/shop", {"more.txt": "x"}, branch="release-1")
    ticket.click_ready()
    ticket.merge_by_hand(merge_method=method, commit_message=f"This does not fix #{other}, it fixes #{other}")
    await ticket.settle()
    assert ticket.issue() == ("closed", "completed")
    assert ticket.closings() == 1
    assert (ticket.place(), world.head(ticket.branch)) == ("done", None)
    assert world.get(f"issues/{other}")["state"] == "open"


async def test_a_person_who_reopens_the_issue_is_not_argued_with(world: LoopWorld) -> None:
    """Closed and reopened between the merge and the look, and in an earlier life of the ticket."""
    ticket = await Landing.begun(world)
    for state in ("closed", "open"):
        ticket.patch(f"issues/{world.ticket}", state=state)
    world.emulator.advance(60)
    ticket.click_ready()
    ticket.merge_by_hand()
    world.emulator.advance(60)
    await ticket.settle()
    assert (ticket.closings(), ticket.place()) == (2, "done")
    ticket.patch(f"issues/{world.ticket}", state="open")
    await ticket.settle()
    assert (ticket.closings(), ticket.issue()[0], ticket.place()) == (2, "open", "done")


async def test_what_was_closed_and_reopened_since_the_merge_stays_open(world: LoopWorld) -> None:
    ticket = await Landing.begun(world)
    ticket.click_ready()
    ticket.merge_by_hand()
    for state in ("closed", "open"):
        ticket.patch(f"issues/{world.ticket}", state=state)
    await ticket.settle()
    assert (ticket.closings(), ticket.issue()[0]) == (1, "open")
    assert (ticket.place(), world.head(ticket.branch)) == ("done", None)


async def test_a_branch_that_github_keeps_is_shown_and_not_tried_again(world: LoopWorld) -> None:
    ticket = await Landing.begun(world)
    rules(world, ticket.branch, {"type": "deletion"})
    ticket.click_ready()
    ticket.merge_by_hand()
    await ticket.settle()
    record = await ticket.record()
    assert (ticket.place(), record.status) == ("done", "landed")
    assert record.landing.branch_kept
    assert world.head(ticket.branch) is not None
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []


async def test_a_branch_that_was_needed_goes_when_nobody_needs_it_any_more(world: LoopWorld) -> None:
    ticket = await Landing.begun(world)
    other = ticket.person_pull("other-work", base=ticket.branch)
    ticket.click_ready()
    ticket.merge_by_hand()
    await ticket.settle()
    assert (ticket.place(), world.head(ticket.branch) is not None) == ("done", True)
    ticket.patch(f"pulls/{other}", base="release-1")
    await ticket.settle()
    assert world.head(ticket.branch) is None
    assert world.get(f"pulls/{other}")["state"] == "open"


async def test_commits_that_were_not_merged_keep_their_branch(world: LoopWorld) -> None:
    ticket = await Landing.begun(world)
    ticket.click_ready()
    ticket.merge_by_hand()
    late = world.emulator.commit("acme/shop", {"late.txt": "x"}, branch=ticket.branch, author="wanda")
    await ticket.settle()
    assert (ticket.place(), world.head(ticket.branch)) == ("done", late)


async def test_a_merge_elsewhere_is_told_once_and_ends_nothing(world: LoopWorld) -> None:
    ticket = await Landing.begun(world)
    world.emulator.commit("acme/shop", {"x": "y"}, branch="release-2")
    ticket.patch(f"pulls/{ticket.pull()['number']}", base="main")
    ticket.click_ready()
    ticket.merge_by_hand()
    await ticket.settle()
    await ticket.settle(world.controller())
    assert (ticket.place(), ticket.issue()[0]) == ("active", "open")
    assert len(world.comments(world.ticket, "agent-recovery:report")) == 1
    ticket.patch(f"issues/{world.ticket}", state="closed")
    await ticket.settle()
    assert (ticket.place(), world.head(ticket.branch) is not None) == ("done", True)


async def test_work_that_somebody_pushed_onto_the_trunk_has_landed(world: LoopWorld) -> None:
    ticket = await Landing.begun(world)
    sha = ticket.pull()["head"]["sha"]
    world.git(ticket.agent.folder, "push", "-q", "origin", f"{sha}:refs/heads/release-1")
    await ticket.settle()
    assert (ticket.place(), ticket.issue(), world.head(ticket.branch)) == ("done", ("closed", "completed"), None)
    assert ticket.closings() == 1
