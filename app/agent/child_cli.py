"""The commands about children: `agent-recovery child …`, and how a child ends: `complete`, `fail`."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Give parts of a ticket to other agents, and take their results in.")
ending = typer.Typer()

Json = Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")]
Name = Annotated[str, typer.Argument(help="The child's name: lower-case letters, digits and '-'.")]
Objective = Annotated[str | None, typer.Option("--objective", help="What the child is to do.")]
Accept = Annotated[list[str] | None, typer.Option("--accept", help="A criterion its work has to meet; repeatable.")]
Expect = Annotated[str | None, typer.Option("--expect", help="What it is to give back.")]
Role = Annotated[str | None, typer.Option("--role", help="What kind of agent it is for.")]
Minutes = Annotated[int | None, typer.Option("--minutes", min=1, help="How long it may take.")]
Tokens = Annotated[int | None, typer.Option("--tokens", min=1, help="How many tokens it may use.")]
File = Annotated[Path | None, typer.Option("--file", help="The task as a JSON object; options go over it.")]
Summary = Annotated[str | None, typer.Option("--summary", help="What came of it, in a sentence.")]
Artifacts = Annotated[list[str] | None, typer.Option("--artifact", help="A report to look at; repeatable.")]


@app.command()
def spawn(
    name: Name,
    objective: Objective = None,
    accept: Accept = None,
    expect: Expect = None,
    role: Role = None,
    minutes: Minutes = None,
    tokens: Tokens = None,
    file: File = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Give a part of the ticket to a child. It starts from what the ticket has published."""
    from app.agent import parenting, show

    with show.reporting(as_json):
        task = parenting.task(objective, tuple(accept or ()), expect, role, minutes, tokens, file)
        parenting.spawn(name, task, dry_run=dry_run, as_json=as_json)


@app.command()
def respawn(
    name: Name,
    objective: Objective = None,
    accept: Accept = None,
    expect: Expect = None,
    role: Role = None,
    minutes: Minutes = None,
    tokens: Tokens = None,
    file: File = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Ask for a child's work anew, at what the ticket has published now."""
    from app.agent import parenting, show

    with show.reporting(as_json):
        task = parenting.task(objective, tuple(accept or ()), expect, role, minutes, tokens, file)
        parenting.respawn(name, task, dry_run=dry_run, as_json=as_json)


@app.command("list")
def list_(as_json: Json = False) -> None:
    """Show the ticket's children: what each is in, and which is to be integrated."""
    from app.agent import parenting, show

    with show.reporting(as_json):
        parenting.list_(as_json=as_json)


@app.command()
def integrate(
    name: Annotated[str | None, typer.Argument(help="The child; by default the next in order.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Merge what a child completed into the ticket's branch, and note it in the same fenced push."""
    from app.agent import parenting, show

    with show.reporting(as_json):
        parenting.integrate(name, dry_run=dry_run, as_json=as_json)


@app.command()
def adopt(name: Name, dry_run: DryRun = False, as_json: Json = False) -> None:
    """List an orphan: a child whose ledger stands though the ticket's record does not name it."""
    from app.agent import parenting, show

    with show.reporting(as_json):
        parenting.adopt(name, dry_run=dry_run, as_json=as_json)


@app.command()
def cancel(name: Name, dry_run: DryRun = False, as_json: Json = False) -> None:
    """End a child. Whoever holds it is fenced out; what it published stays on its branch."""
    from app.agent import parenting, show

    with show.reporting(as_json):
        parenting.cancel(name, dry_run=dry_run, as_json=as_json)


@ending.command()
def complete(
    summary: Summary = None,
    met: Annotated[list[str] | None, typer.Option("--met", help="A criterion that is met; repeatable.")] = None,
    unmet: Annotated[list[str] | None, typer.Option("--unmet", help="A criterion that is not met; repeatable.")] = None,
    artifact: Artifacts = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """A child's last word: its work is done and pushed. Its parent's holder takes the result in."""
    from app.agent import parenting, show

    with show.reporting(as_json):
        told = (tuple(met or ()), tuple(unmet or ()), tuple(artifact or ()))
        parenting.give("completed", summary, *told, dry_run=dry_run, as_json=as_json)


@ending.command()
def fail(
    summary: Summary = None,
    unmet: Annotated[list[str] | None, typer.Option("--unmet", help="A criterion that is not met; repeatable.")] = None,
    artifact: Artifacts = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """A child's last word: its work cannot be done. Its parent's holder decides what becomes of it."""
    from app.agent import parenting, show

    with show.reporting(as_json):
        parenting.give(
            "failed", summary, (), tuple(unmet or ()), tuple(artifact or ()), dry_run=dry_run, as_json=as_json
        )
