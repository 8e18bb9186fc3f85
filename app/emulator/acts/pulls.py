"""Pull requests: opening, closing, reopening, retargeting, and following their branches.

The head a pull request was closed with is kept; only while it is open does it follow its branch. A closed one
opens again only if its branches exist and the head still descends from the head it was closed with.
"""

from __future__ import annotations

from typing import Any

from app.emulator.acts.events import record
from app.emulator.acts.issues import check_length, cross_reference, take_number, tell, touch
from app.emulator.errors import ApiError, invalid, refused_pull
from app.emulator.merge_state import mergeability_key
from app.emulator.repos import ZERO, RefChange
from app.emulator.state import Account, Actor, PullRequest, Repository
from app.emulator.world import World


def open_pull(
    world: World,
    repo: Repository,
    actor: Actor,
    *,
    title: str,
    body: str | None,
    head: str,
    base: str,
    draft: bool,
) -> PullRequest:
    """A new pull request. Raises 422 with GitHub's reasons."""
    if not title.strip():
        raise invalid("PullRequest", "title", "missing_field")
    check_length(body)
    branch = _head_branch(repo, head)
    head_sha = repo.git.branch(branch) if branch is not None else None
    base_sha = repo.git.branch(base)
    if head_sha is None or branch is None:
        raise invalid("PullRequest", "head")
    if base_sha is None:
        raise invalid("PullRequest", "base")
    if open_pull_for(repo, branch, base) is not None:
        raise refused_pull(f"A pull request already exists for {repo.owner.login}:{branch}.")
    if repo.git.ahead_behind(head_sha, base_sha)[0] == 0:
        raise refused_pull(f"No commits between {base} and {branch}")
    if draft and repo.private and not repo.plan_allows_drafts:
        raise ApiError(422, "Draft pull requests are not supported in this repository.")
    now = world.clock.stamp()
    pull = PullRequest(
        id=world.ids.next("issue"),
        pull_id=world.ids.next("pull"),
        number=take_number(repo),
        repo=repo,
        title=title,
        body=body,
        author=actor.account,
        app=actor.app,
        created_at=now,
        updated_at=now,
        head_repo=repo,
        head_ref=branch,
        head_sha=head_sha,
        base_ref=base,
        base_sha=base_sha,
        draft=draft,
    )
    repo.issues[pull.number] = pull
    _keep_head(pull)
    tell(world, pull, "opened", actor)
    cross_reference(world, pull, body, actor)
    return pull


def open_pull_for(repo: Repository, head: str, base: str) -> PullRequest | None:
    """The open pull request from one branch to another."""
    return next((p for p in repo.pulls() if p.state == "open" and p.head_ref == head and p.base_ref == base), None)


def close_pull(world: World, pull: PullRequest, actor: Actor) -> None:
    """Close without merging; a closed one stays as it is."""
    if pull.state == "closed":
        return
    pull.state = "closed"
    pull.closed_at, pull.closed_by = world.clock.stamp(), actor.account
    touch(world, pull)
    record(world, pull, "closed", actor)
    tell(world, pull, "closed", actor)


def reopen_pull(world: World, pull: PullRequest, actor: Actor) -> None:
    """Open again. Raises 422 with GitHub's reason why the state cannot be changed."""
    if pull.state == "open":
        return
    reason = reopen_refusal(pull)
    if reason is not None:
        raise invalid("PullRequest", "state", message=f"state cannot be changed. {reason}")
    pull.state, pull.closed_at, pull.closed_by = "open", None, None
    touch(world, pull)
    record(world, pull, "reopened", actor)
    pull.base_sha = pull.repo.git.branch(pull.base_ref) or pull.base_sha
    before, head = pull.head_sha, pull.repo.git.branch(pull.head_ref) or pull.head_sha
    if head != before:
        pull.head_sha = head
        _keep_head(pull)
    tell(world, pull, "reopened", actor)


def reopen_refusal(pull: PullRequest) -> str | None:
    """Why a closed pull request cannot be opened again, or None."""
    if pull.merged:
        return "The pull request cannot be reopened."
    if pull.reopen_refusal is not None:
        return pull.reopen_refusal
    head, base = pull.head_repo.git.branch(pull.head_ref), pull.repo.git.branch(pull.base_ref)
    if head is None:
        return f"The {pull.head_ref} branch has been deleted."
    if base is None:
        return f"The {pull.base_ref} branch has been deleted."
    if not pull.repo.git.is_ancestor(pull.head_sha, head):
        return f"The {pull.head_ref} branch was force-pushed or recreated."
    other = open_pull_for(pull.repo, pull.head_ref, pull.base_ref)
    if other is not None:
        return f"There is already an open pull request from {pull.head_ref} to {pull.base_ref}."
    if pull.repo.git.ahead_behind(head, base)[0] == 0:
        return f"There are no new commits on the {pull.head_ref} branch."
    return None


