"""`agent-recovery approve` and `resolve`: a person's word about an effect, at the operator's terminal."""

import re
from functools import partial
from typing import Annotated

import typer

from app.domain.effect import EFFECT_KEY
from app.domain.effect_decision import approved, resolved
from app.domain.effect_state import EffectState
from app.service.operator_command import carried_out, ticket_named

app = typer.Typer(help="A person's word about an effect outside Git.")

Repository = Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The repository.")]
Ticket = Annotated[str, typer.Option("--ticket", help="The Issue's number, or a child like 42.docs-1.")]
By = Annotated[str, typer.Option("--by", metavar="LOGIN", help="The person who says so; recorded.")]
Json = Annotated[bool, typer.Option("--json", help="The outcome as one JSON object.")]


def _key(text: str) -> str:
    if re.fullmatch(EFFECT_KEY, text) is None:
        raise typer.BadParameter(f"{text!r} is no effect's key")
    return text


Effect = Annotated[str, typer.Option("--effect", metavar="KEY", help="The effect's key.", callback=_key)]


@app.command()
def approve(repository: Repository, ticket: Ticket, effect: Effect, by: By, as_json: Json = False) -> None:
    """Let the present holder do one effect that cannot be undone: this very one, in this generation."""
    number = ticket_named(repository, ticket, by, as_json)
    owner, _, name = repository.partition("/")
    decision = partial(approved, key=effect, by=by)
    state = carried_out(
        lambda loop: loop.decide_effect(owner, name, number, f"effect {effect} approved", decision), as_json
    )
    _tell(state, f"{effect} is approved; its holder runs the same command again", as_json)


@app.command()
def resolve(
    repository: Repository,
    ticket: Ticket,
    effect: Effect,
    by: By,
    done: Annotated[bool, typer.Option("--done/--not-done", help="It happened; or it did not, and never will.")],
    as_json: Json = False,
) -> None:
    """Say how an effect ended that nobody knew the end of. Find out first: nothing is looked for any more."""
    number = ticket_named(repository, ticket, by, as_json)
    owner, _, name = repository.partition("/")
    decision = partial(resolved, key=effect, done=done, by=by)
    state = carried_out(
        lambda loop: loop.decide_effect(owner, name, number, f"effect {effect} resolved", decision), as_json
    )
    _tell(state, f"{effect} is {state.state}", as_json)


def _tell(state: EffectState, words: str, as_json: bool) -> None:
    typer.echo(state.model_dump_json(indent=2) if as_json else words)
