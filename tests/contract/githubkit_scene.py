"""One story that asks for everything the emulator serves, subject by subject; each leaves its things for the reads."""

from typing import Any

from app.emulator.client import Emulator
from tests.contract.githubkit_client import Caller, text

ACTIONS = ".github/workflows/run.yml"
WORKFLOW = (
    "name: Run\non:\n  workflow_dispatch:\njobs:\n  one:\n    runs-on: ubuntu-latest\n    steps:\n      - run: true\n"
)
RULES: dict[str, Any] = {"name": "guard", "target": "branch", "enforcement": "active", "rules": [{"type": "deletion"}]}
QUEUE: dict[str, Any] = {
    "check_response_timeout_minutes": 5,
    "grouping_strategy": "ALLGREEN",
    "max_entries_to_build": 5,
    "max_entries_to_merge": 5,
    "merge_method": "MERGE",
    "min_entries_to_merge": 1,
    "min_entries_to_merge_wait_minutes": 0,
}
PROTECTION: dict[str, Any] = {
    "required_status_checks": {"strict": True, "contexts": ["ci"]},
    "enforce_admins": False,
    "required_pull_request_reviews": {"required_approving_review_count": 1},
    "restrictions": {"users": ["dev"], "teams": [], "apps": []},
}


def people_and_repositories(call: Caller) -> None:
    call("repos/create-for-authenticated-user", {"name": "mine", "auto_init": True})
    call("repos/create-in-org", {"name": "ours", "auto_init": True}, org="octo")
    call("repos/update", {"description": "A demo", "allow_update_branch": True, "allow_auto_merge": True})
    call("repos/update", {"visibility": "private"})
    call("repos/update", {"visibility": "public"})
    call("repos/add-collaborator", {"permission": "pull"}, username="guest")
    call("repos/remove-collaborator", username="guest")
    call("repos/create-fork", {"name": "forked"})
    call("repos/merge-upstream", {"branch": "main"}, owner="dev", repo="forked")
    call("repos/transfer", {"new_owner": "octo", "new_name": "moved"}, owner="dev", repo="mine")
    call("repos/delete", owner="dev", repo="forked")


def git_data(call: Caller) -> None:
    head = call("git/get-ref", ref="heads/main")["object"]["sha"]
    blob = call("git/create-blob", {"content": "hello", "encoding": "utf-8"}, keep="file_sha=sha")["sha"]
    entry = {"path": "g.txt", "mode": "100644", "type": "blob", "sha": blob}
    tree = call("git/create-tree", {"base_tree": head, "tree": [entry]}, keep="tree_sha=sha")["sha"]
    made = call("git/create-commit", {"message": "g", "tree": tree, "parents": [head]}, keep="commit_sha=sha")["sha"]
    tag = {"tag": "v1", "message": "one", "object": made, "type": "commit"}
    call("git/create-tag", tag, keep="tag_sha=sha")
    call("git/create-ref", {"ref": "refs/heads/topic", "sha": head})
    call("git/update-ref", {"sha": made, "force": False}, ref="heads/topic")
    call("git/create-ref", {"ref": "refs/heads/brief", "sha": head})
    call("repos/rename-branch", {"new_name": "brief-one"}, branch="brief")
    call("git/delete-ref", ref="heads/brief-one")
    file = call("repos/create-or-update-file-contents", {"message": "n", "content": text("n")}, path="n.txt")
    call("repos/delete-file", {"message": "d", "sha": file["content"]["sha"]}, path="n.txt")
    call("git/create-ref", {"ref": "refs/heads/merged", "sha": head})
    call("repos/merge", {"base": "merged", "head": "topic", "commit_message": "m"})
    call.known |= {"ref": "heads/main", "path": "README.md", "basehead": "main...topic"}


