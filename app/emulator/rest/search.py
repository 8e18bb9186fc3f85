"""Search for Issues and pull requests."""

from __future__ import annotations

from typing import Any

from app.emulator.errors import ApiError, invalid
from app.emulator.rest.table import render, routes
from app.emulator.routing import Request, Response, page_bounds, page_links
from app.emulator.search import find_issues
from app.emulator.search_terms import parse

_KINDS = ("issue", "pr", "pull-request")


@routes.add("GET", "/search/issues")
def search_issues(request: Request) -> Response:
    query = request.query.get("q", "").strip()
    if not query:
        raise invalid("Search", "q", "missing")
    token = request.identity.token
    terms = parse(query).terms()
    typed = any(t.key in ("is", "type") and t.value.lower() in _KINDS for t in terms)
    if token is not None and token.kind != "classic" and not typed:
        # Seen with fine-grained and App tokens (github/github-mcp-server#462, DataDog/ddqa#116).
        raise ApiError(422, "Query must include 'is:issue' or 'is:pull-request'")
    found = find_issues(request, query, request.query.get("sort"), request.query.get("order", "desc") != "asc")
    page, size = page_bounds(request)
    shown = [_item(render(request).issue(i)) for i in found[(page - 1) * size : page * size]]
    link = page_links(request, page, max(1, -(-len(found) // size)))
    # The list comes before what describes it: Octokit takes the first unknown member for the list.
    data = {"total_count": len(found), "incomplete_results": False, "items": shown, "search_type": "lexical"}
    return Response.json(data, headers={"link": link} if link else {})


def _item(issue: dict[str, Any]) -> dict[str, Any]:
    """An Issue as a search shows it: without who closed it and its parent, with a score."""
    return {name: value for name, value in issue.items() if name not in ("closed_by", "parent_issue_url")} | {
        "score": 1.0
    }
