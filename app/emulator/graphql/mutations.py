"""Top-level mutations."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import pygit2

from app.emulator.acts import issues as issue_acts
from app.emulator.acts.refs import RefRefusal, move
from app.emulator.auth import at_least, require
from app.emulator.errors import ApiError, GenericGraphQLFailure, GraphQLRefusal
from app.emulator.graphql.git_views import CommitThing, RefThing, ref_thing
from app.emulator.graphql.pull_mutations import PullMutations
from app.emulator.graphql.views import view
from app.emulator.repos import RefChange, TreeEntry, is_oid
from app.emulator.state import Account, Comment, Label, Repository
from app.emulator.workflow_guard import check_path


class Mutations(PullMutations):
    """The fields of ``Mutation``; each returns its payload."""

    # Refs and commits

    def updateRefs(self, info: Any, input: dict[str, Any]) -> Any:
        """All refs or none; every refusal has the same words."""
        repo: Repository = self._find(input["repositoryId"], Repository, "Repository")
        require(self.request.identity, repo, "write", "contents")
        if self.request.world.switches.refused(repo.id, "update_refs"):
            raise GenericGraphQLFailure()
        updates = input["refUpdates"]
        oids = [u[k] for u in updates for k in ("beforeOid", "afterOid") if u.get(k) is not None]
        if not updates or not all(is_oid(oid) for oid in oids):
            raise GenericGraphQLFailure()
        changes = [RefChange(u["name"], u.get("beforeOid"), u["afterOid"]) for u in updates]
        try:
            move(
                self.request.world,
                repo,
                changes,
                self.request.identity.actor,
                force=[bool(u.get("force")) for u in updates],
            )
        except RefRefusal as refusal:
            raise GenericGraphQLFailure() from refusal
        return self._payload(input)

    def createCommitOnBranch(self, info: Any, input: dict[str, Any]) -> Any:
        repo, branch = self._committable(input["branch"])
        require(self.request.identity, repo, "write", "contents")
        expected, head = input["expectedHeadOid"], repo.git.branch(branch)
        if head is None:
            raise GraphQLRefusal("NOT_FOUND", f"No branch {branch}")
        if head != expected:
            raise GraphQLRefusal(
                "STALE_DATA",
                f'Expected branch to point to "{expected}" but it did not.  Pull and try again.',
            )
        changes = input.get("fileChanges") or {}
        for change in [*(changes.get("additions") or []), *(changes.get("deletions") or [])]:
            check_path(self.request.identity, repo, change["path"])
        entries = [TreeEntry(d["path"], None) for d in changes.get("deletions") or []]
        try:
            for addition in changes.get("additions") or []:
                data = base64.b64decode(addition["contents"], validate=True)
                entries.append(TreeEntry(addition["path"], repo.git.write_blob(data)))
            tree = repo.git.write_tree(head, entries)
        except (binascii.Error, KeyError, ValueError, pygit2.GitError) as error:
            raise GraphQLRefusal("UNPROCESSABLE", f"A path or its contents are invalid: {error}") from None
        account = self.request.identity.account
        signed = pygit2.Signature(account.login, account.email, int(self.request.world.clock.now()), 0)
        body = input["message"].get("body")
        message = input["message"]["headline"] + (f"\n\n{body}" if body else "")
        sha = repo.git.write_commit(tree, [head], message, signed, signed)
        name = f"refs/heads/{branch}"
        try:
            move(
                self.request.world,
                repo,
                [RefChange(name, head, sha)],
                self.request.identity.actor,
                force=[False],
            )
        except RefRefusal:
            raise GraphQLRefusal(
                "STALE_DATA",
                f'Expected branch to point to "{expected}" but it did not.  Pull and try again.',
            ) from None
        return self._payload(
            input,
            commit=view(self.request, CommitThing(repo, sha)),
            ref=view(self.request, ref_thing(repo, name)),
        )

    def _committable(self, branch: dict[str, Any]) -> tuple[Repository, str]:
        if branch.get("id"):
            ref: RefThing = self._find(branch["id"], RefThing, "Ref")
            return ref.repo, ref.name.removeprefix("refs/heads/")
        owner, _, name = (branch.get("repositoryNameWithOwner") or "").partition("/")
        repo = self.request.world.repo(owner, name)
        if repo is None or not self.request.identity.sees(repo) or not branch.get("branchName"):
            raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'.")
        return repo, branch["branchName"].removeprefix("refs/heads/")

    # Comments

    def addComment(self, info: Any, input: dict[str, Any]) -> Any:
        level = "write" if self.request.identity.installation is not None else "read"
        issue = self._issue(input["subjectId"], level)
        comment = issue_acts.add_comment(self.request.world, issue, self.request.identity.actor, input["body"])
        edge = {"cursor": str(comment.id), "node": view(self.request, comment)}
        return self._payload(input, commentEdge=edge, subject=view(self.request, issue))

    def _comment(self, value: str) -> Comment:
        comment: Comment = self._find(value, Comment, "IssueComment")
        identity, issue = self.request.identity, comment.issue
        if identity.installation is not None:
            self._issue(issue.node_id)
        elif comment.author is not identity.account and not at_least(issue.repo.role_of(identity.user), "write"):
            raise ApiError(403, f"{identity.account.login} does not have the correct permissions")
        return comment

    def updateIssueComment(self, info: Any, input: dict[str, Any]) -> Any:
        comment = self._comment(input["id"])
        issue_acts.edit_comment(self.request.world, comment, self.request.identity.actor, input["body"])
        return self._payload(input, issueComment=view(self.request, comment))

    def deleteIssueComment(self, info: Any, input: dict[str, Any]) -> Any:
        issue_acts.delete_comment(self.request.world, self._comment(input["id"]), self.request.identity.actor)
        return self._payload(input)

    # Issues

    def closeIssue(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["issueId"])
        reason = (input.get("stateReason") or "COMPLETED").lower()
        issue_acts.close_issue(self.request.world, issue, self.request.identity.actor, reason)
        return self._payload(input, issue=view(self.request, issue))

    def reopenIssue(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["issueId"])
        issue_acts.reopen_issue(self.request.world, issue, self.request.identity.actor)
        return self._payload(input, issue=view(self.request, issue))

    def _labels(self, ids: list[str]) -> list[Label]:
        return [self._find(value, Label, "Label") for value in ids]

    def addLabelsToLabelable(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["labelableId"])
        names = [x.name for x in self._labels(input["labelIds"])]
        issue_acts.add_labels(self.request.world, issue, names, self.request.identity.actor)
        return self._payload(input, labelable=view(self.request, issue))

    def removeLabelsFromLabelable(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["labelableId"])
        for label in self._labels(input["labelIds"]):
            if label in issue.labels:
                issue_acts.remove_label(self.request.world, issue, label, self.request.identity.actor)
        return self._payload(input, labelable=view(self.request, issue))

    def addAssigneesToAssignable(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["assignableId"])
        people: list[Account] = [self._find(value, Account, "User") for value in input["assigneeIds"]]
        logins = [a.login for a in people]
        issue_acts.set_assignees(self.request.world, issue, logins, self.request.identity.actor)
        return self._payload(input, assignable=view(self.request, issue))

    def removeAssigneesFromAssignable(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["assignableId"])
        people: list[Account] = [self._find(value, Account, "User") for value in input["assigneeIds"]]
        issue_acts.unassign(self.request.world, issue, people, self.request.identity.actor)
        return self._payload(input, assignable=view(self.request, issue))
