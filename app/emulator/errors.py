"""Refusals, worded as GitHub words them."""

from __future__ import annotations

import json
from collections.abc import Sequence
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


def unreadable(words: str) -> ApiError:
    """422 "Invalid request.": the body does not fit its schema. The words are those of brandur/json_schema, which are
    GitHub's too: values as they are, members of lists quoted (pkgdeps/automerge-gate, octokit/octokit.rb#992)."""
    return ApiError(422, f"Invalid request.\n\n{words}")


def no_member(value: Any, allowed: Sequence[str]) -> str:
    """The words about a value that a list of values does not have."""
    return f"{value} is not a member of {json.dumps(list(allowed))}."


def no_sha(name: str) -> ApiError:
    """422 about what is no whole object name (recorded of `GET …/git/blobs/{sha}`, `PUT …/merge` and others)."""
    return ApiError(422, f"The {name} parameter must be exactly 40 characters and contain only [0-9a-f].")


def not_supplied(names: Sequence[str]) -> str:
    """The words about members that must be there (piotrmurach/github_cli#28 has both of two)."""
    listed = ", ".join(f'"{name}"' for name in sorted(names))
    return f"{listed} {'wasn' if len(names) == 1 else 'weren'}'t supplied."


def invalid(resource: str, field: str, code: str = "invalid", message: str | None = None) -> ApiError:
    """422 "Validation Failed" with one error entry."""
    entry: dict[str, Any] = {"resource": resource, "field": field, "code": code}
    if message is not None:
        entry["message"] = message
    return ApiError(422, "Validation Failed", [entry])


def refused_pull(message: str) -> ApiError:
    """422 "Validation Failed" about a pull request, in GitHub's free form."""
    return ApiError(422, "Validation Failed", [{"resource": "PullRequest", "code": "custom", "message": message}])
