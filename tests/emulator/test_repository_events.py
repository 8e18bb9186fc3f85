"""What is told of a repository that is made, edited, hidden, archived or shared, and who may do it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from emulated import REPO, World, rest
from issue_world import NOWHERE

BASE = f"/repos/{REPO}"
HEARD = ["repository", "public", "member", "fork", "label", "push", "create"]
PERMISSIONS = {"contents": "write", "administration": "write", "members": "read"}


class Owner:
    """Somebody who administers octo/demo, and an App on all of octo that hears what becomes of it."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.emulator.change_repo(REPO, collaborators={"dev": "admin"})
        self.app = world.emulator.app("watcher", permissions=PERMISSIONS, events=HEARD, webhook_url=NOWHERE)
        self.installation = world.emulator.installation("watcher", "octo")["id"]
        self.client = rest(world.emulator, world.emulator.installation_token(self.app, self.installation))
        self._seen = 0
        self.told()

    def told(self) -> list[dict[str, Any]]:
        """What came since the last look."""
        found = [d for d in self.world.emulator.deliveries() if d["app"] == "watcher"]
        new, self._seen = found[self._seen :], len(found)
        return [d["payload"] | {"event": d["event"]} for d in new]

    def names(self) -> list[tuple[str, str | None]]:
        return [(t["event"], t.get("action")) for t in self.told()]


@pytest.fixture
def owner(world: World) -> Owner:
    return Owner(world)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"description": "What it is"}, [("repository", "edited")]),
        ({"default_branch": "release-1"}, [("repository", "edited")]),
        ({"private": True}, [("repository", "privatized")]),
        ({"visibility": "private"}, [("repository", "privatized")]),
        ({"archived": True}, [("repository", "archived")]),
        ({"name": "other"}, [("repository", "renamed")]),
        ({"allow_auto_merge": True}, []),
        ({"private": False, "archived": False, "default_branch": "main"}, []),
    ],
)
def test_each_change_is_told_once(owner: Owner, change: dict[str, Any], told: Sequence[tuple[str, str]]) -> None:
    assert owner.world.dev.patch(BASE, json=change).status_code == 200
    assert owner.names() == told


def test_an_edit_says_what_was_before(owner: Owner) -> None:
    owner.world.dev.patch(BASE, json={"description": "New", "default_branch": "release-1"})
    (edit,) = owner.told()
    assert edit["changes"] == {"description": {"from": None}, "default_branch": {"from": "main"}}
    assert (edit["repository"]["default_branch"], edit["sender"]["login"]) == ("release-1", "dev")


def test_a_repository_that_becomes_public_is_told_twice(owner: Owner) -> None:
    owner.world.dev.patch(BASE, json={"private": True})
    owner.told()
    assert owner.world.dev.patch(BASE, json={"visibility": "public"}).json()["private"] is False
    assert owner.names() == [("repository", "publicized"), ("public", None)]


def test_an_archived_repository_can_only_be_opened_again(owner: Owner) -> None:
    dev = owner.world.dev
    dev.patch(BASE, json={"archived": True})
    owner.told()
    for refused in (
        dev.patch(BASE, json={"description": "late"}),
        dev.put(f"{BASE}/collaborators/stranger", json={}),
        owner.world.reader.patch(BASE, json={"archived": False}),
    ):
        assert refused.status_code == 403
    opened = dev.patch(BASE, json={"archived": False, "description": "in time"}).json()
    assert (opened["archived"], opened["description"]) == (False, "in time")
    assert owner.names() == [("repository", "unarchived"), ("repository", "edited")]


@pytest.mark.parametrize("body", [{"visibility": "internal"}, {"default_branch": "nowhere"}, {"private": "yes"}])
def test_a_refused_change_changes_nothing(owner: Owner, body: dict[str, Any]) -> None:
    refused = owner.world.dev.patch(BASE, json={"description": "half", "archived": True} | body)
    assert refused.status_code == 422
    shown = owner.world.dev.get(BASE).json()
    assert (shown["description"], shown["archived"]) == (None, False)
    assert owner.told() == []


def test_collaborators_come_and_go_with_events(owner: Owner) -> None:
    dev, url = owner.world.dev, f"{BASE}/collaborators/stranger"
    for role in ("triage", "triage", "admin"):
        assert dev.put(url, json={"permission": role}).status_code == 204
    assert dev.delete(url).status_code == dev.delete(url).status_code == 204
    added, edited, removed = owner.told()
    assert [(t["event"], t["action"]) for t in (added, edited, removed)] == [
        ("member", "added"),
        ("member", "edited"),
        ("member", "removed"),
    ]
    assert added["changes"] == {"permission": {"to": "read"}, "role_name": {"to": "triage"}}
    assert edited["changes"] == {"old_permission": {"from": "read"}, "permission": {"from": "read", "to": "admin"}}
    assert removed["member"]["login"] == "stranger"


def test_unknown_roles_are_refused(owner: Owner, world: World) -> None:
    assert world.dev.put(f"{BASE}/collaborators/stranger", json={"permission": "emperor"}).status_code == 422
    world.emulator.repo("dev", "mine")
    answers = {r: world.dev.put("/repos/dev/mine/collaborators/reader", json={"permission": r}) for r in ROLES}
    assert {r: a.status_code for r, a in answers.items()} == {"pull": 204, "triage": 422, "maintain": 422, "admin": 204}


