"""The merge queue: entries are built on one another, judged by the required checks of their own head, and landed.

Each entry gets a branch ``gh-readonly-queue/BASE/pr-N-SHA`` with the commit that would land, and a ``merge_group``
event that asks for checks. Checks on the pull request's head do not count for it. When an entry leaves, those behind
it are built anew. Source: "Managing a merge queue" and the parameters of the ``merge_queue`` rule.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.emulator.acts.branch_rules import merge_queue_rule, queue_violations, required_checks
from app.emulator.acts.events import announce, record
from app.emulator.acts.issue_events import tell, touch
from app.emulator.acts.merging import MergeOrder, land, landing_commit
from app.emulator.acts.refs import moved
from app.emulator.acts.required_checks import check_state
from app.emulator.clock import to_stamp
from app.emulator.errors import ApiError
from app.emulator.git_merges import merged_tree
from app.emulator.guard_state import QueueEntry
from app.emulator.repos import ZERO, RefChange, RefsRefused
from app.emulator.state import Actor, PullRequest, Repository
from app.emulator.world import World

_BOT = "github-merge-queue[bot]"


def enqueue(world: World, pull: PullRequest, actor: Actor, expected_head: str | None, *, jump: bool) -> QueueEntry:
    """Put a pull request into the queue of its base now. Raises 422: this is not "when ready"."""
    if merge_queue_rule(pull.repo, pull.base_ref) is None:
        raise ApiError(422, "Base branch does not have a merge queue enabled")
    if pull.queue_entry is not None:
        raise _refused("Pull request is already in the queue")
    if pull.state != "open" or pull.draft:
        raise _refused("Pull request is closed" if pull.state != "open" else "Pull request is in draft state")
    if expected_head is not None and expected_head != pull.head_sha:
        raise _refused("Head branch was modified. Review and try the merge again.")
    base = pull.repo.git.branch(pull.base_ref)
    if base is None or merged_tree(pull.repo.git, base, pull.head_sha) is None:
        raise _refused("Pull request has merge conflicts")
    found = queue_violations(world, pull, actor)
    if found.sentences:
        raise _refused(found.message)
    entry = QueueEntry(
        id=world.ids.next("queue_entry"),
        pull=pull,
        enqueued_by=actor.account,
        enqueued_at=world.clock.stamp(),
        since=world.clock.now(),
        base_branch=pull.base_ref,
        expected_head=pull.head_sha,
        jump=jump,
    )
    queue = pull.repo.guard.queues.setdefault(pull.base_ref, [])
    if jump:
        _unbuild(world, queue)
        queue.insert(0, entry)
    else:
        queue.append(entry)
    pull.queue_entry, pull.auto_merge = entry, None
    pull.repo.guard.armed.discard(pull.number)
    touch(world, pull)
    record(world, pull, "added_to_merge_queue", actor, _enqueuer=actor.account)
    tell(world, pull, "enqueued", actor)
    return entry


def dequeue(world: World, entry: QueueEntry, reason: str, actor: Actor) -> None:
    """Take an entry out for one of GitHub's reasons (``MANUAL``, ``CI_FAILURE`` …); those behind are built anew."""
    pull = entry.pull
    queue = pull.repo.guard.queues.get(entry.base_branch, [])
    behind = queue[queue.index(entry) + 1 :]
    _leave(world, entry, "dequeued")
    _unbuild(world, behind)
    entry.state = "UNMERGEABLE"
    record(
        world,
        pull,
        "removed_from_merge_queue",
        actor,
        _enqueuer=entry.enqueued_by,
        _reason=reason.lower(),
        _before_commit=entry.head_sha or pull.head_sha,
    )
    tell(world, pull, "dequeued", actor, reason=reason)


def position(entry: QueueEntry) -> int:
    """The place in the queue, from 1."""
    return entry.pull.repo.guard.queues[entry.base_branch].index(entry) + 1


def step(world: World, repo: Repository, branch: str) -> None:
    """One look at a queue: drop what cannot land, build, judge, land. Ends where only time or checks can help."""
    while _pass(world, repo, branch):
        continue


