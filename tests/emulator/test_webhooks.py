"""Webhooks: what is told, how it is signed, and what happens when it does not arrive."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from emulated import REPO, SECRET, ZERO, Inbox, World, git, new_commit, rest

from app.emulator.client import Emulator

BASE = f"/repos/{REPO}"


@pytest.fixture
def hooked(world: World, inbox: Inbox) -> World:
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    return world


def events(world: World) -> list[tuple[str, str | None]]:
    assert world.emulator.flush() == 0
    return [(d["event"], d["action"]) for d in world.emulator.deliveries()]


def payload(world: World, event: str, action: str | None = None) -> dict[str, Any]:
    found = [d["payload"] for d in world.emulator.deliveries() if (d["event"], d["action"]) == (event, action)]
    return dict(found[-1])


def test_signed_over_the_exact_bytes(hooked: World, inbox: Inbox) -> None:
    hooked.emulator.comment(REPO, hooked.open_pull()["number"], "dev", "/recovery status — ünïcode")
    assert hooked.emulator.flush() == 0
    for headers, body in inbox.received:
        wanted = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        assert headers["x-hub-signature-256"] == f"sha256={wanted}"
        assert headers["x-github-hook-installation-target-id"] == str(hooked.app["id"])
        assert headers["x-github-hook-installation-target-type"] == "integration"
        shown = json.loads(body)
        assert shown["installation"]["id"] == hooked.installation["id"]
        assert shown["repository"]["full_name"] == REPO
        assert shown["sender"]["login"] in ("dev", "keeper[bot]")
    assert len({h["x-github-delivery"] for h, _ in inbox.received}) == len(inbox.received)


def test_all_apps_hear_of_an_event_under_one_guid(hooked: World, inbox: Inbox) -> None:
    emulator = hooked.emulator
    emulator.app(
        "watcher",
        permissions={"issues": "read"},
        events=["issues"],
        webhook_url=inbox.url,
        webhook_secret="another",
    )
    emulator.installation("watcher", "octo")
    assert emulator.flush() == 0
    inbox.received.clear()
    for title in ("one", "two"):
        emulator.issue(REPO, title, author="dev")
    assert emulator.flush() == 0
    heard = [h for h, _ in inbox.received if h["x-github-event"] == "issues"]
    hooks = Counter(h["x-github-delivery"] for h in heard)
    assert list(hooks.values()) == [2, 2]
    for guid in hooks:
        both = [h for h in heard if h["x-github-delivery"] == guid]
        assert len({h["x-github-hook-id"] for h in both}) == 2
        assert len({h["x-hub-signature-256"] for h in both}) == 2


def test_pushes_tell_of_branches_and_tags_and_of_nothing_else(hooked: World, tmp_path: Path) -> None:
    clone = hooked.clone(tmp_path / "c", "dev")
    sha = new_commit(clone, "x")
    git(clone, "push", "-q", "origin", "HEAD:refs/agent-recovery/active/1")
    hooked.update_refs({"name": "refs/agent-recovery/active/1", "beforeOid": sha, "afterOid": ZERO})
    assert events(hooked) == []
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/new")
    assert Counter(events(hooked)) == Counter({("push", None): 1, ("create", None): 1, ("check_suite", "requested"): 1})
    push = payload(hooked, "push")
    assert (push["ref"], push["before"], push["after"]) == ("refs/heads/new", ZERO, sha)
    assert (push["created"], push["deleted"], push["forced"]) == (True, False, False)
    assert push["head_commit"]["added"] == ["x"]
    assert payload(hooked, "create")["ref"] == "new"
    git(clone, "tag", "v1")
    git(clone, "push", "-q", "origin", "v1", ":new")
    told = [d["payload"] for d in hooked.emulator.deliveries() if d["event"] in ("create", "delete")]
    assert [(p["ref"], p["ref_type"]) for p in told] == [("new", "branch"), ("v1", "tag"), ("new", "branch")]


def test_the_life_of_a_pull_request_is_told(hooked: World) -> None:
    pull = hooked.open_pull(draft=True)
    number, head = pull["number"], pull["head"]["sha"]
    ahead = hooked.commit(head, "more")
    hooked.update_refs({"name": "refs/heads/42-x", "beforeOid": head, "afterOid": ahead})
    sync = payload(hooked, "pull_request", "synchronize")
    assert (sync["before"], sync["after"], sync["pull_request"]["head"]["sha"]) == (head, ahead, ahead)
    for mutation in ("markPullRequestReadyForReview", "convertPullRequestToDraft"):
        hooked.graphql(
            f"mutation($i:ID!){{{mutation}(input:{{pullRequestId:$i}}){{clientMutationId}}}}", i=pull["node_id"]
        )
    hooked.bot.patch(f"{BASE}/pulls/{number}", json={"base": "main", "title": "New"})
    hooked.bot.post(f"{BASE}/issues/{number}/labels", json={"labels": ["agent"]})
    hooked.bot.post(f"{BASE}/issues/{number}/assignees", json={"assignees": ["dev", "stranger"]})
    hooked.bot.patch(f"{BASE}/pulls/{number}", json={"state": "closed"})
    hooked.bot.patch(f"{BASE}/pulls/{number}", json={"state": "open"})
    told = [action for event, action in events(hooked) if event == "pull_request"]
    assert told == [
        "opened",
        "synchronize",
        "ready_for_review",
        "converted_to_draft",
        "edited",
        "edited",
        "labeled",
        "assigned",
        "closed",
        "reopened",
    ]
    edits = [d["payload"]["changes"] for d in hooked.emulator.deliveries() if d["action"] == "edited"]
    assert edits[0]["base"]["ref"] == {"from": "release-1"}
    assert edits[1] == {"title": {"from": "A change"}}


def test_comments_tell_who_changed_what(hooked: World) -> None:
    number = hooked.open_pull()["number"]
    comment = hooked.bot.post(f"{BASE}/issues/{number}/comments", json={"body": "state"}).json()
    hooked.dev.patch(f"{BASE}/issues/comments/{comment['id']}", json={"body": "tampered"})
    edited = payload(hooked, "issue_comment", "edited")
    assert edited["changes"] == {"body": {"from": "state"}}
    assert (edited["comment"]["user"]["login"], edited["sender"]["login"]) == ("keeper[bot]", "dev")
    hooked.bot.delete(f"{BASE}/issues/comments/{comment['id']}")
    assert ("issue_comment", "deleted") in events(hooked)


def test_only_the_app_hears_of_its_suites_and_only_subscribers_of_the_rest(world: World, inbox: Inbox) -> None:
    other = world.emulator.app("other", permissions={"checks": "write"}, events=[], webhook_url=inbox.url)
    number = world.emulator.installation("other", "octo")["id"]
    token = world.emulator.installation_token(other, number)
    world.emulator.commit(REPO, {"x": "y"})
    told = events(world)
    assert told == [("ping", None), ("installation", "created"), ("check_suite", "requested")]
    assert rest(world.emulator, token).get(f"{BASE}/commits/main/check-suites").json()["total_count"] == 2


def test_a_dead_target_is_kept_and_redelivered_by_request_only(hooked: World, inbox: Inbox) -> None:
    inbox.status = 503
    hooked.emulator.issue(REPO, "One")
    assert hooked.emulator.flush() == 0
    headers = {"authorization": f"Bearer {hooked.emulator.app_jwt(hooked.app)}"}
    (failed,) = hooked.bot.get("/app/hook/deliveries", headers=headers).json()
    assert (failed["status_code"], failed["event"], failed["redelivery"]) == (503, "issues", False)
    inbox.status = 200
    assert len(inbox.received) == 1
    again = hooked.bot.post(f"/app/hook/deliveries/{failed['id']}/attempts", headers=headers)
    assert again.status_code == 202
    assert hooked.emulator.flush() == 0
    newest, oldest = hooked.bot.get("/app/hook/deliveries", headers=headers).json()
    assert (newest["guid"], newest["status"], newest["redelivery"]) == (oldest["guid"], "OK", True)
    assert inbox.received[0][1] == inbox.received[1][1]
    full = hooked.bot.get(f"/app/hook/deliveries/{newest['id']}", headers=headers).json()
    assert full["request"]["payload"]["action"] == "opened"


@pytest.mark.parametrize(("mode", "arrived"), [("hold", 0), ("drop", 0), ("duplicate", 6), ("shuffle", 3)])
def test_delivery_modes(hooked: World, inbox: Inbox, mode: str, arrived: int) -> None:
    hooked.emulator.delivery_mode(mode)
    for n in range(3):
        hooked.emulator.issue(REPO, f"Issue {n}")
    hooked.emulator.flush()
    assert len(inbox.received) == arrived
    assert len({h["x-github-delivery"] for h, _ in inbox.received}) == min(arrived, 3)
    hooked.emulator.delivery_mode("normal")
    assert hooked.emulator.flush() == 0
    assert len(inbox.received) == (3 if mode == "hold" else arrived)


def test_suspension_silences_and_is_told(hooked: World) -> None:
    hooked.emulator.change_installation(hooked.installation["id"], suspended=True)
    hooked.emulator.issue(REPO, "Unheard")
    hooked.emulator.change_installation(hooked.installation["id"], suspended=False)
    assert events(hooked) == [("installation", "suspend"), ("installation", "unsuspend")]


def test_what_every_app_hears_unasked_cannot_be_asked_for(emulator: Emulator) -> None:
    with pytest.raises(httpx.HTTPStatusError, match="Default events unsupported: installation and ping"):
        emulator.app("keen", permissions={}, events=["installation", "push", "ping"])
    emulator.app("plain", permissions={}, events=["push"])
    with pytest.raises(httpx.HTTPStatusError, match="Default events unsupported: installation_repositories"):
        emulator.change_app("plain", events=["installation_repositories"])
