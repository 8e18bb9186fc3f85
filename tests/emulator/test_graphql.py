"""GraphQL: what is shown, what is refused, and how errors look."""

from __future__ import annotations

import base64

import pytest
from emulated import REPO, World

BASE = f"/repos/{REPO}"


def test_ref_is_null_outside_heads_and_tags(world: World) -> None:
    record = world.commit(world.head("main"), "record")
    world.update_refs({"name": "refs/agent-recovery/active/1", "afterOid": record})
    query = """query($oid:GitObjectID!){repository(owner:"octo",name:"demo"){
      custom:ref(qualifiedName:"refs/agent-recovery/active/1"){name}
      branch:ref(qualifiedName:"refs/heads/main"){name prefix target{oid}}
      short:ref(qualifiedName:"main"){name}
      customRefs:refs(refPrefix:"refs/agent-recovery/",first:5){totalCount}
      heads:refs(refPrefix:"refs/heads/",first:5){nodes{name}}
      object(oid:$oid){oid ... on Commit{message file(path:"f.txt"){object{... on Blob{text byteSize}}}}}
      policy:object(expression:"HEAD:.github/agent-recovery.yml"){... on Blob{text isBinary isTruncated}}
      missing:object(expression:"main:nothing"){oid}
      tree:object(expression:"main:.github"){... on Tree{entries{name type mode}}}}}"""
    repo = world.graphql(query, oid=record)["data"]["repository"]
    assert repo["custom"] is None
    assert repo["branch"] == {"name": "main", "prefix": "refs/heads/", "target": {"oid": world.head("main")}}
    assert repo["short"] == {"name": "main"}
    assert repo["customRefs"]["totalCount"] == 0
    assert [r["name"] for r in repo["heads"]["nodes"]] == ["42-x", "main", "release-1"]
    assert repo["object"]["file"]["object"] == {"text": "record", "byteSize": 6}
    assert repo["policy"] == {"text": "version: 1\n", "isBinary": False, "isTruncated": False}
    assert repo["missing"] is None
    assert repo["tree"]["entries"] == [{"name": "agent-recovery.yml", "type": "blob", "mode": 33188}]


def test_history_of_a_path_follows_all_parents(world: World) -> None:
    """A ledger commit has the chain as first parent and the published work as second."""

    def record(text: str, *parents: str) -> str:
        entry = {"path": "record.json", "mode": "100644", "type": "blob", "content": text}
        tree = world.bot.post(f"{BASE}/git/trees", json={"tree": [entry]}).json()["sha"]
        body = {"tree": tree, "parents": list(parents), "message": text}
        return str(world.bot.post(f"{BASE}/git/commits", json=body).json()["sha"])

    first = record("1", world.head("main"))
    second = record("2", first, world.head("42-x"))
    same = record("2", second)
    query = """query($oid:GitObjectID!){repository(owner:"octo",name:"demo"){object(oid:$oid){... on Commit{
      history(path:"record.json",first:100){totalCount nodes{oid parents(first:5){nodes{oid}}}}}}}}"""
    history = world.graphql(query, oid=same)["data"]["repository"]["object"]["history"]
    assert [n["oid"] for n in history["nodes"]] == [second, first]
    assert [p["oid"] for p in history["nodes"][0]["parents"]["nodes"]] == [first, world.head("42-x")]