ROLES = ("pull", "triage", "maintain", "admin")


def test_what_an_owner_does_on_the_pages_is_told_too(owner: Owner) -> None:
    emulator = owner.world.emulator
    emulator.change_repo(REPO, archived=True, private=True, collaborators={"stranger": "read"})
    assert owner.names() == [("member", "added"), ("repository", "privatized"), ("repository", "archived")]
    emulator.change_repo(REPO, archived=False, collaborators={"stranger": "none"})
    assert owner.names() == [("member", "removed"), ("repository", "unarchived")]


def test_a_new_repository_is_told_to_who_reaches_it(owner: Owner) -> None:
    emulator = owner.world.emulator
    emulator.app("chosen", permissions={"metadata": "read"}, events=["repository"], webhook_url=NOWHERE)
    emulator.installation("chosen", "octo", repositories=["demo"])
    arrival = [("installation_repositories", "added"), ("repository", "created")]
    assert owner.world.dev.post("/orgs/octo/repos", json={"name": "one"}).status_code == 201
    assert owner.names() == arrival
    emulator.repo("octo", "two", branches={"side": None})
    branch = [("push", None), ("create", None)]
    assert owner.names() == [*arrival, *branch, *branch]
    emulator.repo("dev", "elsewhere")
    assert owner.told() == []
    assert [d["event"] for d in emulator.deliveries() if d["app"] == "chosen"] == ["ping", "installation"]


def test_a_fork_is_a_new_repository(owner: Owner) -> None:
    made = owner.world.dev.post(f"{BASE}/forks", json={"organization": "octo", "name": "copy"})
    assert made.status_code == 202
    # octo has one of this network already, so nothing is made.
    assert owner.told() == []
    assert owner.world.dev.post(f"{BASE}/forks", json={}).status_code == 202
    assert owner.names() == [("fork", None)]


def test_who_may_add_a_repository_to_an_organization(owner: Owner, world: World) -> None:
    refused = rest(world.emulator, world.tokens["stranger"]).post("/orgs/octo/repos", json={"name": "x"})
    said = "You need admin access to the organization before adding a repository to it."
    assert (refused.status_code, refused.json()["message"]) == (403, said)
    assert world.bot.post("/orgs/octo/repos", json={"name": "x"}).status_code == 403
    world.emulator.org("else")
    elsewhere = owner.client.post("/orgs/else/repos", json={"name": "x"})
    assert (elsewhere.status_code, elsewhere.json()["message"]) == (403, "Resource not accessible by integration")
    nobody = httpx.post(world.emulator.url + "/orgs/octo/repos", json={"name": "x"}, trust_env=False)
    assert nobody.status_code == 401
    assert owner.client.post("/user/repos", json={"name": "x"}).status_code == 403


def test_an_app_is_given_what_it_creates(owner: Owner, world: World) -> None:
    world.emulator.change_installation(owner.installation, repositories=["demo"])
    owner.told()
    assert owner.client.post("/orgs/octo/repos", json={"name": "made", "auto_init": True}).status_code == 201
    told = owner.told()
    assert [(t["event"], t.get("action")) for t in told] == [
        ("installation_repositories", "added"),
        ("repository", "created"),
        ("push", None),
        ("create", None),
    ]
    assert (told[0]["repository_selection"], told[1]["sender"]["login"]) == ("selected", "watcher[bot]")
    assert owner.client.get("/repos/octo/made/branches/main").status_code == 200


@pytest.mark.parametrize(("lacking", "unheard"), [("members", "member"), ("contents", "fork")])
def test_without_the_permission_nothing_is_heard(owner: Owner, world: World, lacking: str, unheard: str) -> None:
    held = {name: level for name, level in PERMISSIONS.items() if name != lacking}
    world.emulator.change_installation(owner.installation, permissions=held)
    owner.told()
    world.dev.put(f"{BASE}/collaborators/stranger", json={})
    world.dev.post(f"{BASE}/forks", json={})
    world.dev.post(f"{BASE}/labels", json={"name": "new", "color": "ff0000"})
    heard = {event for event, _ in owner.names()}
    assert heard == {"member", "fork", "label"} - {unheard}


def test_who_may_write_checks_hears_of_them_unasked(world: World) -> None:
    world.emulator.app("quiet", permissions={"checks": "write"}, events=[], webhook_url=NOWHERE)
    world.emulator.app("onlooker", permissions={"checks": "read"}, events=[], webhook_url=NOWHERE)
    for slug in ("quiet", "onlooker"):
        world.emulator.installation(slug, "octo")
    world.bot.post(f"{BASE}/check-runs", json={"name": "n", "head_sha": world.head("main"), "conclusion": "success"})
    told = [(d["app"], d["event"], d["action"]) for d in world.emulator.deliveries() if d["event"].startswith("check")]
    assert told == [
        ("quiet", "check_run", "created"),
        ("quiet", "check_run", "completed"),
        ("quiet", "check_suite", "completed"),
    ]


def test_an_app_that_uninstalls_itself_hears_what_it_lost(owner: Owner, world: World) -> None:
    jwt = rest(world.emulator, world.emulator.app_jwt(owner.app))
    assert jwt.delete(f"/app/installations/{owner.installation}").status_code == 204
    (gone,) = owner.told()
    assert (gone["action"], [r["full_name"] for r in gone["repositories"]]) == ("deleted", [REPO])
