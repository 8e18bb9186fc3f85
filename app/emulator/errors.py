"""Refusals, worded as GitHub words them."""

from __future__ import annotations

from typing import Any

DOCS = "https://docs.github.com/rest"


class ApiError(Exception):
    """A REST refusal: the status and the body that GitHub would answer with."""

    def __init__(self, status: int, message: str, errors: list[Any] | None = None, **extra: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors
        self.extra = extra

    def body(self) -> dict[str, Any]:
        """The JSON body of the refusal."""
        body: dict[str, Any] = {"message": self.message}
        if self.errors is not None:
            body["errors"] = self.errors
        body |= self.extra
        body.setdefault("documentation_url", DOCS)
        body["status"] = str(self.status)
        return body


class GraphQLRefusal(Exception):
    """A GraphQL refusal, mostly with GitHub's ``type`` beside the message."""

    def __init__(self, kind: str | None, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class GenericGraphQLFailure(Exception):
    """The answer that says nothing: what GitHub gives for a lost ``updateRefs`` and for internal faults."""


def not_found() -> ApiError:
    """Missing, or not visible to this identity: GitHub does not tell which."""
    return ApiError(404, "Not Found")


def forbidden_to_app() -> ApiError:
    """The App lacks the permission, or the token was narrowed."""
    return ApiError(403, "Resource not accessible by integration")


def invalid(resource: str, field: str, code: str = "invalid", message: str | None = None) -> ApiError:
    """422 "Validation Failed" with one error entry."""
    entry: dict[str, Any] = {"resource": resource, "field": field, "code": code}
    if message is not None:
        entry["message"] = message
    return ApiError(422, "Validation Failed", [entry])


def refused_pull(message: str) -> ApiError:
    """422 "Validation Failed" about a pull request, in GitHub's free form."""
    return ApiError(422, "Validation Failed", [{"resource": "PullRequest", "code": "custom", "message": message}])