def test_pagination(world: World) -> None:
    number = world.emulator.issue(REPO, "One")["number"]
    for n in range(5):
        world.emulator.comment(REPO, number, "dev", f"c{n}")
    query = """query($first:Int,$after:String,$last:Int,$before:String){repository(owner:"octo",name:"demo"){
      issue(number:1){comments(first:$first,after:$after,last:$last,before:$before){
        totalCount nodes{body} pageInfo{hasNextPage hasPreviousPage endCursor startCursor}}}}}"""

    def page(**arguments: object) -> dict[str, object]:
        found: dict[str, object] = world.graphql(query, **arguments)["data"]["repository"]["issue"]["comments"]
        return found

    def bodies(shown: dict[str, object]) -> list[str]:
        return [n["body"] for n in shown["nodes"]]  # type: ignore[attr-defined]

    one = page(first=2)
    assert bodies(one) == ["c0", "c1"]
    two = page(first=2, after=one["pageInfo"]["endCursor"])  # type: ignore[index]
    assert bodies(two) == ["c2", "c3"]
    assert two["totalCount"] == 5
    back = page(last=2)
    assert bodies(back) == ["c3", "c4"]
    assert bodies(page(last=2, before=back["pageInfo"]["startCursor"])) == ["c1", "c2"]  # type: ignore[index]
    for arguments, kind in (({}, "MISSING_PAGINATION_BOUNDARIES"), ({"first": 101}, "EXCESSIVE_PAGINATION")):
        assert world.graphql(query, **arguments)["errors"][0]["type"] == kind


def test_authors_and_edits(world: World) -> None:
    pull = world.open_pull()
    comment = world.bot.post(f"{BASE}/issues/{pull['number']}/comments", json={"body": "state"}).json()
    query = """query($id:ID!){node(id:$id){... on IssueComment{databaseId body viewerDidAuthor lastEditedAt
      includesCreatedEdit author{__typename login ... on Bot{databaseId}} editor{login}}}}"""
    answer = world.graphql(query, id=comment["node_id"])
    assert "errors" not in answer
    before = answer["data"]["node"]
    assert before["databaseId"] is None  # beyond 32 bits
    assert before["author"] == {"__typename": "Bot", "login": "keeper", "databaseId": world.app["bot_id"]}
    assert (before["viewerDidAuthor"], before["lastEditedAt"], before["editor"]) == (True, None, None)
    world.dev.patch(f"{BASE}/issues/comments/{comment['id']}", json={"body": "other"})
    after = world.graphql(query, id=comment["node_id"])["data"]["node"]
    assert (after["editor"], after["includesCreatedEdit"]) == ({"login": "dev"}, True)
    assert after["author"]["login"] == "keeper"


def test_every_node_id_resolves(world: World) -> None:
    pull = world.open_pull()
    number = pull["number"]
    issue = world.emulator.issue(REPO, "One", labels=["agent"])
    run = world.bot.post(f"{BASE}/check-runs", json={"name": "g", "head_sha": pull["head"]["sha"]}).json()
    ids = {
        "Repository": world.repo["node_id"],
        "PullRequest": pull["node_id"],
        "Issue": issue["node_id"],
        "Label": issue["labels"][0]["node_id"],
        "User": world.dev.get("/user").json()["node_id"],
        "Bot": pull["user"]["node_id"],
        "IssueComment": world.emulator.comment(REPO, number, "dev", "x")["node_id"],
        "CheckRun": run["node_id"],
        "Commit": world.bot.get(f"{BASE}/commits/main").json()["node_id"],
        "Ref": world.bot.get(f"{BASE}/git/ref/heads/main").json()["node_id"],
    }
    found = world.graphql("query($ids:[ID!]!){nodes(ids:$ids){__typename id}}", ids=list(ids.values()))
    assert [(n["__typename"], n["id"]) for n in found["data"]["nodes"]] == list(ids.items())
    assert world.graphql('{node(id:"nothing"){id}}')["errors"][0]["type"] == "NOT_FOUND"


def test_errors_come_with_200_and_partial_data(world: World) -> None:
    answer = world.graphql('{repository(owner:"octo",name:"demo"){name issue(number:99){title}}}')
    assert answer["data"] == {"repository": {"name": "demo", "issue": None}}
    (error,) = answer["errors"]
    assert (error["type"], error["path"]) == ("NOT_FOUND", ["repository", "issue"])
    assert error["message"] == "Could not resolve to an Issue with the number of 99."
    unknown = world.graphql("{viewer{shoeSize}}")
    assert unknown["errors"][0]["message"] == "Field 'shoeSize' doesn't exist on type 'User'"
    assert unknown["errors"][0]["extensions"]["code"] == "undefinedField"
    assert "data" not in unknown
    assert "errors" in world.graphql("{viewer{")


