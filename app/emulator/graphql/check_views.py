"""Check suites, check-runs, commit statuses."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.branch_rules import required_checks
from app.emulator.acts.required_checks import is_required
from app.emulator.graphql.connections import connection
from app.emulator.graphql.git_views import CommitThing, ref_thing
from app.emulator.graphql.views import View, shows, view, viewer_of
from app.emulator.render import Render
from app.emulator.rest.checks import select_runs
from app.emulator.state import CheckRun, CheckSuite, CommitStatus, Repository


@shows(CheckSuite)
class CheckSuiteView(View):
    """A check suite."""

    thing: CheckSuite
    __typename = "CheckSuite"

    def __init__(self, request: Any, thing: CheckSuite) -> None:
        super().__init__(request, thing)
        self.id, self.databaseId = thing.node_id, thing.id
        self.status = thing.status.upper()
        self.conclusion = thing.conclusion.upper() if thing.conclusion else None
        self.createdAt, self.updatedAt = thing.created_at, thing.updated_at

    @property
    def app(self) -> Any:
        return view(self.request, self.thing.app)

    @property
    def branch(self) -> Any:
        name = self.thing.head_branch
        return view(self.request, ref_thing(self.thing.repo, f"refs/heads/{name}")) if name else None

    @property
    def commit(self) -> Any:
        return view(self.request, CommitThing(self.thing.repo, self.thing.head_sha))

    @property
    def repository(self) -> Any:
        return view(self.request, self.thing.repo)

    @property
    def workflowRun(self) -> Any:
        runs = self.request.world.actions.runs.values()
        return view(self.request, next((r for r in runs if r.suite is self.thing), None))

    def checkRuns(self, info: Any, filterBy: dict[str, Any] | None = None, **page: Any) -> Any:
        wanted = filterBy or {}
        app_id = wanted.get("appId")
        runs = select_runs(
            [self.thing],
            wanted.get("checkName"),
            str(app_id) if app_id is not None else None,
            "all" if wanted.get("checkType") == "ALL" else "latest",
        )
        statuses = [*(wanted.get("statuses") or []), *([wanted["status"]] if wanted.get("status") else [])]
        if statuses:
            runs = [r for r in runs if r.status.upper() in statuses]
        if wanted.get("conclusions"):
            runs = [r for r in runs if (r.conclusion or "").upper() in wanted["conclusions"]]
        return connection("checkRuns", runs, viewer_of(self.request), **page)


@shows(CheckRun)
class CheckRunView(View):
    """A check-run."""

    thing: CheckRun
    __typename = "CheckRun"

    def __init__(self, request: Any, thing: CheckRun) -> None:
        super().__init__(request, thing)
        self.id, self.databaseId, self.name = thing.node_id, thing.id, thing.name
        self.status = thing.status.upper()
        self.conclusion = thing.conclusion.upper() if thing.conclusion else None
        self.externalId = thing.external_id
        self.startedAt, self.completedAt = thing.started_at, thing.completed_at
        self.title, self.summary, self.text = thing.title, thing.summary, thing.text
        self.resourcePath = f"/{thing.suite.repo.full_name}/runs/{thing.id}"
        self.url = self.permalink = request.world.url + self.resourcePath
        self.detailsUrl = thing.details_url or self.url

    def isRequired(self, info: Any, **of: Any) -> bool:
        return _is_required(self.thing.suite.repo, self.thing.name, of)

    def annotations(self, info: Any, **page: Any) -> Any:
        return connection("annotations", self.thing.annotations, self._annotation, **page)

    def _annotation(self, given: dict[str, Any]) -> dict[str, Any]:
        shown = Render(self.request.world).annotation(self.thing, given)
        level = given["annotation_level"].upper()
        return {
            # GitHub stores the level "error", which its GraphQL has no name for.
            "annotationLevel": level if level in ("FAILURE", "NOTICE", "WARNING") else None,
            "blobUrl": shown["blob_href"],
            "location": {
                side: {"line": given[f"{side}_line"], "column": given[f"{side}_column"]} for side in ("start", "end")
            },
            "message": given["message"],
            "path": given["path"],
            "rawDetails": given["raw_details"],
            "title": given["title"],
        }

    @property
    def checkSuite(self) -> Any:
        return view(self.request, self.thing.suite)

    @property
    def repository(self) -> Any:
        return view(self.request, self.thing.suite.repo)


@shows(CommitStatus)
class StatusContextView(View):
    """A commit status."""

    thing: CommitStatus
    __typename = "StatusContext"

    def __init__(self, request: Any, thing: CommitStatus) -> None:
        super().__init__(request, thing)
        self.id, self.context, self.state = thing.node_id, thing.context, thing.state.upper()
        self.description, self.targetUrl, self.createdAt = (
            thing.description,
            thing.target_url,
            thing.created_at,
        )

    def isRequired(self, info: Any, **of: Any) -> bool:
        return _is_required(self.thing.repo, self.thing.context, of)

    @property
    def creator(self) -> Any:
        return view(self.request, self.thing.creator)


def _is_required(repo: Repository, context: str, of: dict[str, Any]) -> bool:
    """Does the base of the pull request that is asked about require a check of this name?"""
    number, wanted = of.get("pullRequestNumber"), of.get("pullRequestId")
    pull = next((p for p in repo.pulls() if p.number == number or p.node_id == wanted), None)
    return pull is not None and is_required(required_checks(repo, pull.base_ref), context)
