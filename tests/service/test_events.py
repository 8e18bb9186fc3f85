"""Which delivery pokes which key: the table."""

import inspect
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.service import events
from app.service.events import Ignored, Poked, keys_of

OWN = 111
REPO = {"id": 1, "full_name": "octo-org/demo", "default_branch": "main"}
ZERO, SHA = "0" * 40, "a" * 40
PUSHES = json.loads((Path(__file__).parents[1] / "fixtures" / "push_events.json").read_text())
BOT = {"id": 9, "type": "Bot", "login": "agent-recovery[bot]"}
PERSON = {"id": 7, "type": "User", "login": "dev-a"}
OURS = {"user": BOT, "performed_via_github_app": {"id": OWN}}

ON_PULL = {"number": 57, "pull_request": {"url": "u"}}
ITEM = {"content_type": "Issue", "content_node_id": "I_kwDOAB"}
HANDOFF = "<!-- agent-recovery:handoff:42 -->\ntext"


def pull(**fields: object) -> dict[str, object]:
    head = {"ref": "topic", "repo": {"full_name": "octo-org/demo"}}
    return {"number": 57, "body": "", "head": head, **fields}


def head(ref: str, repo: object = "octo-org/demo") -> dict[str, object]:
    return {"ref": ref, "repo": {"full_name": repo} if repo else None}


def run(branch: str | None, *pulls: str, app: int = 15368) -> dict[str, object]:
    named = [{"number": 57, "head": {"ref": pull}} for pull in pulls]
    return {"app": {"id": app}, "check_suite": {"head_branch": branch}, "pull_requests": named}


def guard(branch: str | None, *pulls: str) -> dict[str, object]:
    return {**run(branch, *pulls, app=OWN), "name": "Agent Recovery / release"}


def push(ref: str, **fields: object) -> dict[str, object]:
    return {"ref": ref, "before": SHA, "after": "b" * 40, **fields}


def agent_run(title, branch="main", event="workflow_dispatch"):
    return {"id": 7, "event": event, "head_branch": branch, "display_title": title}