def _pass(world: World, repo: Repository, branch: str) -> bool:
    queue, rule = repo.guard.queues.get(branch, []), merge_queue_rule(repo, branch)
    bot = queue_bot(world)
    if not queue:
        repo.guard.queues.pop(branch, None)
        return False
    for entry in queue:
        reason = _void(entry, cleared=rule is None)
        if reason is not None:
            dequeue(world, entry, reason, bot)
            return True
    assert rule is not None
    if _build(world, queue, rule, bot):
        return True
    for entry in queue:
        if entry.state == "AWAITING_CHECKS":
            verdict = _verdict(world, entry, rule)
            if verdict in ("CI_FAILURE", "CI_TIMEOUT"):
                dequeue(world, entry, verdict, bot)
                return True
            if verdict == "MERGEABLE":
                entry.state = "MERGEABLE"
    return _land_group(world, repo, queue, rule, bot)


def _void(entry: QueueEntry, *, cleared: bool) -> str | None:
    pull = entry.pull
    if pull.merged:
        return "ALREADY_MERGED"
    if cleared or pull.base_ref != entry.base_branch:
        return "QUEUE_CLEARED"
    if pull.state != "open":
        return "MANUAL"
    return "UNKNOWN_REMOVAL_REASON" if pull.head_sha != entry.expected_head else None


def _build(world: World, queue: list[QueueEntry], rule: dict[str, Any], bot: Actor) -> bool:
    """Build what is to be built; True when an entry had to leave on the way."""
    repo, branch = queue[0].pull.repo, queue[0].base_branch
    tip = repo.git.branch(branch)
    if tip is None:
        dequeue(world, queue[0], "QUEUE_CLEARED", bot)
        return True
    for entry in queue[: max(1, rule["max_entries_to_build"])]:
        if entry.head_sha is not None and entry.base_sha != tip:
            _unbuild(world, queue[queue.index(entry) :])
        if entry.head_sha is None:
            if merged_tree(repo.git, tip, entry.pull.head_sha) is None:
                dequeue(world, entry, "MERGE_CONFLICT", bot)
                return True
            method = rule["merge_method"].lower()
            entry.base_sha, entry.head_sha = tip, _unjudged_commit(world, entry.pull, bot, method, tip)
            entry.head_ref = f"refs/heads/gh-readonly-queue/{branch}/pr-{entry.pull.number}-{tip}"
            entry.state, entry.checks_since = "AWAITING_CHECKS", world.clock.now()
            change = RefChange(entry.head_ref, ZERO, entry.head_sha)
            repo.git.update([change])
            moved(world, repo, [change], bot)
            _tell_group(world, entry, "checks_requested", bot)
        assert entry.head_sha is not None
        tip = entry.head_sha
    return False


def _unjudged_commit(world: World, pull: PullRequest, bot: Actor, method: str, base: str) -> str:
    """What would land, as a commit that no check has seen: built anew within a second, or under a clock that stands
    still, it would be the one of the time before, and its old checks would judge it."""
    repo, order = pull.repo, MergeOrder(method)
    judged = {s.head_sha for s in repo.suites} | {s.sha for s in repo.statuses}
    # Rebased commits that the base has already leave the base as it is, whenever they are built.
    while (commit := landing_commit(world, pull, bot, order, base)) in judged and commit != base:
        order = replace(order, later_s=order.later_s + 1)
    return commit


def _verdict(world: World, entry: QueueEntry, rule: dict[str, Any]) -> str:
    repo = entry.pull.repo
    assert entry.head_sha is not None
    assert entry.checks_since is not None
    states = {check_state(repo, [entry.head_sha], c) for c in required_checks(repo, entry.base_branch)}
    if states & {"failing", "wrong app"}:
        return "CI_FAILURE"
    if states <= {"passing"}:
        return "MERGEABLE"
    limit = rule["check_response_timeout_minutes"] * 60
    return "CI_TIMEOUT" if world.clock.now() - entry.checks_since >= limit else "AWAITING_CHECKS"


