"""Workflows and their runs."""

from __future__ import annotations

from typing import Any

from app.emulator.actions_state import Workflow, WorkflowRun
from app.emulator.graphql.connections import connection
from app.emulator.graphql.views import View, shows, view, viewer_of


@shows(Workflow)
class WorkflowView(View):
    """A workflow."""

    thing: Workflow
    __typename = "Workflow"

    def __init__(self, request: Any, thing: Workflow) -> None:
        super().__init__(request, thing)
        self.id, self.databaseId, self.name = thing.node_id, thing.id, thing.name
        self.state = thing.state.upper()
        self.createdAt, self.updatedAt = thing.created_at, thing.updated_at
        self.resourcePath = f"/{thing.repo.full_name}/actions/workflows/{thing.path.rpartition('/')[2]}"
        self.url = request.world.url + self.resourcePath

    def runs(self, info: Any, **page: Any) -> Any:
        own = [r for r in self.request.world.actions.runs_of(self.thing.repo) if r.workflow is self.thing]
        return connection("runs", own, viewer_of(self.request), **page)


@shows(WorkflowRun)
class WorkflowRunView(View):
    """A run of a workflow."""

    thing: WorkflowRun
    __typename = "WorkflowRun"

    def __init__(self, request: Any, thing: WorkflowRun) -> None:
        super().__init__(request, thing)
        self.id, self.databaseId, self.event = thing.node_id, thing.id, thing.event
        self.runNumber = thing.number
        self.createdAt, self.updatedAt = thing.created_at, thing.attempt.updated_at
        self.resourcePath = f"/{thing.repo.full_name}/actions/runs/{thing.id}"
        self.url = request.world.url + self.resourcePath

    @property
    def checkSuite(self) -> Any:
        return view(self.request, self.thing.suite)

    @property
    def workflow(self) -> Any:
        return view(self.request, self.thing.workflow)
