"""Every error of the agent API in one form: code, message, next action. Never a body, a token or a traceback.

What the caller sent is not repeated in a message: a field's name is enough to find it.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from app.domain.agent_api import ErrorBody, ErrorDetail
from app.domain.outcome import Blocked, Code, Refused, http_status
from app.github.errors import GitHubError
from app.service.github_refusals import refusal_of, retry_after

_log = structlog.get_logger(__name__)

_READ_THE_API = "See /openapi.json for the paths, fields and types of the agent API."


def error_response(
    blocked: Blocked, status: int | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """A refusal as an HTTP answer; the status follows from the code unless HTTP itself says it better."""
    detail = ErrorDetail(
        code=blocked.code,
        message=blocked.reason,
        next_action=blocked.remedy,
        retryable=blocked.retryable,
        holder=blocked.holder,
        generation=blocked.generation,
        highest_seq=blocked.highest_seq,
    )
    status = status or http_status(blocked.code)
    sent = dict(headers or {})
    if status == 401:
        sent["WWW-Authenticate"] = "Bearer"
    return JSONResponse(ErrorBody(error=detail).model_dump(mode="json"), status_code=status, headers=sent)


def install_error_handlers(app: FastAPI) -> None:
    """Turn refusals, validation errors, unknown paths and unexpected failures into error bodies."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(GitHubError, _github)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


async def _refused(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, Refused)
    _log.info("refused", path=request.url.path, code=problem.blocked.code, reason=problem.blocked.reason)
    return error_response(problem.blocked)


async def _github(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, GitHubError)
    _log.warning("github", path=request.url.path, problem=type(problem).__name__, said=str(problem))
    return error_response(refusal_of(problem), headers=retry_after(problem))


async def _invalid(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, RequestValidationError)
    return error_response(invalid_request(problem.errors()))


def invalid_request(errors: Sequence[Mapping[str, Any]]) -> Blocked:
    """What is wrong with a request, field by field, without the values."""
    told = [f"{_field(error['loc'])}: {str(error['msg'])[:200]}" for error in errors[:5]]
    if len(errors) > 5:
        told.append(f"and {len(errors) - 5} more")
    in_checkpoint = all(tuple(error["loc"])[:2] == ("body", "checkpoint") for error in errors)
    return Blocked(
        Code.CHECKPOINT_INVALID if in_checkpoint else Code.USAGE,
        f"The request is not valid. {'; '.join(told)}",
        f"Correct the named field and send the request again. {_READ_THE_API}",
    )


def _field(location: Sequence[object]) -> str:
    """`body.checkpoint` … without list positions that say nothing; names of the caller's are cut."""
    return ".".join(str(part)[:60] for part in location)


async def _http(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, HTTPException)
    code = {404: Code.NOT_FOUND, 401: Code.UNAUTHENTICATED, 403: Code.FORBIDDEN}.get(problem.status_code, Code.USAGE)
    message = {
        404: "There is nothing at this path.",
        405: f"{request.method} is not served at this path.",
        400: "The request could not be read.",
    }.get(problem.status_code, str(problem.detail))
    blocked = Blocked(code, message, _READ_THE_API)
    return error_response(blocked, problem.status_code, problem.headers)


async def _unexpected(request: Request, problem: Exception) -> JSONResponse:
    reference = uuid.uuid4().hex[:12]
    _log.error(
        "unexpected", path=request.url.path, reference=reference, problem=type(problem).__name__, exc_info=problem
    )
    blocked = Blocked(
        Code.UNAVAILABLE,
        f"The service failed unexpectedly (reference {reference}).",
        "Send the same request again with the same key; if it fails again, tell the operator the reference.",
        retryable=True,
    )
    return error_response(blocked, 500)
