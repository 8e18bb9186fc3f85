"""Pull requests: opening, closing, reopening, retargeting, drafts.

The head a pull request was closed with is kept. A closed one opens again only if its branches exist and the head
still descends from the head it was closed with. How they follow their branches: :mod:`app.emulator.acts.following`.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.emulator.acts.closing import connect
from app.emulator.acts.events import record
from app.emulator.acts.forks import fetch_head, network
from app.emulator.acts.issue_events import take_number, tell, touch
from app.emulator.acts.issues import cross_reference
from app.emulator.acts.mergeability import forget
from app.emulator.acts.reviewers import request_code_owners
from app.emulator.acts.stacks import refuse_base
from app.emulator.acts.texts import check_body, check_title
from app.emulator.errors import ApiError, invalid, refused_pull
from app.emulator.repos import RefChange
from app.emulator.state import Actor, Issue, PullRequest, Repository
from app.emulator.world import World


@dataclass(frozen=True)
class Head:
    """Where a pull request comes from: a branch of the repository itself or of a fork of the same network."""

    repo: Repository
    branch: str

    def label(self, base: Repository) -> str:
        """The branch as messages name it: with its owner when it comes from another repository."""
        return self.branch if self.repo is base else f"{self.repo.owner.login}:{self.branch}"


def find_head(world: World, repo: Repository, head: str, head_repo: Repository | None = None) -> Head | None:
    """The head that ``branch`` or ``owner:branch`` names, be it there or not; None without such a repository."""
    owner, colon, branch = head.partition(":")
    if not colon:
        return Head(head_repo or repo, head)
    candidates = [head_repo] if head_repo is not None else [repo, *network(world, repo)]
    found = next((r for r in candidates if r.owner.login.lower() == owner.lower()), None)
    return Head(found, branch) if found is not None else None


def open_pull(
    world: World,
    repo: Repository,
    actor: Actor,
    *,
    title: str,
    body: str | None,
    head: Head | None,
    base: str,
    draft: bool,
    maintainer_can_modify: bool | None = None,
    issue: Issue | None = None,
) -> PullRequest:
    """A new pull request, or an open ``issue`` made into one. Raises 422 with GitHub's reasons.

    ``maintainer_can_modify`` None: as GitHub presets it, on where it can be granted.
    """
    if issue is not None and issue.is_pull:
        raise wrong_issue(issue.number, "The specified issue is already attached to a pull request.")
    if issue is not None and issue.state == "closed":
        raise invalid("PullRequest", "issue")
    check_title("PullRequest", title)
    check_body(world, repo, body, pull=True)
    head_sha = head.repo.git.branch(head.branch) if head is not None else None
    base_sha = repo.git.branch(base)
    if head_sha is None or head is None or base_sha is None:
        missing = [name for name, sha in (("base", base_sha), ("head", head_sha)) if sha is None]
        wrong = [{"resource": "PullRequest", "field": name, "code": "invalid"} for name in missing]
        raise ApiError(422, "Validation Failed", wrong)
    if open_pull_for(repo, head.repo, head.branch, base) is not None:
        raise refused_pull(f"A pull request already exists for {head.repo.owner.login}:{head.branch}.")
    fetch_head(repo, head.repo, head_sha)
    _check_history(repo, head, head_sha, base, base_sha)
    if draft and repo.private and not repo.plan_allows_drafts:
        raise ApiError(422, "Draft pull requests are not supported in this repository.")
    may_grant = head.repo is not repo and head.repo.owner.type == "User" and head.repo.role_of(actor.account) == "admin"
    if maintainer_can_modify and head.repo is not repo and not may_grant:
        message = "Fork collab can't be granted by someone without permission"
        raise invalid("PullRequest", "fork_collab", message=message)
    now = world.clock.stamp()
    pull = PullRequest(
        id=world.ids.next("issue") if issue is None else issue.id,
        pull_id=world.ids.next("pull"),
        number=take_number(repo) if issue is None else issue.number,
        repo=repo,
        title=title,
        body=body or None,
        author=actor.account,
        app=actor.app,
        created_at=now,
        updated_at=now,
        head_repo=head.repo,
        head_owner=head.repo.owner,
        head_ref=head.branch,
        head_sha=head_sha,
        base_ref=base,
        base_sha=base_sha,
        draft=draft,
        maintainer_can_modify=may_grant and maintainer_can_modify is not False,
    )
    if issue is not None:
        pull = _made_of(issue, pull)
    repo.issues[pull.number] = pull
    keep_head(pull)
    tell(world, pull, "opened", actor)
    cross_reference(world, pull, body, actor)
    connect(world, pull, actor)
    request_code_owners(world, pull, actor)
    return pull


def _made_of(issue: Issue, pull: PullRequest) -> PullRequest:
    """The Issue itself as a pull request: to comments, references and projects it stays the same thing."""
    present = set(vars(issue))
    issue.__class__ = PullRequest
    for name, value in vars(pull).items():
        if name not in present:
            setattr(issue, name, value)
    assert isinstance(issue, PullRequest)
    return issue


def _check_history(repo: Repository, head: Head, head_sha: str, base: str, base_sha: str) -> None:
    base_label = base if head.repo is repo else f"{repo.owner.login}:{base}"
    if repo.git.merge_base(base_sha, head_sha) is None:
        raise refused_pull(f"The {head.label(repo)} branch has no history in common with {base_label}")
    if repo.git.ahead_behind(head_sha, base_sha)[0] == 0:
        raise refused_pull(f"No commits between {base_label} and {head.label(repo)}")


def wrong_issue(number: int, message: str) -> ApiError:
    """The refusal of an Issue that cannot be made a pull request."""
    entry = {"value": number, "resource": "PullRequest", "field": "issue", "code": "invalid"}
    return ApiError(422, message, [entry])


def open_pull_for(repo: Repository, head_repo: Repository | None, head: str, base: str) -> PullRequest | None:
    """The open pull request from one branch to another."""
    return next(
        (
            p
            for p in repo.pulls()
            if p.state == "open" and p.head_repo is head_repo and p.head_ref == head and p.base_ref == base
        ),
        None,
    )


def close_pull(world: World, pull: PullRequest, actor: Actor) -> None:
    """Close without merging; a closed one stays as it is."""
    if pull.state == "closed":
        return
    pull.state = "closed"
    pull.closed_at, pull.closed_by = world.clock.stamp(), actor.account
    forget(pull)
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
    assert pull.head_repo is not None
    pull.state, pull.closed_at, pull.closed_by = "open", None, None
    touch(world, pull)
    record(world, pull, "reopened", actor)
    pull.base_sha = pull.repo.git.branch(pull.base_ref) or pull.base_sha
    head = pull.head_repo.git.branch(pull.head_ref) or pull.head_sha
    if head != pull.head_sha:
        fetch_head(pull.repo, pull.head_repo, head)
        pull.head_sha = head
        keep_head(pull)
    tell(world, pull, "reopened", actor)


def reopen_refusal(pull: PullRequest) -> str | None:
    """Why a closed pull request cannot be opened again, or None."""
    if pull.merged:
        return "The pull request cannot be reopened."
    if pull.head_repo is None:
        return "The repository that submitted this pull request has been deleted."
    if pull.reopen_refusal is not None:
        return pull.reopen_refusal
    head, base = pull.head_repo.git.branch(pull.head_ref), pull.repo.git.branch(pull.base_ref)
    if head is None:
        return f"The {pull.head_ref} branch has been deleted."
    if base is None:
        return f"The {pull.base_ref} branch has been deleted."
    if not pull.head_repo.git.is_ancestor(pull.head_sha, head):
        return f"The {pull.head_ref} branch was force-pushed or recreated."
    if open_pull_for(pull.repo, pull.head_repo, pull.head_ref, pull.base_ref) is not None:
        return f"There is already an open pull request from {pull.head_ref} to {pull.base_ref}."
    fetch_head(pull.repo, pull.head_repo, head)
    if pull.repo.git.merge_base(base, head) is None:
        return f"The {pull.head_ref} branch has no history in common with {pull.base_ref}."
    if pull.repo.git.ahead_behind(head, base)[0] == 0:
        return f"There are no new commits on the {pull.head_ref} branch."
    return None


def retarget(world: World, pull: PullRequest, base: str, actor: Actor, *, event: str = "base_ref_changed") -> None:
    """Change the base branch; ``event`` is what the timeline calls it. Raises 422 when that is impossible."""
    refuse_base(pull, base)
    if base == pull.base_ref:
        return
    check_base(pull, base)
    base_sha = pull.repo.git.branch(base)
    if base_sha is None:
        raise invalid("PullRequest", "base", message=f"Proposed base branch '{base}' was not found")
    if open_pull_for(pull.repo, pull.head_repo, pull.head_ref, base) is not None:
        raise refused_pull(f"A pull request already exists for base branch '{base}' and head branch '{pull.head_ref}'")
    if pull.repo.git.ahead_behind(pull.head_sha, base_sha)[0] == 0:
        raise refused_pull(f"There are no new commits between base branch '{base}' and head branch '{pull.head_ref}'")
    changes = {"base": {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}}}
    record(world, pull, event, actor, from_ref=pull.base_ref, to_ref=base)
    pull.base_ref, pull.base_sha = base, base_sha
    touch(world, pull)
    tell(world, pull, "edited", actor, changes=changes)


def check_base(pull: PullRequest, base: str | None) -> None:
    """Refuse a new base for a closed pull request, also beside what opens it (MithrilJS/mithril.js#2862)."""
    if base is not None and base != pull.base_ref and pull.state == "closed":
        raise invalid("PullRequest", "base", message="Cannot change the base branch of a closed pull request.")


def allow_maintainers(world: World, pull: PullRequest, allowed: bool, actor: Actor) -> None:
    """Let maintainers of the base push to the head, or not; only who owns the fork can say so. Raises 422."""
    if pull.head_repo is None or pull.head_repo is pull.repo or pull.maintainer_can_modify == allowed:
        return
    if pull.head_repo.owner.type != "User" or pull.head_repo.role_of(actor.account) != "admin":
        message = "Fork collab can't be granted by someone without permission"
        raise invalid("PullRequest", "fork_collab", message=message)
    pull.maintainer_can_modify = allowed
    touch(world, pull)


def set_draft(world: World, pull: PullRequest, draft: bool, actor: Actor) -> None:
    """Convert to draft or mark ready; no change raises no event."""
    if pull.draft == draft:
        return
    pull.draft = draft
    touch(world, pull)
    record(world, pull, "convert_to_draft" if draft else "ready_for_review", actor)
    tell(world, pull, "converted_to_draft" if draft else "ready_for_review", actor)
    request_code_owners(world, pull, actor)


def keep_head(pull: PullRequest) -> None:
    """Point ``refs/pull/N/head`` at the present head."""
    pull.repo.git.update([RefChange(f"refs/pull/{pull.number}/head", None, pull.head_sha)])
