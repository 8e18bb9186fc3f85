"""How REST answers and webhook payloads show workflows, their runs and jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.emulator.actions_state import Attempt, Job, StepSeen, Variable, Workflow, WorkflowRun
from app.emulator.state import Account, CheckSuite, Repository

if TYPE_CHECKING:
    from app.emulator.world import World

Json = dict[str, Any]


class ActionsRender:
    """The part of the renderer that shows Actions; the rest of it is in :mod:`app.emulator.render`."""

    world: World
    html: str
    api: str

    if TYPE_CHECKING:

        def account(self, account: Account) -> Json: ...

        def short_repository(self, repo: Repository) -> Json: ...

        def simple_commit(self, repo: Repository, oid: str) -> Json | None: ...

        def _pulls_of(self, suite: CheckSuite) -> list[Json]: ...

    def workflow(self, workflow: Workflow) -> Json:
        repo = workflow.repo
        html = f"{self.html}/{repo.full_name}"
        return {
            "id": workflow.id,
            "node_id": workflow.node_id,
            "name": workflow.name,
            "path": workflow.path,
            "state": workflow.state,
            "created_at": workflow.created_at,
            "updated_at": workflow.updated_at,
            "url": f"{self.api}/repos/{repo.full_name}/actions/workflows/{workflow.id}",
            "html_url": f"{html}/blob/{repo.default_branch}/{workflow.path}",
            "badge_url": f"{html}/workflows/{workflow.name}/badge.svg",
        }

    def run_page(self, run: WorkflowRun) -> str:
        """Where a person looks at a run."""
        return f"{self.html}/{run.repo.full_name}/actions/runs/{run.id}"

    def job_page(self, run: WorkflowRun, job: Job) -> str:
        """Where a person looks at a job."""
        return f"{self.run_page(run)}/job/{job.id}"

    def workflow_run(self, run: WorkflowRun, attempt: Attempt | None = None) -> Json:
        """A run as its present attempt is, or as a former one was."""
        shown, repo = attempt or run.attempt, run.repo
        api = f"{self.api}/repos/{repo.full_name}"
        url = f"{api}/actions/runs/{run.id}"
        before = f"{url}/attempts/{shown.number - 1}" if shown.number > 1 else None
        return {
            "id": run.id,
            "name": run.workflow.name,
            "node_id": run.node_id,
            "head_branch": run.short_ref,
            "head_sha": run.head_sha,
            "path": run.workflow.path,
            "display_title": run.display_title,
            "run_number": run.number,
            "run_attempt": shown.number,
            "event": run.event,
            "status": shown.status,
            "conclusion": shown.conclusion,
            "workflow_id": run.workflow.id,
            "check_suite_id": run.suite.id,
            "check_suite_node_id": run.suite.node_id,
            "url": url,
            "html_url": self.run_page(run),
            "pull_requests": self._pulls_of(run.suite),
            "created_at": run.created_at,
            "updated_at": shown.updated_at,
            "run_started_at": shown.started_at,
            "actor": self.account(run.actor),
            "triggering_actor": self.account(shown.triggering_actor),
            "referenced_workflows": [],
            "jobs_url": f"{url}/jobs",
            "logs_url": f"{url}/logs",
            "check_suite_url": f"{api}/check-suites/{run.suite.id}",
            "artifacts_url": f"{url}/artifacts",
            "cancel_url": f"{url}/cancel",
            "rerun_url": f"{url}/rerun",
            "previous_attempt_url": before,
            "workflow_url": f"{api}/actions/workflows/{run.workflow.id}",
            "head_commit": self.simple_commit(repo, run.head_sha),
            "repository": self.short_repository(repo),
            "head_repository": self.short_repository(repo),
        }

    def job(self, run: WorkflowRun, attempt: Attempt, job: Job) -> Json:
        api = f"{self.api}/repos/{run.repo.full_name}"
        taken = job.status != "queued"
        return {
            "id": job.id,
            "run_id": run.id,
            "workflow_name": run.workflow.name,
            "head_branch": run.short_ref,
            "run_url": f"{api}/actions/runs/{run.id}",
            "run_attempt": attempt.number,
            "node_id": job.check_run.node_id,
            "head_sha": run.head_sha,
            "url": f"{api}/actions/jobs/{job.id}",
            "html_url": self.job_page(run, job),
            "status": job.status,
            "conclusion": job.conclusion,
            "created_at": job.created_at,
            "started_at": job.started_at or job.created_at,
            "completed_at": job.completed_at,
            "name": job.name,
            "steps": [self._step(step) for step in job.steps.values()],
            "check_run_url": f"{api}/check-runs/{job.id}",
            "labels": ["ubuntu-latest"],
            "runner_id": 1 if taken else None,
            "runner_name": "Local command" if taken else None,
            "runner_group_id": 1 if taken else None,
            "runner_group_name": "Default" if taken else None,
        }

    def _step(self, step: StepSeen) -> Json:
        return {
            "name": step.name,
            "status": step.status,
            "conclusion": step.conclusion,
            "number": step.number,
            "started_at": step.started_at,
            "completed_at": step.completed_at,
        }

    def variable(self, variable: Variable) -> Json:
        """A configuration variable."""
        return {
            "name": variable.name,
            "value": variable.value,
            "created_at": variable.created_at,
            "updated_at": variable.updated_at,
        }
