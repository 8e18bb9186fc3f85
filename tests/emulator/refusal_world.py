"""One world in which every row of the table of refusals can be tried, and the names its rows use."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import jwt
import yaml
from emulated import ZERO, git, new_commit, rest

from app.emulator.client import Emulator

ROWS = Path(__file__).parent / "refusals"
UNKNOWN = "deadbeef" * 5
PERMISSIONS = {
    **dict.fromkeys(("contents", "issues", "pull_requests", "checks", "statuses", "actions"), "write"),
    "metadata": "read",
    "organization_projects": "write",
}
CI = "name: ci\non: push\njobs: {}\n"
RESUME = "name: resume\non:\n  workflow_dispatch:\n    inputs:\n      ticket: {required: true}\njobs: {}\n"


@dataclass(frozen=True)
class Row:
    """One refusal: the call (`call` REST, `graphql` or `git`), what it is answered, and where that is known from."""

    subject: str
    number: int
    source: str
    call: str = ""
    graphql: str = ""
    git: str = ""
    who: str = "app"
    body: Any = None
    raw: str | None = None
    status: int | None = None
    says: str = ""
    silent: bool = False
    type: str | None = None

    @property
    def name(self) -> str:
        return f"{self.subject}-{self.number}"


def rows() -> list[Row]:
    """The whole table."""
    found = []
    for file in sorted(ROWS.glob("*.yaml")):
        listed = yaml.safe_load(file.read_text(encoding="utf-8"))
        found += [Row(subject=file.stem, number=number, **row) for number, row in enumerate(listed, start=1)]
    return found


def as_markdown() -> str:
    """The table for readers (`docs/emulator-refusals.md`)."""
    lines = [
        "# What the emulated GitHub refuses",
        "",
        "Every row is a test (`tests/emulator/test_refusals.py`); `tests/emulator/write_refusals.py` writes the page.",
        "Names in braces stand for what the test's world has; `app` is an App with every permission. GraphQL refuses",
        "with 200 and a type; of git it is told how it ended. `PullRequest head invalid` is an error's resource, field",
        "and code.",
    ]
    for subject in dict.fromkeys(row.subject for row in rows()):
        lines += ["", f"## {subject.capitalize()}", "", "| call | who | answer | known from |", "|---|---|---|---|"]
        lines += [_line(row) for row in rows() if row.subject == subject]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    if row.git:
        asked, status = f"`git {row.git}`", f"exit {row.status}"
    elif row.graphql:
        asked, status = f"`{row.graphql}`", f"200 {row.type or 'error'}:"
    else:
        sent = "" if row.body is None else f" `{json.dumps(row.body, ensure_ascii=False)}`"
        asked, status = f"`{row.call}`{sent}{f' `{row.raw}`' if row.raw else ''}", str(row.status)
    cells = (asked, row.who, f"{status} {row.says or '(no body)'}", row.source)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


@dataclass
class RefusalWorld:
    """`values` are what a row may name in braces; `clients` who may ask."""

    emulator: Emulator
    folder: Path
    values: dict[str, Any] = field(default_factory=dict)
    clients: dict[str, httpx.Client] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    def arrange(self) -> None:
        """Make everything that rows name."""
        self.emulator.reset()
        self._people_and_repositories()
        self._apps()
        self._commits()
        self._pulls()
        self._issues()
        self._projects()
        self._checks()
        self._moved()
        self.clone = self.folder / "clone"
        git(self.folder, "clone", "-q", "--no-single-branch", self._remote("dev"), "clone")
        git(self.clone, "config", "user.name", "Dev")
        git(self.clone, "config", "user.email", "dev@example.com")
        git(self.clone, "remote", "set-url", "origin", self._remote("dev"))
        new_commit(self.clone, "local.txt")
        for who in ("dev", "reader", "garbage"):
            self.values[f"url_{who}"] = self._root(who)
        self.values["url"] = self._root("dev")

    def ask(self, row: Row) -> tuple[int, str, list[str | None]]:
        """What a row's call is answered: the status (of git, how it ended), text, and the types of GraphQL errors."""
        if row.git:
            return self._git(row.git)
        client = self.clients[row.who]
        if row.graphql:
            answer = client.post("/graphql", json={"query": self.filled(row.graphql)})
            errors = answer.json().get("errors", [])
            return answer.status_code, "\n".join(e["message"] for e in errors), [e.get("type") for e in errors]
        method, _, path = row.call.partition(" ")
        body = row.raw.encode() if row.raw is not None else None
        sent = None if row.body is None else self._filled_in(row.body)
        url = self.filled(path)
        if body is not None:
            answer = client.request(method, url, content=body, headers={"content-type": "application/json"})
        else:
            answer = client.request(method, url, json=sent)
        return answer.status_code, _sentences(answer), []

    def _git(self, arguments: str) -> tuple[int, str, list[str | None]]:
        words = [self.filled(word) for word in arguments.split()]
        done = git(self.folder if words[0] == "clone" else self.clone, *words, check=False)
        assert done.returncode != 0, "it was not refused"
        return done.returncode, done.stderr, []

    def filled(self, text: str) -> str:
        for name, value in self.values.items():
            if isinstance(value, str | int):
                text = text.replace(f"{{{name}}}", str(value))
        return text

    def _filled_in(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._filled_in(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self._filled_in(part) for part in value]
        if isinstance(value, str):
            whole = value[1:-1] if value.startswith("{") and value.endswith("}") else ""
            return self.values[whole] if whole in self.values else self.filled(value)
        return value

    # The world

    def _people_and_repositories(self) -> None:
        e = self.emulator
        for login in ("dev", "reader", "stranger", "owner", "limited"):
            self.tokens[login] = e.user(login)["token"]
        e.org("octo")
        people = {"dev": "write", "reader": "read", "owner": "admin", "limited": "write"}
        files = {"README.md": "hello\n", ".github/workflows/ci.yml": CI, ".github/workflows/resume.yml": RESUME}
        branches: dict[str, Any] = {"release-1": None, "same-as-main": None, "aside": None}
        branches |= {"42-x": {"a.txt": "1\n"}, "clashing": {"README.md": "other\n"}, "drafted": {"d.txt": "1\n"}}
        branches |= {name: {f"{name}.txt": "1\n"} for name in ("shut", "landed", "rewritten", "headless", "authored")}
        repo = e.repo("octo", "demo", files=files, branches=branches, collaborators=people)
        self.values |= {"repo": "/repos/octo/demo", "repo_id": repo["node_id"], "zero": ZERO, "unknown": UNKNOWN}
        made = rest(e, self.tokens["stranger"]).post("/user/repos", json={"name": "void"})
        made.raise_for_status()
        e.repo("octo", "attic", files={"a": "1\n"}, collaborators=people)
        e.repo("octo", "secret", files={"a": "1\n"}, private=True)
        e.repo(
            "octo",
            "plain",
            files={"a": "1\n"},
            branches={"topic": {"b": "1\n"}, "other": {"c": "1\n"}},
            private=True,
            plan_allows_drafts=False,
        )
        e.repo("dev", "mine", files={"a": "1\n"})
        e.repo("stranger", "own", files={"a": "1\n"})
        self.values |= {
            "empty": "/repos/stranger/void",
            "archived": "/repos/octo/attic",
            "private": "/repos/octo/secret",
            "nodrafts": "/repos/octo/plain",
            "mine": "/repos/dev/mine",
        }

    def _apps(self) -> None:
        e = self.emulator
        app = e.app("keeper", permissions=PERMISSIONS, events=[])
        installation = int(e.installation("keeper", "octo")["id"])
        self.tokens["expired"] = e.installation_token(app, installation)
        e.advance(3700)
        asleep = int(e.installation("keeper", "stranger")["id"])
        e.change_installation(asleep, suspended=True)
        rival = e.app("rival", permissions=PERMISSIONS, events=[])
        self.tokens |= {
            "app": e.installation_token(app, installation),
            "narrow": e.installation_token(app, installation, permissions={"metadata": "read"}),
            "revoked": e.installation_token(app, installation),
            "rival": e.installation_token(rival, int(e.installation("rival", "octo")["id"])),
            "garbage": "ghp_nobodyhasthistokenatallanywhere000000",
            "jwt": e.app_jwt(app),
            "old_jwt": self._jwt(app, -900, -300),
            "far_jwt": self._jwt(app, -30, 7200),
        }
        self.clients = {name: rest(e, token) for name, token in self.tokens.items()}
        self.clients["nobody"] = httpx.Client(base_url=e.url, timeout=30, trust_env=False, verify=False)
        self.clients["revoked"].delete("/installation/token").raise_for_status()
        e.rate("user:limited", 0)
        self.values |= {"installation": installation, "suspended": asleep}

    def _jwt(self, app: dict[str, Any], begins_s: int, ends_s: int) -> str:
        now = int(self.emulator.now())
        claims = {"iat": now + begins_s, "exp": now + ends_s, "iss": str(app["id"])}
        return jwt.encode(claims, app["pem"], "RS256")

    def _commits(self) -> None:
        e = self.emulator
        main = self._head("main")
        # Beside 42-x, so that no move between the two is a fast forward.
        side = self._app("POST", "/repos/octo/demo/git/commits", message="side", tree=self._tree(main), parents=[main])
        self.values |= {"main": main, "side": side["sha"], "tree": self._tree(main)}
        e.commit("octo/demo", {"README.md": "clash\n"}, branch="release-1")

    def _pulls(self) -> None:
        e = self.emulator
        self._opened("pull", "42-x", "release-1")
        self._opened("draft", "drafted", "main", draft=True)
        clash = self._opened("conflict", "clashing", "release-1")
        self.clients["dev"].put(f"/repos/octo/demo/issues/{clash}/lock").raise_for_status()
        for name, head in (("closed", "shut"), ("rewritten", "rewritten"), ("headless", "headless")):
            number = self._opened(name, head, "main")
            self._app("PATCH", f"/repos/octo/demo/pulls/{number}", state="closed")
        self._app("PATCH", "/repos/octo/demo/git/refs/heads/rewritten", sha=self.values["side"], force=True)
        self._app("DELETE", "/repos/octo/demo/git/refs/heads/headless")
        landed = self._opened("merged", "landed", "aside")
        for _ in range(6):
            self._app("GET", f"/repos/octo/demo/pulls/{landed}")
        self._app("PUT", f"/repos/octo/demo/pulls/{landed}/merge")
        for number in (self.values["pull"], self.values["conflict"]):
            for _ in range(6):
                self._app("GET", f"/repos/octo/demo/pulls/{number}")
        made = self.clients["dev"].post(
            "/repos/octo/demo/pulls", json={"title": "mine", "head": "authored", "base": "main"}
        )
        self.values["authored"] = made.raise_for_status().json()["number"]
        only = self._app("POST", "/repos/octo/plain/pulls", title="x", head="topic", base="main")
        for _ in range(6):
            self._app("GET", f"/repos/octo/plain/pulls/{only['number']}")
        self.values["onlymerge"] = only["number"]
        e.change_repo("octo/plain", allow_squash_merge=False, allow_rebase_merge=False)

    def _issues(self) -> None:
        e = self.emulator
        issue, child, locked = (e.issue("octo/demo", title) for title in ("One", "Child", "Locked"))
        other = e.issue("octo/demo", "Parent of child")
        number = issue["number"]
        comment = self._app("POST", f"/repos/octo/demo/issues/{number}/comments", body="hello")
        self.clients["dev"].put(f"/repos/octo/demo/issues/{locked['number']}/lock").raise_for_status()
        dbids = {
            name: self._app("GET", f"/repos/octo/demo/issues/{i['number']}")
            for name, i in (("issue", issue), ("child", child), ("locked", locked), ("parent", other))
        }
        self._app("POST", f"/repos/octo/demo/issues/{other['number']}/sub_issues", sub_issue_id=dbids["child"]["id"])
        self._app("POST", "/repos/octo/demo/labels", name="bug", color="ff0000") if not self._has_label("bug") else None
        self.values |= {f"{name}_dbid": shown["id"] for name, shown in dbids.items()}
        self.values |= {
            "issue": number,
            "issue_id": dbids["issue"]["node_id"],
            "locked": locked["number"],
            "locked_id": dbids["locked"]["node_id"],
            "child": child["number"],
            "parent": other["number"],
            "comment": comment["id"],
            "comment_id": comment["node_id"],
            "long": "x" * 70_000,
        }

        links = f"/repos/octo/demo/issues/{child['number']}/dependencies/blocked_by"
        self._app("POST", links, issue_id=dbids["locked"]["id"])

    def _projects(self) -> None:
        stage = {"name": "Stage", "type": "SINGLE_SELECT", "options": ["Ready", "Done"]}
        project, other = (self.emulator.project("octo", title, fields=[stage]) for title in ("Plan", "Other"))
        self.emulator.project("dev")
        fields = {field["name"]: field for field in project["fields"]}
        item = self._app("POST", "/orgs/octo/projectsV2/1/items", type="Issue", id=self.values["issue_dbid"])
        self.values |= {
            "project_id": project["node_id"],
            "other_project_id": other["node_id"],
            "item": item["id"],
            "item_id": item["node_id"],
            "stage": fields["Stage"]["id"],
            "stage_id": fields["Stage"]["node_id"],
            "title_id": fields["Title"]["node_id"],
        }

    def _checks(self) -> None:
        made = self.clients["rival"].post(
            "/repos/octo/demo/check-runs", json={"name": "rival", "head_sha": self.values["main"]}
        )
        self.values["foreign_run"] = made.raise_for_status().json()["id"]
        one = {"path": "a", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}
        self.values["annotations"] = [one] * 51

    def _moved(self) -> None:
        self.emulator.repo("octo", "old-name", files={"a": "1\n"})
        self.emulator.rename_repo("octo/old-name", "new-name")
        self.emulator.change_repo("octo/attic", archived=True)

    # Short ways

    def _app(self, method: str, path: str, **body: Any) -> Any:
        answer = self.clients["app"].request(method, path, json=body or None)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def _head(self, branch: str) -> str:
        return str(self._app("GET", f"/repos/octo/demo/git/ref/heads/{branch}")["object"]["sha"])

    def _tree(self, commit: str) -> str:
        return str(self._app("GET", f"/repos/octo/demo/git/commits/{commit}")["tree"]["sha"])

    def _has_label(self, name: str) -> bool:
        return self.clients["app"].get(f"/repos/octo/demo/labels/{name}").is_success

    def _opened(self, name: str, head: str, base: str, *, draft: bool = False) -> int:
        made = self._app("POST", "/repos/octo/demo/pulls", title=name, head=head, base=base, draft=draft)
        self.values |= {name: made["number"], f"{name}_id": made["node_id"]}
        return int(made["number"])

    def _root(self, who: str) -> str:
        return self.emulator.url.replace("http://", f"http://x-access-token:{self.tokens[who]}@")

    def _remote(self, who: str) -> str:
        return f"{self._root(who)}/octo/demo.git"


def _sentences(answer: httpx.Response) -> str:
    """GitHub's words: the message and what its `errors` say."""
    try:
        body = answer.json()
    except ValueError:
        return answer.text
    if not isinstance(body, dict):
        return ""
    details = body.get("details")
    said = [str(body.get("message", "")), str(details.get("message", "")) if isinstance(details, dict) else ""]
    for error in body.get("errors") or []:
        if isinstance(error, dict):
            said.append(str(error.get("message") or ""))
            said.append(" ".join(str(error[name]) for name in ("resource", "field", "code") if error.get(name)))
            if error.get("code") == "invalid":
                said.append(f"field '{error.get('field')}' is invalid")
        else:
            said.append(str(error))
    return "\n".join(filter(None, said))
