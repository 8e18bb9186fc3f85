"""Whether a workflow run that calls is the one that was started for the ticket (the ownership protocol, R3 and R22).

What the ledger and the policy say is judged by the rules in `domain.run_claims`. Where the ledger does not know which
run was started (GitHub's answer was lost), the run itself is asked for its name, which holds the attempt.
"""

from app.controller.view import Gone, View
from app.domain.dispatched import Run
from app.domain.outcome import Refused
from app.domain.policy_in_force import no_policy
from app.domain.run_claims import RunClaims, Unnamed, is_named, not_the_run, not_the_workflow, refused_run


def require_workflow(view: View, claims: RunClaims) -> None:
    """Raises Refused unless the run is one of the repository's agent workflow, and Gone for another repository's."""
    if claims.repository_id != view.repo.id:
        raise Gone("Not Found", status=404)
    policy = view.usable_policy
    if policy is None:
        raise Refused(no_policy(view.policy))
    default_branch = view.observation.default_branch
    wrong = not_the_workflow(claims, policy.resume, repository_id=view.repo.id, default_branch=default_branch)
    if wrong is not None:
        raise Refused(refused_run(wrong))


async def require_run(view: View, claims: RunClaims) -> Run:
    """The run, where the ticket's latest dispatch started it. Raises Refused, and GitHubError where the run has to be
    asked and GitHub does not answer.
    """
    require_workflow(view, claims)
    dispatched = view.record.dispatched if view.record is not None else None
    if dispatched is None:
        raise Refused(refused_run("the App started no agent for this ticket"))
    wrong = not_the_run(claims, dispatched)
    if isinstance(wrong, Unnamed):
        seen = await view.repo.workflow_run(wrong.run.id, wrong.run.attempt)
        wrong = None if is_named(seen, dispatched) else "its name does not hold the attempt that was started"
    if wrong is not None:
        raise Refused(refused_run(wrong))
    return claims.run