POKED = [
    ("issues", {"action": "opened", "issue": {"number": 42}}, ["#42"]),
    ("issues", {"action": "closed", "issue": {"number": 42, "user": None}}, ["#42"]),
    ("issue_comment", {"issue": {"number": 42}, "comment": {"user": PERSON}, "sender": PERSON}, ["#42"]),
    # on a PR its text names the ticket, and so do our own comments, whoever rewrote or deleted them
    ("issue_comment", {"issue": {**ON_PULL, "body": "Ticket: #42"}, "comment": None}, ["#42"]),
    ("issue_comment", {"action": "deleted", "issue": ON_PULL, "comment": {**OURS, "body": HANDOFF}}, ["#42"]),
    (
        "issue_comment",
        {"action": "edited", "issue": ON_PULL, "comment": {"body": "gone"}, "changes": {"body": {"from": HANDOFF}}},
        ["#42"],
    ),
    ("issue_comment", {"issue": {"number": 42}, "comment": {"user": None}, "sender": None}, ["#42"]),
    # a person's word for a release that is changed or taken away, whatever ticket the release's text names
    ("issue_comment", {"action": "deleted", "issue": ON_PULL, "comment": {"user": PERSON, "body": "x"}}, ["#57"]),
    ("issue_comment", {"action": "edited", "issue": ON_PULL, "comment": None}, ["#57"]),
    (
        "issue_comment",
        {"action": "deleted", "issue": {**ON_PULL, "body": "Ticket: #42"}, "comment": {"body": "/recovery x"}},
        ["#42", "#57"],
    ),
    # a person's hand in our comment is news, and so is another App's comment
    ("issue_comment", {"action": "edited", "issue": {"number": 42}, "comment": OURS, "sender": PERSON}, ["#42"]),
    ("issue_comment", {"action": "deleted", "issue": {"number": 42}, "comment": OURS, "sender": PERSON}, ["#42"]),
    (
        "issue_comment",
        {"issue": {"number": 42}, "comment": {**OURS, "performed_via_github_app": {"id": 5}}, "sender": BOT},
        ["#42"],
    ),
    (
        "issue_comment",
        {"issue": {"number": 42}, "comment": {**OURS, "performed_via_github_app": None}, "sender": BOT},
        ["#42"],
    ),
    ("sub_issues", {"parent_issue": {"number": 1}, "sub_issue": {"number": 2}}, ["#1", "#2"]),
    (
        "issue_dependencies",
        {
            "blocked_issue": {"number": 1},
            "blocking_issue": {"number": 2},
            "blocking_issue_repo": {"full_name": "octo-org/other"},
        },
        ["#1"],
    ),
    ("pull_request", {"pull_request": pull(body="Ticket: #42\r\nWhy")}, ["#42"]),
    ("pull_request", {"pull_request": pull(head=head("ticket/42-fix"))}, ["#42"]),
    (
        "pull_request",
        {"pull_request": pull(head=head("ticket/42.docs-1"), body="Ticket: #42\n")},
        ["#42", "#42.docs-1"],
    ),
    ("pull_request", {"pull_request": pull(body="Ticket: #42", head=head("42"))}, ["#42"]),
    ("pull_request", {"pull_request": pull(body="Ticket: #42", head=head("43"))}, ["#42", "#43"]),
    ("pull_request", {"pull_request": pull(), "changes": {"body": {"from": "Ticket: #42"}}}, ["#42"]),
    # of nobody: its own number, as far as its check may change by it, and the ticket it goes onto
    ("pull_request", {"action": "opened", "pull_request": pull(body=None)}, ["#57"]),
    ("pull_request", {"action": "synchronize", "pull_request": pull(head=head("42", None))}, ["#57"]),
    ("pull_request", {"action": "reopened", "pull_request": pull(head=head("42", "stranger/demo"))}, ["#57"]),
    ("pull_request", {"action": "edited", "pull_request": pull(base={"ref": "ticket/42-x"})}, ["#57", "#42"]),
    ("pull_request", {"action": "closed", "pull_request": pull()}, [""]),
    # what brings a release closer to its merge, or takes it back
    ("pull_request", {"action": "ready_for_review", "pull_request": pull()}, ["#57"]),
    ("pull_request", {"action": "enqueued", "pull_request": pull()}, ["#57"]),
    # a release's text may be made to name a ticket; what else goes where releases go shows what the guard says
    ("pull_request", {"action": "edited", "pull_request": pull(body="Ticket: #42")}, ["#42", ""]),
    ("pull_request", {"action": "closed", "pull_request": pull(body="Ticket: #42")}, ["#42", ""]),
    ("pull_request", {"action": "opened", "pull_request": pull(head=head("42"), base={"ref": "main"})}, ["#42", ""]),
    ("pull_request", {"action": "opened", "pull_request": pull(head=head("42"), base={"ref": "r"})}, ["#42"]),
    ("pull_request", {"pull_request": pull(body="Ticket: #42", head=head("x", None), user=None)}, ["#42"]),
    ("pull_request", {"sender": BOT, "pull_request": pull(head=head("42"))}, ["#42"]),
    ("pull_request_review", {"review": {"user": None}, "pull_request": pull(head=head("42"))}, ["#42"]),
    ("push", push("refs/heads/ticket/42"), ["#42"]),
    ("push", push("refs/heads/ticket/42.docs-1"), ["#42.docs-1"]),
    ("push", push("refs/heads/ticket/42.lock"), [""]),
    ("push", push("refs/heads/ticket/42", after=ZERO, deleted=True, head_commit=None), ["#42"]),
    ("push", push("refs/heads/main"), [""]),
    ("push", push("refs/heads/topic"), [""]),
    ("push", push("refs/heads/ticket/42#tmp"), [""]),
    ("create", {"ref_type": "branch", "ref": "42-x"}, ["#42"]),
    ("delete", {"ref_type": "branch", "ref": "42-x"}, ["#42"]),
    ("check_run", {"action": "completed", "check_run": run("42-x", "43-y")}, ["#42", "#43"]),
    ("check_run", {"action": "completed", "check_run": run("topic", "43-y")}, ["#43"]),
    ("check_run", {"action": "completed", "check_run": run(None, "topic")}, [""]),
    ("check_run", {"action": "completed", "check_run": run("topic")}, [""]),
    ("check_run", {"action": "rerequested", "check_run": run("42", app=OWN)}, ["#42"]),
    ("check_suite", {"check_suite": {"head_branch": "42", "app": {"id": OWN}}}, ["#42"]),
    ("check_run", {"action": "rerequested", "check_run": guard("release-1", "42")}, ["", "@release-1"]),
    ("check_run", {"action": "rerequested", "check_run": guard(None)}, [""]),
    (
        "check_suite",
        {"action": "rerequested", "check_suite": {"head_branch": "release-1", "app": {"id": OWN}}},
        ["", "@release-1"],
    ),
    ("workflow_run", {"workflow_run": {"head_branch": "42", "pull_requests": [{"number": 57}]}}, ["#42"]),
    ("workflow_run", {"workflow_run": agent_run("Ticket 42, attempt 0123456789abcdef")}, ["#42"]),
    ("workflow_run", {"workflow_run": agent_run("Agent for #42 (0123456789abcdef)", branch="43")}, ["#42", "#43"]),
    ("workflow_run", {"workflow_run": agent_run("1 2 3 4 0123456789abcdef")}, ["#1", "#2", "#3"]),
    ("workflow_run", {"workflow_run": agent_run("Ticket 42", branch="43")}, ["#43"]),
    ("workflow_job", {"workflow_job": {"head_branch": "issue-42"}}, ["#42"]),
    ("status", {"branches": [{"name": "main"}, {"name": "42"}, {"name": "43-x"}]}, ["#42", "#43"]),
    (
        "merge_group",
        {"merge_group": {"head_ref": f"refs/heads/gh-readonly-queue/release/1/pr-57-{SHA}"}},
        [""],
    ),
    ("repository", {"action": "edited"}, [""]),
    ("repository_ruleset", {"action": "deleted"}, [""]),
    ("branch_protection_rule", {"action": "edited"}, [""]),
]

