"""Nothing the emulator claims to serve may fail of itself: every GraphQL field, every REST route."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from emulated import REPO, World, rest
from graphql import (
    GraphQLField,
    GraphQLNamedType,
    GraphQLObjectType,
    get_named_type,
    is_interface_type,
    is_leaf_type,
    is_object_type,
    is_required_argument,
    is_union_type,
)

from app.emulator.graphql.execute import schema
from app.emulator.rest import routes

BASE = f"/repos/{REPO}"
REQUIRED = {
    "databaseId": "1",
    "number": "2",
    "name": '"demo"',
    "owner": '"octo"',
    "login": '"dev"',
    "qualifiedName": '"main"',
    "refPrefix": '"refs/heads/"',
    "path": '"README.md"',
    "headRef": '"42-x"',
    "capabilities": "[CAN_BE_ASSIGNED]",
}
REFUSED = {"projectCards"}  # whoever asks, and whatever for


REQUIRED_CHECK = {
    "required_status_checks": [{"context": "ci"}],
    "strict_required_status_checks_policy": False,
}


def arguments(field: GraphQLField) -> str:
    given = []
    for name, argument in field.args.items():
        if name == "first":
            given.append("first:3")
        elif name == "expression":
            given.append('expression:"42-x"')
        elif is_required_argument(argument):
            given.append(f"{name}:{REQUIRED[name]}")
    return f"({','.join(given)})" if given else ""


def select(kind: GraphQLNamedType, depth: int, alias: str = "a") -> str:
    """Every field below a type, aliased by type so that equal names never meet."""
    if is_union_type(kind) or is_interface_type(kind):
        members = schema().get_possible_types(kind)  # type: ignore[arg-type]
        parts = [f"... on {m.name}{select(m, depth, alias + m.name[:3])}" for m in members]
        return "{__typename " + " ".join(parts) + "}"
    assert isinstance(kind, GraphQLObjectType)
    fields = []
    for name, field in kind.fields.items():
        inner = get_named_type(field.type)
        if name in REFUSED:
            continue
        if is_leaf_type(inner):
            fields.append(f"{alias}{name}:{name}{arguments(field)}")
        elif depth > 0 and (is_object_type(inner) or is_union_type(inner) or is_interface_type(inner)):
            fields.append(f"{alias}{name}:{name}{arguments(field)}{select(inner, depth - 1, alias)}")
    return "{" + " ".join(fields or ["__typename"]) + "}"


@pytest.fixture
def busy(world: World) -> World:
    """A pull request with one of everything around it."""
    issue = world.emulator.issue(REPO, "One", labels=["l"], assignees=["dev"])
    pull = world.open_pull(body=f"Ticket: #{issue['number']}")
    sha = pull["head"]["sha"]
    world.bot.post(f"{BASE}/check-runs", json={"name": "n", "head_sha": sha, "conclusion": "success"})
    world.bot.post(f"{BASE}/statuses/{sha}", json={"state": "success"})
    world.bot.post(f"{BASE}/pulls/2/requested_reviewers", json={"reviewers": ["dev"]})
    world.bot.post(f"{BASE}/issues/2/comments", json={"body": "c"})
    world.bot.post(f"{BASE}/issues/2/labels", json={"labels": ["l"]})
    world.bot.delete(f"{BASE}/issues/2/labels/l")
    world.bot.patch(f"{BASE}/pulls/2", json={"title": "Other", "base": "main"})
    world.update_refs({"name": "refs/heads/42-x", "afterOid": world.commit(world.head("main")), "force": True})
    link_issues(world, issue, pull)
    world.emulator.change_repo(REPO, collaborators={"dev": "admin"})
    line = {"body": "why?", "path": "f.txt", "line": 1, "commit_id": world.head("42-x")}
    world.dev.post(f"{BASE}/pulls/2/comments", json=line)
    review = world.dev.post(f"{BASE}/pulls/2/reviews", json={"event": "APPROVE"}).json()
    world.dev.put(f"{BASE}/pulls/2/reviews/{review['id']}/dismissals", json={"message": "m"})
    off = dict.fromkeys(("required_pull_request_reviews", "restrictions", "required_status_checks"))
    world.dev.put(f"{BASE}/branches/main/protection", json=off | {"enforce_admins": True})
    rule = {"type": "required_status_checks", "parameters": REQUIRED_CHECK}
    main = {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}}
    world.dev.post(f"{BASE}/rulesets", json={"name": "r", "enforcement": "active", "conditions": main, "rules": [rule]})
    return world


def link_issues(world: World, issue: dict[str, Any], pull: dict[str, Any]) -> None:
    """A parent, a child, a blocker, an edit, a lock, a branch and a project around the Issue."""
    url = f"{BASE}/issues/{issue['number']}"
    others = [world.emulator.issue(REPO, title) for title in ("Parent", "Child", "Blocker")]
    world.bot.post(f"{BASE}/issues/{others[0]['number']}/sub_issues", json={"sub_issue_id": issue["id"]})
    world.bot.post(f"{url}/sub_issues", json={"sub_issue_id": others[1]["id"]})
    world.bot.post(f"{url}/dependencies/blocked_by", json={"issue_id": others[2]["id"]})
    milestone = world.bot.post(f"{BASE}/milestones", json={"title": "First"}).json()["number"]
    world.bot.patch(url, json={"body": "Edited", "milestone": milestone})
    comment = world.dev.post(f"{url}/comments", json={"body": "c"}).json()
    world.bot.patch(f"{BASE}/issues/comments/{comment['id']}", json={"body": "d"})
    world.bot.post(f"{url}/reactions", json={"content": "eyes"})
    world.bot.put(f"{url}/lock", json={"lock_reason": "resolved"})
    link = "mutation($i:ID!,$o:GitObjectID!){createLinkedBranch(input:{issueId:$i,oid:$o}){linkedBranch{id}}}"
    world.graphql(link, i=issue["node_id"], o=world.head("main"))
    for _ in range(2):
        project = world.emulator.project("octo", fields=[{"name": "Note", "type": "TEXT"}])
        for node in (issue["node_id"], pull["node_id"]):
            world.graphql(
                "mutation($p:ID!,$c:ID!){addProjectV2ItemById(input:{projectId:$p,contentId:$c}){item{id}}}",
                p=project["node_id"],
                c=node,
            )


@pytest.mark.parametrize("kind", ["Issue", "PullRequest", "Repository"])
def test_every_field_resolves(busy: World, kind: str) -> None:
    ids = {
        "Issue": busy.bot.get(f"{BASE}/issues/1").json()["node_id"],
        "PullRequest": busy.pull(2)["node_id"],
        "Repository": busy.repo["node_id"],
    }
    depth = 2 if kind == "Repository" else 3
    fields = select(schema().type_map[kind], depth)
    answer = busy.graphql(f"{{node(id:{json.dumps(ids[kind])}){{... on {kind}{fields}}}}}", busy.dev)
    # Number 2 is a pull request, so asking for it as an Issue is rightly refused; people have no projects.
    assert {e["message"] for e in answer.get("errors", [])} <= {
        "Could not resolve to an Issue with the number of 2.",
        "Could not resolve to a ProjectV2 with the number 2.",
    }
    assert answer["data"]["node"] is not None


PARAMETERS = {
    "owner": ["octo"],
    "repo": ["demo"],
    "org": ["octo"],
    "login": ["dev", "nobody"],
    "number:int": ["1", "2", "99999999999"],
    "ref*": ["heads/42-x", "heads/../y", "heads/%00"],
    "prefix*": ["heads/", "%ff"],
    "branch*": ["main", "no"],
    "name*": ["main", "%00"],
    "name": ["bug", "%00"],
    "path*": ["README.md", "%00", "../x"],
    "sha": ["main", "a" * 40],
    "basehead*": ["main...42-x", "main", "..."],
    "ref": ["main", "42-x"],
}
QUERIES = [
    "",
    "?per_page=x&page=0&since=%00&path=%00",
    "?since=yesterday&author=(&path=a&ref=42-x&state=all&sort=updated",
    "?path=../x&sha=42-x&cursor=v1_9&status=failure&labels=a,b&app_id=z",
]
BODIES: list[object] = [
    None,
    [],
    {},
    {"title": "t", "head": "42-x", "base": "main", "body": None, "state": "open"},
    {"title": 5, "force": 1, "sha": 5},
    {"ref": "refs/heads/n", "sha": "a" * 40},
    {"tree": ["x"]},
    {
        "tree": [
            {"path": "a/b", "mode": "100644", "content": "x"},
            {"path": "a", "mode": "100644", "content": "x"},
        ]
    },
    {
        "message": "m",
        "content": "!!",
        "sha": "a" * 40,
        "branch": "42-x",
        "author": {"name": "", "email": ""},
    },
    {"labels": [{}], "assignees": [1]},
    {"state": "closed", "base": "\0", "labels": ["a"], "title": ""},
    {"tree": "a" * 40, "parents": [1], "message": "m"},
    {"output": {"title": "t", "summary": 5}, "name": "n", "head_sha": "b" * 40},
]


def test_no_request_breaks_a_route(busy: World) -> None:
    chance = random.Random(2)
    owner = rest(busy.emulator, busy.tokens["dev"])
    app = rest(busy.emulator, busy.emulator.app_jwt(busy.app))
    busy.emulator.change_repo(REPO, collaborators={"dev": "admin"})
    for route in routes.routes:
        if route.pattern in ("/installation/token", "/app/installations/{number:int}"):
            continue  # these end the installation or the token the test lives on
        if (route.method, route.pattern) == ("DELETE", "/repos/{owner}/{repo}"):
            continue  # and this one the repository
        if route.method == "PATCH" and "/git/refs/" in route.pattern:
            continue  # answers an unknown object with 500, as GitHub does
        for _ in range(6):
            path = route.pattern
            for name, values in PARAMETERS.items():
                path = path.replace("{" + name + "}", chance.choice(values))
            path = re.sub(r"\{[\w:]+\*?\}", "1", path) + chance.choice(QUERIES)
            body = chance.choice(BODIES)
            client = chance.choice([busy.bot, owner, app])
            answer = client.request(route.method, path, content=json.dumps(body) if body is not None else b"")
            assert answer.status_code != 500, (route.method, path, body, answer.text)
            if answer.status_code not in (204, 304) and "json" in answer.headers["content-type"]:
                answer.json()
