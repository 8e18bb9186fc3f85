"""What a look at a ticket is to find besides the ticket: told by its record and by the repository's policy."""

from app.domain.decision_refs import to_look_up
from app.domain.policy import Policy
from app.domain.record import Record
from app.domain.surroundings import NOTHING_MORE, Asked


def asked_of_policy(policy: Policy | None) -> Asked:
    """The part that the policy decides: the base of releases, and whether there is a Project."""
    if policy is None:
        return NOTHING_MORE
    return Asked(into=policy.release.into, project=policy.project.number is not None)


def asked_for(record: Record, repository: str, by_policy: Asked) -> Asked:
    """The whole question. `by_policy`: what the policy decided when it was last read."""
    work = record.published.sha if record.published else record.base_sha
    checkpoint = record.checkpoint
    objects, numbers = to_look_up(checkpoint.decision_refs, repository, work)
    return Asked(
        into=by_policy.into,
        project=by_policy.project,
        work=work,
        predecessor=checkpoint.predecessor_issue_or_pr,
        predecessor_sha=checkpoint.predecessor_sha if checkpoint.predecessor_issue_or_pr else None,
        objects=objects,
        numbers=numbers,
    )
