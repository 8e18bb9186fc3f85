"""Probes of organization projects. What is written goes into a project that was made for this, and is removed again."""

from dataclasses import dataclass
from typing import Any

from app.doctor.asking import Said, said
from app.doctor.finding import State
from app.doctor.probe import Seen, as_relied_on, probe
from app.doctor.sandbox import Sandbox
from app.github.errors import GraphQLFailed

TITLE = "Agent Recovery probe"
"""The project the operator makes for `project-values`, with a field of each type that is to be tried."""

_PROJECTS = """
query ProbeProjects($owner: String!) {
  organization(login: $owner) {
    projectsV2(first: 100) {
      nodes {
        id number title
        fields(first: 50) {
          nodes { ... on ProjectV2FieldCommon { id databaseId name dataType } }
        }
      }
    }
  }
}
"""
_ONE = """
query ProbeProject($owner: String!) { organization(login: $owner) { projectV2(number: 1) { id } } }
"""
_ADD = """
mutation ProbeAdd($input: AddProjectV2DraftIssueInput!) { addProjectV2DraftIssue(input: $input) { projectItem { id } } }
"""
_SET = """
mutation ProbeSet($input: UpdateProjectV2ItemFieldValueInput!) {
  updateProjectV2ItemFieldValue(input: $input) { projectV2Item { id } }
}
"""
WRONG: dict[str, tuple[dict[str, Any], ...]] = {
    "TEXT": ({"number": 1.0}, {"text": "a", "number": 1.0}),
    "NUMBER": ({"text": "one"},),
    "DATE": ({"text": "today"}, {"number": 1.0}),
    "SINGLE_SELECT": ({"text": "Todo"}, {"singleSelectOptionId": "none"}),
    "ITERATION": ({"text": "next"}, {"iterationId": "none"}),
}
"""What each type of field must not take."""


async def _is_organization(box: Sandbox) -> bool:
    shown = await box.ask("GET", "")
    return bool(shown.body["owner"]["type"] == "Organization")


@probe("projects-unseen", "Without the permission, an organization's projects are an empty list, and 403 by REST")
async def projects_unseen(box: Sandbox) -> Seen:
    if not await _is_organization(box):
        return Seen(State.NOT_TRIED, f"{box.repo.owner} is no organization")
    minted = await box.token({"metadata": "read"})
    if minted.status != 201:
        return Seen(State.NOT_TRIED, f"no second token: {minted.told}")
    holder, owner = box.holder(f"token {minted.body['token']}"), {"owner": box.repo.owner}
    listed = await said(holder.query("ProbeProjects", _PROJECTS, owner))
    one = await said(holder.query("ProbeProject", _ONE, owner))
    by_rest = await said(holder.get("/orgs/{org}/projectsV2", {"org": box.repo.owner}))
    await said(holder.write("DELETE", "/installation/token", {}))
    found = None if listed.words else listed.body["data"]["organization"]["projectsV2"]["nodes"]
    fine = found == [] and "Could not resolve" in one.words and by_rest.status == 403
    return as_relied_on(
        fine, f"listed: {listed.words or found}; number 1: {one.words or 'there'}; REST: {by_rest.told}"
    )


@dataclass(frozen=True)
class _Tried:
    field: str
    value: dict[str, Any]
    answer: Said


@probe("project-values", "A project's field refuses a value of another type, with two members, or one that is none")
async def project_values(box: Sandbox) -> Seen:
    if not await _is_organization(box):
        return Seen(State.NOT_TRIED, f"{box.repo.owner} is no organization")
    listed = await said(box.repo.session.query("ProbeProjects", _PROJECTS, {"owner": box.repo.owner}))
    nodes = [] if listed.words else listed.body["data"]["organization"]["projectsV2"]["nodes"]
    project = next((node for node in nodes if node and node["title"] == TITLE), None)
    if project is None:
        return Seen(State.NOT_TRIED, f"the App sees no project of {box.repo.owner} called {TITLE!r}")
    given = {"projectId": project["id"], "title": f"Agent Recovery probe {box.word}"}
    try:
        added = await box.repo.session.mutate("ProbeAdd", _ADD, {"input": given})
    except GraphQLFailed as refusal:
        return Seen(State.NOT_TRIED, f"the App may not write into it: {refusal.message}")
    item = added.body["data"]["addProjectV2DraftIssue"]["projectItem"]["id"]
    box.project_items.append((project["id"], item))
    tried = []
    for field in project["fields"]["nodes"]:
        for value in WRONG.get(field["dataType"], ()):
            change = {"projectId": project["id"], "itemId": item, "fieldId": field["id"], "value": value}
            answer = await said(box.repo.session.mutate("ProbeSet", _SET, {"input": change}))
            tried.append(_Tried(field["dataType"], value, answer))
    taken = [f"{t.field} took {sorted(t.value)}" for t in tried if not t.answer.words]
    told = sorted({f"{t.field} {sorted(t.value)}: {t.answer.words}" for t in tried if t.answer.words})
    return as_relied_on(bool(tried) and not taken, "; ".join([*taken, *told]))