def test_documents_github_accepts_against_the_rules(world: World) -> None:
    """The same response name for fields of different types."""
    query = """{repository(owner:"octo",name:"demo"){issueOrPullRequest(number:1){
      ... on Issue{state} ... on PullRequest{state}}}}"""
    world.open_pull()
    assert world.graphql(query)["data"]["repository"]["issueOrPullRequest"] == {"state": "OPEN"}


def test_draft_needs_contents_write_too(world: World) -> None:
    pull = world.open_pull()
    token = world.emulator.installation_token(
        world.app, world.installation["id"], permissions={"pull_requests": "write"}
    )
    body = {
        "query": "mutation($i:ID!){convertPullRequestToDraft(input:{pullRequestId:$i}){pullRequest{isDraft}}}",
        "variables": {"i": pull["node_id"]},
    }
    narrow = world.bot.post("/graphql", json=body, headers={"authorization": f"Bearer {token}"}).json()
    assert narrow["errors"][0]["message"] == "Resource not accessible by integration"
    done = world.bot.post("/graphql", json=body).json()
    assert done["data"]["convertPullRequestToDraft"]["pullRequest"]["isDraft"] is True


def test_create_commit_on_branch_tells_stale_heads(world: World) -> None:
    head = world.head("42-x")
    query = """mutation($i:CreateCommitOnBranchInput!){createCommitOnBranch(input:$i){commit{oid message}}}"""
    change = {
        "branch": {"repositoryNameWithOwner": REPO, "branchName": "42-x"},
        "expectedHeadOid": head,
        "message": {"headline": "Say", "body": "more"},
        "fileChanges": {
            "additions": [{"path": "b.txt", "contents": base64.b64encode(b"b").decode()}],
            "deletions": [{"path": "a.txt"}],
        },
    }
    made = world.graphql(query, i=change)["data"]["createCommitOnBranch"]["commit"]
    assert (made["oid"], made["message"]) == (world.head("42-x"), "Say\n\nmore")
    (error,) = world.graphql(query, i=change)["errors"]
    assert error["type"] == "STALE_DATA"
    assert error["message"] == f'Expected branch to point to "{head}" but it did not.  Pull and try again.'


@pytest.mark.parametrize("operation", ["closeIssue", "reopenIssue"])
def test_issue_mutations(world: World, operation: str) -> None:
    issue = world.emulator.issue(REPO, "One")
    if operation == "reopenIssue":
        world.bot.patch(f"{BASE}/issues/{issue['number']}", json={"state": "closed", "state_reason": "not_planned"})
    query = f"mutation($i:ID!){{{operation}(input:{{issueId:$i}}){{issue{{state stateReason}}}}}}"
    shown = world.graphql(query, i=issue["node_id"])["data"][operation]["issue"]
    wanted = ("CLOSED", "COMPLETED") if operation == "closeIssue" else ("OPEN", "REOPENED")
    assert (shown["state"], shown["stateReason"]) == wanted


def test_comment_mutations_and_sizes(world: World) -> None:
    issue = world.emulator.issue(REPO, "One")
    add = "mutation($i:AddCommentInput!){addComment(input:$i){commentEdge{node{id body}}}}"
    made = world.graphql(add, i={"subjectId": issue["node_id"], "body": "hello"})
    node = made["data"]["addComment"]["commentEdge"]["node"]
    update = "mutation($i:UpdateIssueCommentInput!){updateIssueComment(input:$i){issueComment{body}}}"
    assert world.graphql(update, i={"id": node["id"], "body": "new"})["data"]["updateIssueComment"] == {
        "issueComment": {"body": "new"}
    }
    long = {"body": "x" * 65_537}
    refused = world.bot.post(f"{BASE}/issues/{issue['number']}/comments", json=long)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["message"] == "Body is too long (maximum is 65536 characters)"
