"""How REST answers and webhook payloads show check suites and check-runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.emulator.clock import to_stamp
from app.emulator.state import App, CheckRun, CheckSuite, Repository

if TYPE_CHECKING:
    from app.emulator.world import World

Json = dict[str, Any]


class CheckRender:
    """The part of the renderer that shows checks; the rest of it is in :mod:`app.emulator.render`."""

    world: World
    html: str
    api: str

    if TYPE_CHECKING:

        def app(self, app: App, installations: int | None = None) -> Json: ...

        def minimal_repository(self, repo: Repository, role: str | None = None) -> Json: ...

    def check_suite(self, suite: CheckSuite, *, event: bool = False) -> Json:
        """A suite; the one in an event has no repository of its own, for that stands beside it."""
        api = f"{self.api}/repos/{suite.repo.full_name}"
        shown = self._suite_facts(suite) | {
            "latest_check_runs_count": len({r.name for r in suite.runs}),
            "check_runs_url": f"{api}/check-suites/{suite.id}/check-runs",
            "head_commit": self.simple_commit(suite.repo, suite.head_sha),
            "rerequestable": True,
            "runs_rerequestable": True,
        }
        return shown if event else shown | {"repository": self.minimal_repository(suite.repo)}

    def _suite_facts(self, suite: CheckSuite) -> Json:
        return {
            "id": suite.id,
            "node_id": suite.node_id,
            "head_branch": suite.head_branch,
            "head_sha": suite.head_sha,
            "status": suite.status,
            "conclusion": suite.conclusion,
            "url": f"{self.api}/repos/{suite.repo.full_name}/check-suites/{suite.id}",
            "before": None,
            "after": suite.head_sha,
            "pull_requests": self._pulls_of(suite),
            "app": self.app(suite.app),
            "created_at": suite.created_at,
            "updated_at": suite.updated_at,
        }

    def check_run(self, run: CheckRun, *, event: bool = False) -> Json:
        """A check-run; in an event with its suite's facts, else with the suite's id alone."""
        repo = run.suite.repo
        api = f"{self.api}/repos/{repo.full_name}"
        html = f"{self.html}/{repo.full_name}/runs/{run.id}"
        return {
            "id": run.id,
            "node_id": run.node_id,
            "name": run.name,
            "head_sha": run.suite.head_sha,
            "external_id": run.external_id,
            "url": f"{api}/check-runs/{run.id}",
            "html_url": html,
            # Without one, GitHub leads to the App's home page.
            "details_url": run.details_url or f"{self.html}/apps/{run.suite.app.slug}",
            "status": run.status,
            "conclusion": run.conclusion,
            "started_at": run.started_at,
            "completed_at": run.completed_at,
            "output": {
                "title": run.title,
                "summary": run.summary,
                "text": run.text,
                "annotations_count": len(run.annotations),
                "annotations_url": f"{api}/check-runs/{run.id}/annotations",
            },
            "check_suite": self._suite_facts(run.suite) if event else {"id": run.suite.id},
            "app": self.app(run.suite.app),
            "pull_requests": self._pulls_of(run.suite),
        }

    def annotation(self, run: CheckRun, annotation: Json) -> Json:
        """An annotation with where the file it speaks of is read."""
        name, sha = run.suite.repo.full_name, run.suite.head_sha
        return annotation | {"blob_href": f"{self.html}/{name}/blob/{sha}/{annotation['path']}"}

    def simple_commit(self, repo: Repository, oid: str) -> Json | None:
        """A commit as suites and workflow runs show it; None once it is gone."""
        commit = repo.git.commit(oid)
        if commit is None:
            return None
        return {
            "id": oid,
            "tree_id": str(commit.tree_id),
            "message": commit.message,
            "timestamp": to_stamp(commit.committer.time),
            "author": {"name": commit.author.name, "email": commit.author.email},
            "committer": {"name": commit.committer.name, "email": commit.committer.email},
        }

    def _pulls_of(self, suite: CheckSuite) -> list[Json]:
        """The open pull requests with this head, those from forks left out."""
        return [
            {
                "id": p.pull_id,
                "number": p.number,
                "url": f"{self.api}/repos/{p.repo.full_name}/pulls/{p.number}",
                "head": {"ref": p.head_ref, "sha": p.head_sha, "repo": self._short(suite.repo)},
                "base": {"ref": p.base_ref, "sha": p.base_sha, "repo": self._short(suite.repo)},
            }
            for p in suite.repo.pulls()
            if p.state == "open" and p.head_sha == suite.head_sha and p.head_repo is suite.repo
        ]

    def _short(self, repo: Repository) -> Json:
        return {"id": repo.id, "url": f"{self.api}/repos/{repo.full_name}", "name": repo.name}
