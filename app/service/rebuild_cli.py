"""`agent-recovery rebuild`: the operator begins a ticket's ledger anew where what stands in its place is not trusted.

It runs beside the service, with the service's own settings and database: a person at the operator's terminal is the
person whose word the ownership protocol asks for (R20).
"""

import asyncio
import json
import re
from typing import Annotated, Any, NoReturn

import typer
from sqlalchemy.exc import SQLAlchemyError

from app.domain.outcome import Code, Exit, Refused, exit_code
from app.domain.plain_text import one_line
from app.domain.rebuild import Rebuild
from app.domain.ticket_id import TicketId, ticket_id
from app.github.errors import GitHubError
from app.service.logs import set_up_logs
from app.service.running import make_parts
from app.service.settings import BadSettings, Settings, load_settings

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9._-]{1,100}")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}")

app = typer.Typer(help="Begins a frozen ticket's ledger anew.")


@app.command()
def rebuild(
    repository: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The repository.")],
    ticket: Annotated[str, typer.Option("--ticket", help="The Issue's number, or a child like 42.docs-1.")],
    by: Annotated[str, typer.Option("--by", metavar="LOGIN", help="The person who looked and says so; recorded.")],
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Also where the newest records are in no sealed text any more.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as one JSON object.")] = False,
) -> None:
    """Replace a frozen ledger by one made from the App's sealed comment and check-run, in a new generation.

    Old leases count for nothing in it, effects that were not settled are unknown, and what stood in its place is kept
    under recovered/. Settings come from the environment as for `serve`.
    """
    number = ticket_id(ticket)
    if number is None or not _REPOSITORY.fullmatch(repository) or not _LOGIN.fullmatch(by):
        words = "OWNER/NAME, --ticket N and --by LOGIN name a repository, an Issue and a person on GitHub"
        _stop(Exit.USAGE, Code.USAGE.value, words, "correct the call", as_json)
    try:
        settings = load_settings()
    except BadSettings as bad:
        _stop(Exit.USAGE, Code.USAGE.value, str(bad), "set what `serve` needs: docs/configuration.md", as_json)
    set_up_logs()
    try:
        made = asyncio.run(_rebuild(settings, repository, number, by, accept_loss=accept_loss, dry_run=dry_run))
    except Refused as refused:
        blocked = refused.blocked
        _stop(exit_code(blocked.code), blocked.code.value, blocked.reason, blocked.remedy, as_json)
    except GitHubError as error:
        _stop(Exit.UNAVAILABLE, Code.UNAVAILABLE.value, one_line(str(error)), "run the same command again", as_json)
    except SQLAlchemyError as error:
        words = f"the database cannot be used ({type(error).__name__})"
        _stop(Exit.USAGE, Code.USAGE.value, words, "check AGENT_RECOVERY_DATABASE_URL", as_json)
    _tell(made, dry_run=dry_run, as_json=as_json)


async def _rebuild(
    settings: Settings, repository: str, ticket: TicketId, by: str, *, accept_loss: bool, dry_run: bool
) -> Rebuild:
    parts = make_parts(settings)
    owner, _, name = repository.partition("/")
    try:
        return await parts.loop.rebuild(owner, name, ticket, by=by, accept_loss=accept_loss, dry_run=dry_run)
    finally:
        await parts.github.aclose()
        await asyncio.to_thread(parts.database.close)


def _tell(made: Rebuild, *, dry_run: bool, as_json: bool) -> None:
    record = made.record
    told: dict[str, Any] = {
        "ticket": str(record.ticket_id),
        "written": not dry_run,
        "from": made.source,
        "generation": record.generation,
        "sequence": record.sequence,
        "status": record.status,
        "lost": made.lost,
        "unknown_effects": [effect.key for effect in record.effects if effect.state == "unknown"],
    }
    if as_json:
        typer.echo(json.dumps(told, indent=2))
        return
    verb = "would be rebuilt" if dry_run else "is rebuilt"
    typer.echo(f"The ledger of #{told['ticket']} {verb} from {made.source}: generation {record.generation}, no holder.")
    if made.lost:
        typer.echo(f"Given up: {made.lost}.")
    for key in told["unknown_effects"]:
        typer.echo(f"Unknown now: the effect {key}.")
    if not dry_run:
        typer.echo(f"next: an agent runs `agent-recovery recover {told['ticket']}`")


def _stop(code: int, name: str, words: str, remedy: str, as_json: bool) -> NoReturn:
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
