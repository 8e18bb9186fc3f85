"""`agent-recovery rebuild`: the operator begins a ticket's ledger anew where what stands in its place is not trusted.

A person at the operator's terminal is the person whose word the ownership protocol asks for (R20).
"""

import json
from typing import Annotated, Any

import typer

from app.domain.rebuild import Rebuild
from app.service.operator_command import carried_out, ticket_named

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
    number = ticket_named(repository, ticket, by, as_json)
    owner, _, name = repository.partition("/")
    made = carried_out(
        lambda loop: loop.rebuild(owner, name, number, by=by, accept_loss=accept_loss, dry_run=dry_run), as_json
    )
    _tell(made, dry_run=dry_run, as_json=as_json)


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
