"""Links of Issues, revisions of comments and projects survive the end of the emulator by SIGKILL."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from emulated import ALL, rest
from kept import start

ROOT = Path(__file__).resolve().parents[2]
BASE = "/repos/octo/demo/issues"
SHOWN = """query($c:ID!,$i:ID!){
  comment:node(id:$c){... on IssueComment{editor{login} minimizedReason userContentEdits(first:5){nodes{diff}}}}
  item:node(id:$i){... on ProjectV2Item{note:fieldValueByName(name:"Note"){... on ProjectV2ItemFieldTextValue{text}}
    sprint:fieldValueByName(name:"Sprint"){... on ProjectV2ItemFieldIterationValue{title startDate}}
    content{... on Issue{number parent{number} blockedBy(first:2){nodes{number}} locked milestone{title}}}}}}"""


def asked(client: Any, query: str, **variables: Any) -> Any:
    answer = client.post("/graphql", json={"query": query, "variables": variables}).json()
    assert "errors" not in answer, answer
    return answer["data"]


def test_what_survives(tmp_path: Path) -> None:
    emulator = start(tmp_path / "state")
    dev_token = emulator.user("dev")["token"]
    emulator.org("octo")
    app = emulator.app("keeper", permissions=ALL)
    emulator.repo("octo", "demo", collaborators={"dev": "write"})
    token = emulator.installation_token(app, emulator.installation("keeper", "octo")["id"])
    sprint = [{"title": "First", "start_date": "2099-01-05"}]
    project = emulator.project(
        "octo", fields=[{"name": "Note", "type": "TEXT"}, {"name": "Sprint", "type": "ITERATION", "iterations": sprint}]
    )
    fields = {f["name"]: f for f in project["fields"]}
    one, parent, blocker = (emulator.issue("octo/demo", t) for t in ("One", "Parent", "Blocker"))
    url = f"{BASE}/{one['number']}"
    with rest(emulator, token) as bot, rest(emulator, dev_token) as dev:
        bot.post(f"{BASE}/{parent['number']}/sub_issues", json={"sub_issue_id": one["id"]})
        bot.post(f"{url}/dependencies/blocked_by", json={"issue_id": blocker["id"]})
        bot.post("/repos/octo/demo/milestones", json={"title": "M"})
        bot.patch(url, json={"milestone": 1})
        comment = bot.post(f"{url}/comments", json={"body": "a"}).json()
        dev.patch(f"{BASE}/comments/{comment['id']}", json={"body": "b"})
        hide = "mutation($c:ID!){minimizeComment(input:{subjectId:$c,classifier:RESOLVED}){clientMutationId}}"
        asked(dev, hide, c=comment["node_id"])
        dev.put(f"{url}/lock")
        items = "/orgs/octo/projectsV2/1/items"
        item = bot.post(items, json={"type": "Issue", "id": one["id"]}).json()
        iteration = fields["Sprint"]["configuration"]["iterations"][0]["id"]
        values = [{"id": fields["Note"]["id"], "value": "look"}, {"id": fields["Sprint"]["id"], "value": iteration}]
        assert bot.patch(f"{items}/{item['id']}", json={"fields": values}).status_code == 200
        before = asked(bot, SHOWN, c=comment["node_id"], i=item["node_id"])
    assert emulator.process is not None
    os.kill(emulator.process.pid, signal.SIGKILL)
    emulator.process.wait()
    emulator.stop()
    with start(tmp_path / "state") as again, rest(again, token) as bot:
        after = asked(bot, SHOWN, c=comment["node_id"], i=item["node_id"])
    assert after == before
    assert after["comment"] == {
        "editor": {"login": "dev"},
        "minimizedReason": "resolved",
        "userContentEdits": {"nodes": [{"diff": "b"}, {"diff": "a"}]},
    }
    assert after["item"]["sprint"] == {"title": "First", "startDate": "2099-01-05"}
    assert after["item"]["note"] == {"text": "look"}
    assert after["item"]["content"]["parent"] == {"number": parent["number"]}
