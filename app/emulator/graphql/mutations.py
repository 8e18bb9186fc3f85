"""Top-level mutations."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import pygit2

from app.emulator.acts.refs import RefRefusal, RuleRefusal, move
from app.emulator.auth import require
from app.emulator.errors import GenericGraphQLFailure, GraphQLRefusal
from app.emulator.graphql.comment_mutations import CommentMutations
from app.emulator.graphql.git_views import CommitThing, RefThing, ref_thing
from app.emulator.graphql.issue_link_mutations import IssueLinkMutations
from app.emulator.graphql.issue_mutations import IssueMutations
from app.emulator.graphql.project_mutations import ProjectMutations
from app.emulator.graphql.pull_mutations import PullMutations
from app.emulator.graphql.queue_mutations import QueueMutations
from app.emulator.graphql.review_mutations import ReviewMutations
from app.emulator.graphql.views import view
from app.emulator.repos import RefChange, TreeEntry, is_oid
from app.emulator.state import Repository
from app.emulator.workflow_guard import check_path


class Mutations(
    PullMutations,
    IssueMutations,
    IssueLinkMutations,
    CommentMutations,
    ProjectMutations,
    ReviewMutations,
    QueueMutations,
):
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
        self.request.world.signed.add(sha)
        name = f"refs/heads/{branch}"
        try:
            move(
                self.request.world,
                repo,
                [RefChange(name, head, sha)],
                self.request.identity.actor,
                force=[False],
            )
        except RuleRefusal as refusal:
            raise GraphQLRefusal("UNPROCESSABLE", refusal.violations.message) from None
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
