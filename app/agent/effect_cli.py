"""The commands about effects: `agent-recovery effect …`."""

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Do something outside Git once, whatever crashes in between.")

Json = Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object.")]


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    command: Annotated[list[str], typer.Argument(help="The command that does it, and its arguments, after --.")],
    key: Annotated[str, typer.Option("--key", help="The effect's own name: one key, one effect, for good.")],
    kind: Annotated[str, typer.Option("--kind", help="What it does, for example deploy.staging (docs/effects.md).")],
    probe: Annotated[
        str | None,
        typer.Option("--probe", help="How to look whether it happened, for example 'release tag=v1.2'."),
    ] = None,
    no_effect: Annotated[
        list[int] | None,
        typer.Option("--no-effect-exit", help="An exit code by which the command promises that nothing was done."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Journal an effect, run its command once, and journal how it ended. Again with the same key: only tell."""
    from app.agent import effects, show

    with show.reporting(as_json):
        code = effects.run(key, kind, probe, tuple(no_effect or ()), tuple(command), dry_run=dry_run, as_json=as_json)
    raise SystemExit(code)


@app.command("list")
def list_(as_json: Json = False) -> None:
    """Show the ticket's effects and what is known of each."""
    from app.agent import effects, show

    with show.reporting(as_json):
        effects.list_(as_json=as_json)


@app.command()
def probe(
    key: Annotated[str, typer.Argument(help="The effect's key.")],
    as_json: Json = False,
) -> None:
    """Have the service look now whether an effect happened."""
    from app.agent import effects, show

    with show.reporting(as_json):
        code = effects.probe(key, as_json=as_json)
    raise SystemExit(code)
