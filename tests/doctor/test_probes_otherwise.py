"""A probe that cannot say "otherwise" proves nothing: each of them before a GitHub that behaves otherwise."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.doctor import probes_of_issues, probes_of_merging, probes_of_projects, probes_of_tokens
from app.doctor.cli import PROBES
from app.doctor.finding import State
from app.doctor.sandbox import Sandbox
from app.emulator.inprocess import URL, InProcess
from app.github.client import GitHub

REPO = "acme/sandbox"
PERMISSIONS = {
    "metadata": "read",
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "organization_projects": "write",
    "administration": "write",
    "workflows": "write",
}


@pytest.fixture
async def emulated(tmp_path: Path) -> AsyncIterator[InProcess]:
    async with InProcess(tmp_path) as github:
        await github.control("POST", "/orgs", login="acme")
        await github.control("POST", "/repos", owner="acme", name="sandbox", files={"README.md": "x\n"})
        yield github


@pytest.fixture
async def box(emulated: InProcess) -> AsyncIterator[Sandbox]:
    asked = {"slug": "agent-recovery", "permissions": PERMISSIONS, "events": ["issues"]}
    app = await emulated.control("POST", "/apps", **asked, webhook_url="http://127.0.0.1:9/webhook")
    await emulated.control("POST", "/installations", app="agent-recovery", account="acme")
    await emulated.control("POST", "/projects", owner="acme", title=probes_of_projects.TITLE, fields=[])
    async with GitHub(app["id"], [app["pem"]], URL, transport=emulated.transport) as github:
        yield await Sandbox.open(github, (app["pem"],), "acme", "sandbox")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes_of_merging, "PATIENCE_S", 1)
    monkeypatch.setattr(probes_of_tokens, "PATIENCE_S", 1)
    monkeypatch.setattr(probes_of_issues, "QUIET_S", 0)


def answered(method: str, path: str, code: int, body: Any = None, **order: Any) -> dict[str, Any]:
    match = {"method": method, "path_regex": path}
    return {"kind": "status", "match": match, "code": code, "body": body or {}, "times": None, **order}


def answered_by_graphql(operation: str, data: Any) -> dict[str, Any]:
    return {"kind": "status", "match": {"operation": operation}, "code": 200, "body": {"data": data}, "times": None}


SET = {"updateProjectV2ItemFieldValue": {"projectV2Item": {"id": "x"}}}
BUDGET = {"resources": {"core": {"limit": 15000}}}

OTHERWISE: dict[str, dict[str, Any]] = {
    "custom-refs": {"kind": "refuse_update_refs", "times": None},
    "lost-update": answered_by_graphql("UpdateRefs", {"updateRefs": {"clientMutationId": None}}),
    "all-or-nothing": answered_by_graphql("UpdateRefs", {"updateRefs": {"clientMutationId": None}}),
    "one-level-ref": answered_by_graphql("UpdateRefs", {"updateRefs": {"clientMutationId": None}}),
    "nothing-late": answered("GET", "matching-refs/agent-recovery/probe/.*/late-fresh$", 200, [], nth=2),
    "unknown-commit": answered("POST", "/git/refs$", 201),
    "ref-again": answered("POST", "/git/refs$", 201, nth=2),
    "second-pull": answered("POST", "/pulls$", 422, {"message": "Validation Failed"}, nth=2),
    "comment-size": answered("POST", "/comments$", 422, {"message": "too long"}),
    "who-am-i": answered("GET", "^/user$", 200, {"login": "agent-recovery[bot]"}),
    "test-merge": answered("PATCH", "/pulls/[0-9]+$", 200),
    "base-moved": answered("PUT", "/merge$", 405, {"message": "Pull Request is not mergeable"}),
    "merge-refusals": answered("PUT", "/merge-async$", 202),
    "update-branch": answered("PUT", "/update-branch$", 202),
    "base-deleted": answered("DELETE", "/git/refs/heads/", 204),
    "locked-issue": answered("PATCH", "/issues/comments/[0-9]+$", 200),
    "hide-comment": {"kind": "graphql_error", "match": {"operation": "ProbeHide"}, "times": None},
    "sub-issues": answered("PATCH", "/sub_issues/priority$", 200),
    "assignees": answered("POST", "/assignees$", 422, {"message": "Validation Failed"}),
    "label-deleted": answered("DELETE", "/labels/", 204),
    "check-run-limits": answered("POST", "/check-runs$", 201),
    "rerequest": answered("POST", "/rerequest$", 201),
    "dispatch-limits": answered("POST", "/dispatches$", 204),
    "revoked-token": answered("DELETE", "^/installation/token$", 204),
    "token-levels": answered("POST", "/access_tokens$", 201, {"token": "ghs_other"}),
    "readers-ref": answered("POST", "/git/refs$", 404, {"message": "Not Found"}),
    "jwt-without-issuer": answered("GET", "^/app$", 404, {"message": "Integration not found"}),
    "app-budget": answered("GET", "^/rate_limit$", 200, BUDGET),
    "page-links": answered("GET", "/branches$", 200, []),
    "projects-unseen": answered("GET", "/projectsV2$", 200, []),
    "guarded-base": answered("POST", "/merges$", 201),
    "release-guard": answered("PUT", "/merge$", 200),
    "guards-and-ledgers": {"kind": "refuse_custom_refs", "times": None},
    "workflow-files": answered("PUT", "/merge$", 200),
    "project-values": answered_by_graphql("ProbeSet", SET),
}


@pytest.mark.parametrize("name", OTHERWISE)
async def test_a_github_that_behaves_otherwise_is_found(emulated: InProcess, box: Sandbox, name: str) -> None:
    look = next(probe for probe in PROBES if probe.name == name)
    await emulated.control("POST", "/faults", **OTHERWISE[name])
    finding = await look.run(box)
    assert finding.state is State.OTHERWISE, finding.seen


async def test_what_was_made_without_an_answer_is_removed_too(emulated: InProcess, box: Sandbox) -> None:
    lost = {"kind": "drop_after", "match": {"method": "POST", "path_regex": "/(issues|pulls)$"}, "times": 2}
    await emulated.control("POST", "/faults", **lost)
    for name in ("assignees", "second-pull"):
        finding = await next(probe for probe in PROBES if probe.name == name).run(box)
        assert finding.state is State.NOT_TRIED
    opened = [issue for issue in emulated.repository(REPO).issues.values() if issue.state == "open"]
    assert len(opened) == 2
    assert await box.clean_up() == ()
    assert [issue for issue in emulated.repository(REPO).issues.values() if issue.state == "open"] == []
