"""How a request meets the limits: what it costs, how a refusal is worded, what is free."""

from __future__ import annotations

import re
from email.utils import formatdate, parsedate_to_datetime

from app.emulator.auth import Identity
from app.emulator.clock import from_stamp
from app.emulator.errors import ApiError
from app.emulator.limits import Refused
from app.emulator.routing import Request, Response

UNCOUNTED = ("/rate_limit",)
_RATE_DOCS = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"
_CREATING = re.compile(
    r"/repos/[^/]+/[^/]+/(?:issues|pulls|issues/\d+/comments|pulls/\d+/(?:comments|reviews)|issues/\d+/sub_issues"
    r"|commits/[^/]+/comments|releases)\Z"
)
_CREATING_FIELDS = {
    "addComment",
    "addDiscussionComment",
    "addPullRequestReview",
    "addPullRequestReviewThread",
    "createIssue",
    "createPullRequest",
}


def bucket_of(kind: str) -> str:
    """The resource a request is counted on."""
    return "graphql" if kind == "graphql" else "core"


def writes(request: Request, kind: str, mutates: bool) -> bool:
    """Does the request change things? Such a one weighs five."""
    return mutates if kind == "graphql" else request.method not in ("GET", "HEAD", "OPTIONS")


def creates_content(request: Request, kind: str, operations: list[str]) -> bool:
    """Does the request create what people are told of: Issues, pull requests, comments, reviews?"""
    if kind == "graphql":
        return any(name in _CREATING_FIELDS for name in operations)
    return request.method == "POST" and _CREATING.match(request.path) is not None


def primary_refusal(identity: Identity, kind: str, status: int) -> Response:
    """The budget of the hour is spent: 403 or 429 from REST, an error with HTTP 200 from GraphQL."""
    if kind == "graphql":
        error = {
            "type": "RATE_LIMIT",
            "code": "graphql_rate_limit",
            "message": f"API rate limit already exceeded for {_payer(identity)}.",
        }
        return Response.json({"errors": [error]})
    refusal = ApiError(status, f"API rate limit exceeded for {_payer(identity)}.")
    return Response.json(refusal.body() | {"documentation_url": _RATE_DOCS}, status)


def secondary_refusal(refused: Refused, status: int) -> Response:
    """A limit on behaviour was hit, by REST or GraphQL: when to come back stands in ``retry-after``."""
    body = ApiError(status, refused.words).body()
    body["documentation_url"] = f"{_RATE_DOCS}#about-secondary-rate-limits"
    return Response.json(body, status, {"retry-after": str(refused.retry_after_s)})


def _payer(identity: Identity) -> str:
    if identity.installation is not None:
        return f"installation ID {identity.installation.id}"
    if identity.user is not None:
        return f"user ID {identity.user.id}"
    if identity.app is not None:
        return f"app ID {identity.app.id}"
    return (
        "127.0.0.1. (But here's the good news: Authenticated requests get a higher rate limit. Check out the "
        "documentation for more details.)"
    )


def unchanged(request: Request, response: Response) -> bool:
    """Does the client hold this very answer? Its validators are compared weakly; a tag wins over a date."""
    tags = request.headers.get("if-none-match")
    if tags is not None:
        held = {tag.strip().removeprefix("W/") for tag in tags.split(",")}
        return response.headers.get("etag", "").removeprefix("W/") in held
    since, modified = request.headers.get("if-modified-since"), response.headers.get("last-modified")
    if since is None or modified is None:
        return False
    try:
        return parsedate_to_datetime(modified) <= parsedate_to_datetime(since)
    except (ValueError, TypeError):
        return False


def last_modified(response: Response) -> dict[str, str]:
    """The header for an answer that is one thing with a time of its last change."""
    if response.updated_at is None:
        return {}
    return {"last-modified": formatdate(from_stamp(response.updated_at), usegmt=True)}
