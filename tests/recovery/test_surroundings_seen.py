"""Briefs made from an emulated GitHub: what surrounds a ticket is found in the same request as the ticket itself."""

import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.controller.controller import Controller
from app.domain.agent_api import CheckpointRequest
from app.domain.brief import Brief, Criterion, Finding
from app.emulator.client import Emulator
from tests.controller import loop_world
from tests.controller.loop_world import REPO, Agent, LoopWorld, claims_of

PROJECT_POLICY = "version: 1\nmode: repair\ntrunks: [release-*]\nproject: {number: 1}\n"
FIELDS: list[dict[str, Any]] = [
    {"name": "Status", "type": "SINGLE_SELECT", "options": ["Ready", "In progress"]},
    {"name": "Priority", "type": "TEXT"},
    {"name": "Target release", "type": "TEXT"},
]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with Emulator.start(tmp_path_factory.mktemp("github")) as started:
        yield started


@pytest.fixture
async def world(emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LoopWorld]:
    monkeypatch.setitem(loop_world.PERMISSIONS, "organization_projects", "write")
    made = LoopWorld(emulator, tmp_path)
    yield made
    await made.close()


async def brief_of(world: LoopWorld, controller: Controller) -> Brief:
    return await controller.brief("acme", "shop", world.ticket)


def step(brief: Brief, number: int) -> Finding:
    return brief.findings[number - 1]


def criterion(brief: Brief, number: int) -> Criterion:
    return brief.criteria[number - 1]


async def noted(world: LoopWorld, controller: Controller, agent: Agent, **checkpoint: Any) -> None:
    agent._seq += 1
    request = CheckpointRequest(key=secrets.token_hex(8), seq=agent._seq, checkpoint=checkpoint)
    await controller.checkpoint("acme", "shop", world.ticket, claims_of(agent.grant), request)


