"""Required reviews: which reviews count, and GitHub's sentences about those that are missing."""

from __future__ import annotations

from app.emulator.acts.code_owners import owner_groups
from app.emulator.guard_state import Review, ReviewRule
from app.emulator.state import Account, PullRequest
from app.emulator.world import World

_OPINIONS = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")
_WRITERS = ("write", "maintain", "admin")


def opinions(pull: PullRequest) -> dict[int, Review]:
    """The newest opinion of each reviewer, by account id; comments are none, a dismissed one counts for nothing."""
    newest: dict[int, Review] = {}
    for review in pull.reviews:
        if review.state in _OPINIONS:
            newest[review.author.id] = review
    return newest


def counted(world: World, pull: PullRequest, state: str) -> list[Review]:
    """The newest opinions that are ``state`` and come from somebody with write access."""
    return [r for r in opinions(pull).values() if r.state == state and can_write(world, pull, r)]


def can_write(world: World, pull: PullRequest, review: Review) -> bool:
    """Has the reviewer write access: a person by role, an App by its permission?"""
    if review.app is not None:
        installed = [i for i in world.installations_on(pull.repo) if i.app is review.app]
        return any(i.permissions.get("contents") == "write" for i in installed)
    return pull.repo.role_of(review.author) in _WRITERS


def last_pusher(pull: PullRequest) -> Account:
    """Who made the last push that changed what there is to review; bringing the base in is none."""
    home = pull.head_repo
    if home is None:
        return pull.author
    pushes = [(sha, who) for (branch, sha), who in home.guard.pushers.items() if branch == pull.head_ref]
    known = [sha for sha, _ in pushes]
    if pull.head_sha not in known:
        return pull.author
    at = known.index(pull.head_sha)
    while at > 0 and same_changes(pull, known[at - 1], known[at]):
        at -= 1
    return pushes[at][1]


def same_changes(pull: PullRequest, old: str, new: str) -> bool:
    """Do two heads propose the same changes to the base, as before and after a merge of the base into the head?"""
    git, base = pull.repo.git, pull.repo.git.branch(pull.base_ref)
    if old == new:
        return True
    if base is None or git.commit(old) is None or git.commit(new) is None:
        return False
    starts = [git.merge_base(base, head) for head in (old, new)]
    if None in starts:
        return False
    before, after = (git.diff(start, head).patchid for start, head in zip(starts, (old, new), strict=True) if start)
    return bool(before == after)


def review_sentences(world: World, pull: PullRequest, rule: ReviewRule) -> list[str]:
    """What required reviews say against merging, in GitHub's words."""
    approvals, objections = counted(world, pull, "APPROVED"), len(counted(world, pull, "CHANGES_REQUESTED"))
    said: list[str] = []
    if objections:
        many = objections > 1
        said.append(f"{objections} review{'s' if many else ''} requesting changes by reviewers with write access.")
    elif len(approvals) < rule.count:
        many = rule.count > 1
        said.append(
            f"At least {rule.count} approving review{'s' if many else ''} {'are' if many else 'is'} required by "
            "reviewers with write access."
        )
    if rule.code_owners:
        said += _owner_sentences(world, pull, approvals)
    pusher = last_pusher(pull) if rule.last_push_approval else None
    fresh = [a for a in approvals if a.author is not pusher and same_changes(pull, a.commit_id, pull.head_sha)]
    if rule.last_push_approval and not fresh:
        said.append("New changes require approval from someone other than the last pusher.")
    if rule.conversation_resolution:
        said += conversation_sentences(pull)
    return said


def conversation_sentences(pull: PullRequest) -> list[str]:
    """The sentence about open conversations, or nothing."""
    told = [t for t in pull.threads if any(c.review.state != "PENDING" for c in t.comments)]
    if all(thread.resolved_by is not None for thread in told):
        return []
    return ["A conversation must be resolved before this pull request can be merged."]


def _owner_sentences(world: World, pull: PullRequest, approvals: list[Review]) -> list[str]:
    approved = {a.author.login.lower() for a in approvals}
    waiting: list[str] = []
    for group in owner_groups(pull):
        owners = [login for login in group if _is_writer(world, pull, login)]
        if owners and not approved & {o.lower() for o in owners}:
            waiting += [o for o in owners if o not in waiting]
    if not waiting:
        return []
    return [f"Waiting on code owner review from {' and/or '.join(waiting)}."]


def _is_writer(world: World, pull: PullRequest, login: str) -> bool:
    account = world.account(login)
    return account is not None and pull.repo.role_of(account) in _WRITERS
