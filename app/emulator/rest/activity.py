"""What happened to the branches of a repository (docs.github.com, "List repository activities")."""

from __future__ import annotations

from app.emulator.errors import ApiError
from app.emulator.ids import node_id
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response, paginated

_KINDS = ("push", "force_push", "branch_creation", "branch_deletion", "pr_merge", "merge_queue_merge")


@routes.add("GET", "/repos/{owner}/{repo}/activity")
def activities(request: Request, owner: str, repo: str) -> Response:
    """Newest first, of one ``ref``, ``actor`` or ``activity_type`` or of all. Pages are numbered here; GitHub's have
    cursors in their ``Link``.
    """
    found = open_repo(request, owner, repo, "read", "contents")
    wanted, ref = request.query.get("activity_type"), request.query.get("ref")
    if wanted and wanted not in _KINDS:
        raise ApiError(422, "Validation Failed")
    full = ref if ref is None or ref.startswith("refs/") else f"refs/heads/{ref}"
    listed = [a for a in found.guard.activities if full in (None, a.ref) and (not wanted or a.kind == wanted)]
    if who := request.query.get("actor"):
        listed = [a for a in listed if a.actor.login.lower() == who.lower()]
    if request.query.get("direction") != "asc":
        listed.reverse()
    shown = render(request)
    return paginated(
        request,
        listed,
        lambda a: {
            "id": a.id,
            "node_id": node_id("PSH", found.id, a.id),
            "before": a.before,
            "after": a.after,
            "ref": a.ref,
            "timestamp": a.at,
            "activity_type": a.kind,
            "actor": shown.account_or_none(a.actor),
        },
    )
