"""Native stacks: made, added to, dissolved, and merged from the bottom.

Sources: REST "REST API endpoints for stacked pull requests" and its examples for the words; "Merging stacked pull
requests" for the order; Mergifyio/mergify-cli#1762 for what a stack locks (only the base, even when the value is the
present one, and not atomically); chdsbd/kodiak#923 for the 403 of a synchronous merge; github/gh-stack#455 for what
GraphQL says; github/gh-stack discussions/454 for merged pull requests that stay in their stack, and for a dependent one
that is closed with its base branch because its base cannot be edited. Unlike GitHub, the emulator lands one after the
other, and does not rebase what is above.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from app.emulator.acts.events import record
from app.emulator.acts.issue_events import tell, touch
from app.emulator.errors import ApiError, GraphQLRefusal, invalid
from app.emulator.render import Render
from app.emulator.stack_state import Stack
from app.emulator.state import Actor, PullRequest, Repository
from app.emulator.world import World

ONLY_LATER = "Merging stacked PRs via this endpoint is not supported. Use the asynchronous merge endpoint instead."
_ONLY_LATER_GRAPHQL = (
    "This pull request is part of a stack and must be merged using the asynchronous merge REST API. For more "
    "information, see https://docs.github.com/rest/pulls/pulls#merge-a-pull-request-asynchronously"
)
_NOT_LINEAR = "Pull requests must form a stack, where each PR's base ref is the previous PR's head ref"


def create_stack(world: World, repo: Repository, numbers: Sequence[int], actor: Actor) -> Stack:
    """A stack of these pull requests, from bottom to top. Raises 422."""
    pulls = _free(repo, numbers)
    _check_row(pulls)
    number = max(repo.stacks, default=0) + 1
    made = Stack(world.ids.next("stack"), repo, number, pulls[0].base_ref, world.clock.stamp())
    repo.stacks[number] = made
    _join(world, made, pulls, actor)
    return made


def add_to_stack(world: World, stack: Stack, numbers: Sequence[int], actor: Actor) -> None:
    """Put these on top. Raises 422."""
    pulls = _free(stack.repo, numbers)
    _check_row([stack.pulls[-1], *pulls])
    _join(world, stack, pulls, actor)


def unstack(world: World, stack: Stack) -> Stack | None:
    """Let go all that are neither merged nor queued; None where the stack is dissolved by that. Raises 422."""
    free = [pull for pull in stack.unmerged if pull.queue_entry is None]
    if not free:
        raise ApiError(422, "Pull requests in this stack cannot be removed")
    for pull in free:
        stack.pulls.remove(pull)
        pull.stack = None
        touch(world, pull)
    if stack.pulls:
        return stack
    del stack.repo.stacks[stack.number]
    return None


def refuse_base(pull: PullRequest, base: str | None) -> None:
    """GitHub keeps the bases of a stack itself. Raises 422 for any base, the present one too."""
    if base is not None and pull.stack is not None:
        message = "Cannot change the base branch because the pull request is part of a stack."
        raise invalid("PullRequest", "base", message=message)


def refuse_merge(pull: PullRequest) -> None:
    """A stack is only merged asynchronously. Raises 403."""
    if pull.stack is not None:
        raise ApiError(403, ONLY_LATER)


def refuse_by_graphql(pull: PullRequest) -> None:
    """No mutation merges a stack's pull request or puts it into a queue. Raises the refusal."""
    if pull.stack is not None:
        raise GraphQLRefusal("UNPROCESSABLE", _ONLY_LATER_GRAPHQL)


def to_land(pull: PullRequest) -> list[PullRequest]:
    """What lands together with a pull request: all of its stack that are below it and not merged, bottom first."""
    if pull.stack is None:
        return [pull]
    waiting = pull.stack.unmerged
    return waiting[: waiting.index(pull) + 1] if pull in waiting else [pull]


def check_ready(pull: PullRequest) -> None:
    """Refuse a stack with a closed pull request or a draft among those that are to land. Raises 405."""
    if pull.state != "open":
        raise ApiError(405, "Pull Request is not mergeable")
    if pull.draft:
        raise ApiError(405, "Pull Request is still a draft")


def bring_down(world: World, pull: PullRequest, actor: Actor) -> None:
    """Give the lowest of a stack the stack's own base, as GitHub does when what was below has landed."""
    stack = pull.stack
    base_sha = stack.repo.git.branch(stack.base_ref) if stack is not None else None
    if stack is None or base_sha is None or pull.base_ref == stack.base_ref:
        return
    pull.trial = None
    before = {"base": {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}}}
    record(world, pull, "automatic_base_change_succeeded", actor, from_ref=pull.base_ref, to_ref=stack.base_ref)
    pull.base_ref, pull.base_sha = stack.base_ref, base_sha
    touch(world, pull)
    tell(world, pull, "edited", actor, changes=before)


def _free(repo: Repository, numbers: Sequence[int]) -> list[PullRequest]:
    found = [repo.issues.get(number) for number in numbers]
    missing = [number for number, pull in zip(numbers, found, strict=True) if not isinstance(pull, PullRequest)]
    if missing:
        entry = {"resource": "Stack", "field": "pull_requests", "code": "missing", "value": missing}
        raise ApiError(422, "Validation Failed", [entry])
    pulls = [pull for pull in found if isinstance(pull, PullRequest)]
    taken = next((pull for pull in pulls if pull.stack is not None), None)
    if taken is not None:
        raise ApiError(422, f"Pull request #{taken.number} is already part of a stack")
    return pulls


def _check_row(pulls: Sequence[PullRequest]) -> None:
    for below, above in pairwise(pulls):
        if above.base_ref != below.head_ref or above.head_repo is not above.repo or above.state != "open":
            raise ApiError(422, _NOT_LINEAR)


def _join(world: World, stack: Stack, pulls: Sequence[PullRequest], actor: Actor) -> None:
    stack.pulls += pulls
    for pull in pulls:
        pull.stack = stack
        touch(world, pull)
        tell(world, pull, "stacked", actor, stack=Render(world).stack_of(pull))