def put(world: LoopWorld, agent: Agent, branch: str, file: str, start: str) -> str:
    """A commit with one new file on a branch that is pushed past the fence."""
    git = world.git
    git(agent.folder, "checkout", "-q", "--detach", start)
    (agent.folder / file).parent.mkdir(parents=True, exist_ok=True)
    (agent.folder / file).write_text(secrets.token_hex(4))
    git(agent.folder, "add", "-A")
    git(agent.folder, "commit", "-qm", f"Add {file}")
    git(agent.folder, "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
    return git(agent.folder, "rev-parse", "HEAD")


def post(world: LoopWorld, path: str, **body: Any) -> Any:
    return world.http.post(f"/repos/{REPO}/{path}", json=body).raise_for_status().json()


def into_project(world: LoopWorld, **values: str) -> None:
    """A Project with the ticket in it; the App itself sets the values."""
    project = world.emulator.project("acme", "Board", fields=FIELDS)
    token = world.emulator.installation_token(world.app, world.installation)
    issue = world.get(f"issues/{world.ticket}")["node_id"]

    def ask(document: str, **variables: Any) -> Any:
        answer = world.http.post(
            "/graphql", json={"query": document, "variables": variables}, headers={"Authorization": f"Bearer {token}"}
        ).json()
        assert "errors" not in answer, answer
        return answer["data"]

    item = ask(
        "mutation($p:ID!,$c:ID!){addProjectV2ItemById(input:{projectId:$p,contentId:$c}){item{id}}}",
        p=project["node_id"],
        c=issue,
    )["addProjectV2ItemById"]["item"]["id"]
    for field in project["fields"]:
        if field["name"] not in values:
            continue
        wanted = values[field["name"]]
        option = next((o["id"] for o in field.get("options", ()) if o["name"] == wanted), None)
        ask(
            "mutation($p:ID!,$i:ID!,$f:ID!,$v:ProjectV2FieldValue!){updateProjectV2ItemFieldValue("
            "input:{projectId:$p,itemId:$i,fieldId:$f,value:$v}){projectV2Item{id}}}",
            p=project["node_id"],
            i=item,
            f=field["node_id"],
            v={"singleSelectOptionId": option} if option else {"text": wanted},
        )


def with_policy(world: LoopWorld, agent: Agent, text: str) -> None:
    git = world.git
    git(agent.folder, "fetch", "-q", "origin", "main")
    git(agent.folder, "checkout", "-q", "--detach", "FETCH_HEAD")
    (agent.folder / ".github/agent-recovery.yml").write_text(text)
    git(agent.folder, "commit", "-qam", "Policy")
    git(agent.folder, "push", "-q", "origin", "HEAD:refs/heads/main")


async def test_project_and_dependencies_are_evidence_and_cost_no_request(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    plain = world.requested()
    await brief_of(world, controller)
    cost = world.requested() - plain
    with_policy(world, agent, PROJECT_POLICY)
    into_project(world, Status="In progress", Priority="high", **{"Target release": "1"})
    blocking = post(world, "issues", title="First this")
    post(world, f"issues/{world.ticket}/dependencies/blocked_by", issue_id=blocking["id"])
    part = post(world, "issues", title="A part")
    post(world, f"issues/{world.ticket}/sub_issues", sub_issue_id=part["id"])
    await brief_of(world, controller)
    since = world.requested()
    brief = await brief_of(world, controller)
    assert world.requested() - since == cost
    evidence = step(brief, 1).evidence
    assert evidence["project"] == {
        "number": 1,
        "title": "Board",
        "status": "In progress",
        "priority": "high",
        "target_release": "1",
    }
    assert evidence["blocked_by"] == [f"#{blocking['number']} open"]
    assert evidence["sub_issues"] == {"open": 1, "closed": 0}
    assert criterion(brief, 1).met is True
    assert brief.blockers == (f"waits for #{blocking['number']}, which is open",)


async def test_no_open_sub_issue_is_overlooked_among_as_many_as_github_allows(world: LoopWorld) -> None:
    controller, _, _ = await world.published()
    parts = []
    for n in range(100):
        parts.append(post(world, "issues", title=f"Part {n}"))
        world.emulator.advance(1)  # GitHub takes eighty writes of this kind a minute
    for part in parts:
        world.emulator.advance(1)
        post(world, f"issues/{world.ticket}/sub_issues", sub_issue_id=part["id"])
        if part is not parts[-1]:
            path = f"/repos/{REPO}/issues/{part['number']}"
            world.http.patch(path, json={"state": "closed"}).raise_for_status()
    evidence = step(await brief_of(world, controller), 1).evidence
    assert evidence["sub_issues"] == {"open": 1, "closed": 99}


async def test_a_project_that_names_another_release_contradicts_the_record(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    with_policy(world, agent, PROJECT_POLICY)
    into_project(world, **{"Target release": "2.0"})
    brief = await brief_of(world, controller)
    judged = criterion(brief, 1)
    assert (judged.met, "a person decides" in judged.reason) == (False, True)
    assert step(brief, 1).state == "blocked"


async def test_the_release_branch_its_difference_and_its_pr(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    brief = await brief_of(world, controller)
    assert (criterion(brief, 5).met, "no release PR is needed" in criterion(brief, 5).reason) == (True, True)
    put(world, agent, "release-1", "landed.txt", "origin/release-1")
    brief = await brief_of(world, controller)
    assert (criterion(brief, 5).met, step(brief, 5).state, step(brief, 5).evidence["ahead"]) == (False, "pending", 1)
    made = post(world, "pulls", title="Release 1", head="release-1", base="main", draft=True)
    brief = await brief_of(world, controller)
    assert criterion(brief, 5).met is True
    assert step(brief, 5).evidence["pulls"] == [{"number": made["number"], "draft": True, "changed_files": 1}]
    # The trunk moved past the work too: that is step 14's, with what GitHub says of conflicts.
    assert (step(brief, 14).evidence["behind"], step(brief, 14).state) in ((1, "done"), (1, "pending"))


async def test_decisions_are_resolved_at_the_work_and_a_missing_one_is_a_blocker(world: LoopWorld) -> None:
    controller, agent, sha = await world.published()
    base = agent.grant.base_sha
    refs = ["README.md", f"README.md@{base}", "docs/adr/7.md", f"#{world.ticket}", "#9999", "ask Wanda"]
    await noted(world, controller, agent, decision_refs=refs)
    since = world.requested()
    brief = await brief_of(world, controller)
    found = step(brief, 7)
    assert found.state == "blocked"
    assert [(r["ref"], r["at"]) for r in found.evidence["resolved"]] == [
        ("README.md", sha),
        (f"README.md@{base}", base),
        (f"#{world.ticket}", None),
    ]
    assert found.evidence["missing"] == ["docs/adr/7.md", "#9999"]
    assert found.evidence["not_looked_up"] == ["ask Wanda"]
    assert brief.blockers == (
        f"the recorded decision docs/adr/7.md is missing at {sha}",
        "the recorded decision #9999 is missing",
    )
    assert len([r for r in world.emulator.requests(since) if "Observe" in (r["operations"] or ())]) == 1


async def test_a_predecessor_that_moved_is_a_stale_base(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    other = post(world, "issues", title="Before it")["number"]
    first = put(world, agent, f"ticket/{other}-before", "before.txt", "origin/release-1")
    await noted(world, controller, agent, predecessor_issue_or_pr=other, predecessor_sha=first)
    brief = await brief_of(world, controller)
    assert (criterion(brief, 6).met, step(brief, 11).state) == (True, "done")
    second = put(world, agent, f"ticket/{other}-before", "more.txt", first)
    brief = await brief_of(world, controller)
    assert (criterion(brief, 6).met, step(brief, 11).state) == (False, "pending")
    assert step(brief, 11).evidence == {"predecessor": other, "recorded": first, "now": second}
    world.git(agent.folder, "push", "-q", "origin", f"{second}:refs/heads/release-1")
    world.git(agent.folder, "push", "-q", "origin", f":refs/heads/ticket/{other}-before")
    await noted(world, controller, agent, predecessor_sha=second)
    assert "landed as it was recorded" in criterion(await brief_of(world, controller), 6).reason
    await noted(world, controller, agent, predecessor_issue_or_pr=9999)
    assert "does not exist" in criterion(await brief_of(world, controller), 6).reason


async def test_dependents_and_leftover_branches_are_found(world: LoopWorld) -> None:
    controller, agent, sha = await world.published()
    put(world, agent, f"{world.ticket}-forgotten", "x.txt", "origin/release-1")
    put(world, agent, "ticket/99-next", "next.txt", sha)
    made = post(world, "pulls", title="Next", head="ticket/99-next", base=agent.grant.branch)
    found = step(await brief_of(world, controller), 4)
    assert found.evidence["dependents"] == [made["number"]]
    assert found.evidence["other_branches"] == [f"{world.ticket}-forgotten"]
