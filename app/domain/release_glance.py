"""What a cheap look at a whole repository shows of its releases, and which of them have to be looked at because of it.

A release whose mark is the same is left alone until its turn of the day: so the cost follows releases that move. A mark
that is lost makes its release differ, never the other way round.
"""

from collections.abc import Mapping
from datetime import datetime
from hashlib import blake2b

from app.domain.glance import EVERY, Glance, PullGlance
from app.domain.policy import Policy
from app.domain.pull_class import Ground
from app.domain.trunks import is_trunk


def releases_in(
    glance: Glance, ledgers: Mapping[str, str], policy: Policy, default_branch: str, now: datetime
) -> dict[str, str]:
    """The present mark of every trunk that stands, or that has a ledger or an open pull request. `ledgers`: heads of
    release ledgers by branch.
    """
    ground = Ground(default_branch, policy.release.into or default_branch, policy.trunks)
    pulls: dict[str, list[PullGlance]] = {}
    for pull in glance.pulls:
        if pull.own_repository:
            pulls.setdefault(pull.head, []).append(pull)
    turn = int(now.timestamp() // EVERY.total_seconds())
    found = {}
    for name in {*glance.branches, *ledgers, *pulls}:
        if name == ground.into or not is_trunk(name, policy.trunks, default_branch):
            continue
        lines = [f"{glance.branches.get(name, '')} {ledgers.get(name, '')}"]
        for pull in sorted(pulls.get(name, ()), key=lambda p: p.number):
            lines.append(
                f"#{pull.number} {pull.head_sha} {pull.base} {pull.is_draft} {pull.updated_at} {pull.review} "
                f"{pull.checks} {pull.queued} {pull.auto_merge}"
            )
        if name in pulls:
            # The base counts only while there is a way into it, and a day's turns too.
            lines.append(f"{glance.branches.get(ground.into, '')} {turn}")
        found[name] = blake2b("\n".join(lines).encode(), digest_size=12).hexdigest()
    return found


def with_open_pulls(glance: Glance, marks: Mapping[str, str]) -> frozenset[str]:
    """Of these releases, those with an open pull request: looked at after a start, whatever events were lost."""
    heads = {pull.head for pull in glance.pulls if pull.own_repository}
    return frozenset(name for name in marks if name in heads)
