"""The versions of the REST API: the emulator makes what 2022-11-28 shows, and a later version shows less of it.

docs.github.com, "API versions" and "Breaking changes"; the refusal's words are those of
github.com/expipiplus1/update-nix-fetchgit/issues/79.
"""

from __future__ import annotations

import json
from typing import Any

from app.emulator.errors import ApiError
from app.emulator.routing import Request, Response

FIRST, LATEST = SUPPORTED = ("2022-11-28", "2026-03-10")
HEADER = "x-github-api-version"
# What 2026-03-10 no longer shows, each with a member by which the thing that had it is known.
_GONE = (("assignee", "assignees"), ("merge_commit_sha", "merged_at"), ("has_downloads", "full_name"))
_GONE_AT = {"/rate_limit": ("rate",), "/": ("authorizations_url", "hub_url")}


def asked_for(request: Request) -> str:
    """The version of a request; the first when it names none. Raises 400 for one that GitHub does not have."""
    version = request.headers.get(HEADER, FIRST)
    if version not in SUPPORTED:
        listed = ", ".join(f'"{each}"' for each in SUPPORTED)
        raise ApiError(
            400,
            f'The version you specified in the "X-GitHub-API-Version" request header, "{version}", is not a supported '
            f"version. The following versions are currently supported: {listed} (most recent).",
        )
    return version


def as_of(version: str, request: Request, response: Response) -> Response:
    """An answer as a version shows it."""
    if version == FIRST or "json" not in response.headers.get("content-type", ""):
        return response
    shown = _without(json.loads(response.body))
    for name in _GONE_AT.get(request.path, ()):
        del shown[name]
    response.body = json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode()
    return response


def _without(shown: Any) -> Any:
    if isinstance(shown, list):
        return [_without(each) for each in shown]
    if not isinstance(shown, dict):
        return shown
    gone = {name for name, beside in _GONE if beside in shown}
    return {name: _without(value) for name, value in shown.items() if name not in gone}
