"""The operator's `agent-recovery hold`, `unhold`, `cancel`, `takeover`, `retarget`, `land`, `accept`: a person's word
about a ticket. What each comes to is a rule of `domain/person_verbs.py`.
"""

import json
import re
import secrets
from functools import partial
from typing import Annotated, Any

import typer

from app.controller.person_commands import Done, VerbName, Word
from app.domain import person_verbs
from app.domain.person_verbs import Verb
from app.service.operator_command import carried_out, ticket_named

app = typer.Typer(help="A person's word about a ticket.")

Repository = Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The repository.")]
Ticket = Annotated[str, typer.Option("--ticket", help="The Issue's number, or a child like 42.docs-1.")]
By = Annotated[str, typer.Option("--by", metavar="LOGIN", help="The person who says so; recorded.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why, for people and agents to read.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be answered, and write nothing.")]
Json = Annotated[bool, typer.Option("--json", help="The outcome as one JSON object.")]


def _commit(text: str) -> str:
    if re.fullmatch(r"[0-9a-f]{40}", text) is None:
        raise typer.BadParameter("a commit is named by all 40 characters of its id, in lower case")
    return text


def _branch(text: str) -> str:
    if re.fullmatch(r"[^\x00-\x20\x7f~^:?*\[\\]{1,244}", text) is None or text.startswith("-"):
        raise typer.BadParameter("that is no branch name")
    return text


Commit = Annotated[str, typer.Argument(metavar="SHA", help="The branch's head, in full.", callback=_commit)]
Branch = Annotated[str, typer.Argument(metavar="BRANCH", help="A trunk of the policy.", callback=_branch)]


@app.command()
def hold(
    repository: Repository,
    ticket: Ticket,
    by: By,
    reason: Reason = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Let nobody claim the ticket, write to it or land it, until it is taken off hold. Its holder keeps the lease."""
    _say("hold", partial(person_verbs.hold, by=by, reason=reason), repository, ticket, by, dry_run, as_json)


@app.command()
def unhold(repository: Repository, ticket: Ticket, by: By, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Take a ticket off hold: it goes on where it was."""
    _say("unhold", partial(person_verbs.unhold, by=by), repository, ticket, by, dry_run, as_json)


@app.command()
def cancel(
    repository: Repository,
    ticket: Ticket,
    by: By,
    reason: Reason = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """End a ticket and its children. Issue, branch and PR are left as they are; running effects become unknown."""
    _say("cancel", partial(person_verbs.cancel, by=by, reason=reason), repository, ticket, by, dry_run, as_json)


@app.command("bring-back")
def bring_back(repository: Repository, ticket: Ticket, by: By, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Let a ticket that was cancelled or abandoned be claimed again, in its next generation."""
    _say("recover", partial(person_verbs.bring_back, by=by), repository, ticket, by, dry_run, as_json)


@app.command()
def takeover(repository: Repository, ticket: Ticket, by: By, dry_run: DryRun = False, as_json: Json = False) -> None:
    """End the present lease, also one whose holder lives: the next agent that claims gets the ticket at once."""
    _say("takeover", partial(person_verbs.takeover, by=by), repository, ticket, by, dry_run, as_json)


@app.command()
def retarget(
    repository: Repository, branch: Branch, ticket: Ticket, by: By, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Move a ticket to another trunk; the base of its PR follows."""
    rule = partial(person_verbs.retarget, by=by, to=branch)
    _say("retarget", rule, repository, ticket, by, dry_run, as_json, branch=branch)


@app.command()
def land(
    repository: Repository, commit: Commit, ticket: Ticket, by: By, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Have exactly this published head land, without waiting for its holder to say ready."""
    _say("land", partial(person_verbs.land, by=by, sha=commit), repository, ticket, by, dry_run, as_json)


@app.command()
def accept(
    repository: Repository, commit: Commit, ticket: Ticket, by: By, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Let a head that somebody else pushed to the ticket's branch count as published."""
    _say("accept", partial(person_verbs.accept, by=by, sha=commit), repository, ticket, by, dry_run, as_json)


def _say(
    verb: VerbName,
    rule: Verb,
    repository: str,
    ticket: str,
    by: str,
    dry_run: bool,
    as_json: bool,
    *,
    branch: str | None = None,
) -> None:
    number = ticket_named(repository, ticket, by, as_json)
    owner, _, name = repository.partition("/")
    word = Word(id=f"terminal-{secrets.token_hex(8)}", verb=verb, by=by, rule=rule, branch=branch)
    done = carried_out(lambda loop: loop.hear(owner, name, number, word, dry_run=dry_run), as_json)
    _tell(verb, done, dry_run=dry_run, as_json=as_json)


def _tell(verb: VerbName, done: Done, *, dry_run: bool, as_json: bool) -> None:
    record = done.record
    told: dict[str, Any] = {
        "ticket": str(record.ticket_id),
        "verb": verb,
        "answer": done.answer,
        "changed": done.changed,
        "written": done.changed and not dry_run,
        "status": record.status,
        "generation": record.generation,
        "trunk": record.trunk,
        "published": record.published.sha if record.published else None,
    }
    if as_json:
        typer.echo(json.dumps(told, indent=2))
        return
    typer.echo(f"Nothing was written. It would be answered: {done.answer}." if dry_run else f"{done.answer}.")
