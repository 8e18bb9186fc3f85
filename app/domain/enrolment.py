"""Which Issues are tickets without anybody having claimed them: by the policy's label, or by a branch of their own.

The third way, an agent's claim, needs no rule: then a ledger stands. Taking the label away, or the branch, ends what an
Issue that nobody claimed was enrolled by.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.branches import ticket_of_branch
from app.domain.observation import Observation
from app.domain.policy import EnrollPolicy, Policy


@dataclass(frozen=True)
class Enrolled:
    """The Issue is a ticket, because of this."""

    because: str


@dataclass(frozen=True)
class NotEnrolled:
    """Nothing of the Issue, its branches and its PRs is touched."""

    reason: str


def enrolment(observation: Observation, policy: Policy) -> Enrolled | NotEnrolled:
    """Whether the policy makes the observed Issue a ticket. GitHub's label names do not differ by case."""
    if observation.is_pull_request:
        return NotEnrolled("the number is a pull request's")
    issue = observation.issue
    if issue is None:
        return NotEnrolled("no Issue has the number")
    if issue.state != "OPEN":
        return NotEnrolled("the Issue is closed")
    if has_label(issue.labels, policy.enroll):
        return Enrolled(f"it carries the label {policy.enroll.label!r}")
    if policy.enroll.branch:
        named = next((b.name for b in observation.branches if ticket_of_branch(b.name) == issue.number), None)
        if named is not None:
            return Enrolled(f"the branch {named!r} is named after it")
    return NotEnrolled("nobody has claimed it, and the policy does not enroll it")


def has_label(labels: Sequence[str], enroll: EnrollPolicy) -> bool:
    """Whether one of an Issue's labels is the one that makes it a ticket."""
    wanted = enroll.label
    return wanted is not None and any(label.casefold() == wanted.casefold() for label in labels)
