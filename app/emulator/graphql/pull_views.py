"""Pull requests."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from app.emulator.acts import mergeability
from app.emulator.acts.branch_rules import protection_state
from app.emulator.acts.closing import linked_issues
from app.emulator.acts.merge_messages import merge_message, squash_message
from app.emulator.git_merges import commits_between
from app.emulator.graphql.connections import connection, ordered
from app.emulator.graphql.git_views import CommitThing, ref_thing, rollup
from app.emulator.graphql.issue_views import IssueView
from app.emulator.graphql.queue_views import QueuedFields
from app.emulator.graphql.review_views import ReviewedFields
from app.emulator.graphql.views import shows, view, viewer_of
from app.emulator.hidden import seen_issues
from app.emulator.ids import node_id
from app.emulator.maintainers import may_push_to
from app.emulator.merge_state import TrialMerge, mergeable_state
from app.emulator.rest.commits import changed_files
from app.emulator.state import PullRequest


@shows(PullRequest)
class PullRequestView(ReviewedFields, QueuedFields, IssueView):
    """A pull request."""

    thing: PullRequest
    __typename = "PullRequest"

    def __init__(self, request: Any, thing: PullRequest) -> None:
        super().__init__(request, thing)
        self.isDraft, self.merged, self.mergedAt = thing.draft, thing.merged, thing.merged_at
        self.headRefName, self.headRefOid = thing.head_ref, thing.head_sha
        self.baseRefName, self.baseRefOid = thing.base_ref, thing.base_sha
        self.isCrossRepository = thing.head_repo is not thing.repo

    @property
    def state(self) -> str:
        return "MERGED" if self.thing.merged else self.thing.state.upper()

    @property
    def headRef(self) -> Any:
        home = self.thing.head_repo
        return view(self.request, ref_thing(home, f"refs/heads/{self.thing.head_ref}")) if home is not None else None

    @property
    def baseRef(self) -> Any:
        return view(self.request, ref_thing(self.thing.repo, f"refs/heads/{self.thing.base_ref}"))

    @property
    def headRepository(self) -> Any:
        return view(self.request, self.thing.head_repo)

    @property
    def headRepositoryOwner(self) -> Any:
        return view(self.request, self.thing.head_owner)

    @property
    def baseRepository(self) -> Any:
        return view(self.request, self.thing.repo)

    @cached_property
    def _trial(self) -> TrialMerge | None:
        """One look a request, however many fields ask for it."""
        return mergeability.look(self.request.world, self.thing)

    @property
    def _mergeable(self) -> bool | None:
        return self._trial.mergeable if self._trial is not None else None

    @property
    def mergeable(self) -> str:
        return {None: "UNKNOWN", True: "MERGEABLE", False: "CONFLICTING"}[self._mergeable]

    @property
    def mergeStateStatus(self) -> str:
        world, pull = self.request.world, self.thing
        return mergeable_state(pull, self._mergeable, lambda: protection_state(world, pull)).upper()

    @property
    def canBeRebased(self) -> bool:
        return bool(self._trial.rebaseable) if self._trial is not None else False

    @property
    def potentialMergeCommit(self) -> Any:
        sha = self.thing.merge_commit_sha if self._mergeable else None
        return view(self.request, CommitThing(self.thing.repo, sha)) if sha is not None else None

    @property
    def maintainerCanModify(self) -> bool:
        return self.thing.maintainer_can_modify

    @property
    def viewerCanUpdateBranch(self) -> bool:
        """Is the head behind its base, and may the viewer change it?"""
        pull, base = self.thing, self.thing.repo.git.branch(self.thing.base_ref)
        if pull.state != "open" or pull.head_repo is None or base is None:
            return False
        if pull.repo.git.is_ancestor(base, pull.head_sha):
            return False
        return may_push_to(self.request.world, self.request.identity, pull.head_repo, pull.head_ref)

    @property
    def viewerCanDeleteHeadRef(self) -> bool:
        pull = self.thing
        if pull.state == "open" or pull.head_repo is None or pull.head_ref == pull.head_repo.default_branch:
            return False
        gone = pull.head_repo.git.branch(pull.head_ref) is None
        return not gone and self.request.identity.allows(pull.head_repo, "contents", "write")

    def viewerMergeHeadlineText(self, info: Any, mergeType: str | None = None) -> str:
        return self._preset(mergeType)[0]

    def viewerMergeBodyText(self, info: Any, mergeType: str | None = None) -> str:
        return self._preset(mergeType)[1]

    def _preset(self, method: str | None) -> tuple[str, str]:
        pull = self.thing
        if method == "SQUASH":
            text = squash_message(pull, commits_between(pull.repo.git, pull.base_sha, pull.head_sha), None, None)
        else:
            text = "" if method == "REBASE" else merge_message(pull, None, None)
        title, _, body = text.partition("\n\n")
        return title, body

    @property
    def mergedBy(self) -> Any:
        return view(self.request, self.thing.merged_by)

    @property
    def mergeCommit(self) -> Any:
        sha = self.thing.merge_commit_sha
        return view(self.request, CommitThing(self.thing.repo, sha)) if self.thing.merged and sha else None

    def commits(self, info: Any, **page: Any) -> Any:
        pull = self.thing
        shas = list(reversed(pull.repo.git.log(pull.head_sha, f"^{pull.base_sha}")))

        def show(sha: str) -> Any:
            return {
                "id": node_id("PRC", pull.repo.id, pull.number, sha),
                "commit": view(self.request, CommitThing(pull.repo, sha)),
                "pullRequest": self,
            }

        return connection("commits", shas, show, **page)

    def files(self, info: Any, **page: Any) -> Any:
        def show(file: dict[str, Any]) -> Any:
            kind = {"removed": "DELETED"}.get(file["status"], file["status"].upper())
            return {
                "path": file["filename"],
                "additions": file["additions"],
                "deletions": file["deletions"],
                "changeType": kind,
            }

        return connection("files", self._files, show, **page)

    @property
    def _files(self) -> list[dict[str, Any]]:
        pull = self.thing
        merge_base = pull.repo.git.merge_base(pull.base_sha, pull.head_sha) or pull.base_sha
        return changed_files(self.request, pull.repo, merge_base, pull.head_sha)

    @property
    def additions(self) -> int:
        return sum(f["additions"] for f in self._files)

    @property
    def deletions(self) -> int:
        return sum(f["deletions"] for f in self._files)

    @property
    def changedFiles(self) -> int:
        return len(self._files)

    @property
    def statusCheckRollup(self) -> Any:
        return rollup(self.request, CommitThing(self.thing.repo, self.thing.head_sha))

    def reviewRequests(self, info: Any, **page: Any) -> Any:
        def show(account: Any) -> Any:
            return {
                "id": node_id("RR", self.thing.repo.id, self.thing.number, account.id),
                "requestedReviewer": view(self.request, account),
            }

        return connection("reviewRequests", self.thing.requested_reviewers, show, **page)

    def closingIssuesReferences(
        self, info: Any, orderBy: dict[str, Any] | None = None, userLinkedOnly: bool = False, **page: Any
    ) -> Any:
        linked = linked_issues(self.request.world, self.thing, by_hand_only=userLinkedOnly)
        seen = seen_issues(self.request.identity, linked)
        return connection("closingIssuesReferences", ordered(seen, orderBy), viewer_of(self.request), **page)
