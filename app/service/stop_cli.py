"""`agent-recovery stop` and `start`: the operator's switch for one repository, or for all of an account's.

It takes effect within a second in every service on the same database, in the middle of a round too. Reads, briefs and
`/readyz` go on; pokes wait. What must stay stopped whatever becomes of the database stands in AGENT_RECOVERY_STOPPED.
"""

import json
from typing import Annotated

import typer

from app.domain.keys import RepositoryKey
from app.domain.outcome import Code, Exit
from app.domain.plain_text import one_line
from app.github.errors import GitHubError
from app.service.operator_command import login_named, repository_named, stop, with_parts
from app.service.running import Parts

app = typer.Typer(help="The operator's switch for a repository.")

Repository = Annotated[str | None, typer.Option("--repo", metavar="OWNER/NAME", help="One repository.")]
Account = Annotated[str | None, typer.Option("--account", metavar="OWNER", help="All repositories of an account.")]
By = Annotated[str, typer.Option("--by", metavar="LOGIN", help="The person who says so; shown to whoever is refused.")]
Json = Annotated[bool, typer.Option("--json", help="The outcome as one JSON object.")]


@app.command("stop")
def stop_(
    by: By,
    repository: Repository = None,
    account: Account = None,
    reason: Annotated[str, typer.Option(help="Why, in a few words.")] = "no reason given",
    as_json: Json = False,
) -> None:
    """Write nothing more to a repository, from now on and until `start`."""
    scope = _scope(repository, account, as_json)
    login_named(by, as_json)
    known = with_parts(lambda parts: _stop(parts, scope, by, one_line(reason)[:200]), as_json)
    words = f"{scope} is stopped; every service on this database writes nothing there within a second"
    if not known:
        words += ". GitHub did not say its id, so a new name of it would not be stopped"
    _tell(scope, True, words, as_json)


@app.command("start")
def start(repository: Repository = None, account: Account = None, as_json: Json = False) -> None:
    """Take a stop back; what waited meanwhile is done."""
    scope = _scope(repository, account, as_json)
    removed, still = with_parts(lambda parts: _start(parts, scope), as_json)
    if still:
        words = f"{scope} is still stopped: {still}"
        stop(Exit.GATE_CLOSED, Code.WRITES_OFF.value, words, "take that back too", as_json)
    _tell(scope, False, f"{scope} goes on" if removed else f"{scope} was not stopped", as_json)


async def _stop(parts: Parts, scope: str, by: str, reason: str) -> bool:
    number, known = None, "/" not in scope
    if not known:
        try:
            number, known = (await parts.github.repository(*scope.split("/", 1))).id, True
        except GitHubError:
            pass
    await parts.stops.stop(scope, number, by=by, reason=reason, now=parts.github.clock.now())
    return known


async def _start(parts: Parts, scope: str) -> tuple[bool, str | None]:
    if "/" not in scope:
        removed, blocked = await parts.stops.start(scope), await parts.stops.blocked(f"{scope}/any")
        return removed, blocked.reason if blocked is not None else None
    repo = await parts.github.repository(*scope.split("/", 1))
    removed = await parts.stops.start(scope, repo.id)
    blocked = await parts.stops.blocked(repo.full_name, repo.id)
    await parts.pokes.poke(str(RepositoryKey(repo.full_name)))
    return removed, blocked.reason if blocked is not None else None


def _scope(repository: str | None, account: str | None, as_json: bool) -> str:
    if (repository is None) == (account is None):
        words = "say either --repo OWNER/NAME or --account OWNER"
        stop(Exit.USAGE, Code.USAGE.value, words, "correct the call", as_json)
    if repository is not None:
        return "/".join(repository_named(repository, as_json))
    return login_named(account or "", as_json)


def _tell(scope: str, stopped: bool, words: str, as_json: bool) -> None:
    typer.echo(json.dumps({"scope": scope, "stopped": stopped}, indent=2) if as_json else words)
