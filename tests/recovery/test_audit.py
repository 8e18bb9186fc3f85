"""The auditor finds every planted lie and none in an honest world, from GitHub alone."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from auditing import audited
from forging import commit, fetched, following, point
from loop_world import REPO, Agent, LoopWorld

from app.controller.controller import Controller
from app.drill.audit.lie import Kind


@dataclass(frozen=True)
class Scene:
    """A ticket in its ordinary state, published and projected, and the hands that lie about it."""

    world: LoopWorld
    controller: Controller
    agent: Agent
    code: str

    @property
    def branch(self) -> str:
        return self.agent.grant.branch

    @property
    def pull(self) -> int:
        return int(self.world.get("pulls?state=all")[0]["number"])

    def push(self, *refspecs: str) -> None:
        self.world.git(self.agent.folder, "push", "-q", "--force", "origin", *refspecs)

    def person(self, method: str, path: str, body: dict[str, Any] | None = None) -> None:
        self.world.http.request(method, f"/repos/{REPO}/{path}", json=body).raise_for_status()

    def app(self, method: str, path: str, body: dict[str, Any], app: Any = None, number: int = 0) -> None:
        """As an App: our own as a fault of it would, or another."""
        emulator = self.world.emulator
        token = emulator.installation_token(app or self.world.app, number or self.world.installation)
        headers = {"Authorization": f"Bearer {token}"}
        url = f"{emulator.url}/repos/{REPO}/{path}"
        httpx.request(method, url, json=body, headers=headers, timeout=20).raise_for_status()

    def comment(self) -> dict[str, Any]:
        return self.world.comments(self.pull, "agent-recovery:handoff")[0]


async def scene(world: LoopWorld) -> Scene:
    controller, agent, code = await world.published()
    return Scene(world, controller, agent, code)


async def test_an_honest_world_holds_no_lie(world: LoopWorld, tmp_path: Path) -> None:
    await scene(world)
    (ticket,) = await asyncio.to_thread(audited, world, tmp_path)
    assert ticket.lies == ()
    assert (ticket.status, ticket.generation, ticket.fenced) == ("working", 1, True)
    assert ticket.drift == ()
    assert [n.what for n in ticket.notes] == ["1 ledger commits are sealed by their holder, which is not checked here"]
    assert {c.number for c in ticket.criteria if c.met} >= {1, 2, 3, 8}


def unsealed_record(s: Scene) -> None:
    head, record = fetched(s.agent)
    point(s.agent, commit(s.agent, head, following(record), sealed=False))


def forbidden_field(s: Scene) -> None:
    head, record = fetched(s.agent)
    point(s.agent, commit(s.agent, head, following(record) | {"attempts": {"count": 0}, "intent": None}, sealed=True))
    changed = following(record) | {"work": record["work"] | {"trunk": "main"}}
    point(s.agent, commit(s.agent, head, changed, sealed=True))


def published_that_never_was(s: Scene) -> None:
    """What an outsider writes may name things that GitHub does not have: the audit goes on."""
    head, record = fetched(s.agent)
    changed = following(record) | {"published": record["published"] | {"sha": "f" * 40}}
    point(s.agent, commit(s.agent, head, changed, sealed=False, code_parent=s.code))


def moment_that_has_no_place(s: Scene) -> None:
    head, record = fetched(s.agent)
    lease = record["lease"] | {"expires_at": "9999-12-31T23:59:59-14:00"}
    point(s.agent, commit(s.agent, head, following(record) | {"lease": lease}, sealed=False))


def ledger_moved_back(s: Scene) -> None:
    head, _ = fetched(s.agent)
    older = s.world.git(s.agent.folder, "rev-parse", f"{head}~2")
    point(s.agent, older)


def ledger_deleted(s: Scene) -> None:
    s.push(f":{s.agent.grant.ledger_ref}")


def ledger_twice(s: Scene) -> None:
    head, _ = fetched(s.agent)
    s.push(f"{head}:refs/agent-recovery/done/{s.world.ticket}")


def plain_push(s: Scene) -> None:
    s.push(f"{s.agent.work('foreign')}:refs/heads/{s.branch}")


def branch_deleted(s: Scene) -> None:
    s.push(f":refs/heads/{s.branch}")


def branch_overwritten(s: Scene) -> None:
    tree = s.world.git(s.agent.folder, "rev-parse", "HEAD^{tree}")
    base = s.agent.grant.base_sha
    s.push(f"{s.world.git(s.agent.folder, 'commit-tree', '-p', base, '-m', 'x', tree)}:refs/heads/{s.branch}")


def comment_edited(s: Scene) -> None:
    comment = s.comment()
    s.person("PATCH", f"issues/comments/{comment['id']}", {"body": comment["body"].replace('"working"', '"ready"')})


def comment_deleted(s: Scene) -> None:
    s.person("DELETE", f"issues/comments/{s.comment()['id']}")


def comment_doubled(s: Scene) -> None:
    s.app("POST", f"issues/{s.pull}/comments", {"body": s.comment()["body"]})


def comment_of_another_commit(s: Scene) -> None:
    comment = s.comment()
    _, record = fetched(s.agent)
    body = comment["body"]
    at = body.index('"ledger_commit":"') + len('"ledger_commit":"')
    s.app("PATCH", f"issues/comments/{comment['id']}", {"body": body[:at] + "0" * 40 + body[at + 40 :]})
    assert record["ticket"] == s.world.ticket


def check_imitated(s: Scene) -> None:
    other = s.world.emulator.app("other", permissions={"metadata": "read", "checks": "write"}, events=[])
    number = s.world.emulator.installation("other", "acme")["id"]
    run = {"name": "Agent Recovery", "head_sha": s.code, "status": "completed", "conclusion": "success"}
    s.app("POST", "check-runs", run, other, number)


def check_of_a_foreign_head(s: Scene) -> None:
    foreign = s.agent.work("foreign")
    s.push(f"{foreign}:refs/heads/{s.branch}")
    shown = s.world.check_runs(s.code)[0]["external_id"]
    run = {"name": "Agent Recovery", "head_sha": foreign, "conclusion": "success", "external_id": shown}
    s.app("POST", "check-runs", run)


def base_changed(s: Scene) -> None:
    s.person("PATCH", f"pulls/{s.pull}", {"base": "main"})


def linked_issue_gone(s: Scene) -> None:
    s.person("PATCH", f"pulls/{s.pull}", {"body": "tidied up"})


def merged_by_hand(s: Scene) -> None:
    node = s.world.get(f"pulls/{s.pull}")["node_id"]
    query = "mutation($i: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $i}) { clientMutationId } }"
    s.world.http.post("/graphql", json={"query": query, "variables": {"i": node}}).raise_for_status()
    for _ in range(3):
        s.world.get(f"pulls/{s.pull}")
    s.person("PUT", f"pulls/{s.pull}/merge")


def issue_closed(s: Scene) -> None:
    s.person("PATCH", f"issues/{s.world.ticket}", {"state": "closed"})


def step_without_commit(s: Scene) -> None:
    head, record = fetched(s.agent)
    step = {"id": "two", "text": "two", "sha": "1" * 40}
    checkpoint = record["checkpoint"] | {"completed_steps": [*record["checkpoint"]["completed_steps"], step]}
    point(s.agent, commit(s.agent, head, following(record) | {"checkpoint": checkpoint}, sealed=True))


PLANTED: dict[Callable[[Scene], None], set[Kind]] = {
    unsealed_record: {Kind.LEDGER_DAMAGED},
    forbidden_field: {Kind.LEDGER_DAMAGED, Kind.PULL_DIFFERS},
    published_that_never_was: {Kind.LEDGER_DAMAGED, Kind.BRANCH_TAMPERED, Kind.CHECK_NOT_EARNED},
    moment_that_has_no_place: {Kind.LEDGER_DAMAGED, Kind.LEDGER_BEHIND},
    ledger_moved_back: {Kind.LEDGER_BEHIND, Kind.COMMENT_OLD},
    ledger_deleted: {Kind.LEDGER_MISSING},
    ledger_twice: {Kind.LEDGER_MISPLACED},
    plain_push: {Kind.BRANCH_FOREIGN},
    branch_deleted: {Kind.BRANCH_TAMPERED, Kind.PULL_DIFFERS},
    branch_overwritten: {Kind.BRANCH_TAMPERED},
    comment_edited: {Kind.COMMENT_FORGED},
    comment_deleted: {Kind.COMMENT_MISSING},
    comment_doubled: {Kind.COMMENT_DOUBLED},
    comment_of_another_commit: {Kind.COMMENT_FORGED, Kind.LEDGER_FORKED},
    check_imitated: {Kind.CHECK_IMITATED},
    check_of_a_foreign_head: {Kind.BRANCH_FOREIGN, Kind.CHECK_NOT_EARNED},
    base_changed: {Kind.PULL_DIFFERS},
    linked_issue_gone: {Kind.PULL_DIFFERS},
    merged_by_hand: {Kind.PULL_DIFFERS},
    issue_closed: {Kind.ISSUE_CLOSED},
    step_without_commit: {Kind.STEP_NOT_PUBLISHED},
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
async def test_a_planted_lie_is_found(world: LoopWorld, tmp_path: Path, plant: Callable[[Scene], None]) -> None:
    made = await scene(world)
    plant(made)
    (ticket,) = await asyncio.to_thread(audited, world, tmp_path)
    assert {lie.kind for lie in ticket.lies} == PLANTED[plant]


async def test_what_the_app_has_still_to_bring_right_is_told_as_drift(world: LoopWorld, tmp_path: Path) -> None:
    made = await scene(world)
    branch_deleted(made)
    (ticket,) = await asyncio.to_thread(audited, world, tmp_path)
    assert (ticket.fenced, [d.partition(":")[0] for d in ticket.drift]) == (False, ["RestoreBranch"])
    assert [c.met for c in ticket.criteria if c.number == 3] == [False]


async def test_without_keys_seals_are_not_judged_and_this_is_said(world: LoopWorld, tmp_path: Path) -> None:
    made = await scene(world)
    unsealed_record(made)
    keys = tmp_path / "keys.json"
    fields = [{"kid": kid, "public_key": key} for kid, key in world.keys.public_keys_base64().items()]
    keys.write_text(json.dumps({"seal_keys": fields}))

    def run(*more: str) -> tuple[int, dict[str, Any]]:
        command = [str(Path(sys.executable).parent / "agent-recovery"), "audit", "--repo", REPO, "--json"]
        environment = os.environ | {"GITHUB_TOKEN": world.token}
        done = subprocess.run(
            [*command, "--api-url", world.emulator.url, *more], env=environment, capture_output=True, check=False
        )
        return done.returncode, json.loads(done.stdout)

    code, told = await asyncio.to_thread(run)
    assert (code, told["seals_checked"], told["lies"]) == (0, False, 0)
    code, told = await asyncio.to_thread(run, "--keys", str(keys))
    assert (code, told["seals_checked"]) == (5, True)
    assert [lie["kind"] for lie in told["tickets"][0]["lies"]] == ["ledger-damaged"]
    code, told = await asyncio.to_thread(run, "--repo", "acme/nowhere")
    assert (code, told["error"]["code"]) == (7, "unavailable")
