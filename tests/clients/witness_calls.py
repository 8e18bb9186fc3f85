"""The calls that are made to the emulator and to the npm package `emulate` alike, one after the other.

`{name}` in a path or body stands for what an earlier call's answer was asked to keep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

R = "/repos/dev/demo"
CONTENT = "dGV4dA=="


@dataclass(frozen=True)
class Call:
    """One REST call; ``keep`` maps names to members of the answer (``object.sha``)."""

    name: str
    method: str
    path: str
    body: dict[str, Any] | None = None
    who: str = "dev"
    keep: dict[str, str] = field(default_factory=dict)


CALLS = (
    Call("create a repository", "POST", "/user/repos", {"name": "demo", "auto_init": True}),
    Call("create it again", "POST", "/user/repos", {"name": "demo"}),
    Call("read it", "GET", R),
    Call("read it as nobody known", "GET", R, who="made up"),
    Call("read a missing one", "GET", "/repos/dev/none"),
    Call("the caller", "GET", "/user"),
    Call("a person", "GET", "/users/mate"),
    Call("a missing person", "GET", "/users/nobody-at-all"),
    Call("branches", "GET", f"{R}/branches"),
    Call("a branch", "GET", f"{R}/branches/main"),
    Call("a missing branch", "GET", f"{R}/branches/none"),
    Call("its first commit", "GET", f"{R}/commits/main", keep={"base": "commit.tree.sha"}),
    Call("a ref", "GET", f"{R}/git/ref/heads/main", keep={"main": "object.sha"}),
    Call("a missing ref", "GET", f"{R}/git/ref/heads/none"),
    Call("refs by prefix", "GET", f"{R}/git/matching-refs/heads/ma"),
    Call("a tree of the branch", "GET", f"{R}/git/trees/main"),
    Call("a blob", "POST", f"{R}/git/blobs", {"content": "hi", "encoding": "utf-8"}, keep={"blob": "sha"}),
    Call("the blob read", "GET", f"{R}/git/blobs/{{blob}}"),
    Call(
        "a tree",
        "POST",
        f"{R}/git/trees",
        {"base_tree": "{base}", "tree": [{"path": "a.txt", "mode": "100644", "type": "blob", "sha": "{blob}"}]},
        keep={"tree": "sha"},
    ),
    Call("a tree upon a commit", "POST", f"{R}/git/trees", {"base_tree": "{main}", "tree": []}),
    Call(
        "a commit",
        "POST",
        f"{R}/git/commits",
        {"message": "Add a", "tree": "{tree}", "parents": ["{main}"]},
        keep={"commit": "sha"},
    ),
    Call("the commit read", "GET", f"{R}/git/commits/{{commit}}"),
    Call("a branch made", "POST", f"{R}/git/refs", {"ref": "refs/heads/topic", "sha": "{main}"}),
    Call("a branch made twice", "POST", f"{R}/git/refs", {"ref": "refs/heads/topic", "sha": "{main}"}),
    Call("a branch at nothing", "POST", f"{R}/git/refs", {"ref": "refs/heads/odd", "sha": "0" * 39 + "1"}),
    Call("a branch without its prefix", "POST", f"{R}/git/refs", {"ref": "odd", "sha": "{main}"}),
    Call("a branch moved on", "PATCH", f"{R}/git/refs/heads/topic", {"sha": "{commit}"}),
    Call("a branch moved back", "PATCH", f"{R}/git/refs/heads/topic", {"sha": "{main}"}),
    Call("a missing branch moved", "PATCH", f"{R}/git/refs/heads/none", {"sha": "{main}"}),
    Call("a missing branch deleted", "DELETE", f"{R}/git/refs/heads/none"),
    Call("two commits compared", "GET", f"{R}/compare/main...topic"),
    Call("commits", "GET", f"{R}/commits?sha=topic"),
    Call("one commit", "GET", f"{R}/commits/topic"),
    Call("an Issue", "POST", f"{R}/issues", {"title": "One", "body": "text"}),
    Call("an Issue without a title", "POST", f"{R}/issues", {"body": "text"}),
    Call("the Issue read", "GET", f"{R}/issues/1"),
    Call("a missing Issue", "GET", f"{R}/issues/99"),
    Call("Issues", "GET", f"{R}/issues"),
    Call("a label", "POST", f"{R}/labels", {"name": "prio", "color": "ff0000"}),
    Call("the label again", "POST", f"{R}/labels", {"name": "prio", "color": "ff0000"}),
    Call("the Issue labelled", "POST", f"{R}/issues/1/labels", {"labels": ["prio"]}),
    Call("the label taken off", "DELETE", f"{R}/issues/1/labels/prio"),
    Call("the label taken off twice", "DELETE", f"{R}/issues/1/labels/prio"),
    Call("a comment", "POST", f"{R}/issues/1/comments", {"body": "c"}, keep={"comment": "id"}),
    Call("an empty comment", "POST", f"{R}/issues/1/comments", {"body": ""}),
    Call("the comment changed", "PATCH", f"{R}/issues/comments/{{comment}}", {"body": "d"}),
    Call("the comment changed by a reader", "PATCH", f"{R}/issues/comments/{{comment}}", {"body": "e"}, who="mate"),
    Call("comments", "GET", f"{R}/issues/1/comments"),
    Call("the comment deleted", "DELETE", f"{R}/issues/comments/{{comment}}"),
    Call("the Issue closed", "PATCH", f"{R}/issues/1", {"state": "closed", "state_reason": "not_planned"}),
    Call("the Issue closed by a reader", "PATCH", f"{R}/issues/1", {"state": "open"}, who="mate"),
    Call("the Issue locked", "PUT", f"{R}/issues/1/lock", {"lock_reason": "resolved"}),
    Call("a milestone", "POST", f"{R}/milestones", {"title": "1.0"}),
    Call("the timeline", "GET", f"{R}/issues/1/timeline"),
    Call("a pull request", "POST", f"{R}/pulls", {"title": "Two", "head": "topic", "base": "main"}),
    Call("the pull request again", "POST", f"{R}/pulls", {"title": "Two", "head": "topic", "base": "main"}),
    Call("one of a missing branch", "POST", f"{R}/pulls", {"title": "No", "head": "none", "base": "main"}),
    Call("one without commits", "POST", f"{R}/pulls", {"title": "No", "head": "main", "base": "main"}),
    Call("the pull request read", "GET", f"{R}/pulls/2"),
    Call("pull requests", "GET", f"{R}/pulls"),
    Call("its files", "GET", f"{R}/pulls/2/files"),
    Call("its commits", "GET", f"{R}/pulls/2/commits"),
    Call("a review of one's own", "POST", f"{R}/pulls/2/reviews", {"event": "APPROVE"}),
    Call("a review", "POST", f"{R}/pulls/2/reviews", {"event": "COMMENT", "body": "hm"}, who="mate"),
    Call("a check-run of a person", "POST", f"{R}/check-runs", {"name": "c", "head_sha": "{commit}"}),
    Call("a status of a commit", "POST", f"{R}/statuses/{{commit}}", {"state": "success", "context": "ci"}),
    Call("statuses", "GET", f"{R}/commits/{{commit}}/status"),
    Call("a merge of another head", "PUT", f"{R}/pulls/2/merge", {"sha": "{main}"}),
    Call("a merge by a reader", "PUT", f"{R}/pulls/2/merge", {}, who="mate"),
    Call("the merge", "PUT", f"{R}/pulls/2/merge", {"sha": "{commit}"}),
    Call("the merge again", "PUT", f"{R}/pulls/2/merge", {"sha": "{commit}"}),
    Call("a file", "PUT", f"{R}/contents/f.txt", {"message": "m", "content": CONTENT}, keep={"file": "content.sha"}),
    Call("the file without its sha", "PUT", f"{R}/contents/f.txt", {"message": "m", "content": CONTENT}),
    Call("the file with a stale sha", "PUT", f"{R}/contents/f.txt", {"message": "m", "content": "", "sha": "{blob}"}),
    Call("the file read", "GET", f"{R}/contents/f.txt"),
    Call("a missing file", "GET", f"{R}/contents/none.txt"),
    Call("protection of a bare branch", "GET", f"{R}/branches/main/protection"),
    Call("the branch deleted", "DELETE", f"{R}/git/refs/heads/topic"),
    Call("the rates", "GET", "/rate_limit"),
    Call("a search", "GET", "/search/issues?q=repo:dev/demo+is:issue"),
    Call("a broken body", "POST", f"{R}/issues", {"title": 5}),
    Call("a write by a reader", "POST", f"{R}/git/refs", {"ref": "refs/heads/x", "sha": "{main}"}, who="mate"),
)
