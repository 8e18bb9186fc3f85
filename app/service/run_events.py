"""Workflow runs in deliveries that are found by their ids: those that were started for a ticket. Pure."""

from collections.abc import Mapping

from app.domain.keys import is_installation_id
from app.service.events import DISPATCHES, Ignored, Poked, Routing


def run_of(event: str, payload: object) -> tuple[int, int] | None:
    """The repository and the run, by their ids, of a delivery that tells of a run which somebody dispatched. Never
    raises.
    """
    if event != "workflow_run" or not isinstance(payload, Mapping):
        return None
    run, repository = payload.get("workflow_run"), payload.get("repository")
    if not isinstance(run, Mapping) or not isinstance(repository, Mapping) or run.get("event") not in DISPATCHES:
        return None
    ids = (repository.get("id"), run.get("id"))
    return (int(str(ids[0])), int(str(ids[1]))) if all(is_installation_id(one) for one in ids) else None


def with_key(routing: Routing, key: str | None) -> Routing:
    """The same, and this key as well."""
    if key is None:
        return routing
    if isinstance(routing, Ignored):
        return Poked((key,), "a run that was started for a ticket")
    return Poked(tuple(dict.fromkeys([key, *routing.keys])), routing.reason, routing.words)