def issues(call: Caller) -> None:
    first = call("issues/create", {"title": "First", "body": "b"}, keep="issue_number=number")
    second = call("issues/create", {"title": "Second", "assignees": ["dev"]})
    child = call("issues/create", {"title": "Child"})
    call("issues/update", {"title": "The first"})
    # Neither the description nor githubkit knows these in the list of events, which is read of the first Issue.
    call("issues/update", {"state": "closed", "state_reason": "completed"}, issue_number=second["number"])
    call("issues/update", {"state": "open"}, issue_number=second["number"])
    call("issues/create-label", {"name": "crash", "color": "ff0000", "description": "d"}, keep="name")
    call("issues/create-label", {"name": "spare", "color": "00ff00"})
    call("issues/update-label", {"new_name": "extra"}, name="spare")
    call("issues/delete-label", name="extra")
    call("issues/add-labels", {"labels": ["crash"]})
    call("issues/set-labels", {"labels": ["crash", "new"]})
    call("issues/remove-label", name="new")
    call("issues/remove-all-labels")
    call("issues/add-labels", {"labels": ["crash"]})
    call("issues/create-milestone", {"title": "Soon"}, keep="milestone_number=number")
    call("issues/update-milestone", {"description": "d", "due_on": "2030-01-01T00:00:00Z"})
    call("issues/delete-milestone", milestone_number=call("issues/create-milestone", {"title": "Never"})["number"])
    call("issues/update", {"milestone": call.known["milestone_number"]})
    call("issues/add-assignees", {"assignees": ["dev"]})
    call("issues/remove-assignees", {"assignees": ["dev"]})
    call("issues/create-comment", {"body": "c"}, keep="comment_id=id")
    call("issues/update-comment", {"body": "changed"})
    call("issues/delete-comment", comment_id=call("issues/create-comment", {"body": "gone"})["id"])
    call("reactions/create-for-issue", {"content": "eyes"}, keep="reaction_id=id")
    call("reactions/list-for-issue")
    call("reactions/delete-for-issue")
    call("reactions/create-for-issue-comment", {"content": "heart"}, keep="reaction_id=id")
    call("reactions/delete-for-issue-comment")
    call("reactions/create-for-issue", {"content": "rocket"})
    call("reactions/create-for-issue-comment", {"content": "rocket"})
    call("issues/lock", {"lock_reason": "resolved"})
    call("issues/lock", {"lock_reason": "resolved"}, issue_number=second["number"])
    call("issues/unlock", issue_number=second["number"])
    for number in (child, second):
        call("issues/add-sub-issue", {"sub_issue_id": number["id"]})
    call("issues/reprioritize-sub-issue", {"sub_issue_id": second["id"], "before_id": child["id"]})
    call("issues/get-parent", issue_number=child["number"])
    call("issues/list-sub-issues")
    call("issues/remove-sub-issue", {"sub_issue_id": second["id"]})
    call("issues/add-blocked-by-dependency", {"issue_id": second["id"]})
    call("issues/list-dependencies-blocked-by")
    call("issues/list-dependencies-blocking", issue_number=second["number"])
    call("issues/remove-dependency-blocked-by", issue_id=second["id"])
    call("issues/update", {"body": f"See #{second['number']}", "assignees": ["dev"]}, issue_number=first["number"])
    call.known["event_id"] = call("issues/list-events")[0]["id"]
    call.known["assignee"] = "dev"


def pulls(call: Caller, emulator: Emulator) -> None:
    pull = call("pulls/create", {"title": "P", "head": "topic", "base": "main", "body": "x"}, keep="pull_number=number")
    number = pull["number"]
    call("pulls/update", {"title": "A pull request"})
    call("pulls/request-reviewers", {"reviewers": ["critic"]})
    call("pulls/remove-requested-reviewers", {"reviewers": ["critic"]})
    call("pulls/request-reviewers", {"reviewers": ["critic"]})
    review = call("pulls/create-review", {"body": "so far"}, who="critic", keep="review_id=id")
    call("pulls/update-review", {"body": "to be thought about"}, who="critic")
    call("pulls/submit-review", {"event": "COMMENT", "body": "fine"}, who="critic", review_id=review["id"])
    pending = call("pulls/create-review", {}, who="critic")
    call("pulls/delete-pending-review", who="critic", review_id=pending["id"])
    approved = call("pulls/create-review", {"event": "APPROVE"}, who="critic")
    call("pulls/dismiss-review", {"message": "stale"}, review_id=approved["id"])
    line = {"body": "why?", "commit_id": pull["head"]["sha"], "path": "g.txt", "line": 1, "side": "RIGHT"}
    comment = call("pulls/create-review-comment", line, who="critic", keep="review_comment_id=id")
    call("pulls/create-reply-for-review-comment", {"body": "so"}, comment_id=comment["id"])
    call("pulls/update-review-comment", {"body": "why indeed?"}, who="critic", comment_id=comment["id"])
    call("pulls/get-review-comment", comment_id=comment["id"])
    other = call("pulls/create-review-comment", line | {"body": "gone"}, who="critic")
    call("pulls/delete-review-comment", who="critic", comment_id=other["id"])
    emulator.commit("octo/demo", {"late.txt": "1\n"}, branch="main")
    call("pulls/update-branch", {})
    call("pulls/get", pull_number=number)
    call("pulls/list-files")
    call("pulls/list-commits")
    call("pulls/merge", {"merge_method": "squash"})
    call("pulls/check-if-merged")
    emulator.repo("octo", "later", branches={"x": {"x.txt": "x\n"}}, collaborators={"dev": "admin"})
    later = call("pulls/create", {"title": "L", "head": "x", "base": "main"}, repo="later")
    merging = call("pulls/merge-async", {}, repo="later", pull_number=later["number"])
    uuid = merging["details"]["uuid"]
    call("pulls/get-merge-async-result", repo="later", pull_number=later["number"], uuid=uuid)


