"""Mutations of pull requests."""

from __future__ import annotations

from typing import Any

from app.emulator.acts import issues as issue_acts
from app.emulator.acts import pulls as pull_acts
from app.emulator.acts.assignees import set_assignees
from app.emulator.acts.branch_updates import check_update, update_branch
from app.emulator.acts.labels import set_labels
from app.emulator.acts.merging import MergeOrder, merge, merge_branch
from app.emulator.acts.milestones import set_milestone
from app.emulator.acts.stacks import refuse_by_graphql
from app.emulator.auth import require
from app.emulator.errors import ApiError, GraphQLRefusal
from app.emulator.graphql.classic_project_views import refuse_classic
from app.emulator.graphql.git_views import CommitThing
from app.emulator.graphql.mutation_base import MutationBase
from app.emulator.graphql.views import view
from app.emulator.maintainers import may_push_to
from app.emulator.rest.merging import check_workflows
from app.emulator.state import Account, Label, Milestone, PullRequest, Repository


class PullMutations(MutationBase):
    """Opening, changing, merging and toggling pull requests."""

    def _own_or(self, info: Any, value: str, *permissions: str) -> PullRequest:
        """A pull request its author or a writer may change; an App needs the permissions."""
        pull: PullRequest = self._find(value, PullRequest, "PullRequest")
        if self.request.identity.installation is not None or pull.author is not self.request.identity.user:
            self._may(info, pull.repo, *(permissions or ("pull_requests",)))
        return pull

    def _may(self, info: Any, repo: Repository, *permissions: str) -> None:
        identity = self.request.identity
        if identity.installation is None and not all(identity.allows(repo, p, "write") for p in permissions):
            name = info.field_name[0].upper() + info.field_name[1:]
            raise GraphQLRefusal(
                "FORBIDDEN", f"{identity.account.login} does not have the correct permissions to execute `{name}`"
            )
        for permission in permissions:
            require(identity, repo, "write", permission)

    def createPullRequest(self, info: Any, input: dict[str, Any]) -> Any:
        repo: Repository = self._find(input["repositoryId"], Repository, "Repository")
        home = input.get("headRepositoryId")
        head_repo: Repository | None = self._find(home, Repository, "Repository") if home else None
        base = input["baseRefName"].removeprefix("refs/heads/")
        named = input["headRefName"].removeprefix("refs/heads/")
        head = pull_acts.find_head(self.request.world, repo, named, head_repo)
        identity = self.request.identity
        if identity.installation is not None or head is None or not identity.allows(head.repo, "contents", "write"):
            self._may(info, repo, "pull_requests")
        missing = _missing(repo, head, base, named)
        if missing is not None:
            raise GraphQLRefusal("UNPROCESSABLE", missing)
        pull = pull_acts.open_pull(
            self.request.world,
            repo,
            identity.actor,
            title=input["title"],
            body=input.get("body"),
            head=head,
            base=base,
            draft=bool(input.get("draft")),
            maintainer_can_modify=None if input.get("maintainerCanModify", True) else False,
        )
        return self._payload(input, pullRequest=view(self.request, pull))

    def updatePullRequest(self, info: Any, input: dict[str, Any]) -> Any:
        refuse_classic(input)
        pull = self._own_or(info, input["pullRequestId"])
        world, actor = self.request.world, self.request.identity.actor
        issue_acts.check_text(world, pull, input.get("title"), input.get("body"))
        pull_acts.check_base(pull, input.get("baseRefName"))
        if input.get("state") == "OPEN":
            pull_acts.reopen_pull(world, pull, actor)
        if input.get("baseRefName") is not None:
            pull_acts.retarget(world, pull, input["baseRefName"], actor)
        if input.get("maintainerCanModify") is not None:
            pull_acts.allow_maintainers(world, pull, input["maintainerCanModify"], actor)
        issue_acts.edit_text(world, pull, actor, input.get("title"), input.get("body"))
        if input.get("labelIds") is not None:
            labels: list[Label] = [self._find(value, Label, "Label") for value in input["labelIds"]]
            set_labels(world, pull, [label.name for label in labels], actor)
        if input.get("assigneeIds") is not None:
            people: list[Account] = [self._find(value, Account, "User") for value in input["assigneeIds"]]
            set_assignees(world, pull, [a.login for a in people], actor, only_add=False)
        if "milestoneId" in input:
            chosen = self._find(input["milestoneId"], Milestone, "Milestone") if input["milestoneId"] else None
            set_milestone(world, pull, chosen, actor)
        if input.get("state") == "CLOSED":
            pull_acts.close_pull(world, pull, actor)
        return self._payload(
            input, pullRequest=view(self.request, pull), actor=view(self.request, self.request.identity.account)
        )

    def closePullRequest(self, info: Any, input: dict[str, Any]) -> Any:
        pull = self._own_or(info, input["pullRequestId"])
        pull_acts.close_pull(self.request.world, pull, self.request.identity.actor)
        return self._payload(input, pullRequest=view(self.request, pull))

    def reopenPullRequest(self, info: Any, input: dict[str, Any]) -> Any:
        pull = self._own_or(info, input["pullRequestId"])
        try:
            pull_acts.reopen_pull(self.request.world, pull, self.request.identity.actor)
        except ApiError:
            # This mutation gives no reason, unlike REST.
            raise GraphQLRefusal("UNPROCESSABLE", "Could not open the pull request.") from None
        return self._payload(input, pullRequest=view(self.request, pull))

    def convertPullRequestToDraft(self, info: Any, input: dict[str, Any]) -> Any:
        return self._set_draft(info, input, draft=True)

    def markPullRequestReadyForReview(self, info: Any, input: dict[str, Any]) -> Any:
        return self._set_draft(info, input, draft=False)

    def _set_draft(self, info: Any, input: dict[str, Any], *, draft: bool) -> Any:
        # An App needs Contents: write as well, which no documentation says.
        pull = self._own_or(info, input["pullRequestId"], "pull_requests", "contents")
        if pull.state == "closed":
            raise GraphQLRefusal("UNPROCESSABLE", "Pull request is closed")
        if draft and pull.repo.private and not pull.repo.plan_allows_drafts:
            raise GraphQLRefusal("UNPROCESSABLE", "Draft pull requests are not supported in this repository.")
        pull_acts.set_draft(self.request.world, pull, draft, self.request.identity.actor)
        return self._payload(input, pullRequest=view(self.request, pull))

    def mergePullRequest(self, info: Any, input: dict[str, Any]) -> Any:
        pull: PullRequest = self._find(input["pullRequestId"], PullRequest, "PullRequest")
        self._may(info, pull.repo, "contents")
        check_workflows(self.request, pull.repo, pull.base_sha, pull.head_sha)
        refuse_by_graphql(pull)
        order = MergeOrder(
            method=(input.get("mergeMethod") or "MERGE").lower(),
            title=input.get("commitHeadline"),
            message=input.get("commitBody"),
            expected_head=input.get("expectedHeadOid"),
            author_email=input.get("authorEmail"),
        )
        merge(self.request.world, pull, self.request.identity.actor, order)
        return self._payload(
            input, pullRequest=view(self.request, pull), actor=view(self.request, self.request.identity.account)
        )

    def updatePullRequestBranch(self, info: Any, input: dict[str, Any]) -> Any:
        pull: PullRequest = self._find(input["pullRequestId"], PullRequest, "PullRequest")
        identity = self.request.identity
        if identity.installation is not None:
            require(identity, pull.repo, "write", "pull_requests")
        if pull.head_repo is not None and not may_push_to(self.request.world, identity, pull.head_repo, pull.head_ref):
            raise GraphQLRefusal("FORBIDDEN", "user doesn't have permission to update head repository")
        method = (input.get("updateMethod") or "MERGE").lower()
        head = check_update(pull, input.get("expectedHeadOid"), method)
        update_branch(self.request.world, pull, head, method, identity.actor)
        return self._payload(input, pullRequest=view(self.request, pull))

    def mergeBranch(self, info: Any, input: dict[str, Any]) -> Any:
        repo: Repository = self._find(input["repositoryId"], Repository, "Repository")
        self._may(info, repo, "contents")
        sha = merge_branch(
            self.request.world,
            repo,
            input["base"],
            input["head"],
            self.request.identity.actor,
            input.get("commitMessage"),
            input.get("authorEmail"),
        )
        if sha is None:
            raise GraphQLRefusal("UNPROCESSABLE", 'Failed to merge: "Already merged"')
        return self._payload(input, mergeCommit=view(self.request, CommitThing(repo, sha)))


def _missing(repo: Repository, head: pull_acts.Head | None, base: str, named: str) -> str | None:
    """What the mutation says of branches that do not exist: all it could not fill in, in one sentence."""
    no_head = head is None or head.repo.git.branch(head.branch) is None
    no_base = repo.git.branch(base) is None
    if not no_head and not no_base:
        return None
    parts = ["Head sha can't be blank", "Base sha can't be blank"]
    parts += ["Head user can't be blank", "Head repository can't be blank"] if head is None else []
    parts.append(f"No commits between {base} and {named}")
    parts += ["Head ref must be a branch"] if no_head else []
    parts += ["Base ref must be a branch"] if no_base else []
    return ", ".join(parts)
