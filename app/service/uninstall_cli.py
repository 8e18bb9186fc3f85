"""`agent-recovery uninstall`: takes away from a repository what the App made, and says what stays and why."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from app.domain.outcome import Code, Exit
from app.domain.removal import Removal
from app.service.adopting import adoption_of
from app.service.operator_command import login_named, repository_named, stop, with_parts
from app.service.progress import Progress

app = typer.Typer(help="Removes what the App made.")


@app.command()
def uninstall(
    repository: Annotated[str, typer.Option("--repo", metavar="OWNER/NAME", help="The repository.")],
    by: Annotated[str, typer.Option("--by", metavar="LOGIN", help="The person who says so; the stop names them.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed, and write nothing.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also while somebody is at work or a ruleset asks for us.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as one JSON object.")] = False,
) -> None:
    """Remove rulesets, comments, check-runs' words and ledgers of the App from a repository, the ledgers last.

    The repository is stopped first and stays so. It may be interrupted and run again; a second run writes nothing.
    """
    owner, name = repository_named(repository, as_json)
    login_named(by, as_json)
    progress = Progress()
    seen = with_parts(lambda parts: adoption_of(parts).traces(owner, name, progress), as_json)
    progress.end()
    if dry_run or seen.is_nothing:
        _tell(seen, "nothing" if seen.is_nothing else "listed", as_json)
        return
    if seen.refusal is not None and not force:
        code, kind = (Exit.CONFLICT, Code.LEASE_LIVE) if seen.held else (Exit.GATE_CLOSED, Code.FORBIDDEN)
        stop(code, kind.value, seen.refusal, "wait or mend that, then run it again; --force does it anyway", as_json)
    if not yes:
        _ask(seen, as_json)
    done = with_parts(
        lambda parts: adoption_of(parts).uninstall(owner, name, by=by, force=force, progress=progress), as_json
    )
    progress.end()
    _tell(done, "removed", as_json)


def _ask(seen: Removal, as_json: bool) -> None:
    if as_json:
        words = "with --json nobody is asked: say --yes to remove it, or --dry-run to see what there is"
        stop(Exit.USAGE, Code.USAGE.value, words, "run it with --yes or --dry-run", as_json)
    for line in _lines(seen, "listed"):
        typer.echo(line)
    try:
        agreed = typer.confirm(f"Remove this from {seen.repository}?")
    except typer.Abort:
        stop(Exit.USAGE, Code.USAGE.value, "nobody answered; nothing was removed", "say --yes to remove it", as_json)
    if not agreed:
        typer.echo("Nothing was removed.")
        raise typer.Exit(Exit.OK)


def _tell(seen: Removal, state: str, as_json: bool) -> None:
    if as_json:
        told: dict[str, Any] = {
            "repository": seen.repository,
            "state": state,
            "rulesets": list(seen.rulesets),
            "comments": seen.comments,
            "check_runs": seen.check_runs,
            "refs": seen.refs,
            "held": list(seen.held),
            "in_the_way": list(seen.in_the_way),
            "kept_work": list(seen.kept_work),
            "left": list(seen.left),
        }
        typer.echo(json.dumps(told, indent=2))
        return
    for line in _lines(seen, state):
        typer.echo(line)


def _lines(seen: Removal, state: str) -> Iterator[str]:
    if seen.is_nothing:
        yield f"Nothing of the App is left in {seen.repository}."
    else:
        yield f"{'Removed' if state == 'removed' else 'To be removed'} from {seen.repository}:"
        yield from (f"  ruleset {name}" for name in seen.rulesets)
        yield f"  comments: {seen.comments}"
        yield f"  check-runs, which GitHub keeps and which say then that the App was removed: {seen.check_runs}"
        yield f"  refs of ledgers: {seen.refs}"
    for sha in seen.kept_work:
        yield f"  set aside there: {sha}; `git fetch origin {sha}` keeps it for you while GitHub still has it"
    yield from (f"At work: {words}" for words in seen.held)
    yield from (f"In the way: {words}" for words in seen.in_the_way)
    yield "Left:"
    yield from (f"  {words}" for words in seen.left)