def retarget(world: World, pull: PullRequest, base: str, actor: Actor) -> None:
    """Change the base branch. Raises 422 when that is impossible."""
    if base == pull.base_ref:
        return
    if pull.state == "closed":
        raise invalid("PullRequest", "base", message="Cannot change the base branch of a closed pull request.")
    base_sha = pull.repo.git.branch(base)
    if base_sha is None:
        raise invalid("PullRequest", "base", message=f"Proposed base branch '{base}' was not found")
    if open_pull_for(pull.repo, pull.head_ref, base) is not None:
        raise refused_pull(f"A pull request already exists for base branch '{base}' and head branch '{pull.head_ref}'")
    if pull.repo.git.ahead_behind(pull.head_sha, base_sha)[0] == 0:
        raise refused_pull(f"There are no new commits between base branch '{base}' and head branch '{pull.head_ref}'")
    changes = {"base": {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}}}
    record(world, pull, "base_ref_changed", actor, from_ref=pull.base_ref, to_ref=base)
    pull.base_ref, pull.base_sha = base, base_sha
    touch(world, pull)
    tell(world, pull, "edited", actor, changes=changes)


def set_draft(world: World, pull: PullRequest, draft: bool, actor: Actor) -> None:
    """Convert to draft or mark ready; no change raises no event."""
    if pull.draft == draft:
        return
    pull.draft = draft
    touch(world, pull)
    record(world, pull, "convert_to_draft" if draft else "ready_for_review", actor)
    tell(world, pull, "converted_to_draft" if draft else "ready_for_review", actor)


def request_reviewers(world: World, pull: PullRequest, people: list[Account], actor: Actor) -> None:
    """Ask people for a review. The author cannot be asked."""
    if pull.author in people:
        raise ApiError(422, "Review cannot be requested from pull request author.")
    for person in people:
        if person not in pull.requested_reviewers:
            pull.requested_reviewers.append(person)
            record(world, pull, "review_requested", actor, requested_reviewer=person)
            tell(world, pull, "review_requested", actor)


def mergeability(pull: PullRequest) -> bool | None:
    """Mergeability as the last read left it; asking starts the computation, the next read has the answer."""
    key = mergeability_key(pull)
    if pull.state != "open" or not key[1]:
        return None
    known = key in pull.mergeability
    value = pull.mergeability.get(key)
    if value is None and known:
        value = pull.mergeability[key] = pull.repo.git.merges_cleanly(key[1], key[0])
    elif not known:
        pull.mergeability = {key: None}
    return value


def head_moved(world: World, repo: Repository, branch: str, old: str, new: str, actor: Actor) -> None:
    """Let pull requests follow a head branch that was made, moved or deleted."""
    for pull in [p for p in repo.pulls() if p.head_ref == branch and p.head_repo is repo]:
        if pull.state == "open" and new == ZERO:
            record(world, pull, "head_ref_deleted", actor)
            close_pull(world, pull, actor)
        elif pull.state == "open" and new != pull.head_sha:
            _synchronize(world, pull, new, actor)
        elif pull.state == "closed" and new == ZERO and pull.head_sha == old:
            record(world, pull, "head_ref_deleted", actor)
        elif pull.state == "closed" and old == ZERO and new == pull.head_sha:
            record(world, pull, "head_ref_restored", actor)


def base_moved(world: World, repo: Repository, branch: str, old: str, new: str, actor: Actor) -> None:
    """Let pull requests follow a base branch: all commits in it = merged, branch deleted = closed."""
    for pull in [p for p in repo.pulls() if p.state == "open" and p.base_ref == branch]:
        if new == ZERO:
            record(world, pull, "base_ref_deleted", actor)
            close_pull(world, pull, actor)
        elif repo.git.is_ancestor(pull.head_sha, new):
            _merged(world, pull, _landing_commit(repo, pull.head_sha, old, new), actor)


def _synchronize(world: World, pull: PullRequest, new: str, actor: Actor) -> None:
    git = pull.repo.git
    before, forced = pull.head_sha, not git.is_ancestor(pull.head_sha, new)
    pull.base_sha = git.branch(pull.base_ref) or pull.base_sha
    pull.head_sha = new
    _keep_head(pull)
    touch(world, pull)
    if forced:
        record(world, pull, "head_ref_force_pushed", actor, commit_id=new, before_commit=before, after_commit=new)
    if git.is_ancestor(new, pull.base_sha):
        if not forced:
            _merged(world, pull, new, actor)
            return
        pull.reopen_refusal = f"There are no new commits on the {pull.head_ref} branch."
        close_pull(world, pull, actor)
        return
    tell(world, pull, "synchronize", actor, before=before, after=new)


def _merged(world: World, pull: PullRequest, merge_commit: str, actor: Actor) -> None:
    now = world.clock.stamp()
    pull.state, pull.merged = "closed", True
    pull.merged_at = pull.closed_at = now
    pull.merged_by = pull.closed_by = actor.account
    pull.merge_commit_sha = merge_commit
    touch(world, pull)
    record(world, pull, "merged", actor, commit_id=merge_commit)
    record(world, pull, "closed", actor)
    tell(world, pull, "closed", actor)


def _landing_commit(repo: Repository, head: str, old: str, new: str) -> str:
    """The first commit on the base's own line that contains the head."""
    if old == ZERO:
        return new
    landing: str = new
    commit: Any = repo.git.commit(new)
    while str(commit.id) != old and repo.git.is_ancestor(head, str(commit.id)):
        landing = str(commit.id)
        if not commit.parent_ids:
            break
        commit = repo.git.commit(str(commit.parent_ids[0]))
    return landing


def _keep_head(pull: PullRequest) -> None:
    pull.repo.git.update([RefChange(f"refs/pull/{pull.number}/head", None, pull.head_sha)])


def _head_branch(repo: Repository, head: str) -> str | None:
    owner, colon, branch = head.partition(":")
    if not colon:
        return head
    return branch if owner.lower() == repo.owner.login.lower() else None
