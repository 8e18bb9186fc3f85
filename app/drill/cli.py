"""The drill's commands: `agent-recovery demo`."""

import contextlib
import json
import shutil
import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

ENDING = (signal.SIGINT, signal.SIGTERM)

app = typer.Typer(help="Stories that show, with proofs, what the product does.")


@app.callback()
def drills() -> None:
    """Stories that show, with proofs, what the product does."""


@app.command()
def demo(
    story: Annotated[str, typer.Option(help="Which story: delivery or resume.")] = "delivery",
    seed: Annotated[int, typer.Option(help="Chooses the moment at which the first agent dies.")] = 1,
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything running at the end, until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as one JSON object.")] = False,
) -> None:
    """An agent dies, a fresh one goes on, the dead one comes back: proved on a GitHub that runs on this machine.

    `--story resume`: agents crash, and the App starts the next one, or tells a person why it does not.
    """
    from app.drill.play import TALES, play
    from app.drill.telling import Result, Telling
    from app.drill.world import new_folder

    if story not in TALES:
        listed = "\n".join(f"  {name}: {tale.about}" for name, tale in TALES.items())
        typer.echo(f"There is no story {story!r}. The stories are:\n{listed}", err=True)
        raise typer.Exit(2)
    for number in ENDING:
        signal.signal(number, _end)
    folder = new_folder()
    telling = Telling(quiet=as_json)

    def hold(result: Result) -> None:
        if keep:
            telling.still_running(result)
            typer.echo("Everything is still running; Ctrl-C ends it.", err=as_json)
            with contextlib.suppress(KeyboardInterrupt):
                threading.Event().wait()

    try:
        as_data = _print_json if as_json else None
        result = play(folder, seed=seed, story=story, telling=telling, at_end=hold, as_data=as_data)
    except KeyboardInterrupt:
        typer.echo(f"Ended before the story was; logs and folders are kept in {folder}", err=True)
        raise typer.Exit(130) from None
    if result.all_proved:
        _remove(folder)
    elif not as_json:
        typer.echo(f"Logs and folders are kept in {folder}", err=True)
    raise typer.Exit(0 if result.all_proved else 1)


def _end(*_: object) -> None:
    """A polite end is an end all the same: what was started is stopped, and a second signal does not cut that off."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _print_json(data: dict[str, object]) -> None:
    typer.echo(json.dumps(data, indent=2))


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