def threads_and_queues(call: Caller, emulator: Emulator) -> None:
    """What only GraphQL does, or GitHub by itself: for its events."""
    threads = call.graphql(
        """query($n:Int!){repository(owner:"octo",name:"demo"){pullRequest(number:$n){
          reviewThreads(first:1){nodes{id}}}}}""",
        n=call.known["pull_number"],
    )["repository"]["pullRequest"]["reviewThreads"]["nodes"]
    resolve = "mutation($t:ID!){resolveReviewThread(input:{threadId:$t}){thread{isResolved}}}"
    call.graphql(resolve, t=threads[0]["id"])
    emulator.repo("octo", "queued", branches={"x": {"x.txt": "x\n"}}, collaborators={"dev": "admin"})
    rule = {"type": "merge_queue", "parameters": QUEUE}
    where = {"conditions": {"ref_name": {"include": ["refs/heads/main"], "exclude": []}}}
    call("repos/create-repo-ruleset", {**RULES, **where, "rules": [rule]}, repo="queued")
    pull = call("pulls/create", {"title": "Q", "head": "x", "base": "main"}, repo="queued")
    call("pulls/merge-async", {"merge_action": "merge_queue"}, repo="queued", pull_number=pull["number"])
    emulator.wait_for("merge_group", "checks_requested")


def checks(call: Caller) -> None:
    sha = call.known["commit_sha"]
    note = {"path": "g.txt", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}
    output = {"title": "t", "summary": "s", "annotations": [note]}
    call("checks/set-suites-preferences", {"auto_trigger_checks": []})
    call("checks/create", {"name": "ci", "head_sha": sha, "output": output}, who="bot", keep="check_run_id=id")
    call("checks/update", {"status": "completed", "conclusion": "success"}, who="bot")
    call("checks/create-suite", {"head_sha": sha}, who="bot", keep="check_suite_id=id")
    call("checks/rerequest-run", who="bot")
    call("checks/rerequest-suite", who="bot")
    call("repos/create-commit-status", {"state": "success", "context": "c", "description": "d"}, sha=sha)
    for read in ("get-combined-status-for-ref", "list-commit-statuses-for-ref"):
        call(f"repos/{read}", ref=sha)
    for read in ("list-for-ref", "list-suites-for-ref"):
        call(f"checks/{read}", ref=sha)


def guards(call: Caller) -> None:
    ruleset = {**RULES, "conditions": {"ref_name": {"include": ["refs/heads/r"], "exclude": []}}}
    call("repos/create-repo-ruleset", ruleset, keep="ruleset_id=id")
    call("repos/update-repo-ruleset", {"rules": [{"type": "deletion"}, {"type": "non_fast_forward"}]})
    call("repos/get-branch-rules", branch="r")
    call("repos/delete-repo-ruleset", ruleset_id=call("repos/create-repo-ruleset", ruleset | {"name": "o"})["id"])
    call.known["branch"] = "topic"
    call("repos/update-branch-protection", PROTECTION)
    for read in (
        "get-branch-protection",
        "get-admin-branch-protection",
        "get-status-checks-protection",
        "get-all-status-check-contexts",
        "get-pull-request-review-protection",
        "get-access-restrictions",
    ):
        call(f"repos/{read}")
    call("repos/set-admin-branch-protection")
    call("repos/delete-admin-branch-protection")
    call("repos/create-commit-signature-protection")
    call("repos/get-commit-signature-protection")
    call("repos/delete-commit-signature-protection")
    call("repos/add-status-check-contexts", {"contexts": ["more"]})
    call("repos/remove-status-check-contexts", {"contexts": ["more"]})
    call("repos/set-status-check-contexts", {"contexts": ["ci"]})
    call("repos/update-status-check-protection", {"strict": False})
    call("repos/update-pull-request-review-protection", {"required_approving_review_count": 2})
    call("repos/get-branch")
    call("repos/delete-pull-request-review-protection")
    call("repos/remove-status-check-protection")
    call("repos/delete-access-restrictions")
    call("repos/delete-branch-protection")


