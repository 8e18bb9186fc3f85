"""A workflow run that comes for a ticket: what its OIDC token says of it, and whether it is the run that was started.

The run has no GitHub account of its own. What stands in the place of an account's permission is that GitHub itself
names the repository, the workflow file and the default branch: whoever may change that file there decides what runs.
Which run it is, the ledger says. Source: docs.github.com, "OpenID Connect reference".
"""

from dataclasses import dataclass

from app.domain.dispatched import Dispatched, Run
from app.domain.outcome import Blocked, Code
from app.domain.policy import ResumePolicy
from app.domain.run_seen import RunSeen


@dataclass(frozen=True)
class RunClaims:
    """What a token says whose signature, issuer, audience and times were found right."""

    repository_id: int
    repository: str
    run: Run
    event: str
    ref: str
    workflow_ref: str
    job_workflow_ref: str
    actor: str
    """Whoever started the run: an App's name ends in `[bot]`, as no person's does."""


@dataclass(frozen=True)
class Unnamed:
    """The ledger does not say which run was started: whether it is this one, its name says (`is_named`)."""

    run: Run


def not_the_workflow(claims: RunClaims, resume: ResumePolicy, *, repository_id: int, default_branch: str) -> str | None:
    """Why this is no run of the repository's own agent workflow as its default branch has it, or None."""
    if claims.repository_id != repository_id:
        return "the run belongs to another repository"
    branch = f"refs/heads/{default_branch}"
    if claims.ref != branch:
        return f"the run is not of the default branch {default_branch!r}"
    # The id above says which repository it is; its name may have changed since the run began.
    expected = f"{claims.repository}/.github/workflows/{resume.workflow}@{branch}"
    if claims.workflow_ref != expected:
        return f"the run is not of the workflow {resume.workflow!r} (resume.workflow) on the default branch"
    if claims.job_workflow_ref != expected:
        return f"the job runs another workflow than {resume.workflow!r}: a reusable one may not claim"
    return None


def not_the_run(claims: RunClaims, dispatched: Dispatched) -> str | Unnamed | None:
    """Why this is not the run that the dispatch started, or what is still to be asked, or None."""
    if dispatched.start == "command":
        return "the agent was started by the operator's command, which is no workflow run"
    if claims.event != dispatched.start:
        return f"the run was started by {claims.event}, and the agent by {dispatched.start}"
    if claims.run.attempt != 1:
        return "it is a re-run, and only the first attempt of a run was started by the App"
    if dispatched.run is not None:
        return None if claims.run == dispatched.run else "it is another run than the one that was started"
    if not claims.actor.endswith("[bot]"):
        return "a person started the run, and not the App"
    return Unnamed(claims.run)


def is_named(seen: RunSeen, dispatched: Dispatched) -> bool:
    """Whether the name of a run, as it was computed at its start, holds the dispatch's attempt."""
    return seen.status != "gone" and seen.run.attempt == 1 and dispatched.attempt in seen.title


def refused_run(reason: str) -> Blocked:
    """The refusal of a run that may not act for the ticket."""
    return Blocked(
        Code.FORBIDDEN,
        f"this workflow run may not act for the ticket: {reason}",
        "let the App start the run (resume.dispatch in .github/agent-recovery.yml), and pass its input `attempt` on as "
        "AGENT_RECOVERY_ATTEMPT; a person claims with a GitHub account's own token",
    )
