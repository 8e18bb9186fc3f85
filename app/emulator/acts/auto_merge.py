"""Auto-merge: a standing order to merge a pull request as soon as nothing is in the way.

Source: "Automatically merging a pull request"; the refusals are those of ``enablePullRequestAutoMerge``. Where the
base has a merge queue, the pull request is put into it when it is ready.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from app.emulator.acts.branch_rules import merge_queue_rule, merge_violations, protection_state, queue_violations
from app.emulator.acts.events import record
from app.emulator.acts.issue_events import tell, touch
from app.emulator.acts.merge_queue import enqueue
from app.emulator.acts.merging import BASE_MODIFIED, MergeOrder, merge
from app.emulator.acts.standing_orders import disable_auto_merge, forget_auto_merge
from app.emulator.errors import ApiError
from app.emulator.git_merges import merged_tree
from app.emulator.guard_state import AutoMerge
from app.emulator.render_protection import is_protected
from app.emulator.state import Actor, PullRequest, Repository
from app.emulator.world import World

_EVENTS = {"merge": "auto_merge_enabled", "squash": "auto_squash_enabled", "rebase": "auto_rebase_enabled"}


def enable_auto_merge(world: World, pull: PullRequest, actor: Actor, order: MergeOrder) -> None:
    """Give the standing order. Raises 422 with GitHub's reasons, among them that merging is possible right now."""
    if pull.stack is not None:
        raise ApiError(422, "Auto-merge is not supported for stacked pull requests")
    if not pull.repo.settings.allow_auto_merge:
        raise _refused("Auto merge is not allowed for this repository")
    if pull.state != "open":
        raise _refused("Pull request is closed")
    if order.expected_head is not None and order.expected_head != pull.head_sha:
        raise _refused("Head branch was modified. Review and try the merge again.")
    if not is_protected(pull.repo, pull.base_ref):
        raise _refused("Protected branch rules not configured for this branch")
    if not pull.repo.settings.allows(order.method):
        raise _refused(f"Merge method {order.method} is not allowed on this repository")
    if not pull.draft and _merges_cleanly(pull):
        state = protection_state(world, pull)
        if state in ("clean", "unstable"):
            raise _refused(f"Pull request is in {state} status")
    known = pull.auto_merge
    pull.auto_merge = AutoMerge(
        enabled_by=actor.account,
        app=actor.app,
        enabled_at=world.clock.stamp(),
        base_ref=pull.base_ref,
        method=order.method,  # type: ignore[arg-type]
        title=order.title,
        message=order.message,
    )
    pull.repo.guard.armed.add(pull.number)
    if known is None:
        touch(world, pull)
        record(world, pull, _EVENTS[order.method], actor)
        tell(world, pull, "auto_merge_enabled", actor)


def merge_if_ready(world: World, repo: Repository, number: int) -> None:
    """Merge an armed pull request, put it into its queue, or leave it waiting."""
    pull: Any = repo.issues.get(number)
    order: AutoMerge | None = pull.auto_merge
    if order is None or pull.merged:
        forget_auto_merge(pull)
        return
    actor = Actor(order.enabled_by, order.app)
    if pull.state != "open" or pull.base_ref != order.base_ref:
        disable_auto_merge(world, pull, actor, "Pull request was closed" if pull.state != "open" else "Base changed")
    elif pull.draft or not _merges_cleanly(pull):
        return
    elif merge_queue_rule(repo, pull.base_ref) is not None:
        if pull.queue_entry is None and not queue_violations(world, pull, None).sentences:
            with suppress(ApiError):
                enqueue(world, pull, actor, None, jump=False)
    elif not merge_violations(world, repo, pull, None, order.method).sentences:
        _merge(world, pull, actor, MergeOrder(order.method, order.title, order.message))


def _merge(world: World, pull: PullRequest, actor: Actor, order: MergeOrder) -> None:
    for _ in range(2):
        try:
            merge(world, pull, actor, order)
        except ApiError as refusal:
            if refusal.message == BASE_MODIFIED:
                continue  # the trial merge is made anew
        else:
            forget_auto_merge(pull)
        return


def _merges_cleanly(pull: PullRequest) -> bool:
    base = pull.repo.git.branch(pull.base_ref)
    return base is not None and merged_tree(pull.repo.git, base, pull.head_sha) is not None


def _refused(reason: str) -> ApiError:
    return ApiError(422, f"Pull request {reason}")
