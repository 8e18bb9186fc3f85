"""`agent-recovery audit --repo OWNER/NAME`: does what GitHub shows of the tickets agree with their ledgers?"""

import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from github import GithubException
from requests import RequestException

from app.domain.outcome import Exit
from app.domain.plain_text import one_line
from app.drill.audit.audit import Audited, audit
from app.drill.audit.mirror import NotMirrored
from app.drill.audit.reading import Reader
from app.ledger.seals import PublicKeys

app = typer.Typer(help="Reads a repository as an outsider and looks for what cannot be true.")


@app.command(name="audit")
def audit_command(
    repo: Annotated[str, typer.Option("--repo", metavar="OWNER/NAME", help="The repository.")],
    keys: Annotated[
        Path | None,
        typer.Option("--keys", help="A saved answer of the service's /.well-known/agent-recovery: its public keys."),
    ] = None,
    slug: Annotated[str, typer.Option("--app", help="The App's name in its GitHub URL.")] = "agent-recovery",
    api_url: Annotated[str, typer.Option("--api-url", help="GitHub's API.")] = "https://api.github.com",
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as one JSON object.")] = False,
) -> None:
    """Read every ticket with GITHUB_TOKEN (reading is enough), by PyGithub and git alone, and name every contradiction.

    Exit code 0: none; 5: some; 2: a wrong call; 7: GitHub or git does not answer.
    """
    token = os.environ.get("GITHUB_TOKEN", "").strip()
    if not token or not token.isprintable():
        _stop("usage", "GITHUB_TOKEN is not set", "export a token that may read the repository", as_json)
    public = _public_keys(keys, as_json)
    try:
        with tempfile.TemporaryDirectory(prefix="agent-recovery-audit-") as folder:
            reader = Reader(api_url=api_url.rstrip("/"), repository=repo, token=token, app=slug)
            found = audit(reader, Path(folder) / "mirror.git", token=token, keys=public)
    except GithubException as error:
        words = f"GitHub answered {error.status} for {one_line(repo)}"
        _stop("unavailable", words, "check the repository's name and the token, then try again", as_json)
    except (RequestException, NotMirrored) as error:
        words = one_line(str(error)) if isinstance(error, NotMirrored) else f"{api_url} does not answer"
        _stop("unavailable", words, "try again", as_json)
    if as_json:
        typer.echo(json.dumps(_as_data(repo, found, seals_checked=public is not None), indent=2))
    else:
        _print(found, seals_checked=public is not None)
    raise typer.Exit(Exit.CONFLICT if any(ticket.lies for ticket in found) else Exit.OK)


def _public_keys(file: Path | None, as_json: bool) -> PublicKeys | None:
    if file is None:
        return None
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
        return PublicKeys.from_base64({key["kid"]: key["public_key"] for key in fields["seal_keys"]})
    except (OSError, ValueError, KeyError, TypeError):
        remedy = "save the service's /.well-known/agent-recovery as it is"
        _stop("usage", f"{file} holds no public keys", remedy, as_json)


def _as_data(repo: str, found: list[Audited], *, seals_checked: bool) -> dict[str, Any]:
    return {
        "repository": repo,
        "seals_checked": seals_checked,
        "lies": sum(len(ticket.lies) for ticket in found),
        "tickets": [
            {**asdict(ticket), "criteria": [c.model_dump(mode="json") for c in ticket.criteria]} for ticket in found
        ],
    }


def _print(found: list[Audited], *, seals_checked: bool) -> None:
    for ticket in found:
        state = f"{ticket.status}, generation {ticket.generation}" if ticket.status else "no readable ledger"
        met = [c for c in ticket.criteria if c.met]
        judged = f"; {len(met)} of {len(ticket.criteria)} criteria met" if ticket.criteria else ""
        typer.echo(f"#{ticket.ticket}  {state}; branch {'fenced' if ticket.fenced else ticket.head}{judged}")
        for lie in ticket.lies:
            typer.echo(f"  {lie.kind.value}: {one_line(lie.what)} ({one_line(lie.seen)})")
        for line in ticket.drift:
            typer.echo(f"  to be brought right by the App: {one_line(line)}")
        for note in ticket.notes:
            typer.echo(f"  not checked: {one_line(note.what)}")
    lies = sum(len(ticket.lies) for ticket in found)
    typer.echo(f"{len(found)} tickets, {lies} contradictions")
    if not seals_checked:
        typer.echo("Seals were not checked: give the service's public keys with --keys.", err=True)


def _stop(code: Literal["usage", "unavailable"], words: str, remedy: str, as_json: bool) -> NoReturn:
    if as_json:
        error = {
            "code": code,
            "message": words,
            "next_action": remedy,
            "retryable": code == "unavailable",
            "holder": None,
            "generation": None,
        }
        typer.echo(json.dumps({"error": error}, indent=2))
    else:
        typer.echo(words, err=True)
        typer.echo(f"next: {remedy}", err=True)
    raise typer.Exit(Exit.USAGE if code == "usage" else Exit.UNAVAILABLE)
