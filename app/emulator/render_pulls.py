"""How REST answers and webhook payloads show pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.emulator.guard_state import AutoMerge
from app.emulator.merge_state import current_trial, mergeable_state
from app.emulator.people import association
from app.emulator.state import Account, Label, Milestone, PullRequest, Repository

if TYPE_CHECKING:
    from app.emulator.world import World

Json = dict[str, Any]


class PullRender:
    """The part of the renderer that shows pull requests; the rest of it is in :mod:`app.emulator.render`."""

    world: World
    html: str
    api: str

    if TYPE_CHECKING:

        def account(self, account: Account) -> Json: ...

        def account_or_none(self, account: Account | None) -> Json | None: ...

        def label(self, label: Label, repo: Repository) -> Json: ...

        def milestone_or_none(self, milestone: Milestone | None, repo: Repository) -> Json | None: ...

        def repository(self, repo: Repository, role: str | None = None) -> Json: ...

        def stack_of(self, pull: PullRequest) -> Json | None: ...

    def pull(self, pull: PullRequest, *, full: bool = False) -> Json:
        """A pull request; the full form (single reads, webhooks) has counts and mergeability."""
        repo = pull.repo
        api = f"{self.api}/repos/{repo.full_name}/pulls/{pull.number}"
        html = f"{self.html}/{repo.full_name}/pull/{pull.number}"
        shown: Json = {
            "id": pull.pull_id,
            "node_id": pull.node_id,
            "url": api,
            "html_url": html,
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
            "issue_url": f"{self.api}/repos/{repo.full_name}/issues/{pull.number}",
            "commits_url": f"{api}/commits",
            "review_comments_url": f"{api}/comments",
            "review_comment_url": f"{self.api}/repos/{repo.full_name}/pulls/comments{{/number}}",
            "comments_url": f"{self.api}/repos/{repo.full_name}/issues/{pull.number}/comments",
            "statuses_url": f"{self.api}/repos/{repo.full_name}/statuses/{pull.head_sha}",
            "number": pull.number,
            "state": pull.state,
            "locked": pull.locked,
            "title": pull.title,
            "user": self.account(pull.author),
            "body": pull.body,
            "created_at": pull.created_at,
            "updated_at": pull.updated_at,
            "closed_at": pull.closed_at,
            "merged_at": pull.merged_at,
            "merge_commit_sha": pull.merge_commit_sha,
            "assignee": self.account_or_none(pull.assignees[0] if pull.assignees else None),
            "assignees": [self.account(a) for a in pull.assignees],
            "requested_reviewers": [self.account(a) for a in pull.requested_reviewers],
            "requested_teams": [],
            "labels": [self.label(x, repo) for x in pull.labels],
            "milestone": self.milestone_or_none(pull.milestone, repo),
            "draft": pull.draft,
            "head": self._side(pull.head_owner, pull.head_repo, pull.head_ref, pull.head_sha),
            "base": self._side(repo.owner, repo, pull.base_ref, pull.base_sha),
            "author_association": association(repo, pull.author),
            "auto_merge": self._auto_merge(pull.auto_merge),
            "active_lock_reason": pull.lock_reason,
            "stack": self.stack_of(pull),
        }
        links = {
            "self": api,
            "html": html,
            "issue": shown["issue_url"],
            "comments": shown["comments_url"],
            "review_comments": shown["review_comments_url"],
            "review_comment": shown["review_comment_url"],
            "commits": shown["commits_url"],
            "statuses": shown["statuses_url"],
        }
        shown["_links"] = {name: {"href": address} for name, address in links.items()}
        if full:
            # The rules know of checks and reviews, whose own events are rendered here: imported when first needed.
            from app.emulator.acts.branch_rules import protection_state

            ahead, _ = pull.repo.git.ahead_behind(pull.head_sha, pull.base_sha)
            merge_base = pull.repo.git.merge_base(pull.base_sha, pull.head_sha)
            stats = pull.repo.git.diff(merge_base, pull.head_sha).stats if merge_base else None
            trial = current_trial(pull, self.world.clock.now())
            mergeable = trial.mergeable if trial is not None else None
            shown |= {
                "merged": pull.merged,
                "mergeable": mergeable,
                "rebaseable": trial.rebaseable if trial is not None else None,
                "mergeable_state": mergeable_state(pull, mergeable, lambda: protection_state(self.world, pull)),
                "merged_by": self.account_or_none(pull.merged_by),
                "comments": len(pull.comments),
                "review_comments": sum(len(t.comments) for t in pull.threads),
                "maintainer_can_modify": pull.maintainer_can_modify,
                "commits": ahead,
                "additions": stats.insertions if stats else 0,
                "deletions": stats.deletions if stats else 0,
                "changed_files": stats.files_changed if stats else 0,
            }
        return shown

    def _auto_merge(self, order: AutoMerge | None) -> Json | None:
        if order is None:
            return None
        return {
            "enabled_by": self.account(order.enabled_by),
            "merge_method": order.method,
            "commit_title": order.title or "",
            "commit_message": order.message or "",
        }

    def _side(self, owner: Account, repo: Repository | None, ref: str, sha: str) -> Json:
        return {
            "label": f"{owner.login}:{ref}",
            "ref": ref,
            "sha": sha,
            "user": self.account(owner),
            "repo": self.repository(repo) if repo is not None else None,
        }
