"""Mutations of Issues: opening, changing, closing, locking, labels, assignees."""

from __future__ import annotations

from typing import Any

from app.emulator.acts import assignees as assignee_acts
from app.emulator.acts import issue_departures as departures
from app.emulator.acts import issues as issue_acts
from app.emulator.acts import labels as label_acts
from app.emulator.acts import locking
from app.emulator.acts.milestones import set_milestone
from app.emulator.acts.sub_issues import add_sub_issue
from app.emulator.auth import require
from app.emulator.errors import ApiError, GraphQLRefusal
from app.emulator.graphql.classic_project_views import refuse_classic
from app.emulator.graphql.mutation_base import MutationBase
from app.emulator.graphql.views import view
from app.emulator.state import Account, Issue, Label, Milestone, PullRequest, Repository

_LOCK_REASONS = {"OFF_TOPIC": "off-topic", "RESOLVED": "resolved", "SPAM": "spam", "TOO_HEATED": "too heated"}


class IssueMutations(MutationBase):
    """The fields of ``Mutation`` about Issues; what pull requests share is here too."""

    def _plain_issue(self, value: str) -> Issue:
        issue: Issue = self._find(value, Issue, "Issue")
        if isinstance(issue, PullRequest):
            raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to Issue node with the global id of '{value}'.")
        require(self.request.identity, issue.repo, "write", "issues")
        return issue

    def _labels(self, ids: list[str], repo: Repository) -> list[Label]:
        found: list[Label] = [self._find(value, Label, "Label") for value in ids]
        for label in found:
            if repo.labels.get(label.name.lower()) is not label:
                raise GraphQLRefusal("UNPROCESSABLE", f"Label '{label.name}' does not belong to the repository.")
        return found

    def _people(self, ids: list[str]) -> list[Account]:
        return [self._find(value, Account, "User") for value in ids]

    def createIssue(self, info: Any, input: dict[str, Any]) -> Any:
        refuse_classic(input)
        repo: Repository = self._find(input["repositoryId"], Repository, "Repository")
        world, identity = self.request.world, self.request.identity
        if identity.installation is not None:
            require(identity, repo, "write", "issues")
        elif repo.archived:
            raise ApiError(403, "Repository was archived so is read-only.")
        names = [x.name for x in self._labels(input.get("labelIds") or [], repo)]
        logins = [a.login for a in self._people(input.get("assigneeIds") or [])]
        if not identity.allows(repo, "issues", "write"):
            names, logins = [], []
        parent = self._plain_issue(input["parentIssueId"]) if input.get("parentIssueId") else None
        issue = issue_acts.open_issue(world, repo, identity.actor, input["title"], input.get("body"), names, logins)
        if input.get("milestoneId"):
            milestone: Milestone = self._find(input["milestoneId"], Milestone, "Milestone")
            set_milestone(world, issue, milestone, identity.actor)
        if parent is not None:
            add_sub_issue(world, parent, issue, identity.actor)
        return self._payload(input, issue=view(self.request, issue))

    def updateIssue(self, info: Any, input: dict[str, Any]) -> Any:
        refuse_classic(input)
        issue = self._plain_issue(input["id"])
        world, actor = self.request.world, self.request.identity.actor
        labels = self._labels(input["labelIds"], issue.repo) if input.get("labelIds") is not None else None
        people = self._people(input["assigneeIds"]) if input.get("assigneeIds") is not None else None
        issue_acts.edit_text(world, issue, actor, input.get("title"), input.get("body"))
        if labels is not None:
            label_acts.set_labels(world, issue, [x.name for x in labels], actor)
        if people is not None:
            assignee_acts.set_assignees(world, issue, [a.login for a in people], actor, only_add=False)
        if "milestoneId" in input:
            chosen = self._find(input["milestoneId"], Milestone, "Milestone") if input["milestoneId"] else None
            set_milestone(world, issue, chosen, actor)
        if input.get("state") == "CLOSED":
            issue_acts.close_issue(world, issue, actor, None)
        elif input.get("state") == "OPEN":
            issue_acts.reopen_issue(world, issue, actor)
        return self._payload(
            input, actor=view(self.request, self.request.identity.account), issue=view(self.request, issue)
        )

    def closeIssue(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._plain_issue(input["issueId"])
        reason = (input.get("stateReason") or "COMPLETED").lower()
        original = input.get("duplicateIssueId")
        world, actor = self.request.world, self.request.identity.actor
        duplicate_of = self._find(original, Issue, "Issue") if original else None
        issue_acts.close_issue(world, issue, actor, reason)
        if duplicate_of is not None:
            issue_acts.mark_duplicate(world, issue, duplicate_of, actor)
        return self._payload(input, issue=view(self.request, issue))

    def reopenIssue(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._plain_issue(input["issueId"])
        issue_acts.reopen_issue(self.request.world, issue, self.request.identity.actor)
        return self._payload(input, issue=view(self.request, issue))

    def deleteIssue(self, info: Any, input: dict[str, Any]) -> Any:
        issue, identity = self._plain_issue(input["issueId"]), self.request.identity
        if identity.installation is None and issue.repo.role_of(identity.user) != "admin":
            raise ApiError(403, "Must have admin rights to Repository.")
        departures.delete_issue(self.request.world, issue, identity.actor)
        return self._payload(input, repository=view(self.request, issue.repo))

    def transferIssue(self, info: Any, input: dict[str, Any]) -> Any:
        issue, identity = self._plain_issue(input["issueId"]), self.request.identity
        target: Repository = self._find(input["repositoryId"], Repository, "Repository")
        for repo in (issue.repo, target):
            for permission in ("issues", "contents"):  # contents too: nuxt/nuxt#29574
                require(identity, repo, "write", permission)
        make_labels = bool(input.get("createLabelsIfMissing"))
        moved = departures.transfer_issue(self.request.world, issue, target, identity.actor, make_labels=make_labels)
        return self._payload(input, issue=view(self.request, moved))

    # Shared with pull requests

    def lockLockable(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["lockableId"])
        reason = _LOCK_REASONS[input["lockReason"]] if input.get("lockReason") else None
        locking.lock(self.request.world, issue, reason, self.request.identity.actor)
        return self._locked(input, "lockedRecord", issue)

    def unlockLockable(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["lockableId"])
        locking.unlock(self.request.world, issue, self.request.identity.actor)
        return self._locked(input, "unlockedRecord", issue)

    def _locked(self, input: dict[str, Any], member: str, issue: Issue) -> Any:
        actor = view(self.request, self.request.identity.account)
        return self._payload(input, actor=actor) | {member: view(self.request, issue)}

    def addLabelsToLabelable(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["labelableId"])
        names = [x.name for x in self._labels(input["labelIds"], issue.repo)]
        label_acts.add_labels(self.request.world, issue, names, self.request.identity.actor)
        return self._payload(input, labelable=view(self.request, issue))

    def removeLabelsFromLabelable(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["labelableId"])
        for label in self._labels(input["labelIds"], issue.repo):
            if label in issue.labels:
                label_acts.remove_label(self.request.world, issue, label, self.request.identity.actor)
        return self._payload(input, labelable=view(self.request, issue))

    def clearLabelsFromLabelable(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["labelableId"])
        label_acts.set_labels(self.request.world, issue, [], self.request.identity.actor)
        return self._payload(input, labelable=view(self.request, issue))

    def addAssigneesToAssignable(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["assignableId"])
        logins = [a.login for a in self._people(input["assigneeIds"])]
        assignee_acts.set_assignees(self.request.world, issue, logins, self.request.identity.actor)
        return self._payload(input, assignable=view(self.request, issue))

    def replaceActorsForAssignable(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["assignableId"])
        people = self._people(input.get("actorIds") or [])
        logins = [a.login for a in people] + list(input.get("actorLogins") or [])
        assignee_acts.set_assignees(self.request.world, issue, logins, self.request.identity.actor, only_add=False)
        return self._payload(input, assignable=view(self.request, issue))

    def removeAssigneesFromAssignable(self, info: Any, input: dict[str, Any]) -> Any:
        issue = self._issue(input["assignableId"])
        people = self._people(input["assigneeIds"])
        assignee_acts.unassign(self.request.world, issue, people, self.request.identity.actor)
        return self._payload(input, assignable=view(self.request, issue))