def _land_group(world: World, repo: Repository, queue: list[QueueEntry], rule: dict[str, Any], bot: Actor) -> bool:
    most = max(1, rule["max_entries_to_merge"])
    head = [e for e in queue[:most] if e.head_sha is not None]
    if rule["grouping_strategy"] == "HEADGREEN":
        green = max((i for i, e in enumerate(head, 1) if e.state == "MERGEABLE"), default=0)
    else:
        green = next((i for i, e in enumerate(head) if e.state != "MERGEABLE"), len(head))
    waited = world.clock.now() - queue[0].since >= rule["min_entries_to_merge_wait_minutes"] * 60
    if green == 0 or (green < rule["min_entries_to_merge"] and not waited):
        return False
    for entry in head[:green]:
        assert entry.base_sha is not None
        assert entry.head_sha is not None
        if queue_violations(world, entry.pull, None).sentences and not _was_bypassed(world, entry):
            dequeue(world, entry, "BRANCH_PROTECTIONS", bot)
            return True
        try:
            _leave(world, entry, "merged", tell_of_ref=False)
            land(world, entry.pull, entry.base_sha, entry.head_sha, bot, by="merge_queue_merge")
        except RefsRefused:
            queue.insert(0, entry)
            entry.pull.queue_entry = entry
            _unbuild(world, queue)
            return True
        record(world, entry.pull, "removed_from_merge_queue", bot, _enqueuer=entry.enqueued_by, _reason="merge")
        tell(world, entry.pull, "dequeued", bot, reason="MERGE")
        _drop_ref(world, entry, bot)
    return True


def _was_bypassed(world: World, entry: QueueEntry) -> bool:
    return not queue_violations(world, entry.pull, Actor(entry.enqueued_by)).sentences


def _leave(world: World, entry: QueueEntry, reason: str, *, tell_of_ref: bool = True) -> None:
    queue = entry.pull.repo.guard.queues.get(entry.base_branch, [])
    if entry in queue:
        queue.remove(entry)
    entry.pull.queue_entry = None
    if entry.head_sha is not None:
        _tell_group(world, entry, "destroyed", queue_bot(world), reason=reason)
        if tell_of_ref:
            _drop_ref(world, entry, queue_bot(world))


def _unbuild(world: World, entries: list[QueueEntry]) -> None:
    """Take the built commits from entries whose ground has gone."""
    for entry in entries:
        if entry.head_sha is not None:
            _tell_group(world, entry, "destroyed", queue_bot(world), reason="invalidated")
            _drop_ref(world, entry, queue_bot(world))
            entry.state, entry.base_sha, entry.head_sha, entry.checks_since = "QUEUED", None, None, None


def _drop_ref(world: World, entry: QueueEntry, bot: Actor) -> None:
    repo = entry.pull.repo
    old = repo.git.ref(entry.head_ref) if entry.head_ref is not None else None
    if old is not None and entry.head_ref is not None:
        change = RefChange(entry.head_ref, old, ZERO)
        repo.git.update([change])
        moved(world, repo, [change], bot)
    entry.head_ref = None


def _tell_group(world: World, entry: QueueEntry, action: str, actor: Actor, **extra: Any) -> None:
    repo = entry.pull.repo
    commit: Any = repo.git.commit(entry.head_sha or "")

    def person(signed: Any) -> dict[str, Any]:
        return {"name": signed.name, "email": signed.email}

    group = {
        "head_sha": entry.head_sha,
        "head_ref": entry.head_ref,
        "base_sha": entry.base_sha,
        "base_ref": f"refs/heads/{entry.base_branch}",
        "head_commit": {
            "id": entry.head_sha,
            "tree_id": str(commit.tree_id),
            "message": commit.message,
            "timestamp": to_stamp(commit.commit_time),
            "author": person(commit.author),
            "committer": person(commit.committer),
        },
    }
    announce(world, repo, "merge_group", {"action": action, "merge_group": group} | extra, actor)


def queue_bot(world: World) -> Actor:
    """The account under which the queue acts."""
    return Actor(world.account(_BOT) or world.add_account(_BOT, "Bot"))


def _refused(reason: str) -> ApiError:
    return ApiError(422, f"Pull request {reason}")