IGNORED = [
    ("ping", {}),
    ("projects_v2_item", {}),
    ("", {}),
    ("issue_comment", {"issue": {"number": 42}, "comment": OURS, "sender": BOT}),
    ("check_run", {"action": "created", "check_run": run("42", app=OWN)}),
    ("check_run", {"action": "completed", "check_run": run("42", app=OWN)}),
    ("check_run", {"action": "completed", "check_run": guard("release-1")}),
    ("check_run", {"action": "completed", "check_run": run("main")}),
    ("check_suite", {"check_suite": {"head_branch": None}}),
    ("check_suite", {"action": "completed", "check_suite": {"head_branch": "42", "app": {"id": OWN}}}),
    ("push", push("refs/tags/v1.4.0")),
    ("push", push("refs/tags/42")),
    ("push", push("refs/agent-recovery/active/42")),
    ("push", push("refs/heads/")),
    ("push", push("42")),
    ("push", {}),
    ("create", {"ref_type": "tag", "ref": "42"}),
    ("merge_group", {"merge_group": {"head_ref": "refs/heads/x"}}),
    ("pull_request", {"action": "labeled", "pull_request": pull()}),
    ("pull_request_review", {"action": "submitted", "pull_request": pull()}),
    ("pull_request", {"action": "opened", "pull_request": pull(number=None)}),
    ("issues", {"issue": {"number": "42"}}),
    ("issues", {"issue": {"number": True}}),
    ("issues", {"issue": {"number": -1}}),
    ("issues", {"issue": {"number": 1e3}}),
    ("issues", {"issue": None}),
    ("installation", {"action": "deleted", "repositories": [{"full_name": "octo-org/demo"}]}),
    ("installation", {"action": "suspend", "repositories": [{"full_name": "octo-org/demo"}]}),
    ("installation", {"action": "created", "installation": None}),
    ("installation", {"action": "created", "installation": {"id": "7"}}),
    ("issue_comment", {"issue": ON_PULL, "comment": {"body": "hello"}}),
    ("projects_v2_item", {"action": "reordered", "projects_v2_item": ITEM, "installation": {"id": 7}}),
    ("projects_v2_item", {"projects_v2_item": {**ITEM, "content_type": "DraftIssue"}, "installation": {"id": 7}}),
    ("projects_v2_item", {"projects_v2_item": {**ITEM, "content_node_id": "a/b#1"}, "installation": {"id": 7}}),
    ("projects_v2_item", {"projects_v2_item": {**ITEM, "content_node_id": None}, "installation": {"id": 7}}),
    ("projects_v2_item", {"projects_v2_item": ITEM}),
    ("projects_v2_item", {"projects_v2_item": None}),
    ("issue_comment", {"issue": {**ON_PULL, "body": None}, "comment": None}),
    ("workflow_run", {"workflow_run": agent_run("Ticket 42")}),
    ("workflow_run", {"workflow_run": agent_run("Ticket 42, attempt 0123456789abcdef", event="schedule")}),
    ("workflow_run", {"workflow_run": agent_run(None)}),
    ("workflow_run", {"workflow_run": agent_run("42 0123456789abcdef" + " " * 1000)}),
    ("workflow_run", {"workflow_run": agent_run("x42 99999999999 42.docs-1 v1.42 0123456789abcdef")}),
    ("workflow_run", {"workflow_run": None}),
    ("installation_repositories", {"action": "removed", "repositories_removed": [{"full_name": "a/b"}]}),
]