def shipping(call: Caller) -> None:
    call("repos/create-release", {"tag_name": "v1.0", "name": "One", "draft": True}, keep="release_id=id")
    call("repos/update-release", {"draft": False, "body": "All of it"})
    order = {"ref": "main", "environment": "staging", "required_contexts": [], "auto_merge": False}
    call("repos/create-deployment", order, keep="deployment_id=id")
    call("repos/create-deployment-status", {"state": "success"}, keep="status_id=id")
    call.known["tag"] = "v1.0"


def unshipping(call: Caller) -> None:
    """After the reads, which look at both."""
    call("repos/create-deployment-status", {"state": "inactive"})
    call("repos/delete-deployment")
    call("repos/delete-release")


def actions(call: Caller) -> None:
    call.known["workflow_id"] = "run.yml"
    call("actions/disable-workflow")
    call("actions/enable-workflow")
    call("actions/create-repo-variable", {"name": "AGENT_COMMAND", "value": "agent"})
    call("actions/update-repo-variable", {"value": "another"}, name="AGENT_COMMAND")
    call("actions/get-repo-variable", name="AGENT_COMMAND")
    call("actions/create-repo-variable", {"name": "SPARE", "value": "s"})
    call("actions/delete-repo-variable", name="SPARE")
    run = call("actions/create-workflow-dispatch", {"ref": "main"})["workflow_run_id"]
    call.known |= {"run_id": run, "attempt_number": 1}
    call("repos/create-dispatch-event", {"event_type": "something", "client_payload": {"a": 1}})
    call("actions/list-jobs-for-workflow-run")
    call.known["job_id"] = call("actions/list-jobs-for-workflow-run")["jobs"][0]["id"]


def ending_runs(call: Caller, emulator: Emulator) -> None:
    """After the reads, which know the first attempt."""
    call("actions/cancel-workflow-run")
    emulator.flush()
    call("actions/re-run-workflow")
    call("actions/force-cancel-workflow-run")
    emulator.flush()
    call("actions/re-run-workflow-failed-jobs")
    call("actions/cancel-workflow-run")
    emulator.flush()
    job = call("actions/list-jobs-for-workflow-run")["jobs"][0]["id"]
    call("actions/re-run-job-for-workflow-run", job_id=job)


def projects(call: Caller, emulator: Emulator) -> None:
    for kind, owner in (("org", "octo"), ("user", "dev")):
        made = emulator.project(owner, "Plan", fields=[{"name": "Note", "type": "TEXT"}], creator="dev")
        call.known |= {"org": owner, "username": owner, "project_number": made["number"]}
        field = next(f for f in call(f"projects/list-fields-for-{kind}") if f["name"] == "Note")
        content = {"type": "Issue", "owner": "octo", "repo": "demo", "number": call.known["issue_number"]}
        call.known |= {"field_id": field["id"], "item_id": call(f"projects/add-item-for-{kind}", content)["id"]}
        call(f"projects/get-field-for-{kind}")
        call(f"projects/update-item-for-{kind}", {"fields": [{"id": field["id"], "value": "v"}]})
        call(f"projects/get-{kind}-item", fields=str(field["id"]))
        call(f"projects/list-items-for-{kind}")
        call(f"projects/list-for-{kind}")
        call(f"projects/get-for-{kind}")
        call(f"projects/delete-item-for-{kind}")


def the_app(call: Caller) -> None:
    call("apps/get-authenticated", who="app")
    call("apps/list-installations", who="app", keep="")
    for read, where in (
        ("get-repo-installation", {}),
        ("get-org-installation", {"org": "octo"}),
        ("get-user-installation", {"username": "octo"}),
        ("get-installation", {}),
    ):
        call(f"apps/{read}", who="app", **where)
    call("apps/get-webhook-config-for-app", who="app")
    call("apps/update-webhook-config-for-app", {"content_type": "json"}, who="app")
    delivery = call("apps/list-webhook-deliveries", who="app")[0]["id"]
    call("apps/get-webhook-delivery", who="app", delivery_id=delivery)
    call("apps/redeliver-webhook-delivery", who="app", delivery_id=delivery)
    call("apps/create-installation-access-token", {"permissions": {"issues": "read"}}, who="app")
    call("apps/list-repos-accessible-to-installation", who="bot")
    call("teams/get-membership-for-user-in-org", who="bot", org="octo", team_slug="crew", username="dev")


def the_end(call: Caller, emulator: Emulator) -> None:
    emulator.rename_account("octo", "octocorp")
    call("apps/revoke-installation-access-token", who="bot")
    call("apps/delete-installation", who="app")
