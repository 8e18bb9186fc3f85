"""What the operator's commands share: they run beside the service, with its settings and its database.

A person at the operator's terminal is the person whose word the ownership protocol asks for; who it was is recorded.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import NoReturn, TypeVar

import typer
from sqlalchemy.exc import SQLAlchemyError

from app.controller.view import Gone
from app.domain.outcome import Code, Exit, Refused, exit_code
from app.domain.plain_text import one_line
from app.domain.ticket_id import TicketId, ticket_id
from app.github.errors import Forbidden, GitHubError
from app.service.logs import set_up_logs
from app.service.running import Loop, Parts, make_parts
from app.service.settings import BadSettings, Settings, load_settings
from app.service.told_at_terminal import at_terminal

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9._-]{1,100}")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}")

T = TypeVar("T")


def ticket_named(repository: str, ticket: str, by: str, as_json: bool) -> TicketId:
    """The ticket of a well-formed call. Ends the program where the call is none."""
    number = ticket_id(ticket)
    if number is None or not _REPOSITORY.fullmatch(repository) or not _LOGIN.fullmatch(by):
        words = "OWNER/NAME, --ticket N and --by LOGIN name a repository, an Issue and a person on GitHub"
        stop(Exit.USAGE, Code.USAGE.value, words, "correct the call", as_json)
    return number


def repository_named(repository: str, as_json: bool) -> tuple[str, str]:
    """Owner and name of a well-formed call. Ends the program where the call is none."""
    if not _REPOSITORY.fullmatch(repository):
        stop(Exit.USAGE, Code.USAGE.value, "OWNER/NAME names a repository on GitHub", "correct the call", as_json)
    owner, _, name = repository.partition("/")
    return owner, name


def login_named(login: str, as_json: bool) -> str:
    """A person's login, or the program ends."""
    if not _LOGIN.fullmatch(login):
        stop(Exit.USAGE, Code.USAGE.value, f"{login!r} is no account on GitHub", "correct the call", as_json)
    return login


def carried_out(work: Callable[[Loop], Awaitable[T]], as_json: bool) -> T:
    """What `work` comes to with the service's loop. Ends the program with the code that goes with what went wrong."""
    return with_parts(lambda parts: work(parts.loop), as_json)


def with_parts(work: Callable[[Parts], Awaitable[T]], as_json: bool) -> T:
    """What `work` comes to with the service's parts. Ends the program as `carried_out` does."""
    try:
        settings = load_settings()
    except BadSettings as bad:
        stop(Exit.USAGE, Code.USAGE.value, str(bad), "set what `serve` needs: docs/configuration.md", as_json)
    set_up_logs()
    try:
        return asyncio.run(_run(settings, work))
    except Refused as refused:
        blocked = refused.blocked
        words, remedy = at_terminal(blocked.reason), at_terminal(blocked.remedy)
        stop(exit_code(blocked.code), blocked.code.value, words, remedy, as_json)
    except Gone as missing:
        words = f"there is no such repository, or the App is not installed there ({one_line(missing.message)})"
        stop(Exit.USAGE, Code.NOT_FOUND.value, words, "check the name, or install the App there", as_json)
    except Forbidden as refusal:
        words = f"GitHub lets the App do less than this needs: {one_line(refusal.message)}"
        remedy = "grant it on the App's page and accept it for the installation, then run the same command again"
        stop(Exit.GATE_CLOSED, Code.FORBIDDEN.value, words, remedy, as_json)
    except GitHubError as error:
        stop(Exit.UNAVAILABLE, Code.UNAVAILABLE.value, one_line(str(error)), "run the same command again", as_json)
    except SQLAlchemyError as error:
        words = f"the database cannot be used ({type(error).__name__})"
        stop(Exit.USAGE, Code.USAGE.value, words, "check AGENT_RECOVERY_DATABASE_URL", as_json)


async def _run(settings: Settings, work: Callable[[Parts], Awaitable[T]]) -> T:
    parts = make_parts(settings)
    try:
        return await work(parts)
    finally:
        await parts.github.aclose()
        await asyncio.to_thread(parts.database.close)


def stop(code: int, name: str, words: str, remedy: str, as_json: bool) -> NoReturn:
    """Tells what went wrong, as JSON where that was asked for, and ends the program."""
    if as_json:
        error = {
            "code": name,
            "message": words,
            "next_action": remedy,
            "retryable": code == Exit.UNAVAILABLE,
            "holder": None,
            "generation": None,
        }
        typer.echo(json.dumps({"error": error}, indent=2))
    else:
        typer.echo(words, err=True)
        typer.echo(f"next: {remedy}", err=True)
    raise typer.Exit(code)