@pytest.mark.parametrize(("event", "payload", "suffixes"), POKED)
def test_poked(event, payload, suffixes):
    routing = keys_of(event, {"repository": REPO, **payload}, own_app_id=OWN)
    assert isinstance(routing, Poked)
    assert routing.keys == tuple(f"octo-org/demo{suffix}" for suffix in suffixes)
    assert routing.reason


def test_a_move_on_a_board_pokes_the_issue_by_its_id_for_the_event_names_no_repository():
    payload = {"action": "edited", "projects_v2_item": ITEM, "installation": {"id": 7}, "organization": {"login": "o"}}
    assert keys_of("projects_v2_item", payload, own_app_id=OWN).keys == ("installation:7/I_kwDOAB",)


@pytest.mark.parametrize(("event", "payload"), IGNORED)
def test_ignored_with_a_reason(event, payload):
    routing = keys_of(event, {"repository": REPO, **payload}, own_app_id=OWN)
    assert isinstance(routing, Ignored)
    assert routing.reason


@pytest.mark.parametrize("action", ["created", "unsuspend", "new_permissions_accepted"])
@pytest.mark.parametrize("repositories", [None, [], [{"full_name": "octo-org/a"}] * 20_000])
def test_an_installation_is_one_key_however_many_repositories_it_lists(action, repositories):
    payload = {"action": action, "installation": {"id": 7}, "repositories": repositories}
    assert keys_of("installation", payload, own_app_id=OWN) == Poked(("installation:7",), "the App may act here now")


def test_added_repositories_are_poked():
    names = ["octo-org/a", "octo-org/b", "octo-org/a", "../..", None, "octo-org/a#1"]
    payload = {"action": "added", "repositories_added": [*({"full_name": name} for name in names), "odd"]}
    routing = keys_of("installation_repositories", payload, own_app_id=OWN)
    assert routing == Poked(("octo-org/a", "octo-org/b"), "the App may act here now")


@pytest.mark.parametrize("case", PUSHES["input"]["cases"], ids=lambda case: case["name"])
def test_published_push(case):
    routing = keys_of("push", {**case["payload"], "repository": REPO}, own_app_id=OWN)
    expected = PUSHES["expected"]["cases"][case["name"]]
    if expected["type"] == "tag":
        assert routing == Ignored("a tag")
        # Of no branch, so no lease is touched and nothing is done.
        assert (expected["branch"], expected["effects"]) == (None, 0)
    elif expected["type"] == "ignored":
        assert routing == Ignored(expected["reason"])
    else:
        assert expected["type"] in ("branch_created", "branch_deleted", "branch_updated")
        if expected["type"] == "branch_deleted":
            # A key carries no commit: the round reads where the branch stands.
            assert ("0" * 40 in str(routing)) is expected["fetch_commit"]
        key = "octo-org/demo#42" if expected.get("branch", "ticket/42") == "ticket/42" else "octo-org/demo"
        assert isinstance(routing, Poked)
        assert routing.keys == (key,)


@pytest.mark.parametrize(
    "name",
    [None, 5, "", "demo", "a/b/c", "a/b#1", "a/..", "a b/c", "a/b\n", {"x": 1}, "o/" + "r" * 5000],
)
@pytest.mark.parametrize("event", ["issues", "push", "pull_request", "repository", "check_run"])
def test_a_hostile_repository_name_never_enters_a_key(event, name):
    payload = {
        "repository": {"full_name": name},
        "issue": {"number": 42},
        "ref": "refs/heads/42",
        "pull_request": pull(head=head("42", name)),
        "check_run": run("42"),
    }
    assert isinstance(keys_of(event, payload, own_app_id=OWN), Ignored)


# What the rules read, so that odd values meet them where they look.
FIELDS = sorted(set(re.findall(r'"([a-z_]+)"', inspect.getsource(events))))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)


@given(st.sampled_from(sorted(events._RULES)), JSON)
def test_no_payload_breaks_the_routing(event, payload):
    assert isinstance(keys_of(event, payload, own_app_id=OWN), Poked | Ignored)
